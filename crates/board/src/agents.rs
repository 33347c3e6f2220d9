//! Agents by command line, and their profiles.

use crate::reach::configures;
use crate::transition::Work;
use crate::{Actor, Board, BoardError, Result};
use domain::agent::{Agent, AgentProfile, check_config_path, check_unused};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{AgentId, ProfileId};
use domain::params::{CreateAgent, CreateProfile, UpdateAgent, UpdateProfile};
use domain::view::AgentView;
use store::StoreError;

/// Longest name of an agent or a profile, in code points.
const MAX_NAME: usize = 120;
/// Name of the profile that every agent gets with it.
const DEFAULT_PROFILE: &str = "Default";

impl Board {
    /// Adds an agent with a default profile. Whether the command exists shows at the first launch.
    pub async fn agent_create(&self, actor: &Actor, params: CreateAgent) -> Result<AgentView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let view = work.add_agent(params, None).await?;
        work.commit().await?;
        Ok(view)
    }

    /// Makes sure that an agent of this name exists with this command line: agents that are found on the machine at start, and
    /// whose path may have changed since. A new one's default profile begins in `mode`; known profiles are left alone.
    pub async fn agent_ensure(&self, params: CreateAgent, mode: Option<&str>) -> Result<()> {
        let mut work = self.begin().await?;
        let known = store::agents::list(&mut work.tx)
            .await?
            .into_iter()
            .find(|agent| agent.name == params.name);
        let Some(mut agent) = known else {
            // In the same transaction: another node may be starting and look for the same agents.
            work.add_agent(params, mode).await?;
            return work.commit().await;
        };
        if agent.command != params.command || agent.args != params.args || agent.env != params.env {
            agent.command = params.command;
            agent.args = params.args;
            agent.env = params.env;
            agent.updated_at = work.now;
            store::agents::update_command(&mut work.tx, &agent).await?;
            work.event(NewEvent::new(EventKind::AgentUpdated).subject(agent.id))
                .await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// Says whether an agent takes Flightdeck's tools, whatever its handshake says. It counts from the agent's next start on.
    pub async fn agent_update(
        &self,
        actor: &Actor,
        id: AgentId,
        params: UpdateAgent,
    ) -> Result<AgentView> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        check_config_path(params.mcp_config_path.as_deref())?;
        let mut agent = store::agents::find(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent"))?;
        if let Some(supports) = params.supports_mcp
            && supports != agent.supports_mcp_override
        {
            if supports == Some(true) && agent.supports_mcp == Some(false) {
                // Work would be given to an agent that says of itself that it has no tools for it.
                actor.require_person()?;
            }
            agent.supports_mcp_override = supports;
            store::agents::set_supports_mcp_override(&mut work.tx, id, supports, work.now).await?;
            work.event(NewEvent::new(EventKind::AgentUpdated).subject(id))
                .await?;
        }
        let mut profiles = store::agents::profiles(&mut work.tx).await?;
        profiles.retain(|profile| profile.agent_id == id);
        work.commit().await?;
        Ok(view(agent, profiles))
    }

    /// All agents with their profiles.
    pub async fn agent_list(&self, _actor: &Actor) -> Result<Vec<AgentView>> {
        let mut db = self.snapshot().await?;
        let agents = store::agents::list(&mut db).await?;
        let profiles = store::agents::profiles(&mut db).await?;
        Ok(agents
            .into_iter()
            .map(|agent| {
                let own = profiles
                    .iter()
                    .filter(|p| p.agent_id == agent.id)
                    .cloned()
                    .collect();
                view(agent, own)
            })
            .collect())
    }

    /// Adds a profile to an agent.
    pub async fn profile_create(
        &self,
        actor: &Actor,
        params: CreateProfile,
    ) -> Result<AgentProfile> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        check_trust(actor, params.auto_approve)?;
        let name = named(&params.name)?;
        if store::agents::find(&mut work.tx, params.agent_id)
            .await?
            .is_none()
        {
            return Err(Refusal::not_found("agent").into());
        }
        let profile = AgentProfile {
            id: ProfileId::new(),
            agent_id: params.agent_id,
            name,
            model: blank_is_none(params.model),
            mode: blank_is_none(params.mode),
            passthrough: params.passthrough,
            auto_approve: params.auto_approve,
            created_at: work.now,
            updated_at: work.now,
        };
        store::agents::insert_profile(&mut work.tx, &profile)
            .await
            .map_err(|error| taken(error, "a profile"))?;
        work.event(NewEvent::new(EventKind::AgentUpdated).subject(params.agent_id))
            .await?;
        work.commit().await?;
        Ok(profile)
    }

    /// Changes a profile's name, model, mode or whether its agents are asked about. An agent that runs goes on as it was started.
    pub async fn profile_update(
        &self,
        actor: &Actor,
        id: ProfileId,
        params: UpdateProfile,
    ) -> Result<AgentProfile> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let mut profile = store::agents::find_profile(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent profile"))?;
        if let Some(name) = &params.name {
            profile.name = named(name)?;
        }
        if let Some(model) = params.model {
            profile.model = blank_is_none(model);
        }
        if let Some(mode) = params.mode {
            profile.mode = blank_is_none(mode);
        }
        if let Some(auto_approve) = params.auto_approve {
            check_trust(actor, auto_approve && !profile.auto_approve)?;
            profile.auto_approve = auto_approve;
        }
        profile.updated_at = work.now;
        store::agents::update_profile(&mut work.tx, &profile)
            .await
            .map_err(|error| taken(error, "a profile"))?;
        work.event(NewEvent::new(EventKind::AgentUpdated).subject(profile.agent_id))
            .await?;
        work.commit().await?;
        Ok(profile)
    }

    /// Removes a profile. Refused while a session, a task, a step or a workflow names it.
    pub async fn profile_delete(&self, actor: &Actor, id: ProfileId) -> Result<()> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let profile = store::agents::find_profile(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("agent profile"))?;
        let used = store::agents::profile_use(&mut work.tx, id).await?;
        check_unused(&profile, used)?;
        store::agents::delete_profile(&mut work.tx, id).await?;
        work.event(NewEvent::new(EventKind::AgentUpdated).subject(profile.agent_id))
            .await?;
        tracing::info!(%id, actor = actor.word(), "agent profile deleted");
        work.commit().await
    }

    /// All profiles, or those of one agent.
    pub async fn profile_list(
        &self,
        _actor: &Actor,
        agent: Option<AgentId>,
    ) -> Result<Vec<AgentProfile>> {
        let mut profiles = store::agents::profiles(&mut self.snapshot().await?).await?;
        profiles.retain(|p| agent.is_none_or(|id| p.agent_id == id));
        Ok(profiles)
    }

    /// Notes what an agent's handshake said about MCP over HTTP.
    pub async fn agent_handshake(&self, agent: AgentId, supports_mcp: bool) -> Result<()> {
        let mut work = self.begin().await?;
        if work.note_handshake(agent, supports_mcp).await? {
            work.commit().await?;
        }
        Ok(())
    }
}

