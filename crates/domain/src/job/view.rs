//! Jobs on the wire: camelCase and whole numbers as ids (ruling 26).

use super::answer::PendingConfirmation;
use super::effects::{Confirmation, ConsentState};
use super::event::JobEvent;
use super::failure::ErrorClass;
use super::id::JobId;
use super::reply;
use super::retry::RetryDecision;
use super::row::Job;
use super::status::JobStatus;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job as its owner and operators see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Its number.
    pub id: JobId,
    /// What users are told.
    pub correlation_id: String,
    /// Where it stands.
    pub status: JobStatus,
    /// By which gateway it came.
    pub source: String,
    /// Its owner.
    pub user_id: String,
    /// The owner's name.
    pub user_name: Option<String>,
    /// The selected server.
    pub guild_id: Option<String>,
    /// The message; empty once redacted.
    pub request_text: String,
    /// Runs it may take.
    pub max_attempts: i64,
    /// Runs it took.
    pub attempt_count: i64,
    /// Not before this time; `null` unless it waits.
    pub next_retry_at: Option<Timestamp>,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Begin of the present run.
    pub started_at: Option<Timestamp>,
    /// The end.
    pub completed_at: Option<Timestamp>,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// The wish to cancel is noted and its worker has not stopped yet.
    pub cancel_requested: bool,
    /// The answer, once generated.
    pub answer_text: Option<String>,
    /// Tools that ran for it.
    pub tools_used: Vec<String>,
    /// Something was asked for, and nothing was done.
    pub action_not_performed: bool,
    /// A preview that waits for consent.
    pub pending_confirmation: Option<PendingConfirmation>,
    /// The job it was made again from.
    pub retry_of: Option<i64>,
}

impl JobView {
    /// As its owner sees it: without what must not leave.
    #[must_use]
    pub fn for_owner(job: Job) -> Self {
        let mut view = Self::for_operator(job);
        view.last_error = view.last_error.as_deref().map(reply::reason);
        view
    }

    /// As an operator sees it.
    #[must_use]
    pub fn for_operator(job: Job) -> Self {
        let answer = job.answer.unwrap_or_default();
        Self {
            id: job.id,
            correlation_id: job.correlation_id,
            status: job.status,
            source: job.source,
            user_id: job.user_id,
            user_name: job.user_name,
            guild_id: job.guild_id,
            request_text: job.request_text,
            max_attempts: job.max_attempts,
            attempt_count: job.attempt_count,
            next_retry_at: (job.status == JobStatus::Pending).then_some(job.next_retry_at),
            last_error: job.last_error,
            created_at: job.created_at,
            started_at: job.started_at,
            completed_at: job.completed_at,
            updated_at: job.updated_at,
            cancel_requested: job.status == JobStatus::Running && job.cancel_requested_at.is_some(),
            answer_text: Some(answer.text).filter(|text| !text.is_empty()),
            tools_used: answer.tools_used,
            action_not_performed: answer.action_not_performed,
            pending_confirmation: answer.pending_confirmation,
            retry_of: job.metadata.retry_of,
        }
    }
}

/// One run of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    /// Its number.
    pub attempt: i64,
    /// Who ran it.
    pub worker_id: String,
    /// Its begin.
    pub started_at: Timestamp,
    /// Its end.
    pub ended_at: Option<Timestamp>,
    /// How it ended: the timeline's word.
    pub outcome: Option<String>,
    /// The class of its failure.
    pub error_class: Option<ErrorClass>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A job with its timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobTimeline {
    /// The job.
    pub job: JobView,
    /// The most recent entries, oldest first.
    pub events: Vec<JobEvent>,
    /// There are older entries than these.
    pub truncated: bool,
    /// Its runs, oldest first.
    pub attempts: Vec<AttemptView>,
    /// What it previewed, and what became of that.
    pub confirmation: Option<ConsentView>,
}

