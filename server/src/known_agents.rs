//! Coding agents that are offered without being set up: those found on the PATH, the demo agent, and, when a model is configured, the
//! assistant.

use domain::params::CreateAgent;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name that the board looks for when the demo is started.
const DEMO: &str = "Demo agent";

/// An agent that is offered, and the mode its default profile begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The agent.
    pub agent: CreateAgent,
    /// In which it asks before it acts; left to the agent when absent. Some begin in one in which nobody is asked.
    pub mode: Option<&'static str>,
}

struct Known {
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    mode: Option<&'static str>,
}

/// Agents that speak ACP on stdio.
const KNOWN: &[Known] = &[
    Known {
        name: "Claude",
        program: "claude-agent-acp",
        args: &[],
        // A question to the operator may wait for two hours within one tool call.
        env: &[("MCP_TOOL_TIMEOUT", "7200000")],
        mode: Some("default"),
    },
    Known {
        name: "Codex",
        program: "codex-acp",
        args: &[],
        // Otherwise a server of our name in the user's own configuration would be used in our place.
        env: &[("DISABLE_MCP_CONFIG_FILTERING", "true")],
        mode: Some("workspace-write"),
    },
    Known {
        name: "Gemini",
        program: "gemini",
        args: &["--acp"],
        env: &[],
        mode: None,
    },
    Known {
        name: "OpenCode",
        program: "opencode",
        args: &["acp"],
        env: &[],
        mode: None,
    },
    Known {
        name: "Goose",
        program: "goose",
        args: &["acp"],
        env: &[],
        mode: None,
    },
];

/// The demo agent, played by this program itself.
#[must_use]
pub fn demo(exe: &Path, data_dir: &Path) -> Offer {
    let agent = CreateAgent {
        name: DEMO.to_owned(),
        command: exe.to_string_lossy().into_owned(),
        args: vec![
            "demo-agent".to_owned(),
            "--history-dir".to_owned(),
            data_dir.join("demo-agent").to_string_lossy().into_owned(),
        ],
        env: BTreeMap::new(),
    };
    Offer { agent, mode: None }
}

/// The assistant, played by this program itself; only where there is a model to ask. It finds the models where this process does, in
/// the environment that it is started with.
#[must_use]
pub fn assistant(exe: &Path, data_dir: &Path, models: &assistant::Settings) -> Option<Offer> {
    if models.endpoints.is_empty() {
        return None;
    }
    let agent = CreateAgent {
        name: "Assistant".to_owned(),
        command: exe.to_string_lossy().into_owned(),
        args: vec![
            "assistant-agent".to_owned(),
            "--history-dir".to_owned(),
            data_dir
                .join("assistant-agent")
                .to_string_lossy()
                .into_owned(),
        ],
        env: BTreeMap::new(),
    };
    Some(Offer { agent, mode: None })
}

/// The known agents that are on `path`, a list of folders as in `PATH`.
#[must_use]
pub fn found_on(path: &OsStr) -> Vec<Offer> {
    KNOWN
        .iter()
        .filter_map(|known| {
            let program = std::env::split_paths(path)
                .map(|folder| folder.join(known.program))
                .find(|file| is_program(file))?;
            let agent = CreateAgent {
                name: known.name.to_owned(),
                command: absolute(program).to_string_lossy().into_owned(),
                args: known.args.iter().map(|&arg| arg.to_owned()).collect(),
                env: known
                    .env
                    .iter()
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
            };
            Some(Offer {
                agent,
                mode: known.mode,
            })
        })
        .collect()
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Agents are started in other folders than ours.
fn absolute(file: PathBuf) -> PathBuf {
    std::path::absolute(&file).unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_programs_on_the_path_are_offered() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        file("goose", 0o755);
        file("gemini", 0o644);
        std::fs::create_dir(folder.path().join("codex-acp")).unwrap();
        let found = found_on(folder.path().as_os_str());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].agent.name, "Goose");
        assert_eq!(found[0].agent.args, ["acp"]);
    }

    #[test]
    fn agents_that_begin_without_asking_are_offered_in_a_mode_that_asks() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["claude-agent-acp", "codex-acp"] {
            let path = folder.path().join(program);
            std::fs::write(&path, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let modes: Vec<_> = found_on(folder.path().as_os_str())
            .into_iter()
            .map(|offer| offer.mode)
            .collect();
        assert_eq!(modes, [Some("default"), Some("workspace-write")]);
    }
}
