//! AI jobs: the rows, their claim and their leases.
//!
//! Every write to a job that runs names the token of its lease in the same statement; whoever shows another one changes nothing.

use crate::row::{Columns, opt, opt_millis, opt_text, text, to_json};
use crate::rows::{Cell, Kind, Shape, portions, text_for_one};
use crate::{Engine, Result, Snapshot, Tx, Write};
use domain::job::failure::ErrorClass;
use domain::job::row::JobMetadata;
use domain::job::{Answer, Job, JobId, JobStatus, Phase};
use domain::time::Timestamp;

use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

pub(crate) const COLUMNS: &str = "id, correlation_id, source, status, phase, user_id, user_name, guild_id, request_text, history_json, \
     managed_guilds_json, selected_guild_json, response_target_json, provider_chain_json, metadata_json, queue, priority, unique_key, \
     timeout_seconds, max_attempts, attempt_count, delivery_attempts, stale_count, next_retry_at, deadline_at, started_at, \
     first_started_at, completed_at, last_error, last_error_class, last_retry_decision_json, lease_token, lease_expires_at, \
     heartbeat_at, worker_id, cancel_requested_at, requeue_count, requeue_tries, dispatch_no, result_text, result_json, created_at, \
     updated_at";

/// What a scheduler asks with every look; public, so that the plans can be looked at.
pub const ANY_DUE: &str = "select 1 as one from ai_jobs where status = 'pending' and next_retry_at <= $1 order by next_retry_at limit 1";
/// The statement of [`next_due`].
pub const NEXT_DUE: &str = "select min(at) as due from (\
     select min(next_retry_at) as at from ai_jobs where status = 'pending' and next_retry_at > $1 \
     union all select min(lease_expires_at) from ai_jobs where status = 'running' \
     union all select min(next_try_at) from ai_job_deliveries where kind = 'failure_notice' and state = 'waiting') nexts";
/// The statement of [`to_cancel`].
pub const TO_CANCEL: &str = "select id from ai_jobs where status = 'running' and lease_expires_at > 0 and worker_id = $1 \
     and cancel_requested_at is not null order by lease_expires_at";

