//! Questions of an agent to its operator (the wire calls a bundle a clarification).

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{ClarificationId, SessionId, TaskId, TurnId};
use crate::question::{MAX_FREE_TEXT, Question, check_length};
use crate::time::Timestamp;
use crate::transition::Transition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

words! {
    /// Where a bundle stands.
    ClarificationStatus("status") {
        /// Nobody has answered.
        Pending = "pending",
        /// All questions were answered together.
        Answered = "answered",
        /// The operator skipped it.
        Rejected = "rejected",
        /// The turn or session that asked is over.
        Expired = "expired",
        /// Withdrawn by the agent.
        Cancelled = "cancelled",
    }
}

/// A bundle of questions to the operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Clarification {
    /// Its id, `pending_id` on the wire.
    pub id: ClarificationId,
    /// The task that asks.
    pub task_id: TaskId,
    /// The session that asks.
    pub session_id: SessionId,
    /// The turn that asks.
    pub turn_id: Option<TurnId>,
    /// Identity of the call, so that a client's retry finds the same bundle.
    pub request_key: String,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Why it is asked.
    pub context: Option<String>,
    /// Where it stands.
    pub status: ClarificationStatus,
    /// Nobody waits for the answer any more; it can still be answered.
    pub agent_disconnected: bool,
    /// The result as the tool returns it, once resolved.
    pub response: Option<Value>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// The operator's answer as it arrives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClarificationAnswer {
    /// One entry a question; all together.
    #[serde(default)]
    pub answers: Vec<AnswerItem>,
    /// Skip the whole bundle.
    #[serde(default)]
    pub rejected: bool,
    /// Why it is skipped.
    #[serde(default)]
    pub reject_reason: Option<String>,
}

/// The answer to one question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerItem {
    /// Which question.
    pub question_id: String,
    /// At most one option's id.
    #[serde(default)]
    pub selected_options: Vec<String>,
    /// Free text; may stand beside an option.
    #[serde(default)]
    pub custom_text: Option<String>,
}

/// What can end a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClarificationCommand {
    /// The operator answered.
    Answer,
    /// The operator skipped.
    Reject,
    /// The session or the turn ended, or a newer turn began.
    Expire,
    /// The agent withdrew it.
    Cancel,
}

/// The machine of a bundle: the first to end it wins, and an ended bundle stays as it ended.
#[must_use]
pub fn decide(
    status: ClarificationStatus,
    command: ClarificationCommand,
) -> Transition<ClarificationStatus> {
    if status != ClarificationStatus::Pending {
        return Transition::stay(status);
    }
    let next = match command {
        ClarificationCommand::Answer => ClarificationStatus::Answered,
        ClarificationCommand::Reject => ClarificationStatus::Rejected,
        ClarificationCommand::Expire => ClarificationStatus::Expired,
        ClarificationCommand::Cancel => ClarificationStatus::Cancelled,
    };
    Transition::to(next, EventKind::ClarificationChanged)
}

/// Checks an answer against its bundle and gives the tool's result: an object keyed by question id (task-domain 5.3).
pub fn response(questions: &[Question], answer: &ClarificationAnswer) -> Result<Value, Refusal> {
    if answer.rejected {
        return rejection(questions, answer);
    }
    if let Some(unknown) = answer
        .answers
        .iter()
        .position(|a| !questions.iter().any(|q| q.id == a.question_id))
    {
        return Err(Refusal::validation(format!(
            "answers[{unknown}].question_id is not a question of this bundle"
        )));
    }
    let mut result = Map::new();
    for question in questions {
        let mut given = answer
            .answers
            .iter()
            .filter(|a| a.question_id == question.id);
        let (Some(item), None) = (given.next(), given.next()) else {
            return Err(Refusal::validation(format!(
                "question \"{}\" must be answered exactly once: questions are answered all together, or skipped",
                question.id
            )));
        };
        result.insert(question.id.clone(), item_response(question, item)?);
    }
    Ok(Value::Object(result))
}

