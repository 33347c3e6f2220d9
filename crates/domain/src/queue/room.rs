//! How much may wait: the capacity of a queue, and one sender's share of it.

use super::QueuedPrompt;
use crate::error::Refusal;
use crate::guards::{Guards, limited};
use crate::ids::{SessionId, TaskId};
use serde_json::{Value, json};

/// A share that is used up is free again at the next turn's end, which nobody can foretell: look again after this time.
const SHARE_RETRY_MS: i64 = 30_000;

/// Refuses a prompt to a queue that holds `max` already; 0 is unlimited. What is in it is told without its words.
pub fn check_capacity(max: usize, rows: &[QueuedPrompt]) -> Result<(), Refusal> {
    let waiting: Vec<&QueuedPrompt> = rows.iter().filter(|row| row.is_visible()).collect();
    if max == 0 || waiting.len() < max {
        return Ok(());
    }
    let entries: Vec<Value> = waiting
        .iter()
        .map(|row| json!({"id": row.id, "sender": row.sender_task_id, "queued_at": row.queued_at}))
        .collect();
    Err(Refusal::queue_full(
        format!(
            "the session's queue holds {max} messages already: try again after its present turn"
        ),
        json!({
            "error": "queue_full",
            "queue_size": waiting.len(),
            "max": max,
            "retry_after": "next_turn",
            "queued_messages": entries,
        }),
    ))
}

/// Refuses a message of an agent whose task holds its share of the queue already. On the target's own task each session is a
/// sender by itself.
pub fn check_share(
    guards: &Guards,
    max: usize,
    rows: &[QueuedPrompt],
    target: TaskId,
    sender: (TaskId, SessionId),
) -> Result<(), Refusal> {
    let Some(share) = guards.share_of(max) else {
        return Ok(());
    };
    let (task, session) = sender;
    let held = rows
        .iter()
        .filter(|row| row.is_visible() && row.sender_task_id == Some(task))
        .filter(|row| task != target || row.sender_session_id == Some(session))
        .count();
    if held < share {
        return Ok(());
    }
    Err(limited(
        format!(
            "{held} of your messages wait there already, and one sender may hold {share} of the {max} places: wait until its \
             present turn is over, and put what belongs together into one message"
        ),
        "queue_share",
        SHARE_RETRY_MS,
        json!({"held": held, "share": share, "max": max, "retry_after": "next_turn"}),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::super::{Lane, QueuedBy, QueuedState};
    use super::*;
    use crate::error::ErrorCode;
    use crate::ids::QuestionId;

    fn from(task: TaskId, session: SessionId) -> QueuedPrompt {
        QueuedPrompt {
            queued_by: QueuedBy::Agent,
            sender_task_id: Some(task),
            sender_session_id: Some(session),
            ..row(Lane::Normal, QueuedState::Queued)
        }
    }

    #[test]
    fn questions_answers_and_what_is_being_sent_take_no_place() {
        let mut question = row(Lane::Normal, QueuedState::Queued);
        question.question_id = Some(QuestionId::new());
        let sent = row(Lane::Normal, QueuedState::Attempted);
        let rows = [question, sent, row(Lane::Normal, QueuedState::Queued)];
        assert!(check_capacity(2, &rows).is_ok());
        assert_eq!(
            check_capacity(1, &rows).unwrap_err().code,
            ErrorCode::QueueFull
        );
        assert!(check_capacity(0, &rows).is_ok());
    }

    #[test]
    fn one_sender_holds_at_most_its_share() {
        let guards = Guards::default();
        let (task, session, target) = (TaskId::new(), SessionId::new(), TaskId::new());
        let mine = |n: usize| vec![from(task, session); n];
        let check =
            |max, rows: &[QueuedPrompt]| check_share(&guards, max, rows, target, (task, session));
        assert!(check(10, &mine(4)).is_ok());
        let refusal = check(10, &mine(5)).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::RateLimited);
        assert_eq!(refusal.details.unwrap()["guard"], "queue_share");
        assert!(
            check(0, &mine(50)).is_ok(),
            "an unlimited queue has no halves"
        );
        assert!(check(1, &mine(0)).is_ok(), "there is always room for one");
        let others = vec![from(TaskId::new(), session); 9];
        assert!(check(10, &others).is_ok());
    }

    #[test]
    fn on_ones_own_task_each_session_is_a_sender() {
        let guards = Guards::default();
        let (task, session) = (TaskId::new(), SessionId::new());
        let rows = vec![from(task, SessionId::new()); 5];
        assert!(check_share(&guards, 10, &rows, task, (task, session)).is_ok());
        assert!(check_share(&guards, 10, &rows, TaskId::new(), (task, session)).is_err());
    }
}
