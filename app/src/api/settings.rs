//! Settings: the tokens of outside clients, repositories, what agents are given and how they are run, saved prompts, and who may sign in.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::executor::{CreateExecutorProfile, ExecutorProfile, UpdateExecutorProfile};
use domain::ids::{ExecutorProfileId, ProfileId, TokenId, WorkspaceId};
use domain::mcp_servers::{McpConfigView, UpdateMcpConfig};
use domain::operator::{NewToken, OperatorView, TokenView, TokenWorkspace};
use domain::repository::{KnownHost, Repository};
use domain::saved_prompt::{PromptName, SavedPrompt};
use domain::view::AgentView;
#[cfg(feature = "ssr")]
use domain::view::WorkspaceView;
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// What the page of settings shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingsView {
    /// The tokens that count, newest first, and after them those that were revoked.
    pub tokens: Vec<TokenView>,
    /// The workspaces that a token can be limited to, oldest first.
    pub workspaces: Vec<TokenWorkspace>,
    /// The agents with their profiles.
    pub agents: Vec<AgentView>,
    /// The MCP servers of those profiles that ever had some.
    pub servers: Vec<McpConfigView>,
    /// How tasks can be run.
    pub executor_profiles: Vec<ExecutorProfile>,
    /// The workspace whose repositories are shown first: the one that was looked at last.
    pub repositories_of: Option<WorkspaceId>,
    /// Its repositories, oldest first.
    pub repositories: Vec<Repository>,
    /// The servers of providers that are reached.
    pub providers: Vec<KnownHost>,
    /// What messages may name, by name.
    pub prompts: Vec<SavedPrompt>,
    /// Who may sign in; nobody, as long as the person at the machine is the operator.
    pub operators: Vec<OperatorView>,
}

/// What the page begins with.
#[server(prefix = "/api/page", endpoint = "settings", input = Json)]
pub async fn settings_open() -> Result<SettingsView, AppError> {
    let door = Door::open()?;
    let mut tokens = door.answer(door.board.token_list(&door.actor).await)?;
    tokens.sort_by_key(|token| token.revoked_at.is_some());
    let workspaces = door.answer(door.board.workspace_list(&door.actor).await)?;
    let named = |one: WorkspaceView| TokenWorkspace {
        id: one.id,
        name: one.name,
    };
    let last = crate::prefs::Prefs::of_request().workspace;
    let is_last = |one: &&WorkspaceView| Some(one.id) == last;
    let shown = workspaces.iter().find(is_last).or(workspaces.first());
    let repositories_of = shown.map(|one| one.id);
    let repositories = match repositories_of {
        Some(id) => door.answer(door.board.repository_list(&door.actor, id).await)?,
        None => Vec::new(),
    };
    Ok(SettingsView {
        tokens,
        workspaces: workspaces.into_iter().map(named).collect(),
        agents: door.answer(door.board.agent_list(&door.actor).await)?,
        servers: door.answer(door.board.mcp_config_list(&door.actor).await)?,
        executor_profiles: door
            .answer(door.board.executor_profile_list(&door.actor, None).await)?,
        repositories_of,
        repositories,
        providers: door.answer(door.board.provider_list(&door.actor))?,
        prompts: door.answer(door.board.saved_prompt_list(&door.actor).await)?,
        operators: door.answer(door.board.operator_list(&door.actor).await)?,
    })
}

/// Makes an access token that reaches these workspaces, or all; it cannot be read again.
#[server(prefix = "/api/page", endpoint = "tokens/create", input = Json)]
pub async fn token_create(
    name: String,
    workspaces: Option<Vec<WorkspaceId>>,
) -> Result<NewToken, AppError> {
    let door = Door::open()?;
    let made = door
        .board
        .token_create_within(&door.actor, &name, workspaces.as_deref())
        .await;
    door.answer(made)
}

/// Revokes an access token.
#[server(prefix = "/api/page", endpoint = "tokens/revoke", input = Json)]
pub async fn token_revoke(id: TokenId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.token_revoke(&door.actor, id).await)
}

/// Saves a prompt in the place of the one of its name.
#[server(prefix = "/api/page", endpoint = "prompts/save", input = Json)]
pub async fn saved_prompt_put(name: PromptName, content: String) -> Result<SavedPrompt, AppError> {
    let door = Door::open()?;
    let saved = door
        .board
        .saved_prompt_put(&door.actor, &name, &content)
        .await;
    door.answer(saved)
}

/// Deletes a saved prompt.
#[server(prefix = "/api/page", endpoint = "prompts/delete", input = Json)]
pub async fn saved_prompt_delete(name: PromptName) -> Result<bool, AppError> {
    let door = Door::open()?;
    door.answer(door.board.saved_prompt_delete(&door.actor, &name).await)
}

/// Changes the MCP servers of a profile.
#[server(prefix = "/api/page", endpoint = "mcp-config/save", input = Json)]
pub async fn mcp_config_put(
    profile: ProfileId,
    params: UpdateMcpConfig,
) -> Result<McpConfigView, AppError> {
    let door = Door::open()?;
    let changed = door
        .board
        .mcp_config_update(&door.actor, profile, params)
        .await;
    door.answer(changed)
}

/// Adds a profile to an executor.
#[server(prefix = "/api/page", endpoint = "executor-profiles/create", input = Json)]
pub async fn executor_profile_create(
    params: CreateExecutorProfile,
) -> Result<ExecutorProfile, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .executor_profile_create(&door.actor, params)
            .await,
    )
}

/// Changes a profile of an executor.
#[server(prefix = "/api/page", endpoint = "executor-profiles/save", input = Json)]
pub async fn executor_profile_update(
    id: ExecutorProfileId,
    params: UpdateExecutorProfile,
) -> Result<ExecutorProfile, AppError> {
    let door = Door::open()?;
    let changed = door
        .board
        .executor_profile_update(&door.actor, id, params)
        .await;
    door.answer(changed)
}

/// Removes a profile of an executor.
#[server(prefix = "/api/page", endpoint = "executor-profiles/delete", input = Json)]
pub async fn executor_profile_delete(id: ExecutorProfileId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.executor_profile_delete(&door.actor, id).await)
}
