//! How far an agent reaches with what belongs to a task: plan, walkthrough, findings (task-domain 8.1).

use crate::tasks::depth_limit;
use crate::{Actor, BoardError, Result, Settings};
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::task::Task;
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

/// The top of a task's tree.
async fn root(db: &mut Snapshot, settings: &Settings, task: &Task) -> Result<TaskId> {
    let chain = store::tasks::ancestors(db, task.id, depth_limit(settings)).await?;
    Ok(chain.last().map_or(task.id, |top| top.id))
}
