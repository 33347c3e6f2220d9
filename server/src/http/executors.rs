//! `/executors` and their profiles: how agents are run.

use super::extract::{Body, Caller, Id, Query, Reply, Wire};
use super::route::{Parameter, Route};
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::executor::{
    CreateExecutorProfile, Executor, ExecutorProfile, ExecutorView, UpdateExecutorProfile,
};
use domain::ids::ExecutorProfileId;
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/executors", executors)
            .says("The executors that agents can be run on.")
            .answers("ExecutorList"),
        Route::get("/executor-profiles", list)
            .says("All profiles of executors, or those of one.")
            .asks(PROFILES)
            .answers("ExecutorProfileList"),
        Route::post("/executor-profiles", create)
            .says("Add a profile to an executor: scripts for a task's folder, and which MCP servers agents are given.")
            .takes::<CreateExecutorProfile>()
            .creates("ExecutorProfile"),
        Route::patch("/executor-profiles/{id}", update)
            .says("Change a profile of an executor; what is left out stays.")
            .takes::<UpdateExecutorProfile>()
            .answers("ExecutorProfile"),
        Route::delete("/executor-profiles/{id}", delete)
            .says("Remove a profile of an executor; refused while a task has it or a folder is still to be cleaned up.")
            .answers_nothing(),
    ]
}

const PROFILES: &[Parameter] = &[Parameter {
    name: "executor_id",
    schema: r#"{"type":"string"}"#,
    description: "Only profiles of this executor.",
}];

impl Wire for CreateExecutorProfile {
    const SCHEMA: &'static str = "CreateExecutorProfile";
}

impl Wire for UpdateExecutorProfile {
    const SCHEMA: &'static str = "UpdateExecutorProfile";
}

#[derive(Serialize)]
struct ExecutorList {
    total: usize,
    executors: Vec<ExecutorView>,
}

#[derive(Serialize)]
struct ExecutorProfileList {
    total: usize,
    profiles: Vec<ExecutorProfile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProfileQuery {
    executor_id: Option<String>,
}

async fn executors(State(app): State<AppState>, Caller(actor): Caller) -> Reply<ExecutorList> {
    let executors = app.board.executor_list(&actor);
    Ok(Json(ExecutorList {
        total: executors.len(),
        executors,
    }))
}

async fn list(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Query(query): Query<ProfileQuery>,
) -> Reply<ExecutorProfileList> {
    let executor = query
        .executor_id
        .as_deref()
        .map(Executor::parse)
        .transpose()?;
    let profiles = app.board.executor_profile_list(&actor, executor).await?;
    Ok(Json(ExecutorProfileList {
        total: profiles.len(),
        profiles,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateExecutorProfile>,
) -> Result<(StatusCode, Json<ExecutorProfile>), ApiError> {
    let made = app.board.executor_profile_create(&actor, params).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ExecutorProfileId>,
    Body(params): Body<UpdateExecutorProfile>,
) -> Reply<ExecutorProfile> {
    let changed = app
        .board
        .executor_profile_update(&actor, profile, params)
        .await?;
    Ok(Json(changed))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ExecutorProfileId>,
) -> Result<StatusCode, ApiError> {
    app.board.executor_profile_delete(&actor, profile).await?;
    Ok(StatusCode::NO_CONTENT)
}
