//! Tools that say which task waits for which.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json};
use domain::ids::TaskId;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "add_task_dependency_kandev",
            title: "Add task dependency",
            description: "Make a task wait until another one is COMPLETED: \"not before\", as against a parent, which says \"part of\". \
                          Within a task it is your own that waits. A circle is refused with its path. A task that runs already is not \
                          stopped by it.",
            input: input(
                "The task that must be COMPLETED first, as a full UUID; in the same workspace.",
            ),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(add(call)),
        },
        Tool {
            name: "remove_task_dependency_kandev",
            title: "Remove task dependency",
            description: "Let a task no longer wait for another. A dependency that is not there is a success. Nothing is started by \
                          it, even when it was the last one.",
            input: input("The task that is no longer waited for, as a full UUID."),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(remove(call)),
        },
    ]
}

fn input(depends_on: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "task_id": {"type": "string", "format": "uuid", "description": "The task that waits: your own when left out or \"self\". An outside \
                                                                          client has to name it."},
            "depends_on_task_id": {"type": "string", "format": "uuid", "description": depends_on},
        },
        "required": ["depends_on_task_id"],
    })
}

#[derive(Deserialize)]
struct Args {
    task_id: Option<String>,
    depends_on_task_id: String,
}

fn read(call: &Call) -> Result<(TaskId, TaskId), domain::error::Refusal> {
    let args: Args = call.read()?;
    let task = match args.task_id.as_deref().map(str::trim) {
        None | Some("") => call.own_task("task_id")?,
        Some(given) => call.task("task_id", given)?,
    };
    Ok((
        task,
        required_id("depends_on_task_id", &args.depends_on_task_id)?,
    ))
}

async fn add(call: Call) -> Outcome {
    let (task, depends_on) = read(&call)?;
    Ok(to_json(
        &call
            .board
            .dependency_add(&call.actor, task, depends_on)
            .await?,
    ))
}

async fn remove(call: Call) -> Outcome {
    let (task, depends_on) = read(&call)?;
    Ok(to_json(
        &call
            .board
            .dependency_remove(&call.actor, task, depends_on)
            .await?,
    ))
}
