//! `/task-sessions`.

use super::extract::{Body, Caller, Id, Query, Reply, Wire, id};
use super::messages::Prompt;
use super::route::{Parameter, Route};
use super::tasks::Done;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::SessionId;
use domain::message::MessageType;
use domain::params::{ConversationPage, RenameSession};
use domain::view::{Conversation, MessageOutcome, SessionView};
use serde::Deserialize;

/// Messages of a page when nothing is said: as many as one page may have.
const USUAL_LIMIT: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/task-sessions/{id}", get)
            .says("A session.")
            .answers("Session"),
        Route::patch("/task-sessions/{id}", rename)
            .says("Name a session; null takes its name away.")
            .takes::<RenameSession>()
            .answers("Session"),
        Route::delete("/task-sessions/{id}", delete)
            .says("Remove a session and its transcript for good. One that is still going is stopped first; another becomes primary.")
            .answers("Done"),
        Route::post("/task-sessions/{id}/primary", set_primary)
            .says("Make it the session that unaddressed messages to the task go to.")
            .answers("Session"),
        Route::get("/task-sessions/{id}/messages", messages)
            .says("A page of a session's transcript: the newest when neither before nor after is given.")
            .asks(MESSAGES)
            .answers("Conversation"),
        Route::post("/task-sessions/{id}/messages", prompt)
            .says("Prompt a session. Explicit input: a question that it has put to its parent is superseded.")
            .takes::<Prompt>()
            .answers("MessageOutcome"),
        Route::post("/task-sessions/{id}/cancel", cancel)
            .says("End the running turn. What waits in the queue is held until auto-run is set again.")
            .answers("Session"),
        Route::post("/task-sessions/{id}/stop", stop)
            .says("End a session.")
            .answers("Session"),
        Route::post("/task-sessions/{id}/resume", resume)
            .says("Bring a session back: its agent is started and its conversation loaded.")
            .answers("Session"),
        Route::post("/task-sessions/{id}/auto-run", auto_run)
            .says("Hold or release a session's queue.")
            .takes::<AutoRun>()
            .answers("Session"),
    ]
}

const MESSAGES: &[Parameter] = &[
    Parameter {
        name: "limit",
        schema: r#"{"type":"integer","minimum":1,"maximum":100}"#,
        description: "At most so many messages; 100 when left out.",
    },
    Parameter {
        name: "before",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Messages before this one; not together with after.",
    },
    Parameter {
        name: "after",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Messages after this one; not together with before.",
    },
    Parameter {
        name: "sort",
        schema: r#"{"enum":["asc","desc"]}"#,
        description: "The order within the page; asc when left out.",
    },
    Parameter {
        name: "message_types",
        schema: r#"{"type":"string"}"#,
        description: "Only these types, separated by commas.",
    },
];

/// The body that holds or releases a queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AutoRun {
    auto_run: bool,
}

impl Wire for AutoRun {
    const SCHEMA: &'static str = "AutoRun";
}

impl Wire for RenameSession {
    const SCHEMA: &'static str = "RenameSession";
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MessageQuery {
    limit: Option<i64>,
    before: Option<String>,
    after: Option<String>,
    sort: Option<String>,
    message_types: Option<String>,
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<SessionView> {
    Ok(Json(app.board.session_get(&actor, session).await?))
}

async fn rename(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
    Body(body): Body<RenameSession>,
) -> Reply<SessionView> {
    Ok(Json(
        app.board
            .session_rename(&actor, session, body.name.as_deref())
            .await?,
    ))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<Done> {
    app.board.session_delete(&actor, session).await?;
    Ok(Done::reply())
}

async fn set_primary(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<SessionView> {
    Ok(Json(app.board.session_set_primary(&actor, session).await?))
}

async fn messages(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
    Query(query): Query<MessageQuery>,
) -> Reply<Conversation> {
    let types = query.message_types.unwrap_or_default();
    let page = ConversationPage {
        session_id: None,
        limit: Some(query.limit.unwrap_or(USUAL_LIMIT)),
        before: id("before", query.before.as_deref())?,
        after: id("after", query.after.as_deref())?,
        sort: query.sort,
        message_types: types
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(MessageType::parse)
            .collect::<Result<_, _>>()?,
    };
    Ok(Json(
        app.board.session_messages(&actor, session, &page).await?,
    ))
}

async fn prompt(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
    Body(prompt): Body<Prompt>,
) -> Reply<MessageOutcome> {
    Ok(Json(
        app.board
            .prompt_session(
                &actor,
                session,
                &prompt.content,
                prompt.idempotency_key.as_deref(),
            )
            .await?,
    ))
}

async fn cancel(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<SessionView> {
    app.board.session_cancel(&actor, session).await?;
    Ok(Json(app.board.session_get(&actor, session).await?))
}

async fn stop(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<SessionView> {
    app.board.session_stop(&actor, session).await?;
    Ok(Json(app.board.session_get(&actor, session).await?))
}

async fn resume(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<SessionView> {
    app.board.session_resume(&actor, session).await?;
    Ok(Json(app.board.session_get(&actor, session).await?))
}

async fn auto_run(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
    Body(body): Body<AutoRun>,
) -> Reply<SessionView> {
    app.board
        .session_auto_run(&actor, session, body.auto_run)
        .await?;
    Ok(Json(app.board.session_get(&actor, session).await?))
}
