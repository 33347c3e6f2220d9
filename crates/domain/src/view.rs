//! Read models: what a screen, a tool or the API shows. None of them is a table row.

use crate::change_request::TaskRequest;
use crate::clarification::ClarificationStatus;
use crate::executor::Executor;
use crate::ids::{
    AgentId, ClarificationId, ExecutorProfileId, MessageId, MoveId, PermissionId, ProfileId,
    PromptId, QuestionId, SessionId, StepId, TaskId, TurnId, WorkflowId, WorkspaceId,
};
use crate::message::{AuthorType, MessageType};
use crate::moves::{Disposition, EntryOptions};
use crate::permission::PermissionOption;
use crate::question::{Question, QuestionStatus};
use crate::queue::{Lane, QueuedBy};
use crate::repository::TaskRepository;
use crate::session::SessionState;
use crate::task::{Origin, PendingAction, Priority, Purpose, TaskState, TitleMode};
use crate::time::Timestamp;
use crate::workflow::{Step, Workflow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceView {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// Open questions to the operator, a page of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestions {
    /// Oldest first.
    pub bundles: Vec<PendingBundle>,
    /// How many these are.
    pub count: usize,
    /// Gives the page after this one.
    pub next_cursor: Option<String>,
}

/// Questions that are answered together, as outside clients see them (task-domain 2.9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingBundle {
    /// The bundle.
    pub pending_id: ClarificationId,
    /// The task whose agent asks.
    pub task_id: TaskId,
    /// The session whose agent asks.
    pub session_id: SessionId,
    /// When it was asked.
    pub created_at: Timestamp,
    /// How long ago that was.
    pub age_seconds: i64,
    /// Why it is asked.
    pub context: Option<String>,
    /// The questions.
    pub questions: Vec<PendingQuestion>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// Names it in the answer.
    pub question_id: String,
    /// A short heading.
    pub title: Option<String>,
    /// The question.
    pub prompt: String,
    /// Where its bundle stands.
    pub status: ClarificationStatus,
    /// What may be chosen.
    pub options: Vec<PendingOption>,
    /// False: only the options may be chosen.
    pub allow_custom_text: bool,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingOption {
    /// Names it in the answer.
    pub option_id: String,
    /// Its label.
    pub label: String,
    /// What choosing it means.
    pub description: String,
}

/// A permission that an agent waits for, as outside clients see it (task-domain 2.9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingPermission {
    /// The request.
    pub pending_id: PermissionId,
    /// The agent's own id of the request.
    pub request_id: String,
    /// The task whose agent asks.
    pub task_id: TaskId,
    /// The session whose agent asks.
    pub session_id: SessionId,
    /// What the agent wants to do, in a line.
    pub title: String,
    /// What the agent wants to do, as it described it.
    pub tool_call: Value,
    /// What may be chosen.
    pub options: Vec<PermissionOption>,
    /// When it was asked.
    pub created_at: Timestamp,
}

/// A workflow with its steps in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowView {
    /// The workflow.
    #[serde(flatten)]
    pub workflow: Workflow,
    /// Its steps by position.
    pub steps: Vec<Step>,
}

