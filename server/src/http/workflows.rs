//! `/workflows`.

use super::extract::{Caller, Id, Reply};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::WorkflowId;
use domain::view::WorkflowView;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/workflows/{id}", get)
            .says("A workflow with its steps by position.")
            .answers("Workflow"),
    ]
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
) -> Reply<WorkflowView> {
    Ok(Json(app.board.workflow_get(&actor, workflow).await?))
}
