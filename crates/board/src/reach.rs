//! How far whoever calls reaches: an agent with what belongs to a task (task-domain 8.1), and who may set the board up.

use crate::tasks::depth_limit;
use crate::{Actor, BoardError, Result, Settings};
use domain::error::Refusal;
use domain::ids::{TaskId, WorkspaceId};
use domain::task::{Purpose, Task};
use store::Snapshot;

/// The task, when the actor may see and write what belongs to it: the operator always, an agent within its task's workspace
/// or tree. Beyond that a task is as unknown as one that does not exist.
pub(crate) async fn reachable(
    db: &mut Snapshot,
    actor: &Actor,
    settings: &Settings,
    id: TaskId,
) -> Result<Task> {
    let unknown = || BoardError::from(Refusal::not_found("task"));
    let found = store::tasks::find(db, id).await?;
    match *actor {
        Actor::Operator | Actor::System => found.ok_or_else(unknown),
        Actor::External { .. } => Err(Refusal::forbidden(
            "only an agent's own session and the operator may do this",
        )
        .into()),
        Actor::Agent { task: own, .. } => {
            let target = found.ok_or_else(unknown)?;
            if target.id == own {
                return Ok(target);
            }
            let own = store::tasks::find(db, own).await?.ok_or_else(unknown)?;
            if own.workspace_id == target.workspace_id
                || root(db, settings, &own).await? == root(db, settings, &target).await?
            {
                Ok(target)
            } else {
                Err(unknown())
            }
        }
    }
}

/// Refuses who may not set the board up: the operator may, outside clients do it for one, and an agent may in a session that an
/// operator began for it. That session reaches what is everybody's, and the workflows of its own workspace; others do not exist
/// for it.
pub(crate) async fn configures(
    db: &mut Snapshot,
    actor: &Actor,
    workspace: Option<WorkspaceId>,
) -> Result<()> {
    let task = match *actor {
        Actor::Operator | Actor::External { .. } => None,
        Actor::System => return Err(Refusal::forbidden("only the operator may do this").into()),
        Actor::Agent { task, .. } => {
            let own = crate::transition::load_task(db, task).await?;
            if own.purpose != Purpose::Configuration {
                return Err(Refusal::forbidden(
                    "setting the board up is for the operator, and for sessions that an operator began for it",
                )
                .into());
            }
            Some(own)
        }
    };
    let Some(workspace) = workspace else {
        return Ok(());
    };
    let foreign = task.is_some_and(|own| own.workspace_id != workspace);
    if foreign || store::workspaces::find(db, workspace).await?.is_none() {
        return Err(Refusal::not_found("workspace").into());
    }
    Ok(())
}

/// The top of a task's tree.
async fn root(db: &mut Snapshot, settings: &Settings, task: &Task) -> Result<TaskId> {
    let chain = store::tasks::ancestors(db, task.id, depth_limit(settings)).await?;
    Ok(chain.last().map_or(task.id, |top| top.id))
}