pub(crate) fn read(row: &AnyRow) -> Result<Job> {
    let answer = match row.opt_text("result_text")? {
        // The text stands in a column of its own, so that it can be redacted and searched without the rest.
        Some(text) => Some(Answer {
            text,
            ..row.json("result_json")?
        }),
        None => None,
    };
    Ok(Job {
        id: JobId(row.int("id")?),
        correlation_id: row.text("correlation_id")?,
        source: row.text("source")?,
        status: row.word("status", JobStatus::parse)?,
        phase: row.word("phase", Phase::parse)?,
        user_id: row.text("user_id")?,
        user_name: row.opt_text("user_name")?,
        guild_id: row.opt_text("guild_id")?,
        request_text: row.text("request_text")?,
        history: row.opt_json("history_json")?.unwrap_or_default(),
        managed_guilds: row.opt_json("managed_guilds_json")?.unwrap_or_default(),
        selected_guild: row.opt_json("selected_guild_json")?,
        target: row.json("response_target_json")?,
        provider_chain: row.opt_json("provider_chain_json")?.unwrap_or_default(),
        metadata: row
            .opt_json::<JobMetadata>("metadata_json")?
            .unwrap_or_default(),
        queue: row.text("queue")?,
        priority: row.int("priority")?,
        unique_key: row.opt_text("unique_key")?,
        timeout_seconds: row.int("timeout_seconds")?,
        max_attempts: row.int("max_attempts")?,
        attempt_count: row.int("attempt_count")?,
        delivery_attempts: row.int("delivery_attempts")?,
        stale_count: row.int("stale_count")?,
        next_retry_at: row.time("next_retry_at")?,
        deadline_at: row.time("deadline_at")?,
        started_at: row.opt_time("started_at")?,
        first_started_at: row.opt_time("first_started_at")?,
        completed_at: row.opt_time("completed_at")?,
        last_error: row.opt_text("last_error")?,
        last_error_class: row.opt_word("last_error_class", ErrorClass::parse)?,
        last_retry_decision: row.opt_json("last_retry_decision_json")?,
        lease_token: row.opt_text("lease_token")?,
        lease_expires_at: row.opt_time("lease_expires_at")?,
        heartbeat_at: row.opt_time("heartbeat_at")?,
        worker_id: row.opt_text("worker_id")?,
        cancel_requested_at: row.opt_time("cancel_requested_at")?,
        requeue_count: row.int("requeue_count")?,
        requeue_tries: row.int("requeue_tries")?,
        dispatch_no: row.int("dispatch_no")?,
        answer,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// JSON of a list, nothing for an empty one.
fn list<T: serde::Serialize>(column: &'static str, items: &[T]) -> Result<Option<String>> {
    if items.is_empty() {
        return Ok(None);
    }
    to_json(column, items).map(|json| Some(without_nul(&json)))
}

/// JSON writes U+0000 as an escape that Postgres' text takes but no reader wants; our rule for text holds for it too.
fn without_nul(json: &str) -> String {
    json.replace("\\u0000", "\u{FFFD}")
}

/// The columns of a new job, as they come in a statement.
const NEW: Shape<20> = [
    ("correlation_id", Kind::Text),
    ("source", Kind::Text),
    ("user_id", Kind::Text),
    ("user_name", Kind::Text),
    ("guild_id", Kind::Text),
    ("request_text", Kind::Text),
    ("history_json", Kind::Text),
    ("managed_guilds_json", Kind::Text),
    ("selected_guild_json", Kind::Text),
    ("response_target_json", Kind::Text),
    ("provider_chain_json", Kind::Text),
    ("metadata_json", Kind::Text),
    ("queue", Kind::Text),
    ("priority", Kind::Int),
    ("unique_key", Kind::Text),
    ("timeout_seconds", Kind::Int),
    ("max_attempts", Kind::Int),
    ("next_retry_at", Kind::Int),
    ("deadline_at", Kind::Int),
    ("created_at", Kind::Int),
];

/// Adds a pending job, whose number the database gives. `None` when the same message has a job already.
pub async fn insert(tx: &mut Tx, job: &Job) -> Result<Option<JobId>> {
    Ok(insert_all(tx, std::slice::from_ref(job))
        .await?
        .pop()
        .flatten())
}

/// Adds pending jobs in their order, in one statement.
pub async fn insert_all(tx: &mut Tx, jobs: &[Job]) -> Result<Vec<Option<JobId>>> {
    let new = jobs.iter().map(new_row).collect::<Result<Vec<_>>>()?;
    let columns = NEW.map(|(name, _)| name).join(", ");
    // `where true`: SQLite would take the conflict's `on` for the table's.
    let sql = format!(
        "insert into ai_jobs ({columns}, updated_at) select {columns}, created_at from @rows where true \
         on conflict (unique_key) where unique_key is not null do nothing returning id, correlation_id"
    );
    let mut numbers = HashMap::new();
    for portion in portions(tx.engine(), &NEW, &new) {
        for row in portion.query(&sql).fetch_all(tx.connection()).await? {
            numbers.insert(row.text("correlation_id")?, JobId(row.int("id")?));
        }
    }
    Ok(jobs
        .iter()
        .map(|job| numbers.remove(&job.correlation_id))
        .collect())
}

fn new_row(job: &Job) -> Result<[Cell; 20]> {
    let guild = job.selected_guild.as_ref();
    Ok([
        job.correlation_id.as_str().into(),
        text(&job.source).into(),
        text(&job.user_id).into(),
        opt_text(job.user_name.as_deref()).into(),
        opt_text(job.guild_id.as_deref()).into(),
        text(&job.request_text).into(),
        list("history_json", &job.history)?.into(),
        list("managed_guilds_json", &job.managed_guilds)?.into(),
        guild.map(|guild| without_nul(&guild.to_string())).into(),
        without_nul(&to_json("response_target_json", &job.target)?).into(),
        list("provider_chain_json", &job.provider_chain)?.into(),
        to_json("metadata_json", &job.metadata)?.into(),
        text(&job.queue).into(),
        job.priority.into(),
        opt_text(job.unique_key.as_deref()).into(),
        job.timeout_seconds.into(),
        job.max_attempts.into(),
        job.next_retry_at.millis().into(),
        job.deadline_at.millis().into(),
        job.created_at.millis().into(),
    ])
}

/// The job of this number. In a transaction its row is held until the end, so that nobody else writes it meanwhile.
pub async fn find(db: &mut Snapshot, id: JobId) -> Result<Option<Job>> {
    find_by(db, "id = $1", id.0).await
}

/// The job that users know by this.
pub async fn find_by_correlation(db: &mut Snapshot, correlation: &str) -> Result<Option<Job>> {
    find_by(db, "correlation_id = $1", text(correlation)).await
}

/// The job that a message has.
pub async fn find_by_unique_key(db: &mut Snapshot, key: &str) -> Result<Option<Job>> {
    find_by(db, "unique_key = $1", text(key)).await
}

async fn find_by<'q>(
    db: &mut Snapshot,
    condition: &str,
    value: impl sqlx::Encode<'q, sqlx::Any> + sqlx::Type<sqlx::Any> + 'q,
) -> Result<Option<Job>> {
    let lock = db.lock_rows("for update");
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from ai_jobs where {condition} {lock}"
    )))
    .bind(value)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The lease that a claim takes.
