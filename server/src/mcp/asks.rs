//! Tools by which an outside client sees and answers what waits for the operator. The first answer wins, wherever it comes from.

use super::tool::{Call, Hints, Outcome, Tool, optional_id, required_id, to_json, uuid};
use domain::clarification::{AnswerItem, ClarificationAnswer};
use domain::error::Refusal;
use domain::params::{ListQuestions, ResolvePermission};
use domain::time::Timestamp;
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        list_questions_tool(),
        answer_tool(),
        Tool {
            name: "list_pending_agent_permissions_kandev",
            title: "List pending permissions",
            description: "List what the agents of a task wait to be allowed, oldest first, each with the options that its agent offers.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": uuid("The task, as a full UUID."),
                    "session_id": uuid("Only this session of it."),
                },
                "required": ["task_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list_permissions(call)),
        },
        Tool {
            name: "resolve_agent_permission_kandev",
            title: "Resolve permission",
            description: "Choose one of the options that an agent offered when it asked for permission. Ask your user first: the agent \
                          acts at once. Name the request as list_pending_agent_permissions_kandev shows it; one that is over is \
                          refused.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": uuid("The task of the request."),
                    "session_id": uuid("The session of the request."),
                    "request_id": {"type": "string", "description": "The agent's own id of the request."},
                    "pending_id": uuid("The request."),
                    "option_id": {"type": "string", "description": "One of its options."},
                },
                "required": ["task_id", "session_id", "request_id", "pending_id", "option_id"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(resolve(call)),
        },
    ]
}

fn list_questions_tool() -> Tool {
    Tool {
        name: "list_pending_questions_kandev",
        title: "List pending questions",
        description: "List the questions that agents put to their operator and that nobody has answered, oldest first. Questions that \
                      belong together stand in one bundle and are answered together with answer_question_kandev.",
        input: json!({
            "type": "object",
            "properties": {
                "workspace_id": uuid("Only questions of this workspace."),
                "created_since": {"type": "string", "description": "Only questions asked at this moment or later, as RFC 3339."},
                "cursor": {"type": "string", "description": "next_cursor of the page before."},
                "limit": {"type": "integer", "description": "Bundles a page, 1 to 200. Default: 50."},
            },
        }),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(list_questions(call)),
    }
}

fn answer_tool() -> Tool {
    Tool {
        name: "answer_question_kandev",
        title: "Answer question",
        description: "Answer a bundle of questions for the operator, all of them at once, or reject it. Put them to your user first. \
                      The first answer counts: claimed is false when another came before, and response is then what was recorded.",
        input: json!({
            "type": "object",
            "properties": {
                "pending_id": uuid("The bundle, from list_pending_questions_kandev."),
                "answers": {
                    "type": "array",
                    "description": "One entry a question.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "question_id": {"type": "string", "description": "Which question."},
                            "selected_options": {"type": "array", "items": {"type": "string"}, "description": "At most one option_id."},
                            "custom_text": {"type": "string", "description": "In the user's own words; at most 2,000 characters."},
                        },
                        "required": ["question_id"],
                        "additionalProperties": false,
                    },
                },
                "rejected": {"type": "boolean", "description": "Leave the whole bundle unanswered. Not together with answers."},
                "reject_reason": {"type": "string", "description": "Why, in at most 2,000 characters."},
            },
            "required": ["pending_id"],
        }),
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(answer(call)),
    }
}

#[derive(Deserialize)]
struct QuestionArgs {
    workspace_id: Option<String>,
    created_since: Option<String>,
    cursor: Option<String>,
    limit: Option<i64>,
}

async fn list_questions(call: Call) -> Outcome {
    let args: QuestionArgs = call.read()?;
    let created_since = args
        .created_since
        .as_deref()
        .map(|text| {
            Timestamp::parse_rfc3339(text.trim()).ok_or_else(|| {
                Refusal::validation("created_since must be a moment such as 2026-01-31T12:00:00Z")
            })
        })
        .transpose()?;
    let params = ListQuestions {
        workspace_id: optional_id("workspace_id", args.workspace_id.as_deref())?,
        created_since,
        cursor: args.cursor,
        limit: args.limit,
    };
    Ok(to_json(
        &call.board.questions_pending(&call.actor, &params).await?,
    ))
}

#[derive(Deserialize)]
struct AnswerArgs {
    pending_id: String,
    #[serde(default)]
    answers: Vec<AnswerItem>,
    #[serde(default)]
    rejected: bool,
    reject_reason: Option<String>,
}

async fn answer(call: Call) -> Outcome {
    let args: AnswerArgs = call.read()?;
    let id = required_id("pending_id", &args.pending_id)?;
    let answer = ClarificationAnswer {
        answers: args.answers,
        rejected: args.rejected,
        reject_reason: args.reject_reason,
    };
    Ok(to_json(
        &call
            .board
            .clarification_respond(&call.actor, id, &answer)
            .await?,
    ))
}

#[derive(Deserialize)]
struct PermissionArgs {
    task_id: String,
    session_id: Option<String>,
}

async fn list_permissions(call: Call) -> Outcome {
    let args: PermissionArgs = call.read()?;
    let task = required_id("task_id", &args.task_id)?;
    let session = optional_id("session_id", args.session_id.as_deref())?;
    let pending = call
        .board
        .permissions_pending(&call.actor, task, session)
        .await?;
    Ok(json!({"count": pending.len(), "permissions": to_json(&pending)}))
}

async fn resolve(call: Call) -> Outcome {
    let choice: ResolvePermission = call.read()?;
    let resolved = call.board.permission_resolve(&call.actor, &choice).await?;
    Ok(json!({
        "success": true,
        "pending_id": resolved.id,
        "status": "selected",
        "option_id": choice.option_id,
    }))
}
