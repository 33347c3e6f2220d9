//! The tool that moves tasks between steps.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json, without_description};
use domain::moves::EntryOptions;
use domain::params::MoveTask;
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "move_task_kandev",
        title: "Move task",
        description: "Move a task to a workflow step; your own too, with task_id \"self\". Entering a step may start an agent with \
                      that step's prompt. While an agent works on the task the move waits for the end of its turn: disposition is \
                      then \"deferred\", and asking again is refused. A task that is in the step already stays as it is. Use \
                      update_task_kandev for a task's state, and this only for its place on the board.",
        input: json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "format": "uuid", "description": "The task to move: a full UUID, or \"self\"."},
                "workflow_id": {"type": "string", "format": "uuid", "description": "The step's workflow, from list_workflows_kandev."},
                "workflow_step_id": {"type": "string", "format": "uuid", "description": "Where to, from list_workflow_steps_kandev."},
                "position": {"type": "integer", "minimum": 0, "description": "Place in the step, from 0. The end when left out."},
                "prompt": {"type": "string", "description": "An older name of entry_options.instructions; give one of the two."},
                "entry_options": {
                    "type": "object",
                    "description": "What entering a step that starts an agent does differently this once; refused for other steps.",
                    "properties": {
                        "reset_context": {"type": "boolean", "description": "Begin a new conversation. Default: false."},
                        "instructions": {"type": "string", "description": "A hand-off to the agent that goes on, put in front of the \
                                                                           step's prompt."},
                        "skip_step_prompt": {"type": "boolean", "description": "Leave out the step's prompt: with instructions the agent \
                                                                               gets only them, without it is not started. Default: false."},
                    },
                    "additionalProperties": false,
                },
            },
            "required": ["task_id", "workflow_id", "workflow_step_id"],
        }),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(relocate(call)),
    }]
}

#[derive(Deserialize)]
struct MoveArgs {
    task_id: String,
    workflow_id: String,
    workflow_step_id: String,
    position: Option<i64>,
    prompt: Option<String>,
    entry_options: Option<EntryOptions>,
}

async fn relocate(call: Call) -> Outcome {
    let args: MoveArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let params = MoveTask {
        workflow_id: Some(required_id("workflow_id", &args.workflow_id)?),
        workflow_step_id: required_id("workflow_step_id", &args.workflow_step_id)?,
        position: args.position,
        prompt: args.prompt,
        entry_options: args.entry_options,
    };
    let moved = call.board.task_move(&call.actor, task, &params).await?;
    let mut answer = to_json(&moved);
    answer["task"] = without_description(&moved.task);
    answer["workflow_step"] =
        json!({"id": moved.workflow_step.id, "name": moved.workflow_step.name});
    Ok(answer)
}
