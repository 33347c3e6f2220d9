//! Tools for a task's plan (task-domain section 8).
//!
//! A read gives two blocks of text: what there is to know about the plan, and its text exactly as it was written. Writes answer
//! with version and sizes. Whole numbers are judged by the schema, so that something that is none never becomes a full read.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json};
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::plan::{
    DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, PlanChange, PlanRange, RestorePlan, WritePlan,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Tools whose answer holds a text in this field that is also given alone, letter for letter.
pub(super) const EXACT_TEXT: &str = "content";

/// Whether a tool's answer has a text that is given alone.
pub(super) fn has_exact_text(tool: &str) -> bool {
    matches!(
        tool,
        "get_task_plan_kandev" | "get_task_plan_revision_kandev"
    )
}

const TASK: &str = "The task as a full UUID; your own when left out or \"self\". Others only within your workspace or task tree.";
const VERSION: &str = "The version that your last read or write of the plan gave.";
const TRUNCATE: &str = "Let a write keep less than half of a long plan. Only when most of it is meant to go. Default: false.";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        create_tool(),
        get_tool(),
        update_tool(),
        edit_tool(),
        Tool {
            name: "delete_task_plan_kandev",
            title: "Delete task plan",
            description: "Delete a task's plan. Its revisions stay, so the operator can bring it back. Deleting what is not there \
                          changes nothing.",
            input: object(json!({"task_id": task()}), &[]),
            unlisted: &[],
            hints: Hints::DestroysOnce,
            run: |call| Box::pin(delete(call)),
        },
        revisions_tool(),
        revision_tool(),
        restore_tool(),
    ]
}

fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn task() -> Value {
    json!({"type": "string", "format": "uuid", "description": TASK})
}

fn version() -> Value {
    json!({"type": "string", "minLength": 1, "description": VERSION})
}

fn create_tool() -> Tool {
    Tool {
        name: "create_task_plan_kandev",
        title: "Create task plan",
        description: "Write a task's plan, which the operator sees and may edit beside the conversation. The text is Markdown and \
                      must be the whole plan. When there is one already it is replaced, and only with the version you read; to \
                      change a part use edit_task_plan_kandev.",
        input: object(
            json!({
                "task_id": task(),
                "content": {"type": "string", "description": "The whole plan in Markdown, at most 256 KiB."},
                "title": {"type": "string", "description": "One line. Default: Plan."},
                "expected_version": version(),
                "allow_truncation": {"type": "boolean", "description": TRUNCATE},
            }),
            &["content"],
        ),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(create(call)),
    }
}

fn get_tool() -> Tool {
    Tool {
        name: "get_task_plan_kandev",
        title: "Get task plan",
        description: "Read a task's plan: first what there is to know about it, then its exact text. With offset or limit it gives a \
                      range, counted in Unicode code points; go on with next_offset and the first range's version, since a write in \
                      between moves everything. Reading changes nothing.",
        input: object(
            json!({
                "task_id": task(),
                "offset": {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET,
                           "description": "Where to begin, in code points. Default when limit is given: 0."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT,
                          "description": format!("How many code points. Default when offset is given: {DEFAULT_LIMIT}.")},
                "expected_version": version(),
            }),
            &[],
        ),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(get(call)),
    }
}

fn update_tool() -> Tool {
    Tool {
        name: "update_task_plan_kandev",
        title: "Update task plan",
        description: "Replace a task's plan by another whole text, or append to it. A replacement needs the version you read. An \
                      append goes after one blank line and needs none; doing it twice appends twice.",
        input: object(
            json!({
                "task_id": task(),
                "content": {"type": "string", "description": "The whole new plan, or what is appended. Never a part as a replacement."},
                "title": {"type": "string", "description": "Another title. Kept when left out."},
                "mode": {"enum": ["replace", "append"], "description": "Default: replace."},
                "expected_version": version(),
                "allow_truncation": {"type": "boolean", "description": TRUNCATE},
            }),
            &["content"],
        ),
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(update(call)),
    }
}

fn edit_tool() -> Tool {
    Tool {
        name: "edit_task_plan_kandev",
        title: "Edit task plan",
        description: "Replace one exact piece of a task's plan and leave every other byte as it is. old_text must stand in the plan \
                      exactly once, letter for letter, overlaps counted; give more of the text around it when it does not.",
        input: object(
            json!({
                "task_id": task(),
                "expected_version": version(),
                "old_text": {"type": "string", "description": "What stands there, copied exactly, line breaks included."},
                "new_text": {"type": "string", "description": "What shall stand there; empty to take it out."},
                "allow_truncation": {"type": "boolean", "description": TRUNCATE},
            }),
            &["expected_version", "old_text", "new_text"],
        ),
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(edit(call)),
    }
}

