//! What nobody does any more is brought into order: runs without a worker, jobs without a hint, jobs that are long over.
//!
//! All of it is harmless to repeat. Writers take turns on both engines (`store`), so two nodes that sweep at once sweep one after
//! the other, and the second finds nothing left: the turn is the leader's lock.

use super::transition::by_watchdog;
use crate::transition::Work;
use crate::{Board, Result};
use domain::job::event::source;
use domain::job::requeue::{self, SWEEP_BATCH};
use domain::job::retry::{MAX_DELIVERY_ATTEMPTS, STALE_DELAY_MS};
use domain::job::view::{Hint, HintKind, Recovered, Swept};
use domain::job::{ErrorClass, Job, JobCommand, JobEventType, JobStatus, Phase};
use serde_json::json;

/// Rows that one round of housekeeping removes at most, so that nobody waits long for a turn to write.
const HOUSEKEEPING_BATCH: i64 = 500;

impl Board {
    /// Runs whose lease is over: they wait again, or are given up.
    pub async fn job_recover_expired(&self) -> Result<Recovered> {
        let now = self.clock.now();
        if store::jobs::expired(&mut self.snapshot().await?, now, 1)
            .await?
            .is_empty()
        {
            return Ok(Recovered::default());
        }
        let mut work = self.begin().await?;
        let recovered = work.recover_expired().await?;
        work.commit().await?;
        Ok(recovered)
    }

    /// At the start of a worker: what it held before, it no longer works on.
    pub async fn job_recover_own(&self, worker: &str) -> Result<Recovered> {
        let mut work = self.begin().await?;
        let held = store::jobs::held_by(&mut work.tx, worker).await?;
        let recovered = work.recover_jobs(held).await?;
        work.commit().await?;
        Ok(recovered)
    }

    /// One sweep. With `submit`, which has a place in a queue or says why not, hints of due jobs are repeated, ever more rarely,
    /// and a job that nobody ever takes is given up; without it a scheduler takes what is due, and there is nothing to repeat.
    pub async fn job_sweep(
        &self,
        submit: Option<&mut (dyn FnMut(Hint) -> std::result::Result<(), String> + Send)>,
    ) -> Result<Swept> {
        let mut work = self.begin().await?;
        let mut swept = Swept {
            ok: true,
            recovered: work.recover_expired().await?,
            ..Swept::default()
        };
        let now = work.now;
        let due = store::jobs::due(&mut work.tx, now, SWEEP_BATCH).await?;
        swept.pending_due = due.len();
        let mut hints = Vec::new();
        let mut submit = submit;
        for mut job in due {
            if job.deadline_at <= now {
                work.expire_job(&mut job, source::WATCHDOG).await?;
                continue;
            }
            let Some(submit) = submit.as_mut() else {
                continue;
            };
            if requeue::is_capped(job.requeue_count) {
                work.cap(&mut job).await?;
                swept.capped_count += 1;
                continue;
            }
            let hint = Hint {
                kind: HintKind::JobDue,
                job_id: Some(job.id),
                correlation_id: Some(job.correlation_id.clone()),
                dispatch: Some(job.dispatch_no + 1),
            };
            let outcome = submit(hint.clone());
            match &outcome {
                Ok(()) => {
                    swept.queued_count += 1;
                    hints.push(hint);
                }
                Err(_) => swept.queue_errors += 1,
            }
            work.requeue(&mut job, outcome).await?;
            swept.deferred_count += 1;
        }
        work.commit().await?;
        self.job_counts.swept(&swept);
        Ok(swept)
    }

    /// Empties and removes what has been over for long enough; says how many jobs were removed.
    pub async fn job_housekeeping(&self) -> Result<u64> {
        let settings = &self.settings.jobs;
        let mut removed = 0;
        let mut work = self.begin().await?;
        let now = work.now;
        store::jobs::redact(
            &mut work.tx,
            now.plus_millis(-settings.text_kept_ms),
            now,
            HOUSEKEEPING_BATCH,
        )
        .await?;
        for (status, kept_ms) in [
            (JobStatus::Completed, settings.completed_kept_ms),
            (JobStatus::Canceled, settings.completed_kept_ms),
            (JobStatus::FailedTerminal, settings.failed_kept_ms),
        ] {
            removed += store::jobs::prune(
                &mut work.tx,
                status,
                now.plus_millis(-kept_ms),
                HOUSEKEEPING_BATCH,
            )
            .await?;
        }
        work.commit().await?;
        Ok(removed)
    }
}

