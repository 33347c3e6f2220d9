//! Messages of a transcript.

use crate::ids::{MessageId, SessionId, TaskId, TurnId};
use crate::time::Timestamp;
use serde_json::{Map, Value};

words! {
    /// Whose words they are. Peers and the workflow speak as `user`; the metadata says who it was.
    AuthorType("author_type") {
        /// Somebody who prompts the agent.
        User = "user",
        /// The agent.
        Agent = "agent",
    }
}

words! {
    /// What a message is (task-domain 1.9).
    MessageType("message_type") {
        /// Plain text of a user or the agent.
        Message = "message",
        /// Content other than text.
        Content = "content",
        /// A tool call of no particular kind.
        ToolCall = "tool_call",
        /// A tool call that edits files.
        ToolEdit = "tool_edit",
        /// A tool call that reads or searches.
        ToolRead = "tool_read",
        /// A tool call that runs a command.
        ToolExecute = "tool_execute",
        /// Progress of long work.
        Progress = "progress",
        /// Output for diagnosis.
        Log = "log",
        /// Something went wrong.
        Error = "error",
        /// A change of state worth showing.
        Status = "status",
        /// The agent asks to use a tool.
        PermissionRequest = "permission_request",
        /// A question to the operator or, with `metadata.parent_question`, to the parent.
        ClarificationRequest = "clarification_request",
        /// Output of a script.
        ScriptExecution = "script_execution",
        /// The agent's reasoning.
        Thinking = "thinking",
        /// The agent's plan of the moment.
        AgentPlan = "agent_plan",
        /// A to-do list.
        Todo = "todo",
    }
}

/// A message as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The session's task.
    pub task_id: TaskId,
    /// The turn it belongs to.
    pub turn_id: Option<TurnId>,
    /// Place in the transcript; grows.
    pub seq: i64,
    /// Whose words.
    pub author_type: AuthorType,
    /// The author's id, when one is known.
    pub author_id: Option<String>,
    /// The text that people read.
    pub content: String,
    /// Text for the agent only; never shown as content.
    pub hidden_context: Option<String>,
    /// What it is.
    pub message_type: MessageType,
    /// Particulars; the keys of task-domain 1.9.
    pub metadata: Map<String, Value>,
    /// Somebody is expected to answer it.
    pub requests_input: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// Longest text kept of one message, in bytes; the rest is cut and said so (rulings 21).
pub const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Longest output stored of one turn, in bytes; then the turn goes on and storage says truncated (rulings 21).
pub const MAX_TURN_BYTES: i64 = 16 * 1024 * 1024;

/// Cuts `text` at [`MAX_MESSAGE_BYTES`] on a character border and says so; returns whether it did.
pub fn cap(text: &mut String) -> bool {
    if text.len() <= MAX_MESSAGE_BYTES {
        return false;
    }
    let mut end = MAX_MESSAGE_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text.len() - end;
    text.truncate(end);
    text.push_str(&format!("\n[… {cut} bytes were cut here]"));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_on_a_character_border_and_says_so() {
        let mut text = "é".repeat(MAX_MESSAGE_BYTES);
        assert!(cap(&mut text));
        assert!(text.len() < MAX_MESSAGE_BYTES + 64);
        assert!(text.ends_with("bytes were cut here]"));
        let mut short = "short".to_owned();
        assert!(!cap(&mut short));
    }
}
