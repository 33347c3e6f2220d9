//! A task: the card an operator delegates.

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{
    ExecutorProfileId, ProfileId, SessionId, StepId, TaskId, WorkflowId, WorkspaceId,
};
use crate::time::Timestamp;
use crate::transition::Transition;

/// Longest title, in Unicode code points.
pub const MAX_TITLE: usize = 60;

words! {
    /// Where a task stands.
    TaskState("state") {
        /// Noted, not started.
        Todo = "TODO",
        /// Made, not started.
        Created = "CREATED",
        /// An agent is being started for it.
        Scheduling = "SCHEDULING",
        /// An agent works on it.
        InProgress = "IN_PROGRESS",
        /// A turn ended; somebody should look.
        Review = "REVIEW",
        /// Marked as blocked.
        Blocked = "BLOCKED",
        /// Marked as waiting for input.
        WaitingForInput = "WAITING_FOR_INPUT",
        /// Finished.
        Completed = "COMPLETED",
        /// The first launch failed, or it was marked so.
        Failed = "FAILED",
        /// Given up.
        Cancelled = "CANCELLED",
    }
}

impl TaskState {
    /// COMPLETED, FAILED or CANCELLED.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Reads a state as people and agents write it: any case, and the aliases of task-domain 1.6.
    pub fn parse_input(text: &str) -> Result<Self, Refusal> {
        let folded = text.trim().to_ascii_lowercase().replace([' ', '-'], "_");
        Ok(match folded.as_str() {
            "complete" | "done" | "finished" => Self::Completed,
            "not_started" | "open" => Self::Todo,
            "in_review" => Self::Review,
            "canceled" => Self::Cancelled,
            "started" => Self::InProgress,
            _ => return Self::parse(&folded.to_ascii_uppercase()),
        })
    }
}

words! {
    /// How pressing a task is.
    Priority("priority") {
        /// Before everything else.
        Critical = "critical",
        /// Soon.
        High = "high",
        /// As it comes.
        Medium = "medium",
        /// When there is time.
        Low = "low",
    }
}

words! {
    /// Who made a task.
    Origin("origin") {
        /// A person.
        Manual = "manual",
        /// An agent.
        AgentCreated = "agent_created",
        /// A recurring job.
        Routine = "routine",
        /// An automation.
        AutomationRun = "automation_run",
    }
}

words! {
    /// What a task is for: it decides which tools its sessions see, and is fixed at creation.
    Purpose("purpose") {
        /// Work on the board.
        Work = "work",
        /// Setting the board up: workflows, steps, agents' profiles.
        Configuration = "configuration",
        /// Work beside the board that leaves documents and decisions, and makes no tasks.
        Office = "office",
    }
}

/// Refuses autopilot for tasks that are given no board tools (task-domain 4.1), since there would be nobody to ask, and a part
/// that is for something else than its whole: neither could answer the other.
pub fn check_purpose(
    purpose: Purpose,
    autopilot: bool,
    parent: Option<Purpose>,
) -> Result<(), Refusal> {
    if let Some(parent) = parent
        && parent != purpose
    {
        return Err(Refusal::validation(format!(
            "the parent task is for {parent}, and this one for {purpose}: a part is for what its whole is for"
        )));
    }
    if autopilot && purpose != Purpose::Work {
        return Err(Refusal::validation(format!(
            "autopilot is for work on the board, and this task is for {purpose}: leave one of the two out"
        )));
    }
    Ok(())
}

words! {
    /// Whether the title may still be chosen by an agent (task-domain 2.3, `set_task_title_kandev`).
    TitleMode("title mode") {
        /// A person chose it, or the agent has; it is settled.
        Settled = "settled",
        /// The first session to be launched may claim it.
        Pending = "pending",
        /// A session claimed it and has not chosen yet.
        Claimed = "claimed",
    }
}

words! {
    /// What of a task needs somebody. Derived from pending rows, never stored.
    PendingAction("pending_action") {
        /// A question is open, to the operator or to the parent.
        Clarification = "clarification",
        /// A permission is requested.
        Permission = "permission",
    }
}

