//! Questions: their common shape, and the machine of a question that an autopilot child asks its direct parent.
//!
//! One `pending` question a session; exactly one of answer, supersede and stale ends it, and an ended question stays as it
//! ended (task-domain section 4). The database holds the same invariants as a partial unique index and as guarded updates.

use crate::digest::hex;
use crate::effect::EffectKind;
use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{MessageId, PromptId, QuestionId, SessionId, TaskId, TurnId};
use crate::time::Timestamp;
use crate::transition::Transition;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Most questions in one bundle.
pub const MAX_QUESTIONS: usize = 4;
/// Longest prompt of a question, in code points.
pub const MAX_PROMPT: usize = 4_000;
/// Longest context, in code points.
pub const MAX_CONTEXT: usize = 16_000;
/// Longest label of an option, in code points.
pub const MAX_LABEL: usize = 200;
/// Longest free text of an answer or of a reason, in code points.
pub const MAX_FREE_TEXT: usize = 2_000;
/// How long an asking turn may go on before it is ended for the agent, in milliseconds (rulings 7).
pub const GRACE_MS: i64 = 10_000;

/// One question of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique in the bundle; `q1`, `q2`, … when not given.
    pub id: String,
    /// A short heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The question itself.
    pub prompt: String,
    /// Choices, none or two to six.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<QuestionOption>,
    /// False: only the offered options may be chosen. Said only when it is false.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub allow_custom_text: bool,
}

const fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
const fn is_true(flag: &bool) -> bool {
    *flag
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// Unique in the question; `q<N>_opt<M>` when not given.
    pub id: String,
    /// What is chosen.
    pub label: String,
    /// What choosing it means.
    #[serde(default)]
    pub description: String,
}

/// A question as an agent sends it, before it is checked. Options may be objects or plain strings.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct QuestionInput {
    /// See [`Question::id`].
    #[serde(default)]
    pub id: Option<String>,
    /// See [`Question::title`].
    #[serde(default)]
    pub title: Option<String>,
    /// See [`Question::prompt`].
    pub prompt: String,
    /// See [`Question::options`].
    #[serde(default)]
    pub options: Option<Vec<OptionInput>>,
    /// See [`Question::allow_custom_text`].
    #[serde(default)]
    pub allow_custom_text: Option<bool>,
}

/// An option as an agent sends it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum OptionInput {
    /// Only a label.
    Label(String),
    /// Label and description.
    Full {
        /// See [`QuestionOption::id`].
        #[serde(default)]
        id: Option<String>,
        /// See [`QuestionOption::label`].
        label: String,
        /// See [`QuestionOption::description`].
        #[serde(default)]
        description: Option<String>,
    },
}

/// Who a bundle is for: the operator is always offered choices, a parent may be asked openly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The operator.
    Operator,
    /// The direct parent.
    Parent,
}

/// Checks a bundle and fills in the ids that were left out.
pub fn normalise(inputs: &[QuestionInput], audience: Audience) -> Result<Vec<Question>, Refusal> {
    if inputs.is_empty() || inputs.len() > MAX_QUESTIONS {
        return Err(Refusal::validation(format!(
            "questions must hold 1 to {MAX_QUESTIONS} questions"
        )));
    }
    let mut questions: Vec<Question> = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        let number = index + 1;
        let id = non_blank(input.id.as_deref()).unwrap_or_else(|| format!("q{number}"));
        if questions.iter().any(|q| q.id == id) {
            return Err(Refusal::validation(format!(
                "questions[{index}].id is used twice: ids must be unique"
            )));
        }
        let prompt = input.prompt.trim();
        if prompt.is_empty() {
            return Err(Refusal::validation(format!(
                "questions[{index}].prompt must not be empty"
            )));
        }
        check_length(&format!("questions[{index}].prompt"), prompt, MAX_PROMPT)?;
        let title = non_blank(input.title.as_deref());
        if let Some(title) = &title {
            check_length(&format!("questions[{index}].title"), title, MAX_LABEL)?;
        }
        let options = normalise_options(
            index,
            input.options.as_deref().unwrap_or_default(),
            audience,
        )?;
        questions.push(Question {
            id,
            title,
            prompt: prompt.to_owned(),
            options,
            // A parent answers in words whatever it is offered.
            allow_custom_text: audience == Audience::Parent
                || input.allow_custom_text.unwrap_or(true),
        });
    }
    Ok(questions)
}

