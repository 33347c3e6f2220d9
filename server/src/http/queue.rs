//! `/queue`: prompts that wait.

use super::extract::{Caller, Id, Reply};
use super::route::Route;
use super::tasks::Done;
use crate::state::AppState;
use axum::extract::State;
use domain::ids::PromptId;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::delete("/queue/{id}", remove)
            .says("Take a prompt back that still waits. A question between tasks, or its answer, cannot be taken back.")
            .answers("Done"),
    ]
}

async fn remove(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(prompt): Id<PromptId>,
) -> Reply<Done> {
    app.board.prompt_remove(&actor, prompt).await?;
    Ok(Done::reply())
}
