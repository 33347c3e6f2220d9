//! "Try the demo": a task whose script makes the demo agent split off an autopilot child, which asks, is answered, and finishes.

use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::{ProfileId, WorkspaceId};
use domain::params::CreateTask;
use domain::view::TaskCreated;

/// The name under which the demo agent is registered at start.
const DEMO_AGENT: &str = "Demo agent";

/// What the demo delegates. The command is the demo agent's own; to the board it is a prompt like any other.
const TITLE: &str = "Build a small notes app";
const PROMPT: &str = "/demo Build a small notes app";

impl Board {
    /// The demo agent's profile, when it is registered.
    pub async fn demo_profile(&self) -> Result<Option<ProfileId>> {
        let agents = self.agent_list(&Actor::Operator).await?;
        Ok(agents
            .iter()
            .find(|agent| agent.name == DEMO_AGENT)
            .and_then(|agent| agent.profiles.first())
            .map(|p| p.id))
    }

    /// Starts the demo in a workspace, or in the only one.
    pub async fn demo_start(
        &self,
        actor: &Actor,
        workspace: Option<WorkspaceId>,
    ) -> Result<TaskCreated> {
        actor.require_operator()?;
        let profile = self.demo_profile().await?.ok_or_else(|| {
            Refusal::conflict("the demo agent is not registered: add an agent with the command \"flightdeck demo-agent\"")
        })?;
        let task = CreateTask {
            title: TITLE.to_owned(),
            description: PROMPT.to_owned(),
            workspace_id: workspace,
            agent_profile_id: Some(profile),
            start_agent: Some(true),
            ..CreateTask::default()
        };
        self.task_create(actor, task).await
    }
}
