//! Tools that set workflows and their steps up.

use super::tool::{Call, Hints, Outcome, Tool, required_id, to_json, uuid};
use domain::params::{CreateStep, CreateWorkflow, UpdateStep, UpdateWorkflow};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub(super) fn tools() -> Vec<Tool> {
    [workflow_tools(), step_tools()]
        .into_iter()
        .flatten()
        .collect()
}

fn workflow_tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "create_workflow_kandev",
            title: "Create workflow",
            description: "Make a workflow in a workspace, after the others and without steps. Add steps with \
                          create_workflow_step_kandev; tasks can be made in it once it has one.",
            input: json!({
                "type": "object",
                "properties": with(workflow_fields(), "workspace_id", &uuid("The workspace, from list_workspaces_kandev.")),
                "required": ["workspace_id", "name"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(create_workflow(call)),
        },
        Tool {
            name: "update_workflow_kandev",
            title: "Update workflow",
            description: "Change the name, the description, the instructions or the usual agent profile of a workflow; what is left \
                          out stays.",
            input: json!({
                "type": "object",
                "properties": with(workflow_fields(), "workflow_id", &workflow_id()),
                "required": ["workflow_id"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_workflow(call)),
        },
        Tool {
            name: "delete_workflow_kandev",
            title: "Delete workflow",
            description: "Delete a workflow and its steps for good. Refused while it holds tasks, archived ones counted, and when it \
                          is the last one of its workspace.",
            input: json!({
                "type": "object",
                "properties": {"workflow_id": workflow_id()},
                "required": ["workflow_id"],
            }),
            unlisted: &[],
            hints: Hints::Destroys,
            run: |call| Box::pin(delete_workflow(call)),
        },
        Tool {
            name: "import_workflow_kandev",
            title: "Import workflow",
            description: "Make the workflows of a document that export_workflow_kandev wrote, or that has its shape, in a workspace. \
                          Anything wrong in it refuses all of it.",
            input: json!({
                "type": "object",
                "properties": {
                    "workspace_id": uuid("The workspace, from list_workspaces_kandev."),
                    "document": {"type": "string", "description": "YAML or JSON, at most 1 MiB."},
                },
                "required": ["workspace_id", "document"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(import(call)),
        },
        Tool {
            name: "export_workflow_kandev",
            title: "Export workflow",
            description: "Write a workflow and its steps out as a document without ids and times, to be read in again here or elsewhere. \
                          Steps name one another by their place, from 0.",
            input: json!({
                "type": "object",
                "properties": {"workflow_id": workflow_id()},
                "required": ["workflow_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(export(call)),
        },
    ]
}

fn step_tools() -> Vec<Tool> {
    let mut changed = step_fields();
    changed["auto_archive_after_hours"] = json!({
        "type": "integer", "minimum": 0, "maximum": 100_000,
        "description": "Archive tasks that nobody touched for so many hours; 0 for never.",
    });
    vec![
        Tool {
            name: "create_workflow_step_kandev",
            title: "Create workflow step",
            description: "Make a step in a workflow, a column of the board, at the end or at a position among the others.",
            input: json!({
                "type": "object",
                "properties": with(step_fields(), "workflow_id", &workflow_id()),
                "required": ["workflow_id", "name"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(create_step(call)),
        },
        Tool {
            name: "update_workflow_step_kandev",
            title: "Update workflow step",
            description: "Change a step of a workflow; what is left out stays, and events replace all events of the step at once. \
                          Tasks that a higher limit lets in start at once.",
            input: json!({
                "type": "object",
                "properties": with(changed, "step_id", &step_id()),
                "required": ["step_id"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_step(call)),
        },
        Tool {
            name: "delete_workflow_step_kandev",
            title: "Delete workflow step",
            description: "Delete a step of a workflow for good. Refused while tasks are in it or on their way to it, archived ones \
                          counted. Events that move tasks to it go with it, and steps that it fed have no feeder then.",
            input: json!({
                "type": "object",
                "properties": {"step_id": step_id()},
                "required": ["step_id"],
            }),
            unlisted: &[],
            hints: Hints::Destroys,
            run: |call| Box::pin(delete_step(call)),
        },
        Tool {
            name: "reorder_workflow_steps_kandev",
            title: "Reorder workflow steps",
            description: "Put the steps of a workflow into another order. Name each of them exactly once.",
            input: json!({
                "type": "object",
                "properties": {
                    "workflow_id": workflow_id(),
                    "step_ids": {
                        "type": "array",
                        "items": {"type": "string", "format": "uuid"},
                        "description": "All steps of the workflow, first to last.",
                    },
                },
                "required": ["workflow_id", "step_ids"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(reorder_steps(call)),
        },
    ]
}

fn workflow_id() -> Value {
    uuid("Full UUID, from list_workflows_kandev.")
}

fn step_id() -> Value {
    uuid("Full UUID, from list_workflow_steps_kandev.")
}

fn with(mut fields: Value, name: &str, schema: &Value) -> Value {
    fields[name] = schema.clone();
    fields
}

fn profile_id() -> Value {
    json!({
        "type": ["string", "null"],
        "format": "uuid",
        "description": "An agent profile, from list_agents_kandev; null for none.",
    })
}

fn workflow_fields() -> Value {
    json!({
        "name": {"type": "string", "description": "At most 120 characters."},
        "description": {"type": "string", "description": "What it is for."},
        "prompt": {"type": "string", "description": "Instructions put before every step's prompt."},
        "agent_profile_id": profile_id(),
    })
}

fn step_fields() -> Value {
    json!({
        "name": {"type": "string", "description": "At most 60 characters."},
        "position": {"type": "integer", "minimum": 0, "description": "Place among the steps, from 0."},
        "color": {"type": "string", "description": "neutral, running, review, done, or a number such as #4f46e5."},
        "prompt": {"type": "string", "description": "Sent by itself when a task enters; {{task_prompt}} inserts the task's description."},
        "is_start_step": {"type": "boolean", "description": "Started tasks begin here; takes the mark from the step that had it."},
        "allow_manual_move": {"type": "boolean", "description": "Operators may drag tasks here. Default of a new step: false."},
        "show_in_command_panel": {"type": "boolean", "description": "Offered in the command panel. Default of a new step: true."},
        "auto_advance_requires_signal": {"type": "boolean", "description": "The end of a turn alone does not advance the task: its agent must \
                                         call step_complete_kandev."},
        "cancel_triggers_turn_complete": {"type": "boolean", "description": "An operator's cancel counts as the end of a turn."},
        "wip_limit": {"type": "integer", "minimum": 0, "maximum": 10_000, "description": "Greatest number of admitted tasks; 0 for no limit."},
        "pull_from_step_id": {"type": ["string", "null"], "format": "uuid", "description": "The step of the same workflow that feeds this one; \
                              null for none."},
        "agent_profile_id": profile_id(),
        "events": events(),
    })
}

/// What a step does, by the moment it does it at.
fn events() -> Value {
    let config = |name: &str, fields: Value, required: &[&str]| {
        json!({
            "type": "object",
            "properties": {
                "type": {"const": name},
                "config": {"type": "object", "properties": fields, "required": required, "additionalProperties": false},
            },
            "required": ["type", "config"],
            "additionalProperties": false,
        })
    };
    let plain = |names: &[&str]| {
        json!({
            "type": "object",
            "properties": {"type": {"enum": names}},
            "required": ["type"],
            "additionalProperties": false,
        })
    };
    // What may be left open altogether.
    let run = |names: &[&str], fields: &[&str]| {
        let field = |name: &str| match name {
            "agent_profile_id" => json!({"type": "string", "format": "uuid"}),
            _ => json!({"type": "string"}),
        };
        let fields: Map<String, Value> = fields
            .iter()
            .map(|name| ((*name).to_owned(), field(name)))
            .collect();
        json!({
            "type": "object",
            "properties": {
                "type": {"enum": names},
                "config": {"type": "object", "properties": fields, "additionalProperties": false},
            },
            "required": ["type"],
            "additionalProperties": false,
        })
    };
    let rules = json!({"rules": {"type": "array", "items": {
        "type": "object",
        "properties": {
            "agent": {"type": "string"},
            "operation": {"enum": ["set", "keep", "restore_original"]},
            "mode": {"type": "string"},
            "model": {"type": "string"},
        },
        "required": ["operation"],
        "additionalProperties": false,
    }}});
    let enters = json!([
        plain(&[
            "auto_start_agent",
            "reset_agent_context",
            "enable_plan_mode",
            "clear_decisions"
        ]),
        config(
            "set_session_mode",
            json!({"mode": {"type": "string"}}),
            &["mode"]
        ),
        config("configure_session", rules, &["rules"]),
        run(
            &["queue_run", "run_code_review"],
            &["agent_profile_id", "prompt"]
        ),
        run(&["queue_run_for_each_participant"], &["prompt"]),
    ]);
    let moves = || {
        vec![
            plain(&["move_to_next", "move_to_previous"]),
            config(
                "move_to_step",
                json!({"step_id": {"type": "string", "format": "uuid"}}),
                &["step_id"],
            ),
        ]
    };
    let mut completes = moves();
    completes.push(plain(&["disable_plan_mode"]));
    let list = |kinds: Value| json!({"type": "array", "items": {"anyOf": kinds}});
    json!({
        "type": "object",
        "description": "What happens in the step, by moment: on_enter (start the agent, set its mode, begin a new conversation, \
                        forget the step's decisions, have another agent work or review in a session of its own, ask all agents of \
                        the task), on_turn_start, on_turn_complete and on_children_completed (move the task), on_exit. Each is a list of \
                        {type, config}.",
        "properties": {
            "on_enter": list(enters),
            "on_turn_start": list(json!(moves())),
            "on_turn_complete": list(json!(completes)),
            "on_exit": list(json!([plain(&["disable_plan_mode"])])),
            "on_children_completed": list(json!(moves())),
        },
        "additionalProperties": false,
    })
}

async fn create_workflow(call: Call) -> Outcome {
    let params: CreateWorkflow = call.read()?;
    let made = call.board.workflow_create(&call.actor, params).await?;
    Ok(to_json(&made))
}

/// A target by its id, and what is to be changed of it.
#[derive(Deserialize)]
struct Change<T> {
    #[serde(alias = "workflow_id", alias = "step_id")]
    id: String,
    #[serde(flatten)]
    change: T,
}

async fn update_workflow(call: Call) -> Outcome {
    let args: Change<UpdateWorkflow> = call.read()?;
    let id = required_id("workflow_id", &args.id)?;
    let changed = call
        .board
        .workflow_update(&call.actor, id, args.change)
        .await?;
    Ok(to_json(&changed))
}

async fn delete_workflow(call: Call) -> Outcome {
    let args: Change<Map<String, Value>> = call.read()?;
    let id = required_id("workflow_id", &args.id)?;
    call.board.workflow_delete(&call.actor, id).await?;
    Ok(json!({"success": true}))
}

#[derive(Deserialize)]
struct ImportArgs {
    workspace_id: String,
    document: String,
}

async fn import(call: Call) -> Outcome {
    let args: ImportArgs = call.read()?;
    let workspace = required_id("workspace_id", &args.workspace_id)?;
    let made = call
        .board
        .workflow_import(&call.actor, workspace, &args.document)
        .await?;
    Ok(json!({"total": made.len(), "workflows": to_json(&made)}))
}

async fn export(call: Call) -> Outcome {
    let args: Change<Map<String, Value>> = call.read()?;
    let id = required_id("workflow_id", &args.id)?;
    Ok(to_json(&call.board.workflow_export(&call.actor, id).await?))
}

async fn create_step(call: Call) -> Outcome {
    let mut params: CreateStep = call.read()?;
    // A tool makes steps that are filled by the workflow; whether people may drag cards there is for them to say.
    params.step.allow_manual_move.get_or_insert(false);
    let made = call.board.step_create(&call.actor, params).await?;
    Ok(to_json(&made))
}

async fn update_step(call: Call) -> Outcome {
    let args: Change<UpdateStep> = call.read()?;
    let id = required_id("step_id", &args.id)?;
    let changed = call.board.step_update(&call.actor, id, args.change).await?;
    Ok(to_json(&changed))
}

async fn delete_step(call: Call) -> Outcome {
    let args: Change<Map<String, Value>> = call.read()?;
    let id = required_id("step_id", &args.id)?;
    call.board.step_delete(&call.actor, id).await?;
    Ok(json!({"success": true}))
}

#[derive(Deserialize)]
struct ReorderArgs {
    workflow_id: String,
    step_ids: Vec<String>,
}

async fn reorder_steps(call: Call) -> Outcome {
    let args: ReorderArgs = call.read()?;
    let workflow = required_id("workflow_id", &args.workflow_id)?;
    let order = args
        .step_ids
        .iter()
        .map(|id| required_id("step_ids", id))
        .collect::<Result<Vec<_>, _>>()?;
    let steps = call
        .board
        .step_reorder(&call.actor, workflow, &order)
        .await?;
    Ok(json!({"total": steps.len(), "steps": to_json(&steps)}))
}
