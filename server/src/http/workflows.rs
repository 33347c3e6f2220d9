//! `/workflows` and their steps.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::exchange::WorkflowDocument;
use domain::ids::{StepId, WorkflowId, WorkspaceId};
use domain::params::{CreateStep, CreateWorkflow, UpdateStep, UpdateWorkflow};
use domain::view::WorkflowView;
use domain::workflow::Step;
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/workflows", create)
            .says("Make a workflow, without steps and after the others of its workspace.")
            .takes::<CreateWorkflow>()
            .creates("Workflow"),
        Route::get("/workflows/{id}", get)
            .says("A workflow with its steps by position.")
            .answers("Workflow"),
        Route::patch("/workflows/{id}", update)
            .says("Change a workflow: name, description, instructions, usual agent profile.")
            .takes::<UpdateWorkflow>()
            .answers("Workflow"),
        Route::delete("/workflows/{id}", delete)
            .says("Remove a workflow with its steps; refused while it holds tasks and when it is the workspace's last.")
            .answers_nothing(),
        Route::get("/workflows/{id}/export", export)
            .says("A workflow as a document without ids and times.")
            .answers("WorkflowDocument"),
        Route::post("/workspaces/{id}/workflows/import", import)
            .says("Make the workflows of a document, YAML or JSON; anything wrong in it refuses all of it.")
            .takes::<Import>()
            .creates("WorkflowList"),
        Route::put("/workspaces/{id}/workflows/reorder", reorder)
            .says("Put the workflows of a workspace into another order.")
            .takes::<WorkflowOrder>()
            .answers("WorkflowList"),
        Route::post("/workflow/steps", create_step)
            .says("Make a step, at the end of its workflow or at a position.")
            .takes::<CreateStep>()
            .creates("Step"),
        Route::patch("/workflow/steps/{id}", update_step)
            .says("Change a step: prompt, events, limit of work in progress, feeder. Cards that a higher limit lets in are promoted.")
            .takes::<UpdateStep>()
            .answers("Step"),
        Route::put("/workflow/steps/{id}", update_step)
            .says("The same as PATCH: what is left out stays.")
            .takes::<UpdateStep>()
            .answers("Step"),
        Route::delete("/workflow/steps/{id}", delete_step)
            .says("Remove a step; refused while cards are in it or on their way to it.")
            .answers_nothing(),
        Route::put("/workflows/{id}/workflow/steps/reorder", reorder_steps)
            .says("Put the steps of a workflow into another order; each is named once.")
            .takes::<StepOrder>()
            .answers("StepList"),
    ]
}

/// The workflows of a workspace in the order wished for.
#[derive(Debug, Deserialize)]
struct WorkflowOrder {
    workflow_ids: Vec<WorkflowId>,
}

/// The steps of a workflow in the order wished for.
#[derive(Debug, Deserialize)]
struct StepOrder {
    step_ids: Vec<StepId>,
}

/// A document as text.
#[derive(Debug, Deserialize)]
struct Import {
    document: String,
}

impl Wire for Import {
    const SCHEMA: &'static str = "ImportWorkflows";
}

impl Wire for CreateWorkflow {
    const SCHEMA: &'static str = "CreateWorkflow";
}

impl Wire for UpdateWorkflow {
    const SCHEMA: &'static str = "UpdateWorkflow";
}

impl Wire for WorkflowOrder {
    const SCHEMA: &'static str = "WorkflowOrder";
}

impl Wire for CreateStep {
    const SCHEMA: &'static str = "CreateStep";
}

impl Wire for UpdateStep {
    const SCHEMA: &'static str = "UpdateStep";
}

impl Wire for StepOrder {
    const SCHEMA: &'static str = "StepOrder";
}

#[derive(Serialize)]
struct StepList {
    total: usize,
    steps: Vec<Step>,
}

/// The workflows of a workspace, counted.
#[derive(Serialize)]
pub(super) struct WorkflowList {
    total: usize,
    workflows: Vec<WorkflowView>,
}

impl WorkflowList {
    pub(super) const fn of(workflows: Vec<WorkflowView>) -> Self {
        Self {
            total: workflows.len(),
            workflows,
        }
    }
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateWorkflow>,
) -> Result<(StatusCode, Json<WorkflowView>), ApiError> {
    let made = app.board.workflow_create(&actor, params).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
) -> Reply<WorkflowView> {
    Ok(Json(app.board.workflow_get(&actor, workflow).await?))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
    Body(params): Body<UpdateWorkflow>,
) -> Reply<WorkflowView> {
    Ok(Json(
        app.board.workflow_update(&actor, workflow, params).await?,
    ))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
) -> Result<StatusCode, ApiError> {
    app.board.workflow_delete(&actor, workflow).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn export(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
) -> Reply<WorkflowDocument> {
    Ok(Json(app.board.workflow_export(&actor, workflow).await?))
}

async fn import(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Body(import): Body<Import>,
) -> Result<(StatusCode, Json<WorkflowList>), ApiError> {
    let made = app
        .board
        .workflow_import(&actor, workspace, &import.document)
        .await?;
    Ok((StatusCode::CREATED, Json(WorkflowList::of(made))))
}

async fn reorder(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Body(order): Body<WorkflowOrder>,
) -> Reply<WorkflowList> {
    let workflows = app
        .board
        .workflow_reorder(&actor, workspace, &order.workflow_ids)
        .await?;
    Ok(Json(WorkflowList::of(workflows)))
}

async fn create_step(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateStep>,
) -> Result<(StatusCode, Json<Step>), ApiError> {
    let made = app.board.step_create(&actor, params).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update_step(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(step): Id<StepId>,
    Body(params): Body<UpdateStep>,
) -> Reply<Step> {
    Ok(Json(app.board.step_update(&actor, step, params).await?))
}

async fn delete_step(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(step): Id<StepId>,
) -> Result<StatusCode, ApiError> {
    app.board.step_delete(&actor, step).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reorder_steps(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workflow): Id<WorkflowId>,
    Body(order): Body<StepOrder>,
) -> Reply<StepList> {
    let steps = app
        .board
        .step_reorder(&actor, workflow, &order.step_ids)
        .await?;
    Ok(Json(StepList {
        total: steps.len(),
        steps,
    }))
}