fn normalise_options(
    index: usize,
    inputs: &[OptionInput],
    audience: Audience,
) -> Result<Vec<QuestionOption>, Refusal> {
    if inputs.is_empty() && audience == Audience::Parent {
        return Ok(Vec::new());
    }
    if inputs.len() < 2 || inputs.len() > 6 {
        return Err(Refusal::validation(format!(
            "questions[{index}].options must hold 2 to 6 options"
        )));
    }
    let mut options: Vec<QuestionOption> = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        let (id, label, description) = match input {
            OptionInput::Label(label) => (None, label.as_str(), ""),
            OptionInput::Full {
                id,
                label,
                description,
            } => (
                id.as_deref(),
                label.as_str(),
                description.as_deref().unwrap_or_default(),
            ),
        };
        let field = format!("questions[{index}].options[{place}]");
        let label = label.trim();
        if label.is_empty() {
            return Err(Refusal::validation(format!(
                "{field}.label must not be empty"
            )));
        }
        check_length(&format!("{field}.label"), label, MAX_LABEL)?;
        check_length(&format!("{field}.description"), description, MAX_PROMPT)?;
        let id = non_blank(id).unwrap_or_else(|| format!("q{}_opt{}", index + 1, place + 1));
        if options.iter().any(|o| o.id == id) {
            return Err(Refusal::validation(format!(
                "{field}.id is used twice: ids must be unique in a question"
            )));
        }
        options.push(QuestionOption {
            id,
            label: label.to_owned(),
            description: description.trim().to_owned(),
        });
    }
    Ok(options)
}

/// The context of a bundle: paragraphs, when there are any, replace the plain text.
pub fn normalise_context(
    context: Option<&str>,
    paragraphs: &[String],
) -> Result<Option<String>, Refusal> {
    let joined = if paragraphs.is_empty() {
        context.map(str::to_owned)
    } else {
        Some(paragraphs.join("\n\n"))
    };
    if let Some(text) = &joined {
        check_length("context", text, MAX_CONTEXT)?;
    }
    Ok(joined.filter(|text| !text.trim().is_empty()))
}

fn non_blank(text: Option<&str>) -> Option<String> {
    text.map(str::trim)
        .filter(|t| !t.is_empty())
        .map(str::to_owned)
}

/// Refuses a text of more than `max` code points, naming the field.
pub fn check_length(field: &str, text: &str, max: usize) -> Result<(), Refusal> {
    let length = text.chars().count();
    if length > max {
        return Err(Refusal::validation(format!(
            "{field} has {length} characters and may have {max}"
        )));
    }
    Ok(())
}

/// The identity of a tool call within its turn: SHA-256 over its arguments with sorted keys, or the client's own id of the
/// call when it sends one (rulings 6). Never the JSON-RPC id, which restarts with each connection.
#[must_use]
pub fn tool_call_key(turn: TurnId, arguments: &Value, tool_use_id: Option<&str>) -> String {
    match tool_use_id {
        Some(id) => format!("{turn}:use:{id}"),
        None => format!("{turn}:args:{}", arguments_hash(arguments)),
    }
}

/// Lower-case hexadecimal SHA-256 of `arguments` written with sorted keys, so that it does not depend on their order.
#[must_use]
pub fn arguments_hash(arguments: &Value) -> String {
    let mut hasher = Sha256::new();
    hash_canonical(arguments, &mut hasher);
    hex(&hasher.finalize())
}

fn hash_canonical(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            hasher.update(b"{");
            for key in keys {
                hasher.update(Value::from(key.as_str()).to_string());
                hasher.update(b":");
                hash_canonical(&map[key], hasher);
                hasher.update(b",");
            }
            hasher.update(b"}");
        }
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                hash_canonical(item, hasher);
                hasher.update(b",");
            }
            hasher.update(b"]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hasher.update(value.to_string());
        }
    }
}

words! {
    /// Where a question to a parent stands.
    QuestionStatus("status") {
        /// The child waits.
        Pending = "pending",
        /// One correlated answer was accepted.
        Answered = "answered",
        /// The operator or the parent gave the child something else to do.
        Superseded = "superseded",
        /// The child or the parent is gone, or they are no longer child and parent.
        Stale = "stale",
    }
}

/// A question to a parent as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ParentQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The task that asks.
    pub child_task_id: TaskId,
    /// The session that asks; the answer goes here and nowhere else.
    pub child_session_id: SessionId,
    /// The turn that asked.
    pub child_turn_id: Option<TurnId>,
    /// The direct parent at the time of asking; nobody else may answer.
    pub parent_task_id: TaskId,
    /// See [`tool_call_key`].
    pub tool_call_key: String,
    /// What is asked.
    pub questions: Vec<Question>,
    /// Why it is asked.
    pub context: Option<String>,
    /// What stands still meanwhile, in the child's words.
    pub blocked_effect: Option<String>,
    /// Where it stands.
    pub status: QuestionStatus,
    /// The hidden message in the child's transcript that shows it.
    pub message_id: MessageId,
    /// The prompt that carries it to the parent; `None` while the parent has no session that could take it.
    pub prompt_id: Option<PromptId>,
    /// The parent's agent accepted the prompt.
    pub delivered_at: Option<Timestamp>,
    /// The answer's text.
    pub response: Option<String>,
    /// The parent's session that answered.
    pub answered_by_session_id: Option<SessionId>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// What can end a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionCommand {
    /// A correlated answer of the parent.
    Answer,
    /// Explicit other input to the child by the operator or the parent.
    Supersede,
    /// The child or the relationship ended.
    MakeStale,
}

