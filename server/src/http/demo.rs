//! `/demo`: "Try the demo".

use super::extract::{Body, Caller, Wire};
use super::route::Route;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::WorkspaceId;
use domain::view::TaskCreated;
use http::StatusCode;
use serde::Deserialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/demo", start)
            .says("Start the demo: a task that splits off an autopilot child, which asks, is answered, and finishes.")
            .takes::<StartDemo>()
            .creates("TaskCreated"),
    ]
}

/// Where the demo is to run.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StartDemo {
    workspace_id: Option<WorkspaceId>,
}

impl Wire for StartDemo {
    const SCHEMA: &'static str = "StartDemo";
}

async fn start(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(body): Body<StartDemo>,
) -> Result<(StatusCode, Json<TaskCreated>), ApiError> {
    let made = app.board.demo_start(&actor, body.workspace_id).await?;
    Ok((StatusCode::CREATED, Json(made)))
}
