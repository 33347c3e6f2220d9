//! Follow-ups of transitions: rows with leases, carried out after commit and safe to repeat.

use crate::ids::{EffectId, SessionId, TaskId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

words! {
    /// What is to be done for a session outside of the database.
    EffectKind("effect kind") {
        /// Deliver the next prompt of the session's queue, starting or resuming the agent when it is not live.
        Dispatch = "dispatch",
        /// Ask the agent to end the turn named by the subject; nothing happens when that turn is over.
        CancelTurn = "cancel_turn",
        /// End the agent's process.
        StopProcess = "stop_process",
        /// The grace after a parent question is over: settle the session, and cancel the turn if it still runs.
        SettleQuestion = "settle_question",
        /// Hand the outcome of the permission named by the subject to the agent.
        AnswerPermission = "answer_permission",
        /// The agent's tools changed: rebuild its profile while it is live.
        RefreshProfile = "refresh_profile",
    }
}

/// A follow-up waiting to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Its id.
    pub id: EffectId,
    /// What is to be done.
    pub kind: EffectKind,
    /// The task of the session.
    pub task_id: TaskId,
    /// For which session.
    pub session_id: SessionId,
    /// The turn or permission meant, for the kinds that name one.
    pub subject_id: Option<String>,
    /// Number of the present try, and the fence: whoever holds an older one may not finish the row.
    pub attempt: i64,
    /// Not before this time.
    pub run_after: Timestamp,
}
