//! `/workflows` and their steps.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::{StepId, WorkflowId};
use domain::params::UpdateStep;
use domain::view::WorkflowView;
use domain::workflow::Step;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/workflows/{id}", get)
            .says("A workflow with its steps by position.")
            .answers("Workflow"),
        Route::patch("/workflow/steps/{id}", update_step)
            .says("Change a step: prompt, events, limit of work in progress, feeder. Cards that a higher limit lets in are promoted.")
            .takes::<UpdateStep>()
            .answers("Step"),
    ]
}

impl Wire for UpdateStep {
    const SCHEMA: &'static str = "UpdateStep";
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
) -> Reply<WorkflowView> {
    Ok(Json(app.board.workflow_get(&actor, workflow).await?))
}

async fn update_step(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(step): Id<StepId>,
    Body(params): Body<UpdateStep>,
) -> Reply<Step> {
    Ok(Json(app.board.step_update(&actor, step, params).await?))
}
