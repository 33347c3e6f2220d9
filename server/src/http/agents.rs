//! `/agents`: coding agents by command line.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::AgentId;
use domain::params::{CreateAgent, UpdateAgent};
use domain::view::AgentView;
use http::StatusCode;
use serde::Serialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/agents", list)
            .says("All agents with their profiles. Of their environment only the names are shown.")
            .answers("AgentList"),
        Route::post("/agents", create)
            .says("Add any agent that speaks ACP on stdio, by its command line; it gets a default profile.")
            .takes::<CreateAgent>()
            .creates("Agent"),
        Route::patch("/agents/{id}", update)
            .says("Say whether an agent takes Flightdeck's tools, whatever its handshake says; null leaves it to that.")
            .takes::<UpdateAgent>()
            .answers("Agent"),
    ]
}

impl Wire for CreateAgent {
    const SCHEMA: &'static str = "CreateAgent";
}

impl Wire for UpdateAgent {
    const SCHEMA: &'static str = "UpdateAgent";
}

#[derive(Serialize)]
struct AgentList {
    total: usize,
    agents: Vec<AgentView>,
}

async fn list(State(app): State<AppState>, Caller(actor): Caller) -> Reply<AgentList> {
    let agents = app.board.agent_list(&actor).await?;
    Ok(Json(AgentList {
        total: agents.len(),
        agents,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateAgent>,
) -> Result<(StatusCode, Json<AgentView>), ApiError> {
    let made = app.board.agent_create(&actor, params).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(agent): Id<AgentId>,
    Body(params): Body<UpdateAgent>,
) -> Reply<AgentView> {
    Ok(Json(app.board.agent_update(&actor, agent, params).await?))
}