impl Work {
    async fn recover_expired(&mut self) -> Result<Recovered> {
        let now = self.now;
        let expired = store::jobs::expired(&mut self.tx, now, SWEEP_BATCH).await?;
        self.recover_jobs(expired).await
    }

    async fn recover_jobs(&mut self, jobs: Vec<Job>) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        for mut job in jobs {
            if self.recover_job(&mut job).await? {
                recovered.recovered += 1;
            } else {
                recovered.failed += 1;
            }
        }
        Ok(recovered)
    }

    /// A run without a worker: true when it waits again.
    async fn recover_job(&mut self, job: &mut Job) -> Result<bool> {
        let facts = json!({
            "attemptCount": job.attempt_count,
            "startedAt": job.started_at,
            "workerId": job.worker_id,
        });
        if job.cancel_requested_at.is_some() {
            self.job(
                job,
                JobCommand::FinishCancel,
                by_watchdog(JobEventType::Canceled).with(facts),
            )
            .await?;
            return Ok(true);
        }
        job.stale_count += 1;
        if job.phase == Phase::Deliver {
            // The answer is paid for: what is counted is tries to deliver it.
            job.attempt_count = (job.attempt_count - 1).max(0);
            job.delivery_attempts += 1;
        }
        let exhausted = match job.phase {
            Phase::Generate => job.attempt_count >= job.max_attempts,
            Phase::Deliver => job.delivery_attempts >= MAX_DELIVERY_ATTEMPTS,
        };
        if exhausted || job.stale_count >= self.settings.jobs.max_stale {
            let why = if exhausted {
                "its worker vanished and no attempt is left"
            } else {
                "its workers vanished too often"
            };
            job.last_error.get_or_insert_with(|| why.to_owned());
            job.last_error_class.get_or_insert(ErrorClass::Unknown);
            let entry = by_watchdog(JobEventType::FailedTerminal)
                .says(why)
                .with(json!({"error": why, "staleCount": job.stale_count}));
            self.job(job, JobCommand::Fail, entry).await?;
            return Ok(false);
        }
        job.next_retry_at = self.now.plus_millis(STALE_DELAY_MS);
        let entry = by_watchdog(JobEventType::StaleRecovered).with(facts);
        self.job(job, JobCommand::Recover, entry).await
    }

    /// A hint was repeated, or refused; either way the next one waits.
    async fn requeue(
        &mut self,
        job: &mut Job,
        outcome: std::result::Result<(), String>,
    ) -> Result<()> {
        let minutes = requeue::defer_minutes(job.requeue_tries);
        job.requeue_tries += 1;
        job.next_retry_at = self.now.plus_millis(minutes * 60_000);
        let entry = match outcome {
            Ok(()) => {
                job.requeue_count += 1;
                job.dispatch_no += 1;
                by_watchdog(JobEventType::Requeued).with(json!({
                    "requeues": job.requeue_count, "next_retry_in_minutes": minutes, "dispatch": job.dispatch_no,
                }))
            }
            // Counted for the wait and not for the cap: a queue that is down must not end jobs.
            Err(error) => by_watchdog(JobEventType::RequeueFailed)
                .with(json!({"error": error, "next_retry_in_minutes": minutes})),
        };
        if self.save_job(job, JobStatus::Pending, None).await? {
            self.job_event(job.id, entry).await?;
        }
        Ok(())
    }

    async fn cap(&mut self, job: &mut Job) -> Result<()> {
        job.last_error
            .get_or_insert_with(|| "nobody was there to work on the request".to_owned());
        job.last_error_class.get_or_insert(ErrorClass::Unknown);
        let entry = by_watchdog(JobEventType::RequeueCapped).with(json!({
            "requeues": job.requeue_count, "error": "requeue_capped",
        }));
        self.job(job, JobCommand::Cap, entry).await?;
        Ok(())
    }
}
