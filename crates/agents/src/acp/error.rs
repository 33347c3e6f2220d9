//! What can go wrong with an agent. The texts are for operators: they say what happened and what to do.

use std::{path::PathBuf, time::Duration};

use crate::event::Exit;

/// Why an agent did not start. Its process, if there was one, is gone.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No such program.
    #[error(
        "the agent's command `{command}` was not found: install it, or correct the command in the agent's settings"
    )]
    CommandNotFound {
        /// The command as configured.
        command: String,
    },
    /// There is a file, but not one that can be run.
    #[error(
        "the agent's command `{command}` cannot be run ({reason}): check the file and its permissions"
    )]
    NotExecutable {
        /// The command as configured.
        command: String,
        /// What the system says.
        reason: String,
    },
    /// The working folder is not there.
    #[error("the working folder {} does not exist or is no folder: create it, or choose another", path.display())]
    NoFolder {
        /// The folder as configured.
        path: PathBuf,
    },
    /// Our own guard process could not be started.
    #[error("the guard process could not be started from {}: {reason}", path.display())]
    Guard {
        /// The guard's executable.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The agent wants a login first.
    #[error(
        "the agent asks for a login first ({message}): log in with the agent's own command, then start it again"
    )]
    AuthRequired {
        /// What the agent says.
        message: String,
        /// The ways it offers.
        methods: Vec<AuthMethod>,
    },
    /// The agent cannot take our tools.
    #[error(
        "the agent cannot connect to MCP servers over HTTP, so it would work without Flightdeck's tools: \
         use an agent that announces HTTP MCP, or update this one"
    )]
    NoHttpMcp,
    /// The agent speaks another version of the protocol.
    #[error(
        "the agent speaks version {version} of the Agent Client Protocol, and this Flightdeck speaks version 1"
    )]
    ProtocolVersion {
        /// The version the agent named, as it wrote it.
        version: String,
    },
    /// The agent refused a step of the start.
    #[error(
        "the agent refused {step}: {message} (code {code}){}",
        quoted(stderr_tail)
    )]
    Refused {
        /// The protocol's name of the step.
        step: &'static str,
        /// The JSON-RPC code.
        code: i64,
        /// What the agent says.
        message: String,
        /// The last lines on standard error.
        stderr_tail: Vec<String>,
    },
    /// The agent answered a step with something that cannot be used.
    #[error("the agent's answer to {step} cannot be used: {reason}")]
    Malformed {
        /// The protocol's name of the step.
        step: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The process ended during the start.
    #[error("the agent {exit} during {step}{}", quoted(stderr_tail))]
    Exited {
        /// The protocol's name of the step.
        step: &'static str,
        /// How it ended.
        exit: Exit,
        /// The last lines on standard error.
        stderr_tail: Vec<String>,
    },
    /// The agent took too long.
    #[error("the agent did not answer {step} within {} s and was ended{}", after.as_secs(), quoted(stderr_tail))]
    Timeout {
        /// The protocol's name of the step.
        step: &'static str,
        /// The limit for the whole start.
        after: Duration,
        /// The last lines on standard error.
        stderr_tail: Vec<String>,
    },
}

/// A way to log in that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    /// The agent's id of it.
    pub id: String,
    /// Human-readable.
    pub name: String,
    /// What to do.
    pub description: Option<String>,
}

/// Why something could not be done with a running agent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AgentError {
    /// A prompt is being worked on.
    #[error("the agent works on another prompt: wait for its end, or cancel it")]
    Busy,
    /// The process is gone.
    #[error("the agent {exit}{}", quoted(stderr_tail))]
    Exited {
        /// How it ended.
        exit: Exit,
        /// The last lines on standard error.
        stderr_tail: Vec<String>,
    },
    /// The agent wants a login first.
    #[error(
        "the agent asks for a login first ({message}): log in with the agent's own command, then start it again"
    )]
    AuthRequired {
        /// What the agent says.
        message: String,
    },
    /// The agent answered with an error.
    #[error("the agent answered with an error: {message} (code {code})")]
    Refused {
        /// The JSON-RPC code.
        code: i64,
        /// What the agent says.
        message: String,
    },
    /// The agent's answer lacks what it must have.
    #[error("the agent's answer cannot be used: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No such permission request is open: answered, cancelled, or never asked.
    #[error("this permission request is not open any more")]
    NoSuchPermission,
}

/// The last words of a process, for the end of an error's text.
fn quoted(stderr_tail: &[String]) -> String {
    const LINES: usize = 5;
    let tail = &stderr_tail[stderr_tail.len().saturating_sub(LINES)..];
    match tail.is_empty() {
        true => String::new(),
        false => format!(". Its last words: {}", tail.join(" / ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_last_words() {
        let error = AgentError::Exited {
            exit: Exit {
                code: Some(3),
                signal: None,
            },
            stderr_tail: (1..=7).map(|n| format!("line {n}")).collect(),
        };
        assert_eq!(
            error.to_string(),
            "the agent ended with exit code 3. Its last words: line 3 / line 4 / line 5 / line 6 / line 7"
        );
    }
}
