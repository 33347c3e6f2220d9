//! What an operator reads of runs, whoever's they are: a row of the list, and one with all that is known of it.
//!
//! The words that a client asked with are in neither: they stand in the transcript of the run's card.

use super::call::RunCall;
use super::standing::Phase;
use super::view::{Artifacts, LivenessState, TimelineEntry, Update};
use super::{Fault, RunStatus, TerminalReason};
use crate::ids::{RunId, SessionId, TaskId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A run in the operator's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// Its card.
    pub task_id: TaskId,
    /// Its conversation.
    pub session_id: SessionId,
    /// What the card is called; `None` when it is gone.
    pub title: Option<String>,
    /// Name of the token that it was started with; `None` when there is no such token any more.
    pub client: Option<String>,
    /// The slug of its agent.
    pub agent: String,
    /// Where it stands.
    pub status: RunStatus,
    /// What it is doing.
    pub phase: Phase,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its first turn began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The last thing worth telling.
    pub latest: Option<Update>,
    /// What went wrong.
    pub error: Option<String>,
    /// How often it was waited for.
    pub poll_count: i64,
    /// When it was waited for last.
    pub last_polled_at: Option<Timestamp>,
}

impl RunRow {
    /// When its stopwatch began.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.started_at.unwrap_or(self.created_at)
    }
}

/// A page of the operator's list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRows {
    /// Newest first.
    pub rows: Vec<RunRow>,
    /// Gives the page after this one. A page may be shorter than was asked for and have one after it all the same.
    pub next_cursor: Option<RunId>,
}

/// A run with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunShown {
    /// As in the list.
    pub row: RunRow,
    /// Why it is over.
    pub reason: Option<TerminalReason>,
    /// The agent's last words.
    pub summary: Option<String>,
    /// What went wrong, sorted.
    pub fault: Option<Fault>,
    /// What happened: repeats joined, the first, the last and errors kept.
    pub timeline: Vec<TimelineEntry>,
    /// Entries of its log in all.
    pub log_count: i64,
    /// What it has made.
    pub artifacts: Artifacts,
    /// Whether somebody is at work, while it is not over.
    pub liveness: Option<LivenessState>,
    /// When its outcome was first handed out.
    pub retrieved_at: Option<Timestamp>,
    /// The newest calls about it, newest first.
    pub calls: Vec<RunCall>,
}
