//! What the icon of a task says: the one most important thing about it, by a fixed precedence.
//!
//! Pure, so that board, sidebar, breadcrumb and card cannot disagree.

use domain::ids::StepId;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use domain::view::{RelatedTask, TaskView};

/// The one thing to say about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskMark {
    /// The operator must allow or refuse a tool.
    Permission,
    /// The operator must answer.
    Question,
    /// Its parent must answer; nothing for the operator to do.
    ParentQuestion,
    /// An agent is at work.
    Running,
    /// Marked as waiting for input.
    WaitingForInput,
    /// An agent is being started.
    Preparing,
    /// The host went away in mid-turn.
    Interrupted,
    /// It failed.
    Failed,
    /// It stands still for something else.
    Blocked,
    /// Given up.
    Cancelled,
    /// Done, at the end of its workflow.
    WorkflowComplete,
    /// A turn ended; somebody should look.
    TurnFinished,
    /// Not started.
    Backlog,
}

/// What the mark is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What the task needs from somebody.
    pub pending: Option<PendingAction>,
    /// Whether that somebody is the operator.
    pub needs_operator: bool,
    /// State of the primary session.
    pub session: Option<SessionState>,
    /// State of the task.
    pub state: TaskState,
    /// The host went away in mid-turn and no session ran since.
    pub interrupted: bool,
    /// What its agent did last came to nothing, and nobody has done anything about it since.
    pub failed: bool,
    /// It stands in the last step of its workflow.
    pub on_last_step: bool,
}

impl Facts {
    /// The facts about a task whose workflow ends with `last_step`.
    #[must_use]
    pub fn of(task: &TaskView, last_step: Option<StepId>) -> Self {
        Self {
            pending: task.task_pending_action,
            needs_operator: task.needs_operator,
            session: task.primary_session_state,
            state: task.state,
            interrupted: task.interrupted,
            failed: task.error_message.is_some(),
            on_last_step: last_step == Some(task.workflow_step_id),
        }
    }

    /// The facts about a relative, of which less is known.
    #[must_use]
    pub fn of_related(task: &RelatedTask) -> Self {
        Self {
            pending: task.pending_action,
            // An autopilot task has nobody but its parent to ask, except for permissions, which have an icon of their own.
            needs_operator: !task.autopilot,
            session: None,
            state: task.state,
            interrupted: false,
            failed: false,
            on_last_step: false,
        }
    }
}

/// The mark for these facts: what needs somebody first, then what moves, then where it stands.
#[must_use]
pub fn mark(facts: Facts) -> TaskMark {
    match facts.pending {
        Some(PendingAction::Permission) => return TaskMark::Permission,
        Some(PendingAction::Clarification) if facts.needs_operator => return TaskMark::Question,
        Some(PendingAction::Clarification) => return TaskMark::ParentQuestion,
        None => {}
    }
    if facts.session == Some(SessionState::Running) {
        return TaskMark::Running;
    }
    if facts.state == TaskState::WaitingForInput {
        return TaskMark::WaitingForInput;
    }
    if facts.session == Some(SessionState::Starting) || facts.state == TaskState::Scheduling {
        return TaskMark::Preparing;
    }
    if facts.state == TaskState::InProgress {
        return TaskMark::Running;
    }
    if facts.interrupted {
        return TaskMark::Interrupted;
    }
    match facts.state {
        TaskState::Completed => TaskMark::WorkflowComplete,
        // Whoever puts a card at the end of its way has seen what became of it.
        TaskState::Review if facts.on_last_step => TaskMark::WorkflowComplete,
        TaskState::Review if facts.failed => TaskMark::Failed,
        TaskState::Review => TaskMark::TurnFinished,
        TaskState::Failed => TaskMark::Failed,
        TaskState::Cancelled => TaskMark::Cancelled,
        TaskState::Blocked => TaskMark::Blocked,
        TaskState::Todo | TaskState::Created => TaskMark::Backlog,
        // Answered above.
        TaskState::Scheduling => TaskMark::Preparing,
        TaskState::InProgress => TaskMark::Running,
        TaskState::WaitingForInput => TaskMark::WaitingForInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Facts = Facts {
        pending: None,
        needs_operator: false,
        session: None,
        state: TaskState::Todo,
        interrupted: false,
        failed: false,
        on_last_step: false,
    };

    /// Each line adds a fact that must win over all lines above it.
    #[test]
    fn the_precedence_is_the_one_of_the_design() {
        let mut facts = IDLE;
        assert_eq!(mark(facts), TaskMark::Backlog);
        facts.state = TaskState::Review;
        assert_eq!(mark(facts), TaskMark::TurnFinished);
        facts.failed = true;
        assert_eq!(mark(facts), TaskMark::Failed);
        facts.on_last_step = true;
        assert_eq!(mark(facts), TaskMark::WorkflowComplete);
        facts.interrupted = true;
        assert_eq!(mark(facts), TaskMark::Interrupted);
        facts.state = TaskState::InProgress;
        assert_eq!(mark(facts), TaskMark::Running);
        facts.session = Some(SessionState::Starting);
        assert_eq!(mark(facts), TaskMark::Preparing);
        facts.state = TaskState::WaitingForInput;
        assert_eq!(mark(facts), TaskMark::WaitingForInput);
        facts.session = Some(SessionState::Running);
        assert_eq!(mark(facts), TaskMark::Running);
        facts.pending = Some(PendingAction::Clarification);
        assert_eq!(mark(facts), TaskMark::ParentQuestion);
        facts.needs_operator = true;
        assert_eq!(mark(facts), TaskMark::Question);
        facts.pending = Some(PendingAction::Permission);
        assert_eq!(mark(facts), TaskMark::Permission);
    }

    #[test]
    fn every_state_has_a_mark_of_its_own_kind() {
        let marks: std::collections::BTreeSet<TaskMark> = TaskState::ALL
            .iter()
            .map(|state| {
                mark(Facts {
                    state: *state,
                    ..IDLE
                })
            })
            .collect();
        // TODO and CREATED look alike, and so do no others.
        assert_eq!(marks.len(), TaskState::ALL.len() - 1);
    }
}
