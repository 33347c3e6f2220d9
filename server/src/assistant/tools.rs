//! The tools. Each calls the board's own method, the one that page, API and MCP call, as the operator: whoever may hand in a message
//! has been found to be one.
//!
//! Each declares what it does; the guard, the ledger and the confirmation of previews go by that. A tool that acts can say whether it
//! has acted already, as far as the board shows it.

use assistant::spec::Parameters;
use assistant::{Effect, ToolSpec};
use board::{Actor, Board, BoardError};
use domain::error::Refusal;
use domain::ids::{ProfileId, SessionId, StepId, TaskId, WorkflowId};
use domain::params::{ConversationPage, CreateTask, ListTasks, MoveTask};
use domain::task::{Priority, check_title};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What a tool gives.
pub(super) type Outcome = Result<Value, BoardError>;

/// Tasks that one call lists.
const PAGE: i64 = 50;

/// One call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) board: Board,
    pub(super) arguments: Map<String, Value>,
    /// What a repeat of this call is told by.
    pub(super) key: String,
}

impl Call {
    fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        serde_json::from_value(Value::Object(self.arguments.clone()))
            .map_err(|error| Refusal::validation(format!("the arguments do not fit: {error}")))
    }
}

type Run = fn(Call) -> BoxFuture<'static, Outcome>;

/// A tool.
pub(super) struct BoardTool {
    pub(super) name: &'static str,
    description: &'static str,
    parameters: fn() -> Value,
    pub(super) effect: Effect,
    pub(super) run: Run,
    /// For a call that was begun and whose end nobody knows: what it would have answered, if the board shows that it took place.
    pub(super) look_up: Option<Run>,
}

/// The tools as a model is offered them.
#[must_use]
pub fn catalogue() -> Vec<ToolSpec> {
    TOOLS
        .iter()
        .map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            parameters: Parameters::Prose((tool.parameters)()),
            effect: tool.effect,
        })
        .collect()
}

pub(super) fn find(name: &str) -> Option<&'static BoardTool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

static TOOLS: &[BoardTool] = &[
    BoardTool {
        name: "list_workflows",
        description: "List the boards: every workspace with its workflows and their steps, with ids and names.",
        parameters: || json!({}),
        effect: Effect::Read,
        run: |call| Box::pin(list_workflows(call)),
        look_up: None,
    },
    BoardTool {
        name: "list_tasks",
        description: "List tasks with id, title, state, step, and whether they wait for somebody; at most 50, oldest first.",
        parameters: || {
            json!({
                "workflow_id": "string (optional) - only tasks of this workflow, from list_workflows",
                "workflow_step_id": "string (optional) - only tasks in this step",
                "parent_id": "string (optional) - only subtasks of this task",
                "state": "string (optional) - TODO, IN_PROGRESS, REVIEW, BLOCKED, WAITING_FOR_INPUT, COMPLETED, FAILED or CANCELLED",
                "cursor": "string (optional) - id of the last task of the page before",
            })
        },
        effect: Effect::Read,
        run: |call| Box::pin(list_tasks(call)),
        look_up: None,
    },
    BoardTool {
        name: "list_agents",
        description: "List the agents that can work on tasks, with the ids of their profiles.",
        parameters: || json!({}),
        effect: Effect::Read,
        run: |call| Box::pin(list_agents(call)),
        look_up: None,
    },
    BoardTool {
        name: "get_task",
        description: "Get one task with its description and its sessions.",
        parameters: || json!({"task_id": "string (required) - the task's full id"}),
        effect: Effect::Read,
        run: |call| Box::pin(get_task(call)),
        look_up: None,
    },
    BoardTool {
        name: "get_conversation",
        description: "Get the newest messages between the operator and a task's agent.",
        parameters: || {
            json!({
                "task_id": "string (required) - the task's full id",
                "limit": "integer (optional) - how many messages, 1 to 50; 10 when left out",
            })
        },
        effect: Effect::Read,
        run: |call| Box::pin(get_conversation(call)),
        look_up: None,
    },
    BoardTool {
        name: "preview_task",
        description: "Show what a new task would be, without making it. Use it when you chose the title or the prompt yourself, so that \
                      the user can agree or change it; confirm_task then makes it.",
        parameters: new_task,
        effect: Effect::Preview,
        run: |call| Box::pin(preview_task(call)),
        look_up: None,
    },
    BoardTool {
        name: "confirm_task",
        description: "Make the task that preview_task has shown, with exactly the same arguments. Only after the user has agreed in a \
                      message of their own.",
        parameters: new_task,
        effect: Effect::Action,
        run: |call| Box::pin(create_task(call)),
        look_up: None,
    },
    BoardTool {
        name: "create_task",
        description: "Make a task at once and, when a prompt is given, start an agent on it. Use it when the user said plainly what it \
                      is to be.",
        parameters: new_task,
        effect: Effect::Action,
        run: |call| Box::pin(create_task(call)),
        // The key is the task's own: making it again gives the task that exists.
        look_up: Some(|call| Box::pin(create_task(call))),
    },
    BoardTool {
        name: "send_message",
        description: "Send the operator's message to the agent of a task. It is delivered after the agent's present turn.",
        parameters: || {
            json!({
                "task_id": "string (required) - the task's full id",
                "message": "string (required) - the message, complete in itself",
            })
        },
        effect: Effect::Action,
        run: |call| Box::pin(send_message(call)),
        // The board tells a repeat by the key.
        look_up: Some(|call| Box::pin(send_message(call))),
    },
    BoardTool {
        name: "move_task",
        description: "Move a task to another step of its workflow. Entering a step may start an agent.",
        parameters: || {
            json!({
                "task_id": "string (required) - the task's full id",
                "workflow_step_id": "string (required) - where to, from list_workflows",
            })
        },
        effect: Effect::Action,
        run: |call| Box::pin(move_task(call)),
        look_up: Some(|call| Box::pin(is_moved(call))),
    },
    BoardTool {
        name: "stop_task",
        description: "Stop the agents of a task at once. Their files and messages stay.",
        parameters: || json!({"task_id": "string (required) - the task's full id"}),
        effect: Effect::Action,
        run: |call| Box::pin(stop_task(call)),
        // Stopping what is stopped changes nothing.
        look_up: Some(|call| Box::pin(stop_task(call))),
    },
];

