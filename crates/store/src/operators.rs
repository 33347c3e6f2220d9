//! Operators' accounts. Of passwords only the hash is kept.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::OperatorId;
use domain::operator::OperatorView;
use domain::time::Timestamp;
use sqlx::any::AnyRow;

/// Adds an account. A name that exists in another case is a conflict of the schema.
pub async fn insert(
    tx: &mut Tx,
    id: OperatorId,
    name: &str,
    name_key: &str,
    password_hash: &str,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into operators (id, name, name_key, password_hash, created_at) values ($1, $2, $3, $4, $5)",
    )
    .bind(id.to_string())
    .bind(text(name))
    .bind(text(name_key))
    .bind(password_hash)
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The account of this name and the hash of its password.
pub async fn find(db: &mut Snapshot, name_key: &str) -> Result<Option<(OperatorView, String)>> {
    sqlx::query(
        "select id, name, password_hash, created_at, last_signed_in_at from operators where name_key = $1",
    )
    .bind(text(name_key))
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((view(&row)?, row.text("password_hash")?)))
    .transpose()
}

/// All accounts, by name.
pub async fn list(db: &mut Snapshot) -> Result<Vec<OperatorView>> {
    sqlx::query(
        "select id, name, created_at, last_signed_in_at from operators order by name_key, id",
    )
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(view)
    .collect()
}

/// Whether there is any account.
pub async fn exist(db: &mut Snapshot) -> Result<bool> {
    let found = sqlx::query("select id from operators limit 1")
        .fetch_optional(db.connection())
        .await?;
    Ok(found.is_some())
}

/// Gives an account another password.
pub async fn set_password(tx: &mut Tx, id: OperatorId, password_hash: &str) -> Result<()> {
    sqlx::query("update operators set password_hash = $1 where id = $2")
        .bind(password_hash)
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that somebody signed in.
pub async fn touch(tx: &mut Tx, id: OperatorId, now: Timestamp) -> Result<()> {
    sqlx::query("update operators set last_signed_in_at = $1 where id = $2")
        .bind(now.millis())
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes an account away, and with it the browsers that are signed in by it.
pub async fn delete(tx: &mut Tx, id: OperatorId) -> Result<()> {
    sqlx::query("delete from operators where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

fn view(row: &AnyRow) -> Result<OperatorView> {
    Ok(OperatorView {
        id: row.id("id")?,
        name: row.text("name")?,
        created_at: row.time("created_at")?,
        last_signed_in_at: row.opt_time("last_signed_in_at")?,
    })
}
