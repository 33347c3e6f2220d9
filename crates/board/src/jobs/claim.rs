//! Taking a job, keeping it, and noticing that it is lost.

use super::line::{Ask, Got, lost};
use super::outcome::{Claimed, Held};
use super::transition::by_executor;
use crate::random::random;
use crate::transition::Work;
use crate::{Board, BoardError, Result};
use domain::digest;
use domain::job::{Job, JobEventType, JobId, JobStatus, Phase};
use domain::time::Timestamp;
use serde_json::json;
use std::collections::HashSet;
use store::StoreError;
use store::jobs::Lease;

/// Why a due job is not to be had.
const USER_IS_BUSY: &str = "another job of its user is being worked on";

/// What became of the wish to take a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It is ours, with a lease; the lease's token is in the row.
    Taken(Box<Job>),
    /// It is not to be had, for this reason.
    Skipped(&'static str),
}

/// What became of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It holds on.
    Held,
    /// It holds on, and the owner does not want the answer any more.
    Cancel,
    /// Somebody else has the job, or nobody.
    Lost,
}

impl Board {
    /// Takes a named job, when it is due or when `dispatch` is the number of its last hint.
    pub async fn job_claim(&self, id: JobId, dispatch: Option<i64>, worker: &str) -> Result<Claim> {
        let mut work = self.begin_rows().await?;
        let claimed = match work.claim(id, dispatch, worker).await {
            // Another node took another job of the same user at the same moment.
            Err(BoardError::Store(StoreError::Unique(_) | StoreError::Raced(_))) => {
                return Ok(Claim::Skipped(USER_IS_BUSY));
            }
            claimed => claimed?,
        };
        if let Some(job) = claimed {
            work.commit().await?;
            self.job_counts.claimed(&job);
            return Ok(Claim::Taken(Box::new(job)));
        }
        let reason = match store::jobs::find(&mut work.tx, id).await? {
            None => "there is no such job",
            Some(mut job) => match job.status {
                JobStatus::Running => "somebody is working on it",
                JobStatus::Completed | JobStatus::FailedTerminal | JobStatus::Canceled => {
                    "it is over"
                }
                JobStatus::Pending if job.deadline_at <= work.now => {
                    work.expire_job(&mut job, domain::job::event::source::EXECUTOR)
                        .await?;
                    "its deadline has passed"
                }
                JobStatus::Pending if job.next_retry_at > work.now => "it is not due yet",
                JobStatus::Pending => USER_IS_BUSY,
            },
        };
        work.commit().await?;
        Ok(Claim::Skipped(reason))
    }

    /// Takes up to `limit` due jobs, in order of priority and age; of one user one at a time.
    pub async fn job_claim_next(&self, worker: &str, limit: i64) -> Result<Vec<Job>> {
        // Most wake-ups find nothing; a look costs less than a turn to write.
        let now = self.clock.now();
        if limit <= 0 || !store::jobs::any_due(&mut self.snapshot().await?, now).await? {
            return Ok(Vec::new());
        }
        let worker = worker.to_owned();
        match self.ask(Ask::Claim { worker, limit }).await? {
            Got::Claimed(jobs) => Ok(jobs),
            Got::Enqueued(_) | Got::Ended(_) => Err(lost()),
        }
    }

    /// When something happens next by itself: a job becomes due, a lease is over, a notice is to be tried. What is due already
    /// and waits for its user's other job is not among it; that job's end wakes.
    pub async fn job_next_due(&self) -> Result<Option<Timestamp>> {
        Ok(store::jobs::next_due(&mut self.snapshot().await?, self.clock.now()).await?)
    }

    /// Prolongs a run's lease.
    pub async fn job_renew(&self, job: &Job) -> Result<Renewal> {
        let mut work = self.begin_rows().await?;
        let until = work.now.plus_millis(self.settings.jobs.lease_ms);
        let now = work.now;
        let token = job.lease_token.clone().unwrap_or_default();
        let renewed = store::jobs::renew(&mut work.tx, job.id, &token, now, until).await?;
        work.commit().await?;
        Ok(match renewed {
            Some(false) => Renewal::Held,
            Some(true) => Renewal::Cancel,
            None => Renewal::Lost,
        })
    }

    /// Runs of a worker whose owners do not want the answer any more, whoever said so and on whichever node.
    pub async fn job_cancels(&self, worker: &str) -> Result<Vec<JobId>> {
        Ok(store::jobs::to_cancel(&mut self.snapshot().await?, worker).await?)
    }