fn new_task() -> Value {
    json!({
        "title": "string (required) - a few words on one line, at most 60 characters",
        "prompt": "string (optional) - the first message to the task's agent, complete in itself; without it no agent is started",
        "workflow_id": "string (optional) - which workflow, from list_workflows; the usual one when left out",
        "parent_id": "string (optional) - the task that it is to be a part of",
        "agent_profile_id": "string (optional) - which agent, from list_agents; the usual one when left out",
        "autopilot": "boolean (optional) - only for a part of another task: it works alone and asks only that task's agent",
        "priority": "string (optional) - critical, high, medium or low",
    })
}

async fn list_workflows(call: Call) -> Outcome {
    let mut found = Vec::new();
    for workspace in call.board.workspace_list(&Actor::Operator).await? {
        let workflows = call
            .board
            .workflow_list(&Actor::Operator, workspace.id)
            .await?;
        let workflows: Vec<Value> = workflows
            .iter()
            .map(|one| {
                let steps: Vec<Value> = one
                    .steps
                    .iter()
                    .map(|step| json!({"id": step.id, "name": step.name}))
                    .collect();
                json!({"id": one.workflow.id, "name": one.workflow.name, "steps": steps})
            })
            .collect();
        found.push(json!({"workspace": workspace.name, "workflows": workflows}));
    }
    Ok(found.into())
}

#[derive(Deserialize)]
struct ListArgs {
    workflow_id: Option<WorkflowId>,
    workflow_step_id: Option<StepId>,
    parent_id: Option<TaskId>,
    state: Option<String>,
    cursor: Option<TaskId>,
}

async fn list_tasks(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let params = ListTasks {
        workflow_id: args.workflow_id,
        workflow_step_id: args.workflow_step_id,
        parent_id: args.parent_id,
        state: args.state,
        limit: Some(PAGE),
        cursor: args.cursor,
        ..ListTasks::default()
    };
    let tasks = call.board.task_list(&Actor::Operator, &params).await?;
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|task| {
            json!({
                "id": task.id, "title": task.title, "state": task.state, "workflow_id": task.workflow_id,
                "workflow_step_id": task.workflow_step_id, "parent_id": task.parent_id, "autopilot": task.autopilot,
                "waits_for": task.task_pending_action,
            })
        })
        .collect();
    Ok(tasks.into())
}

async fn list_agents(call: Call) -> Outcome {
    let agents = call.board.agent_list(&Actor::Operator).await?;
    let agents: Vec<Value> = agents
        .iter()
        .map(|agent| {
            let profiles: Vec<Value> = agent
                .profiles
                .iter()
                .map(|profile| json!({"agent_profile_id": profile.id, "name": profile.name}))
                .collect();
            json!({"name": agent.name, "profiles": profiles})
        })
        .collect();
    Ok(agents.into())
}

#[derive(Deserialize)]
struct OneTask {
    task_id: TaskId,
}

async fn get_task(call: Call) -> Outcome {
    let args: OneTask = call.read()?;
    let task = call.board.task_get(&Actor::Operator, args.task_id).await?;
    let sessions = call
        .board
        .session_list(&Actor::Operator, args.task_id)
        .await?;
    let sessions: Vec<Value> = sessions
        .iter()
        .map(|session| {
            json!({
                "id": session.id, "agent": session.agent_name, "state": session.state,
                "waits_for": session.pending_action, "error": session.error_message,
            })
        })
        .collect();
    Ok(json!({"task": task, "sessions": sessions}))
}

#[derive(Deserialize)]
struct ConversationArgs {
    task_id: TaskId,
    limit: Option<i64>,
}

async fn get_conversation(call: Call) -> Outcome {
    let args: ConversationArgs = call.read()?;
    let page = ConversationPage {
        limit: Some(args.limit.unwrap_or(10).clamp(1, 50)),
        ..ConversationPage::default()
    };
    let found = call
        .board
        .conversation(&Actor::Operator, args.task_id, &page)
        .await?;
    Ok(json!(found.messages))
}

