//! Tokens: of sessions, shown to their agent only, and of outside clients. Only hashes are kept.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::{SessionId, TaskId, TokenId, WorkspaceId};
use domain::operator::{TokenView, TokenWorkspace};
use domain::time::Timestamp;
use std::collections::HashMap;

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

/// Limits an access token to these workspaces; it was just made, and reaches all of them.
pub async fn limit_access(tx: &mut Tx, id: TokenId, workspaces: &[WorkspaceId]) -> Result<()> {
    sqlx::query("update access_tokens set scoped = 1 where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    for workspace in workspaces {
        sqlx::query("insert into token_workspaces (token_id, workspace_id) values ($1, $2)")
            .bind(id.to_string())
            .bind(workspace.to_string())
            .execute(tx.connection())
            .await?;
    }
    Ok(())
}

/// The workspaces that an access token reaches; `None` is all. One that there is not reaches none.
pub async fn scope(db: &mut Snapshot, id: TokenId) -> Result<Option<Vec<WorkspaceId>>> {
    let rows = sqlx::query(
        "select a.scoped, t.workspace_id from access_tokens a left join token_workspaces t on t.token_id = a.id where a.id = $1 \
         order by t.workspace_id",
    )
    .bind(id.to_string())
    .fetch_all(db.connection())
    .await?;
    let Some(first) = rows.first() else {
        return Ok(Some(Vec::new()));
    };
    if !first.flag("scoped")? {
        return Ok(None);
    }
    let mut reached = Vec::new();
    for row in &rows {
        let workspace: Option<WorkspaceId> = row.opt_id("workspace_id")?;
        reached.extend(workspace);
    }
    Ok(Some(reached))
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
    let mut reached: HashMap<TokenId, Vec<TokenWorkspace>> = HashMap::new();
    for row in sqlx::query(
        "select t.token_id, w.id, w.name from token_workspaces t join workspaces w on w.id = t.workspace_id order by w.id",
    )
    .fetch_all(db.connection())
    .await?
    {
        let workspace = TokenWorkspace {
            id: row.id("id")?,
            name: row.text("name")?,
        };
        reached
            .entry(row.id("token_id")?)
            .or_default()
            .push(workspace);
    }
    sqlx::query(
        "select id, name, scoped, created_at, last_used_at, revoked_at from access_tokens order by id desc",
    )
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        let id = row.id("id")?;
        let scoped = row.flag("scoped")?;
        Ok(TokenView {
            id,
            name: row.text("name")?,
            workspaces: scoped.then(|| reached.remove(&id).unwrap_or_default()),
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
