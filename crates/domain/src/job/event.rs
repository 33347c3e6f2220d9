//! The timeline: what can stand on it, written by whom, at which step.
//!
//! Entries are only ever appended, in the transaction of the change they tell of. Their metadata holds numbers and words, never
//! prompt text or a secret.

use super::id::JobId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// What happened to a job.
    JobEventType("event_type") {
        /// The row was made.
        Queued = "job.queued",
        /// The hint was taken.
        Enqueued = "job.enqueued",
        /// The hint was not taken; the scheduler finds the row all the same.
        QueueSubmitFailed = "job.queue_submit_failed",
        /// A worker has it.
        Running = "job.running",
        /// The model is about to be asked.
        Executing = "job.executing",
        /// The model asked for a tool, which is about to run.
        ToolCalled = "job.tool_called",
        /// The answer is stored and about to be sent.
        Delivering = "job.delivering",
        /// The answer was sent.
        Completed = "job.completed",
        /// It failed and is tried again.
        RetryScheduled = "job.retry_scheduled",
        /// It was given up.
        FailedTerminal = "job.failed_terminal",
        /// The watchdog repeated the hint.
        Requeued = "job.requeued",
        /// The watchdog could not repeat the hint.
        RequeueFailed = "job.requeue_failed",
        /// The hint was repeated as often as may be.
        RequeueCapped = "job.requeue_capped",
        /// The user's own runner has it now.
        RunnerFallbackDispatched = "job.runner_fallback_dispatched",
        /// The user's own runner did not take it.
        RunnerFallbackFailed = "job.runner_fallback_failed",
        /// Its worker was gone, and it waits again.
        StaleRecovered = "job.stale_recovered",
        /// The answer is there and could not be sent.
        DeliveryFailed = "job.delivery_failed",
        /// It waits longer, without a failure.
        Snoozed = "job.snoozed",
        /// Its owner or an operator ended it.
        Canceled = "job.canceled",
        /// A worker came back after it had lost the job, and did nothing.
        ClaimLost = "job.claim_lost",
        /// An operator had it done again, as a new job.
        ManualRetry = "job.manual_retry",
        /// What it had previewed was agreed to by a button, and was carried out.
        Confirmed = "job.confirmed",
        /// What it had previewed is not wanted.
        Declined = "job.declined",
    }
}

/// Sources of entries.
pub mod source {
    /// The intake.
    pub const GATEWAY: &str = "gateway_dm";
    /// The in-app conversation.
    pub const IN_APP: &str = "in_app";
    /// Whoever carries the job out.
    pub const EXECUTOR: &str = "autopilot_executor";
    /// The sweep.
    pub const WATCHDOG: &str = "autopilot_watchdog";
    /// A person at the board.
    pub const OPERATOR: &str = "operator";
    /// The job's owner.
    pub const OWNER: &str = "owner";
}

impl JobEventType {
    /// The step an entry stands for.
    #[must_use]
    pub const fn step(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Enqueued | Self::QueueSubmitFailed => "queue_submit",
            Self::Running => "execution_started",
            Self::Executing => "generate_response",
            Self::ToolCalled => "tool_call",
            Self::Delivering | Self::DeliveryFailed => "deliver_dm",
            Self::Completed => "completed",
            Self::RetryScheduled => "retry_scheduled",
            Self::FailedTerminal => "failed_terminal",
            Self::Requeued | Self::RequeueFailed | Self::RequeueCapped => "sweep_requeue",
            Self::RunnerFallbackDispatched | Self::RunnerFallbackFailed => "runner_fallback",
            Self::StaleRecovered => "stale_recovery",
            Self::Snoozed => "snoozed",
            Self::Canceled => "canceled",
            Self::ClaimLost => "claim_lost",
            Self::ManualRetry => "manual_retry",
            Self::Confirmed | Self::Declined => "consent",
        }
    }
}

/// An entry that is to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJobEvent {
    /// What happened.
    pub event_type: JobEventType,
    /// Who says so; see [`source`].
    pub source: String,
    /// A sentence for people, if there is more to say than the type does.
    pub message: Option<String>,
    /// Particulars.
    pub metadata: Option<Value>,
}

impl NewJobEvent {
    /// An entry without particulars.
    pub fn new(event_type: JobEventType, source: impl Into<String>) -> Self {
        Self {
            event_type,
            source: source.into(),
            message: None,
            metadata: None,
        }
    }

    /// With a sentence.
    #[must_use]
    pub fn says(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// With particulars.
    #[must_use]
    pub fn with(mut self, metadata: Value) -> Self {
        self.metadata = Some(metadata);
        self
    }
}

/// An entry of a job's timeline; its wire form too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobEvent {
    /// Grows with the order of commits.
    pub id: i64,
    /// Whose timeline.
    #[serde(skip, default = "JobId::none")]
    pub job_id: JobId,
    /// What happened.
    pub event_type: JobEventType,
    /// Who says so.
    pub source: String,
    /// The step it belongs to.
    pub step: Option<String>,
    /// A sentence for people.
    pub message: Option<String>,
    /// Particulars, as JSON and not as text.
    pub metadata_json: Option<Value>,
    /// When.
    pub created_at: Timestamp,
}
