//! The demo agent: a scripted, deterministic agent that needs no model.
//!
//! It makes Flightdeck work on a fresh machine, and it is what the tests launch. Towards the server it is an agent like
//! any other: it speaks ACP on standard streams (on the official crate, so that our own side of the wire is tested
//! against somebody else's), connects to the MCP servers it is handed, and really calls their tools. Nothing in the
//! server knows it.
//!
//! # What it does with a prompt
//!
//! 1. The prompt is written to the conversation's history before anything else happens.
//! 2. A child's question (its hidden block has the line `AUTOPILOT CHILD QUESTION`) is answered after a pause.
//! 3. A prompt that begins with `e2e:` is a script, one directive a line; one that begins with `/` names a script that
//!    is built in. The modules `script` and `scenarios` list them.
//! 4. If an earlier script has a section left, any other prompt runs it, as `{prompt}`.
//! 5. Everything else gets a short reply that repeats it.
//!
//! A cancel stops a script where it stands. The module `fill` lists the placeholders that
//! scripts may use.
//!
//! # What it keeps
//!
//! With a history folder: one file of JSON lines a conversation, each line on the disk before the agent goes on, and
//! `prompts.log` with the id of each prompt that arrived, one a line. `session/load` repeats the conversation from
//! there, so a killed agent resumes where it was.

mod entry;
mod fill;
mod prompt;
mod scenarios;
mod script;
mod server;
mod session;
mod turn;

use std::{path::PathBuf, time::Duration};

/// How the demo agent behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where conversations are kept. Without it nothing survives the process, and loading is not offered.
    pub history_dir: Option<PathBuf>,
    /// Pause before a child's question is answered, so that a person can see it wait. A script may change it.
    pub answer_delay: Duration,
    /// Pause before each step of a script.
    pub step_delay: Duration,
    /// Announce MCP over HTTP. Without it the agent is one that cannot take our tools.
    pub http_mcp: bool,
    /// Announce `session/load`, if there is a history folder.
    pub load_session: bool,
    /// Ask for a login instead of opening a conversation.
    pub auth_required: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history_dir: None,
            answer_delay: Duration::from_secs(2),
            step_delay: Duration::from_millis(150),
            http_mcp: true,
            load_session: true,
            auth_required: false,
        }
    }
}

/// Serves one client on standard input and output until the input ends.
///
/// Standard output carries protocol lines only. Meant to be all that its process does: it reads standard input from a
/// thread of its own, and should be followed by [`std::process::exit`].
///
/// # Errors
///
/// When the history folder cannot be made, or the connection breaks.
pub async fn run(options: Options) -> anyhow::Result<()> {
    server::serve(options).await
}
