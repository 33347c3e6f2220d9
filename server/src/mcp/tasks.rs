//! Tools that list, make, change and remove tasks.

use super::tool::{
    Call, Hints, Outcome, Tool, optional_id, required_id, to_json, without_description,
};
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::params::{CreateTask, ListTasks, UpdateTask};
use domain::task::Priority;
use serde::Deserialize;
use serde_json::{Value, json};

/// Word for word (rulings 1): the contract of autopilot as agents read it.
const AUTOPILOT: &str = "Start this task in autopilot mode. Default: false. The value is fixed at creation and is not inherited by \
                         subtasks. The agent does not ask the user directly; it asks its direct parent only for critical decisions.";

const STATES: &str = "TODO, CREATED, SCHEDULING, IN_PROGRESS, REVIEW, BLOCKED, WAITING_FOR_INPUT, COMPLETED, FAILED or CANCELLED; \
                      aliases such as done, open or in_review are understood.";

pub(super) fn tools() -> Vec<Tool> {
    vec![
        list_tool(),
        create_tool(),
        update_tool(),
        Tool {
            name: "update_task_state_kandev",
            title: "Update task state",
            description: "Set the state of a task, and nothing else of it. Its place on the board is another matter: see \
                          move_task_kandev.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": {"type": "string", "format": "uuid", "description": "The task to change, as a full UUID."},
                    "state": {"type": "string", "description": STATES},
                },
                "required": ["task_id", "state"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_state(call)),
        },
        Tool {
            name: "archive_task_kandev",
            title: "Archive task",
            description: "Archive a task: its sessions are stopped and it is hidden from the board, but its history stays and an \
                          operator can bring it back. Archiving it again changes nothing.",
            input: one_task("The task to archive, as a full UUID."),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(archive(call)),
        },
        Tool {
            name: "delete_task_kandev",
            title: "Delete task",
            description: "Delete a task and its whole history for good. This cannot be undone; use archive_task_kandev unless \
                          deletion was asked for. Subtasks stay and become top-level tasks.",
            input: one_task("The task to delete, as a full UUID."),
            unlisted: &[],
            hints: Hints::Destroys,
            run: |call| Box::pin(delete(call)),
        },
        Tool {
            name: "stop_task_kandev",
            title: "Stop task",
            description: "Stop the agent of one of your subtasks at once; only its direct parent may. Its files, queued messages \
                          and own subtasks stay. A stopped session takes no messages any more, so to redirect a subtask use \
                          message_task_kandev with delivery_mode \"interrupt\" instead.",
            input: one_task("The subtask to stop, as a full UUID."),
            unlisted: &[],
            hints: Hints::DestroysOnce,
            run: |call| Box::pin(stop(call)),
        },
        Tool {
            name: "list_related_tasks_kandev",
            title: "List related tasks",
            description: "List the parent, the subtasks and the siblings of a task, and its dependencies. depends_on are the \
                          tasks it waits for, blocks those that wait for it; blockers and blocked_by are older names of the two. \
                          Each comes with id, title, state, step, whether it is in autopilot mode and whether it waits for \
                          somebody.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": {"type": "string", "format": "uuid", "description": "Full UUID; your own task when left out or \"self\"."},
                    "verbose": {"type": "boolean", "description": "With descriptions. Default: false."},
                },
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(related(call)),
        },
    ]
}

fn one_task(description: &str) -> Value {
    json!({
        "type": "object",
        "properties": {"task_id": {"type": "string", "format": "uuid", "description": description}},
        "required": ["task_id"],
    })
}

