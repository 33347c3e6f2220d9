//! Tools of tasks beside the board: their documents, and decisions about their steps.

use super::tool::{Call, Hints, Outcome, Tool, to_json};
use domain::document::{Decision, DocumentKey, WriteDocument};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "list_task_documents_kandev",
            title: "List task documents",
            description: "List the documents of a task by their keys: title, type, length, and who wrote each last. Their texts come with \
                          get_task_document_kandev.",
            input: json!({
                "type": "object",
                "properties": {"task_id": task()},
                "required": ["task_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list(call)),
        },
        Tool {
            name: "get_task_document_kandev",
            title: "Get task document",
            description: "Read one document of a task, whole, by its key.",
            input: json!({
                "type": "object",
                "properties": {"task_id": task(), "document_key": key()},
                "required": ["task_id", "document_key"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(get(call)),
        },
        Tool {
            name: "write_task_document_kandev",
            title: "Write task document",
            description: "Write a document of your own task, or of a task that yours is a part of, in the place of what stood under its \
                          key. The text is the whole document: a part of it would replace the rest.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": {"type": "string", "format": "uuid", "description": "\"self\", or a task above yours as a full UUID."},
                    "document_key": key(),
                    "content": {"type": "string", "description": "The whole text, at most 256 KiB."},
                    "title": {"type": "string", "description": "What people call it. As it was, or the key, when left out."},
                    "type": {"type": "string", "description": "A word for its kind. As it was, or custom, when left out."},
                },
                "required": ["task_id", "document_key", "content"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(write(call)),
        },
        Tool {
            name: "record_step_decision_kandev",
            title: "Record step decision",
            description: "Note what you decided about the work of the present step, and why. It moves nothing; whoever goes on reads it.",
            input: json!({
                "type": "object",
                "properties": {
                    "decision": {"enum": ["approved", "rejected"], "description": "What you decided."},
                    "reason": {"type": "string", "description": "Why, in a sentence or two."},
                },
                "required": ["decision", "reason"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(decide(call)),
        },
    ]
}

fn task() -> Value {
    json!({"type": "string", "format": "uuid", "description": "Full UUID; \"self\" is your own task."})
}

fn key() -> Value {
    json!({"type": "string", "description": "What the document is known by: small letters, digits, \".\", \"_\" and \"-\"."})
}

#[derive(Deserialize)]
struct ListArgs {
    task_id: String,
}

async fn list(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let documents = call.board.document_list(&call.actor, task).await?;
    Ok(json!({"task_id": task, "total": documents.len(), "documents": to_json(&documents)}))
}

#[derive(Deserialize)]
struct GetArgs {
    task_id: String,
    document_key: String,
}

async fn get(call: Call) -> Outcome {
    let args: GetArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let key: DocumentKey = args.document_key.parse()?;
    Ok(to_json(
        &call.board.document_get(&call.actor, task, &key).await?,
    ))
}

#[derive(Deserialize)]
struct WriteArgs {
    task_id: String,
    document_key: String,
    #[serde(flatten)]
    write: WriteDocument,
}

async fn write(call: Call) -> Outcome {
    let args: WriteArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let key: DocumentKey = args.document_key.parse()?;
    let written = call
        .board
        .document_write(&call.actor, task, &key, args.write)
        .await?;
    Ok(to_json(&written))
}

#[derive(Deserialize)]
struct DecideArgs {
    decision: Decision,
    reason: String,
}

async fn decide(call: Call) -> Outcome {
    let args: DecideArgs = call.read()?;
    let decided = call
        .board
        .step_decide(&call.actor, args.decision, &args.reason)
        .await?;
    Ok(to_json(&decided))
}
