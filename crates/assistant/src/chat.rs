//! What is said to a model and what it answers, free of any provider's wire.

use crate::call::ToolCall;
use crate::spec::Parameters;
use crate::toolbox::ToolSpec;
use serde_json::Value;

/// One request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chat {
    /// What the model is told before anything else.
    pub system: String,
    /// What was said so far.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<Offer>,
    /// Most tokens of an answer.
    pub max_output_tokens: u32,
    /// How freely it may choose its words.
    pub temperature: f32,
}

/// A tool as it is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
}

impl From<&ToolSpec> for Offer {
    fn from(tool: &ToolSpec) -> Self {
        Self {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: Parameters::schema(&tool.parameters),
        }
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// By the user, or by us on the user's side.
    User(String),
    /// By the model.
    Assistant {
        /// Its words, as it wrote them.
        text: String,
        /// What it asked for natively.
        calls: Vec<ToolCall>,
    },
    /// What a tool gave.
    Tool {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// For the model.
        text: String,
        /// It did not work.
        failed: bool,
    },
}

/// Who spoke, in a conversation that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The assistant.
    Assistant,
}

/// What a model answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Its words; may be empty when it asks for tools.
    pub text: String,
    /// What it asks for natively.
    pub calls: Vec<ToolCall>,
    /// It was cut off at its limit of tokens.
    pub cut: bool,
    /// What it cost.
    pub usage: Usage,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
    }
}
