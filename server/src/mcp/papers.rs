//! Tools that show something to the operator: a walkthrough, review findings, rich output.

use super::plans::target;
use super::tool::{Call, Hints, Outcome, Tool, to_json};
use domain::review::FindingInput;
use domain::rich::{
    MAX_BLOCKS, MAX_CSV, MAX_DESCRIPTION, MAX_METRICS, MAX_SERIES, MAX_TITLE, RichInput,
};
use domain::walkthrough::WalkthroughStep;
use serde::Deserialize;
use serde_json::{Value, json};

const TASK: &str = "The task as a full UUID; your own when left out or \"self\". Others only within your workspace or task tree.";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        show_tool(),
        Tool {
            name: "get_walkthrough_kandev",
            title: "Get walkthrough",
            description: "Read the walkthrough that a task shows, with all its steps.",
            input: one_task(),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(get(call)),
        },
        Tool {
            name: "delete_walkthrough_kandev",
            title: "Delete walkthrough",
            description: "Delete the walkthrough that a task shows. Deleting what is not there changes nothing.",
            input: one_task(),
            unlisted: &[],
            hints: Hints::DestroysOnce,
            run: |call| Box::pin(delete(call)),
        },
        findings_tool(),
        rich_tool(),
    ]
}

fn one_task() -> Value {
    json!({"type": "object", "properties": {"task_id": task()}})
}

fn task() -> Value {
    json!({"type": "string", "format": "uuid", "description": TASK})
}

fn show_tool() -> Tool {
    Tool {
        name: "show_walkthrough_kandev",
        title: "Show walkthrough",
        description: "Lead the operator through places in the code, step by step, with what there is to see at each. It replaces the \
                      task's earlier walkthrough; one bad step refuses all of it.",
        input: json!({
            "type": "object",
            "properties": {
                "task_id": task(),
                "title": {"type": "string", "description": "One line. Default: Walkthrough."},
                "steps": {
                    "type": "array",
                    "minItems": 1,
                    "description": "In the order in which they are read.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "file": {"type": "string", "description": "Path within the repository."},
                            "line": {"type": "integer", "minimum": 1, "description": "First line."},
                            "line_end": {"type": "integer", "minimum": 1, "description": "Last line. Default: line."},
                            "text": {"type": "string", "description": "What there is to see here, in Markdown."},
                            "title": {"type": "string", "description": "A heading of the step."},
                            "repo": {"type": "string", "description": "The repository, when the task has several."},
                        },
                        "required": ["file", "line", "text"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["steps"],
        }),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(show(call)),
    }
}

fn findings_tool() -> Tool {
    Tool {
        name: "publish_review_findings_kandev",
        title: "Publish review findings",
        description: "Publish what a review found, so that the operator can work it off. A finding with the place and title of one \
                      that is still open makes that one newer instead of doubling it; one bad finding refuses the whole call.",
        input: json!({
            "type": "object",
            "properties": {
                "task_id": task(),
                "summary": {"type": "string", "description": "The review in a few sentences; it is shown in your conversation."},
                "findings": {
                    "type": "array",
                    "minItems": 1,
                    "description": "Each a place and what is wrong there.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "file": {"type": "string", "description": "Path within the repository."},
                            "line": {"type": "integer", "minimum": 1, "description": "First line."},
                            "line_end": {"type": "integer", "minimum": 1, "description": "Last line. Default: line."},
                            "side": {"enum": ["new", "old"], "description": "Of a change: the file as it is now, or as it was. Default: new."},
                            "severity": {"enum": ["blocker", "major", "minor", "nit"], "description": "How bad it is."},
                            "category": {"type": "string", "description": "Words in lower case joined by hyphens, such as error-handling."},
                            "title": {"type": "string", "description": "One line; keep it when you publish the finding again."},
                            "body": {"type": "string", "description": "What is wrong and why, in Markdown."},
                            "suggestion": {"type": "string", "description": "What could stand there instead."},
                            "repo": {"type": "string", "description": "The repository, when the task has several."},
                        },
                        "required": ["file", "line", "severity", "category", "title", "body"],
                        "additionalProperties": false,
                    },
                },
            },
            "required": ["findings"],
        }),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(findings(call)),
    }
}

