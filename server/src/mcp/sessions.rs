//! Tools for the sessions of a task: listing them, starting another, reading their conversations.

use super::tool::{Call, Hints, Outcome, Tool, optional_id, to_json};
use domain::ids::{ProfileId, SessionId};
use domain::message::MessageType;
use domain::params::{ConversationPage, SpawnSession};
use domain::session::SessionState;
use domain::time::Timestamp;
use domain::view::SessionView;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    let types: Vec<&str> = MessageType::ALL.iter().map(|kind| kind.as_str()).collect();
    vec![
        Tool {
            name: "list_task_sessions_kandev",
            title: "List task sessions",
            description: "List the sessions of a task, newest first: each is one agent's conversation on it, with its state and \
                          whether it is the main one or your own.",
            input: json!({
                "type": "object",
                "properties": {"task_id": {"type": "string", "format": "uuid", "description": "Full UUID; \"self\" is your own task."}},
                "required": ["task_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(list(call)),
        },
        Tool {
            name: "spawn_session_kandev",
            title: "Spawn session",
            description: "Start another agent in a conversation of its own on your task, or on another task of your workspace. Use it \
                          when a task's sessions have ended, or for a second pair of eyes; for work of its own make a task with \
                          create_task_kandev. The new agent is told that the prompt is yours and how to reply to you.",
            input: json!({
                "type": "object",
                "properties": {
                    "prompt": {"type": "string", "description": "What it is to do, complete in itself: it knows nothing of your \
                                                                 conversation. At most 256 KiB."},
                    "task_id": {"type": "string", "format": "uuid", "description": "Full UUID; your own task when left out or \"self\"."},
                    "agent_profile_id": {"type": "string", "format": "uuid", "description": "Which agent, from list_agents_kandev. When left out: \
                                         your own on your task, that of the task's main session on another. The workflow may decide otherwise."},
                    "name": {"type": "string", "description": "What to call the session, at most 120 characters."},
                },
                "required": ["prompt"],
            }),
            unlisted: &[],
            hints: Hints::Writes,
            run: |call| Box::pin(spawn(call)),
        },
        Tool {
            name: "get_task_conversation_kandev",
            title: "Get task conversation",
            description: "Read the conversation of a task's agent, a page at a time; the newest page when neither before nor after \
                          is given. Only peers' messages have metadata.sender_task_id.",
            input: json!({
                "type": "object",
                "properties": {
                    "task_id": {"type": "string", "format": "uuid", "description": "Full UUID; \"self\" is your own task."},
                    "session_id": {"type": "string", "format": "uuid", "description": "A certain session of it; the main one, or else the newest, when \
                                                                     left out."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Messages a page, 1 to 100. Default: 10."},
                    "before": {"type": "string", "format": "uuid", "description": "Messages before the one with this id. Not together with after."},
                    "after": {"type": "string", "format": "uuid", "description": "Messages after the one with this id. Not together with before."},
                    "sort": {"enum": ["asc", "desc"], "description": "Order within the page. Default: asc, oldest first."},
                    "message_types": {"type": "array", "items": {"enum": types}, "description": "Only these types; \"message\" gives what was said, \
                                                                                                  \"tool_call\" what was done."},
                },
                "required": ["task_id"],
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(conversation(call)),
        },
    ]
}

#[derive(Deserialize)]
struct ListArgs {
    task_id: String,
}

/// A session as agents see it.
#[derive(Serialize)]
struct Entry {
    session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    state: SessionState,
    is_primary: bool,
    is_current: bool,
    agent_profile_id: ProfileId,
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    updated_at: Timestamp,
}

impl Entry {
    fn new(session: SessionView, own: Option<SessionId>) -> Self {
        Self {
            session_id: session.id,
            name: session.name,
            state: session.state,
            is_primary: session.is_primary,
            is_current: own == Some(session.id),
            agent_profile_id: session.agent_profile_id,
            started_at: session.started_at,
            completed_at: session.completed_at,
            updated_at: session.updated_at,
        }
    }
}

async fn list(call: Call) -> Outcome {
    let args: ListArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let own = call.actor.session();
    let sessions: Vec<Entry> = call
        .board
        .session_list(&call.actor, task)
        .await?
        .into_iter()
        .map(|session| Entry::new(session, own))
        .collect();
    Ok(json!({"task_id": task, "total": sessions.len(), "sessions": to_json(&sessions)}))
}

#[derive(Deserialize)]
struct SpawnArgs {
    prompt: String,
    task_id: Option<String>,
    agent_profile_id: Option<String>,
    name: Option<String>,
}

async fn spawn(call: Call) -> Outcome {
    let args: SpawnArgs = call.read()?;
    let task = match args.task_id.as_deref().map(str::trim) {
        None | Some("") => None,
        Some(given) => Some(call.task("task_id", given)?),
    };
    let params = SpawnSession {
        prompt: args.prompt,
        agent_profile_id: optional_id("agent_profile_id", args.agent_profile_id.as_deref())?,
        name: args.name,
    };
    Ok(to_json(
        &call.board.session_spawn(&call.actor, task, &params).await?,
    ))
}

#[derive(Deserialize)]
struct ConversationArgs {
    task_id: String,
    session_id: Option<String>,
    limit: Option<i64>,
    before: Option<String>,
    after: Option<String>,
    sort: Option<String>,
    #[serde(default)]
    message_types: Vec<MessageType>,
}

async fn conversation(call: Call) -> Outcome {
    let args: ConversationArgs = call.read()?;
    let task = call.task("task_id", &args.task_id)?;
    let page = ConversationPage {
        session_id: optional_id("session_id", args.session_id.as_deref())?,
        limit: args.limit,
        before: optional_id("before", args.before.as_deref())?,
        after: optional_id("after", args.after.as_deref())?,
        sort: args.sort,
        message_types: args.message_types,
    };
    Ok(to_json(
        &call.board.conversation(&call.actor, task, &page).await?,
    ))
}