fn revisions_tool() -> Tool {
    Tool {
        name: "list_task_plan_revisions_kandev",
        title: "List task plan revisions",
        description: "List the history of a task's plan, newest first, with authors and sizes but without the texts. Writes of one \
                      author within a few minutes share a revision.",
        input: object(
            json!({
                "task_id": task(),
                "cursor": {"type": "integer", "minimum": 1, "description": "next_cursor of the page before."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Revisions a page. Default: 20."},
            }),
            &[],
        ),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(revisions(call)),
    }
}

fn revision_tool() -> Tool {
    Tool {
        name: "get_task_plan_revision_kandev",
        title: "Get task plan revision",
        description: "Read what a task's plan was at one revision: title, author and revision_version first, then its exact text.",
        input: object(
            json!({
                "task_id": task(),
                "revision_id": {"type": "string", "format": "uuid", "description": "From list_task_plan_revisions_kandev."},
            }),
            &["revision_id"],
        ),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(revision(call)),
    }
}

fn restore_tool() -> Tool {
    Tool {
        name: "restore_task_plan_revision_kandev",
        title: "Restore task plan revision",
        description: "Make a task's plan what it was at one revision. It becomes a new revision by you, and the present text stays in \
                      the history. Needs the version of the plan and that of the revision as you read them.",
        input: object(
            json!({
                "task_id": task(),
                "revision_id": {"type": "string", "format": "uuid", "description": "From list_task_plan_revisions_kandev."},
                "expected_version": version(),
                "expected_revision_version": {"type": "string", "minLength": 1,
                                              "description": "The revision_version that your read of the revision gave."},
            }),
            &[
                "revision_id",
                "expected_version",
                "expected_revision_version",
            ],
        ),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(restore(call)),
    }
}

/// The task that is meant: the caller's own when nothing is said. An empty word is not nothing.
pub(super) fn target(call: &Call, task_id: Option<&str>) -> Result<TaskId, Refusal> {
    call.task("task_id", task_id.unwrap_or("self"))
}

#[derive(Deserialize)]
struct WriteArgs {
    task_id: Option<String>,
    content: String,
    title: Option<String>,
    mode: Option<Mode>,
    expected_version: Option<String>,
    #[serde(default)]
    allow_truncation: bool,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Append,
}

async fn write(call: &Call, task_id: Option<&str>, params: &WritePlan) -> Outcome {
    let task = target(call, task_id)?;
    Ok(to_json(
        &call.board.plan_write(&call.actor, task, params).await?,
    ))
}

async fn create(call: Call) -> Outcome {
    let args: WriteArgs = call.read()?;
    let params = WritePlan {
        change: PlanChange::Create {
            title: args.title,
            content: args.content,
        },
        expected_version: args.expected_version,
        allow_truncation: args.allow_truncation,
    };
    write(&call, args.task_id.as_deref(), &params).await
}

async fn update(call: Call) -> Outcome {
    let args: WriteArgs = call.read()?;
    let change = if args.mode == Some(Mode::Append) {
        PlanChange::Append {
            title: args.title,
            fragment: args.content,
        }
    } else {
        PlanChange::Replace {
            title: args.title,
            content: args.content,
        }
    };
    let params = WritePlan {
        change,
        expected_version: args.expected_version,
        allow_truncation: args.allow_truncation,
    };
    write(&call, args.task_id.as_deref(), &params).await
}

#[derive(Deserialize)]
struct EditArgs {
    task_id: Option<String>,
    expected_version: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    allow_truncation: bool,
}

async fn edit(call: Call) -> Outcome {
    let args: EditArgs = call.read()?;
    let params = WritePlan {
        change: PlanChange::Edit {
            old_text: args.old_text,
            new_text: args.new_text,
        },
        expected_version: Some(args.expected_version),
        allow_truncation: args.allow_truncation,
    };
    write(&call, args.task_id.as_deref(), &params).await
}

#[derive(Deserialize)]
struct GetArgs {
    task_id: Option<String>,
    offset: Option<u64>,
    limit: Option<u64>,
    expected_version: Option<String>,
}

async fn get(call: Call) -> Outcome {
    let args: GetArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let range = PlanRange {
        offset: args.offset,
        limit: args.limit,
        expected_version: args.expected_version,
    };
    Ok(
        match call.board.plan_read(&call.actor, task, &range).await? {
            Some(read) => to_json(&read),
            None => json!({
                "task_id": task,
                "plan": null,
                "message": "The task has no plan. create_task_plan_kandev makes one.",
            }),
        },
    )
}

#[derive(Deserialize)]
struct DeleteArgs {
    task_id: Option<String>,
}

async fn delete(call: Call) -> Outcome {
    let args: DeleteArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let deleted = call.board.plan_delete(&call.actor, task, None).await?;
    Ok(json!({"success": true, "task_id": task, "deleted": deleted}))
}

#[derive(Deserialize)]
struct RevisionsArgs {
    task_id: Option<String>,
    cursor: Option<i64>,
    limit: Option<i64>,
}

async fn revisions(call: Call) -> Outcome {
    let args: RevisionsArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let page = call
        .board
        .plan_revisions(&call.actor, task, args.cursor, args.limit)
        .await?;
    Ok(to_json(&page))
}

#[derive(Deserialize)]
struct RevisionArgs {
    task_id: Option<String>,
    revision_id: String,
}

async fn revision(call: Call) -> Outcome {
    let args: RevisionArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let id = required_id("revision_id", &args.revision_id)?;
    Ok(to_json(
        &call.board.plan_revision(&call.actor, task, id).await?,
    ))
}

#[derive(Deserialize)]
struct RestoreArgs {
    task_id: Option<String>,
    revision_id: String,
    expected_version: String,
    expected_revision_version: String,
}

async fn restore(call: Call) -> Outcome {
    let args: RestoreArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let params = RestorePlan {
        revision_id: required_id("revision_id", &args.revision_id)?,
        expected_version: Some(args.expected_version),
        expected_revision_version: Some(args.expected_revision_version),
    };
    Ok(to_json(
        &call.board.plan_restore(&call.actor, task, &params).await?,
    ))
}
