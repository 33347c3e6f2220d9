//! A message becomes a job: once, however often it is handed in.

use crate::transition::Work;
use crate::{Board, BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use domain::job::event::{JobEventType, NewJobEvent};
use domain::job::intake::{CorrelationId, DEADLINE_MS, Intake};
use domain::job::row::JobMetadata;
use domain::job::{Job, JobId, JobStatus, Phase};
use rand::TryRng;
use serde_json::json;

/// A job that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its number.
    pub job_id: JobId,
    /// What the user is told.
    pub correlation_id: String,
    /// The message had a job already; this is it.
    pub duplicate: bool,
}

impl Board {
    /// Stores a job. `hint` says whether a place for its hint was had; either way the job is worked on.
    pub async fn job_enqueue(
        &self,
        intake: Intake,
        hint: std::result::Result<(), String>,
    ) -> Result<Accepted> {
        let mut work = self.begin().await?;
        let accepted = work.enqueue(intake, hint, None).await?;
        work.commit().await?;
        Ok(accepted)
    }

    /// Stores many jobs in one transaction, in their order.
    pub async fn jobs_enqueue(&self, intakes: Vec<Intake>) -> Result<Vec<Accepted>> {
        let mut work = self.begin().await?;
        let mut accepted = Vec::with_capacity(intakes.len());
        for intake in intakes {
            accepted.push(work.enqueue(intake, Ok(()), None).await?);
        }
        work.commit().await?;
        Ok(accepted)
    }
}

impl Work {
    pub(super) async fn enqueue(
        &mut self,
        intake: Intake,
        hint: std::result::Result<(), String>,
        retry_of: Option<JobId>,
    ) -> Result<Accepted> {
        let intake = intake.clamped();
        let now = self.now;
        let job = Job {
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
        };
        let Some(id) = store::jobs::insert(&mut self.tx, &job).await? else {
            return self.first_of(&job).await;
        };
        let queued = NewJobEvent::new(JobEventType::Queued, job.source.clone()).with(json!({
            "correlationId": job.correlation_id,
            "maxAttempts": job.max_attempts,
            "timeoutSeconds": job.timeout_seconds,
            "retryOf": job.metadata.retry_of,
        }));
        self.job_event(id, queued).await?;
        let submitted = match hint {
            Ok(()) => NewJobEvent::new(JobEventType::Enqueued, job.source.clone()),
            Err(error) => NewJobEvent::new(JobEventType::QueueSubmitFailed, job.source.clone())
                .with(json!({"error": error})),
        };
        self.job_event(id, submitted).await?;
        Ok(Accepted {
            job_id: id,
            correlation_id: job.correlation_id,
            duplicate: false,
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

/// Random bytes of the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|_error| {
            BoardError::Refused(Refusal::new(
                ErrorCode::Internal,
                "the operating system gave no random bytes: try again",
            ))
        })?;
    Ok(bytes)
}
