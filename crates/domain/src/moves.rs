//! Moves of cards: what the entry into a step is to do differently, and what becomes of a move (task-domain section 7).

use crate::error::Refusal;
use crate::ids::{MoveId, SessionId, StepId, TaskId};
use crate::time::Timestamp;
use crate::workflow::{MoveTrigger, Mover};
use serde::{Deserialize, Serialize};

/// Longest hand-off, in bytes: it becomes part of a prompt.
pub const MAX_INSTRUCTIONS: usize = 64 * 1024;

/// What the entry into a step does differently this once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryOptions {
    /// Begin a new conversation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_context: bool,
    /// A hand-off, put in front of the step's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Leave out the step's prompt, and what stands for it; without instructions no turn starts.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_step_prompt: bool,
}

impl EntryOptions {
    /// Whether they ask for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// An entry that passes words on and is otherwise like any other.
    #[must_use]
    pub const fn handing_over(words: String) -> Self {
        Self {
            reset_context: false,
            instructions: Some(words),
            skip_step_prompt: false,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Brings options and the older `prompt` into one form (7.2); `None` when nothing is asked for.
pub fn normalise(
    prompt: Option<&str>,
    options: Option<&EntryOptions>,
) -> Result<Option<EntryOptions>, Refusal> {
    let words = |text: Option<&str>| {
        text.map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let prompt = words(prompt);
    let mut options = options.cloned().unwrap_or_default();
    options.instructions = words(options.instructions.as_deref());
    if prompt.is_some() && options.instructions.is_some() {
        return Err(Refusal::validation(
            "give entry_options.instructions alone: prompt is its older name, and both together say two things",
        ));
    }
    options.instructions = options.instructions.or(prompt);
    if let Some(text) = &options.instructions
        && text.len() > MAX_INSTRUCTIONS
    {
        return Err(Refusal::validation(format!(
            "instructions have {} bytes and may have {MAX_INSTRUCTIONS}: put long text into a file and name its path",
            text.len()
        )));
    }
    Ok((options != EntryOptions::default()).then_some(options))
}

words! {
    /// What became of a move.
    Disposition("disposition") {
        /// The card is there, or was there before.
        Applied = "applied",
        /// The card moves when its agent's turn has ended.
        Deferred = "deferred",
    }
}

/// A move that waits for the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingMove {
    /// Its id.
    pub id: MoveId,
    /// The session whose turn it waits for.
    pub session_id: SessionId,
    /// The task to move.
    pub task_id: TaskId,
    /// Where to.
    pub step_id: StepId,
    /// Place in the step; the end when empty.
    pub position: Option<i64>,
    /// Why it moves.
    pub trigger: MoveTrigger,
    /// Who asked for it.
    pub actor: Mover,
    /// The task of the agent that asked.
    pub sender_task_id: Option<TaskId>,
    /// Its session.
    pub sender_session_id: Option<SessionId>,
    /// What the entry does differently.
    pub entry_options: Option<EntryOptions>,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// What a done move left behind for the entry of a card that waits for a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryMarker {
    /// The task.
    pub task_id: TaskId,
    /// The move.
    pub move_id: MoveId,
    /// Where the card came from.
    pub from_step_id: StepId,
    /// The step whose entry it is for.
    pub step_id: StepId,
    /// What the entry does differently.
    pub options: EntryOptions,
    /// When the move was done.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_one_form() {
        let options = |text: &str| EntryOptions {
            instructions: Some(text.to_owned()),
            ..EntryOptions::default()
        };
        let norm = |prompt: Option<&str>, given: Option<EntryOptions>| {
            normalise(prompt, given.as_ref()).map_err(|r| r.code.as_str())
        };
        assert_eq!(norm(None, None), Ok(None));
        assert_eq!(norm(Some("  "), Some(options(" \n"))), Ok(None));
        assert_eq!(norm(None, Some(EntryOptions::default())), Ok(None));
        assert_eq!(norm(None, Some(options(" go "))), Ok(Some(options("go"))));
        assert_eq!(norm(Some(" go"), None), Ok(Some(options("go"))));
        assert_eq!(
            norm(Some("go"), Some(options(" "))),
            Ok(Some(options("go")))
        );
        assert_eq!(
            norm(Some("go"), Some(options("go"))),
            Err("VALIDATION_ERROR")
        );
        let long = "x".repeat(MAX_INSTRUCTIONS + 1);
        assert_eq!(norm(Some(&long), None), Err("VALIDATION_ERROR"));
        let reset = EntryOptions {
            reset_context: true,
            ..EntryOptions::default()
        };
        assert_eq!(norm(None, Some(reset.clone())), Ok(Some(reset)));
    }

    #[test]
    fn what_is_not_asked_for_is_not_repeated() {
        let skip = EntryOptions {
            skip_step_prompt: true,
            ..EntryOptions::default()
        };
        assert_eq!(
            serde_json::to_string(&skip).unwrap(),
            r#"{"skip_step_prompt":true}"#
        );
        assert!(serde_json::from_str::<EntryOptions>(r#"{"skip": true}"#).is_err());
        assert!(serde_json::from_str::<EntryOptions>(r#"{"reset_context": null}"#).is_err());
    }
}
