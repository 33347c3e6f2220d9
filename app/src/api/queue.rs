//! What waits for a session, and steering it.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::{PromptId, SessionId};
use domain::view::{MessageOutcome, QueueView};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;

/// Takes back a prompt that still waits.
#[server(prefix = "/api/page", endpoint = "prompt/remove", input = Json)]
pub async fn prompt_remove(prompt: PromptId) -> Result<QueueView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.prompt_remove(&door.actor, prompt).await)
}

/// Gives a prompt other words, if it still has those that were edited.
#[server(prefix = "/api/page", endpoint = "prompt/edit", input = Json)]
pub async fn prompt_edit(
    prompt: PromptId,
    content: String,
    replaces: String,
) -> Result<QueueView, AppError> {
    let door = Door::open()?;
    let edited = door
        .board
        .prompt_edit(&door.actor, prompt, &content, Some(&replaces));
    door.answer(edited.await)
}

/// Joins a prompt to the one above it.
#[server(prefix = "/api/page", endpoint = "prompt/merge", input = Json)]
pub async fn prompt_merge(prompt: PromptId) -> Result<QueueView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.prompt_merge(&door.actor, prompt).await)
}

/// Delivers a prompt before all others; the running turn is cancelled.
#[server(prefix = "/api/page", endpoint = "prompt/send-now", input = Json)]
pub async fn prompt_send_now(prompt: PromptId) -> Result<MessageOutcome, AppError> {
    let door = Door::open()?;
    door.answer(door.board.prompt_send_now(&door.actor, prompt).await)
}

/// Takes everything back that waits for a session.
#[server(prefix = "/api/page", endpoint = "queue/clear", input = Json)]
pub async fn queue_clear(session: SessionId) -> Result<QueueView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.queue_clear(&door.actor, session).await)
}

/// Puts what waits into another order.
#[server(prefix = "/api/page", endpoint = "queue/reorder", input = Json)]
pub async fn queue_reorder(session: SessionId, ids: Vec<PromptId>) -> Result<QueueView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.queue_reorder(&door.actor, session, &ids).await)
}

/// Lets what waits for a session be delivered by itself, or holds it.
#[server(prefix = "/api/page", endpoint = "session/auto-run", input = Json)]
pub async fn session_auto_run(session: SessionId, on: bool) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_auto_run(&door.actor, session, on).await)
}
