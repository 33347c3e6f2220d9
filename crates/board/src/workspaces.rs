//! Workspaces and workflows.

use crate::reach::{known_workflow, known_workspace, scope};
use crate::transition::Work;
use crate::{Actor, Board, Result};
use domain::event::{EventKind, NewEvent};
use domain::ids::{WorkflowId, WorkspaceId};
use domain::view::{WorkflowView, WorkspaceView};
use domain::workflow::{Step, Workflow, kanban_steps};

/// Longest name of a workspace, in code points.
const MAX_NAME: usize = 120;

impl Board {
    /// Makes the first workspace when there is none. Safe to call at every start, from several nodes.
    pub async fn ensure_workspace(&self) -> Result<WorkspaceView> {
        let mut work = self.begin().await?;
        if let Some(first) = store::workspaces::list(&mut work.tx)
            .await?
            .into_iter()
            .next()
        {
            return Ok(first);
        }
        let workspace = insert(&mut work, "Default", "").await?;
        work.commit().await?;
        Ok(workspace)
    }

    /// Makes a workspace with the Kanban workflow.
    pub async fn workspace_create(
        &self,
        actor: &Actor,
        name: &str,
        description: &str,
    ) -> Result<WorkspaceView> {
        actor.require_operator()?;
        let name = &domain::name::check("name", name, MAX_NAME, "call the workspace something")?;
        let mut work = self.begin().await?;
        let workspace = insert(&mut work, name, description.trim()).await?;
        work.commit().await?;
        Ok(workspace)
    }

    /// All workspaces that whoever calls reaches, oldest first.
    pub async fn workspace_list(&self, actor: &Actor) -> Result<Vec<WorkspaceView>> {
        let mut db = self.snapshot().await?;
        let mut workspaces = store::workspaces::list(&mut db).await?;
        if let Some(reached) = scope(&mut db, actor).await? {
            workspaces.retain(|workspace| reached.contains(&workspace.id));
        }
        Ok(workspaces)
    }

    /// The workflows of a workspace with their steps, hidden ones left out.
    pub async fn workflow_list(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
    ) -> Result<Vec<WorkflowView>> {
        let mut db = self.snapshot().await?;
        known_workspace(&mut db, actor, workspace).await?;
        let mut views = Vec::new();
        for workflow in store::workflows::list(&mut db, workspace)
            .await?
            .into_iter()
            .filter(|w| !w.hidden)
        {
            let steps = store::workflows::steps(&mut db, workflow.id).await?;
            views.push(WorkflowView { workflow, steps });
        }
        Ok(views)
    }

    /// One workflow with its steps.
    pub async fn workflow_get(&self, actor: &Actor, id: WorkflowId) -> Result<WorkflowView> {
        let mut db = self.snapshot().await?;
        let workflow = known_workflow(&mut db, actor, id).await?;
        let steps = store::workflows::steps(&mut db, id).await?;
        Ok(WorkflowView { workflow, steps })
    }

    /// The steps of a workflow by position.
    pub async fn step_list(&self, actor: &Actor, workflow: WorkflowId) -> Result<Vec<Step>> {
        Ok(self.workflow_get(actor, workflow).await?.steps)
    }
}

async fn insert(work: &mut Work, name: &str, description: &str) -> Result<WorkspaceView> {
    let workspace = WorkspaceView {
        id: WorkspaceId::new(),
        name: name.to_owned(),
        description: description.to_owned(),
        created_at: work.now,
        updated_at: work.now,
    };
    store::workspaces::insert(&mut work.tx, &workspace).await?;
    let workflow = Workflow {
        id: WorkflowId::new(),
        workspace_id: workspace.id,
        name: "Kanban".to_owned(),
        description: String::new(),
        prompt: String::new(),
        agent_profile_id: None,
        sort_order: 0,
        hidden: false,
        created_at: work.now,
        updated_at: work.now,
    };
    store::workflows::insert(&mut work.tx, &workflow).await?;
    for step in kanban_steps(workflow.id) {
        store::workflows::insert_step(&mut work.tx, &step).await?;
    }
    work.event(NewEvent::new(EventKind::WorkspaceUpdated).workspace(workspace.id))
        .await?;
    Ok(workspace)
}
