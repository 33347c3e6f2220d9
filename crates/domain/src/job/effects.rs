//! What tools did, and what users agreed to.
//!
//! A tool that acts is noted before it runs and again when it has run. A rerun of the job gets the noted result instead of a
//! second act; where the end was not noted, nobody knows, and the user has to be told so.
//!
//! A preview becomes an act only when the user agrees: in a later message, to the same arguments, once, before it expires. That
//! a model agrees is worth nothing.

use super::id::JobId;
use crate::error::Refusal;
use crate::question;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long a preview may be agreed to, in milliseconds.
pub const CONFIRMATION_MS: i64 = 30 * 60 * 1_000;

words! {
    /// How far a call has come.
    ToolCallState("state") {
        /// It may have acted.
        Started = "started",
        /// It acted, and its result is kept.
        Finished = "finished",
        /// It did not act, and said so.
        Failed = "failed",
    }
}

/// A call of a tool that acts, within one job.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Of which job.
    pub job_id: JobId,
    /// Its place in the job, from 1.
    pub seq: i64,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the canonical arguments.
    pub args_hash: String,
    /// Passed on where the target can tell a repeat by it.
    pub idempotency_key: String,
    /// How far it has come.
    pub state: ToolCallState,
    /// What it answered.
    pub result: Option<Value>,
}

/// What to do with a call that a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Replay {
    /// Run it, with this key for whom it acts on.
    Run {
        /// Its place in the job.
        seq: i64,
        /// See [`ToolCall::idempotency_key`].
        idempotency_key: String,
    },
    /// It ran already; this is what it answered.
    Stored(Value),
    /// It was begun and its end is not known: it may have happened.
    Unknown {
        /// Its place in the job.
        seq: i64,
        /// What it was, or would have been, called with.
        idempotency_key: String,
    },
}

/// The rule for a call with the same tool and arguments as `earlier`. A failed one may be tried again.
#[must_use]
pub fn replay(earlier: Option<&ToolCall>) -> Option<Replay> {
    let earlier = earlier?;
    match earlier.state {
        ToolCallState::Finished => Some(Replay::Stored(
            earlier.result.clone().unwrap_or(Value::Null),
        )),
        ToolCallState::Started => Some(Replay::Unknown {
            seq: earlier.seq,
            idempotency_key: earlier.idempotency_key.clone(),
        }),
        ToolCallState::Failed => None,
    }
}

/// The same for two calls that mean the same, whatever the order of their fields.
#[must_use]
pub fn args_hash(arguments: &Value) -> String {
    question::arguments_hash(arguments)
}

/// A preview that waits for consent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// Its number.
    pub id: i64,
    /// The turn in which it was made.
    pub job_id: JobId,
    /// Whose consent it needs.
    pub user_id: String,
    /// The conversation it belongs to.
    pub conversation: String,
    /// The tool that made it.
    pub preview_tool: String,
    /// The tool that carries it out.
    pub confirmation_tool: String,
    /// What both are called with.
    pub arguments: Value,
    /// SHA-256 of the canonical arguments.
    pub args_hash: String,
    /// What would be made, for the user.
    pub summary: Option<String>,
    /// No consent after this time.
    pub expires_at: Timestamp,
    /// When it was agreed to.
    pub consumed_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Who wants to carry out a preview, when, with what.
#[derive(Debug, Clone, Copy)]
pub struct Consent<'a> {
    /// Whose message, or press of a button, it is.
    pub user_id: &'a str,
    /// The turn in which the tool is called; `None` for a button.
    pub job_id: Option<JobId>,
    /// The tool.
    pub tool: &'a str,
    /// See [`args_hash`].
    pub args_hash: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// Whether the preview may be carried out. The first refusal that applies is given.
