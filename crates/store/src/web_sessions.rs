//! Browsers that are signed in. What their cookie holds is kept as a hash only.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::OperatorId;
use domain::time::Timestamp;

/// Keeps a browser's session, new or changed.
pub async fn save(
    tx: &mut Tx,
    key_hash: &str,
    operator: OperatorId,
    record: &str,
    expires_at: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into web_sessions (key_hash, operator_id, record, expires_at) values ($1, $2, $3, $4)
         on conflict (key_hash) do update
         set operator_id = excluded.operator_id, record = excluded.record, expires_at = excluded.expires_at",
    )
    .bind(key_hash)
    .bind(operator.to_string())
    .bind(text(record))
    .bind(expires_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What is kept under a hash and until when, unless its time is over.
pub async fn find(
    db: &mut Snapshot,
    key_hash: &str,
    now: Timestamp,
) -> Result<Option<(String, Timestamp)>> {
    sqlx::query(
        "select record, expires_at from web_sessions where key_hash = $1 and expires_at > $2",
    )
    .bind(key_hash)
    .bind(now.millis())
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((row.text("record")?, row.time("expires_at")?)))
    .transpose()
}

/// Ends one.
pub async fn delete(tx: &mut Tx, key_hash: &str) -> Result<()> {
    sqlx::query("delete from web_sessions where key_hash = $1")
        .bind(key_hash)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Ends all of an operator.
pub async fn delete_of(tx: &mut Tx, operator: OperatorId) -> Result<()> {
    sqlx::query("delete from web_sessions where operator_id = $1")
        .bind(operator.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Forgets those whose time is over.
pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<()> {
    sqlx::query("delete from web_sessions where expires_at <= $1")
        .bind(now.millis())
        .execute(tx.connection())
        .await?;
    Ok(())
}