/// A task as lists and pages show it (the projection of task-domain 1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// See [`crate::task::Task`].
    pub workspace_id: WorkspaceId,
    /// See [`crate::task::Task`].
    pub workflow_id: WorkflowId,
    /// See [`crate::task::Task`].
    pub workflow_step_id: StepId,
    /// See [`crate::task::Task`].
    pub title: String,
    /// See [`crate::task::Task`].
    pub description: String,
    /// See [`crate::task::Task`].
    pub state: TaskState,
    /// See [`crate::task::Task`].
    pub priority: Option<Priority>,
    /// See [`crate::task::Task`].
    pub position: i64,
    /// See [`crate::task::Task`].
    pub wip_admitted: bool,
    /// See [`crate::task::Task`].
    pub queued_for_step_id: Option<StepId>,
    /// See [`crate::task::Task`].
    pub queued_at: Option<Timestamp>,
    /// The step it moves to when the present turn ends.
    pub pending_move_step_id: Option<StepId>,
    /// Why the workflow does not move the card any more, in words for a person.
    pub workflow_notice: Option<String>,
    /// It waits for another task.
    pub blocked: bool,
    /// For which, and what is the matter with it.
    pub blocked_reason: Option<String>,
    /// The tasks that must be COMPLETED first.
    pub depends_on: Vec<TaskId>,
    /// The tasks that wait for this one.
    pub blocks: Vec<TaskId>,
    /// A start was asked for and is made when the last of them is COMPLETED.
    pub start_when_unblocked: bool,
    /// See [`crate::task::Task`].
    pub parent_id: Option<TaskId>,
    /// See [`crate::task::Task`].
    pub autopilot: bool,
    /// See [`crate::task::Task`].
    pub purpose: Purpose,
    /// See [`crate::task::Task`].
    pub origin: Origin,
    /// See [`crate::task::Task`].
    pub external_id: Option<String>,
    /// Whether an agent may still choose the title.
    pub title_mode: TitleMode,
    /// See [`crate::task::Task`].
    pub agent_profile_id: Option<ProfileId>,
    /// See [`crate::task::Task`].
    pub executor_profile_id: Option<ExecutorProfileId>,
    /// See [`crate::task::Task`].
    pub working_directory: Option<String>,
    /// The host went away in mid-turn and no session ran since.
    pub interrupted: bool,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
    /// The session that unaddressed messages go to.
    pub primary_session_id: Option<SessionId>,
    /// Its state.
    pub primary_session_state: Option<SessionState>,
    /// What it needs from somebody.
    pub primary_session_pending_action: Option<PendingAction>,
    /// What any session of the task needs from somebody.
    pub task_pending_action: Option<PendingAction>,
    /// Of which moment these are.
    pub pending_action_revision: Revision,
    /// Whether what is needed is the operator's: false while an autopilot child waits for its parent.
    pub needs_operator: bool,
    /// Number of sessions.
    pub session_count: i64,
    /// Prompts that wait in all its sessions, without questions between tasks and answers to them.
    pub queued_prompt_count: i64,
    /// The primary session's agent.
    pub primary_agent_name: Option<String>,
    /// The executor that the primary session runs on.
    pub primary_executor_id: Option<Executor>,
    /// The executor's profile that it runs with.
    pub primary_executor_profile_id: Option<ExecutorProfileId>,
    /// What that is called, or else the executor.
    pub primary_executor_name: Option<String>,
    /// The primary session's failure, in words.
    pub error_message: Option<String>,
    /// When the running turn began.
    pub turn_started_at: Option<Timestamp>,
    /// The repositories it is about, in the order in which they were attached.
    pub repositories: Vec<TaskRepository>,
    /// The pull and merge requests that it cares for, oldest first.
    pub prs: Vec<TaskRequest>,
}

impl TaskView {
    /// It takes one of the places of its step.
    #[must_use]
    pub const fn takes_place(&self) -> bool {
        self.wip_admitted && !self.state.is_terminal() && self.archived_at.is_none()
    }

    /// It waits for a place in its step, or in the one that its step feeds.
    #[must_use]
    pub const fn waits_for_place(&self) -> bool {
        !self.wip_admitted || self.queued_for_step_id.is_some()
    }
}

/// What became of a move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskMoved {
    /// The task; where it was, when the move waits.
    pub task: TaskView,
    /// The step it is in.
    pub workflow_step: Step,
    /// Done, or waiting for the end of the turn.
    pub disposition: Disposition,
    /// Names the move, when it waits or has options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_id: Option<MoveId>,
    /// The options as they were understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_options: Option<EntryOptions>,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    /// The task.
    pub task_id: TaskId,
    /// The tasks that must be COMPLETED first.
    pub depends_on: Vec<TaskId>,
    /// One of them is not.
    pub blocked: bool,
    /// Which, and what is the matter with it.
    pub blocked_reason: Option<String>,
}

/// A task was made, or found by its external id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskCreated {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The session made for it, when it starts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_id: Option<SessionId>,
    /// It was there already.
    pub deduplicated: bool,
    /// Its creation is finished. Creation is one transaction, so this is always true.
    pub creation_complete: bool,
}

