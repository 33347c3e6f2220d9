//! Calls about runs, as they are told of: the newest of each run, which go with it.

use crate::row::{Columns, flag};
use crate::{Result, Snapshot, Tx};
use domain::ids::RunId;
use domain::run::RunStatus;
use domain::run::call::{CallOutcome, ClientKind, KEPT_CALLS, RunCall, RunTool};
use domain::run::refuse::RunErrorCode;
use sqlx::any::AnyRow;

fn read(row: &AnyRow) -> Result<RunCall> {
    Ok(RunCall {
        id: row.id("id")?,
        run_id: row.id("run_id")?,
        tool: row.word("tool", RunTool::parse)?,
        client: row.word("client", ClientKind::parse)?,
        status: row.opt_word("status", RunStatus::parse)?,
        outcome: row.word("outcome", CallOutcome::parse)?,
        error: row.opt_word("error_code", RunErrorCode::parse)?,
        poll: row.opt_int("poll")?,
        requested_wait_ms: row.opt_int("requested_wait_ms")?,
        waited_ms: row.opt_int("waited_ms")?,
        duration_ms: row.int("duration_ms")?,
        bytes: row.int("bytes")?,
        duplicate: row.flag("duplicate")?,
        first_retrieval: row.flag("first_retrieval")?,
        ended_at: row.time("ended_at")?,
    })
}

/// Adds a call, unless its run is no longer kept.
pub async fn insert(tx: &mut Tx, call: &RunCall) -> Result<()> {
    sqlx::query(
        "insert into run_calls (id, run_id, tool, client, status, outcome, error_code, poll, requested_wait_ms, waited_ms, \
         duration_ms, bytes, duplicate, first_retrieval, ended_at) \
         select $1, r.id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 from runs r where r.id = $15",
    )
    .bind(call.id.to_string())
    .bind(call.tool.as_str())
    .bind(call.client.as_str())
    .bind(call.status.map(RunStatus::as_str))
    .bind(call.outcome.as_str())
    .bind(call.error.map(RunErrorCode::as_str))
    .bind(call.poll)
    .bind(call.requested_wait_ms)
    .bind(call.waited_ms)
    .bind(call.duration_ms)
    .bind(call.bytes)
    .bind(flag(call.duplicate))
    .bind(flag(call.first_retrieval))
    .bind(call.ended_at.millis())
    .bind(call.run_id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes the calls about a run that are not among its newest.
pub async fn prune(tx: &mut Tx, run: RunId) -> Result<()> {
    sqlx::query(
        "delete from run_calls where run_id = $1 and id <= \
         (select id from run_calls where run_id = $1 order by id desc limit 1 offset $2)",
    )
    .bind(run.to_string())
    .bind(KEPT_CALLS)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The newest calls about a run, newest first.
pub async fn newest(db: &mut Snapshot, run: RunId, limit: i64) -> Result<Vec<RunCall>> {
    sqlx::query("select * from run_calls where run_id = $1 order by id desc limit $2")
        .bind(run.to_string())
        .bind(limit)
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}
