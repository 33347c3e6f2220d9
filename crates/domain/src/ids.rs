//! Identifiers: time-ordered UUIDs behind one newtype a noun, so that a task's id cannot be passed for a session's.
//!
//! Ids are made on the server. Parsing is strict and explains itself, because agents like to shorten ids.

use crate::error::Refusal;
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident = $noun:literal;)+) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
            #[serde(transparent)]
            pub struct $name(Uuid);

            impl $name {
                /// A new, time-ordered id.
                #[must_use]
                pub fn new() -> Self {
                    Self(Uuid::now_v7())
                }

                /// Reads a full UUID. A shortened id gets a refusal that says so; the value itself is not repeated.
                pub fn parse(text: &str) -> Result<Self, Refusal> {
                    parse_uuid($noun, text).map(Self)
                }

                /// The UUID inside.
                #[must_use]
                pub const fn uuid(self) -> Uuid {
                    self.0
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::new()
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.hyphenated().fmt(f)
                }
            }

            impl std::str::FromStr for $name {
                type Err = Refusal;
                fn from_str(text: &str) -> Result<Self, Refusal> {
                    Self::parse(text)
                }
            }
        )+
    };
}

ids! {
    /// A workspace: the outermost box around workflows and tasks.
    WorkspaceId = "workspace_id";
    /// A workflow: an ordered list of steps.
    WorkflowId = "workflow_id";
    /// One step of a workflow, a column on the board.
    StepId = "workflow_step_id";
    /// A task, the card an operator delegates.
    TaskId = "task_id";
    /// A session: one agent's conversation on a task.
    SessionId = "session_id";
    /// A turn: one prompt and all that follows until the agent stops.
    TurnId = "turn_id";
    /// A message in a session's transcript.
    MessageId = "message_id";
    /// A queued prompt. It travels with the prompt as its id, so that an agent's history can be searched for it.
    PromptId = "prompt_id";
    /// A question that a child asks its parent.
    QuestionId = "question_id";
    /// A bundle of questions to the operator; the wire calls it `pending_id`.
    ClarificationId = "pending_id";
    /// A request by an agent to be allowed to use a tool.
    PermissionId = "permission_id";
    /// A configured coding agent.
    AgentId = "agent_id";
    /// A profile of an agent: model, mode and the like.
    ProfileId = "agent_profile_id";
    /// A profile of an executor.
    ExecutorProfileId = "executor_profile_id";
    /// The preparation of a folder.
    PreparationId = "preparation_id";
    /// A move of a card: what was asked for once is done once.
    MoveId = "move_id";
    /// A follow-up of a transition, waiting to be carried out.
    EffectId = "effect_id";
    /// An operator's account.
    OperatorId = "operator_id";
    /// A named access token of an outside client.
    TokenId = "token_id";
    /// A task's plan.
    PlanId = "plan_id";
    /// One revision in a plan's history.
    PlanRevisionId = "revision_id";
    /// What a plan or a revision was at one moment: changes with each write, and says nothing else.
    PlanVersion = "expected_version";
    /// A walkthrough.
    WalkthroughId = "walkthrough_id";
    /// A review finding.
    FindingId = "finding_id";
    /// A document of a task.
    DocumentId = "document_id";
    /// A decision about a step.
    DecisionId = "decision_id";
    /// A run: one execution that an outside client asked for. The contract calls it `taskId`, and `jobId` too.
    RunId = "taskId";
    /// A call about a run.
    CallId = "call";
    /// A repository of a workspace.
    RepositoryId = "repository_id";
    /// A pull or merge request that a task cares for.
    ChangeRequestId = "change_request_id";
}

impl MessageId {
    /// The id of the message that a prompt becomes in the transcript. It is known as soon as the prompt is queued, so that its
    /// sender can be told where to find it.
    #[must_use]
    pub const fn of_prompt(prompt: PromptId) -> Self {
        Self(prompt.0)
    }
}

/// Reads a full UUID for the field `noun`. What was given instead is not repeated; that it looks shortened is.
pub fn parse_uuid(noun: &str, text: &str) -> Result<Uuid, Refusal> {
    let trimmed = text.trim();
    if trimmed.len() == 36
        && let Ok(id) = Uuid::try_parse(trimmed)
    {
        return Ok(id);
    }
    let looks_shortened = !trimmed.is_empty()
        && trimmed.len() < 36
        && trimmed
            .chars()
            .all(|c| c.is_ascii_hexdigit() || matches!(c, '-' | '…' | '.'));
    Err(Refusal::validation(if looks_shortened {
        format!("{noun} looks shortened: give the full UUID of 36 characters")
    } else {
        format!("{noun} must be a full UUID of 36 characters")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_id_is_told_apart_from_nonsense() {
        let id = TaskId::new();
        let text = id.to_string();
        assert_eq!(TaskId::parse(&text).unwrap(), id);
        assert!(
            TaskId::parse(&text[..8])
                .unwrap_err()
                .message
                .contains("looks shortened")
        );
        assert!(
            !TaskId::parse("the first one")
                .unwrap_err()
                .message
                .contains("looks shortened")
        );
        assert!(TaskId::parse("").is_err());
    }

    #[test]
    fn refusals_never_repeat_the_submitted_value() {
        assert!(
            !TaskId::parse("s3cret-value")
                .unwrap_err()
                .message
                .contains("s3cret")
        );
    }
}
