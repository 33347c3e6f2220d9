//! What tools of AI jobs did, and previews that wait for consent.

use crate::row::{Columns, opt_millis, opt_text, text};
use crate::{Result, Snapshot, Tx, Write};
use domain::job::JobId;
use domain::job::effects::{Confirmation, ConsentOutcome, ToolCall, ToolCallState};
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

fn read_call(row: &AnyRow) -> Result<ToolCall> {
    Ok(ToolCall {
        job_id: JobId(row.int("job_id")?),
        seq: row.int("seq")?,
        tool: row.text("tool")?,
        args_hash: row.text("args_hash")?,
        idempotency_key: row.text("idempotency_key")?,
        state: row.word("state", ToolCallState::parse)?,
        result: row.opt_json("result_json")?,
    })
}

const CALL: &str = "job_id, seq, tool, args_hash, idempotency_key, state, result_json";

/// The last call of a tool with these arguments in a job.
pub async fn last_call(
    db: &mut Snapshot,
    job: JobId,
    tool: &str,
    args_hash: &str,
) -> Result<Option<ToolCall>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CALL} from ai_job_tool_calls where job_id = $1 and tool = $2 and args_hash = $3 order by seq desc limit 1"
    )))
    .bind(job.0)
    .bind(text(tool))
    .bind(args_hash)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_call)
    .transpose()
}

/// All calls of a job, in order.
pub async fn calls(db: &mut Snapshot, job: JobId) -> Result<Vec<ToolCall>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CALL} from ai_job_tool_calls where job_id = $1 order by seq"
    )))
    .bind(job.0)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_call)
    .collect()
}

/// Notes a call that is about to run, and gives its place in the job.
pub async fn begin_call(
    tx: &mut Tx,
    job: JobId,
    tool: &str,
    args_hash: &str,
    idempotency_key: &str,
    now: Timestamp,
) -> Result<i64> {
    let row = sqlx::query(
        "insert into ai_job_tool_calls (job_id, seq, tool, args_hash, idempotency_key, state, started_at) \
         values ($1, (select coalesce(max(seq), 0) + 1 from ai_job_tool_calls where job_id = $1), $2, $3, $4, 'started', $5) \
         returning seq",
    )
    .bind(job.0)
    .bind(text(tool))
    .bind(args_hash)
    .bind(idempotency_key)
    .bind(now.millis())
    .fetch_one(tx.connection())
    .await?;
    row.int("seq")
}

/// Notes how a call ended; one that has an end keeps it.
pub async fn end_call(
    tx: &mut Tx,
    job: JobId,
    seq: i64,
    state: ToolCallState,
    result: &Value,
    now: Timestamp,
) -> Result<Write> {
    let done = sqlx::query(
        "update ai_job_tool_calls set state = $3, result_json = $4, ended_at = $5 where job_id = $1 and seq = $2 and state = 'started'",
    )
    .bind(job.0)
    .bind(seq)
    .bind(state.as_str())
    .bind(result.to_string().replace("\\u0000", "\u{FFFD}"))
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

const CONFIRMATION: &str = "id, job_id, user_id, conversation, preview_tool, confirmation_tool, args_json, args_hash, summary, \
     expires_at, agreed_at, consumed_at, outcome, result_json, created_at";

fn read_confirmation(row: &AnyRow) -> Result<Confirmation> {
    Ok(Confirmation {
        id: row.int("id")?,
        job_id: JobId(row.int("job_id")?),
        user_id: row.text("user_id")?,
        conversation: row.text("conversation")?,
        preview_tool: row.text("preview_tool")?,
        confirmation_tool: row.text("confirmation_tool")?,
        arguments: row.json("args_json")?,
        args_hash: row.text("args_hash")?,
        summary: row.opt_text("summary")?,
        expires_at: row.time("expires_at")?,
        agreed_at: row.opt_time("agreed_at")?,
        consumed_at: row.opt_time("consumed_at")?,
        outcome: row.opt_word("outcome", ConsentOutcome::parse)?,
        result: row.opt_json("result_json")?,
        created_at: row.time("created_at")?,
    })
}

/// Adds a preview, whose number the database gives.
pub async fn insert_confirmation(tx: &mut Tx, preview: &Confirmation) -> Result<i64> {
    let row = sqlx::query(
        "insert into pending_confirmations (job_id, user_id, conversation, preview_tool, confirmation_tool, args_json, args_hash, \
         summary, expires_at, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id",
    )
    .bind(preview.job_id.0)
    .bind(text(&preview.user_id))
    .bind(text(&preview.conversation))
    .bind(text(&preview.preview_tool))
    .bind(text(&preview.confirmation_tool))
    .bind(preview.arguments.to_string().replace("\\u0000", "\u{FFFD}"))
    .bind(preview.args_hash.as_str())
    .bind(opt_text(preview.summary.as_deref()))
    .bind(preview.expires_at.millis())
    .bind(preview.created_at.millis())
    .fetch_one(tx.connection())
    .await?;
    row.int("id")
}

/// The preview of this number.
pub async fn confirmation(db: &mut Snapshot, id: i64) -> Result<Option<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where id = $1"
    )))
    .bind(id)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_confirmation)
    .transpose()
}

