//! What was generated: stored before anything of it is sent, so that no model is paid twice for one answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The generated answer and what is to be known of how it came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// What the user gets to read.
    pub text: String,
    /// Names of the tools that ran, in order.
    #[serde(default)]
    pub tools_used: Vec<String>,
    /// Something was asked for, and nothing was done; the text says so.
    #[serde(default)]
    pub action_not_performed: bool,
    /// A preview that waits for the user's consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_confirmation: Option<PendingConfirmation>,
    /// What it took.
    #[serde(default)]
    pub usage: Usage,
}

/// A preview: nothing exists yet, and a `confirm_*` tool would make it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingConfirmation {
    /// The row that keeps it, once stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// The tool that made the preview.
    pub preview_tool: String,
    /// The tool that would carry it out. The preview names it; it is never guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_tool: Option<String>,
    /// What both are called with.
    pub arguments: Value,
    /// What would be made, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// What an answer took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The provider that gave the final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens read, when the provider says.
    #[serde(default)]
    pub input_tokens: i64,
    /// Tokens written, when the provider says.
    #[serde(default)]
    pub output_tokens: i64,
    /// How often a model was asked.
    #[serde(default)]
    pub model_turns: i64,
    /// How often the action guard asked for another turn.
    #[serde(default)]
    pub guard_retries: i64,
}
