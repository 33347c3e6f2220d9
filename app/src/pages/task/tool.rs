//! A tool call as the transcript stores it, put into the line that is shown.

use super::fields::field;
use crate::components::diff::FileDiff;
use crate::components::tool_call::{ToolCallLine, ToolStatus};
use domain::view::MessageView;
use serde_json::Value;

/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 11] = [
    "command",
    "file_path",
    "path",
    "pattern",
    "url",
    "query",
    "title",
    "description",
    "prompt",
    "subject",
    "task_id",
];

/// Longer targets are cut; the arguments have all of it.
const MOST_CHARS: usize = 200;

/// The line of a call.
pub(super) fn line(message: &MessageView) -> ToolCallLine {
    let metadata = &message.metadata;
    let status = status(metadata.get("status").and_then(Value::as_str));
    let name = name(&message.content);
    let input = metadata.get("raw_input");
    let target = metadata
        .get("locations")
        .and_then(|locations| locations.pointer("/0/path"))
        .and_then(Value::as_str)
        .or_else(|| input.and_then(telling))
        .map(first_line)
        .filter(|target| !target.is_empty() && !name.contains(target.as_str()));
    let (texts, diffs) = shown_content(metadata.get("content"));
    let output = if texts.is_empty() && diffs.is_empty() {
        metadata.get("raw_output").and_then(readable)
    } else {
        Some(texts.join("\n")).filter(|text| !text.is_empty())
    };
    // Shorter ones are as good as none; a column of zeros says nothing.
    let duration_ms = matches!(status, ToolStatus::Done | ToolStatus::Failed)
        .then(|| message.updated_at.since(message.created_at))
        .filter(|ms| *ms >= 1000);
    ToolCallLine {
        kind: message.message_type,
        name,
        target,
        status,
        duration_ms,
        input: input.and_then(readable),
        output,
        diffs,
    }
}

/// Agents put the server's name before that of a tool it offers.
fn name(title: &str) -> String {
    title
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
        .map_or(title, |(_, tool)| tool)
        .to_owned()
}

fn status(word: Option<&str>) -> ToolStatus {
    match word {
        Some("in_progress") => ToolStatus::Running,
        Some("completed") => ToolStatus::Done,
        Some("failed") => ToolStatus::Failed,
        Some("stopped") => ToolStatus::Stopped,
        _ => ToolStatus::Pending,
    }
}

/// Calls over MCP carry their arguments one level down.
fn telling(input: &Value) -> Option<&str> {
    [Some(input), input.get("arguments")]
        .into_iter()
        .flatten()
        .find_map(|object| {
            TELLING
                .iter()
                .find_map(|key| object.get(key).and_then(Value::as_str))
        })
}

fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(MOST_CHARS)
        .collect()
}

fn shown_content(content: Option<&Value>) -> (Vec<String>, Vec<FileDiff>) {
    let mut texts = Vec::new();
    let mut diffs = Vec::new();
    for block in content.and_then(Value::as_array).into_iter().flatten() {
        let kind = block.get("type").and_then(Value::as_str);
        if kind == Some("diff") {
            diffs.push(FileDiff {
                path: field(block, "path").unwrap_or_default(),
                old: field(block, "old_text"),
                new: field(block, "new_text").unwrap_or_default(),
            });
        } else if let Some(text) = block.get("text").and_then(Value::as_str) {
            texts.push(text.to_owned());
        } else {
            texts.extend(block.get("raw").and_then(readable));
        }
    }
    (texts, diffs)
}

/// Text as it is, anything else as JSON, nothing for what is empty.
fn readable(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Object(fields) if fields.is_empty() => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::message;
    use super::*;
    use domain::message::MessageType;
    use domain::time::Timestamp;
    use serde_json::json;

    #[test]
    fn a_line_says_what_it_is_about_once() {
        let call = |title: &str, input: Value| {
            line(&message(
                MessageType::ToolRead,
                title,
                json!({"status": "completed", "raw_input": input}),
            ))
        };
        let told = call("Read src/main.rs", json!({"file_path": "src/main.rs"}));
        assert_eq!(told.target, None);
        let untold = call("Read", json!({"file_path": "src/main.rs"}));
        assert_eq!(untold.target.as_deref(), Some("src/main.rs"));
        let ours = call(
            "mcp__kandev__create_task_kandev",
            json!({"title": "Two\nlines"}),
        );
        assert_eq!(ours.name, "create_task_kandev");
        assert_eq!(ours.target.as_deref(), Some("Two"));
        let nested = call(
            "ask",
            json!({"tool": "ask", "arguments": {"prompt": "Why?"}}),
        );
        assert_eq!(nested.target.as_deref(), Some("Why?"));
    }

    #[test]
    fn output_diff_and_duration_come_from_what_the_agent_showed() {
        let mut call = message(
            MessageType::ToolEdit,
            "Edit",
            json!({"status": "failed", "raw_output": {"ok": true}, "content": [
                {"type": "content", "text": "Edited."},
                {"type": "diff", "path": "a.rs", "new_text": "b"},
                {"type": "other", "raw": {"terminal": 1}},
            ]}),
        );
        call.updated_at = Timestamp::from_millis(3_000);
        let shown = line(&call);
        assert_eq!(shown.status, ToolStatus::Failed);
        assert_eq!(shown.duration_ms, Some(3_000));
        assert_eq!(shown.diffs.len(), 1);
        assert_eq!(shown.diffs[0].old, None);
        assert!(shown.output.unwrap().starts_with("Edited.\n{"));

        let quiet = line(&message(
            MessageType::ToolCall,
            "Do",
            json!({"raw_output": "done", "raw_input": {}}),
        ));
        assert_eq!((quiet.status, quiet.input), (ToolStatus::Pending, None));
        assert_eq!(quiet.output.as_deref(), Some("done"));
    }
}
