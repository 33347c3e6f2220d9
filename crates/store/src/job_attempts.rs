//! The runs of AI jobs: who worked when, and how it ended.

use crate::row::{Columns, opt, opt_text};
use crate::rows::{Cell, Kind, Shape, portions};
use crate::{Result, Snapshot, Tx};
use domain::job::failure::ErrorClass;
use domain::job::view::AttemptView;
use domain::job::{Job, JobId};
use domain::time::Timestamp;

const BEGUN: Shape<2> = [("job", Kind::Int), ("attempt", Kind::Int)];
const ENDED: Shape<1> = [("job", Kind::Int)];

/// A run of each of these jobs begins.
pub async fn begin_all(tx: &mut Tx, jobs: &[Job], worker: &str, now: Timestamp) -> Result<()> {
    let new: Vec<[Cell; 2]> = jobs
        .iter()
        .map(|job| [job.id.0.into(), job.attempt_count.into()])
        .collect();
    for portion in portions(tx.engine(), &BEGUN, &new) {
        portion
            .query(
                "insert into ai_job_attempts (job_id, run, attempt, worker_id, started_at) select r.job, \
                 (select coalesce(max(run), 0) + 1 from ai_job_attempts where job_id = r.job), r.attempt, $2, $3 from @rows",
            )
            .bind(worker.to_owned())
            .bind(now.millis())
            .execute(tx.connection())
            .await?;
    }
    Ok(())
}

/// The runs of these jobs that have no end yet end well, with a word of the timeline.
pub async fn end_all(tx: &mut Tx, jobs: &[JobId], outcome: &str, now: Timestamp) -> Result<()> {
    let ended: Vec<[Cell; 1]> = jobs.iter().map(|job| [job.0.into()]).collect();
    for portion in portions(tx.engine(), &ENDED, &ended) {
        portion
            .query(
                "update ai_job_attempts set ended_at = $2, outcome = $3 from @rows \
                 where ai_job_attempts.job_id = r.job and ai_job_attempts.ended_at is null",
            )
            .bind(now.millis())
            .bind(outcome.to_owned())
            .execute(tx.connection())
            .await?;
    }
    Ok(())
}

/// The run of a job that has no end yet ends: with a word of the timeline, and with what went wrong, if anything did.
pub async fn end(
    tx: &mut Tx,
    job: JobId,
    outcome: &str,
    failure: Option<(ErrorClass, &str)>,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "update ai_job_attempts set ended_at = $2, outcome = $3, error_class = $4, error = $5 where job_id = $1 and ended_at is null",
    )
    .bind(job.0)
    .bind(now.millis())
    .bind(outcome)
    .bind(opt(failure.map(|(class, _)| class).as_ref()))
    .bind(opt_text(failure.map(|(_, error)| error)))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The runs of a job, oldest first.
pub async fn of_job(db: &mut Snapshot, job: JobId) -> Result<Vec<AttemptView>> {
    sqlx::query(
        "select attempt, worker_id, started_at, ended_at, outcome, error_class, error from ai_job_attempts where job_id = $1 order by run",
    )
    .bind(job.0)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(AttemptView {
            attempt: row.int("attempt")?,
            worker_id: row.text("worker_id")?,
            started_at: row.time("started_at")?,
            ended_at: row.opt_time("ended_at")?,
            outcome: row.opt_text("outcome")?,
            error_class: row.opt_word("error_class", ErrorClass::parse)?,
            error: row.opt_text("error")?,
        })
    })
    .collect()
}
