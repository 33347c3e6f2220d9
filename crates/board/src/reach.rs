//! How far whoever calls reaches: an agent with what belongs to a task (task-domain 8.1), and who may set the board up.

use crate::{Actor, BoardError, Result, Settings};
use domain::error::Refusal;
use domain::ids::{TaskId, WorkflowId, WorkspaceId};
use domain::task::{Purpose, Task};
use domain::view::WorkspaceView;
use domain::workflow::Workflow;
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

/// The workspaces that whoever calls reaches; `None` is all. Only the tokens of outside clients are limited: an agent may write to
/// whatever task it knows (rulings 18).
pub(crate) async fn scope(db: &mut Snapshot, actor: &Actor) -> Result<Option<Vec<WorkspaceId>>> {
    match actor {
        Actor::External { token } => Ok(store::tokens::scope(db, *token).await?),
        Actor::Operator | Actor::Agent { .. } | Actor::System => Ok(None),
    }
}

/// Refuses what is in a workspace that whoever calls does not reach: for him it does not exist. `noun` is what was asked for.
pub(crate) async fn within(
    db: &mut Snapshot,
    actor: &Actor,
    workspace: WorkspaceId,
    noun: &str,
) -> Result<()> {
    match scope(db, actor).await? {
        Some(reached) if !reached.contains(&workspace) => Err(Refusal::not_found(noun).into()),
        Some(_) | None => Ok(()),
    }
}

/// A task that must be there for whoever calls.
pub(crate) async fn known_task(db: &mut Snapshot, actor: &Actor, id: TaskId) -> Result<Task> {
    let task = crate::transition::load_task(db, id).await?;
    within(db, actor, task.workspace_id, "task").await?;
    Ok(task)
}

/// A workspace that must be there for whoever calls.
pub(crate) async fn known_workspace(
    db: &mut Snapshot,
    actor: &Actor,
    id: WorkspaceId,
) -> Result<WorkspaceView> {
    within(db, actor, id, "workspace").await?;
    let found = store::workspaces::find(db, id).await?;
    Ok(found.ok_or_else(|| Refusal::not_found("workspace"))?)
}

/// A workflow that must be there for whoever calls.
pub(crate) async fn known_workflow(
    db: &mut Snapshot,
    actor: &Actor,
    id: WorkflowId,
) -> Result<Workflow> {
    let found = store::workflows::find(db, id).await?;
    let workflow = found.ok_or_else(|| Refusal::not_found("workflow"))?;
    within(db, actor, workflow.workspace_id, "workflow").await?;
    Ok(workflow)
}

/// Refuses who may not set the board up: the operator may, outside clients do it for one, and an agent may in a session that an
/// operator began for it. Answers the workspace to which such a session is bound.
pub(crate) async fn may_configure(db: &mut Snapshot, actor: &Actor) -> Result<Option<WorkspaceId>> {
    match *actor {
        Actor::Operator | Actor::External { .. } => Ok(None),
        Actor::System => Err(Refusal::forbidden("only the operator may do this").into()),
        Actor::Agent { task, .. } => {
            let own = crate::transition::load_task(db, task).await?;
            if own.purpose != Purpose::Configuration {
                return Err(Refusal::forbidden(
                    "setting the board up is for the operator, and for sessions that an operator began for it",
                )
                .into());
            }
            Ok(Some(own.workspace_id))
        }
    }
}

/// As [`may_configure`], of a workspace's workflows: those of another workspace than its own do not exist for a session, nor those
/// beyond its limit for a client. Without a workspace it is about what is everybody's, which a limited client may not change.
pub(crate) async fn configures(
    db: &mut Snapshot,
    actor: &Actor,
    workspace: Option<WorkspaceId>,
) -> Result<()> {
    let bound = may_configure(db, actor).await?;
    let Some(workspace) = workspace else {
        if scope(db, actor).await?.is_some() {
            return Err(Refusal::forbidden(
                "this token is limited to workspaces, and profiles belong to none: ask the operator",
            )
            .into());
        }
        return Ok(());
    };
    known_workspace(db, actor, workspace).await?;
    if bound.is_some_and(|own| own != workspace) {
        return Err(Refusal::not_found("workspace").into());
    }
    Ok(())
}

/// Refuses everybody but the operator what runs on the operator's machine: a command line is power over all that the operator has, and
/// a token, an agent's or a client's, is no proof of being the operator. `what` names what was to be set.
pub(crate) fn commands(actor: &Actor, what: &str) -> Result<()> {
    match actor {
        Actor::Operator => Ok(()),
        Actor::Agent { .. } | Actor::External { .. } | Actor::System => Err(Refusal::forbidden(format!(
            "{what}: what runs a command on the operator's machine is made and changed by the operator alone, in Settings or over the \
             API: leave it as it is and ask for it"
        ))
        .into()),
    }
}

/// The top of a task's tree.
async fn root(db: &mut Snapshot, settings: &Settings, task: &Task) -> Result<TaskId> {
    let chain = store::tasks::ancestors(db, task.id, depth_limit(settings)).await?;
    Ok(chain.last().map_or(task.id, |top| top.id))
}

/// More than any legal depth, so that a chain that is too long is seen to be so.
pub(crate) fn depth_limit(settings: &Settings) -> i64 {
    i64::try_from(settings.max_depth).unwrap_or(i64::MAX / 2) + 2
}
