//! Queued prompts of a session: what waits, in which order, and what holds it.
//!
//! What an operator may do with what waits is beside it: [`order`], [`merge`], and [`room`] for how much may wait.
//!
//! The gate is a rule over durable rows. While a session's question to its parent is pending, nothing leaves the queue; the
//! answer, or the message that supersedes the question, resolves it in the transaction that queues the prompt, so a gated
//! queue never holds a prompt that may go.

use crate::error::Refusal;
use crate::ids::{PromptId, QuestionId, SessionId, TaskId, TurnId};
use crate::time::Timestamp;
use serde_json::{Map, Value};

pub mod merge;
pub mod order;
pub mod room;

words! {
    /// Who put a prompt into the queue.
    QueuedBy("queued_by") {
        /// A person.
        User = "user",
        /// Another task's or session's agent.
        Agent = "agent",
        /// A step of the workflow.
        Workflow = "workflow",
        /// Flightdeck itself: a parent question and its answer.
        Server = "server",
    }
}

words! {
    /// Where a queued prompt stands.
    QueuedState("queued state") {
        /// It waits.
        Queued = "queued",
        /// It is being sent; whether the agent has it is not known yet.
        Attempted = "attempted",
    }
}

words! {
    /// The order within a queue: express prompts go before the ones that waited longer.
    Lane("lane") {
        /// An answer, or the message that superseded a question or interrupts a turn.
        Express = "express",
        /// First come, first served.
        Normal = "normal",
    }
}

/// A prompt that waits to be delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedPrompt {
    /// Its id, which travels with it to the agent.
    pub id: PromptId,
    /// The session it is for.
    pub session_id: SessionId,
    /// The session's task.
    pub task_id: TaskId,
    /// Order within its lane.
    pub position: i64,
    /// Express or normal.
    pub lane: Lane,
    /// The text that people read and the agent gets.
    pub content: String,
    /// Text for the agent only.
    pub hidden_context: Option<String>,
    /// Metadata of the message it becomes.
    pub metadata: Map<String, Value>,
    /// Who queued it.
    pub queued_by: QueuedBy,
    /// The task of the agent that sent it.
    pub sender_task_id: Option<TaskId>,
    /// The session of the agent that sent it.
    pub sender_session_id: Option<SessionId>,
    /// The question it puts to a parent.
    pub question_id: Option<QuestionId>,
    /// The question it answers to a child.
    pub answer_for_question_id: Option<QuestionId>,
    /// A key that makes queueing it again harmless.
    pub dedupe_key: Option<String>,
    /// Its sender named the session: it stays with it, whatever a step does to the card.
    pub pinned: bool,
    /// Waiting, or being sent.
    pub state: QueuedState,
    /// The turn it was attempted in.
    pub turn_id: Option<TurnId>,
    /// How many times it was sent.
    pub attempts: i64,
    /// When it was queued.
    pub queued_at: Timestamp,
}

impl QueuedPrompt {
    /// Question and answer prompts stand outside of the capacity and cannot be merged, edited, removed, reordered or cleared.
    #[must_use]
    pub const fn is_reserved(&self) -> bool {
        self.question_id.is_some() || self.answer_for_question_id.is_some()
    }

    /// Operators see it and may change what becomes of it. What is being sent is out of their hands.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        !self.is_reserved() && self.state == QueuedState::Queued
    }

    /// Refuses what an operator cannot touch, with the reason.
    pub fn check_visible(&self) -> Result<(), Refusal> {
        if self.is_reserved() {
            return Err(Refusal::conflict(
                "a question between tasks, or its answer, cannot be changed or removed",
            ));
        }
        if self.state == QueuedState::Attempted {
            return Err(Refusal::conflict(
                "this prompt is being delivered right now: look at the queue again",
            ));
        }
        Ok(())
    }

    /// Refuses an edit of anything but a person's own words.
    pub fn check_editable(&self) -> Result<(), Refusal> {
        self.check_visible()?;
        if self.queued_by != QueuedBy::User {
            return Err(Refusal::forbidden(
                "only a person's own prompt can be edited: remove this one, and say in your own words what you want",
            ));
        }
        Ok(())
    }
}