/// A session as lists and pages show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// See [`crate::session::Session`].
    pub task_id: TaskId,
    /// See [`crate::session::Session`].
    pub name: Option<String>,
    /// See [`crate::session::Session`].
    pub state: SessionState,
    /// See [`crate::session::Session`].
    pub is_primary: bool,
    /// See [`crate::session::Session`].
    pub is_passthrough: bool,
    /// See [`crate::session::Session`].
    pub agent_profile_id: ProfileId,
    /// The agent's name.
    pub agent_name: String,
    /// The executor it runs on.
    pub executor_id: Executor,
    /// See [`crate::session::Session`].
    pub executor_profile_id: Option<ExecutorProfileId>,
    /// See [`crate::session::Session`].
    pub workspace_path: Option<String>,
    /// See [`crate::session::Session`].
    pub error_message: Option<String>,
    /// What it needs from somebody.
    pub pending_action: Option<PendingAction>,
    /// Of which moment that is.
    pub pending_action_revision: Revision,
    /// See [`crate::session::Session`].
    pub auto_run: bool,
    /// See [`crate::session::Session`].
    pub plan_mode: bool,
    /// See [`crate::session::Session`].
    pub session_mode: Option<String>,
    /// Prompts that wait, without questions between tasks and answers to them.
    pub queued_prompt_count: i64,
    /// When the running turn began.
    pub turn_started_at: Option<Timestamp>,
    /// See [`crate::session::Session`].
    pub started_at: Option<Timestamp>,
    /// See [`crate::session::Session`].
    pub completed_at: Option<Timestamp>,
    /// When the row was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// A session was started on a task (task-domain 9.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnedSession {
    /// The task it works on.
    pub task_id: TaskId,
    /// The new session.
    pub session_id: SessionId,
    /// Where it stands.
    pub state: SessionState,
    /// The profile it really runs with.
    pub agent_profile_id: ProfileId,
}

/// A message of a transcript. Hidden context is never in it; only whether there was some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    /// Its id.
    pub id: MessageId,
    /// See [`crate::message::Message`].
    pub session_id: SessionId,
    /// See [`crate::message::Message`].
    pub task_id: TaskId,
    /// See [`crate::message::Message`].
    pub turn_id: Option<TurnId>,
    /// Place in the transcript.
    pub seq: i64,
    /// See [`crate::message::Message`].
    pub author_type: AuthorType,
    /// See [`crate::message::Message`].
    pub author_id: Option<String>,
    /// See [`crate::message::Message`].
    pub content: String,
    /// The agent was told something beside it.
    pub has_hidden_context: bool,
    /// See [`crate::message::Message`].
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// See [`crate::message::Message`].
    pub metadata: Map<String, Value>,
    /// See [`crate::message::Message`].
    pub requests_input: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// A page of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The task.
    pub task_id: TaskId,
    /// The session; sessions are never merged.
    pub session_id: SessionId,
    /// The messages of this page.
    pub messages: Vec<MessageView>,
    /// Number of messages in this page.
    pub total: i64,
    /// There are more beyond this page.
    pub has_more: bool,
    /// Id of the page's last message.
    pub cursor: Option<MessageId>,
}

/// What became of a message to a task (task-domain 3.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageOutcome {
    /// The task written to.
    pub task_id: TaskId,
    /// The session it goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// `sent`, `queued`, `started` or `already_answered`.
    pub status: DeliveryStatus,
    /// The queued prompt, a receipt to look it up by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_entry_id: Option<PromptId>,
    /// The message it becomes in the target's transcript once it is delivered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message_id: Option<MessageId>,
    /// It was joined to a prompt that waited already, whose ids these are.
    #[serde(skip_serializing_if = "is_false", default)]
    pub merged: bool,
    /// The same message was accepted before: this is what became of it then, and nothing was sent again.
    #[serde(skip_serializing_if = "is_false", default)]
    pub deduplicated: bool,
    /// The question, for a reply that was given before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_question_id: Option<QuestionId>,
    /// When it was answered, for a reply that was given before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
}

