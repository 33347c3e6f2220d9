//! The timelines of AI jobs. Only ever appended to, in the transaction of what they tell of.

use crate::row::{Columns, opt_text, text};
use crate::rows::{Cell, Kind, Shape, portions};
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

/// The columns of an entry, as they come in a statement.
const NEW: Shape<6> = [
    ("job_id", Kind::Int),
    ("event_type", Kind::Text),
    ("source", Kind::Text),
    ("step", Kind::Text),
    ("message", Kind::Text),
    ("metadata_json", Kind::Text),
];

/// Appends an entry.
pub async fn append(tx: &mut Tx, job: JobId, event: &NewJobEvent, now: Timestamp) -> Result<()> {
    append_all(tx, &[(job, event)], now).await
}

/// Appends entries in their order, in one statement.
pub async fn append_all(
    tx: &mut Tx,
    entries: &[(JobId, &NewJobEvent)],
    now: Timestamp,
) -> Result<()> {
    let new: Vec<[Cell; 6]> = entries
        .iter()
        .map(|(job, event)| {
            let metadata = event.metadata.as_ref();
            [
                job.0.into(),
                event.event_type.as_str().into(),
                text(&event.source).into(),
                event.event_type.step().into(),
                opt_text(event.message.as_deref()).into(),
                metadata
                    .map(|metadata| metadata.to_string().replace("\\u0000", "\u{FFFD}"))
                    .into(),
            ]
        })
        .collect();
    let columns = NEW.map(|(name, _)| name).join(", ");
    let sql = format!(
        "insert into ai_job_events ({columns}, created_at) select {columns}, $2 from @rows"
    );
    for portion in portions(tx.engine(), &NEW, &new) {
        portion
            .query(&sql)
            .bind(now.millis())
            .execute(tx.connection())
            .await?;
    }
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

/// The newest entry of a type of a job.
pub async fn last_of(
    db: &mut Snapshot,
    job: JobId,
    event_type: JobEventType,
) -> Result<Option<JobEvent>> {
    sqlx::query(
        "select id, job_id, event_type, source, step, message, metadata_json, created_at from ai_job_events \
         where job_id = $1 and event_type = $2 order by id desc limit 1",
    )
    .bind(job.0)
    .bind(event_type.as_str())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
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