#[derive(Debug, Clone, Copy)]
pub struct Lease<'a> {
    /// Random; the fence of everything that follows.
    pub token: &'a str,
    /// Who works.
    pub worker: &'a str,
    /// Now.
    pub now: Timestamp,
    /// When it is over, unless renewed.
    pub until: Timestamp,
}

/// Takes a named job: when it is due, or when `dispatch` is the number of its last hint (ruling 36). One statement; nobody else
/// can win it too.
pub async fn claim(
    tx: &mut Tx,
    id: JobId,
    dispatch: Option<i64>,
    lease: &Lease<'_>,
) -> Result<Option<Job>> {
    sqlx::query(AssertSqlSafe(format!(
        "update ai_jobs set status = 'running', attempt_count = attempt_count + 1, next_retry_at = $2, started_at = $2, \
         first_started_at = coalesce(first_started_at, $2), lease_token = $3, worker_id = $4, lease_expires_at = $5, heartbeat_at = $2, \
         requeue_count = 0, requeue_tries = 0, updated_at = $2 \
         where id = $1 and status = 'pending' and (next_retry_at <= $2 or dispatch_no = $6) and attempt_count < max_attempts \
         and deadline_at > $2 \
         and not exists (select 1 from ai_jobs r where r.user_id = ai_jobs.user_id and r.status = 'running') \
         returning {COLUMNS}"
    )))
    .bind(id.0)
    .bind(lease.now.millis())
    .bind(lease.token)
    .bind(lease.worker)
    .bind(lease.until.millis())
    // Numbers of hints begin at 1, and a job without a hint has 0.
    .bind(dispatch.filter(|number| *number > 0).unwrap_or(-1))
    .fetch_optional(tx.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// A job that may be taken, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimable {
    /// The job.
    pub id: JobId,
    /// Its user.
    pub user_id: String,
}

/// Due jobs whose users have none running, in the order in which they are to be taken: by priority, then by due time. A job's
/// priority grows by one step for each `age_ms` it waits, so that nothing waits for ever.
///
/// The head of each priority is found by its index alone, so that neither the length of the backlog nor what waits for later
/// costs anything.
pub async fn next_claimable(
    tx: &mut Tx,
    now: Timestamp,
    age_ms: i64,
    limit: i64,
) -> Result<Vec<Claimable>> {
    let rows = sqlx::query(AssertSqlSafe(claimable_sql(tx.engine())))
        .bind(now.millis())
        .bind(age_ms)
        .bind(limit)
        .fetch_all(tx.connection())
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Claimable {
                id: JobId(row.int("id")?),
                user_id: row.text("user_id")?,
            })
        })
        .collect()
}

