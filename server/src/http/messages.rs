//! `/messages`, and the body of a prompt.

use super::extract::{Caller, Id, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::MessageId;
use domain::view::MessageView;
use serde::Deserialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/messages/{id}", get)
            .says("A message of a transcript.")
            .answers("Message"),
    ]
}

/// The words of an operator to an agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    pub(super) content: String,
    #[serde(default)]
    pub(super) idempotency_key: Option<String>,
}

impl Wire for Prompt {
    const SCHEMA: &'static str = "Prompt";
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(message): Id<MessageId>,
) -> Reply<MessageView> {
    Ok(Json(app.board.message_get(&actor, message).await?))
}
