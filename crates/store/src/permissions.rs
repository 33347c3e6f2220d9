//! Permissions that agents ask for.

use crate::row::{Columns, opt, opt_millis, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{PermissionId, SessionId, TaskId};
use domain::permission::{Permission, PermissionStatus};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, task_id, session_id, turn_id, request_id, tool_call, options, status, option_id, created_at, resolved_at";

fn read(row: &AnyRow) -> Result<Permission> {
    Ok(Permission {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        session_id: row.id("session_id")?,
        turn_id: row.opt_id("turn_id")?,
        request_id: row.text("request_id")?,
        tool_call: row.json("tool_call")?,
        options: row.json("options")?,
        status: row.word("status", PermissionStatus::parse)?,
        option_id: row.opt_text("option_id")?,
        created_at: row.time("created_at")?,
        resolved_at: row.opt_time("resolved_at")?,
    })
}

/// Adds a request.
pub async fn insert(tx: &mut Tx, permission: &Permission) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into permissions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    )))
    .bind(permission.id.to_string())
    .bind(permission.task_id.to_string())
    .bind(permission.session_id.to_string())
    .bind(opt(permission.turn_id.as_ref()))
    .bind(text(&permission.request_id))
    .bind(to_json("tool_call", &permission.tool_call)?)
    .bind(to_json("options", &permission.options)?)
    .bind(permission.status.as_str())
    .bind(opt_text(permission.option_id.as_deref()))
    .bind(permission.created_at.millis())
    .bind(opt_millis(permission.resolved_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends a request that is still pending. Of any number of attempts exactly one is [`Write::Changed`].
pub async fn resolve_if_pending(tx: &mut Tx, permission: &Permission) -> Result<Write> {
    let done = sqlx::query(
        "update permissions set status = $1, option_id = $2, resolved_at = $3 where id = $4 and status = 'pending'",
    )
    .bind(permission.status.as_str())
    .bind(opt_text(permission.option_id.as_deref()))
    .bind(opt_millis(permission.resolved_at))
    .bind(permission.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// One request.
pub async fn find(db: &mut Snapshot, id: PermissionId) -> Result<Option<Permission>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from permissions where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The pending requests of all tasks, oldest first, at most `limit`.
pub async fn pending_of_all(db: &mut Snapshot, limit: i64) -> Result<Vec<Permission>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from permissions where status = 'pending' order by created_at, id limit $1"
    )))
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The pending requests of a session, oldest first.
pub async fn pending_of_session(db: &mut Snapshot, session: SessionId) -> Result<Vec<Permission>> {
    pending(db, "session_id", session.to_string()).await
}

/// The pending requests of a task, oldest first.
pub async fn pending_of_task(db: &mut Snapshot, task: TaskId) -> Result<Vec<Permission>> {
    pending(db, "task_id", task.to_string()).await
}

async fn pending(db: &mut Snapshot, column: &str, key: String) -> Result<Vec<Permission>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from permissions where {column} = $1 and status = 'pending' order by created_at, id"
    )))
    .bind(key)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