/// A task as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// The workflow it is in.
    pub workflow_id: WorkflowId,
    /// The step it is in.
    pub workflow_step_id: StepId,
    /// At most [`MAX_TITLE`] code points.
    pub title: String,
    /// Its first prompt, word for word.
    pub description: String,
    /// Where it stands.
    pub state: TaskState,
    /// How pressing it is, when said.
    pub priority: Option<Priority>,
    /// Place within its step, from 0.
    pub position: i64,
    /// False while its step is full: the card is in it and waits for a place; nothing is started for it.
    pub wip_admitted: bool,
    /// The step that it waits for in that step's feeder.
    pub queued_for_step_id: Option<StepId>,
    /// Since when it waits.
    pub queued_at: Option<Timestamp>,
    /// The task it is part of.
    pub parent_id: Option<TaskId>,
    /// Works alone and asks only its direct parent. Fixed at creation; the database refuses a change too.
    pub autopilot: bool,
    /// What it is for. Fixed at creation.
    pub purpose: Purpose,
    /// Who made it.
    pub origin: Origin,
    /// An opaque key of the creator's, unique in the workspace.
    pub external_id: Option<String>,
    /// Whether an agent may still choose the title.
    pub title_mode: TitleMode,
    /// The session that claimed the title.
    pub title_owner_session_id: Option<SessionId>,
    /// The profile new sessions use.
    pub agent_profile_id: Option<ProfileId>,
    /// The executor's profile that its sessions run with; the usual way when there is none. Fixed at creation.
    pub executor_profile_id: Option<ExecutorProfileId>,
    /// The folder agents work in, when the operator named one.
    pub working_directory: Option<String>,
    /// The host went away while an agent was at work; cleared when a session of the task runs again.
    pub interrupted_at: Option<Timestamp>,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// Grows with each write; guards against a stale one.
    pub version: i64,
}

impl Task {
    /// It waits for a place in a step: nothing is started for it and nothing is delivered to it.
    #[must_use]
    pub const fn waits_for_place(&self) -> bool {
        !self.wip_admitted || self.queued_for_step_id.is_some()
    }

    /// It takes one of the places of its step.
    #[must_use]
    pub const fn takes_place(&self) -> bool {
        self.wip_admitted && !self.state.is_terminal() && self.archived_at.is_none()
    }
}

/// Why a task's state changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskCommand {
    /// An agent is being started for it.
    LaunchAccepted,
    /// The agent accepted a prompt.
    PromptAccepted,
    /// A turn ended with nothing left to deliver, or a question settled the session, or the host went away.
    Settle,
    /// The parent stopped it.
    ParentStop,
    /// The agent could not be started.
    LaunchFailed,
    /// An operator, or an agent by `update_task_kandev`, says so.
    Set(TaskState),
}

/// The task machine (the table of task-domain 1.6). Total over state and command.
///
/// People may set any state; what the system does on its own never overrides a state that a person chose.
#[must_use]
pub fn decide(state: TaskState, command: TaskCommand) -> Transition<TaskState> {
    use TaskState as S;
    let to = |next| Transition::to(next, EventKind::TaskStateChanged);
    match (command, state) {
        (TaskCommand::LaunchAccepted, S::Created | S::Todo | S::Failed) => to(S::Scheduling),
        // A resume must not take a card out of review before the agent has really taken the prompt.
        (
            TaskCommand::LaunchAccepted,
            S::Scheduling
            | S::InProgress
            | S::Review
            | S::Blocked
            | S::WaitingForInput
            | S::Completed
            | S::Cancelled,
        ) => Transition::stay(state),

        (TaskCommand::PromptAccepted, S::InProgress) => Transition::stay(state),
        (
            TaskCommand::PromptAccepted,
            S::Created
            | S::Todo
            | S::Scheduling
            | S::Review
            | S::Blocked
            | S::WaitingForInput
            | S::Completed
            | S::Failed
            | S::Cancelled,
        ) => to(S::InProgress),

        (TaskCommand::Settle | TaskCommand::ParentStop, S::InProgress | S::Scheduling) => {
            to(S::Review)
        }
        (
            TaskCommand::Settle | TaskCommand::ParentStop,
            S::Created
            | S::Todo
            | S::Review
            | S::Blocked
            | S::WaitingForInput
            | S::Completed
            | S::Failed
            | S::Cancelled,
        ) => Transition::stay(state),

        (TaskCommand::LaunchFailed, S::Scheduling) => to(S::Failed),
        (TaskCommand::LaunchFailed, S::InProgress) => to(S::Review),
        (
            TaskCommand::LaunchFailed,
            S::Created
            | S::Todo
            | S::Review
            | S::Blocked
            | S::WaitingForInput
            | S::Completed
            | S::Failed
            | S::Cancelled,
        ) => Transition::stay(state),

        (TaskCommand::Set(wanted), _) if wanted == state => Transition::stay(state),
        (TaskCommand::Set(wanted), _) => to(wanted),
    }
}