/// A preview and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentView {
    /// Its number.
    pub id: i64,
    /// The job that made it.
    pub job_id: JobId,
    /// Where it stands.
    pub state: ConsentState,
    /// The tool that carries it out.
    pub confirmation_tool: String,
    /// What that is called with.
    pub arguments: Value,
    /// What would be made, in words.
    pub summary: Option<String>,
    /// It can be agreed to before this time.
    pub expires_at: Timestamp,
    /// What the tool answered that carried it out.
    pub result: Option<Value>,
}

impl ConsentView {
    /// A preview as it stands now.
    #[must_use]
    pub fn of(confirmation: Confirmation, now: Timestamp) -> Self {
        Self {
            state: confirmation.state(now),
            id: confirmation.id,
            job_id: confirmation.job_id,
            confirmation_tool: confirmation.confirmation_tool,
            arguments: confirmation.arguments,
            summary: confirmation.summary,
            expires_at: confirmation.expires_at,
            result: confirmation.result,
        }
    }
}

/// A message and its answer, as a conversation shows them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TalkTurn {
    /// The job that the message became.
    pub job: JobView,
    /// Its timeline, as long as the job is not over.
    pub events: Vec<JobEvent>,
    /// What it previewed, and what became of that.
    pub confirmation: Option<ConsentView>,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Talk {
    /// Its turns, oldest first.
    pub turns: Vec<TalkTurn>,
    /// There are earlier ones.
    pub has_earlier: bool,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobPage {
    /// Jobs that wait first, the longest due before the others; then the rest, newest first.
    pub jobs: Vec<JobView>,
    /// Where the next page begins; `null` at the end.
    pub next_cursor: Option<String>,
}

/// What the intake answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Enqueued {
    /// The job is stored: whatever else is said here, it will be worked on.
    pub queued: bool,
    /// Its number.
    pub job_id: JobId,
    /// What the user is told.
    pub correlation_id: String,
    /// The hint was taken.
    pub queue_accepted: bool,
    /// Why it was not.
    pub queue_error: Option<String>,
    /// The same message came before; the ids are those of its job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// What became of one execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Executed {
    /// The endpoint did its part.
    pub ok: bool,
    /// Nothing was to be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Why nothing was to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `completed`, `retry_scheduled`, `failed_terminal`, `canceled` or `snoozed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Which job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// What was decided about another try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RetryDecision>,
    /// The user's own runner has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runner_fallback: bool,
    /// What the runner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner_job_id: Option<String>,
}

impl Executed {
    /// Nothing was to be done.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self {
            skipped: true,
            reason: Some(reason.into()),
            ..Self::ended("", JobId::none(), None).bare()
        }
    }

    /// The run ended.
    #[must_use]
    pub fn ended(status: &str, job: JobId, decision: Option<RetryDecision>) -> Self {
        Self {
            ok: true,
            skipped: false,
            reason: None,
            status: Some(status.to_owned()),
            job_id: Some(job),
            decision,
            runner_fallback: false,
            runner_job_id: None,
        }
    }

    fn bare(mut self) -> Self {
        self.status = None;
        self.job_id = None;
        self
    }
}

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Swept {
    /// Always true.
    pub ok: bool,
    /// Runs whose worker was gone.
    pub recovered: Recovered,
    /// Jobs that were due.
    pub pending_due: usize,
    /// Hints that were repeated.
    pub queued_count: usize,
    /// Jobs whose next hint waits.
    pub deferred_count: usize,
    /// Jobs that were given up since nobody took them.
    pub capped_count: usize,
    /// Hints that were refused.
    pub queue_errors: usize,
}

/// Runs whose worker was gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// Wait again.
    pub recovered: usize,
    /// Were given up.
    pub failed: usize,
}

words! {
    /// What a worker is told to do.
    HintKind("type") {
        /// A job was made.
        JobCreated = "ai_job_created",
        /// A job is due.
        JobDue = "ai_job_due",
        /// It is time to sweep.
        WatchdogSweep = "ai_watchdog_sweep",
    }
}

/// A hint: look at this job, or sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hint {
    /// What to do.
    #[serde(rename = "type")]
    pub kind: HintKind,
    /// Which job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// The same, as users know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Number of the hint; a claim with the row's current one is accepted before the job is due (ruling 36).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<i64>,
}
