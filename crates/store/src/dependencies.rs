//! Which task waits for which.

use crate::row::Columns;
use crate::{Result, Snapshot, Tx};
use domain::dependency::Predecessor;
use domain::ids::{TaskId, WorkspaceId};
use domain::task::TaskState;
use domain::time::Timestamp;

/// Adds an edge; answers whether it is new.
pub async fn insert(tx: &mut Tx, task: TaskId, depends_on: TaskId, now: Timestamp) -> Result<bool> {
    let done = sqlx::query(
        "insert into task_dependencies (task_id, depends_on_task_id, created_at) values ($1, $2, $3) on conflict do nothing",
    )
    .bind(task.to_string())
    .bind(depends_on.to_string())
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes an edge; answers whether it was there.
pub async fn delete(tx: &mut Tx, task: TaskId, depends_on: TaskId) -> Result<bool> {
    let done =
        sqlx::query("delete from task_dependencies where task_id = $1 and depends_on_task_id = $2")
            .bind(task.to_string())
            .bind(depends_on.to_string())
            .execute(tx.connection())
            .await?;
    Ok(done.rows_affected() == 1)
}

/// What a task waits for, in the order in which it was said.
pub async fn predecessors(db: &mut Snapshot, task: TaskId) -> Result<Vec<Predecessor>> {
    sqlx::query(
        "select p.id, p.title, p.state, p.archived_at from task_dependencies e join tasks p on p.id = e.depends_on_task_id \
         where e.task_id = $1 order by e.created_at, p.id",
    )
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(Predecessor {
            id: row.id("id")?,
            title: row.text("title")?,
            state: row.word("state", TaskState::parse)?,
            archived: row.opt_int("archived_at")?.is_some(),
        })
    })
    .collect()
}

/// The tasks that wait for a task.
pub async fn dependants(db: &mut Snapshot, task: TaskId) -> Result<Vec<TaskId>> {
    sqlx::query(
        "select task_id from task_dependencies where depends_on_task_id = $1 order by created_at, task_id",
    )
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| row.id("task_id"))
    .collect()
}

/// All edges of a workspace as `(task, depends on)`; edges never leave one.
pub async fn of_workspace(
    db: &mut Snapshot,
    workspace: WorkspaceId,
) -> Result<Vec<(TaskId, TaskId)>> {
    sqlx::query(
        "select e.task_id, e.depends_on_task_id from task_dependencies e join tasks t on t.id = e.task_id \
         where t.workspace_id = $1 order by e.created_at, e.task_id, e.depends_on_task_id",
    )
    .bind(workspace.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| Ok((row.id("task_id")?, row.id("depends_on_task_id")?)))
    .collect()
}
