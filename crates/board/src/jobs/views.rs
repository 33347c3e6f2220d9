//! What pages and API read of jobs.

use crate::{Board, Result};
use domain::error::Refusal;
use domain::job::view::{ConsentView, Hint, HintKind, JobPage, JobTimeline, JobView};
use domain::job::{Job, JobId, JobKey, JobStatus};
use store::Snapshot;
use store::job_views::{Filter, Place};

/// Entries of a timeline in one read.
const MOST_EVENTS: i64 = 500;
/// Jobs on one page at most.
const MOST_JOBS: i64 = 200;

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewer<'a> {
    /// The user of this id: only their own jobs exist for them, and errors come without what must not leave.
    Owner(&'a str),
    /// An operator, or the holder of the internal key.
    Operator,
}

/// Which jobs are asked for.
#[derive(Debug, Clone, Default)]
pub struct JobQuery {
    /// With this status.
    pub status: Option<JobStatus>,
    /// Of this user.
    pub user_id: Option<String>,
    /// Made within this many milliseconds.
    pub younger_than_ms: Option<i64>,
    /// Made longer ago than this many milliseconds.
    pub older_than_ms: Option<i64>,
    /// From [`JobPage::next_cursor`].
    pub cursor: Option<String>,
    /// How many; 50 when nothing is said.
    pub limit: Option<i64>,
}

/// A job that must be there.
pub(super) async fn load(db: &mut Snapshot, key: &JobKey) -> Result<Job> {
    let found = match key {
        JobKey::Id(id) => store::jobs::find(db, JobId(*id)).await?,
        JobKey::Correlation(text) => store::jobs::find_by_correlation(db, text).await?,
    };
    Ok(found.ok_or_else(|| Refusal::missing("Job not found"))?)
}

impl Board {
    /// A job with the newest entries of its timeline after the entry `after`, at most 500.
    pub async fn job_timeline(
        &self,
        key: &JobKey,
        viewer: Viewer<'_>,
        after: i64,
        limit: Option<i64>,
    ) -> Result<JobTimeline> {
        let limit = limit.unwrap_or(MOST_EVENTS).clamp(1, MOST_EVENTS);
        let mut db = self.snapshot().await?;
        let job = load(&mut db, key).await?;
        if let Viewer::Owner(user) = viewer
            && job.user_id != user
        {
            return Err(Refusal::missing("Job not found").into());
        }
        let mut events = store::job_events::latest(&mut db, job.id, after, limit + 1).await?;
        let truncated = i64::try_from(events.len()).is_ok_and(|length| length > limit);
        if truncated {
            events.remove(0);
        }
        let mut attempts = store::job_attempts::of_job(&mut db, job.id).await?;
        let confirmation = store::job_effects::confirmation_of(&mut db, job.id).await?;
        let job = match viewer {
            Viewer::Operator => JobView::for_operator(job),
            Viewer::Owner(_) => {
                for attempt in &mut attempts {
                    attempt.error = attempt.error.as_deref().map(domain::job::reply::reason);
                }
                JobView::for_owner(job)
            }
        };
        Ok(JobTimeline {
            job,
            events,
            truncated,
            attempts,
            confirmation: confirmation.map(|one| ConsentView::of(one, self.clock.now())),
        })
    }

    /// The job itself, for whoever works on it.
    pub async fn job_find(&self, key: &JobKey) -> Result<Job> {
        load(&mut self.snapshot().await?, key).await
    }

    /// A page of jobs: what runs or waits first, the longest due before the others, then the rest, newest first.
    pub async fn jobs(&self, query: &JobQuery) -> Result<JobPage> {
        let limit = query.limit.unwrap_or(50).clamp(1, MOST_JOBS);
        let now = self.clock.now();
        let before = |millis: Option<i64>| millis.map(|millis| now.plus_millis(-millis.max(0)));
        let filter = Filter {
            status: query.status,
            user_id: query.user_id.clone(),
            since: before(query.younger_than_ms),
            until: before(query.older_than_ms),
        };
        let after = query.cursor.as_deref().map(place).transpose()?;
        let mut db = self.snapshot().await?;
        let mut rows = store::job_views::page(&mut db, &filter, after, limit + 1).await?;
        let more = i64::try_from(rows.len()).is_ok_and(|length| length > limit);
        if more {
            rows.pop();
        }
        let next_cursor = rows
            .last()
            .filter(|_| more)
            .map(|(_, (group, key, id))| format!("{group}.{key}.{id}"));
        let jobs = rows
            .into_iter()
            .map(|(job, _)| JobView::for_operator(job))
            .collect();
        Ok(JobPage { jobs, next_cursor })
    }

    /// A number that grows when something happened to any job, for nodes that are not woken by one another.
    pub async fn jobs_head(&self) -> Result<i64> {
        Ok(store::job_events::head(&mut self.snapshot().await?).await?)
    }

    /// Jobs that are due, the longest due first: what a worker without hints may look at.
    pub async fn jobs_due(&self, limit: i64) -> Result<Vec<(JobId, String)>> {
        let mut db = self.snapshot().await?;
        let due = store::jobs::due(&mut db, self.clock.now(), limit.clamp(1, MOST_JOBS)).await?;
        Ok(due
            .into_iter()
            .map(|job| (job.id, job.correlation_id))
            .collect())
    }

    /// The hints that were repeated and came to nothing so far: a queue that lost what it held is filled with them again.
    pub async fn jobs_dispatched(&self, limit: i64) -> Result<Vec<Hint>> {
        let mut db = self.snapshot().await?;
        let now = self.clock.now();
        let dispatched = store::jobs::dispatched(&mut db, now, limit).await?;
        Ok(dispatched
            .into_iter()
            .map(|job| Hint {
                kind: HintKind::JobDue,
                job_id: Some(job.id),
                correlation_id: Some(job.correlation_id),
                dispatch: Some(job.dispatch_no),
            })
            .collect())
    }
}

fn place(cursor: &str) -> Result<Place> {
    let mut parts = cursor.split('.').map(str::parse::<i64>);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(Ok(group)), Some(Ok(key)), Some(Ok(id)), None) => Ok((group, key, id)),
        _ => {
            Err(Refusal::validation("cursor: take it from the page before, or leave it out").into())
        }
    }
}
