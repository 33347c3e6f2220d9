//! Facts that happened. They say what changed; whoever cares reads it again.

use crate::ids::{SessionId, TaskId, WorkspaceId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

words! {
    /// The vocabulary of the event feed.
    EventKind("event kind") {
        /// A workspace was made or changed.
        WorkspaceUpdated = "workspace.updated",
        /// A workflow or one of its steps was made or changed.
        WorkflowUpdated = "workflow.updated",
        /// An agent or a profile was made or changed.
        AgentUpdated = "agent.updated",
        /// A task was made.
        TaskCreated = "task.created",
        /// A task's fields, step, archive mark or pending action changed.
        TaskUpdated = "task.updated",
        /// A task is gone.
        TaskDeleted = "task.deleted",
        /// A task's state changed.
        TaskStateChanged = "task.state_changed",
        /// A session was made or its state or pending action changed.
        SessionStateChanged = "session.state_changed",
        /// A session's name, mode, commands or other particulars changed.
        SessionInfoUpdated = "session.info_updated",
        /// A message was added to a transcript.
        MessageAdded = "session.message.added",
        /// A message's text or metadata changed.
        MessageUpdated = "session.message.updated",
        /// A turn began.
        TurnStarted = "session.turn.started",
        /// A turn ended.
        TurnCompleted = "session.turn.completed",
        /// What waits in a session's queue changed.
        QueueChanged = "message.queue.status_changed",
        /// A question to the operator was asked, answered, skipped or expired.
        ClarificationChanged = "session.clarification_changed",
        /// A permission was requested or resolved.
        PermissionChanged = "session.permission_changed",
        /// A question to a parent was asked, answered, superseded or became stale.
        ParentQuestionChanged = "task.parent_question_changed",
        /// A task's plan was written, restored or deleted.
        PlanChanged = "task.plan.updated",
        /// A task's walkthrough was shown or deleted.
        WalkthroughChanged = "task.walkthrough.updated",
        /// Review findings of a task were published, resolved or reopened.
        ReviewChanged = "task.review.updated",
    }
}

/// One entry of the event log. Its id is greater than that of every event committed before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the log; what `Last-Event-ID` carries.
    pub id: i64,
    /// What happened.
    pub kind: EventKind,
    /// The workspace it happened in, when it belongs to one.
    pub workspace_id: Option<WorkspaceId>,
    /// The task concerned.
    pub task_id: Option<TaskId>,
    /// The session concerned.
    pub session_id: Option<SessionId>,
    /// The id of the thing itself where it is neither task nor session: a message, a question, a permission.
    pub subject_id: Option<String>,
    /// When it was appended.
    pub created_at: Timestamp,
}

/// An event before it has its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened.
    pub kind: EventKind,
    /// See [`Event::workspace_id`].
    pub workspace_id: Option<WorkspaceId>,
    /// See [`Event::task_id`].
    pub task_id: Option<TaskId>,
    /// See [`Event::session_id`].
    pub session_id: Option<SessionId>,
    /// See [`Event::subject_id`].
    pub subject_id: Option<String>,
}

impl NewEvent {
    /// An event about nothing in particular yet; narrow it with the methods below.
    #[must_use]
    pub fn new(kind: EventKind) -> Self {
        Self {
            kind,
            workspace_id: None,
            task_id: None,
            session_id: None,
            subject_id: None,
        }
    }

    /// Sets the workspace.
    #[must_use]
    pub fn workspace(mut self, id: WorkspaceId) -> Self {
        self.workspace_id = Some(id);
        self
    }

    /// Sets the task.
    #[must_use]
    pub fn task(mut self, id: TaskId) -> Self {
        self.task_id = Some(id);
        self
    }

    /// Sets the session.
    #[must_use]
    pub fn session(mut self, id: SessionId) -> Self {
        self.session_id = Some(id);
        self
    }

    /// Sets the subject.
    #[must_use]
    pub fn subject(mut self, id: impl std::fmt::Display) -> Self {
        self.subject_id = Some(id.to_string());
        self
    }
}
