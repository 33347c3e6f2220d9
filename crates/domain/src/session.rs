//! A session: one agent's conversation on a task, resumable by the agent's own id for it.

use crate::effect::EffectKind;
use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{ExecutorProfileId, ProfileId, SessionId, TaskId};
use crate::time::Timestamp;
use crate::transition::Transition;
use serde::{Deserialize, Serialize};

words! {
    /// Where a session stands.
    SessionState("session state") {
        /// The row exists, no agent was ever started.
        Created = "CREATED",
        /// An agent is being started or resumed.
        Starting = "STARTING",
        /// A turn is running.
        Running = "RUNNING",
        /// Office only; never entered by the board.
        Idle = "IDLE",
        /// Nothing runs; the next prompt is awaited.
        WaitingForInput = "WAITING_FOR_INPUT",
        /// Retired by a workflow switch, or finished.
        Completed = "COMPLETED",
        /// The process or provider failed.
        Failed = "FAILED",
        /// Stopped by an operator or by the parent.
        Cancelled = "CANCELLED",
    }
}

impl SessionState {
    /// Nothing is delivered to it any more; only an explicit resume brings it back.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// An agent is at work or coming up.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        matches!(self, Self::Starting | Self::Running)
    }
}

words! {
    /// A new conversation that the workflow or a move asked for.
    FreshStart("fresh start") {
        /// The conversation goes on.
        None = "none",
        /// The agent is to be started anew before its next prompt.
        Wanted = "wanted",
        /// It was, and has not taken a prompt yet.
        Begun = "begun",
    }
}

/// A session as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// A name chosen by a person or an agent; at most 120 code points.
    pub name: Option<String>,
    /// What entering a step made it for beside the task's own session, as later entries find it; never changed.
    pub made_for: Option<String>,
    /// Where it stands.
    pub state: SessionState,
    /// The one that unaddressed messages go to.
    pub is_primary: bool,
    /// A raw terminal: no tools of ours, no hidden context.
    pub is_passthrough: bool,
    /// The profile it runs with.
    pub agent_profile_id: ProfileId,
    /// The executor's profile that it runs with; the usual way when there is none.
    pub executor_profile_id: Option<ExecutorProfileId>,
    /// The agent's own id of the conversation; kept through failures, replaced only by a new conversation.
    pub provider_session_id: Option<String>,
    /// The folder the agent works in; empty until the first launch.
    pub workspace_path: Option<String>,
    /// What went wrong last, in words for a person.
    pub error_message: Option<String>,
    /// Number of the latest prompt; the end of a turn must carry it or is stale.
    pub generation: i64,
    /// False holds the queue.
    pub auto_run: bool,
    /// The node whose runtime holds the live agent.
    pub holder: Option<String>,
    /// Until when `holder` holds it.
    pub lease_until: Option<Timestamp>,
    /// Planning: the agent is told to work out a plan with its operator first.
    pub plan_mode: bool,
    /// The agent's mode, when a step set one; the profile's otherwise.
    pub session_mode: Option<String>,
    /// The agent's model, when a step chose one; the profile's otherwise.
    pub session_model: Option<String>,
    /// Whether the next turn begins a new conversation.
    pub fresh_start: FreshStart,
    /// First launch.
    pub started_at: Option<Timestamp>,
    /// Entry into a terminal state.
    pub completed_at: Option<Timestamp>,
    /// When the row was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Grows with each write; guards against a stale one.
    pub version: i64,
}

impl Session {
    /// Another node than `node` has the session's agent: what `node` still reports of it no longer counts.
    #[must_use]
    pub fn is_held_by_other(&self, node: &str) -> bool {
        self.holder.as_deref().is_some_and(|holder| holder != node)
    }
}

/// Longest name of a session, in code points.
pub const MAX_NAME: usize = 120;

/// Checks a name: one line of at most [`MAX_NAME`] code points. Gives it trimmed; a blank one is none.
pub fn check_name(name: &str) -> Result<Option<String>, Refusal> {
    if name.trim().is_empty() {
        return Ok(None);
    }
    crate::name::check("name", name, MAX_NAME, "call the session something").map(Some)
}

/// Which of the sessions that are left becomes primary when the primary one is gone: the newest that can still be talked to,
/// or else the newest.
#[must_use]
pub fn successor(left: &[Session]) -> Option<&Session> {
    left.iter()
        .max_by_key(|session| (!session.state.is_terminal(), session.created_at, session.id))
}

/// What can happen to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionCommand {
    /// Start or resume the agent because a prompt waits.
    Launch,
    /// Bring a session back by an explicit wish of the operator, terminal ones too.
    Resume,
    /// The agent accepted a prompt.
    PromptAccepted,
    /// The turn ended, or the agent was started and has nothing to do.
    Settle,
    /// The host went away while the agent was at work; the conversation can be resumed.
    Interrupt,
    /// The agent could not be started, or died in mid-turn.
    Fail,
    /// An operator or the parent ends the session.
    Stop,
    /// Retired in good order.
    Complete,
}

