//! What a run reports: each report one transaction, guarded by the run's lease.

use super::consent::new_confirmation;
use super::line::{Ask, Got, lost};
use super::outcome::Held;
use super::transition::{by_executor, pieces};
use crate::{Board, Result};
use domain::job::retry::{self, RetryDecision, RetryFacts};
use domain::job::{
    Answer, ChunkState, Delivery, DeliveryKind, ErrorClass, Failure, Job, JobCommand, JobEventType,
    JobStatus, Phase, reply,
};
use domain::time::Timestamp;
use serde_json::json;
use store::Write;

/// What became of a run that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// Whether it was taken.
    pub held: Held,
    /// What was decided.
    pub decision: RetryDecision,
}

impl Board {
    /// The answer is there: it is stored together with the pieces in which it will be sent. From now on no run generates again.
    pub async fn job_generated(&self, job: &mut Job, mut answer: Answer) -> Result<Held> {
        let mut work = self.begin_rows().await?;
        let Some(mut row) = work.held(job).await? else {
            return Ok(Held::Lost);
        };
        let now = work.now;
        if let Some(preview) = &mut answer.pending_confirmation
            && preview.id.is_none()
            && let Some(tool) = preview.confirmation_tool.clone()
        {
            let confirmation = new_confirmation(&row, preview, tool, now);
            preview.id =
                Some(store::job_effects::insert_confirmation(&mut work.tx, &confirmation).await?);
        }
        for piece in pieces(&row, DeliveryKind::Answer, &answer.text, now) {
            store::job_deliveries::insert(&mut work.tx, &piece, now).await?;
        }
        let entry = by_executor(JobEventType::Delivering).with(json!({
            "responseLength": answer.text.chars().count(),
            "toolsUsed": answer.tools_used,
            "actionNotPerformed": answer.action_not_performed,
        }));
        let used = answer.usage.clone();
        let refused = answer.action_not_performed;
        row.answer = Some(answer);
        row.phase = Phase::Deliver;
        let token = row.lease_token.clone();
        let held = work
            .save_job(&mut row, JobStatus::Running, token.as_deref())
            .await?;
        work.job_event(row.id, entry).await?;
        let held = work.finish(held).await?;
        if held == Held::Yes {
            self.job_counts.generated(&used, refused);
            *job = row;
        }
        Ok(held)
    }

    /// The pieces of the answer that have not arrived, in order.
    pub async fn job_pieces(&self, job: &Job) -> Result<Vec<Delivery>> {
        let mut db = self.snapshot().await?;
        let mut pieces =
            store::job_deliveries::of_job(&mut db, job.id, DeliveryKind::Answer).await?;
        pieces.retain(|piece| piece.state == ChunkState::Waiting);
        Ok(pieces)
    }

    /// A piece has arrived. With `last` the job is completed in the same transaction.
    pub async fn job_piece_delivered(
        &self,
        job: &Job,
        piece: &Delivery,
        platform_message_id: &str,
        last: bool,
    ) -> Result<Held> {
        if last {
            let arrived = (piece.clone(), platform_message_id.to_owned());
            return self.complete(job, Some(arrived)).await;
        }
        let mut work = self.begin_rows().await?;
        let held = work.held(job).await?.is_some();
        work.arrived_all(&[&(piece.clone(), platform_message_id.to_owned())])
            .await?;
        work.commit().await?;
        Ok(if held { Held::Yes } else { Held::Lost })
    }

    /// All pieces have arrived.
    pub async fn job_complete(&self, job: &Job) -> Result<Held> {
        self.complete(job, None).await
    }

    async fn complete(&self, job: &Job, arrived: Option<(Delivery, String)>) -> Result<Held> {
        let job = Box::new(job.clone());
        match self.ask(Ask::Complete { job, arrived }).await? {
            Got::Ended(held) => Ok(held),
            Got::Enqueued(_) | Got::Claimed(_) => Err(lost()),
        }
    }

    /// What the rule says about a failure of this run. `jitter` is drawn evenly from -1 to 1.
    #[must_use]
    pub fn job_retry_decision(&self, job: &Job, failure: &Failure, jitter: f64) -> RetryDecision {
        let now = self.clock.now();
        let facts = RetryFacts {
            failure,
            attempt_count: job.attempt_count,
            max_attempts: job.max_attempts,
            budget_start: job.first_started_at.unwrap_or(now),
            now,
            provider_chain: &job.provider_chain,
            jitter,
        };
        match job.phase {
            Phase::Generate => retry::decide(&facts),
            Phase::Deliver => retry::decide_delivery(&RetryFacts {
                attempt_count: job.delivery_attempts + 1,
                ..facts
            }),
        }
    }