/// A task that is to be made.
#[derive(Deserialize)]
struct NewTask {
    title: String,
    prompt: Option<String>,
    workflow_id: Option<WorkflowId>,
    parent_id: Option<TaskId>,
    agent_profile_id: Option<ProfileId>,
    #[serde(default)]
    autopilot: bool,
    priority: Option<Priority>,
}

async fn preview_task(call: Call) -> Outcome {
    let args: NewTask = call.read()?;
    let title = check_title(&args.title)?;
    // What it names must exist, or the user would agree to something that cannot be made.
    let parent = match args.parent_id {
        Some(id) => Some(call.board.task_get(&Actor::Operator, id).await?.title),
        None => None,
    };
    let workflow = match args.workflow_id {
        Some(id) => Some(
            call.board
                .workflow_get(&Actor::Operator, id)
                .await?
                .workflow
                .name,
        ),
        None => None,
    };
    let mut summary = format!("A new task: \u{201c}{title}\u{201d}");
    if let Some(parent) = &parent {
        summary.push_str(&format!(", a part of \u{201c}{parent}\u{201d}"));
    }
    if let Some(workflow) = &workflow {
        summary.push_str(&format!(", on {workflow}"));
    }
    if args.autopilot {
        summary.push_str(", in autopilot mode");
    }
    match args
        .prompt
        .as_deref()
        .filter(|prompt| !prompt.trim().is_empty())
    {
        Some(prompt) => summary.push_str(&format!(". An agent starts on it with: {prompt}")),
        None => summary.push_str(". No agent starts on it"),
    }
    Ok(json!({
        "requiresConfirmation": true,
        "confirmationTool": "confirm_task",
        "summary": summary,
        "arguments": call.arguments,
    }))
}

async fn create_task(call: Call) -> Outcome {
    let args: NewTask = call.read()?;
    let params = CreateTask {
        title: args.title,
        description: args.prompt.unwrap_or_default(),
        workflow_id: args.workflow_id,
        parent_id: args.parent_id,
        agent_profile_id: args.agent_profile_id,
        autopilot: args.autopilot,
        priority: args.priority,
        external_id: Some(call.key),
        ..CreateTask::default()
    };
    let created = call.board.task_create(&Actor::Operator, params).await?;
    let mut answer = json!(created);
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("description");
    }
    Ok(answer)
}

#[derive(Deserialize)]
struct MessageArgs {
    task_id: TaskId,
    message: String,
}

async fn send_message(call: Call) -> Outcome {
    let args: MessageArgs = call.read()?;
    let sent = call
        .board
        .prompt_task(
            &Actor::Operator,
            args.task_id,
            &args.message,
            Some(&call.key),
        )
        .await?;
    Ok(json!(sent))
}

#[derive(Deserialize)]
struct MoveArgs {
    task_id: TaskId,
    workflow_step_id: StepId,
}

async fn move_task(call: Call) -> Outcome {
    let args: MoveArgs = call.read()?;
    let moved = call
        .board
        .task_move(
            &Actor::Operator,
            args.task_id,
            &MoveTask::to(args.workflow_step_id),
        )
        .await?;
    Ok(json!({
        "task_id": args.task_id, "step": moved.workflow_step.name, "disposition": moved.disposition,
    }))
}

/// The move took place if the task is where it was to go; from elsewhere it may have been moved on since.
async fn is_moved(call: Call) -> Outcome {
    let args: MoveArgs = call.read()?;
    let task = call.board.task_get(&Actor::Operator, args.task_id).await?;
    if task.workflow_step_id == args.workflow_step_id {
        return Ok(json!({"task_id": args.task_id, "disposition": "already_there"}));
    }
    Err(Refusal::conflict("the task is in another step").into())
}

async fn stop_task(call: Call) -> Outcome {
    let args: OneTask = call.read()?;
    let sessions = call
        .board
        .session_list(&Actor::Operator, args.task_id)
        .await?;
    let live: Vec<SessionId> = sessions
        .iter()
        .filter(|session| !session.state.is_terminal())
        .map(|session| session.id)
        .collect();
    let mut stopped = 0;
    for session in live {
        if call.board.session_stop(&Actor::Operator, session).await? {
            stopped += 1;
        }
    }
    Ok(
        json!({"task_id": args.task_id, "status": if stopped > 0 { "stopped" } else { "not_running" }, "sessions": stopped}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a foreign tool the name says what it does; ours must not say the opposite.
    #[test]
    fn names_do_not_belie_effects() {
        for tool in TOOLS {
            let by_name = Effect::by_name(tool.name);
            assert!(
                by_name == tool.effect || by_name == Effect::Read,
                "{}",
                tool.name
            );
            assert!(
                tool.look_up.is_none() || tool.effect == Effect::Action,
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn previews_and_what_confirms_them_take_the_same() {
        let schema = |name: &str| (find(name).unwrap().parameters)();
        assert_eq!(schema("preview_task"), schema("confirm_task"));
    }
}
