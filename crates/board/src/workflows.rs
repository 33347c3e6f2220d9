//! Setting workflows up: making, changing, ordering and removing them.

use crate::reach::{configures, may_configure};
use crate::transition::Work;
use crate::{Actor, Board, BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use domain::event::{EventKind, NewEvent};
use domain::ids::{ProfileId, WorkflowId, WorkspaceId};
use domain::params::{CreateWorkflow, UpdateWorkflow};
use domain::question::check_length;
use domain::steps::check_order;
use domain::view::WorkflowView;
use domain::workflow::Workflow;
use store::Snapshot;

/// Longest name of a workflow, in code points.
const MAX_NAME: usize = 120;
/// Longest description, in code points.
const MAX_DESCRIPTION: usize = 2_000;
/// Most workflows of a workspace.
pub(crate) const MAX_WORKFLOWS: usize = 200;

impl Board {
    /// Makes a workflow without steps, after the others of its workspace. Tasks can be made in it once it has one.
    pub async fn workflow_create(
        &self,
        actor: &Actor,
        params: CreateWorkflow,
    ) -> Result<WorkflowView> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, Some(params.workspace_id)).await?;
        let workflow = work.add_workflow(params).await?;
        work.workflow_event(&workflow).await?;
        work.commit().await?;
        Ok(WorkflowView {
            workflow,
            steps: Vec::new(),
        })
    }

    /// Changes a workflow's name, description, instructions or usual profile. Sessions that exist keep theirs.
    pub async fn workflow_update(
        &self,
        actor: &Actor,
        id: WorkflowId,
        params: UpdateWorkflow,
    ) -> Result<WorkflowView> {
        let mut work = self.begin().await?;
        let mut workflow = configurable(&mut work.tx, actor, id).await?;
        if let Some(name) = &params.name {
            workflow.name = check_name(name)?;
        }
        if let Some(description) = &params.description {
            workflow.description = check_description(description)?;
        }
        if let Some(prompt) = params.prompt {
            crate::prompts::check_size(&prompt)?;
            workflow.prompt = prompt;
        }
        if let Some(profile) = params.agent_profile_id {
            check_profile(&mut work.tx, profile).await?;
            workflow.agent_profile_id = profile;
        }
        workflow.updated_at = work.now;
        store::workflows::update(&mut work.tx, &workflow).await?;
        work.workflow_event(&workflow).await?;
        let steps = store::workflows::steps(&mut work.tx, id).await?;
        work.commit().await?;
        Ok(WorkflowView { workflow, steps })
    }

    /// Removes a workflow with its steps.
    ///
    /// Refused while it holds tasks, archived ones too, and when it is the last one of its workspace that can be seen: a board
    /// must have somewhere to put a task.
    pub async fn workflow_delete(&self, actor: &Actor, id: WorkflowId) -> Result<()> {
        let mut work = self.begin().await?;
        let workflow = configurable(&mut work.tx, actor, id).await?;
        let cards = store::workflows::cards(&mut work.tx, id).await?;
        if cards > 0 {
            return Err(Refusal::conflict(format!(
                "\"{}\" holds {cards} tasks, archived ones counted: move or delete them first",
                workflow.name
            ))
            .into());
        }
        let others = store::workflows::list(&mut work.tx, workflow.workspace_id).await?;
        if !others.iter().any(|other| other.id != id && !other.hidden) {
            return Err(Refusal::conflict(
                "this is the last workflow of its workspace: make another one first",
            )
            .into());
        }
        store::workflows::delete(&mut work.tx, id).await?;
        work.workflow_event(&workflow).await?;
        tracing::info!(%id, actor = actor.word(), "workflow deleted");
        work.commit().await
    }

    /// Puts the workflows of a workspace into another order; each is named once, those that are not shown on boards may be left
    /// out and come last.
    pub async fn workflow_reorder(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        order: &[WorkflowId],
    ) -> Result<Vec<WorkflowView>> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, Some(workspace)).await?;
        let known = store::workflows::list(&mut work.tx, workspace).await?;
        let (hidden, shown): (Vec<_>, Vec<_>) = known.iter().partition(|workflow| workflow.hidden);
        let mut order = order.to_vec();
        let left_out = hidden
            .iter()
            .map(|workflow| workflow.id)
            .filter(|id| !order.contains(id))
            .collect::<Vec<_>>();
        order.extend(left_out);
        let ids = shown
            .iter()
            .chain(&hidden)
            .map(|workflow| workflow.id)
            .collect::<Vec<_>>();
        check_order("workflow", &ids, &order)?;
        store::workflows::place(&mut work.tx, &order).await?;
        work.event(NewEvent::new(EventKind::WorkspaceUpdated).workspace(workspace))
            .await?;
        work.commit().await?;
        self.workflow_list(actor, workspace).await
    }
}

impl Work {
    /// Stores a workflow after the others of its workspace, whose existence was checked.
    pub(crate) async fn add_workflow(&mut self, params: CreateWorkflow) -> Result<Workflow> {
        let known = store::workflows::list(&mut self.tx, params.workspace_id).await?;
        if known.len() >= MAX_WORKFLOWS {
            return Err(Refusal::conflict(format!(
                "a workspace has at most {MAX_WORKFLOWS} workflows: delete one first"
            ))
            .into());
        }
        crate::prompts::check_size(&params.prompt)?;
        check_profile(&mut self.tx, params.agent_profile_id).await?;
        let workflow = Workflow {
            id: WorkflowId::new(),
            workspace_id: params.workspace_id,
            name: check_name(&params.name)?,
            description: check_description(&params.description)?,
            prompt: params.prompt,
            agent_profile_id: params.agent_profile_id,
            sort_order: known.iter().map(|w| w.sort_order + 1).max().unwrap_or(0),
            hidden: false,
            created_at: self.now,
            updated_at: self.now,
        };
        store::workflows::insert(&mut self.tx, &workflow).await?;
        Ok(workflow)
    }

    /// Something about a workflow, or about one of its steps, is otherwise now.
    pub(crate) async fn workflow_event(&mut self, workflow: &Workflow) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::WorkflowUpdated)
                .workspace(workflow.workspace_id)
                .subject(workflow.id),
        )
        .await
    }
}

/// The workflow, when the actor may set it up.
pub(crate) async fn configurable(
    db: &mut Snapshot,
    actor: &Actor,
    id: WorkflowId,
) -> Result<Workflow> {
    let unknown = || Refusal::not_found("workflow");
    let Some(workflow) = store::workflows::find(db, id).await? else {
        may_configure(db, actor).await?;
        return Err(unknown().into());
    };
    match configures(db, actor, Some(workflow.workspace_id)).await {
        // Whose it is nobody learns who may not touch it.
        Err(BoardError::Refused(refusal)) if refusal.code == ErrorCode::NotFound => {
            Err(unknown().into())
        }
        other => other.map(|()| workflow),
    }
}

/// Refuses a profile that does not exist.
pub(crate) async fn check_profile(db: &mut Snapshot, profile: Option<ProfileId>) -> Result<()> {
    if let Some(profile) = profile
        && store::agents::find_profile(db, profile).await?.is_none()
    {
        return Err(Refusal::validation("agent_profile_id names no agent profile").into());
    }
    Ok(())
}

fn check_name(name: &str) -> Result<String> {
    Ok(domain::name::check(
        "name",
        name,
        MAX_NAME,
        "call the workflow something",
    )?)
}

fn check_description(description: &str) -> Result<String> {
    let description = description.trim();
    check_length("description", description, MAX_DESCRIPTION)?;
    Ok(description.to_owned())
}
