//! Tools about agents and the profiles that they are run with.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json};
use domain::params::{CreateProfile, UpdateProfile};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    let mut tools = vec![Tool {
        name: "list_agents_kandev",
        title: "List agents",
        description: "List the coding agents that tasks can be given to, each with its profiles. A profile's id goes into \
                      create_task_kandev as agent_profile_id.",
        input: json!({"type": "object", "properties": {}}),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(list_agents(call)),
    }];
    tools.extend(profile_tools());
    tools
}

fn profile_tools() -> Vec<Tool> {
    let agent = json!({"type": "string", "format": "uuid", "description": "Full UUID, from list_agents_kandev."});
    let profile = json!({"type": "string", "format": "uuid", "description": "Full UUID, from list_agent_profiles_kandev."});
    let mut made = fields();
    made["agent_id"] = agent.clone();
    let mut changed = fields();
    changed["profile_id"] = profile.clone();
    vec![
        Tool {
            name: "create_agent_profile_kandev",
            title: "Create agent profile",
            description: "Make a profile of an agent: under which name, with which model, and whether it may go on unasked.",
            input: json!({"type": "object", "properties": made, "required": ["agent_id", "name", "model"]}),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(create(call)),
        },
        Tool {
            name: "list_agent_profiles_kandev",
            title: "List agent profiles",
            description: "List the profiles of an agent: name, model, mode, and whether it may go on unasked.",
            input: json!({"type": "object", "properties": {"agent_id": agent}, "required": ["agent_id"]}),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list(call)),
        },
        Tool {
            name: "update_agent_profile_kandev",
            title: "Update agent profile",
            description: "Change the name, the model or the mode of a profile, or whether its agents may go on unasked; what is left \
                          out stays. An agent that runs goes on as it was started.",
            input: json!({"type": "object", "properties": changed, "required": ["profile_id"]}),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update(call)),
        },
        Tool {
            name: "delete_agent_profile_kandev",
            title: "Delete agent profile",
            description: "Delete a profile of an agent for good. Refused while a session, a task, a step or a workflow uses it.",
            input: json!({"type": "object", "properties": {"profile_id": profile}, "required": ["profile_id"]}),
            unlisted: &[],
            hints: Hints::Destroys,
            run: |call| Box::pin(delete(call)),
        },
    ]
}

fn fields() -> Value {
    json!({
        "name": {"type": "string", "description": "At most 120 characters, once an agent."},
        "model": {"type": ["string", "null"], "description": "The agent's own id of the model to ask for; null for its usual one."},
        "mode": {"type": ["string", "null"], "description": "The agent's own id of the mode to begin in; null for its usual one."},
        "auto_approve": {"type": "boolean", "description": "What its agents ask permission for is allowed without a person. Default: false. \
                         Agents cannot turn it on."},
    })
}

async fn list_agents(call: Call) -> Outcome {
    let agents = call.board.agent_list(&call.actor).await?;
    Ok(json!({"total": agents.len(), "agents": to_json(&agents)}))
}

async fn create(call: Call) -> Outcome {
    let params: CreateProfile = call.read()?;
    let made = call.board.profile_create(&call.actor, params).await?;
    Ok(to_json(&made))
}

#[derive(Deserialize)]
struct ListArgs {
    agent_id: String,
}

async fn list(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let agent = required_id("agent_id", &args.agent_id)?;
    let profiles = call.board.profile_list(&call.actor, Some(agent)).await?;
    Ok(json!({"total": profiles.len(), "profiles": to_json(&profiles)}))
}

#[derive(Deserialize)]
struct UpdateArgs {
    profile_id: String,
    #[serde(flatten)]
    change: UpdateProfile,
}

async fn update(call: Call) -> Outcome {
    let args: UpdateArgs = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    let changed = call
        .board
        .profile_update(&call.actor, id, args.change)
        .await?;
    Ok(to_json(&changed))
}

#[derive(Deserialize)]
struct DeleteArgs {
    profile_id: String,
}

async fn delete(call: Call) -> Outcome {
    let args: DeleteArgs = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    call.board.profile_delete(&call.actor, id).await?;
    Ok(json!({"success": true}))
}
