//! What a turn shows: text in pieces, tool calls from announcement to result, permission requests.

use std::{io, sync::PoisonError};

use agent_client_protocol::v1::schema::{
    ContentChunk, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, SessionUpdate, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};
use tokio::time;

use super::{Progress, Turn};
use crate::demo::entry::Entry;

impl Turn {
    /// Calls a tool for real and shows it as a tool call.
    pub(super) async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
        progress: &mut Progress,
    ) {
        self.complete_open(progress, None).await;
        let input = json!({"server": server, "tool": tool, "arguments": arguments});
        let call = self.announce(progress, tool, ToolKind::Other, &input).await;
        progress.outcome = self.session.mcp.call(server, tool, arguments).await;
        let outcome = &progress.outcome;
        let content = vec![ToolCallContent::from(outcome.text.clone())];
        self.complete(&call, content, Some(outcome.value.clone()), outcome.failed)
            .await;
    }

    pub(super) async fn say(&self, text: &str) -> io::Result<()> {
        for piece in pieces(text) {
            self.update(text_chunk(piece)).await;
            time::sleep(self.options.step_delay / 10).await;
        }
        self.session.record(&Entry::Message {
            text: text.to_owned(),
        })
    }

    pub(super) async fn think(&self, text: &str) {
        for piece in pieces(text) {
            self.update(SessionUpdate::AgentThoughtChunk(ContentChunk::new(
                piece.into(),
            )))
            .await;
            time::sleep(self.options.step_delay / 10).await;
        }
    }

    pub(super) async fn announce(
        &self,
        progress: &mut Progress,
        title: &str,
        kind: ToolKind,
        input: &Value,
    ) -> String {
        progress.next_call += 1;
        let id = format!(
            "call-{}-{}",
            self.session.memory().prompts,
            progress.next_call
        );
        let path = input.get("file_path").and_then(Value::as_str);
        let call = ToolCall::new(id.clone(), title)
            .kind(kind)
            .status(ToolCallStatus::InProgress)
            .locations(path.map(ToolCallLocation::new).into_iter().collect())
            .raw_input(input.clone());
        self.open_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(id.clone());
        self.update(SessionUpdate::ToolCall(call)).await;
        id
    }

    pub(super) async fn complete(
        &self,
        call: &str,
        content: Vec<ToolCallContent>,
        output: Option<Value>,
        failed: bool,
    ) {
        let status = if failed {
            ToolCallStatus::Failed
        } else {
            ToolCallStatus::Completed
        };
        let mut fields = ToolCallUpdateFields::new().status(status);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        if let Some(output) = output {
            fields = fields.raw_output(output);
        }
        self.open_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|open| open != call);
        self.update_call(call, fields).await;
    }

    /// Completes the call that waits for its result, if there is one.
    pub(super) async fn complete_open(&self, progress: &mut Progress, result: Option<String>) {
        let Some((call, name, input)) = progress.open.take() else {
            return;
        };
        let mut content: Vec<ToolCallContent> = diff(&name, &input)
            .map(ToolCallContent::from)
            .into_iter()
            .collect();
        content.extend(result.map(ToolCallContent::from));
        self.complete(&call, content, None, false).await;
    }

    /// Asks whether a call may run, and completes it accordingly. Gives the id of the chosen option.
    pub(super) async fn ask(&self, call: &str) -> String {
        let request = RequestPermissionRequest::new(
            self.session.id.clone(),
            ToolCallUpdate::new(call.to_owned(), ToolCallUpdateFields::new()),
            vec![
                PermissionOption::new("allow", "Allow", PermissionOptionKind::AllowOnce),
                PermissionOption::new("always", "Always allow", PermissionOptionKind::AllowAlways),
                PermissionOption::new("reject", "Reject", PermissionOptionKind::RejectOnce),
            ],
        );
        let chosen = match self
            .client
            .send_request(request)
            .block_task()
            .await
            .map(|answer| answer.outcome)
        {
            Ok(RequestPermissionOutcome::Selected(selected)) => selected.option_id.0.to_string(),
            Ok(_) => "cancelled".to_owned(),
            Err(error) => format!("error: {}", error.message),
        };
        let allowed = matches!(chosen.as_str(), "allow" | "always");
        self.complete(call, Vec::new(), None, !allowed).await;
        chosen
    }

    pub(super) async fn update(&self, update: SessionUpdate) {
        self.outbox.update(&self.session.id, update).await;
    }

    pub(super) async fn update_call(&self, call: &str, fields: ToolCallUpdateFields) {
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(
            call.to_owned(),
            fields,
        )))
        .await;
    }
}

pub(super) fn text_chunk(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
}

/// Cuts a text into pieces of a few words, as a model streams. Joined they are the text again.
fn pieces(text: &str) -> Vec<&str> {
    const ENOUGH: usize = 24;
    let mut pieces = Vec::new();
    let mut begin = 0;
    for (at, each) in text.char_indices() {
        if each.is_whitespace() && at - begin >= ENOUGH {
            pieces.push(&text[begin..at]);
            begin = at;
        }
    }
    if begin < text.len() {
        pieces.push(&text[begin..]);
    }
    pieces
}

pub(super) fn title(name: &str, input: &Value) -> String {
    let subject = ["file_path", "command", "pattern", "url", "description"];
    match subject.iter().find_map(|key| input.get(*key)?.as_str()) {
        Some(subject) => format!("{name} {subject}"),
        None => name.to_owned(),
    }
}

pub(super) fn kind_of(name: &str) -> ToolKind {
    match name {
        "Read" => ToolKind::Read,
        "Edit" | "Write" => ToolKind::Edit,
        "Delete" => ToolKind::Delete,
        "Move" => ToolKind::Move,
        "Grep" | "Glob" => ToolKind::Search,
        "Bash" => ToolKind::Execute,
        "Task" | "Think" => ToolKind::Think,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// What a finished edit changed.
fn diff(name: &str, input: &Value) -> Option<Diff> {
    let field = |key: &str| input.get(key).and_then(Value::as_str);
    let path = field("file_path")?;
    match name {
        "Edit" => Some(
            Diff::new(path, field("new_string")?).old_text(field("old_string").map(str::to_owned)),
        ),
        "Write" => Some(Diff::new(path, field("content")?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text() {
        for text in [
            "",
            "short",
            "a longer text that needs several pieces, é and \n all of it  ",
            "nospaces".repeat(20).as_str(),
        ] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert!(pieces("a longer text that needs several pieces to be told").len() > 1);
    }
}
