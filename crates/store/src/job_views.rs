//! What pages, API and metrics read of AI jobs.

use crate::jobs::{COLUMNS, read};
use crate::row::{Columns, text};
use crate::{Result, Snapshot};
use domain::job::{Job, JobId, JobStatus};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;

/// Which jobs are asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// With this status.
    pub status: Option<JobStatus>,
    /// Of this user.
    pub user_id: Option<String>,
    /// Made at or after this time.
    pub since: Option<Timestamp>,
    /// Made before this time.
    pub until: Option<Timestamp>,
}

/// The place of a job in the list: group, sorting key, number.
pub type Place = (i64, i64, i64);

/// Jobs after `after`: those that run or wait first, the longest due before the others; then those that ended, newest first.
pub async fn page(
    db: &mut Snapshot,
    filter: &Filter,
    after: Option<Place>,
    limit: i64,
) -> Result<Vec<(Job, Place)>> {
    let (group, key, id) = after.unwrap_or((-1, 0, 0));
    let rows = sqlx::query(AssertSqlSafe(format!(
        "select * from (\
             select {COLUMNS}, case when status in ('pending', 'running') then 0 else 1 end as place_group, \
             case when status in ('pending', 'running') then next_retry_at else -created_at end as place_key from ai_jobs \
             where ($1 = '' or status = $1) and ($2 = '' or user_id = $2) and created_at >= $3 and created_at < $4) jobs \
         where place_group > $5 or (place_group = $5 and (place_key > $6 or (place_key = $6 and id > $7))) \
         order by place_group, place_key, id limit $8"
    )))
    .bind(filter.status.map(JobStatus::as_str).unwrap_or_default())
    .bind(filter.user_id.as_deref().map(text).unwrap_or_default())
    .bind(filter.since.map_or(i64::MIN, Timestamp::millis))
    .bind(filter.until.map_or(i64::MAX, Timestamp::millis))
    .bind(group)
    .bind(key)
    .bind(id)
    .bind(limit)
    .fetch_all(db.connection())
    .await?;
    rows.iter()
        .map(|row| {
            let job = read(row)?;
            let place = (row.int("place_group")?, row.int("place_key")?, job.id.0);
            Ok((job, place))
        })
        .collect()
}

/// Which jobs of a conversation are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest.
    Newest,
    /// The newest before this one.
    Before(JobId),
    /// This one and what follows it.
    From(JobId),
}

/// Jobs of a user that came by `source`, oldest first: a part of the conversation.
pub async fn conversation(
    db: &mut Snapshot,
    user_id: &str,
    source: &str,
    part: Part,
    limit: i64,
) -> Result<Vec<Job>> {
    let (above, below, order) = match part {
        Part::Newest => (i64::MIN, i64::MAX, "desc"),
        Part::Before(job) => (i64::MIN, job.0, "desc"),
        Part::From(job) => (job.0, i64::MAX, "asc"),
    };
    let mut jobs = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from ai_jobs where user_id = $1 and source = $2 and id >= $3 and id < $4 order by id {order} limit $5"
    )))
    .bind(text(user_id))
    .bind(text(source))
    .bind(above)
    .bind(below)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    if !matches!(part, Part::From(_)) {
        jobs.reverse();
    }
    Ok(jobs)
}

/// How many jobs there are with each status.
pub async fn count_by_status(db: &mut Snapshot) -> Result<Vec<(JobStatus, i64)>> {
    // Each part by the index that has these jobs and no others.
    sqlx::query(
        "select status, number from (\
             select 'pending' as status, count(*) as number from ai_jobs where status = 'pending' \
             union all select 'running', count(*) from ai_jobs where status = 'running' \
             union all select status, count(*) from ai_jobs where status in ('completed', 'failed_terminal', 'canceled') group by status\
         ) counts where number > 0 order by status",
    )
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| Ok((row.word("status", JobStatus::parse)?, row.int("number")?)))
        .collect()
}

/// Since when the longest due job has been due.
pub async fn oldest_due(db: &mut Snapshot, now: Timestamp) -> Result<Option<Timestamp>> {
    let row = sqlx::query(
        "select min(next_retry_at) as due from ai_jobs where status = 'pending' and next_retry_at <= $1",
    )
    .bind(now.millis())
    .fetch_one(db.connection())
    .await?;
    row.opt_time("due")
}