/// The durable facts that hold or open a session's queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gate {
    /// The session has a turn without an end.
    pub turn_open: bool,
    /// A question of this session to its parent is pending.
    pub parent_question_pending: bool,
    /// A question to the operator is open and its agent still waits for it.
    pub clarification_live: bool,
    /// The operator switched delivery off.
    pub auto_run_off: bool,
    /// The card waits for a place in its step.
    pub waits_for_place: bool,
    /// The session is terminal or its task archived.
    pub closed: bool,
}

/// Why nothing can be delivered at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The queue is empty.
    Empty,
    /// A turn runs.
    Turn,
    /// The child waits for its parent.
    ParentQuestion,
    /// The agent waits for the operator.
    Clarification,
    /// The card waits for a place in its step.
    Place,
    /// Delivery is switched off.
    AutoRunOff,
    /// Nothing is delivered here any more.
    Closed,
}

/// The prompt to deliver next, or why there is none.
///
/// `rows` are the session's, in delivery order (express lane first, then by position). A prompt that was attempted before
/// goes first in any case: its turn exists and must be brought to an end.
pub fn next(rows: &[QueuedPrompt], gate: Gate) -> Result<&QueuedPrompt, Hold> {
    if gate.closed {
        return Err(Hold::Closed);
    }
    if let Some(attempted) = rows.iter().find(|row| row.state == QueuedState::Attempted) {
        return Ok(attempted);
    }
    if gate.turn_open {
        return Err(Hold::Turn);
    }
    if gate.parent_question_pending {
        return Err(Hold::ParentQuestion);
    }
    if gate.clarification_live {
        return Err(Hold::Clarification);
    }
    if gate.waits_for_place {
        return Err(Hold::Place);
    }
    let head = rows.first().ok_or(Hold::Empty)?;
    if gate.auto_run_off && head.lane != Lane::Express {
        return Err(Hold::AutoRunOff);
    }
    Ok(head)
}

/// Whether a session with these rows and this gate has nothing to do until somebody acts.
#[must_use]
pub fn is_at_rest(rows: &[QueuedPrompt], gate: Gate) -> bool {
    next(rows, gate).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn row(lane: Lane, state: QueuedState) -> QueuedPrompt {
        QueuedPrompt {
            id: PromptId::new(),
            session_id: SessionId::new(),
            task_id: TaskId::new(),
            position: 0,
            lane,
            content: "hello".to_owned(),
            hidden_context: None,
            metadata: Map::new(),
            queued_by: QueuedBy::User,
            sender_task_id: None,
            sender_session_id: None,
            question_id: None,
            answer_for_question_id: None,
            dedupe_key: None,
            pinned: true,
            state,
            turn_id: None,
            attempts: 0,
            queued_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_pending_question_holds_everything_that_was_not_sent_yet() {
        let gate = Gate {
            parent_question_pending: true,
            ..Gate::default()
        };
        assert_eq!(
            next(&[row(Lane::Express, QueuedState::Queued)], gate),
            Err(Hold::ParentQuestion)
        );
        assert!(next(&[row(Lane::Normal, QueuedState::Attempted)], gate).is_ok());
    }

    #[test]
    fn auto_run_off_lets_express_prompts_pass() {
        let gate = Gate {
            auto_run_off: true,
            ..Gate::default()
        };
        assert_eq!(
            next(&[row(Lane::Normal, QueuedState::Queued)], gate),
            Err(Hold::AutoRunOff)
        );
        assert!(next(&[row(Lane::Express, QueuedState::Queued)], gate).is_ok());
    }

    #[test]
    fn a_card_without_a_place_gets_nothing_but_what_was_under_way() {
        let gate = Gate {
            waits_for_place: true,
            ..Gate::default()
        };
        assert_eq!(
            next(&[row(Lane::Express, QueuedState::Queued)], gate),
            Err(Hold::Place)
        );
        assert!(next(&[row(Lane::Normal, QueuedState::Attempted)], gate).is_ok());
    }

    #[test]
    fn a_closed_session_delivers_nothing_not_even_an_attempted_prompt() {
        let gate = Gate {
            closed: true,
            ..Gate::default()
        };
        assert_eq!(
            next(&[row(Lane::Express, QueuedState::Attempted)], gate),
            Err(Hold::Closed)
        );
    }
}
