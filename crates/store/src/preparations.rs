//! Folders that were prepared for agents, until they are cleaned up.

use crate::row::{Columns, opt, text};
use crate::{Result, Snapshot, Tx};
use domain::executor::{Preparation, PreparationState};
use domain::ids::{ExecutorProfileId, PreparationId, SessionId, TaskId};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, node, folder, executor_profile_id, state, session_id, task_id, cleanup_script, cleanup_seconds, created_at, \
                       updated_at";

fn read(row: &AnyRow) -> Result<Preparation> {
    Ok(Preparation {
        id: row.id("id")?,
        node: row.text("node")?,
        folder: row.text("folder")?,
        executor_profile_id: row.id("executor_profile_id")?,
        state: row.word("state", PreparationState::parse)?,
        session_id: row.opt_id("session_id")?,
        task_id: row.opt_id("task_id")?,
        cleanup_script: row.text("cleanup_script")?,
        cleanup_seconds: row.int("cleanup_seconds")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a preparation. A second one of a folder for one profile on one node is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, preparation: &Preparation) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into preparations ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    )))
    .bind(preparation.id.to_string())
    .bind(&preparation.node)
    .bind(text(&preparation.folder))
    .bind(preparation.executor_profile_id.to_string())
    .bind(preparation.state.as_str())
    .bind(opt(preparation.session_id.as_ref()))
    .bind(opt(preparation.task_id.as_ref()))
    .bind(text(&preparation.cleanup_script))
    .bind(preparation.cleanup_seconds)
    .bind(preparation.created_at.millis())
    .bind(preparation.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes where a preparation stands, for whom, and what takes it back.
pub async fn update(tx: &mut Tx, preparation: &Preparation) -> Result<()> {
    sqlx::query(
        "update preparations set state = $1, session_id = $2, task_id = $3, cleanup_script = $4, cleanup_seconds = $5, \
         updated_at = $6 where id = $7",
    )
    .bind(preparation.state.as_str())
    .bind(opt(preparation.session_id.as_ref()))
    .bind(opt(preparation.task_id.as_ref()))
    .bind(text(&preparation.cleanup_script))
    .bind(preparation.cleanup_seconds)
    .bind(preparation.updated_at.millis())
    .bind(preparation.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a preparation.
pub async fn delete(tx: &mut Tx, id: PreparationId) -> Result<()> {
    sqlx::query("delete from preparations where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// The preparation of a folder on the machine of a node.
pub async fn of_folder(
    db: &mut Snapshot,
    node: &str,
    folder: &str,
    profile: ExecutorProfileId,
) -> Result<Option<Preparation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from preparations where node = $1 and folder = $2 and executor_profile_id = $3"
    )))
    .bind(node)
    .bind(text(folder))
    .bind(profile.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// A preparation whose script runs for the start of this session's agent.
pub async fn underway(
    db: &mut Snapshot,
    id: PreparationId,
    session: SessionId,
) -> Result<Option<Preparation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from preparations where id = $1 and session_id = $2"
    )))
    .bind(id.to_string())
    .bind(session.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Whether another task on the board than `except` works in a folder with this profile.
pub async fn is_worked_in(
    db: &mut Snapshot,
    folder: &str,
    profile: ExecutorProfileId,
    except: TaskId,
) -> Result<bool> {
    let row = sqlx::query(
        "select count(*) as tasks from tasks where executor_profile_id = $1 and working_directory = $2 and archived_at is null \
         and id <> $3",
    )
    .bind(profile.to_string())
    .bind(text(folder))
    .bind(except.to_string())
    .fetch_one(db.connection())
    .await?;
    Ok(row.int("tasks")? > 0)
}

/// The last task has left a folder: on each node it is to be cleaned up, or has only to be forgotten when there is nothing to run.
/// Answers whether there is something to run.
pub async fn leave(
    tx: &mut Tx,
    folder: &str,
    profile: ExecutorProfileId,
    task: TaskId,
    now: Timestamp,
) -> Result<bool> {
    sqlx::query(
        "delete from preparations where folder = $1 and executor_profile_id = $2 and cleanup_script = '' and state <> 'cleaning'",
    )
    .bind(text(folder))
    .bind(profile.to_string())
    .execute(tx.connection())
    .await?;
    let left = sqlx::query(
        "update preparations set state = 'left', session_id = null, task_id = $1, updated_at = $2 \
         where folder = $3 and executor_profile_id = $4 and state in ('preparing', 'prepared')",
    )
    .bind(task.to_string())
    .bind(now.millis())
    .bind(text(folder))
    .bind(profile.to_string())
    .execute(tx.connection())
    .await?;
    Ok(left.rows_affected() > 0)
}

/// Takes a folder of a node that is to be cleaned up: one in which no agent of the task that left it is alive any more.
pub async fn claim(tx: &mut Tx, node: &str, now: Timestamp) -> Result<Option<Preparation>> {
    sqlx::query(AssertSqlSafe(format!(
        "update preparations set state = 'cleaning', updated_at = $1 where id in (\
             select p.id from preparations p where p.node = $2 and p.state = 'left' \
             and not exists (select 1 from effects e where e.task_id = p.task_id and e.kind = 'stop_process') \
             and not exists (select 1 from sessions s where s.task_id = p.task_id and s.holder is not null) \
             order by p.updated_at, p.id limit 1) \
         returning {COLUMNS}"
    )))
    .bind(now.millis())
    .bind(node)
    .fetch_optional(tx.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Whether a folder of a node waits to be cleaned up.
pub async fn is_left(db: &mut Snapshot, node: &str) -> Result<bool> {
    let row = sqlx::query(
        "select count(*) as folders from preparations where node = $1 and state = 'left'",
    )
    .bind(node)
    .fetch_one(db.connection())
    .await?;
    Ok(row.int("folders")? > 0)
}

/// Forgets the cleanups of a node that has just started: they ended with it, and none is begun twice. Answers their folders.
pub async fn abandon(tx: &mut Tx, node: &str) -> Result<Vec<String>> {
    sqlx::query("delete from preparations where node = $1 and state = 'cleaning' returning folder")
        .bind(node)
        .fetch_all(tx.connection())
        .await?
        .iter()
        .map(|row| row.text("folder"))
        .collect()
}