fn rich_tool() -> Tool {
    let text = |description: &str| json!({"type": "string", "description": description});
    Tool {
        name: "show_rich_output_kandev",
        title: "Show rich output",
        description: "Show files, charts or figures in your conversation when they say more than a sentence. The whole input is at \
                      most 64 KiB; one bad block refuses all of it.",
        input: json!({
            "type": "object",
            "properties": {
                "version": {"const": 1, "description": "Always 1."},
                "title": text(&format!("One line, at most {MAX_TITLE} characters.")),
                "description": text(&format!("A sentence or two, at most {MAX_DESCRIPTION} characters.")),
                "blocks": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_BLOCKS,
                    "description": "In the order in which they are shown.",
                    "items": {"oneOf": [
                        {
                            "type": "object",
                            "properties": {
                                "type": {"const": "file"},
                                "path": text("Where the file is, in your task's folder."),
                                "caption": text("What there is to say about it."),
                                "excerpt": text("A part of it. Default: its beginning, when it is text."),
                            },
                            "required": ["type", "path"],
                            "additionalProperties": false,
                        },
                        {
                            "type": "object",
                            "properties": {
                                "type": {"const": "chart"},
                                "kind": {"enum": ["line", "bar"]},
                                "title": text("What the chart shows."),
                                "csv": text(&format!("A line of names, then 1 to 100 rows; at most {MAX_CSV} bytes.")),
                                "x": text("The column of the labels. Default: the first."),
                                "series": {
                                    "type": "array", "items": {"type": "string"}, "maxItems": MAX_SERIES,
                                    "description": "The columns of the numbers, at most four. Default: all others.",
                                },
                                "unit": text("What the numbers count."),
                            },
                            "required": ["type", "kind", "title", "csv"],
                            "additionalProperties": false,
                        },
                        {
                            "type": "object",
                            "properties": {
                                "type": {"const": "metrics"},
                                "items": {
                                    "type": "array", "minItems": 1, "maxItems": MAX_METRICS,
                                    "items": {
                                        "type": "object",
                                        "properties": {
                                            "label": text("What it is."),
                                            "value": text("How much, in words or digits."),
                                            "unit": text("What it counts."),
                                            "note": text("How it compares."),
                                        },
                                        "required": ["label", "value"],
                                        "additionalProperties": false,
                                    },
                                },
                            },
                            "required": ["type", "items"],
                            "additionalProperties": false,
                        },
                    ]},
                },
            },
            "required": ["version", "title", "blocks"],
        }),
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(rich(call)),
    }
}

#[derive(Deserialize)]
struct TaskArgs {
    task_id: Option<String>,
}

#[derive(Deserialize)]
struct ShowArgs {
    task_id: Option<String>,
    title: Option<String>,
    steps: Vec<WalkthroughStep>,
}

async fn show(call: Call) -> Outcome {
    let args: ShowArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let shown = call
        .board
        .walkthrough_show(&call.actor, task, args.title.as_deref(), args.steps)
        .await?;
    Ok(json!({
        "task_id": task,
        "walkthrough_id": shown.id,
        "title": shown.title,
        "steps": shown.steps.len(),
    }))
}

async fn get(call: Call) -> Outcome {
    let args: TaskArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let found = call.board.walkthrough_find(&call.actor, task).await?;
    Ok(json!({"task_id": task, "walkthrough": found}))
}

async fn delete(call: Call) -> Outcome {
    let args: TaskArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let deleted = call.board.walkthrough_delete(&call.actor, task).await?;
    Ok(json!({"success": true, "task_id": task, "deleted": deleted}))
}

#[derive(Deserialize)]
struct FindingsArgs {
    task_id: Option<String>,
    summary: Option<String>,
    findings: Vec<FindingInput>,
}

async fn findings(call: Call) -> Outcome {
    let args: FindingsArgs = call.read()?;
    let task = target(&call, args.task_id.as_deref())?;
    let published = call
        .board
        .findings_publish(&call.actor, task, args.summary.as_deref(), args.findings)
        .await?;
    Ok(to_json(&published))
}

async fn rich(call: Call) -> Outcome {
    let bytes = call.arguments.to_string().len();
    let input: RichInput = call.read()?;
    let message = call.board.rich_show(&call.actor, input, bytes).await?;
    Ok(json!({"shown": true, "message_id": message.id}))
}