/// The statement of [`next_claimable`], so that its plan can be looked at.
#[must_use]
pub fn claimable_sql(engine: Engine) -> String {
    // Skipped rather than waited for: whoever has the row locked is taking it.
    let lock = match engine {
        Engine::Sqlite => "",
        Engine::Postgres => "for update skip locked",
    };
    let heads = (0..=9)
        .map(|priority| {
            format!(
                "select * from (select id, user_id, priority, next_retry_at from ai_jobs where status = 'pending' and priority = {priority} \
                 and next_retry_at <= $1 \
                 and not exists (select 1 from ai_jobs r where r.user_id = ai_jobs.user_id and r.status = 'running') \
                 order by next_retry_at, id limit $3 {lock}) h{priority}"
            )
        })
        .collect::<Vec<_>>()
        .join(" union all ");
    format!(
        "select id, user_id from ({heads}) heads order by next_retry_at + priority * $2, id limit $3"
    )
}

/// The rows of [`claim_all`] and [`prune`].
const WANTED: Shape<1> = [("job", Kind::Int)];
/// The rows of [`end_runs`].
const ENDS: Shape<2> = [("job", Kind::Int), ("token", Kind::Text)];
/// Said so that no index of what ended or runs fits: rows are found by their numbers.
const END_RUNS: &str = "update ai_jobs set status = $2, completed_at = $3, last_error = null, last_error_class = null, \
     lease_token = null, lease_expires_at = null, heartbeat_at = null, worker_id = null, updated_at = $3 from @rows \
     where ai_jobs.id = r.job and ai_jobs.status || '' = 'running' and ai_jobs.lease_token = r.token returning id";

/// Said so that no index of what waits fits, which may be long and of whose length a planner knows little: rows are found by their
/// numbers.
fn claim_all_of_rows() -> String {
    format!(
        "update ai_jobs set status = 'running', attempt_count = attempt_count + 1, next_retry_at = $2, started_at = $2, \
         first_started_at = coalesce(first_started_at, $2), lease_token = $3, worker_id = $4, lease_expires_at = $5, heartbeat_at = $2, \
         requeue_count = 0, requeue_tries = 0, updated_at = $2 \
         where id in (select job from @rows) and status || '' = 'pending' and next_retry_at + 0 <= $2 \
         and attempt_count < max_attempts and deadline_at > $2 returning {COLUMNS}"
    )
}

/// The statement of [`claim_all`], so that its plan can be looked at.
#[must_use]
pub fn claim_all_sql(engine: Engine) -> String {
    text_for_one(engine, &WANTED, &claim_all_of_rows())
}

/// The statement of [`end_runs`], so that its plan can be looked at.
#[must_use]
pub fn end_runs_sql(engine: Engine) -> String {
    text_for_one(engine, &ENDS, END_RUNS)
}

/// Takes jobs of distinct users that [`next_claimable`] found in the same transaction, all with the same lease. Those that are
/// not to be had any more are left out.
pub async fn claim_all(tx: &mut Tx, jobs: &[JobId], lease: &Lease<'_>) -> Result<Vec<Job>> {
    let wanted: Vec<[Cell; 1]> = jobs.iter().map(|id| [id.0.into()]).collect();
    let sql = claim_all_of_rows();
    let mut taken = Vec::with_capacity(jobs.len());
    for portion in portions(tx.engine(), &WANTED, &wanted) {
        let claim = portion
            .query(&sql)
            .bind(lease.now.millis())
            .bind(lease.token.to_owned())
            .bind(lease.worker.to_owned())
            .bind(lease.until.millis());
        for row in claim.fetch_all(tx.connection()).await? {
            taken.push(read(&row)?);
        }
    }
    Ok(taken)
}

