//! Numbers for the metrics of a node.

use crate::row::Columns;
use crate::{Result, Snapshot};
use domain::session::SessionState;
use domain::task::TaskState;
use domain::time::Timestamp;

/// How many unarchived tasks are in each state; states without any are left out.
pub async fn tasks(db: &mut Snapshot) -> Result<Vec<(TaskState, i64)>> {
    sqlx::query(
        "select state, count(*) as number from tasks where archived_at is null group by state order by state",
    )
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| Ok((row.word("state", TaskState::parse)?, row.int("number")?)))
    .collect()
}

/// How many sessions are in each state; states without any are left out.
pub async fn sessions(db: &mut Snapshot) -> Result<Vec<(SessionState, i64)>> {
    sqlx::query("select state, count(*) as number from sessions group by state order by state")
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| Ok((row.word("state", SessionState::parse)?, row.int("number")?)))
        .collect()
}

/// How many follow-ups are due at `now` and not being carried out.
pub async fn effects_due(db: &mut Snapshot, now: Timestamp) -> Result<i64> {
    sqlx::query(
        "select count(*) as number from effects where run_after <= $1 and (holder is null or lease_until < $1)",
    )
    .bind(now.millis())
    .fetch_one(db.connection())
    .await?
    .int("number")
}
