//! Tokens: of sessions, shown to their agent only, and of outside clients. Only hashes are kept.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::{SessionId, TaskId, TokenId};
use domain::time::Timestamp;

/// Adds a session's token by its hash.
pub async fn insert_session(
    tx: &mut Tx,
    hash: &str,
    task: TaskId,
    session: SessionId,
    now: Timestamp,
) -> Result<()> {
    sqlx::query("insert into mcp_sessions (token_hash, task_id, session_id, created_at) values ($1, $2, $3, $4)")
        .bind(hash)
        .bind(task.to_string())
        .bind(session.to_string())
        .bind(now.millis())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Revokes all tokens of a session.
pub async fn revoke_session(tx: &mut Tx, session: SessionId, now: Timestamp) -> Result<()> {
    sqlx::query(
        "update mcp_sessions set revoked_at = $1 where session_id = $2 and revoked_at is null",
    )
    .bind(now.millis())
    .bind(session.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The task and session that a token of this hash speaks for, unless it was revoked.
pub async fn find_session(db: &mut Snapshot, hash: &str) -> Result<Option<(TaskId, SessionId)>> {
    sqlx::query(
        "select task_id, session_id from mcp_sessions where token_hash = $1 and revoked_at is null",
    )
    .bind(hash)
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((row.id("task_id")?, row.id("session_id")?)))
    .transpose()
}

/// Adds an access token by its hash.
pub async fn insert_access(
    tx: &mut Tx,
    id: TokenId,
    name: &str,
    hash: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into access_tokens (id, name, token_hash, created_at) values ($1, $2, $3, $4)",
    )
    .bind(id.to_string())
    .bind(text(name))
    .bind(hash)
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The access token of this hash, unless it was revoked.
pub async fn find_access(db: &mut Snapshot, hash: &str) -> Result<Option<TokenId>> {
    sqlx::query("select id from access_tokens where token_hash = $1 and revoked_at is null")
        .bind(hash)
        .fetch_optional(db.connection())
        .await?
        .map(|row| row.id("id"))
        .transpose()
}
