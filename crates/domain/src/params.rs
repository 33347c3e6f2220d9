//! Commands as they come in through a door: page, API or tool. The same struct serves all three.

use crate::ids::{
    ExecutorProfileId, ProfileId, RepositoryId, SessionId, StepId, TaskId, WorkflowId, WorkspaceId,
};
use crate::moves::EntryOptions;
use crate::question::QuestionInput;
use crate::task::{Priority, Purpose};
use crate::workflow::{StageType, StepEvents};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Makes a task (rulings 22). Only the title is needed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateTask {
    /// At most 60 code points; may be left out with `auto_title`.
    pub title: String,
    /// The first prompt, word for word.
    pub description: String,
    /// Let the first agent choose the title.
    pub auto_title: bool,
    /// Works alone, asks only its direct parent. Fixed for life.
    pub autopilot: bool,
    /// What it is for: work on the board when left out. The operator's choice alone.
    pub purpose: Option<Purpose>,
    /// The task it is part of.
    pub parent_id: Option<TaskId>,
    /// From the parent, or the only one, when left out.
    pub workspace_id: Option<WorkspaceId>,
    /// From the parent, or the workspace's first, when left out.
    pub workflow_id: Option<WorkflowId>,
    /// The start step for a task that starts, the first step otherwise.
    pub workflow_step_id: Option<StepId>,
    /// The profile its sessions use.
    pub agent_profile_id: Option<ProfileId>,
    /// The executor's profile that its sessions run with; that of the creating session, or the parent's, when left out.
    pub executor_profile_id: Option<ExecutorProfileId>,
    /// How pressing it is.
    pub priority: Option<Priority>,
    /// Start an agent; true when left out and a prompt is there.
    pub start_agent: Option<bool>,
    /// A key of the creator's: creating again with it gives the same task.
    pub external_id: Option<String>,
    /// The folder agents work in. Left out, it is that of the named repository, then the parent's, then one of the task's own.
    pub working_directory: Option<String>,
    /// The repository it is about, by its id. At most one of this and the two below; left out, the parent's, when the parent's
    /// folder is taken too.
    pub repository_id: Option<RepositoryId>,
    /// The repository it is about, by the folder to work in, which need be none that is known.
    pub local_path: Option<String>,
    /// The repository it is about, by its address; it is made in the workspace when it is not there.
    pub repository_url: Option<String>,
    /// Tasks that must be COMPLETED first. The start waits for them.
    pub blocked_by: Vec<TaskId>,
    /// False: with `blocked_by`, nothing starts by itself. True when left out.
    pub start_when_unblocked: Option<bool>,
}

/// Changes a task. What is left out stays; `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateTask {
    /// See [`CreateTask::title`].
    pub title: Option<String>,
    /// See [`CreateTask::description`].
    pub description: Option<String>,
    /// A state or one of its aliases.
    pub state: Option<String>,
    /// An empty word clears it.
    pub priority: Option<String>,
    /// Another parent, or none when `Some(None)`.
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Option<TaskId>>,
    /// The first prompt of a start that still waits.
    pub deferred_launch_prompt: Option<String>,
}

/// Tells a field that was left out from one that was set to null.
pub(crate) mod double_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<Option<T>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value
            .as_ref()
            .and_then(Option::as_ref)
            .serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Option<T>>, D::Error> {
        Option::<T>::deserialize(deserializer).map(Some)
    }
}

/// Moves a card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MoveTask {
    /// The task's workflow when left out.
    #[serde(default)]
    pub workflow_id: Option<WorkflowId>,
    /// Where to.
    pub workflow_step_id: StepId,
    /// Place in the step, from 0; the end when left out.
    #[serde(default)]
    pub position: Option<i64>,
    /// An older name of `entry_options.instructions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What the entry is to do differently this once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_options: Option<EntryOptions>,
}

impl MoveTask {
    /// To the end of a step, without anything special about it.
    #[must_use]
    pub const fn to(step: StepId) -> Self {
        Self {
            workflow_id: None,
            workflow_step_id: step,
            position: None,
            prompt: None,
            entry_options: None,
        }
    }
}

/// Makes a task wait for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddDependency {
    /// The task that must be COMPLETED first.
    pub depends_on_task_id: TaskId,
}

