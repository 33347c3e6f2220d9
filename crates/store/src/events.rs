//! The event log.

use crate::row::{Columns, opt, opt_text};
use crate::{Result, Snapshot, Tx};
use domain::event::{Event, EventKind, NewEvent};
use domain::time::Timestamp;
use sqlx::any::AnyRow;

fn read(row: &AnyRow) -> Result<Event> {
    Ok(Event {
        id: row.int("id")?,
        kind: row.word("kind", EventKind::parse)?,
        workspace_id: row.opt_id("workspace_id")?,
        task_id: row.opt_id("task_id")?,
        session_id: row.opt_id("session_id")?,
        subject_id: row.opt_text("subject_id")?,
        created_at: row.time("created_at")?,
    })
}

/// Appends an event and gives its position. One of a task that does not name its workspace is given the task's.
pub async fn append(tx: &mut Tx, event: &NewEvent, at: Timestamp) -> Result<i64> {
    sqlx::query(
        "insert into events (kind, workspace_id, task_id, session_id, subject_id, created_at) \
         values ($1, coalesce($2, (select workspace_id from tasks where id = $3)), $3, $4, $5, $6) returning id",
    )
    .bind(event.kind.as_str())
    .bind(opt(event.workspace_id.as_ref()))
    .bind(opt(event.task_id.as_ref()))
    .bind(opt(event.session_id.as_ref()))
    .bind(opt_text(event.subject_id.as_deref()))
    .bind(at.millis())
    .fetch_one(tx.connection())
    .await?
    .int("id")
}

/// Up to `limit` events after position `since`, in order.
pub async fn since(db: &mut Snapshot, since: i64, limit: i64) -> Result<Vec<Event>> {
    sqlx::query(
        "select id, kind, workspace_id, task_id, session_id, subject_id, created_at from events \
         where id > $1 order by id limit $2",
    )
    .bind(since)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The first and the last position in the log; zeros when it is empty.
pub async fn bounds(db: &mut Snapshot) -> Result<(i64, i64)> {
    let row = sqlx::query(
        "select coalesce(min(id), 0) as first, coalesce(max(id), 0) as last from events",
    )
    .fetch_one(db.connection())
    .await?;
    Ok((row.int("first")?, row.int("last")?))
}

/// Drops events before `before`; the log keeps its newest one, so that positions go on from there.
pub async fn prune(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let done = sqlx::query(
        "delete from events where created_at < $1 and id < (select max(id) from events)",
    )
    .bind(before.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}
