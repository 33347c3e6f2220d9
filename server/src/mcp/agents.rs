//! Tools about agents.

use super::tool::{Call, Hints, Outcome, Tool, to_json};
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "list_agents_kandev",
        title: "List agents",
        description: "List the coding agents that tasks can be given to, each with its profiles. A profile's id goes into \
                      create_task_kandev as agent_profile_id.",
        input: json!({"type": "object", "properties": {}}),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(list_agents(call)),
    }]
}

async fn list_agents(call: Call) -> Outcome {
    let agents = call.board.agent_list(&call.actor).await?;
    Ok(json!({"total": agents.len(), "agents": to_json(&agents)}))
}