/// Makes a workflow, without steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateWorkflow {
    /// Where.
    pub workspace_id: WorkspaceId,
    /// At most 120 code points.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// See [`crate::workflow::Workflow`].
    #[serde(default)]
    pub prompt: String,
    /// See [`crate::workflow::Workflow`].
    #[serde(default)]
    pub agent_profile_id: Option<ProfileId>,
}

/// Changes a workflow. What is left out stays; `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateWorkflow {
    /// See [`CreateWorkflow`].
    pub name: Option<String>,
    /// See [`CreateWorkflow`].
    pub description: Option<String>,
    /// See [`crate::workflow::Workflow`].
    pub prompt: Option<String>,
    /// See [`crate::workflow::Workflow`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub agent_profile_id: Option<Option<ProfileId>>,
}

/// Makes a step. Only the name is needed; what is left out is as in a new column of a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateStep {
    /// The workflow it becomes a part of.
    pub workflow_id: WorkflowId,
    /// What it is like.
    #[serde(flatten)]
    pub step: UpdateStep,
}

/// Changes a step of a workflow. What is left out stays; `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateStep {
    /// See [`crate::workflow::Step`].
    pub name: Option<String>,
    /// Place among the steps, from 0; beyond the last it is the end.
    pub position: Option<i64>,
    /// See [`crate::workflow::Step`].
    pub color: Option<String>,
    /// See [`crate::workflow::Step`].
    pub prompt: Option<String>,
    /// See [`crate::workflow::Step`]; all of them at once.
    pub events: Option<StepEvents>,
    /// See [`crate::workflow::Step`].
    pub allow_manual_move: Option<bool>,
    /// See [`crate::workflow::Step`]. True takes the mark from the step that had it.
    pub is_start_step: Option<bool>,
    /// See [`crate::workflow::Step`].
    pub show_in_command_panel: Option<bool>,
    /// See [`crate::workflow::Step`].
    pub stage_type: Option<StageType>,
    /// See [`crate::workflow::Step`].
    pub wip_limit: Option<i64>,
    /// See [`crate::workflow::Step`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub pull_from_step_id: Option<Option<StepId>>,
    /// See [`crate::workflow::Step`].
    pub auto_archive_after_hours: Option<i64>,
    /// See [`crate::workflow::Step`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub agent_profile_id: Option<Option<ProfileId>>,
    /// See [`crate::workflow::Step`].
    pub auto_advance_requires_signal: Option<bool>,
    /// See [`crate::workflow::Step`].
    pub cancel_triggers_turn_complete: Option<bool>,
}

words! {
    /// How a message reaches a busy session.
    DeliveryMode("delivery_mode") {
        /// After the present turn.
        Queued = "queued",
        /// Now: the present turn is cancelled. Only for the direct parent.
        Interrupt = "interrupt",
    }
}

words! {
    /// Whose troubles a diagnostic bundle shows.
    DiagnosticSource("source") {
        /// The server's.
        Backend = "backend",
        /// Those of pages in browsers.
        Frontend = "frontend",
        /// Both.
        All = "all",
    }
}

/// Writes to another task (task-domain section 3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageTask {
    /// The task written to.
    pub task_id: TaskId,
    /// The words.
    pub prompt: String,
    /// A session of that task; its primary when left out.
    pub session_id: Option<SessionId>,
    /// See [`DeliveryMode`].
    pub delivery_mode: DeliveryMode,
    /// The question this answers, as the agent wrote it.
    pub reply_to_question_id: Option<String>,
    /// The sender's own word for this message: sending it again with the same word changes nothing.
    pub idempotency_key: Option<String>,
}

/// A bundle of questions to the parent (task-domain 4.2) or to the operator (5.1).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskQuestions {
    /// One to four.
    pub questions: Vec<QuestionInput>,
    /// Why it is asked.
    #[serde(default)]
    pub context: Option<String>,
    /// Replaces `context` when not empty.
    #[serde(default)]
    pub context_paragraphs: Vec<String>,
    /// What stands still meanwhile; only to a parent.
    #[serde(default)]
    pub blocked_effect: Option<String>,
}

