//! Folding one prompt into the one above it, so that both become one turn.
//!
//! Only words of one source may be joined: those of the operator, or those of one agent's session. A question between tasks is
//! never joined with anything, nor is an answer, nor what a step of the workflow sends.

use super::{Lane, QueuedBy, QueuedPrompt};
use crate::error::Refusal;
use crate::message::MAX_MESSAGE_BYTES;

words! {
    /// Which prompts are joined to the one before them as they come in.
    AutoMerge("queue_auto_merge") {
        /// None: every prompt is a turn of its own.
        Off = "off",
        /// Those of the operator.
        Own = "own",
        /// Those of the operator, and those of one agent's session.
        All = "all",
    }
}

impl AutoMerge {
    /// Whether a prompt of this source is joined.
    #[must_use]
    pub const fn takes(self, source: QueuedBy) -> bool {
        match (self, source) {
            (Self::Own | Self::All, QueuedBy::User) | (Self::All, QueuedBy::Agent) => true,
            (Self::Own, QueuedBy::Agent)
            | (Self::Off, QueuedBy::User | QueuedBy::Agent)
            | (_, QueuedBy::Workflow | QueuedBy::Server) => false,
        }
    }
}

/// The words of `above` and `row` as one prompt, one blank line between them.
pub fn merge(above: &QueuedPrompt, row: &QueuedPrompt) -> Result<String, Refusal> {
    above.check_visible()?;
    row.check_visible()?;
    if !is_of_one_source(above, row) {
        return Err(Refusal::conflict(
            "only consecutive prompts of one source can be merged: two of yours, or two of one agent",
        ));
    }
    let text = format!("{}\n\n{}", above.content, row.content);
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(Refusal::conflict(format!(
            "together the two would have {} bytes, and a prompt may have {MAX_MESSAGE_BYTES}: leave them apart",
            text.len()
        )));
    }
    Ok(text)
}

/// What was sent before may be known to its agent under its own id, and a key stands for one prompt: neither is joined.
fn is_of_one_source(above: &QueuedPrompt, row: &QueuedPrompt) -> bool {
    let plain = |prompt: &QueuedPrompt| {
        prompt.lane == Lane::Normal
            && prompt.dedupe_key.is_none()
            && prompt.attempts == 0
            && matches!(prompt.queued_by, QueuedBy::User | QueuedBy::Agent)
    };
    plain(above)
        && plain(row)
        && above.session_id == row.session_id
        && above.queued_by == row.queued_by
        && above.sender_session_id == row.sender_session_id
        && above.hidden_context == row.hidden_context
        && above.metadata == row.metadata
}

#[cfg(test)]
mod tests {
    use super::super::QueuedState;
    use super::super::tests::row;
    use super::*;
    use crate::ids::{QuestionId, SessionId};
    use serde_json::json;

    fn pair() -> (QueuedPrompt, QueuedPrompt) {
        let above = row(Lane::Normal, QueuedState::Queued);
        let below = QueuedPrompt {
            session_id: above.session_id,
            content: "again".to_owned(),
            ..row(Lane::Normal, QueuedState::Queued)
        };
        (above, below)
    }

    #[test]
    fn two_of_one_source_become_one_with_a_blank_line_between() {
        let (above, below) = pair();
        assert_eq!(merge(&above, &below).unwrap(), "hello\n\nagain");
        let sender = Some(SessionId::new());
        let by_agent = |prompt: QueuedPrompt| QueuedPrompt {
            queued_by: QueuedBy::Agent,
            sender_session_id: sender,
            ..prompt
        };
        assert!(merge(&by_agent(above), &by_agent(below)).is_ok());
    }

    #[test]
    fn whatever_differs_keeps_them_apart() {
        type Change = fn(&mut QueuedPrompt);
        let changes: &[Change] = &[
            |p| p.queued_by = QueuedBy::Agent,
            |p| p.sender_session_id = Some(SessionId::new()),
            |p| p.question_id = Some(QuestionId::new()),
            |p| p.answer_for_question_id = Some(QuestionId::new()),
            |p| p.state = QueuedState::Attempted,
            |p| p.lane = Lane::Express,
            |p| p.dedupe_key = Some("key".to_owned()),
            |p| p.attempts = 1,
            |p| p.hidden_context = Some("more".to_owned()),
            |p| {
                p.metadata.insert("a".to_owned(), json!(1));
            },
            |p| p.session_id = SessionId::new(),
            |p| p.content = "x".repeat(MAX_MESSAGE_BYTES),
        ];
        for (n, change) in changes.iter().enumerate() {
            let (mut above, mut below) = pair();
            change(&mut below);
            assert!(merge(&above, &below).is_err(), "below, change {n}");
            (above, below) = pair();
            change(&mut above);
            assert!(merge(&above, &below).is_err(), "above, change {n}");
        }
        for source in [QueuedBy::Workflow, QueuedBy::Server] {
            let (mut above, mut below) = pair();
            (above.queued_by, below.queued_by) = (source, source);
            assert!(merge(&above, &below).is_err(), "{source}");
        }
    }

    #[test]
    fn which_sources_are_joined_as_they_come() {
        for source in QueuedBy::ALL {
            assert!(!AutoMerge::Off.takes(*source));
            assert_eq!(AutoMerge::Own.takes(*source), *source == QueuedBy::User);
            let by_somebody = matches!(source, QueuedBy::User | QueuedBy::Agent);
            assert_eq!(AutoMerge::All.takes(*source), by_somebody);
        }
    }
}