    /// The run failed, and `decision` says what follows. A failed delivery costs no attempt: the answer is there, and it alone
    /// is sent again.
    pub async fn job_failed(
        &self,
        job: &Job,
        failure: &Failure,
        decision: RetryDecision,
        chunk: Option<i64>,
    ) -> Result<Failed> {
        let mut work = self.begin_rows().await?;
        let Some(mut row) = work.held(job).await? else {
            return Ok(Failed {
                held: Held::Lost,
                decision,
            });
        };
        row.last_error = Some(reply::kept(&failure.message));
        row.last_error_class = Some(failure.class);
        row.last_retry_decision = serde_json::to_value(&decision).ok();
        if row.phase == Phase::Deliver {
            row.delivery_attempts += 1;
            row.attempt_count = (row.attempt_count - 1).max(0);
            let entry = by_executor(JobEventType::DeliveryFailed)
                .with(json!({"chunk": chunk, "class": failure.class}));
            work.job_event(row.id, entry).await?;
        }
        let held = if decision.retry {
            row.next_retry_at = work.now.plus_millis(decision.next_retry_delay_ms);
            let entry = by_executor(JobEventType::RetryScheduled).with(json!({
                "delaySeconds": decision.next_retry_delay_ms / 1_000,
                "decision": decision,
            }));
            work.job(&mut row, JobCommand::Retry, entry).await?
        } else {
            let entry = by_executor(JobEventType::FailedTerminal).with(json!({
                "error": reply::reason(&failure.message),
                "decision": decision,
            }));
            work.job(&mut row, JobCommand::Fail, entry).await?
        };
        let held = work.finish(held).await?;
        if held == Held::Yes {
            self.job_counts.failed(failure.class, decision.retry);
            if failure.class == ErrorClass::Config {
                tracing::error!(job = %job.id, correlation = job.correlation_id, error = failure.message, "an AI job cannot run with these settings");
            }
        }
        Ok(Failed { held, decision })
    }

    /// The job waits until `until` without having failed; the attempt is given back. Beyond its deadline it is given up.
    pub async fn job_snooze(&self, job: &Job, until: Timestamp, why: &str) -> Result<Held> {
        let mut work = self.begin_rows().await?;
        let Some(mut row) = work.held(job).await? else {
            return Ok(Held::Lost);
        };
        row.attempt_count = (row.attempt_count - 1).max(0);
        let held = if until >= row.deadline_at {
            row.last_error = Some(format!("{why}, and the request has no time left to wait"));
            let entry =
                by_executor(JobEventType::FailedTerminal).with(json!({"error": "deadline_passed"}));
            work.job(&mut row, JobCommand::Fail, entry).await?
        } else {
            row.next_retry_at = until;
            let entry = by_executor(JobEventType::Snoozed)
                .says(why)
                .with(json!({"delaySeconds": until.since(work.now).max(0) / 1_000}));
            work.job(&mut row, JobCommand::Snooze, entry).await?
        };
        work.finish(held).await
    }

    /// The worker shuts down: the job waits again at once, as if this run had never begun.
    pub async fn job_release(&self, job: &Job) -> Result<Held> {
        self.job_snooze(job, self.clock.now(), "its worker shuts down")
            .await
    }

    /// The run saw the wish to cancel and stopped.
    pub async fn job_canceled(&self, job: &Job) -> Result<Held> {
        let mut work = self.begin_rows().await?;
        let Some(mut row) = work.held(job).await? else {
            return Ok(Held::Lost);
        };
        let held = work
            .job(
                &mut row,
                JobCommand::FinishCancel,
                by_executor(JobEventType::Canceled),
            )
            .await?;
        work.finish(held).await
    }

    /// The owner's own runner has the job now; its answer, if any, comes from there, and the user is told so.
    pub async fn job_handed_to_runner(
        &self,
        job: &Job,
        runner: &str,
        runner_job_id: &str,
        decision: &RetryDecision,
    ) -> Result<Held> {
        let mut work = self.begin_rows().await?;
        let Some(row) = work.held(job).await? else {
            return Ok(Held::Lost);
        };
        let entry = by_executor(JobEventType::RunnerFallbackDispatched).with(json!({
            "runner": runner, "runnerJobId": runner_job_id, "decision": decision,
        }));
        work.job_event(row.id, entry).await?;
        let held = work.complete_all(&[&row]).await?.contains(&row.id);
        let told = reply::handed_over(&row.correlation_id, runner);
        work.notify(&row, &told).await?;
        work.finish(held).await
    }

    /// The owner's own runner did not take the job; the usual retry follows.
    pub async fn job_runner_failed(&self, job: &Job, error: &str) -> Result<Held> {
        let mut work = self.begin_rows().await?;
        let held = work.held(job).await?.is_some();
        if held {
            let entry = by_executor(JobEventType::RunnerFallbackFailed)
                .with(json!({"reason": "not_taken", "error": reply::reason(error)}));
            work.job_event(job.id, entry).await?;
        }
        work.finish(held).await
    }
}

impl crate::transition::Work {
    /// Pieces have arrived. What has arrived has arrived, whoever sent it: also a run that lost its job notes it, so that its
    /// successor does not send it again.
    pub(super) async fn arrived_all(&mut self, arrivals: &[&(Delivery, String)]) -> Result<()> {
        for (piece, platform_message_id) in arrivals {
            let _: Write = store::job_deliveries::settle(
                &mut self.tx,
                piece,
                ChunkState::Delivered,
                Some(platform_message_id),
                self.now,
            )
            .await?;
        }
        Ok(())
    }
}