/// Ends runs that came to a good end, each guarded by its lease's token. Gives those that were still held.
pub async fn end_runs(
    tx: &mut Tx,
    runs: &[(JobId, &str)],
    status: JobStatus,
    now: Timestamp,
) -> Result<Vec<JobId>> {
    let ends: Vec<[Cell; 2]> = runs
        .iter()
        .map(|(job, token)| [job.0.into(), (*token).into()])
        .collect();
    let mut ended = Vec::with_capacity(runs.len());
    for portion in portions(tx.engine(), &ENDS, &ends) {
        let end = portion
            .query(END_RUNS)
            .bind(status.as_str())
            .bind(now.millis());
        for row in end.fetch_all(tx.connection()).await? {
            ended.push(JobId(row.int("id")?));
        }
    }
    Ok(ended)
}

/// Writes what changes in a job's life. Its status in the database must be `was`, and its lease `token` (`None` for a job that
/// does not run); otherwise somebody else was there, and nothing is written.
pub async fn update(tx: &mut Tx, job: &Job, was: JobStatus, token: Option<&str>) -> Result<Write> {
    let result = job
        .answer
        .as_ref()
        .map(|answer| {
            to_json(
                "result_json",
                &Answer {
                    text: String::new(),
                    ..answer.clone()
                },
            )
        })
        .transpose()?;
    let done = sqlx::query(
        "update ai_jobs set status = $4, phase = $5, attempt_count = $6, delivery_attempts = $7, stale_count = $8, next_retry_at = $9, \
         started_at = $10, completed_at = $11, last_error = $12, last_error_class = $13, last_retry_decision_json = $14, \
         lease_token = $15, lease_expires_at = $16, heartbeat_at = $17, worker_id = $18, cancel_requested_at = $19, requeue_count = $20, \
         requeue_tries = $21, dispatch_no = $22, result_text = $23, result_json = $24, updated_at = $25 \
         where id = $1 and status = $2 and coalesce(lease_token, '') = $3",
    )
    .bind(job.id.0)
    .bind(was.as_str())
    .bind(token.unwrap_or_default())
    .bind(job.status.as_str())
    .bind(job.phase.as_str())
    .bind(job.attempt_count)
    .bind(job.delivery_attempts)
    .bind(job.stale_count)
    .bind(job.next_retry_at.millis())
    .bind(opt_millis(job.started_at))
    .bind(opt_millis(job.completed_at))
    .bind(opt_text(job.last_error.as_deref()))
    .bind(opt(job.last_error_class.as_ref()))
    .bind(job.last_retry_decision.as_ref().map(ToString::to_string))
    .bind(job.lease_token.as_deref())
    .bind(opt_millis(job.lease_expires_at))
    .bind(opt_millis(job.heartbeat_at))
    .bind(job.worker_id.as_deref())
    .bind(opt_millis(job.cancel_requested_at))
    .bind(job.requeue_count)
    .bind(job.requeue_tries)
    .bind(job.dispatch_no)
    .bind(job.answer.as_ref().map(|answer| text(&answer.text)))
    .bind(result.as_deref().map(without_nul))
    .bind(job.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Prolongs a lease. `None` when it is lost; otherwise whether the job is to be canceled.
pub async fn renew(
    tx: &mut Tx,
    id: JobId,
    token: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<bool>> {
    let row = sqlx::query(
        "update ai_jobs set lease_expires_at = $3, heartbeat_at = $4 where id = $1 and status = 'running' and lease_token = $2 \
         returning cancel_requested_at",
    )
    .bind(id.0)
    .bind(token)
    .bind(until.millis())
    .bind(now.millis())
    .fetch_optional(tx.connection())
    .await?;
    row.map(|row| Ok(row.opt_int("cancel_requested_at")?.is_some()))
        .transpose()
}

/// Runs whose lease is over, the longest over first.
pub async fn expired(db: &mut Snapshot, now: Timestamp, limit: i64) -> Result<Vec<Job>> {
    list_where(
        db,
        "status = 'running' and lease_expires_at <= $1 order by lease_expires_at limit $2",
        now.millis(),
        limit,
    )
    .await
}

/// Runs that a worker holds. Who runs has a lease; saying so leads to the index of those.
pub async fn held_by(db: &mut Snapshot, worker: &str) -> Result<Vec<Job>> {
    list_where(
        db,
        "status = 'running' and lease_expires_at > 0 and worker_id = $1 order by lease_expires_at limit $2",
        worker.to_owned(),
        i64::MAX,
    )
    .await
}

/// Runs of a worker that are to be canceled.
pub async fn to_cancel(db: &mut Snapshot, worker: &str) -> Result<Vec<JobId>> {
    sqlx::query(TO_CANCEL)
        .bind(worker)
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| row.int("id").map(JobId))
        .collect()
}

/// Jobs that are due, the longest due first.
pub async fn due(db: &mut Snapshot, now: Timestamp, limit: i64) -> Result<Vec<Job>> {
    list_where(
        db,
        "status = 'pending' and next_retry_at <= $1 order by next_retry_at, id limit $2",
        now.millis(),
        limit,
    )
    .await
}

/// Jobs whose hint was repeated and that nobody has claimed since; they are due only in a while.
pub async fn dispatched(db: &mut Snapshot, now: Timestamp, limit: i64) -> Result<Vec<Job>> {
    list_where(
        db,
        "status = 'pending' and requeue_tries > 0 and next_retry_at > $1 order by next_retry_at, id limit $2",
        now.millis(),
        limit,
    )
    .await
}

/// Whether any job is due.
pub async fn any_due(db: &mut Snapshot, now: Timestamp) -> Result<bool> {
    let row = sqlx::query(ANY_DUE)
        .bind(now.millis())
        .fetch_optional(db.connection())
        .await?;
    Ok(row.is_some())
}

async fn list_where<'q>(
    db: &mut Snapshot,
    condition: &str,
    value: impl sqlx::Encode<'q, sqlx::Any> + sqlx::Type<sqlx::Any> + 'q,
    limit: i64,
) -> Result<Vec<Job>> {
    // Skipped rather than waited for: whoever has a row is doing something about it.
    let lock = db.lock_rows("for update skip locked");
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from ai_jobs where {condition} {lock}"
    )))
    .bind(value)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// When something happens next by itself: a job becomes due after `now`, a lease is over, a notice is to be tried.