    /// A run noticed that its lease is lost. The timeline says so; nothing else happens.
    pub async fn job_claim_lost(&self, job: &Job) -> Result<()> {
        let mut work = self.begin_rows().await?;
        if store::jobs::find(&mut work.tx, job.id).await?.is_some() {
            let entry = by_executor(JobEventType::ClaimLost)
                .with(json!({"attemptCount": job.attempt_count, "workerId": job.worker_id}));
            work.job_event(job.id, entry).await?;
        }
        work.commit().await
    }

    /// Whether the run may still act; looked at right before something leaves.
    pub async fn job_check(&self, job: &Job) -> Result<Renewal> {
        let mut db = self.snapshot().await?;
        let now = self.clock.now();
        Ok(match store::jobs::find(&mut db, job.id).await? {
            Some(row)
                if is_held(&row, job) && row.lease_expires_at.is_some_and(|until| until > now) =>
            {
                if row.cancel_requested_at.is_some() {
                    Renewal::Cancel
                } else {
                    Renewal::Held
                }
            }
            Some(_) | None => Renewal::Lost,
        })
    }
}

/// Whether the row still belongs to the run that read `job`.
pub(super) fn is_held(row: &Job, job: &Job) -> bool {
    row.status == JobStatus::Running
        && row.lease_token.is_some()
        && row.lease_token == job.lease_token
}

impl Work {
    async fn claim(
        &mut self,
        id: JobId,
        dispatch: Option<i64>,
        worker: &str,
    ) -> Result<Option<Job>> {
        let token = digest::hex(&random::<16>()?);
        let lease = self.lease(&token, worker);
        let job = store::jobs::claim(&mut self.tx, id, dispatch, &lease).await?;
        if let Some(job) = &job {
            self.began(std::slice::from_ref(job), worker).await?;
        }
        Ok(job)
    }

    /// Takes up to `limit` due jobs, of one user one.
    pub(super) async fn claim_next(&mut self, worker: &str, limit: i64) -> Result<Claimed> {
        let (now, age_ms) = (self.now, self.settings.jobs.age_ms);
        let mut users = HashSet::new();
        let mut wanted = store::jobs::next_claimable(&mut self.tx, now, age_ms, limit).await?;
        wanted.retain(|job| users.insert(job.user_id.clone()));
        let wanted: Vec<JobId> = wanted.into_iter().map(|job| job.id).collect();
        // One token for all: it fences each of its jobs, none of which has had it before.
        let token = digest::hex(&random::<16>()?);
        let lease = self.lease(&token, worker);
        let mut jobs = store::jobs::claim_all(&mut self.tx, &wanted, &lease).await?;
        let place = |job: &Job| wanted.iter().position(|id| *id == job.id);
        jobs.sort_by_key(place);
        if jobs.len() < wanted.len() {
            let taken: HashSet<JobId> = jobs.iter().map(|job| job.id).collect();
            for id in wanted.iter().filter(|id| !taken.contains(id)) {
                if let Some(mut job) = store::jobs::find(&mut self.tx, *id).await?
                    && job.status == JobStatus::Pending
                    && job.deadline_at <= now
                {
                    // It would stand at the head for ever.
                    self.expire_job(&mut job, domain::job::event::source::EXECUTOR)
                        .await?;
                }
            }
        }
        self.began(&jobs, worker).await?;
        Ok(Claimed(jobs))
    }

    fn lease<'a>(&self, token: &'a str, worker: &'a str) -> Lease<'a> {
        Lease {
            token,
            worker,
            now: self.now,
            until: self.now.plus_millis(self.settings.jobs.lease_ms),
        }
    }

    async fn began(&mut self, jobs: &[Job], worker: &str) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        store::job_attempts::begin_all(&mut self.tx, jobs, worker, self.now).await?;
        let mut entries = Vec::with_capacity(2 * jobs.len());
        for job in jobs {
            let running = by_executor(JobEventType::Running)
                .with(json!({"attemptCount": job.attempt_count, "workerId": worker}));
            entries.push((job.id, running));
            // A run that finds an answer goes on with its delivery; nothing is generated a second time.
            let next = match job.phase {
                Phase::Generate => by_executor(JobEventType::Executing),
                Phase::Deliver => {
                    by_executor(JobEventType::Delivering).with(json!({"resumed": true}))
                }
            };
            entries.push((job.id, next));
        }
        self.job_events(&entries).await
    }

    /// The row of a run, if its lease still holds.
    pub(super) async fn held(&mut self, job: &Job) -> Result<Option<Job>> {
        let row = store::jobs::find(&mut self.tx, job.id).await?;
        Ok(row.filter(|row| is_held(row, job)))
    }

    /// Commits and says whether the lease held.
    pub(super) async fn finish(self, held: bool) -> Result<Held> {
        if held {
            self.commit().await?;
            return Ok(Held::Yes);
        }
        // Dropped: what was written beside the guard goes too.
        drop(self);
        Ok(Held::Lost)
    }
}
