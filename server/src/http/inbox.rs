//! `/inbox`: everything that waits for the operator.

use super::extract::{Caller, Reply};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::view::InboxView;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/inbox", show)
            .says("Every question and permission that waits for the operator, across tasks, oldest first.")
            .answers("Inbox"),
    ]
}

async fn show(State(app): State<AppState>, Caller(actor): Caller) -> Reply<InboxView> {
    Ok(Json(app.board.inbox(&actor).await?))
}
