//! The tools of a conversation, as the assistant sees them.
//!
//! The assistant knows no board and no server: whoever uses it brings a [`Toolbox`]. A tool says of itself what a call to it does
//! ([`Effect`]); the guard and the confirmation of previews go by that.

use crate::spec::Parameters;
use async_trait::async_trait;
use serde_json::{Map, Value};

/// What a call to a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It looks something up.
    Read,
    /// It shows what another tool would do, and does nothing.
    Preview,
    /// It changes something.
    Action,
}

/// Beginnings of the names of tools that act.
const ACTIONS: &[&str] = &[
    "create_", "confirm_", "send_", "start_", "cancel_", "retry_", "open_", "delete_", "update_",
    "apply_",
];

impl Effect {
    /// What the name of a foreign tool suggests, for those that declare nothing.
    #[must_use]
    pub fn by_name(name: &str) -> Self {
        if name.starts_with("preview_") {
            Self::Preview
        } else if ACTIONS.iter().any(|prefix| name.starts_with(prefix)) {
            Self::Action
        } else {
            Self::Read
        }
    }

    /// Whether a successful call entitles a text to speak of something done or prepared.
    #[must_use]
    pub const fn counts(self) -> bool {
        match self {
            Self::Preview | Self::Action => true,
            Self::Read => false,
        }
    }
}

/// A tool that may be called.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// For the model.
    pub description: String,
    /// What it takes.
    pub parameters: Parameters,
    /// What it does.
    pub effect: Effect,
}

/// Which call it is, for ledgers and for whoever can be told not to do a thing twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContext {
    /// The job or turn that the call belongs to.
    pub job: String,
    /// The how many-th call of this run, from 1.
    pub seq: u32,
    /// See [`domain::job::effects::args_hash`].
    pub arguments_hash: String,
    /// The same for the same call of the same job, in every run of it.
    pub idempotency_key: String,
    /// What the tool says of itself.
    pub effect: Effect,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It did what it is for.
    Done,
    /// It failed, and changed nothing.
    Failed,
    /// Nobody knows: it was begun in an earlier run that broke off.
    Unknown,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// How it ended.
    pub ending: Ending,
    /// Data for the model; a text when it failed.
    pub value: Value,
}

impl ToolAnswer {
    /// It worked.
    #[must_use]
    pub const fn done(value: Value) -> Self {
        Self {
            ending: Ending::Done,
            value,
        }
    }

    /// It failed; the sentence tells the model what to do next.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            ending: Ending::Failed,
            value: Value::String(message.into()),
        }
    }
}

/// The tools of one conversation.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// What there is. Asked once, when a turn begins.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Carries out a call. A failure is an answer; nothing is thrown.
    async fn call(
        &self,
        context: CallContext,
        name: &str,
        arguments: Map<String, Value>,
    ) -> ToolAnswer;
}

/// No tools at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

#[async_trait]
impl Toolbox for NoTools {
    fn tools(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    async fn call(&self, _: CallContext, name: &str, _: Map<String, Value>) -> ToolAnswer {
        ToolAnswer::failed(format!("there is no tool {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_effects_of_foreign_tools() {
        for (name, effect) in [
            ("create_event", Effect::Action),
            ("open_ticket", Effect::Action),
            ("apply_template", Effect::Action),
            ("preview_event", Effect::Preview),
            ("get_voice_and_stage_channels", Effect::Read),
            ("list_created_events", Effect::Read),
            ("recreate_event", Effect::Read),
        ] {
            assert_eq!(Effect::by_name(name), effect, "{name}");
        }
    }
}
