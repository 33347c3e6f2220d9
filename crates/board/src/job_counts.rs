//! Numbers for metrics: what happened in this process is counted in memory, what there is comes from the database.

use crate::{Board, Result};
use domain::job::view::Swept;
use domain::job::{ErrorClass, Job, JobEventType, JobStatus, Usage};
use domain::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What happened to jobs in this process.
#[derive(Debug, Default)]
pub struct JobCounts(Mutex<JobStats>);

/// Numbers at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobStats {
    /// Entries of timelines, by type.
    pub events: BTreeMap<JobEventType, u64>,
    /// Runs that failed and are tried again, by class.
    pub retries: BTreeMap<ErrorClass, u64>,
    /// Runs that failed for good, by class.
    pub failures: BTreeMap<ErrorClass, u64>,
    /// Claims, and milliseconds between due time and claim.
    pub claims: (u64, u64),
    /// Jobs completed, and milliseconds from their first run to the end.
    pub completions: (u64, u64),
    /// Attempts of completed jobs.
    pub attempts: u64,
    /// Answers generated.
    pub answers: u64,
    /// Answers that say that nothing was done.
    pub actions_not_performed: u64,
    /// Times the action guard asked for another turn.
    pub guard_retries: u64,
    /// Tokens read and written by models.
    pub tokens: (u64, u64),
    /// Hints that were refused in sweeps.
    pub queue_errors: u64,
    /// Jobs there are, by status.
    pub jobs: Vec<(JobStatus, i64)>,
    /// How long the longest due job has been due, in milliseconds.
    pub oldest_due_ms: i64,
}

/// What a transaction did to jobs, for whoever is told after its commit.
#[derive(Debug)]
pub(crate) struct JobNotes {
    counts: Arc<JobCounts>,
    events: Vec<JobEventType>,
}

impl JobNotes {
    pub(crate) const fn new(counts: Arc<JobCounts>) -> Self {
        Self {
            counts,
            events: Vec::new(),
        }
    }

    /// Something was put on a job's timeline.
    pub(crate) fn event(&mut self, event: JobEventType) {
        self.events.push(event);
    }

    /// After the commit: counts what happened, and says whether anything did.
    pub(crate) fn committed(&self) -> bool {
        for event in &self.events {
            self.counts.event(*event);
        }
        !self.events.is_empty()
    }
}

impl JobCounts {
    fn change(&self, change: impl FnOnce(&mut JobStats)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn event(&self, event: JobEventType) {
        self.change(|stats| *stats.events.entry(event).or_default() += 1);
    }

    pub(crate) fn claimed(&self, job: &Job) {
        // A claim sets the due time to its own; what it waited for is in when it was made or last written.
        let waited = job.started_at.map_or(0, |at| at.since(job.created_at));
        if job.attempt_count == 1 {
            self.change(|stats| add(&mut stats.claims, waited));
        }
    }

    pub(crate) fn generated(&self, usage: &Usage, action_not_performed: bool) {
        self.change(|stats| {
            stats.answers += 1;
            stats.actions_not_performed += u64::from(action_not_performed);
            stats.guard_retries += count(usage.guard_retries);
            stats.tokens.0 += count(usage.input_tokens);
            stats.tokens.1 += count(usage.output_tokens);
        });
    }

    pub(crate) fn completed(&self, job: &Job, now: Timestamp) {
        let took = job.first_started_at.map_or(0, |at| now.since(at));
        self.change(|stats| {
            add(&mut stats.completions, took);
            stats.attempts += count(job.attempt_count);
        });
    }

    pub(crate) fn failed(&self, class: ErrorClass, retry: bool) {
        self.change(|stats| {
            let classes = if retry {
                &mut stats.retries
            } else {
                &mut stats.failures
            };
            *classes.entry(class).or_default() += 1;
        });
    }

    pub(crate) fn swept(&self, swept: &Swept) {
        self.change(|stats| {
            stats.queue_errors += u64::try_from(swept.queue_errors).unwrap_or_default();
        });
    }
}

fn add(sum: &mut (u64, u64), millis: i64) {
    sum.0 += 1;
    sum.1 += count(millis);
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

impl Board {
    /// What happened to jobs here, and what there is.
    pub async fn job_stats(&self) -> Result<JobStats> {
        let mut stats = self
            .job_counts
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut db = self.snapshot().await?;
        let now = self.clock.now();
        stats.jobs = store::job_views::count_by_status(&mut db).await?;
        stats.oldest_due_ms = store::job_views::oldest_due(&mut db, now)
            .await?
            .map_or(0, |due| now.since(due));
        Ok(stats)
    }
}