fn list_tool() -> Tool {
    Tool {
        name: "list_tasks_kandev",
        title: "List tasks",
        description: "List the tasks of a workflow with state, step, parent, and whether they wait for somebody.",
        input: json!({
            "type": "object",
            "properties": {
                "workflow_id": {"type": "string", "format": "uuid", "description": "Full UUID, from list_workflows_kandev."},
                "workflow_step_id": {"type": "string", "format": "uuid", "description": "Only tasks in this step."},
                "parent_id": {"type": "string", "description": "Only subtasks of this task; \"self\" is your own task."},
                "state": {"type": "string", "description": format!("Only tasks in this state: {STATES}")},
                "include_archived": {"type": "boolean", "description": "Archived tasks too. Default: false."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "At most so many tasks, oldest first."},
                "cursor": {"type": "string", "format": "uuid", "description": "Id of the last task of the page before."},
            },
            "required": ["workflow_id"],
        }),
        unlisted: &[],
        hints: Hints::Reads,
        run: |call| Box::pin(list(call)),
    }
}

fn create_tool() -> Tool {
    Tool {
        name: "create_task_kandev",
        title: "Create task",
        description: "Create a tracked task on the board and, when a prompt is given, start an agent on it. Use it only for work \
                      that should be tracked and persist; for ordinary parallel work use your own subagents. With parent_id \
                      \"self\" it becomes a subtask of yours. The result holds the new task's id.",
        input: json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "A few words on one line, at most 60 characters."},
                "prompt": {"type": "string", "description": "The first message to the task's agent, complete in itself: it knows nothing \
                                                              of your conversation. Needed when the agent is to start."},
                "autopilot": {"type": "boolean", "description": AUTOPILOT},
                "parent_id": {"type": "string", "description": "The task it is part of: a full UUID, or \"self\" for your own \
                                                                task. Top level when left out."},
                "workspace_id": {"type": "string", "format": "uuid", "description": "From the parent, or the oldest workspace, when left out."},
                "workflow_id": {"type": "string", "format": "uuid", "description": "From the parent, or the workspace's first, when left out."},
                "workflow_step_id": {"type": "string", "format": "uuid", "description": "A step of that workflow; for a subtask only together with \
                                                                       workflow_id. The usual one when left out."},
                "workspace_mode": {"enum": ["inherit_parent", "new_workspace"], "description": "For subtasks: work in the parent's folder, \
                                   which is usual, or in a folder of its own."},
                "agent_profile_id": {"type": "string", "format": "uuid", "description": "Which agent works on it, from list_agents_kandev. Your own \
                                                                       profile, or the parent's, when left out."},
                "executor_profile_id": {"type": "string", "format": "uuid", "description": "How its agents are run, from \
                                        list_executor_profiles_kandev. Your own, or the parent's, when left out."},
                "repository_id": {"type": "string", "format": "uuid", "description": "The repository it is about, one of its workspace. At \
                                  most one of this, local_path and repository_url; a subtask that works in the parent's folder is about \
                                  what the parent is about."},
                "local_path": {"type": "string", "description": "Absolute path of the folder to work in. Not together with workspace_mode."},
                "repository_url": {"type": "string", "description": "The repository it is about, by its address: \
                                   https://host/owner/name or git@host:owner/name, without credentials. It is added to the workspace when \
                                   it is not there. The address of a pull or merge request is none."},
                "start_agent": {"type": "boolean", "description": "Start the agent now. Default: true when a prompt is given."},
                "blocked_by": {"type": "array", "items": {"type": "string", "format": "uuid"}, "description": "Full UUIDs of tasks of the \
                               same workspace that must be COMPLETED first. The start waits for them."},
                "start_when_unblocked": {"type": "boolean", "description": "With blocked_by: start the agent by itself once all of them \
                                         are COMPLETED. Default: true; false starts nothing."},
                "external_id": {"type": "string", "description": "A key of your own, at most 256 characters: creating again with the same \
                                                                  key returns the task that exists."},
                "priority": {"enum": ["critical", "high", "medium", "low"], "description": "How pressing it is."},
            },
            "required": ["title"],
        }),
        unlisted: &["description"],
        hints: Hints::Writes,
        run: |call| Box::pin(create(call)),
    }
}