pub async fn next_due(db: &mut Snapshot, now: Timestamp) -> Result<Option<Timestamp>> {
    let row = sqlx::query(NEXT_DUE)
        .bind(now.millis())
        .fetch_one(db.connection())
        .await?;
    row.opt_time("due")
}

/// Empties what users wrote and got in jobs that ended before `before`. What was done when stays.
pub async fn redact(tx: &mut Tx, before: Timestamp, now: Timestamp, limit: i64) -> Result<u64> {
    let done = sqlx::query(
        "update ai_jobs set request_text = '', history_json = null, managed_guilds_json = null, selected_guild_json = null, \
         result_text = case when result_text is null then null else '' end, redacted_at = $2 \
         where id in (select id from ai_jobs where status in ('completed', 'failed_terminal', 'canceled') and updated_at < $1 \
         and redacted_at is null order by updated_at limit $3)",
    )
    .bind(before.millis())
    .bind(now.millis())
    .bind(limit)
    .execute(tx.connection())
    .await?;
    sqlx::query(
        "update ai_job_deliveries set body = '' where body <> '' and job_id in (select id from ai_jobs where redacted_at = $1)",
    )
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Removes jobs that ended with `status` before `before`, with all that belongs to them.
pub async fn prune(tx: &mut Tx, status: JobStatus, before: Timestamp, limit: i64) -> Result<u64> {
    let gone = sqlx::query(
        "delete from ai_jobs where id in (select id from ai_jobs where status = $1 \
         and status in ('completed', 'failed_terminal', 'canceled') and updated_at < $2 order by updated_at limit $3) returning id",
    )
    .bind(status.as_str())
    .bind(before.millis())
    .bind(limit)
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(|row| Ok([row.int("id")?.into()]))
    .collect::<Result<Vec<[Cell; 1]>>>()?;
    // The one thing of theirs that does not go by itself.
    for portion in portions(tx.engine(), &WANTED, &gone) {
        portion
            .query("delete from ai_job_events where job_id in (select job from @rows)")
            .execute(tx.connection())
            .await?;
    }
    Ok(gone.len() as u64)
}