/// Starts another session on a task (task-domain 9.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnSession {
    /// Its first prompt.
    pub prompt: String,
    /// The profile it runs with; see the precedence there.
    pub agent_profile_id: Option<ProfileId>,
    /// A name for it; one that cannot be used is left out.
    pub name: Option<String>,
}

/// Renames a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RenameSession {
    /// The new name; none takes the old one away.
    pub name: Option<String>,
}

/// Adds an agent by its command line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateAgent {
    /// Unique.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
}

/// Changes an agent. What is left out stays; `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateAgent {
    /// Whether it takes MCP over HTTP, whatever its handshake says; `Some(None)` leaves it to the handshake.
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub supports_mcp: Option<Option<bool>>,
    /// An agent's own file of servers. None is taken: see [`crate::agent::check_config_path`].
    pub mcp_config_path: Option<String>,
}

/// Adds a profile to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateProfile {
    /// The agent.
    pub agent_id: crate::ids::AgentId,
    /// What people call it.
    pub name: String,
    /// The model to ask for.
    #[serde(default)]
    pub model: Option<String>,
    /// The mode to set.
    #[serde(default)]
    pub mode: Option<String>,
    /// A raw terminal without Flightdeck's tools.
    #[serde(default)]
    pub passthrough: bool,
    /// See [`crate::agent::AgentProfile`].
    #[serde(default)]
    pub auto_approve: bool,
}

/// Changes a profile. What is left out stays; `Some(None)` clears. An agent that runs already goes on as it was started.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateProfile {
    /// See [`CreateProfile`].
    pub name: Option<String>,
    /// See [`CreateProfile`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub model: Option<Option<String>>,
    /// See [`CreateProfile`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Option<String>>,
    /// See [`CreateProfile`].
    pub auto_approve: Option<bool>,
}

/// Which page of a conversation (task-domain 9.1, rulings 27).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConversationPage {
    /// The primary, or else the newest, when left out.
    pub session_id: Option<SessionId>,
    /// 1 to 100; 10 when left out.
    pub limit: Option<i64>,
    /// Messages before this one.
    pub before: Option<crate::ids::MessageId>,
    /// Messages after this one.
    pub after: Option<crate::ids::MessageId>,
    /// `asc` or `desc`.
    pub sort: Option<String>,
    /// Only these types; all when empty.
    pub message_types: Vec<crate::message::MessageType>,
}

/// Which open questions to the operator to list, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListQuestions {
    /// Of this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Asked at this moment or later.
    pub created_since: Option<crate::time::Timestamp>,
    /// The `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// 1 to 200; 50 when left out.
    pub limit: Option<i64>,
}

/// Chooses an option of a permission request that is named in full, so that nothing else can be meant (task-domain 2.9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResolvePermission {
    /// The task whose agent asks.
    pub task_id: TaskId,
    /// The session whose agent asks.
    pub session_id: SessionId,
    /// The agent's own id of the request.
    pub request_id: String,
    /// The request.
    pub pending_id: crate::ids::PermissionId,
    /// One of the options that the agent offered.
    pub option_id: String,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListTasks {
    /// Of this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Of this workflow.
    pub workflow_id: Option<WorkflowId>,
    /// In this step.
    pub workflow_step_id: Option<StepId>,
    /// Children of this task.
    pub parent_id: Option<TaskId>,
    /// In this state.
    pub state: Option<String>,
    /// Archived ones too.
    pub include_archived: bool,
    /// 1 to 1,000; all up to 1,000 when left out.
    pub limit: Option<i64>,
    /// The id after which to go on.
    pub cursor: Option<TaskId>,
}

/// Whose board is asked for: that of the task's workspace, or of this one, or of the oldest. What there is not is passed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BoardOf {
    /// A task of the workspace.
    pub task: Option<TaskId>,
    /// The workspace.
    pub workspace: Option<WorkspaceId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_parent_set_to_null_is_not_a_parent_left_out() {
        let left_out: UpdateTask = serde_json::from_value(json!({})).unwrap();
        let cleared: UpdateTask = serde_json::from_value(json!({"parent_id": null})).unwrap();
        assert_eq!(left_out.parent_id, None);
        assert_eq!(cleared.parent_id, Some(None));
    }
}