impl Work {
    /// Notes whether an agent takes tools over HTTP; answers whether that is news.
    pub(crate) async fn note_handshake(
        &mut self,
        agent: AgentId,
        supports_mcp: bool,
    ) -> Result<bool> {
        let news =
            store::agents::set_supports_mcp(&mut self.tx, agent, supports_mcp, self.now).await?;
        if news {
            self.event(NewEvent::new(EventKind::AgentUpdated).subject(agent))
                .await?;
        }
        Ok(news)
    }

    async fn add_agent(&mut self, params: CreateAgent, mode: Option<&str>) -> Result<AgentView> {
        let name = named(&params.name)?;
        let command = params.command.trim();
        if command.is_empty() {
            return Err(Refusal::validation(
                "command is required: the program that speaks ACP on stdio",
            )
            .into());
        }
        if let Some(bad) = params
            .env
            .keys()
            .find(|key| key.is_empty() || key.contains(['=', '\0']))
        {
            return Err(Refusal::validation(format!(
                "env holds a name that no variable can have ({bad:?})"
            ))
            .into());
        }
        let agent = Agent {
            id: AgentId::new(),
            name,
            command: command.to_owned(),
            args: params.args,
            env: params.env,
            supports_mcp: None,
            supports_mcp_override: None,
            created_at: self.now,
            updated_at: self.now,
        };
        store::agents::insert(&mut self.tx, &agent)
            .await
            .map_err(|error| taken(error, "an agent"))?;
        let profile = AgentProfile {
            id: ProfileId::new(),
            agent_id: agent.id,
            name: DEFAULT_PROFILE.to_owned(),
            model: None,
            mode: mode.map(str::to_owned),
            passthrough: false,
            auto_approve: false,
            created_at: self.now,
            updated_at: self.now,
        };
        store::agents::insert_profile(&mut self.tx, &profile).await?;
        self.event(NewEvent::new(EventKind::AgentUpdated).subject(agent.id))
            .await?;
        Ok(view(agent, vec![profile]))
    }
}

/// An agent may not decide that agents go unasked: it could mean itself.
fn check_trust(actor: &Actor, trusts: bool) -> Result<()> {
    if trusts && actor.session().is_some() {
        return Err(Refusal::forbidden(
            "auto_approve lets agents do things unasked, so only the operator turns it on: leave it out and ask for it",
        )
        .into());
    }
    Ok(())
}

fn blank_is_none(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn named(name: &str) -> Result<String> {
    let what_for = "call the agent or profile something";
    Ok(domain::name::check("name", name, MAX_NAME, what_for)?)
}

fn taken(error: StoreError, what: &str) -> BoardError {
    match error {
        StoreError::Unique(_) => {
            Refusal::conflict(format!("{what} of this name exists already")).into()
        }
        other @ (StoreError::Invariant(_)
        | StoreError::Full(_)
        | StoreError::Unavailable(_)
        | StoreError::Raced(_)
        | StoreError::Corrupt { .. }
        | StoreError::Migration(_)
        | StoreError::Config(_)
        | StoreError::Other(_)) => other.into(),
    }
}

fn view(agent: Agent, profiles: Vec<AgentProfile>) -> AgentView {
    AgentView {
        id: agent.id,
        supports_mcp: agent.takes_mcp(),
        supports_mcp_override: agent.supports_mcp_override,
        name: agent.name,
        command: agent.command,
        args: agent.args,
        env_names: agent.env.into_keys().collect(),
        profiles,
    }
}