fn update_tool() -> Tool {
    Tool {
        name: "update_task_kandev",
        title: "Update task",
        description: "Change the title, description, state or priority of a task; what is left out stays. Autopilot is fixed at \
                      creation and cannot be changed.",
        input: json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "format": "uuid", "description": "The task to change, as a full UUID."},
                "title": {"type": "string", "description": "A few words on one line, at most 60 characters."},
                "description": {"type": "string", "description": "What is to be done."},
                "state": {"type": "string", "description": STATES},
                "priority": {"enum": ["critical", "high", "medium", "low", ""], "description": "An empty word clears it."},
                "deferred_launch_prompt": {"type": "string", "description": "New words for the first prompt of a task whose start still \
                                           waits. Refused, with everything else in the call, when it was started or nothing waits."},
            },
            "required": ["task_id"],
        }),
        unlisted: &[],
        hints: Hints::WritesOnce,
        run: |call| Box::pin(update(call)),
    }
}

#[derive(Deserialize)]
struct OneTask {
    task_id: String,
}

#[derive(Deserialize)]
struct ListArgs {
    workflow_id: String,
    workflow_step_id: Option<String>,
    parent_id: Option<String>,
    state: Option<String>,
    #[serde(default)]
    include_archived: bool,
    limit: Option<i64>,
    cursor: Option<String>,
}

async fn list(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let parent = match args.parent_id.as_deref() {
        Some("self") => Some(call.own_task("parent_id")?),
        given => optional_id("parent_id", given)?,
    };
    let params = ListTasks {
        workspace_id: None,
        workflow_id: Some(required_id("workflow_id", &args.workflow_id)?),
        workflow_step_id: optional_id("workflow_step_id", args.workflow_step_id.as_deref())?,
        parent_id: parent,
        state: args.state,
        include_archived: args.include_archived,
        limit: args.limit,
        cursor: optional_id("cursor", args.cursor.as_deref())?,
    };
    let tasks = call.board.task_list(&call.actor, &params).await?;
    Ok(json!({"total": tasks.len(), "tasks": to_json(&tasks)}))
}