impl MessageOutcome {
    /// A prompt was accepted.
    #[must_use]
    pub const fn of_prompt(
        task: TaskId,
        session: SessionId,
        status: DeliveryStatus,
        prompt: PromptId,
    ) -> Self {
        Self {
            task_id: task,
            session_id: Some(session),
            status,
            queue_entry_id: Some(prompt),
            message_id: Some(MessageId::of_prompt(prompt)),
            merged: false,
            deduplicated: false,
            reply_to_question_id: None,
            answered_at: None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

words! {
    /// What became of a message.
    DeliveryStatus("status") {
        /// It goes to the agent now.
        Sent = "sent",
        /// It waits for the present turn, a question or a promotion.
        Queued = "queued",
        /// It is the first prompt of a session that is being started.
        Started = "started",
        /// A reply to this question was accepted before; nothing was delivered.
        AlreadyAnswered = "already_answered",
    }
}

/// The answer to `ask_parent_question_kandev`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentAsked {
    /// The question, new or the one that was pending.
    pub question_id: QuestionId,
    /// Who is asked.
    pub parent_task_id: TaskId,
    /// Always `waiting_for_parent`.
    pub status: String,
}

/// A question to a parent, read-only, for the child's page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParentQuestionView {
    /// Its id.
    pub id: QuestionId,
    /// The task that asks.
    pub child_task_id: TaskId,
    /// The session that asks.
    pub child_session_id: SessionId,
    /// Who is asked.
    pub parent_task_id: TaskId,
    /// Its title.
    pub parent_title: String,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Why.
    pub context: Option<String>,
    /// What stands still.
    pub blocked_effect: Option<String>,
    /// Where it stands.
    pub status: QuestionStatus,
    /// Since when.
    pub created_at: Timestamp,
    /// The parent has no session that could answer (rulings 4).
    pub parent_cannot_answer: bool,
    /// The parent's agent has had the question, its turn is over, and nothing waits for it: no answer comes by itself.
    pub parent_rests: bool,
}

/// A bundle of questions to the operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClarificationView {
    /// Its id.
    pub pending_id: ClarificationId,
    /// The task that asks.
    pub task_id: TaskId,
    /// The session that asks.
    pub session_id: SessionId,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Why.
    pub context: Option<String>,
    /// The agent no longer waits; an answer is delivered as its next prompt.
    pub agent_disconnected: bool,
    /// Where it stands.
    pub status: ClarificationStatus,
    /// The recorded result, once there is one.
    pub response: Option<Value>,
    /// Since when.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// Which of two projections of a pending action is the newer one: a client drops what is older than what it shows
/// (task-domain 5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Revision {
    /// Which database: another number means that nothing known of before counts.
    pub epoch: i64,
    /// The position in its event log that the projection was read at.
    pub sequence: i64,
}

impl Revision {
    /// Whether a projection of this revision may replace one of `shown`.
    #[must_use]
    pub const fn replaces(self, shown: Self) -> bool {
        self.epoch != shown.epoch || self.sequence >= shown.sequence
    }
}

/// Everything that waits for the operator, of one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxView {
    /// Oldest first.
    pub items: Vec<InboxItem>,
    /// Position in the event log at which this was read.
    pub as_of: i64,
}

/// One question or permission that waits, with the task that asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboxItem {
    /// The task that asks.
    pub task_id: TaskId,
    /// Its title.
    pub task_title: String,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// The session that asks.
    pub session_id: SessionId,
    /// What is asked.
    #[serde(flatten)]
    pub ask: InboxAsk,
}

/// What is asked of the operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InboxAsk {
    /// Questions.
    Clarification {
        /// The bundle.
        clarification: ClarificationView,
    },
    /// A permission.
    Permission {
        /// The request.
        permission: PermissionView,
    },
}

/// What became of an operator's answer (task-domain 5.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClarificationOutcome {
    /// Always true; failures are errors.
    pub success: bool,
    /// This answer won; false when another was first, and then `response` is the other's.
    pub claimed: bool,
    /// Where the bundle stands now.
    pub status: ClarificationStatus,
    /// The recorded result.
    pub response: Option<Value>,
}

/// A permission that an agent asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionView {
    /// Its id.
    pub id: PermissionId,
    /// The task of the session.
    pub task_id: TaskId,
    /// The session whose agent asks.
    pub session_id: SessionId,
    /// What the agent wants to do, in a line.
    pub title: String,
    /// The call as the agent described it.
    pub tool_call: Value,
    /// What may be chosen.
    pub options: Vec<PermissionOption>,
    /// Since when.
    pub created_at: Timestamp,
}

