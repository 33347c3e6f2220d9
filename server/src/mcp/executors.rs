//! Tools about executors and their profiles.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json, uuid};
use domain::executor::{CreateExecutorProfile, Executor, UpdateExecutorProfile};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    let profile = uuid("Full UUID, from list_executor_profiles_kandev.");
    let mut made = fields();
    made["executor_id"] = executor();
    let mut changed = fields();
    changed["profile_id"] = profile.clone();
    vec![
        Tool {
            name: "list_executors_kandev",
            title: "List executors",
            description: "List the executors that agents can be run on. There is one: processes on the machine of Flightdeck, in the task's \
                          folder.",
            input: json!({"type": "object", "properties": {}}),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list_executors(call)),
        },
        Tool {
            name: "list_executor_profiles_kandev",
            title: "List executor profiles",
            description: "List the profiles of an executor: what is run in a task's folder before its first agent starts and after the last task \
                          has left it, and which MCP servers agents are given. A profile's id goes into create_task_kandev as \
                          executor_profile_id; without one a task is run as usual.",
            input: json!({"type": "object", "properties": {"executor_id": executor()}, "required": ["executor_id"]}),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list(call)),
        },
        Tool {
            name: "create_executor_profile_kandev",
            title: "Create executor profile",
            description: "Make a profile of an executor. Scripts run with the operator's rights, so only the operator gives a profile some, in \
                          Settings: leave them and config out.",
            input: json!({"type": "object", "properties": made, "required": ["executor_id", "name"]}),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(create(call)),
        },
        Tool {
            name: "update_executor_profile_kandev",
            title: "Update executor profile",
            description: "Change a profile of an executor; what is left out stays. It counts from the next start of an agent on. Scripts and \
                          config are the operator's to change, and a session cannot loosen mcp_policy.",
            input: json!({"type": "object", "properties": changed, "required": ["profile_id"]}),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update(call)),
        },
        Tool {
            name: "delete_executor_profile_kandev",
            title: "Delete executor profile",
            description: "Delete a profile of an executor for good. Refused while a task has it or a folder that it prepared is still to be \
                          cleaned up; one with scripts is the operator's to delete.",
            input: json!({"type": "object", "properties": {"profile_id": profile}, "required": ["profile_id"]}),
            unlisted: &[],
            hints: Hints::Destroys,
            run: |call| Box::pin(delete(call)),
        },
    ]
}

fn executor() -> Value {
    json!({"enum": Executor::ALL, "description": "From list_executors_kandev."})
}

fn fields() -> Value {
    let seconds = |usual: i64| json!({"type": ["integer", "null"], "minimum": 1, "maximum": 3600, "description": format!("Default: {usual}.")});
    json!({
        "name": {"type": "string", "description": "At most 120 characters, once an executor."},
        "mcp_policy": {"enum": ["all", "remote_only", "none"], "description": "Which MCP servers of their profile agents are given beside \
                       Flightdeck's own: all, those with an address, or none. Default: all."},
        "prepare_script": {"type": "string", "description": "For sh, in the task's folder before its first agent starts there; a start fails \
                           when it does. Empty for none. The operator's alone."},
        "cleanup_script": {"type": "string", "description": "For sh, in the folder when the last task that worked there was archived or \
                           deleted. Empty for none. The operator's alone."},
        "config": {
            "type": "object",
            "properties": {"prepare_timeout_seconds": seconds(600), "cleanup_timeout_seconds": seconds(300)},
            "additionalProperties": false,
            "description": "How long the scripts may take; all of it at once. The operator's alone.",
        },
    })
}

async fn list_executors(call: Call) -> Outcome {
    let executors = call.board.executor_list(&call.actor);
    Ok(json!({"total": executors.len(), "executors": to_json(&executors)}))
}

#[derive(Deserialize)]
struct ListArgs {
    executor_id: Executor,
}

async fn list(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let profiles = call
        .board
        .executor_profile_list(&call.actor, Some(args.executor_id))
        .await?;
    Ok(json!({"total": profiles.len(), "profiles": to_json(&profiles)}))
}

async fn create(call: Call) -> Outcome {
    let params: CreateExecutorProfile = call.read()?;
    let made = call
        .board
        .executor_profile_create(&call.actor, params)
        .await?;
    Ok(to_json(&made))
}

#[derive(Deserialize)]
struct UpdateArgs {
    profile_id: String,
    #[serde(flatten)]
    change: UpdateExecutorProfile,
}

async fn update(call: Call) -> Outcome {
    let args: UpdateArgs = call.read()?;
    let id = required_id("profile_id", &args.profile_id)?;
    let changed = call
        .board
        .executor_profile_update(&call.actor, id, args.change)
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
    call.board.executor_profile_delete(&call.actor, id).await?;
    Ok(json!({"success": true}))
}
