//! `/agent-profiles`: how an agent is run.

use super::extract::{Body, Caller, Id, Query, Reply, Wire, id};
use super::route::{Parameter, Route};
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::agent::AgentProfile;
use domain::ids::ProfileId;
use domain::mcp_servers::{McpConfigView, UpdateMcpConfig};
use domain::params::{CreateProfile, UpdateProfile};
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/agent-profiles", list)
            .says("All profiles, or those of one agent.")
            .asks(PROFILES)
            .answers("AgentProfileList"),
        Route::post("/agent-profiles", create)
            .says("Add a profile to an agent: model, mode, and whether it is a raw terminal.")
            .takes::<CreateProfile>()
            .creates("AgentProfile"),
        Route::patch("/agent-profiles/{id}", update)
            .says("Change a profile: name, model, mode, and whether its agents are asked about.")
            .takes::<UpdateProfile>()
            .answers("AgentProfile"),
        Route::delete("/agent-profiles/{id}", delete)
            .says(
                "Remove a profile; refused while a session, a task, a step or a workflow names it.",
            )
            .answers_nothing(),
        Route::get("/agent-profiles/{id}/mcp-config", mcp_config)
            .says("The MCP servers that a profile's agents are given beside Flightdeck's own; of secrets the names alone, each with null.")
            .answers("McpConfig"),
        Route::put("/agent-profiles/{id}/mcp-config", put_mcp_config)
            .says("Change the MCP servers of a profile, all at once; null keeps a secret while the server stays where it is.")
            .takes::<UpdateMcpConfig>()
            .answers("McpConfig"),
    ]
}

const PROFILES: &[Parameter] = &[Parameter {
    name: "agent_id",
    schema: r#"{"type":"string","format":"uuid"}"#,
    description: "Only profiles of this agent.",
}];

impl Wire for CreateProfile {
    const SCHEMA: &'static str = "CreateAgentProfile";
}

impl Wire for UpdateProfile {
    const SCHEMA: &'static str = "UpdateAgentProfile";
}

impl Wire for UpdateMcpConfig {
    const SCHEMA: &'static str = "UpdateMcpConfig";
}

#[derive(Serialize)]
struct AgentProfileList {
    total: usize,
    profiles: Vec<AgentProfile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProfileQuery {
    agent_id: Option<String>,
}

async fn list(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Query(query): Query<ProfileQuery>,
) -> Reply<AgentProfileList> {
    let agent = id("agent_id", query.agent_id.as_deref())?;
    let profiles = app.board.profile_list(&actor, agent).await?;
    Ok(Json(AgentProfileList {
        total: profiles.len(),
        profiles,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateProfile>,
) -> Result<(StatusCode, Json<AgentProfile>), ApiError> {
    let made = app.board.profile_create(&actor, params).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ProfileId>,
    Body(params): Body<UpdateProfile>,
) -> Reply<AgentProfile> {
    Ok(Json(
        app.board.profile_update(&actor, profile, params).await?,
    ))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ProfileId>,
) -> Result<StatusCode, ApiError> {
    app.board.profile_delete(&actor, profile).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn mcp_config(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ProfileId>,
) -> Reply<McpConfigView> {
    Ok(Json(app.board.mcp_config_get(&actor, profile).await?))
}

async fn put_mcp_config(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(profile): Id<ProfileId>,
    Body(params): Body<UpdateMcpConfig>,
) -> Reply<McpConfigView> {
    Ok(Json(
        app.board.mcp_config_update(&actor, profile, params).await?,
    ))
}
