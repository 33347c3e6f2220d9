//! Tools about agents and the profiles that they are run with.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json, uuid};
use domain::mcp_servers::UpdateMcpConfig;
use domain::params::{CreateProfile, UpdateAgent, UpdateProfile};
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
    tools.push(Tool {
        name: "update_agent_kandev",
        title: "Update agent",
        description: "Say whether an agent takes MCP servers over HTTP, and with them Flightdeck's tools, whatever it announces when it is \
                      started. It counts from its next start on.",
        input: json!({
            "type": "object",
            "properties": {
                "agent_id": agent_id(),
                "supports_mcp": {"type": ["boolean", "null"], "description": "true: it is given them. false: it is started for raw terminals \
                                 alone. null: what it announces counts. A session cannot say true of an agent that announces the opposite."},
                "mcp_config_path": {"type": ["string", "null"], "description": "Not taken: Flightdeck reads and writes no files of agents. \
                                    Servers are given by update_mcp_config_kandev, and a file by the agent's own arguments."},
            },
            "required": ["agent_id"],
        }),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(update_agent(call)),
    });
    tools.extend(profile_tools());
    tools.extend(mcp_config_tools());
    tools
}

fn agent_id() -> Value {
    uuid("Full UUID, from list_agents_kandev.")
}

fn profile_id() -> Value {
    uuid("Full UUID, from list_agent_profiles_kandev.")
}

fn mcp_config_tools() -> Vec<Tool> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let values = |description: &str| json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}, "description": description});
    let server = json!({
        "type": "object",
        "properties": {
            "type": {"enum": ["stdio", "http", "sse"], "description": "Left out: stdio with a command, http with a url."},
            "command": text("stdio: the program. The operator's alone to add or change."),
            "args": {"type": "array", "items": {"type": "string"}, "description": "stdio: its arguments."},
            "env": values("stdio: variables set for it. Values are kept secret."),
            "url": text("http, sse: the address, without credentials."),
            "headers": values("http, sse: sent with each request. Values are kept secret."),
        },
        "additionalProperties": false,
    });
    vec![
        Tool {
            name: "get_mcp_config_kandev",
            title: "Get MCP servers of a profile",
            description: "Read which MCP servers a profile's agents are given beside Flightdeck's own. Values of env and headers are \
                          secret: each stands there as null.",
            input: json!({"type": "object", "properties": {"profile_id": profile_id()}, "required": ["profile_id"]}),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(get_mcp_config(call)),
        },
        Tool {
            name: "update_mcp_config_kandev",
            title: "Update MCP servers of a profile",
            description: "Change which MCP servers a profile's agents are given beside Flightdeck's own. An agent that runs goes on as it \
                          was started; its next start gets them, as far as it takes their kind. A server that runs a command (stdio) \
                          runs with the operator's rights, so only the operator adds, changes or switches on one, in Settings: leave it as \
                          get_mcp_config_kandev showed it, or out.",
            input: json!({
                "type": "object",
                "properties": {
                    "profile_id": profile_id(),
                    "enabled": {"type": "boolean", "description": "false: its agents are given none of them."},
                    "servers": {"type": "object", "additionalProperties": server, "description": "All servers by name: one that is left out is \
                                gone. A name has letters, digits, - _ and a point, and does not begin with \"kandev\". null in the place of a \
                                value keeps the one that is stored, while the server's command or url stays."},
                },
                "required": ["profile_id"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_mcp_config(call)),
        },
    ]
}

fn profile_tools() -> Vec<Tool> {
    let (agent, profile) = (agent_id(), profile_id());
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

#[derive(Deserialize)]
struct UpdateAgentArgs {
    agent_id: String,
    #[serde(flatten)]
    change: UpdateAgent,
}

async fn update_agent(call: Call) -> Outcome {
    let args: UpdateAgentArgs = call.read()?;
    let id = required_id("agent_id", &args.agent_id)?;
    let changed = call
        .board
        .agent_update(&call.actor, id, args.change)
        .await?;
    Ok(to_json(&changed))
}

async fn get_mcp_config(call: Call) -> Outcome {
    let args: OneProfile = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    Ok(to_json(&call.board.mcp_config_get(&call.actor, id).await?))
}

#[derive(Deserialize)]
struct UpdateMcpConfigArgs {
    profile_id: String,
    #[serde(flatten)]
    change: UpdateMcpConfig,
}

async fn update_mcp_config(call: Call) -> Outcome {
    let args: UpdateMcpConfigArgs = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    let changed = call
        .board
        .mcp_config_update(&call.actor, id, args.change)
        .await?;
    Ok(to_json(&changed))
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
struct OneProfile {
    profile_id: String,
}

async fn delete(call: Call) -> Outcome {
    let args: OneProfile = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    call.board.profile_delete(&call.actor, id).await?;
    Ok(json!({"success": true}))
}
