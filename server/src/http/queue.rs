//! `/queue` and `/task-sessions/{id}/queue`: prompts that wait.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::{PromptId, SessionId};
use domain::view::{MessageOutcome, QueueView};
use serde::Deserialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/task-sessions/{id}/queue", show)
            .says("What waits for a session, in the order of delivery. Questions between tasks and their answers are not in it.")
            .answers("Queue"),
        Route::delete("/task-sessions/{id}/queue", clear)
            .says("Take everything back that waits for a session.")
            .answers("Queue"),
        Route::post("/task-sessions/{id}/queue/reorder", reorder)
            .says("Put what waits into another order. Every prompt that waits must be named, each once.")
            .takes::<Order>()
            .answers("Queue"),
        Route::patch("/queue/{id}", edit)
            .says("Give an operator's prompt that waits other words.")
            .takes::<Edit>()
            .answers("Queue"),
        Route::delete("/queue/{id}", remove)
            .says("Take a prompt back that still waits. A question between tasks, or its answer, cannot be taken back.")
            .answers("Queue"),
        Route::post("/queue/{id}/merge", merge)
            .says("Join a prompt to the one above it, which must be of the same source and keeps its id.")
            .answers("Queue"),
        Route::post("/queue/{id}/send-now", send_now)
            .says("Deliver a prompt before all others, now: the running turn is cancelled, and the rest goes on afterwards.")
            .answers("MessageOutcome"),
    ]
}

/// Everything that waits, in the order wished for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    ids: Vec<PromptId>,
}

impl Wire for Order {
    const SCHEMA: &'static str = "QueueOrder";
}

/// Other words for a prompt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    content: String,
    replaces: Option<String>,
}

impl Wire for Edit {
    const SCHEMA: &'static str = "QueueEdit";
}

async fn show(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<QueueView> {
    Ok(Json(app.board.queue_get(&actor, session).await?))
}

async fn clear(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
) -> Reply<QueueView> {
    Ok(Json(app.board.queue_clear(&actor, session).await?))
}

async fn reorder(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(session): Id<SessionId>,
    Body(order): Body<Order>,
) -> Reply<QueueView> {
    Ok(Json(
        app.board.queue_reorder(&actor, session, &order.ids).await?,
    ))
}

async fn edit(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(prompt): Id<PromptId>,
    Body(edit): Body<Edit>,
) -> Reply<QueueView> {
    let replaces = edit.replaces.as_deref();
    Ok(Json(
        app.board
            .prompt_edit(&actor, prompt, &edit.content, replaces)
            .await?,
    ))
}

async fn remove(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(prompt): Id<PromptId>,
) -> Reply<QueueView> {
    Ok(Json(app.board.prompt_remove(&actor, prompt).await?))
}

async fn merge(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(prompt): Id<PromptId>,
) -> Reply<QueueView> {
    Ok(Json(app.board.prompt_merge(&actor, prompt).await?))
}

async fn send_now(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(prompt): Id<PromptId>,
) -> Reply<MessageOutcome> {
    Ok(Json(app.board.prompt_send_now(&actor, prompt).await?))
}