fn item_response(question: &Question, item: &AnswerItem) -> Result<Value, Refusal> {
    let text = item
        .custom_text
        .as_deref()
        .map(str::trim)
        .filter(|t| !t.is_empty());
    if let Some(text) = text {
        check_length("custom_text", text, MAX_FREE_TEXT)?;
    }
    let option = match item.selected_options.as_slice() {
        [] => None,
        [id] => Some(
            question
                .options
                .iter()
                .find(|o| o.id == *id)
                .ok_or_else(|| {
                    Refusal::validation(format!(
                        "selected_options of question \"{}\" names an unknown option",
                        question.id
                    ))
                })?,
        ),
        _ => return Err(Refusal::validation("choose one option a question")),
    };
    if option.is_none() && text.is_none() {
        return Err(Refusal::validation(format!(
            "question \"{}\" needs an option or a text",
            question.id
        )));
    }
    let mut entry = Map::new();
    if let Some(option) = option {
        entry.insert(
            "selected_option".to_owned(),
            json!({"id": option.id, "label": option.label}),
        );
    }
    if let Some(text) = text {
        entry.insert("custom_text".to_owned(), json!(text));
    }
    Ok(Value::Object(entry))
}

fn rejection(questions: &[Question], answer: &ClarificationAnswer) -> Result<Value, Refusal> {
    let reason = answer
        .reject_reason
        .as_deref()
        .map(str::trim)
        .filter(|r| !r.is_empty());
    if let Some(reason) = reason {
        check_length("reject_reason", reason, MAX_FREE_TEXT)?;
    }
    let mut result: Map<String, Value> = questions
        .iter()
        .map(|q| (q.id.clone(), json!({"answered": false, "rejected": true})))
        .collect();
    result.insert("rejected".to_owned(), json!(true));
    if let Some(reason) = reason {
        result.insert("reject_reason".to_owned(), json!(reason));
    }
    Ok(Value::Object(result))
}

/// The result for an agent whose question ended without the operator: every question unanswered.
#[must_use]
pub fn unanswered(questions: &[Question]) -> Value {
    Value::Object(
        questions
            .iter()
            .map(|q| (q.id.clone(), json!({"answered": false})))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::QuestionOption;

    fn bundle() -> Vec<Question> {
        let option = |id: &str| QuestionOption {
            id: id.into(),
            label: id.to_uppercase(),
            description: String::new(),
        };
        vec![Question {
            id: "q1".into(),
            title: None,
            prompt: "?".into(),
            options: vec![option("a"), option("b")],
        }]
    }

    fn answer(value: Value) -> ClarificationAnswer {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_answer_names_an_offered_option_or_brings_a_text() {
        let ok = answer(
            json!({"answers": [{"question_id": "q1", "selected_options": ["a"], "custom_text": ""}]}),
        );
        assert_eq!(
            response(&bundle(), &ok).unwrap(),
            json!({"q1": {"selected_option": {"id": "a", "label": "A"}}})
        );
        for bad in [
            json!({"answers": []}),
            json!({"answers": [{"question_id": "q1"}]}),
            json!({"answers": [{"question_id": "q1", "selected_options": ["c"]}]}),
            json!({"answers": [{"question_id": "q1", "selected_options": ["a", "b"]}]}),
            json!({"answers": [{"question_id": "q2", "selected_options": ["a"]}]}),
            json!({"answers": [{"question_id": "q1", "custom_text": "x".repeat(MAX_FREE_TEXT + 1)}]}),
        ] {
            assert!(response(&bundle(), &answer(bad.clone())).is_err(), "{bad}");
        }
        let longest =
            json!({"answers": [{"question_id": "q1", "custom_text": "é".repeat(MAX_FREE_TEXT)}]});
        assert!(response(&bundle(), &answer(longest)).is_ok());
    }

    #[test]
    fn the_first_to_end_a_bundle_wins() {
        let answered = decide(ClarificationStatus::Pending, ClarificationCommand::Answer);
        assert!(answered.changed);
        assert!(!decide(answered.next, ClarificationCommand::Reject).changed);
    }
}
