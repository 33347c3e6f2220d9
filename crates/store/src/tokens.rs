//! Tokens: of sessions, shown to their agent only, and of outside clients. Only hashes are kept.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::{SessionId, TaskId, TokenId};
use domain::operator::TokenView;
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

/// The access token of this hash and when it was last used, unless it was revoked.
pub async fn find_access(
    db: &mut Snapshot,
    hash: &str,
) -> Result<Option<(TokenId, Option<Timestamp>)>> {
    sqlx::query(
        "select id, last_used_at from access_tokens where token_hash = $1 and revoked_at is null",
    )
    .bind(hash)
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((row.id("id")?, row.opt_time("last_used_at")?)))
    .transpose()
}

/// All access tokens, newest first, also those that were revoked.
pub async fn list_access(db: &mut Snapshot) -> Result<Vec<TokenView>> {
    sqlx::query(
        "select id, name, created_at, last_used_at, revoked_at from access_tokens order by id desc",
    )
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(TokenView {
            id: row.id("id")?,
            name: row.text("name")?,
            created_at: row.time("created_at")?,
            last_used_at: row.opt_time("last_used_at")?,
            revoked_at: row.opt_time("revoked_at")?,
        })
    })
    .collect()
}

/// Notes that an access token was shown.
pub async fn touch_access(tx: &mut Tx, id: TokenId, now: Timestamp) -> Result<()> {
    sqlx::query("update access_tokens set last_used_at = $1 where id = $2")
        .bind(now.millis())
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Revokes an access token; the first time stands. Tells whether there is such a token.
pub async fn revoke_access(tx: &mut Tx, id: TokenId, now: Timestamp) -> Result<bool> {
    let done =
        sqlx::query("update access_tokens set revoked_at = coalesce(revoked_at, $1) where id = $2")
            .bind(now.millis())
            .bind(id.to_string())
            .execute(tx.connection())
            .await?;
    Ok(done.rows_affected() == 1)
}
