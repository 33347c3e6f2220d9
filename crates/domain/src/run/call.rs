//! What is kept of the calls about runs, so that an operator sees how a client waits: numbers, ids and words of closed sets.
//!
//! No field can hold what anybody wrote. The key of a thread is left out too, since whoever has it can go on with the thread.

use super::RunStatus;
use super::refuse::RunErrorCode;
use crate::ids::{CallId, RunId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Calls that are kept of a run: the newest.
pub const KEPT_CALLS: i64 = 100;

words! {
    /// The tools that speak of runs, and the methods of MCP's own tasks that do.
    RunTool("tool") {
        /// Starts one, or goes on with its thread.
        Run = "run_task",
        /// Waits for one.
        Check = "check_task",
        /// Reads one.
        Get = "get_task",
        /// Lists them.
        List = "list_tasks",
        /// Stops one.
        Cancel = "cancel_task",
        /// Reads one.
        NativeGet = "tasks/get",
        /// Answers what one asks.
        NativeUpdate = "tasks/update",
        /// Stops one.
        NativeCancel = "tasks/cancel",
    }
}

words! {
    /// How a call ended.
    CallOutcome("outcome") {
        /// With what was asked for.
        Returned = "returned",
        /// The wait ran out, and the run goes on.
        TimedOut = "timeout",
        /// There was no room to wait.
        Limited = "limited",
        /// The server was about to end.
        Closing = "closing",
        /// The client hung up.
        Disconnected = "disconnected",
        /// Refused.
        Refused = "refused",
    }
}

words! {
    /// Clients that are known by name; what others call themselves is their own text.
    ClientKind("client") {
        /// ChatGPT.
        ChatGpt = "chatgpt",
        /// Another client of OpenAI.
        OpenAi = "openai",
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Another client of Anthropic.
        Claude = "claude",
        /// Codex.
        Codex = "codex",
        /// Cursor.
        Cursor = "cursor",
        /// Gemini.
        Gemini = "gemini",
        /// Copilot.
        Copilot = "copilot",
        /// The inspector of the protocol's makers.
        Inspector = "inspector",
        /// OpenCode.
        OpenCode = "opencode",
        /// Qwen.
        Qwen = "qwen",
        /// None of these.
        Other = "other",
    }
}

impl ClientKind {
    /// The client that calls itself so; the first whose name is in it.
    #[must_use]
    pub fn of(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let known = Self::ALL
            .iter()
            .find(|known| **known != Self::Other && name.contains(known.as_str()));
        known.copied().unwrap_or(Self::Other)
    }
}

/// A call about a run, when it was over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCall {
    /// Its own id.
    pub id: CallId,
    /// The run.
    pub run_id: RunId,
    /// What was called.
    pub tool: RunTool,
    /// By which client.
    pub client: ClientKind,
    /// Where the run stood, when that was answered.
    pub status: Option<RunStatus>,
    /// How the call ended.
    pub outcome: CallOutcome,
    /// Why it was refused.
    pub error: Option<RunErrorCode>,
    /// The number of the wait.
    pub poll: Option<i64>,
    /// How long the client wanted to wait.
    pub requested_wait_ms: Option<i64>,
    /// How long it did.
    pub waited_ms: Option<i64>,
    /// How long the whole call took.
    pub duration_ms: i64,
    /// Size of the answer.
    pub bytes: i64,
    /// The run was there before the call that would have started it.
    pub duplicate: bool,
    /// The call that handed the outcome out first.
    pub first_retrieval: bool,
    /// When it was over.
    pub ended_at: Timestamp,
}

#[test]
fn what_a_client_calls_itself_is_not_told() {
    for (name, kind) in [
        (Some("Claude-Code (secret)"), ClientKind::ClaudeCode),
        (Some("claude-ai"), ClientKind::Claude),
        (Some("my secret client, other"), ClientKind::Other),
        (None, ClientKind::Other),
    ] {
        assert_eq!(ClientKind::of(name), kind, "{name:?}");
    }
}
