//! Profiles of executors.

use crate::row::{Columns, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::executor::{Executor, ExecutorProfile, ExecutorProfileUse, McpPolicy};
use domain::ids::ExecutorProfileId;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, executor_id, name, mcp_policy, prepare_script, cleanup_script, config, created_at, updated_at";

fn read(row: &AnyRow) -> Result<ExecutorProfile> {
    Ok(ExecutorProfile {
        id: row.id("id")?,
        executor_id: row.word("executor_id", Executor::parse)?,
        name: row.text("name")?,
        mcp_policy: row.word("mcp_policy", McpPolicy::parse)?,
        prepare_script: row.text("prepare_script")?,
        cleanup_script: row.text("cleanup_script")?,
        config: row.json("config")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a profile. A name that the executor has already is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, profile: &ExecutorProfile) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into executor_profiles ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    )))
    .bind(profile.id.to_string())
    .bind(profile.executor_id.as_str())
    .bind(text(&profile.name))
    .bind(profile.mcp_policy.as_str())
    .bind(text(&profile.prepare_script))
    .bind(text(&profile.cleanup_script))
    .bind(to_json("config", &profile.config)?)
    .bind(profile.created_at.millis())
    .bind(profile.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what may change of a profile: everything but its executor. A name that the executor has already is
/// [`crate::StoreError::Unique`].
pub async fn update(tx: &mut Tx, profile: &ExecutorProfile) -> Result<()> {
    sqlx::query(
        "update executor_profiles set name = $1, mcp_policy = $2, prepare_script = $3, cleanup_script = $4, config = $5, \
         updated_at = $6 where id = $7",
    )
    .bind(text(&profile.name))
    .bind(profile.mcp_policy.as_str())
    .bind(text(&profile.prepare_script))
    .bind(text(&profile.cleanup_script))
    .bind(to_json("config", &profile.config)?)
    .bind(profile.updated_at.millis())
    .bind(profile.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a profile that nothing needs. One that a task has is kept: [`crate::StoreError::Invariant`].
pub async fn delete(tx: &mut Tx, id: ExecutorProfileId) -> Result<()> {
    sqlx::query("delete from executor_profiles where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// What needs a profile.
pub async fn usage(db: &mut Snapshot, id: ExecutorProfileId) -> Result<ExecutorProfileUse> {
    let row = sqlx::query(
        "select (select count(*) from tasks where executor_profile_id = $1) as tasks, \
         (select count(*) from preparations where executor_profile_id = $1) as folders",
    )
    .bind(id.to_string())
    .fetch_one(db.connection())
    .await?;
    Ok(ExecutorProfileUse {
        tasks: row.int("tasks")?,
        folders: row.int("folders")?,
    })
}

/// All profiles by age.
pub async fn list(db: &mut Snapshot) -> Result<Vec<ExecutorProfile>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from executor_profiles order by created_at, id"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// One profile.
pub async fn find(db: &mut Snapshot, id: ExecutorProfileId) -> Result<Option<ExecutorProfile>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from executor_profiles where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}
