//! Agents, their profiles, and workspaces.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::agent::AgentProfile;
use domain::executor::ExecutorProfile;
use domain::params::{CreateAgent, CreateProfile};
use domain::view::{AgentView, WorkspaceView};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;

/// All workspaces.
#[server(prefix = "/api/page", endpoint = "workspaces", input = Json)]
pub async fn workspace_list() -> Result<Vec<WorkspaceView>, AppError> {
    let door = Door::open()?;
    door.answer(door.board.workspace_list(&door.actor).await)
}

/// Makes a workspace with the Kanban workflow.
#[server(prefix = "/api/page", endpoint = "workspaces/create", input = Json)]
pub async fn workspace_create(name: String) -> Result<WorkspaceView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.workspace_create(&door.actor, &name, "").await)
}

/// All agents with their profiles.
#[server(prefix = "/api/page", endpoint = "agents", input = Json)]
pub async fn agent_list() -> Result<Vec<AgentView>, AppError> {
    let door = Door::open()?;
    door.answer(door.board.agent_list(&door.actor).await)
}

/// How tasks can be run: the profiles of the executor.
#[server(prefix = "/api/page", endpoint = "executor-profiles", input = Json)]
pub async fn executor_profile_list() -> Result<Vec<ExecutorProfile>, AppError> {
    let door = Door::open()?;
    door.answer(door.board.executor_profile_list(&door.actor, None).await)
}

/// Adds an agent by its command line.
#[server(prefix = "/api/page", endpoint = "agents/create", input = Json)]
pub async fn agent_create(params: CreateAgent) -> Result<AgentView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.agent_create(&door.actor, params).await)
}

/// Adds a profile to an agent.
#[server(prefix = "/api/page", endpoint = "profiles/create", input = Json)]
pub async fn profile_create(params: CreateProfile) -> Result<AgentProfile, AppError> {
    let door = Door::open()?;
    door.answer(door.board.profile_create(&door.actor, params).await)
}

/// The log's target for what pages report.
pub const FAULTS: &str = "app::browser";

/// Notes an error of a page in the log.
#[server(prefix = "/api/page", endpoint = "fault", input = Json)]
pub async fn fault_report(text: String) -> Result<(), AppError> {
    const LONGEST: usize = 2_000;
    let _door = Door::open()?;
    // One line of the log is one line, whatever the page says.
    let text: String = text
        .chars()
        .take(LONGEST)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    tracing::warn!(target: FAULTS, "{text}");
    Ok(())
}
