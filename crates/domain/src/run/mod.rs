//! Runs: what outside clients ask for, wait for and read (the `run_task` contract).
//!
//! A run is a row over a session: one prompt and every turn that follows from it until the session rests with nothing pending.
//! Its status is derived from the rows of the session ([`standing`]) as long as it goes on, and frozen when it ends: what was
//! handed out as final stays so, whatever becomes of the conversation.
//!
//! | Module | For |
//! |---|---|
//! | [`standing`] | where a run stands, as the facts say |
//! | [`ask`] | what a client sends: checks, prompt, hashes |
//! | [`agents`] | the names by which clients choose an agent |
//! | [`next`] | the call that a client is told to make next |
//! | [`refuse`] | why a call was refused, in the contract's codes |
//! | [`wait`] | how long a wait may be |
//! | [`view`] | what a client reads, and how it is kept small |
//! | [`shown`] | what an operator reads |
//! | [`call`] | what is kept of the calls about runs |

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{RunId, SessionId, TaskId, TokenId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

pub mod agents;
pub mod ask;
pub mod call;
pub mod next;
pub mod refuse;
pub mod shown;
pub mod standing;
pub mod view;
pub mod wait;

words! {
    /// Where a run stands, as clients read it.
    RunStatus("status") {
        /// Stored, not started.
        Queued = "queued",
        /// An agent is at work on it, or about to go on with it.
        Running = "running",
        /// Over, with a text as its result.
        Completed = "completed",
        /// Over, without a usable text; a success all the same.
        CompletedNoSummary = "completed_no_summary",
        /// Failed.
        Error = "error",
        /// Cannot go on until something outside of it changes.
        Blocked = "blocked",
        /// Waits for a person's answer or permission.
        NeedsHuman = "needs_human",
        /// Stopped on request.
        Cancelled = "cancelled",
    }
}

words! {
    /// How lists group runs; the status itself is never collapsed.
    RunGroup("group") {
        /// Going on.
        Active = "active",
        /// Somebody has to act.
        NeedsAttention = "needs_attention",
        /// Over, and well; or stopped on request.
        Completed = "completed",
        /// Over, and not well.
        Failed = "failed",
    }
}

impl RunStatus {
    /// Whether waiting helps: the one thing that `continuePolling` says.
    #[must_use]
    pub const fn continues(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }

    /// Nothing changes it any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::CompletedNoSummary | Self::Error | Self::Cancelled
        )
    }

    /// The group that lists show it in.
    #[must_use]
    pub const fn group(self) -> RunGroup {
        match self {
            Self::Queued | Self::Running => RunGroup::Active,
            Self::Blocked | Self::NeedsHuman => RunGroup::NeedsAttention,
            Self::Completed | Self::CompletedNoSummary | Self::Cancelled => RunGroup::Completed,
            Self::Error => RunGroup::Failed,
        }
    }

    /// Reads a status as clients write it: `needs-human` is an older spelling.
    pub fn parse_input(text: &str) -> Result<Self, Refusal> {
        Self::parse(&text.trim().replace('-', "_"))
    }
}

words! {
    /// What kind of failure ended a run.
    ErrorCategory("category") {
        /// The agent is not signed in, or its provider refuses it.
        Auth = "auth",
        /// It took too long.
        Timeout = "timeout",
        /// Changes that do not go together.
        MergeConflict = "merge_conflict",
        /// Tests that failed.
        TestFailure = "test_failure",
        /// The agent, or the machine it runs on, did not work.
        Tooling = "tooling",
        /// None of these is known to be the reason.
        Unknown = "unknown",
    }
}

impl ErrorCategory {
    /// The category of a failure by the words in which an agent, or its runtime, reports it. Only what providers and command
    /// lines say in so many words is recognised; everything else is [`Self::Unknown`] rather than a guess.
    #[must_use]
    pub fn of_words(text: &str) -> Self {
        let text = text.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if says(&[
            "unauthorized",
            "authentication",
            "not logged in",
            "api key",
            "401",
            "403",
        ]) {
            Self::Auth
        } else if says(&["timed out", "timeout", "took too long"]) {
            Self::Timeout
        } else if says(&["merge conflict"]) {
            Self::MergeConflict
        } else if says(&[
            "could not be started",
            "cannot be started",
            "no such file",
            "not found",
            "exited",
            "died",
            "crashed",
        ]) {
            Self::Tooling
        } else {
            Self::Unknown
        }
    }

    /// What to do about it, in a sentence for a model or a person.
    #[must_use]
    pub const fn recovery(self) -> &'static str {
        match self {
            Self::Auth => {
                "Sign the agent in, or put its key right, on the machine that Flightdeck runs on; then run the task again with this \
                 sessionKey."
            }
            Self::Timeout => {
                "Run the task again with this sessionKey, in smaller parts if it is large."
            }
            Self::MergeConflict => {
                "Resolve the conflict, or ask the agent to with run_task and this sessionKey."
            }
            Self::TestFailure => {
                "Ask the agent to fix the tests with run_task and this sessionKey."
            }
            Self::Tooling => {
                "Look at the session in Flightdeck; when the cause is gone, run the task again with this sessionKey."
            }
            Self::Unknown => {
                "Read the details with get_task and detail \"diagnostics\", then run the task again with this sessionKey."
            }
        }
    }
}

