//! A person ends a job, or has it done again.

use super::outcome::{Accepted, New};
use super::views::load;
use crate::transition::Work;
use crate::{Board, Result};
use domain::error::Refusal;
use domain::job::event::{JobEventType, NewJobEvent, source};
use domain::job::intake::Intake;
use domain::job::view::JobView;
use domain::job::{Job, JobCommand, JobId, JobKey, JobStatus};
use serde_json::json;

/// Who wants a job to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canceller<'a> {
    /// The user of this id: only their own jobs exist for them.
    Owner(&'a str),
    /// An operator at the board.
    Operator,
    /// The holder of the internal key.
    Internal,
}

impl Canceller<'_> {
    /// What stands on the timeline.
    pub(super) fn source(self) -> &'static str {
        match self {
            Self::Owner(_) => source::OWNER,
            Self::Operator => source::OPERATOR,
            Self::Internal => source::GATEWAY,
        }
    }
}

impl Board {
    /// Ends a job: at once while it waits; while it runs the wish is noted, and its run stops at the next checkpoint, drops what
    /// it has, and says nothing to the user. A job that is over is answered as it is.
    pub async fn job_cancel(&self, key: &JobKey, by: Canceller<'_>) -> Result<JobView> {
        let mut work = self.begin_rows().await?;
        let mut job = load(&mut work.tx, key).await?;
        if let Canceller::Owner(user) = by
            && job.user_id != user
        {
            return Err(Refusal::missing("Job not found").into());
        }
        match job.status {
            JobStatus::Running => {
                if job.cancel_requested_at.is_none() {
                    job.cancel_requested_at = Some(work.now);
                    let token = job.lease_token.clone();
                    written(
                        work.save_job(&mut job, JobStatus::Running, token.as_deref())
                            .await?,
                    )?;
                    work.wake_jobs();
                }
            }
            JobStatus::Pending => {
                let entry = NewJobEvent::new(JobEventType::Canceled, by.source());
                written(work.job(&mut job, JobCommand::Cancel, entry).await?)?;
            }
            JobStatus::Completed | JobStatus::FailedTerminal | JobStatus::Canceled => {}
        }
        work.commit().await?;
        Ok(match by {
            Canceller::Owner(_) => JobView::for_owner(job),
            Canceller::Operator | Canceller::Internal => JobView::for_operator(job),
        })
    }

    /// An operator has a job that ended without an answer done again: as a new job that names the old one. Both timelines say so.
    /// Who asks for the same while that job is under way, or has brought the answer, gets that job.
    pub async fn job_retry(
        &self,
        key: &JobKey,
        hint: std::result::Result<(), String>,
    ) -> Result<Accepted> {
        let mut work = self.begin_rows().await?;
        let job = load(&mut work.tx, key).await?;
        match job.status {
            JobStatus::FailedTerminal | JobStatus::Canceled => {}
            JobStatus::Completed => {
                return Err(Refusal::conflict(
                    "the job was completed: its answer has reached the user",
                )
                .into());
            }
            JobStatus::Pending | JobStatus::Running => {
                return Err(Refusal::conflict("the job is not over: it is tried by itself").into());
            }
        }
        let old = job.id;
        // The row is held, so of several who ask at once the second finds the first's job.
        if let Some(accepted) = work.done_again(old).await? {
            return Ok(accepted);
        }
        if job.request_text.is_empty() {
            return Err(Refusal::conflict(
                "the message is not kept any more: the user has to send it again",
            )
            .into());
        }
        let new = New {
            intake: again(job),
            hint,
            retry_of: Some(old),
        };
        let accepted = work.enqueue_all(vec![new]).await?.remove(0);
        let entry = NewJobEvent::new(JobEventType::ManualRetry, source::OPERATOR).with(json!({
            "jobId": accepted.job_id, "correlationId": accepted.correlation_id,
        }));
        work.job_event(old, entry).await?;
        work.commit().await?;
        Ok(accepted)
    }
}

impl Work {
    /// The job that a job was done again as last, unless that ended without an answer too.
    async fn done_again(&mut self, old: JobId) -> Result<Option<Accepted>> {
        let told = store::job_events::last_of(&mut self.tx, old, JobEventType::ManualRetry).await?;
        let Some(id) = told
            .and_then(|told| told.metadata_json)
            .and_then(|particulars| particulars["jobId"].as_i64())
        else {
            return Ok(None);
        };
        let again = store::jobs::find(&mut self.tx, JobId(id)).await?;
        Ok(again
            .filter(|again| {
                matches!(
                    again.status,
                    JobStatus::Pending | JobStatus::Running | JobStatus::Completed
                )
            })
            .map(|again| Accepted {
                job_id: again.id,
                correlation_id: again.correlation_id,
                duplicate: true,
            }))
    }
}

/// The same message once more. It has no key: it is meant to be a second job.
fn again(job: Job) -> Intake {
    Intake {
        source: job.source,
        user_id: job.user_id,
        user_name: job.user_name,
        content: job.request_text,
        history: job.history,
        managed_guilds: job.managed_guilds,
        selected_guild: job.selected_guild,
        provider_chain: job.provider_chain,
        max_tool_iterations: job.metadata.max_tool_iterations,
        is_super_admin: job.metadata.is_super_admin,
        message_id: None,
        target: job.target,
        timeout_seconds: job.timeout_seconds,
        max_attempts: job.max_attempts,
        priority: job.priority,
        queue: job.queue,
    }
}

/// In the transaction that read the row nobody else can have written it.
fn written(saved: bool) -> Result<()> {
    if saved {
        return Ok(());
    }
    Err(Refusal::conflict("the job changed meanwhile: look at it again").into())
}
