//! The tool that lists repositories.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json};
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "list_repositories_kandev",
        title: "List repositories",
        description: "List the repositories of a workspace: where each is on this machine and with its provider. A task is made \
                      about one with create_task_kandev and repository_id.",
        input: json!({
            "type": "object",
            "properties": {
                "workspace_id": {"type": "string", "format": "uuid", "description": "Full UUID, from list_workspaces_kandev."},
            },
            "required": ["workspace_id"],
        }),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(list(call)),
    }]
}

#[derive(Deserialize)]
struct OfWorkspace {
    workspace_id: String,
}

async fn list(call: Call) -> Outcome {
    let args: OfWorkspace = call.read()?;
    let workspace = required_id("workspace_id", &args.workspace_id)?;
    let repositories = call.board.repository_list(&call.actor, workspace).await?;
    Ok(json!({"total": repositories.len(), "repositories": to_json(&repositories)}))
}