words! {
    /// Why a run is over.
    TerminalReason("terminal reason") {
        /// The agent came to an end of its own.
        Finished = "finished",
        /// Its client cancelled it.
        CancelRequested = "cancel_requested",
        /// Its turn was cancelled on the board.
        TurnCancelled = "turn_cancelled",
        /// Its session was stopped on the board, or its card archived.
        Stopped = "stopped",
        /// Its prompt was taken back before an agent had it.
        Withdrawn = "withdrawn",
        /// Its card or its session was deleted.
        Deleted = "deleted",
        /// The agent reported a failure.
        TurnFailed = "turn_failed",
        /// The agent could not be started, or died.
        AgentFailed = "agent_failed",
        /// The host went away in the middle of it.
        Interrupted = "interrupted",
        /// Nobody did for too long what it waited for.
        Expired = "expired",
    }
}

/// A run as the board knows it. What was asked is not in it: see [`ask::Asked`].
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id: the contract's `taskId` and `jobId`.
    pub id: RunId,
    /// Whose it is: nobody else learns that it exists.
    pub token_id: TokenId,
    /// The card.
    pub task_id: TaskId,
    /// The conversation: the contract's `sessionKey`.
    pub session_id: SessionId,
    /// The slug of the profile that works on it.
    pub agent: String,
    /// Messages of the transcript up to this one were there before it.
    pub from_seq: i64,
    /// How often it was waited for.
    pub poll_count: i64,
    /// When it was waited for last.
    pub last_polled_at: Option<Timestamp>,
    /// Grows when what was handed out as final changes; it never does yet.
    pub revision: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its outcome was first handed out.
    pub retrieved_at: Option<Timestamp>,
    /// How it ended, frozen.
    pub end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEnd {
    /// One of the final statuses.
    pub status: RunStatus,
    /// Why it is over.
    pub reason: TerminalReason,
    /// The agent's last words.
    pub summary: Option<String>,
    /// What went wrong.
    pub fault: Option<Fault>,
    /// The last message of the transcript that belongs to it.
    pub to_seq: i64,
    /// When its first turn began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// See [`ErrorCategory`].
    pub category: ErrorCategory,
    /// In words, as the agent or its runtime gave them.
    pub message: String,
}

/// Whether a fact about a session may change where its run stands. What the agent says and does meanwhile does not.
#[must_use]
pub const fn may_end_by(kind: EventKind) -> bool {
    match kind {
        EventKind::SessionStateChanged
        | EventKind::TurnStarted
        | EventKind::TurnCompleted
        | EventKind::QueueChanged
        | EventKind::ClarificationChanged
        | EventKind::PermissionChanged
        | EventKind::ParentQuestionChanged
        | EventKind::TaskDeleted
        | EventKind::TaskUpdated
        | EventKind::TaskStateChanged => true,
        EventKind::WorkspaceUpdated
        | EventKind::WorkflowUpdated
        | EventKind::AgentUpdated
        | EventKind::TaskCreated
        | EventKind::SessionInfoUpdated
        | EventKind::MessageAdded
        | EventKind::MessageUpdated
        | EventKind::PlanChanged
        | EventKind::WalkthroughChanged
        | EventKind::ReviewChanged => false,
    }
}

/// Longest summary kept of a run, in bytes.
pub const MAX_SUMMARY: usize = 64 * 1024;

/// Cuts a text at so many bytes, on a character border, with a mark where something is missing.
#[must_use]
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_goes_on_exactly_while_waiting_helps() {
        let table: Vec<(RunStatus, bool, bool, RunGroup)> = RunStatus::ALL
            .iter()
            .map(|s| (*s, s.continues(), s.is_final(), s.group()))
            .collect();
        use RunGroup as G;
        use RunStatus as S;
        assert_eq!(
            table,
            [
                (S::Queued, true, false, G::Active),
                (S::Running, true, false, G::Active),
                (S::Completed, false, true, G::Completed),
                (S::CompletedNoSummary, false, true, G::Completed),
                (S::Error, false, true, G::Failed),
                (S::Blocked, false, false, G::NeedsAttention),
                (S::NeedsHuman, false, false, G::NeedsAttention),
                (S::Cancelled, false, true, G::Completed),
            ]
        );
    }

    #[test]
    fn the_older_spelling_is_understood_and_never_written() {
        assert_eq!(
            RunStatus::parse_input("needs-human").unwrap(),
            RunStatus::NeedsHuman
        );
        assert!(!RunStatus::ALL.iter().any(|s| s.as_str().contains('-')));
    }

    #[test]
    fn a_category_needs_words_that_say_it() {
        use ErrorCategory as C;
        for (text, category) in [
            ("401 Unauthorized", C::Auth),
            ("the request timed out", C::Timeout),
            ("the agent could not be started: No such file", C::Tooling),
            ("something else", C::Unknown),
        ] {
            assert_eq!(C::of_words(text), category, "{text}");
        }
    }

    #[test]
    fn a_cut_is_on_a_character_border_and_never_too_long() {
        for max in 3..40 {
            let cut = cut(&"é🛫".repeat(20), max);
            assert!(cut.len() <= max && cut.ends_with('…'), "{cut}");
        }
        assert_eq!(cut("short", 5), "short");
    }
}
