//! The only writer of a job's status: rule, row, timeline, and what hangs on an end, in one transaction.

use crate::Result;
use crate::transition::Work;
use domain::digest::sha256_hex;
use domain::job::event::{NewJobEvent, source};
use domain::job::{
    Delivery, DeliveryKind, ErrorClass, Job, JobCommand, JobEventType, JobId, JobStatus, chunk,
    reply, status,
};
use domain::time::Timestamp;
use serde_json::json;
use std::collections::HashSet;
use store::Write;

impl Work {
    /// Appends to a job's timeline.
    pub(super) async fn job_event(&mut self, job: JobId, event: NewJobEvent) -> Result<()> {
        store::job_events::append(&mut self.tx, job, &event, self.now).await?;
        self.job_notes.event(event.event_type);
        Ok(())
    }

    /// Appends to jobs' timelines, in this order.
    pub(super) async fn job_events(&mut self, entries: &[(JobId, NewJobEvent)]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let told: Vec<_> = entries.iter().map(|(job, entry)| (*job, entry)).collect();
        store::job_events::append_all(&mut self.tx, &told, self.now).await?;
        for (_, entry) in entries {
            self.job_notes.event(entry.event_type);
        }
        Ok(())
    }

    /// Completes runs whose leases still hold, and says which did. What an answer was is known to its run: it alone may have
    /// written it since. No job may be among them twice.
    pub(super) async fn complete_all(&mut self, jobs: &[&Job]) -> Result<HashSet<JobId>> {
        if jobs.is_empty() {
            return Ok(HashSet::new());
        }
        let transition = status::decide(JobStatus::Running, JobCommand::Complete)?;
        let runs: Vec<(JobId, &str)> = jobs
            .iter()
            .filter_map(|job| Some((job.id, job.lease_token.as_deref()?)))
            .collect();
        let ended = store::jobs::end_runs(&mut self.tx, &runs, transition.next, self.now).await?;
        let outcome = transition.events.last().map_or("", |event| event.as_str());
        store::job_attempts::end_all(&mut self.tx, &ended, outcome, self.now).await?;
        let ended: HashSet<JobId> = ended.into_iter().collect();
        let mut entries = Vec::with_capacity(ended.len());
        for job in jobs.iter().filter(|job| ended.contains(&job.id)) {
            let answer = job.answer.as_ref();
            let particulars = json!({
                "toolsUsed": answer.map_or(&[][..], |answer| &answer.tools_used),
                "responseLength": answer.map_or(0, |answer| answer.text.chars().count()),
            });
            for event in transition.events {
                entries.push((job.id, by_executor(*event).with(particulars.clone())));
            }
        }
        self.job_events(&entries).await?;
        Ok(ended)
    }

    /// Writes a job that was read as it stands in `was`, if nobody was there meanwhile.
    pub(super) async fn save_job(
        &mut self,
        job: &mut Job,
        was: JobStatus,
        token: Option<&str>,
    ) -> Result<bool> {
        job.updated_at = self.now;
        Ok(store::jobs::update(&mut self.tx, job, was, token).await? == Write::Changed)
    }

    /// Applies a command. The entry for the last event of the transition is `entry`; one before it gets no particulars but its
    /// own. False when the job was not as read: then nothing was written.
    pub(super) async fn job(
        &mut self,
        job: &mut Job,
        command: JobCommand,
        entry: NewJobEvent,
    ) -> Result<bool> {
        let transition = status::decide(job.status, command)?;
        if !transition.is_change() {
            return Ok(true);
        }
        let was = job.status;
        let token = job.lease_token.take();
        job.status = transition.next;
        job.lease_expires_at = None;
        job.heartbeat_at = None;
        job.worker_id = None;
        match job.status {
            JobStatus::Pending => job.started_at = None,
            JobStatus::Completed => {
                job.completed_at = Some(self.now);
                job.last_error = None;
                job.last_error_class = None;
            }
            JobStatus::FailedTerminal => {
                job.completed_at = Some(self.now);
                job.started_at = None;
            }
            JobStatus::Canceled => job.started_at = None,
            JobStatus::Running => {}
        }
        if !self.save_job(job, was, token.as_deref()).await? {
            return Ok(false);
        }
        if was == JobStatus::Running {
            let failure = job
                .last_error_class
                .filter(|_| {
                    matches!(
                        command,
                        JobCommand::Retry | JobCommand::Fail | JobCommand::Recover
                    )
                })
                .zip(job.last_error.as_deref());
            let outcome = transition.events.last().map_or("", |event| event.as_str());
            store::job_attempts::end(&mut self.tx, job.id, outcome, failure, self.now).await?;
        }
        for event in transition.events {
            let mut entry = entry.clone();
            entry.event_type = *event;
            self.job_event(job.id, entry).await?;
        }
        if job.status == JobStatus::FailedTerminal {
            self.notify_of_failure(job).await?;
        }
        Ok(true)
    }

    /// The user learns that the job was given up, unless the platform will not take it.
    async fn notify_of_failure(&mut self, job: &Job) -> Result<()> {
        let reaches = job.last_error_class.is_none_or(ErrorClass::reaches_user);
        if !reaches {
            return Ok(());
        }
        let error = job.last_error.as_deref().unwrap_or_default();
        let body = reply::failed(&job.correlation_id, error);
        self.notify(job, &body).await
    }

    /// Has the user told how a job ended without an answer. A row, so that it is sent once the end is durable; whether it arrives
    /// changes nothing.
    pub(super) async fn notify(&mut self, job: &Job, body: &str) -> Result<()> {
        for piece in pieces(job, DeliveryKind::FailureNotice, body, self.now) {
            store::job_deliveries::insert(&mut self.tx, &piece, self.now).await?;
        }
        Ok(())
    }

    /// Gives a job that waits up, since it would come too late.
    pub(super) async fn expire_job(&mut self, job: &mut Job, by: &str) -> Result<bool> {
        job.last_error.get_or_insert_with(|| {
            "the request could not be worked on before its deadline".to_owned()
        });
        let entry = NewJobEvent::new(JobEventType::FailedTerminal, by)
            .with(json!({"error": "deadline_passed", "deadlineAt": job.deadline_at}));
        self.job(job, JobCommand::Expire, entry).await
    }
}

/// A message to the user in pieces. Nonces depend on the job and the place alone, so that every try of a piece has the same.
pub(super) fn pieces(job: &Job, kind: DeliveryKind, text: &str, now: Timestamp) -> Vec<Delivery> {
    (0..)
        .zip(chunk::chunks(text))
        .map(|(chunk_no, body)| Delivery {
            job_id: job.id,
            kind,
            chunk_no,
            body_hash: sha256_hex(&body),
            nonce: sha256_hex(&format!("{}:{kind}:{chunk_no}", job.correlation_id))
                .chars()
                .take(24)
                .collect(),
            body,
            state: domain::job::ChunkState::Waiting,
            attempts: 0,
            platform_message_id: None,
            next_try_at: now,
        })
        .collect()
}

/// The executor's entries.
pub(super) fn by_executor(event: JobEventType) -> NewJobEvent {
    NewJobEvent::new(event, source::EXECUTOR)
}

/// The watchdog's entries.
pub(super) fn by_watchdog(event: JobEventType) -> NewJobEvent {
    NewJobEvent::new(event, source::WATCHDOG)
}