/// The machine of a parent question. Repeating what already happened stays; anything else against an ended question is refused.
pub fn decide(
    status: QuestionStatus,
    command: QuestionCommand,
) -> Result<Transition<QuestionStatus>, Refusal> {
    use QuestionCommand as C;
    use QuestionStatus as S;
    let end = |next| {
        Ok(Transition::to(next, EventKind::ParentQuestionChanged).then(EffectKind::Dispatch))
    };
    match (command, status) {
        (C::Answer, S::Pending) => end(S::Answered),
        (C::Answer, S::Answered) => Ok(Transition::stay(status)),
        (C::Answer, S::Superseded) => Err(Refusal::validation(
            "the question was superseded: the child was given other input meanwhile and no longer waits for this answer",
        )),
        (C::Answer, S::Stale) => Err(Refusal::validation(
            "the question is stale: the child ended, or is no longer this task's child; nobody waits for this answer",
        )),
        (C::Supersede, S::Pending) => end(S::Superseded),
        (C::MakeStale, S::Pending) => end(S::Stale),
        (C::Supersede | C::MakeStale, S::Answered | S::Superseded | S::Stale) => {
            Ok(Transition::stay(status))
        }
    }
}

/// Whether `sender` may answer: the recorded parent, and still the child's direct parent (rulings 4).
pub fn check_answerer(
    question: &ParentQuestion,
    target_task: TaskId,
    target_session: Option<SessionId>,
    sender: TaskId,
    current_parent: Option<TaskId>,
) -> Result<(), Refusal> {
    if question.child_task_id != target_task {
        return Err(Refusal::validation(
            "reply_to_question_id belongs to another task: send the reply to the task that asked",
        ));
    }
    if question.parent_task_id != sender || current_parent != Some(sender) {
        return Err(Refusal::validation(
            "only the direct parent that was asked may answer this question",
        ));
    }
    if target_session.is_some_and(|session| session != question.child_session_id) {
        return Err(Refusal::validation(
            "the question was asked by another session of that task: leave session_id out, the reply goes to the one that asked",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(value: Value) -> Vec<QuestionInput> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn transition_table() {
        let mut table = String::new();
        for command in [
            QuestionCommand::Answer,
            QuestionCommand::Supersede,
            QuestionCommand::MakeStale,
        ] {
            for status in QuestionStatus::ALL {
                let outcome = match decide(*status, command) {
                    Ok(t) if !t.changed => "stays".to_owned(),
                    Ok(t) => t.next.to_string(),
                    Err(refusal) => format!("refused: {refusal}"),
                };
                table.push_str(&format!("{command:?} on {status}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn options_may_be_absent_objects_or_strings_for_a_parent() {
        let questions = normalise(
            &inputs(json!([
                {"prompt": "open?"},
                {"prompt": "which?", "options": ["SQLite", "Postgres"]},
                {"prompt": "which?", "options": [{"label": "a", "description": "x"}, {"id": "own", "label": "b"}]},
            ])),
            Audience::Parent,
        )
        .unwrap();
        assert_eq!(questions[0].options.len(), 0);
        assert_eq!(questions[1].options[1].id, "q2_opt2");
        assert_eq!(questions[2].options[1].id, "own");
        assert!(normalise(&inputs(json!([{"prompt": "open?"}])), Audience::Operator).is_err());
    }

    #[test]
    fn bundles_out_of_bounds_are_refused() {
        for bad in [
            json!([]),
            json!([{"prompt": "1"}, {"prompt": "2"}, {"prompt": "3"}, {"prompt": "4"}, {"prompt": "5"}]),
            json!([{"prompt": "  "}]),
            json!([{"id": "a", "prompt": "1"}, {"id": "a", "prompt": "2"}]),
            json!([{"prompt": "1", "options": ["one"]}]),
            json!([{"prompt": "1", "options": ["1", "2", "3", "4", "5", "6", "7"]}]),
            json!([{"prompt": "x".repeat(MAX_PROMPT + 1)}]),
            json!([{"prompt": "1", "options": ["", "b"]}]),
        ] {
            assert!(
                normalise(&inputs(bad.clone()), Audience::Parent).is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn the_identity_of_a_call_does_not_depend_on_the_order_of_its_fields() {
        let turn = TurnId::new();
        let one = json!({"a": 1, "b": [{"x": 1, "y": 2}]});
        let two = json!({"b": [{"y": 2, "x": 1}], "a": 1});
        assert_eq!(
            tool_call_key(turn, &one, None),
            tool_call_key(turn, &two, None)
        );
        assert_ne!(
            tool_call_key(turn, &one, None),
            tool_call_key(TurnId::new(), &one, None)
        );
        assert_ne!(
            tool_call_key(turn, &one, None),
            tool_call_key(turn, &one, Some("toolu_1"))
        );
        assert_ne!(
            arguments_hash(&json!(["a", "b"])),
            arguments_hash(&json!(["a\",\"b"]))
        );
    }
}
