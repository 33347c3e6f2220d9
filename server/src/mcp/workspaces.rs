//! Tools that look around: workspaces, workflows, steps.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json};
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "list_workspaces_kandev",
            title: "List workspaces",
            description: "List the workspaces of the board. A workspace holds workflows and their tasks; its id is needed to \
                          list its workflows.",
            input: json!({"type": "object", "properties": {}}),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list_workspaces(call)),
        },
        Tool {
            name: "list_workflows_kandev",
            title: "List workflows",
            description: "List the workflows of a workspace, each with its steps. A workflow is a row of steps that tasks move \
                          through; its id is needed to list its tasks.",
            input: json!({
                "type": "object",
                "properties": {
                    "workspace_id": {"type": "string", "format": "uuid", "description": "Full UUID, from list_workspaces_kandev."},
                },
                "required": ["workspace_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list_workflows(call)),
        },
        Tool {
            name: "list_workflow_steps_kandev",
            title: "List workflow steps",
            description: "List the steps of a workflow in order, the columns of the board, with what happens when a task enters \
                          one and when a turn begins or ends in it.",
            input: json!({
                "type": "object",
                "properties": {
                    "workflow_id": {"type": "string", "format": "uuid", "description": "Full UUID, from list_workflows_kandev."},
                },
                "required": ["workflow_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list_steps(call)),
        },
    ]
}

async fn list_workspaces(call: Call) -> Outcome {
    let workspaces = call.board.workspace_list(&call.actor).await?;
    Ok(json!({"total": workspaces.len(), "workspaces": to_json(&workspaces)}))
}

#[derive(Deserialize)]
struct OfWorkspace {
    workspace_id: String,
}

async fn list_workflows(call: Call) -> Outcome {
    let args: OfWorkspace = call.read()?;
    let workspace = required_id("workspace_id", &args.workspace_id)?;
    let workflows = call.board.workflow_list(&call.actor, workspace).await?;
    Ok(json!({"total": workflows.len(), "workflows": to_json(&workflows)}))
}

#[derive(Deserialize)]
struct OfWorkflow {
    workflow_id: String,
}

async fn list_steps(call: Call) -> Outcome {
    let args: OfWorkflow = call.read()?;
    let workflow = required_id("workflow_id", &args.workflow_id)?;
    let steps = call.board.step_list(&call.actor, workflow).await?;
    Ok(json!({"total": steps.len(), "steps": to_json(&steps)}))
}
