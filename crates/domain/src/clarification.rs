//! Questions of an agent to its operator (the wire calls a bundle a clarification).
//!
//! Three rules stand here and nowhere else: what ends a bundle ([`decide`]), whether one still counts ([`standing`]), and what
//! an answer may hold ([`response`]). A bundle that no longer counts is expired by the transaction that made it so; that is why
//! a row that is still open is always one that counts, and lists and icons may go by the row alone.

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{ClarificationId, PromptId, SessionId, TaskId, TurnId};
use crate::question::{MAX_FREE_TEXT, Question, check_length};
use crate::session::SessionState;
use crate::time::Timestamp;
use crate::transition::Transition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

words! {
    /// Where a bundle stands.
    ClarificationStatus("status") {
        /// Nobody has answered.
        Pending = "pending",
        /// An answer was given after its agent had stopped waiting, and is on its way to it as a prompt.
        Responding = "responding",
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

impl ClarificationStatus {
    /// It has not ended.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Responding)
    }
}

/// The claim of an answer that is on its way ([`ClarificationStatus::Responding`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The prompt that carries the answer.
    pub prompt: PromptId,
    /// The node that waits for its acceptance; empty for a process without a name.
    pub holder: String,
    /// When the wait is over at the latest.
    pub until: Timestamp,
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
    /// The result as the tool returns it, once resolved, or while it is on its way.
    pub response: Option<Value>,
    /// Who brings the answer to the agent, while it is on its way.
    pub claim: Option<Claim>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// A place in the list of open bundles: after the one that was asked at this moment under this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// When it was asked.
    pub at: Timestamp,
    /// Its id.
    pub id: ClarificationId,
}

impl Cursor {
    /// Reads what [`Self`]'s display wrote.
    ///
    /// # Errors
    ///
    /// When it did not write it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let parts = text.trim().split_once('_');
        let read = parts.and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        match read {
            Some((at, id)) => Ok(Self {
                at: Timestamp::from_millis(at),
                id,
            }),
            None => Err(Refusal::validation(
                "cursor must be the next_cursor of an earlier page",
            )),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.at.millis(), self.id)
    }
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

/// What can happen to a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClarificationCommand {
    /// An answer is being brought to an agent that no longer waits.
    Claim,
    /// The operator answered; or the agent has taken the prompt that carries the answer.
    Answer,
    /// The answer could not be brought: the question is open again.
    Release,
    /// The operator skipped.
    Reject,
    /// The session or the turn ended, or a newer turn began.
    Expire,
    /// It was withdrawn.
    Cancel,
}

impl ClarificationCommand {
    /// Every command, for the transition table.
    pub const ALL: &'static [Self] = &[
        Self::Claim,
        Self::Answer,
        Self::Release,
        Self::Reject,
        Self::Expire,
        Self::Cancel,
    ];
}

/// The machine of a bundle: the first to end it, or to claim it, wins, and an ended bundle stays as it ended.
#[must_use]
pub fn decide(
    status: ClarificationStatus,
    command: ClarificationCommand,
) -> Transition<ClarificationStatus> {
    use ClarificationCommand as C;
    use ClarificationStatus as S;
    let to = |next| Transition::to(next, EventKind::ClarificationChanged);
    match (command, status) {
        (C::Claim, S::Pending) => to(S::Responding),
        (C::Answer, S::Pending | S::Responding) => to(S::Answered),
        (C::Release, S::Responding) => to(S::Pending),
        (C::Reject, S::Pending) => to(S::Rejected),
        (C::Expire, S::Pending | S::Responding) => to(S::Expired),
        (C::Cancel, S::Pending) => to(S::Cancelled),
        (C::Release, S::Pending)
        | (C::Claim | C::Reject | C::Cancel, S::Responding)
        | (
            C::Claim | C::Answer | C::Release | C::Reject | C::Expire | C::Cancel,
            S::Answered | S::Rejected | S::Expired | S::Cancelled,
        ) => Transition::stay(status),
    }
}

/// How a bundle stands towards its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A call waits for the answer in the session's present turn. It holds the queue.
    Live,
    /// Nobody waits; an answer goes to the agent as its next prompt. It holds the workflow, not the queue.
    Detached,
    /// It is history: it has ended, its turn is no longer the session's newest, or the session is over.
    Over,
}

/// Whether a bundle still counts (task-domain 5.5). `current` is the newest turn of its session that an agent has taken.
#[must_use]
pub fn standing(
    bundle: &Clarification,
    current: Option<TurnId>,
    session: SessionState,
) -> Standing {
    let counts = bundle.status.is_open()
        && bundle.turn_id.is_some()
        && bundle.turn_id == current
        && !session.is_terminal();
    match (counts, bundle.agent_disconnected) {
        (false, _) => Standing::Over,
        (true, false) => Standing::Live,
        (true, true) => Standing::Detached,
    }
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
        if !question.allow_custom_text {
            return Err(Refusal::validation(format!(
                "question \"{}\" takes one of its options and no text of your own",
                question.id
            )));
        }
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
            allow_custom_text: true,
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
    fn a_question_may_forbid_own_words() {
        let mut questions = bundle();
        questions[0].allow_custom_text = false;
        let chosen = json!({"question_id": "q1", "selected_options": ["a"], "custom_text": "  "});
        assert!(response(&questions, &answer(json!({"answers": [chosen]}))).is_ok());
        for bad in [
            json!({"question_id": "q1", "selected_options": ["a"], "custom_text": "but"}),
            json!({"question_id": "q1", "custom_text": "neither"}),
        ] {
            assert!(response(&questions, &answer(json!({"answers": [bad]}))).is_err());
        }
    }

    #[test]
    fn transition_table() {
        let mut table = String::new();
        for command in ClarificationCommand::ALL {
            for status in ClarificationStatus::ALL {
                let t = decide(*status, *command);
                let outcome = if t.changed { t.next.as_str() } else { "stays" };
                table.push_str(&format!("{command:?} on {status}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn a_bundle_counts_while_its_turn_is_the_newest_of_a_living_session() {
        let (turn, newer) = (TurnId::new(), TurnId::new());
        let asked = |status, agent_disconnected| Clarification {
            id: ClarificationId::new(),
            task_id: TaskId::new(),
            session_id: SessionId::new(),
            turn_id: Some(turn),
            request_key: String::new(),
            questions: bundle(),
            context: None,
            status,
            agent_disconnected,
            response: None,
            claim: None,
            created_at: Timestamp::from_millis(0),
            resolved_at: None,
        };
        let pending = asked(ClarificationStatus::Pending, false);
        for state in SessionState::ALL {
            let expected = if state.is_terminal() {
                Standing::Over
            } else {
                Standing::Live
            };
            assert_eq!(standing(&pending, Some(turn), *state), expected, "{state}");
            for current in [Some(newer), None] {
                assert_eq!(standing(&pending, current, *state), Standing::Over);
            }
        }
        for status in ClarificationStatus::ALL {
            let expected = if status.is_open() {
                Standing::Detached
            } else {
                Standing::Over
            };
            let at = standing(
                &asked(*status, true),
                Some(turn),
                SessionState::WaitingForInput,
            );
            assert_eq!(at, expected, "{status}");
        }
    }
}
