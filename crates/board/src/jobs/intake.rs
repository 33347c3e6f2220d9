//! A message becomes a job: once, however often it is handed in.

use super::line::{Ask, Got, lost};
use super::outcome::{Accepted, New};
use crate::random::random;
use crate::transition::Work;
use crate::{Board, Result};
use domain::error::Refusal;
use domain::job::event::{JobEventType, NewJobEvent};
use domain::job::intake::{CorrelationId, DEADLINE_MS, Intake};
use domain::job::row::JobMetadata;
use domain::job::{Job, JobId, JobStatus, Phase};
use serde_json::json;

impl New {
    pub(super) const fn hinted(intake: Intake) -> Self {
        Self {
            intake,
            hint: Ok(()),
            retry_of: None,
        }
    }
}

impl Board {
    /// Stores a job. `hint` says whether a place for its hint was had; either way the job is worked on.
    pub async fn job_enqueue(
        &self,
        intake: Intake,
        hint: std::result::Result<(), String>,
    ) -> Result<Accepted> {
        let new = New {
            hint,
            ..New::hinted(intake)
        };
        match self.ask(Ask::Enqueue(Box::new(new))).await? {
            Got::Enqueued(accepted) => Ok(accepted),
            Got::Claimed(_) | Got::Ended(_) => Err(lost()),
        }
    }

    /// Stores many jobs in one transaction, in their order.
    pub async fn jobs_enqueue(&self, intakes: Vec<Intake>) -> Result<Vec<Accepted>> {
        let mut work = self.begin_rows().await?;
        let accepted = work
            .enqueue_all(intakes.into_iter().map(New::hinted).collect())
            .await?;
        work.commit().await?;
        Ok(accepted)
    }
}

impl Work {
    /// Makes jobs of messages, in their order; of one that has a job already, that one.
    pub(super) async fn enqueue_all(&mut self, news: Vec<New>) -> Result<Vec<Accepted>> {
        if news.is_empty() {
            return Ok(Vec::new());
        }
        let hints: Vec<_> = news.iter().map(|new| new.hint.clone()).collect();
        let jobs = news
            .into_iter()
            .map(|new| self.new_job(new.intake, new.retry_of))
            .collect::<Result<Vec<Job>>>()?;
        let numbers = store::jobs::insert_all(&mut self.tx, &jobs).await?;
        let mut entries = Vec::new();
        let mut accepted = Vec::with_capacity(jobs.len());
        for ((job, number), hint) in jobs.iter().zip(numbers).zip(hints) {
            let Some(id) = number else {
                accepted.push(self.first_of(job).await?);
                continue;
            };
            entries.push((id, queued(job)));
            entries.push((id, submitted(job, hint)));
            accepted.push(Accepted {
                job_id: id,
                correlation_id: job.correlation_id.clone(),
                duplicate: false,
            });
        }
        self.job_events(&entries).await?;
        Ok(accepted)
    }

    fn new_job(&self, intake: Intake, retry_of: Option<JobId>) -> Result<Job> {
        let intake = intake.clamped();
        let now = self.now;
        Ok(Job {
            id: JobId::none(),
            correlation_id: CorrelationId::new(now, random()?).into_string(),
            status: JobStatus::Pending,
            phase: Phase::Generate,
            guild_id: intake.guild_id(),
            unique_key: intake.unique_key(),
            metadata: JobMetadata {
                requested_at: Some(now),
                max_tool_iterations: intake.max_tool_iterations,
                is_super_admin: intake.is_super_admin,
                retry_of: retry_of.map(|job| job.0),
            },
            source: intake.source,
            user_id: intake.user_id,
            user_name: intake.user_name,
            request_text: intake.content,
            history: intake.history,
            managed_guilds: intake.managed_guilds,
            selected_guild: intake.selected_guild,
            target: intake.target,
            provider_chain: intake.provider_chain,
            priority: intake.priority,
            queue: intake.queue,
            timeout_seconds: intake.timeout_seconds,
            max_attempts: intake.max_attempts,
            attempt_count: 0,
            delivery_attempts: 0,
            stale_count: 0,
            next_retry_at: now,
            deadline_at: now.plus_millis(DEADLINE_MS),
            started_at: None,
            first_started_at: None,
            completed_at: None,
            last_error: None,
            last_error_class: None,
            last_retry_decision: None,
            lease_token: None,
            lease_expires_at: None,
            heartbeat_at: None,
            worker_id: None,
            cancel_requested_at: None,
            requeue_count: 0,
            requeue_tries: 0,
            dispatch_no: 0,
            answer: None,
            created_at: now,
            updated_at: now,
        })
    }

    async fn first_of(&mut self, job: &Job) -> Result<Accepted> {
        let key = job.unique_key.as_deref().unwrap_or_default();
        let first = store::jobs::find_by_unique_key(&mut self.tx, key)
            .await?
            .ok_or_else(|| {
                Refusal::conflict("the message's job was just removed: send it again")
            })?;
        Ok(Accepted {
            job_id: first.id,
            correlation_id: first.correlation_id,
            duplicate: true,
        })
    }
}

fn queued(job: &Job) -> NewJobEvent {
    NewJobEvent::new(JobEventType::Queued, job.source.clone()).with(json!({
        "correlationId": job.correlation_id,
        "maxAttempts": job.max_attempts,
        "timeoutSeconds": job.timeout_seconds,
        "retryOf": job.metadata.retry_of,
    }))
}

fn submitted(job: &Job, hint: std::result::Result<(), String>) -> NewJobEvent {
    match hint {
        Ok(()) => NewJobEvent::new(JobEventType::Enqueued, job.source.clone()),
        Err(error) => NewJobEvent::new(JobEventType::QueueSubmitFailed, job.source.clone())
            .with(json!({"error": error})),
    }
}
