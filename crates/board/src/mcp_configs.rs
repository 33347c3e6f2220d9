//! MCP servers of a profile: what its agents are given beside Flightdeck's own (task-domain 2.8).

use crate::reach::{commands, configures};
use crate::{Actor, Board, Result};
use domain::agent::AgentProfile;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::ProfileId;
use domain::mcp_servers::{McpConfigView, UpdateMcpConfig, adds_command, change};
use store::Snapshot;

impl Board {
    /// The servers of a profile; of secrets the names alone.
    pub async fn mcp_config_get(&self, actor: &Actor, profile: ProfileId) -> Result<McpConfigView> {
        let mut db = self.snapshot().await?;
        configures(&mut db, actor, None).await?;
        find_profile(&mut db, profile).await?;
        let (config, updated_at) = store::mcp_configs::find(&mut db, profile).await?.unzip();
        Ok(McpConfigView::of(
            profile,
            &config.unwrap_or_default(),
            updated_at,
        ))
    }

    /// The servers of all profiles that have some, for the page of settings.
    pub async fn mcp_config_list(&self, actor: &Actor) -> Result<Vec<McpConfigView>> {
        actor.require_operator()?;
        let found = store::mcp_configs::list(&mut self.snapshot().await?).await?;
        Ok(found
            .into_iter()
            .map(|(profile, config, at)| McpConfigView::of(profile, &config, Some(at)))
            .collect())
    }

    /// Changes the servers of a profile, the whole map at once. An agent that runs goes on as it was started; the next start is given
    /// them. A server that runs a command is the operator's to add, to change and to switch on: others leave it as it is, or out.
    pub async fn mcp_config_update(
        &self,
        actor: &Actor,
        profile: ProfileId,
        params: UpdateMcpConfig,
    ) -> Result<McpConfigView> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let profile = find_profile(&mut work.tx, profile).await?;
        let before = store::mcp_configs::find(&mut work.tx, profile.id)
            .await?
            .map(|(config, _)| config)
            .unwrap_or_default();
        let after = change(&before, params)?;
        if let Some(name) = adds_command(&before, &after) {
            commands(actor, &format!("server \"{name}\""))?;
        }
        let now = work.now;
        store::mcp_configs::put(&mut work.tx, profile.id, &after, now).await?;
        work.event(NewEvent::new(EventKind::AgentUpdated).subject(profile.agent_id))
            .await?;
        work.commit().await?;
        Ok(McpConfigView::of(profile.id, &after, Some(now)))
    }
}

async fn find_profile(db: &mut Snapshot, id: ProfileId) -> Result<AgentProfile> {
    let found = store::agents::find_profile(db, id).await?;
    Ok(found.ok_or_else(|| Refusal::not_found("agent profile"))?)
}