/// The previews of a user that a tool would carry out with these arguments, the newest first.
pub async fn confirmations_for(
    db: &mut Snapshot,
    user_id: &str,
    confirmation_tool: &str,
    args_hash: &str,
    limit: i64,
) -> Result<Vec<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where user_id = $1 and confirmation_tool = $2 and args_hash = $3 \
         order by id desc limit $4"
    )))
    .bind(text(user_id))
    .bind(text(confirmation_tool))
    .bind(args_hash)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_confirmation)
    .collect()
}

/// A user's previews that can still be agreed to, the newest first.
pub async fn open_confirmations(
    db: &mut Snapshot,
    user_id: &str,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where user_id = $1 and consumed_at is null and agreed_at is null \
         and expires_at > $2 order by id desc limit $3"
    )))
    .bind(text(user_id))
    .bind(now.millis())
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_confirmation)
    .collect()
}

/// The previews that the jobs of a user from `first` to `last` made, in order.
pub async fn confirmations_between(
    db: &mut Snapshot,
    user_id: &str,
    first: JobId,
    last: JobId,
) -> Result<Vec<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where job_id >= $1 and job_id <= $2 and user_id = $3 order by id"
    )))
    .bind(first.0)
    .bind(last.0)
    .bind(text(user_id))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_confirmation)
    .collect()
}

/// The newest preview that a job made.
pub async fn confirmation_of(db: &mut Snapshot, job: JobId) -> Result<Option<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where job_id = $1 order by id desc limit 1"
    )))
    .bind(job.0)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_confirmation)
    .transpose()
}

/// Previews that were agreed to by a button and not carried out, the oldest first.
pub async fn agreed_confirmations(db: &mut Snapshot, limit: i64) -> Result<Vec<Confirmation>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {CONFIRMATION} from pending_confirmations where agreed_at is not null and consumed_at is null order by id limit $1"
    )))
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_confirmation)
    .collect()
}

/// Notes that a preview was agreed to by a button, or that nothing can come of that.
pub async fn set_agreed(tx: &mut Tx, id: i64, agreed_at: Option<Timestamp>) -> Result<Write> {
    let done = sqlx::query(
        "update pending_confirmations set agreed_at = $2 where id = $1 and consumed_at is null",
    )
    .bind(id)
    .bind(opt_millis(agreed_at))
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Notes the end of a preview. It has only one.
pub async fn end_confirmation(
    tx: &mut Tx,
    id: i64,
    outcome: ConsentOutcome,
    result: Option<&Value>,
    now: Timestamp,
) -> Result<Write> {
    let done = sqlx::query(
        "update pending_confirmations set consumed_at = $2, outcome = $3, result_json = $4 where id = $1 and consumed_at is null",
    )
    .bind(id)
    .bind(now.millis())
    .bind(outcome.as_str())
    .bind(result.map(|result| result.to_string().replace("\\u0000", "\u{FFFD}")))
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Uses a preview up for a turn of a model. Only one can.
pub async fn consume_confirmation(tx: &mut Tx, id: i64, now: Timestamp) -> Result<Write> {
    let done = sqlx::query(
        "update pending_confirmations set consumed_at = $2, outcome = 'confirmed' \
         where id = $1 and consumed_at is null and agreed_at is null and expires_at > $2",
    )
    .bind(id)
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}