impl SessionCommand {
    /// Every command, for the transition table.
    pub const ALL: &'static [Self] = &[
        Self::Launch,
        Self::Resume,
        Self::PromptAccepted,
        Self::Settle,
        Self::Interrupt,
        Self::Fail,
        Self::Stop,
        Self::Complete,
    ];
}

/// The session machine (task-domain 1.7). Total over state and command.
pub fn decide(
    state: SessionState,
    command: SessionCommand,
) -> Result<Transition<SessionState>, Refusal> {
    use SessionCommand as C;
    use SessionState as S;
    let to = |next| Ok(Transition::to(next, EventKind::SessionStateChanged));
    let stay = || Ok(Transition::stay(state));
    match (command, state) {
        (C::Launch, S::Created | S::Idle | S::WaitingForInput) => to(S::Starting),
        (C::Launch | C::Resume, S::Starting | S::Running) => stay(),
        (C::Launch, S::Completed | S::Failed | S::Cancelled) => Err(ended(state)),

        (
            C::Resume,
            S::Created | S::Idle | S::WaitingForInput | S::Completed | S::Failed | S::Cancelled,
        ) => to(S::Starting),

        (C::PromptAccepted, S::Starting | S::WaitingForInput | S::Idle | S::Created) => {
            to(S::Running)
        }
        (C::PromptAccepted, S::Running) => stay(),
        (C::PromptAccepted, S::Completed | S::Failed | S::Cancelled) => Err(ended(state)),

        // STARTING can settle too: a fast first tool call may ask before RUNNING was recorded.
        (C::Settle, S::Starting | S::Running) => Ok(Transition::to(
            S::WaitingForInput,
            EventKind::SessionStateChanged,
        )
        .then(EffectKind::Dispatch)),
        (
            C::Settle,
            S::Created | S::Idle | S::WaitingForInput | S::Completed | S::Failed | S::Cancelled,
        ) => stay(),

        (C::Interrupt, S::Starting | S::Running) => to(S::WaitingForInput),
        (
            C::Interrupt,
            S::Created | S::Idle | S::WaitingForInput | S::Completed | S::Failed | S::Cancelled,
        ) => stay(),

        (C::Fail, S::Starting | S::Running | S::Created | S::Idle | S::WaitingForInput) => {
            Ok(Transition::to(S::Failed, EventKind::SessionStateChanged)
                .then(EffectKind::StopProcess))
        }
        // A stop that raced the failure has won; a failure is not told twice.
        (C::Fail, S::Completed | S::Failed | S::Cancelled) => stay(),

        (C::Stop, S::Created | S::Starting | S::Running | S::Idle | S::WaitingForInput) => {
            Ok(Transition::to(S::Cancelled, EventKind::SessionStateChanged)
                .then(EffectKind::StopProcess))
        }
        (C::Stop, S::Completed | S::Failed | S::Cancelled) => stay(),

        (C::Complete, S::Running | S::WaitingForInput | S::Idle | S::Starting | S::Created) => {
            Ok(Transition::to(S::Completed, EventKind::SessionStateChanged)
                .then(EffectKind::StopProcess))
        }
        (C::Complete, S::Completed | S::Failed | S::Cancelled) => stay(),
    }
}

fn ended(state: SessionState) -> Refusal {
    Refusal::conflict(format!(
        "the session is {state}: resume it, or start a new task with create_task_kandev"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_table() {
        let mut table = String::new();
        for command in SessionCommand::ALL {
            for state in SessionState::ALL {
                let outcome = match decide(*state, *command) {
                    Ok(t) if !t.changed => "stays".to_owned(),
                    Ok(t) => format!("{} {:?}", t.next, t.effects),
                    Err(refusal) => format!("refused: {}", refusal.code),
                };
                table.push_str(&format!("{command:?} on {state}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_name_is_one_line_of_120_code_points() {
        assert_eq!(
            check_name(&"🛫".repeat(MAX_NAME)).unwrap(),
            Some("🛫".repeat(MAX_NAME))
        );
        assert!(check_name(&"🛫".repeat(MAX_NAME + 1)).is_err());
        assert!(check_name("two\nlines").is_err());
        assert_eq!(check_name("  ").unwrap(), None);
        assert_eq!(check_name(" Review ").unwrap().as_deref(), Some("Review"));
    }

    #[test]
    fn only_resume_leaves_a_terminal_state() {
        for state in SessionState::ALL.iter().filter(|s| s.is_terminal()) {
            for command in SessionCommand::ALL
                .iter()
                .filter(|c| **c != SessionCommand::Resume)
            {
                if let Ok(transition) = decide(*state, *command) {
                    assert_eq!(transition.next, *state, "{command:?} revived {state}");
                }
            }
        }
    }
}
