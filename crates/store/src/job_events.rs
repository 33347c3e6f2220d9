//! The timelines of AI jobs. Only ever appended to, in the transaction of what they tell of.

use crate::row::{Columns, opt_text, text};
use crate::{Result, Snapshot, Tx};
use domain::job::{JobEvent, JobEventType, JobId, NewJobEvent};
use domain::time::Timestamp;
use sqlx::any::AnyRow;

fn read(row: &AnyRow) -> Result<JobEvent> {
    Ok(JobEvent {
        id: row.int("id")?,
        job_id: JobId(row.int("job_id")?),
        event_type: row.word("event_type", JobEventType::parse)?,
        source: row.text("source")?,
        step: row.opt_text("step")?,
        message: row.opt_text("message")?,
        metadata_json: row.opt_json("metadata_json")?,
        created_at: row.time("created_at")?,
    })
}

/// Appends an entry.
pub async fn append(tx: &mut Tx, job: JobId, event: &NewJobEvent, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into ai_job_events (job_id, event_type, source, step, message, metadata_json, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(job.0)
    .bind(event.event_type.as_str())
    .bind(text(&event.source))
    .bind(event.event_type.step())
    .bind(opt_text(event.message.as_deref()))
    .bind(
        event
            .metadata
            .as_ref()
            .map(|metadata| metadata.to_string().replace("\\u0000", "\u{FFFD}")),
    )
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Entries of those jobs of a user from `first` to `last` that are not over, in order.
pub async fn of_unfinished(
    db: &mut Snapshot,
    user_id: &str,
    first: JobId,
    last: JobId,
    limit: i64,
) -> Result<Vec<JobEvent>> {
    let mut events = sqlx::query(
        "select id, job_id, event_type, source, step, message, metadata_json, created_at from ai_job_events \
         where job_id in (select id from ai_jobs where user_id = $1 and id >= $2 and id <= $3 and status in ('pending', 'running')) \
         order by id desc limit $4",
    )
    .bind(text(user_id))
    .bind(first.0)
    .bind(last.0)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    events.reverse();
    Ok(events)
}

/// The number of the newest entry of all: it grows when something happened to any job.
pub async fn head(db: &mut Snapshot) -> Result<i64> {
    let row = sqlx::query("select coalesce(max(id), 0) as head from ai_job_events")
        .fetch_one(db.connection())
        .await?;
    row.int("head")
}

/// The newest `limit` entries of a job after the entry `after`, oldest first.
pub async fn latest(
    db: &mut Snapshot,
    job: JobId,
    after: i64,
    limit: i64,
) -> Result<Vec<JobEvent>> {
    let mut events = sqlx::query(
        "select id, job_id, event_type, source, step, message, metadata_json, created_at from ai_job_events \
         where job_id = $1 and id > $2 order by id desc limit $3",
    )
    .bind(job.0)
    .bind(after)
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    events.reverse();
    Ok(events)
}
