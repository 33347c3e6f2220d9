//! What an agent was told about a message it sent, kept so that a repeat gets the same answer and chains can be counted.

use crate::error::Refusal;
use crate::ids::{PromptId, SessionId, TaskId};
use crate::params::MessageTask;
use crate::question::arguments_hash;
use crate::time::Timestamp;
use crate::view::{DeliveryStatus, MessageOutcome};
use serde_json::json;

/// Longest idempotency key, in bytes.
pub const MAX_KEY: usize = 200;

/// For how long receipts are kept, in milliseconds: a client that repeats a call after a week has lost count.
pub const KEEP_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// A key that makes sending again harmless, with what was sent under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The sender's own word for it; unique to its session.
    pub key: String,
    /// Hash of the whole message.
    pub fingerprint: String,
}

impl Key {
    /// The key of a message, when its sender gave one.
    pub fn of(message: &MessageTask) -> Result<Option<Self>, Refusal> {
        Self::of_words(
            message.idempotency_key.as_deref(),
            &json!({
                "task_id": message.task_id,
                "session_id": message.session_id,
                "prompt": message.prompt,
                "delivery_mode": message.delivery_mode,
                "reply_to_question_id": message.reply_to_question_id,
            }),
        )
    }

    /// The key of an operator's prompt, when it gave one. `session` is the one that the prompt names.
    pub fn of_prompt(
        key: Option<&str>,
        session: Option<SessionId>,
        content: &str,
    ) -> Result<Option<Self>, Refusal> {
        Self::of_words(key, &json!({"session_id": session, "content": content}))
    }

    fn of_words(key: Option<&str>, whole: &serde_json::Value) -> Result<Option<Self>, Refusal> {
        let Some(key) = key.map(str::trim).filter(|key| !key.is_empty()) else {
            return Ok(None);
        };
        if key.len() > MAX_KEY {
            return Err(Refusal::validation(format!(
                "idempotency_key has {} bytes and may have {MAX_KEY}",
                key.len()
            )));
        }
        Ok(Some(Self {
            key: key.to_owned(),
            fingerprint: arguments_hash(whole),
        }))
    }

    /// A key that was used for another message is refused: one of the two would be lost in silence.
    fn check_same(&self, again: &Self) -> Result<(), Refusal> {
        if self.fingerprint != again.fingerprint {
            return Err(Refusal::validation(
                "this idempotency_key was used for another message: repeat that one word for word, or choose a new key",
            ));
        }
        Ok(())
    }
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The task it came from.
    pub sender_task_id: TaskId,
    /// The session it came from.
    pub sender_session_id: SessionId,
    /// The task it went to.
    pub target_task_id: TaskId,
    /// The session it went to.
    pub target_session_id: SessionId,
    /// The prompt that holds its words.
    pub prompt_id: PromptId,
    /// See [`crate::guards::pair`].
    pub pair: String,
    /// See [`crate::guards::hop`].
    pub hops: i64,
    /// See [`Key`].
    pub key: Option<Key>,
    /// What its sender was told.
    pub status: DeliveryStatus,
    /// It was joined to a prompt that waited already.
    pub merged: bool,
    /// When it was accepted.
    pub sent_at: Timestamp,
}

impl Receipt {
    /// What the sender is told when it sends the message again.
    pub fn repeated(&self, key: &Key) -> Result<MessageOutcome, Refusal> {
        if let Some(known) = &self.key {
            known.check_same(key)?;
        }
        Ok(MessageOutcome {
            deduplicated: true,
            merged: self.merged,
            ..MessageOutcome::of_prompt(
                self.target_task_id,
                self.target_session_id,
                self.status,
                self.prompt_id,
            )
        })
    }
}

/// An operator's prompt that was accepted under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptReceipt {
    /// The task it went to.
    pub task_id: TaskId,
    /// The session it went to.
    pub session_id: SessionId,
    /// The prompt that holds its words.
    pub prompt_id: PromptId,
    /// Unique to the task.
    pub key: Key,
    /// What the operator was told.
    pub status: DeliveryStatus,
    /// It was joined to a prompt that waited already.
    pub merged: bool,
    /// When it was accepted.
    pub sent_at: Timestamp,
}

impl PromptReceipt {
    /// What the operator is told when it sends the prompt again.
    pub fn repeated(&self, key: &Key) -> Result<MessageOutcome, Refusal> {
        self.key.check_same(key)?;
        Ok(MessageOutcome {
            deduplicated: true,
            merged: self.merged,
            ..MessageOutcome::of_prompt(self.task_id, self.session_id, self.status, self.prompt_id)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::DeliveryMode;

    fn message(key: &str) -> MessageTask {
        MessageTask {
            task_id: TaskId::new(),
            prompt: "hello".to_owned(),
            session_id: None,
            delivery_mode: DeliveryMode::Queued,
            reply_to_question_id: None,
            idempotency_key: Some(key.to_owned()),
        }
    }

    #[test]
    fn a_key_stands_for_the_whole_message() {
        let first = message(" 1 ");
        let key = Key::of(&first).unwrap().unwrap();
        assert_eq!(key.key, "1");
        let mut other = first;
        assert_eq!(
            Key::of(&other).unwrap().unwrap().fingerprint,
            key.fingerprint
        );
        other.prompt.push('!');
        assert_ne!(
            Key::of(&other).unwrap().unwrap().fingerprint,
            key.fingerprint
        );
        assert_eq!(Key::of(&message("  ")), Ok(None));
        assert!(Key::of(&message(&"k".repeat(MAX_KEY + 1))).is_err());
    }
}
