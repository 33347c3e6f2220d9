//! AI jobs.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
#[cfg(feature = "ssr")]
use board::{Canceller, JobQuery, Viewer};
#[cfg(feature = "ssr")]
use domain::error::ErrorCode;
#[cfg(feature = "ssr")]
use domain::job::view::JobView;
use domain::job::view::{ConsentView, Enqueued, JobTimeline};
use domain::job::{JobId, JobStatus};
#[cfg(feature = "ssr")]
use domain::job::{JobKey, reply};
use domain::time::Timestamp;
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// As much of a message as a row shows, in characters.
#[cfg(feature = "ssr")]
const EXCERPT: usize = 200;

/// Which jobs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobsAsked {
    /// Only with this status.
    pub status: Option<JobStatus>,
    /// Only this user's.
    pub user: Option<String>,
    /// Only those made within so many seconds.
    pub younger_than: Option<i64>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// How many.
    pub limit: Option<i64>,
}

/// A job as a row shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its number.
    pub id: JobId,
    /// What its user is told.
    pub correlation_id: String,
    /// Where it stands.
    pub status: JobStatus,
    /// Its worker has not noticed the wish to end it.
    pub cancel_requested: bool,
    /// Its user.
    pub user: String,
    /// By which way it came.
    pub source: String,
    /// The beginning of the message; empty once redacted.
    pub excerpt: String,
    /// What went wrong last.
    pub error: Option<String>,
    /// Runs it took, and may take.
    pub attempts: (i64, i64),
    /// Not before this time.
    pub next_retry_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A page of rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobRows {
    /// The rows: those that wait first, the longest due before the others.
    pub rows: Vec<JobRow>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// A job with its timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownJob {
    /// The job; its answer is in `html`.
    pub timeline: JobTimeline,
    /// The answer as HTML that the server has made and sanitised.
    pub html: Option<String>,
}

#[cfg(feature = "ssr")]
fn row(job: JobView) -> JobRow {
    let mut excerpt: String = job.request_text.chars().take(EXCERPT).collect();
    if excerpt.len() < job.request_text.len() {
        excerpt.push('…');
    }
    JobRow {
        id: job.id,
        correlation_id: job.correlation_id,
        status: job.status,
        cancel_requested: job.cancel_requested,
        user: job.user_name.unwrap_or(job.user_id),
        source: job.source,
        excerpt,
        error: job.last_error.as_deref().map(reply::reason),
        attempts: (job.attempt_count, job.max_attempts),
        next_retry_at: job.next_retry_at,
        created_at: job.created_at,
    }
}

/// A page of jobs.
#[server(prefix = "/api/page", endpoint = "jobs", input = Json)]
pub async fn jobs_list(asked: JobsAsked) -> Result<JobRows, AppError> {
    let door = Door::open()?;
    let query = JobQuery {
        status: asked.status,
        user_id: asked.user,
        younger_than_ms: asked
            .younger_than
            .map(|seconds| seconds.saturating_mul(1_000)),
        older_than_ms: None,
        cursor: asked.cursor,
        limit: asked.limit,
    };
    let page = door.board.jobs(&query).await;
    door.answer(page.map(|page| JobRows {
        rows: page.jobs.into_iter().map(row).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// A job by its number or its correlation id; `None` when there is no such job.
#[server(prefix = "/api/page", endpoint = "job", input = Json)]
pub async fn job_show(key: String) -> Result<Option<ShownJob>, AppError> {
    let door = Door::open()?;
    let shown = async {
        let key = JobKey::parse(&key)?;
        door.board
            .job_timeline(&key, Viewer::Operator, 0, None)
            .await
    };
    match shown.await {
        Ok(mut timeline) => {
            let answer = timeline.job.answer_text.take();
            let html = answer.map(|answer| crate::markdown::to_html(&answer));
            Ok(Some(ShownJob { timeline, html }))
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => door.answer(Err(error)),
    }
}

/// Ends a job: at once while it waits, at its next checkpoint while it runs.
#[server(prefix = "/api/page", endpoint = "job/cancel", input = Json)]
pub async fn job_cancel(key: String) -> Result<(), AppError> {
    let door = Door::open()?;
    let desk = door.desk()?;
    let canceled = async { desk.cancel(JobKey::parse(&key)?).await };
    door.answer(canceled.await.map(drop))
}

/// Has a job done again, as a new one.
#[server(prefix = "/api/page", endpoint = "job/retry", input = Json)]
pub async fn job_retry(key: String) -> Result<Enqueued, AppError> {
    let door = Door::open()?;
    let desk = door.desk()?;
    let retried = async { desk.retry(JobKey::parse(&key)?).await };
    door.answer(retried.await)
}

/// Agrees to what a job previewed, which is then carried out, or declines it.
#[server(prefix = "/api/page", endpoint = "job/consent", input = Json)]
pub async fn job_consent(
    job: JobId,
    confirmation: i64,
    agrees: bool,
) -> Result<ConsentView, AppError> {
    let door = Door::open()?;
    let key = JobKey::Id(job.0);
    let ended = if agrees {
        door.desk()?.confirm(key, confirmation).await
    } else {
        door.board
            .consent_decline(&key, Some(confirmation), Canceller::Operator)
            .await
    };
    door.answer(ended)
}
