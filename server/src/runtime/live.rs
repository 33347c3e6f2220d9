//! One live agent: the process, its events, the turn it is in, and the transcript being written.

use super::choices::Choices;
use super::transcript::Transcript;
use agents::AgentEvent;
use agents::acp::AgentHandle;
use domain::ids::TurnId;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Events that may wait between agent and actor; more hold the agent back.
pub(super) const EVENTS: usize = 64;

/// A live agent.
pub(super) struct Live {
    pub(super) agent: AgentHandle,
    pub(super) events: mpsc::Receiver<AgentEvent>,
    /// Why the conversation is a new one although the session had an earlier one; told to the agent once.
    pub(super) fresh_because: Option<String>,
    /// Its mode and its model.
    pub(super) choices: Choices,
    /// The conversation can be loaded again, so the process may be ended when it is idle.
    pub(super) can_resume: bool,
    pub(super) turn: Option<RunningTurn>,
    pub(super) transcript: Transcript,
    pub(super) idle_since: Instant,
}

/// The turn an agent is in.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    /// Number of the prompt within the process; the end of a turn carries it.
    pub(super) prompt: u64,
    /// When a cancelled turn is ended by force.
    pub(super) kill_at: Option<Instant>,
}
