//! Dependencies: which task waits for which. Whether one is blocked, and why, is `domain::dependency`'s to say.

use crate::reach::known_task;
use crate::transition::{Work, load_task};
use crate::{Actor, Board, Result};
use domain::dependency::{blocked_reason, cycle, path};
use domain::error::Refusal;
use domain::ids::{TaskId, WorkspaceId};
use domain::view::Dependencies;

impl Board {
    /// Makes a task wait for another; saying it again changes nothing. An agent says it of its own task only.
    ///
    /// Refused: a task that waits for itself, one of another workspace, and an edge that would close a circle, with the circle.
    /// Writers take turns, so of two edges that would close one together the second is refused.
    pub async fn dependency_add(
        &self,
        actor: &Actor,
        task: TaskId,
        depends_on: TaskId,
    ) -> Result<Dependencies> {
        check_own(actor, task)?;
        let mut work = self.begin().await?;
        let waits = known_task(&mut work.tx, actor, task).await?;
        crate::prompts::check_open(&waits)?;
        work.check_predecessor(depends_on, waits.workspace_id)
            .await?;
        let edges = store::dependencies::of_workspace(&mut work.tx, waits.workspace_id).await?;
        if let Some(back) = path(&edges, depends_on, task) {
            let mut circle = vec![(task, waits.title.clone())];
            for id in back {
                circle.push((id, load_task(&mut work.tx, id).await?.title));
            }
            return Err(cycle(&circle).into());
        }
        let now = work.now;
        if store::dependencies::insert(&mut work.tx, task, depends_on, now).await? {
            work.edge_event(task, depends_on).await?;
        }
        let view = dependencies(&mut work.tx, task).await?;
        work.commit().await?;
        Ok(view)
    }

    /// Takes that back; an edge that is not there is a success. A task that becomes free by it is not started by anybody.
    pub async fn dependency_remove(
        &self,
        actor: &Actor,
        task: TaskId,
        depends_on: TaskId,
    ) -> Result<Dependencies> {
        check_own(actor, task)?;
        let mut work = self.begin().await?;
        known_task(&mut work.tx, actor, task).await?;
        if store::dependencies::delete(&mut work.tx, task, depends_on).await? {
            work.edge_event(task, depends_on).await?;
        }
        let view = dependencies(&mut work.tx, task).await?;
        work.commit().await?;
        Ok(view)
    }

    /// What a task waits for.
    pub async fn dependency_list(&self, actor: &Actor, task: TaskId) -> Result<Dependencies> {
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, task).await?;
        dependencies(&mut db, task).await
    }
}

impl Work {
    /// Refuses a predecessor that is not there or in another workspace.
    pub(crate) async fn check_predecessor(
        &mut self,
        id: TaskId,
        workspace: WorkspaceId,
    ) -> Result<()> {
        let found = store::tasks::find(&mut self.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("task to depend on"))?;
        if found.workspace_id != workspace {
            return Err(Refusal::validation(
                "a task can only depend on tasks of its own workspace: name another one",
            )
            .into());
        }
        Ok(())
    }

    /// Both ends show the edge.
    async fn edge_event(&mut self, task: TaskId, depends_on: TaskId) -> Result<()> {
        for id in [task, depends_on] {
            if let Some(task) = store::tasks::find(&mut self.tx, id).await? {
                self.task_event(&task).await?;
            }
        }
        Ok(())
    }
}

fn check_own(actor: &Actor, task: TaskId) -> Result<()> {
    match actor.task() {
        Some(own) if own != task => Err(Refusal::forbidden(
            "an agent may only say what its own task depends on: leave task_id out",
        )
        .into()),
        Some(_) | None => Ok(()),
    }
}

async fn dependencies(db: &mut store::Snapshot, task: TaskId) -> Result<Dependencies> {
    let predecessors = store::dependencies::predecessors(db, task).await?;
    let blocked_reason = blocked_reason(&predecessors);
    Ok(Dependencies {
        task_id: task,
        depends_on: predecessors.iter().map(|p| p.id).collect(),
        blocked: blocked_reason.is_some(),
        blocked_reason,
    })
}
