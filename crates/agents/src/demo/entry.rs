//! What the demo agent remembers: what was said, and what its scripts keep.

use serde::{Deserialize, Serialize};

use crate::stdio::history::Recorded;

/// One thing to remember.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Entry {
    /// A prompt arrived.
    Prompt {
        prompt_id: Option<String>,
        blocks: Vec<String>,
    },
    /// Something was said.
    Message { text: String },
    /// These sections of a script wait.
    Later { script: Option<String> },
    /// A script keeps a value.
    Set { name: String, value: String },
    /// A script set the answer to children's questions.
    Answer { text: String },
    /// A script set the pause before the answer.
    AnswerDelay { ms: u64 },
    /// A script set how often the answer is given.
    AnswerTimes { times: u64 },
    /// A child's question needs nothing more from us.
    QuestionSettled { question_id: String },
}

impl Recorded for Entry {
    fn prompt_id(&self) -> Option<&str> {
        if let Self::Prompt { prompt_id, .. } = self {
            prompt_id.as_deref()
        } else {
            None
        }
    }
}