pub fn consent(preview: Option<&Confirmation>, asked: &Consent<'_>) -> Result<(), Refusal> {
    // Somebody else's preview is as good as none, and reads like none.
    let Some(preview) = preview.filter(|preview| {
        preview.user_id == asked.user_id
            && preview.confirmation_tool == asked.tool
            && preview.args_hash == asked.args_hash
    }) else {
        return Err(Refusal::conflict(
            "there is no preview with these arguments to confirm: make the preview first, show it to the user, and confirm after the user's next message",
        ));
    };
    if asked.job_id == Some(preview.job_id) {
        return Err(Refusal::conflict(
            "a preview cannot be confirmed in the turn that made it: show it to the user and wait for the user's next message",
        ));
    }
    if preview.consumed_at.is_some() {
        return Err(Refusal::conflict(
            "this preview was confirmed already: nothing is done a second time",
        ));
    }
    if asked.now >= preview.expires_at {
        return Err(Refusal::conflict(
            "this preview has expired: make a new one and show it to the user",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn preview() -> Confirmation {
        Confirmation {
            id: 1,
            job_id: JobId(1),
            user_id: "u".to_owned(),
            conversation: "c".to_owned(),
            preview_tool: "preview_task".to_owned(),
            confirmation_tool: "confirm_task".to_owned(),
            arguments: json!({"a": 1, "b": 2}),
            args_hash: args_hash(&json!({"a": 1, "b": 2})),
            summary: None,
            expires_at: Timestamp::from_millis(100),
            consumed_at: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn consent_is_the_users_own_later_once_and_in_time() {
        let hash = args_hash(&json!({"b": 2, "a": 1}));
        let asked = Consent {
            user_id: "u",
            job_id: Some(JobId(2)),
            tool: "confirm_task",
            args_hash: &hash,
            now: Timestamp::from_millis(99),
        };
        assert_eq!(consent(Some(&preview()), &asked), Ok(()));
        assert_eq!(
            consent(
                Some(&preview()),
                &Consent {
                    job_id: None,
                    ..asked
                }
            ),
            Ok(())
        );
        let refused = |preview: Option<&Confirmation>, asked: Consent<'_>| {
            consent(preview, &asked).unwrap_err().message
        };
        let none = refused(None, asked);
        assert_eq!(
            refused(
                Some(&preview()),
                Consent {
                    user_id: "v",
                    ..asked
                }
            ),
            none
        );
        assert_eq!(
            refused(
                Some(&preview()),
                Consent {
                    tool: "confirm_other",
                    ..asked
                }
            ),
            none
        );
        let other = args_hash(&json!({"a": 2}));
        assert_eq!(
            refused(
                Some(&preview()),
                Consent {
                    args_hash: &other,
                    ..asked
                }
            ),
            none
        );
        assert!(
            refused(
                Some(&preview()),
                Consent {
                    job_id: Some(JobId(1)),
                    ..asked
                }
            )
            .contains("turn that made it")
        );
        assert!(
            refused(
                Some(&preview()),
                Consent {
                    now: Timestamp::from_millis(100),
                    ..asked
                }
            )
            .contains("expired")
        );
        let consumed = Confirmation {
            consumed_at: Some(Timestamp::from_millis(5)),
            ..preview()
        };
        assert!(refused(Some(&consumed), asked).contains("already"));
    }

    #[test]
    fn a_finished_call_is_not_run_again() {
        let call = |state| ToolCall {
            job_id: JobId(1),
            seq: 3,
            tool: "create_task".to_owned(),
            args_hash: String::new(),
            idempotency_key: "k".to_owned(),
            state,
            result: Some(json!("made")),
        };
        assert_eq!(replay(None), None);
        assert_eq!(
            replay(Some(&call(ToolCallState::Finished))),
            Some(Replay::Stored(json!("made")))
        );
        assert_eq!(replay(Some(&call(ToolCallState::Failed))), None);
        let unknown = Replay::Unknown {
            seq: 3,
            idempotency_key: "k".to_owned(),
        };
        assert_eq!(replay(Some(&call(ToolCallState::Started))), Some(unknown));
    }
}
