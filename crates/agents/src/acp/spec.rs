//! What it takes to start an agent.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

/// Everything about one start of an agent.
#[derive(Clone)]
pub struct LaunchSpec {
    /// Program: a name that is looked up on the `PATH`, or a path. A relative path is taken from `cwd`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to our own environment. `FLIGHTDECK_*` variables of ours are not handed on.
    pub env: BTreeMap<String, String>,
    /// Variables of ours that the agent must not see: secrets of the host.
    pub env_remove: Vec<String>,
    /// Working folder of the process and of the conversation.
    pub cwd: PathBuf,
    /// The executable that offers [`guard::run`](crate::guard::run) as `agent-guard`. Our own when absent.
    pub guard_exe: Option<PathBuf>,
    /// A file that is held locked while the agent, or anything it started, is alive. A start waits for it: so two agents
    /// never work in one conversation, even when the host was killed and started again at once.
    pub lock: Option<PathBuf>,
    /// The MCP server to hand to the agent. An agent that cannot take it is not started.
    pub mcp: Option<McpEndpoint>,
    /// More MCP servers, as far as the agent can take them; those of the built-in one's name are left out.
    pub servers: Vec<OtherServer>,
    /// Whether the agent takes servers over HTTP, when somebody knows better than what it announces.
    pub takes_http_mcp: Option<bool>,
    /// Mode to work in, by id. Set when the agent offers it.
    pub mode: Option<String>,
    /// Model to use, by id. Set when the agent offers it.
    pub model: Option<String>,
    /// The agent's id of a conversation to go on with.
    pub resume: Option<String>,
    /// How long the whole start may take.
    pub start_timeout: Duration,
    /// Our name, as the agent sees it.
    pub client_name: String,
    /// Our version, as the agent sees it.
    pub client_version: String,
}

impl LaunchSpec {
    /// The smallest launch: a command in a folder, everything else at its default.
    #[must_use]
    pub fn new(command: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            env_remove: Vec::new(),
            cwd: cwd.into(),
            guard_exe: None,
            lock: None,
            mcp: None,
            servers: Vec::new(),
            takes_http_mcp: None,
            mode: None,
            model: None,
            resume: None,
            start_timeout: Duration::from_secs(5 * 60),
            client_name: "flightdeck".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables are where operators put keys: only the names may reach a log.
        f.debug_struct("LaunchSpec")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .field("mcp", &self.mcp)
            .field("servers", &self.servers)
            .field("mode", &self.mode)
            .field("model", &self.model)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

/// An MCP server over HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct McpEndpoint {
    /// Name under which the agent knows it. The permission policy goes by it.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// Token that says who calls. Goes to the agent only.
    pub bearer: String,
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token must not reach a log by way of a debug print.
        f.debug_struct("McpEndpoint")
            .field("name", &self.name)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// An MCP server that is not ours. Its debug form is its name: the rest may hold keys.
#[derive(Clone, PartialEq, Eq)]
pub struct OtherServer {
    /// Name under which the agent knows it.
    pub name: String,
    /// How the agent reaches it.
    pub reached: Reached,
}

/// How an agent reaches a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Reached {
    /// It starts the server.
    Stdio {
        /// The program: a name that is looked up on the `PATH`, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables set for it.
        env: BTreeMap<String, String>,
    },
    /// Over streamable HTTP.
    Http(Address),
    /// Over HTTP with server-sent events.
    Sse(Address),
}

/// Where a server is.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub url: String,
    /// Sent with each request.
    pub headers: BTreeMap<String, String>,
}

impl fmt::Debug for OtherServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherServer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_print_shows_no_secret() {
        let mut spec = LaunchSpec::new("agent", "/w");
        spec.env.insert("API_KEY".into(), "s3cret".into());
        spec.mcp = Some(McpEndpoint {
            name: "kandev".into(),
            url: "http://127.0.0.1:1/mcp".into(),
            bearer: "s3cret".into(),
        });
        spec.servers.push(OtherServer {
            name: "files".into(),
            reached: Reached::Stdio {
                command: "x".into(),
                args: vec!["s3cret".into()],
                env: BTreeMap::from([("KEY".into(), "s3cret".into())]),
            },
        });
        let shown = format!("{spec:?}");
        assert!(
            ["API_KEY", "kandev", "files"]
                .iter()
                .all(|name| shown.contains(name)),
            "{shown}"
        );
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
