//! Moves that wait for the end of a turn, and what moves left behind for the entry of cards that wait for a place.

use crate::row::{Columns, opt, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::ids::{SessionId, TaskId};
use domain::moves::{EntryMarker, PendingMove};
use domain::workflow::{MoveTrigger, Mover};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const PENDING: &str = "session_id, move_id, task_id, step_id, position, move_trigger, actor, sender_task_id, sender_session_id, \
                       entry_options, created_at";

fn read_pending(row: &AnyRow) -> Result<PendingMove> {
    Ok(PendingMove {
        id: row.id("move_id")?,
        session_id: row.id("session_id")?,
        task_id: row.id("task_id")?,
        step_id: row.id("step_id")?,
        position: row.opt_int("position")?,
        trigger: row.word("move_trigger", MoveTrigger::parse)?,
        actor: row.word("actor", Mover::parse)?,
        sender_task_id: row.opt_id("sender_task_id")?,
        sender_session_id: row.opt_id("sender_session_id")?,
        entry_options: row.opt_json("entry_options")?,
        created_at: row.time("created_at")?,
    })
}

/// Stores a move that waits. A second one of a session or a task is [`crate::StoreError::Unique`].
pub async fn insert_pending(tx: &mut Tx, pending: &PendingMove) -> Result<()> {
    let options = pending
        .entry_options
        .as_ref()
        .map(|options| to_json("entry_options", options))
        .transpose()?;
    sqlx::query(AssertSqlSafe(format!(
        "insert into pending_moves ({PENDING}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    )))
    .bind(pending.session_id.to_string())
    .bind(pending.id.to_string())
    .bind(pending.task_id.to_string())
    .bind(pending.step_id.to_string())
    .bind(pending.position)
    .bind(pending.trigger.as_str())
    .bind(pending.actor.as_str())
    .bind(opt(pending.sender_task_id.as_ref()))
    .bind(opt(pending.sender_session_id.as_ref()))
    .bind(opt_text(options.as_deref()))
    .bind(pending.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The move that waits for a session's turn.
pub async fn pending_of_session(
    db: &mut Snapshot,
    session: SessionId,
) -> Result<Option<PendingMove>> {
    pending(db, "session_id", session.to_string()).await
}

/// The move that waits for a task.
pub async fn pending_of_task(db: &mut Snapshot, task: TaskId) -> Result<Option<PendingMove>> {
    pending(db, "task_id", task.to_string()).await
}

async fn pending(
    db: &mut Snapshot,
    column: &'static str,
    key: String,
) -> Result<Option<PendingMove>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {PENDING} from pending_moves where {column} = $1"
    )))
    .bind(key)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_pending)
    .transpose()
}

/// All moves that wait.
pub async fn all_pending(db: &mut Snapshot) -> Result<Vec<PendingMove>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {PENDING} from pending_moves order by created_at, move_id"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_pending)
    .collect()
}

/// Removes the move that waits for a task; answers whether there was one.
pub async fn delete_pending(tx: &mut Tx, task: TaskId) -> Result<bool> {
    let done = sqlx::query("delete from pending_moves where task_id = $1")
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Leaves something for the entry of a card; it takes the place of what an earlier move left.
pub async fn put_marker(tx: &mut Tx, marker: &EntryMarker) -> Result<()> {
    sqlx::query(
        "insert into entry_markers (task_id, move_id, from_step_id, step_id, entry_options, created_at) \
         values ($1, $2, $3, $4, $5, $6) on conflict (task_id) do update set move_id = excluded.move_id, \
         from_step_id = excluded.from_step_id, step_id = excluded.step_id, entry_options = excluded.entry_options, \
         created_at = excluded.created_at",
    )
    .bind(marker.task_id.to_string())
    .bind(marker.move_id.to_string())
    .bind(marker.from_step_id.to_string())
    .bind(marker.step_id.to_string())
    .bind(text(&to_json("entry_options", &marker.options)?))
    .bind(marker.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Takes what a move left for the entry of a card: nobody else gets it.
pub async fn take_marker(tx: &mut Tx, task: TaskId) -> Result<Option<EntryMarker>> {
    sqlx::query(
        "delete from entry_markers where task_id = $1 \
         returning task_id, move_id, from_step_id, step_id, entry_options, created_at",
    )
    .bind(task.to_string())
    .fetch_optional(tx.connection())
    .await?
    .map(|row| {
        Ok(EntryMarker {
            task_id: row.id("task_id")?,
            move_id: row.id("move_id")?,
            from_step_id: row.id("from_step_id")?,
            step_id: row.id("step_id")?,
            options: row.json("entry_options")?,
            created_at: row.time("created_at")?,
        })
    })
    .transpose()
}
