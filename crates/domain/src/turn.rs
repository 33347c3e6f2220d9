//! A turn: one prompt and all that follows until the agent stops.
//!
//! A turn exists before its prompt is sent: `dispatching` means the prompt may or may not have reached the agent. That is the
//! border at which exactly-once is decided (`docs/decisions/0004-exactly-once-at-the-agents-border.md`).

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{PromptId, SessionId, StepId, TaskId, TurnId};
use crate::time::Timestamp;
use crate::transition::Transition;

words! {
    /// Where a turn stands.
    TurnState("turn state") {
        /// The prompt is about to be sent, or was sent and not yet known to be accepted.
        Dispatching = "dispatching",
        /// The agent accepted the prompt and works.
        Open = "open",
        /// The agent stopped of its own accord.
        Completed = "completed",
        /// Ended by a cancel.
        Cancelled = "cancelled",
        /// The agent died or refused.
        Failed = "failed",
        /// The host went away in mid-turn; the prompt is not sent again.
        Interrupted = "interrupted",
    }
}

impl TurnState {
    /// No end has been recorded yet.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Dispatching | Self::Open)
    }
}

/// A turn as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The session's task.
    pub task_id: TaskId,
    /// Where it stands.
    pub state: TurnState,
    /// The queued prompt that made it.
    pub prompt_id: PromptId,
    /// The session's prompt number at dispatch.
    pub generation: i64,
    /// The step the task was in when the turn began.
    pub step_id_at_start: Option<StepId>,
    /// What the agent gave as reason for stopping.
    pub stop_reason: Option<String>,
    /// Bytes of output stored so far.
    pub stored_bytes: i64,
    /// The dispatch.
    pub started_at: Timestamp,
    /// The end.
    pub completed_at: Option<Timestamp>,
}

/// What can happen to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCommand {
    /// The agent took the prompt.
    Accept,
    /// The agent stopped of its own accord.
    Complete,
    /// The agent confirmed a cancel, or its session was stopped.
    Cancel,
    /// The agent died or refused.
    Fail,
    /// The host went away; or the agent's history shows that it had the prompt already.
    Interrupt,
}

impl TurnCommand {
    /// Every command, for the transition table.
    pub const ALL: &'static [Self] = &[
        Self::Accept,
        Self::Complete,
        Self::Cancel,
        Self::Fail,
        Self::Interrupt,
    ];
}

/// The turn machine. An ended turn stays as it ended.
pub fn decide(state: TurnState, command: TurnCommand) -> Result<Transition<TurnState>, Refusal> {
    use TurnState as S;
    if !state.is_open() {
        return match command {
            TurnCommand::Accept => Err(Refusal::conflict("the turn is over")),
            TurnCommand::Complete
            | TurnCommand::Cancel
            | TurnCommand::Fail
            | TurnCommand::Interrupt => Ok(Transition::stay(state)),
        };
    }
    Ok(match command {
        TurnCommand::Accept if state == S::Open => Transition::stay(state),
        TurnCommand::Accept => Transition::to(S::Open, EventKind::TurnStarted),
        TurnCommand::Complete => Transition::to(S::Completed, EventKind::TurnCompleted),
        TurnCommand::Cancel => Transition::to(S::Cancelled, EventKind::TurnCompleted),
        TurnCommand::Fail => Transition::to(S::Failed, EventKind::TurnCompleted),
        TurnCommand::Interrupt => Transition::to(S::Interrupted, EventKind::TurnCompleted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_table() {
        let mut table = String::new();
        for command in TurnCommand::ALL {
            for state in TurnState::ALL {
                let outcome = match decide(*state, *command) {
                    Ok(t) if !t.changed => "stays".to_owned(),
                    Ok(t) => t.next.to_string(),
                    Err(refusal) => format!("refused: {}", refusal.code),
                };
                table.push_str(&format!("{command:?} on {state}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }
}