#[derive(Deserialize)]
struct CreateArgs {
    title: String,
    prompt: Option<String>,
    description: Option<String>,
    #[serde(default)]
    autopilot: bool,
    parent_id: Option<String>,
    workspace_id: Option<String>,
    workflow_id: Option<String>,
    workflow_step_id: Option<String>,
    workspace_mode: Option<WorkspaceMode>,
    agent_profile_id: Option<String>,
    executor_profile_id: Option<String>,
    repository_id: Option<String>,
    local_path: Option<String>,
    repository_url: Option<String>,
    start_agent: Option<bool>,
    external_id: Option<String>,
    priority: Option<Priority>,
    #[serde(default)]
    blocked_by: Vec<String>,
    start_when_unblocked: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkspaceMode {
    InheritParent,
    NewWorkspace,
}

async fn create(call: Call) -> Outcome {
    let args: CreateArgs = call.read()?;
    if args.prompt.is_some() && args.description.is_some() {
        return Err(Refusal::validation(
            "give prompt alone: description is its older name, and both together say two things",
        )
        .into());
    }
    let parent_id = match args.parent_id.as_deref().map(str::trim) {
        Some("self") => Some(call.own_task("parent_id")?),
        given => optional_id("parent_id", given)?,
    };
    let repository_id = optional_id("repository_id", args.repository_id.as_deref())?;
    let names_repository = repository_id.is_some()
        || [&args.local_path, &args.repository_url]
            .into_iter()
            .flatten()
            .any(|text| !text.trim().is_empty());
    let params = CreateTask {
        title: args.title,
        description: args.prompt.or(args.description).unwrap_or_default(),
        auto_title: false,
        autopilot: args.autopilot,
        purpose: None,
        parent_id,
        workspace_id: optional_id("workspace_id", args.workspace_id.as_deref())?,
        workflow_id: optional_id("workflow_id", args.workflow_id.as_deref())?,
        workflow_step_id: optional_id("workflow_step_id", args.workflow_step_id.as_deref())?,
        agent_profile_id: optional_id("agent_profile_id", args.agent_profile_id.as_deref())?,
        executor_profile_id: optional_id(
            "executor_profile_id",
            args.executor_profile_id.as_deref(),
        )?,
        priority: args.priority,
        start_agent: args.start_agent,
        external_id: args.external_id,
        working_directory: folder(&call, parent_id, args.workspace_mode, names_repository)?,
        repository_id,
        local_path: args.local_path,
        repository_url: args.repository_url,
        blocked_by: args
            .blocked_by
            .iter()
            .map(|id| required_id("blocked_by", id))
            .collect::<Result<_, Refusal>>()?,
        start_when_unblocked: args.start_when_unblocked,
    };
    let created = call.board.task_create(&call.actor, params).await?;
    Ok(without_description(&created))
}

/// The folder of its own that is wished for; `None` leaves the choice to the board.
fn folder(
    call: &Call,
    parent: Option<TaskId>,
    mode: Option<WorkspaceMode>,
    names_repository: bool,
) -> Result<Option<String>, Refusal> {
    match (mode, parent) {
        (Some(_), None) => Err(Refusal::validation(
            "workspace_mode is for subtasks: leave it out, or give parent_id",
        )),
        (Some(WorkspaceMode::InheritParent), Some(_)) if names_repository => {
            Err(Refusal::validation(
                "give workspace_mode inherit_parent, or what else to work on, not both",
            ))
        }
        (Some(WorkspaceMode::NewWorkspace), Some(_)) => {
            // A name of its own is all that a new folder needs; it does not have to be the task's.
            let folder = call
                .board
                .settings()
                .workspaces_dir
                .join(TaskId::new().to_string());
            Ok(Some(folder.to_string_lossy().into_owned()))
        }
        (Some(WorkspaceMode::InheritParent), Some(_)) | (None, _) => Ok(None),
    }
}

#[derive(Deserialize)]
struct UpdateArgs {
    task_id: String,
    title: Option<String>,
    description: Option<String>,
    state: Option<String>,
    priority: Option<String>,
    deferred_launch_prompt: Option<String>,
}

async fn update(call: Call) -> Outcome {
    let args: UpdateArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let params = UpdateTask {
        title: args.title,
        description: args.description,
        state: args.state,
        priority: args.priority,
        parent_id: None,
        deferred_launch_prompt: args.deferred_launch_prompt,
    };
    let updated = call.board.task_update(&call.actor, task, params).await?;
    Ok(without_description(&updated))
}

#[derive(Deserialize)]
struct StateArgs {
    task_id: String,
    state: String,
}

async fn update_state(call: Call) -> Outcome {
    let args: StateArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let params = UpdateTask {
        state: Some(args.state),
        ..UpdateTask::default()
    };
    let updated = call.board.task_update(&call.actor, task, params).await?;
    Ok(without_description(&updated))
}

async fn archive(call: Call) -> Outcome {
    let args: OneTask = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let archived = call.board.task_archive(&call.actor, task).await?;
    Ok(without_description(&archived))
}

async fn delete(call: Call) -> Outcome {
    let args: OneTask = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    call.board.task_delete(&call.actor, task).await?;
    Ok(json!({"success": true}))
}

async fn stop(call: Call) -> Outcome {
    let args: OneTask = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let stopped = call.board.task_stop(&call.actor, task).await?;
    let status = if stopped { "stopped" } else { "not_running" };
    Ok(json!({"task_id": task, "status": status}))
}

#[derive(Deserialize)]
struct RelatedArgs {
    task_id: Option<String>,
    #[serde(default)]
    verbose: bool,
}

async fn related(call: Call) -> Outcome {
    let args: RelatedArgs = call.read()?;
    let task = match args.task_id.as_deref() {
        Some(given) if !given.trim().is_empty() => call.task("task_id", given)?,
        Some(_) | None => call.own_task("task_id")?,
    };
    let related = call
        .board
        .task_related(&call.actor, task, args.verbose)
        .await?;
    Ok(to_json(&related))
}