/// What waits for a session, as its operator sees it. Questions between tasks and their answers are not in it, nor is what is
/// being sent at this moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueView {
    /// The session.
    pub session_id: SessionId,
    /// In the order of delivery.
    pub entries: Vec<QueuedView>,
    /// How many they are.
    pub count: usize,
    /// How many may wait; 0 is without limit.
    pub max: usize,
    /// Whether they are delivered by themselves, turn by turn.
    pub auto_run: bool,
    /// Whether one may be merged into the one above it.
    pub merge_enabled: bool,
}

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueuedView {
    /// Its id.
    pub id: PromptId,
    /// The session it is for.
    pub session_id: SessionId,
    /// The words.
    pub content: String,
    /// Who queued it.
    pub queued_by: QueuedBy,
    /// Express or normal.
    pub lane: Lane,
    /// The task of the agent that sent it.
    pub sender_task_id: Option<TaskId>,
    /// That task's title.
    pub sender_task_title: Option<String>,
    /// The session of the agent that sent it.
    pub sender_session_id: Option<SessionId>,
    /// That session's name.
    pub sender_session_name: Option<String>,
    /// Its words are a person's and may be edited.
    pub editable: bool,
    /// It may be merged into the one above it.
    pub mergeable: bool,
    /// Since when.
    pub queued_at: Timestamp,
}

/// An agent with its profiles. The environment is given by name only: values may be secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its id.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Names of the environment variables set for it.
    pub env_names: Vec<String>,
    /// Whether it takes MCP over HTTP: as somebody said, or else as its last handshake announced.
    pub supports_mcp: Option<bool>,
    /// What somebody said about it.
    pub supports_mcp_override: Option<bool>,
    /// Its profiles.
    pub profiles: Vec<crate::agent::AgentProfile>,
}

impl AgentView {
    /// Its profiles by what people call them: an agent with one profile goes by its own name.
    pub fn profile_names(&self) -> impl Iterator<Item = (ProfileId, String)> {
        let only = self.profiles.len() == 1;
        self.profiles.iter().map(move |profile| {
            let name = if only {
                self.name.clone()
            } else {
                format!("{} · {}", self.name, profile.name)
            };
            (profile.id, name)
        })
    }
}

/// A task in one line, for trees and related lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: TaskState,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
    /// The task it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<TaskId>,
    /// The step it is in.
    pub workflow_step_id: StepId,
    /// See [`crate::task::Task::autopilot`].
    pub autopilot: bool,
    /// What it needs from somebody.
    pub pending_action: Option<PendingAction>,
    /// Only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The relations of a task (task-domain 9.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedTasks {
    /// The task itself.
    pub task: RelatedTask,
    /// The task it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<RelatedTask>,
    /// Its parts.
    pub children: Vec<RelatedTask>,
    /// Other parts of its parent.
    pub siblings: Vec<RelatedTask>,
    /// The tasks that this one waits for.
    pub depends_on: Vec<RelatedTask>,
    /// The tasks that wait for this one.
    pub blocks: Vec<RelatedTask>,
    /// An older name of `depends_on`.
    pub blockers: Vec<RelatedTask>,
    /// An older name of `blocks`. (As a parameter of `create_task_kandev` the word means the other direction.)
    pub blocked_by: Vec<RelatedTask>,
}

/// A board with the workspaces beside its own.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkbenchView {
    /// The board.
    pub board: BoardView,
    /// All workspaces, oldest first.
    pub workspaces: Vec<WorkspaceView>,
}

/// Everything the board page and the sidebar need, read at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoardView {
    /// The workspace shown.
    pub workspace: WorkspaceView,
    /// The workflow shown.
    pub workflow: WorkflowView,
    /// All unarchived tasks of the workspace, by step and position.
    pub tasks: Vec<TaskView>,
    /// Position in the event log at which this was read.
    pub as_of: i64,
}

/// Everything the task page needs besides the transcript, read at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskPageView {
    /// The task.
    pub task: TaskView,
    /// From the topmost ancestor down to the direct parent.
    pub ancestors: Vec<RelatedTask>,
    /// Its sessions, newest first.
    pub sessions: Vec<SessionView>,
    /// The steps of its workflow.
    pub steps: Vec<Step>,
    /// The pending question to its parent.
    pub parent_question: Option<ParentQuestionView>,
    /// Open bundles to the operator.
    pub clarifications: Vec<ClarificationView>,
    /// Open permission requests.
    pub permissions: Vec<PermissionView>,
    /// What waits for each of its sessions that something waits for.
    pub queues: Vec<QueueView>,
    /// The tasks that this one waits for.
    pub depends_on: Vec<RelatedTask>,
    /// Position in the event log at which this was read.
    pub as_of: i64,
}