/// Refuses a state that only the board itself can bring about. A person may set any, to put right what went wrong; for agents and
/// outside clients a task is being started only when the board starts it.
pub fn check_wish(wanted: TaskState, by_person: bool) -> Result<(), Refusal> {
    if wanted == TaskState::Scheduling && !by_person {
        return Err(Refusal::validation(
            "SCHEDULING says that an agent is being started, which only the board does: message the task to start it",
        ));
    }
    Ok(())
}

/// Checks a title: not blank, at most [`MAX_TITLE`] code points. Returns it trimmed.
pub fn check_title(title: &str) -> Result<String, Refusal> {
    let length = title.trim().chars().count();
    if length > MAX_TITLE {
        return Err(Refusal::validation(format!(
            "title has {length} characters and may have {MAX_TITLE}: shorten it and put the rest into the prompt"
        )));
    }
    crate::name::check(
        "title",
        title,
        MAX_TITLE,
        "say in a few words what the task is",
    )
}

/// A title made by the system, cut to [`MAX_TITLE`] code points with one ellipsis.
#[must_use]
pub fn cut_title(title: &str) -> String {
    if title.chars().count() <= MAX_TITLE {
        return title.to_owned();
    }
    title
        .chars()
        .take(MAX_TITLE - 1)
        .chain(std::iter::once('…'))
        .collect()
}

/// Refuses a child that would nest deeper than `max_depth`; `parent_depth` is 0 for a top-level parent.
pub fn check_depth(parent_depth: usize, max_depth: usize) -> Result<(), Refusal> {
    if parent_depth + 1 > max_depth {
        return Err(Refusal::validation(format!(
            "tasks nest at most {max_depth} levels deep: make a sibling of the parent, or a top-level task"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_table() {
        let commands = [
            TaskCommand::LaunchAccepted,
            TaskCommand::PromptAccepted,
            TaskCommand::Settle,
            TaskCommand::ParentStop,
            TaskCommand::LaunchFailed,
        ];
        let mut table = String::new();
        for command in commands {
            for state in TaskState::ALL {
                let t = decide(*state, command);
                let outcome = if t.changed { t.next.as_str() } else { "stays" };
                table.push_str(&format!("{command:?} on {state}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_person_may_set_any_state_from_any_state() {
        for from in TaskState::ALL {
            for to in TaskState::ALL {
                assert_eq!(decide(*from, TaskCommand::Set(*to)).next, *to);
            }
        }
    }

    #[test]
    fn only_a_person_may_say_that_a_task_is_being_started() {
        for state in TaskState::ALL {
            assert!(check_wish(*state, true).is_ok());
            assert_eq!(
                check_wish(*state, false).is_err(),
                *state == TaskState::Scheduling
            );
        }
    }

    #[test]
    fn titles_are_counted_in_code_points() {
        assert!(check_title(&"🛫".repeat(MAX_TITLE)).is_ok());
        assert!(check_title(&"🛫".repeat(MAX_TITLE + 1)).is_err());
        assert!(check_title("  \t ").is_err());
        assert!(check_title("two\nlines").is_err());
        assert_eq!(cut_title(&"x".repeat(100)).chars().count(), MAX_TITLE);
    }

    #[test]
    fn states_are_read_with_their_aliases() {
        assert_eq!(
            TaskState::parse_input("done").unwrap(),
            TaskState::Completed
        );
        assert_eq!(
            TaskState::parse_input("in progress").unwrap(),
            TaskState::InProgress
        );
        assert_eq!(
            TaskState::parse_input("not_started").unwrap(),
            TaskState::Todo
        );
        assert!(TaskState::parse_input("sideways").is_err());
    }
}
