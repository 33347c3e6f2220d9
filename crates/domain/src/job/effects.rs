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

words! {
    /// What became of a preview.
    ConsentOutcome("outcome") {
        /// It was carried out.
        Confirmed = "confirmed",
        /// It is not wanted.
        Declined = "declined",
    }
}

words! {
    /// Where a preview stands.
    ConsentState("state") {
        /// It can be agreed to.
        Open = "open",
        /// It was agreed to by a button, and is being carried out.
        Agreed = "agreed",
        /// It was carried out.
        Confirmed = "confirmed",
        /// It is not wanted.
        Declined = "declined",
        /// Nobody said anything in time.
        Expired = "expired",
    }
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
    /// When it was agreed to by a button. From then on it is carried out, however often that has to be begun.
    pub agreed_at: Option<Timestamp>,
    /// When it came to its end.
    pub consumed_at: Option<Timestamp>,
    /// Its end.
    pub outcome: Option<ConsentOutcome>,
    /// What the tool answered that carried it out.
    pub result: Option<Value>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Confirmation {
    /// Where it stands.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> ConsentState {
        match (self.consumed_at, self.outcome) {
            (Some(_), Some(ConsentOutcome::Declined)) => ConsentState::Declined,
            (Some(_), Some(ConsentOutcome::Confirmed) | None) => ConsentState::Confirmed,
            (None, _) if self.agreed_at.is_some() => ConsentState::Agreed,
            (None, _) if now >= self.expires_at => ConsentState::Expired,
            (None, _) => ConsentState::Open,
        }
    }

    /// What it is carried out under: however often that is begun, and by whichever way the consent comes, it is done once.
    #[must_use]
    pub fn key(&self) -> String {
        format!("confirmation:{}", self.id)
    }
}

/// A button was pressed that agrees to a preview. One that was agreed to and not carried out is carried out now: consent that was
/// given in time does not expire.
pub fn agree(preview: &Confirmation, now: Timestamp) -> Result<(), Refusal> {
    match preview.state(now) {
        ConsentState::Open | ConsentState::Agreed => Ok(()),
        ConsentState::Confirmed => Err(confirmed_already()),
        ConsentState::Declined => Err(declined_already()),
        ConsentState::Expired => Err(expired()),
    }
}

/// A button was pressed that declines a preview. Says whether anything changes: a second press finds it as wished.
pub fn decline(preview: &Confirmation, now: Timestamp) -> Result<bool, Refusal> {
    match preview.state(now) {
        ConsentState::Open => Ok(true),
        ConsentState::Declined => Ok(false),
        ConsentState::Agreed | ConsentState::Confirmed => Err(confirmed_already()),
        ConsentState::Expired => Err(expired()),
    }
}

fn confirmed_already() -> Refusal {
    Refusal::conflict("this preview was confirmed already: nothing is done a second time")
}

fn declined_already() -> Refusal {
    Refusal::conflict("this preview was declined: nothing is done, unless it is asked for again")
}

fn expired() -> Refusal {
    Refusal::conflict("this preview has expired: make a new one and show it to the user")
}

/// Which turn of a model wants to carry out a preview, for whom, when, with what.
#[derive(Debug, Clone, Copy)]
pub struct Consent<'a> {
    /// Whose message it is.
    pub user_id: &'a str,
    /// The turn in which the tool is called.
    pub job_id: JobId,
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
    if asked.job_id == preview.job_id {
        return Err(Refusal::conflict(
            "a preview cannot be confirmed in the turn that made it: show it to the user and wait for the user's next message",
        ));
    }
    match preview.state(asked.now) {
        ConsentState::Open => Ok(()),
        // By a button, which carries it out.
        ConsentState::Agreed | ConsentState::Confirmed => Err(confirmed_already()),
        ConsentState::Declined => Err(declined_already()),
        ConsentState::Expired => Err(expired()),
    }
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
            agreed_at: None,
            consumed_at: None,
            outcome: None,
            result: None,
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn consent_is_the_users_own_later_once_and_in_time() {
        let hash = args_hash(&json!({"b": 2, "a": 1}));
        let asked = Consent {
            user_id: "u",
            job_id: JobId(2),
            tool: "confirm_task",
            args_hash: &hash,
            now: Timestamp::from_millis(99),
        };
        assert_eq!(consent(Some(&preview()), &asked), Ok(()));
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
                    job_id: JobId(1),
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
        let agreed = Confirmation {
            agreed_at: Some(Timestamp::from_millis(5)),
            ..preview()
        };
        assert!(refused(Some(&agreed), asked).contains("already"));
    }

    #[test]
    fn a_button_agrees_or_declines_once_and_in_time_and_consent_that_was_given_is_kept() {
        let at = Timestamp::from_millis;
        let open = preview();
        assert_eq!(
            (agree(&open, at(99)), decline(&open, at(99))),
            (Ok(()), Ok(true))
        );
        assert!(
            agree(&open, at(100))
                .unwrap_err()
                .message
                .contains("expired")
        );
        assert!(
            decline(&open, at(100))
                .unwrap_err()
                .message
                .contains("expired")
        );
        let agreed = Confirmation {
            agreed_at: Some(at(99)),
            ..preview()
        };
        assert_eq!(agree(&agreed, at(200)), Ok(()), "it was given in time");
        assert!(decline(&agreed, at(99)).is_err());
        let ended = |outcome| Confirmation {
            consumed_at: Some(at(50)),
            outcome: Some(outcome),
            ..preview()
        };
        let confirmed = ended(ConsentOutcome::Confirmed);
        assert!(agree(&confirmed, at(60)).is_err() && decline(&confirmed, at(60)).is_err());
        let declined = ended(ConsentOutcome::Declined);
        assert!(
            agree(&declined, at(60))
                .unwrap_err()
                .message
                .contains("declined")
        );
        assert_eq!(decline(&declined, at(200)), Ok(false));
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
