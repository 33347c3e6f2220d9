//! Workflows as documents: writing one out, and reading one in, whole or not at all.

use crate::reach::configures;
use crate::workflows::configurable;
use crate::{Actor, Board, Result};
use domain::agent::{Agent, AgentProfile};
use domain::error::Refusal;
use domain::exchange::{
    MAX_BYTES, PortableWorkflow, ProfileName, WorkflowDocument, build, export, read,
};
use domain::ids::{ProfileId, WorkflowId, WorkspaceId};
use domain::params::CreateWorkflow;
use domain::view::WorkflowView;
use serde_json::Value;
use store::Snapshot;

impl Board {
    /// A workflow as a document.
    pub async fn workflow_export(&self, actor: &Actor, id: WorkflowId) -> Result<WorkflowDocument> {
        let mut db = self.snapshot().await?;
        let workflow = configurable(&mut db, actor, id).await?;
        let steps = store::workflows::steps(&mut db, id).await?;
        let names = Names::load(&mut db).await?;
        Ok(export(&workflow, &steps, |profile| names.name(profile)))
    }

    /// Makes the workflows of a document, JSON or YAML, after the others of a workspace. Anything wrong with any of them refuses
    /// all.
    pub async fn workflow_import(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        text: &str,
    ) -> Result<Vec<WorkflowView>> {
        let document = read(parse(text)?)?;
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, Some(workspace)).await?;
        let names = Names::load(&mut work.tx).await?;
        let mut made = Vec::new();
        for portable in &document.workflows {
            let workflow = work
                .add_workflow(params(workspace, portable, &names)?)
                .await?;
            let steps = build(portable, workflow.id, |name| names.find(name))?;
            for step in &steps {
                crate::prompts::check_size(&step.prompt)?;
                work.check_actions(&step.events).await?;
                // Feeders are named when all steps are there.
                let alone = domain::workflow::Step {
                    pull_from_step_id: None,
                    ..step.clone()
                };
                store::workflows::insert_step(&mut work.tx, &alone).await?;
            }
            for step in steps.iter().filter(|step| step.pull_from_step_id.is_some()) {
                store::workflows::update_step(&mut work.tx, step).await?;
            }
            work.workflow_event(&workflow).await?;
            made.push(WorkflowView { workflow, steps });
        }
        work.commit().await?;
        Ok(made)
    }
}

fn params(
    workspace_id: WorkspaceId,
    portable: &PortableWorkflow,
    names: &Names,
) -> Result<CreateWorkflow> {
    let profile = portable.agent_profile.as_ref();
    Ok(CreateWorkflow {
        workspace_id,
        name: portable.name.clone(),
        description: portable.description.clone(),
        prompt: portable.prompt.clone(),
        agent_profile_id: profile.map(|name| names.find(name)).transpose()?,
    })
}

/// The data that a document's text holds. JSON is YAML too, but its own reader says better what is wrong with it.
fn parse(text: &str) -> Result<Value> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::validation(format!(
            "document: it has {} bytes and may have {MAX_BYTES}",
            text.len()
        ))
        .into());
    }
    let unreadable =
        |line: u64| Refusal::validation(format!("document: line {line} cannot be read"));
    if text.trim_start().starts_with('{') {
        return Ok(serde_json::from_str(text)
            .map_err(|error| unreadable(u64::try_from(error.line()).unwrap_or(0)))?);
    }
    Ok(serde_saphyr::from_str(text)
        .map_err(|error| unreadable(error.location().map_or(0, |place| place.line())))?)
}

/// Profiles by their names and by their ids.
struct Names(Vec<(ProfileId, ProfileName)>);

impl Names {
    async fn load(db: &mut Snapshot) -> Result<Self> {
        let agents: Vec<Agent> = store::agents::list(db).await?;
        let profiles: Vec<AgentProfile> = store::agents::profiles(db).await?;
        let named = profiles.into_iter().filter_map(|profile| {
            let agent = agents.iter().find(|agent| agent.id == profile.agent_id)?;
            let name = ProfileName {
                agent: agent.name.clone(),
                profile: profile.name,
            };
            Some((profile.id, name))
        });
        Ok(Self(named.collect()))
    }

    fn name(&self, id: ProfileId) -> Option<ProfileName> {
        let found = self.0.iter().find(|(known, _)| *known == id);
        found.map(|(_, name)| name.clone())
    }

    fn find(&self, name: &ProfileName) -> std::result::Result<ProfileId, Refusal> {
        let found = self.0.iter().find(|(_, known)| known == name);
        found.map(|(id, _)| *id).ok_or_else(|| {
            Refusal::validation(
                "agent_profile names a profile that there is not here: make it first, or take it out of the document",
            )
        })
    }
}
