//! A job as the database keeps it.

use super::answer::Answer;
use super::delivery::Target;
use super::failure::ErrorClass;
use super::id::JobId;
use super::status::JobStatus;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Turns of the conversation that a job keeps.
pub const HISTORY_KEPT: usize = 20;
/// Turns of the conversation that the model gets.
pub const HISTORY_FOR_MODEL: usize = 10;

words! {
    /// How far a job has come; a later attempt begins where the last one stopped.
    Phase("phase") {
        /// There is no answer yet.
        Generate = "generate",
        /// The answer is stored, with its pieces, and is on its way.
        Deliver = "deliver",
    }
}

/// One turn of the conversation before the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryTurn {
    /// `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub content: String,
}

/// What was said in these jobs, which are in order: each message, and its answer if there was one.
#[must_use]
pub fn said_in(jobs: &[Job]) -> Vec<HistoryTurn> {
    let turn = |role: &str, content: &str| HistoryTurn {
        role: role.to_owned(),
        content: content.to_owned(),
    };
    let mut turns: Vec<HistoryTurn> = jobs
        .iter()
        .flat_map(|job| {
            let answer = job.answer.as_ref().map_or("", |answer| &answer.text);
            [turn("user", &job.request_text), turn("assistant", answer)]
        })
        // Redacted, given up, or still on its way.
        .filter(|turn| !turn.content.is_empty())
        .collect();
    turns.drain(..turns.len().saturating_sub(HISTORY_KEPT));
    turns
}

/// What else the gateway said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobMetadata {
    /// When the message was taken in.
    pub requested_at: Option<Timestamp>,
    /// How often the model may use tools.
    pub max_tool_iterations: Option<i64>,
    /// Claimed by the holder of the service credential; whoever acts on it derives it again.
    pub is_super_admin: bool,
    /// The job that an operator had done again as this one.
    pub retry_of: Option<i64>,
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// What users are told; never all digits.
    pub correlation_id: String,
    /// By which gateway it came.
    pub source: String,
    /// Where it stands.
    pub status: JobStatus,
    /// How far it has come.
    pub phase: Phase,
    /// Its owner.
    pub user_id: String,
    /// The owner's name, when the gateway said it.
    pub user_name: Option<String>,
    /// The selected server.
    pub guild_id: Option<String>,
    /// The message; empty once redacted.
    pub request_text: String,
    /// The conversation before it, oldest first, at most [`HISTORY_KEPT`].
    pub history: Vec<HistoryTurn>,
    /// Snapshot of what the user manages.
    pub managed_guilds: Vec<Value>,
    /// Snapshot of what the user had selected.
    pub selected_guild: Option<Value>,
    /// Where the answer goes.
    pub target: Target,
    /// Providers in order; empty for the usual ones.
    pub provider_chain: Vec<String>,
    /// What else the gateway said.
    pub metadata: JobMetadata,
    /// Lower goes first.
    pub priority: i64,
    /// Kind of work.
    pub queue: String,
    /// What a repeat of the same message is told by.
    pub unique_key: Option<String>,
    /// How long a run may take.
    pub timeout_seconds: i64,
    /// Runs it may take.
    pub max_attempts: i64,
    /// Runs it took; counted by the claim.
    pub attempt_count: i64,
    /// Tries to deliver that failed.
    pub delivery_attempts: i64,
    /// Workers that vanished with it.
    pub stale_count: i64,
    /// Not before this time.
    pub next_retry_at: Timestamp,
    /// No use after this time.
    pub deadline_at: Timestamp,
    /// Begin of the present run.
    pub started_at: Option<Timestamp>,
    /// Begin of the first run; the budget counts from it.
    pub first_started_at: Option<Timestamp>,
    /// The end, when it was completed or given up.
    pub completed_at: Option<Timestamp>,
    /// What went wrong last, for operators.
    pub last_error: Option<String>,
    /// Its class.
    pub last_error_class: Option<ErrorClass>,
    /// The last retry decision, as JSON.
    pub last_retry_decision: Option<Value>,
    /// Fence of the present run: whoever shows another one may not write.
    pub lease_token: Option<String>,
    /// When the present run counts as abandoned.
    pub lease_expires_at: Option<Timestamp>,
    /// The worker's last sign of life.
    pub heartbeat_at: Option<Timestamp>,
    /// Who works on it.
    pub worker_id: Option<String>,
    /// The wish to cancel, while it runs.
    pub cancel_requested_at: Option<Timestamp>,
    /// Hints repeated since the last claim.
    pub requeue_count: i64,
    /// Hints repeated or refused since the last claim; the wait grows with them.
    pub requeue_tries: i64,
    /// Number of the last hint. A hint with it may claim the job before it is due.
    pub dispatch_no: i64,
    /// The generated answer.
    pub answer: Option<Answer>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
}
