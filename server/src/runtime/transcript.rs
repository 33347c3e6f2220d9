//! From agent events to messages of the transcript.
//!
//! Text is joined into one message until a tool call, another kind of text, or the end of the turn. A tool call is one message
//! that changes as the call goes on. What an agent says about itself (modes, commands, usage, and words we do not know) is
//! kept too, one message of a kind and turn, as `status` or `log`. Pure but for the ids it makes: what is to be written is
//! collected, and the actor writes it in batches.

use agents::AgentEvent;
use agents::event::{Chunk, ToolCall, ToolCallUpdate, ToolContent, ToolKind, ToolStatus};
use board::Output;
use domain::ids::MessageId;
use domain::message::{MAX_MESSAGE_BYTES, MessageType};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Lines of noise kept of one turn.
const MAX_NOISE: usize = 50;

/// What of the running turn is to be written.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// The text that grows at present.
    open: Option<Text>,
    calls: HashMap<String, (MessageId, ToolCallUpdate)>,
    /// One message a kind of remark.
    remarks: HashMap<String, MessageId>,
    noise: Vec<String>,
    noise_left_out: usize,
    /// Messages to write, in the order in which they came up; a later version replaces an earlier one in its place.
    dirty: Vec<Output>,
    /// The turn's share of storage is used up.
    full: bool,
}

#[derive(Debug)]
struct Text {
    id: MessageId,
    kind: MessageType,
    /// The agent's own id of the message. Some put remarks of their own, without one, right after the model's words.
    agents_id: Option<String>,
    content: String,
    /// Bytes that were not kept since the message is full.
    left_out: usize,
    raw: Vec<Value>,
}

impl Transcript {
    /// Takes in an event. Those that are no part of a transcript are ignored.
    pub(super) fn take(&mut self, event: &AgentEvent) {
        if self.full {
            return;
        }
        match event {
            AgentEvent::MessageChunk(chunk) => self.text(MessageType::Message, chunk),
            AgentEvent::ThoughtChunk(chunk) => self.text(MessageType::Thinking, chunk),
            AgentEvent::UserChunk(chunk) => self.noise(&format!("user: {}", chunk.content.text)),
            AgentEvent::ToolCall(call) => {
                self.close_text();
                self.call(&call.id, update_of(call));
            }
            AgentEvent::ToolCallUpdate(update) => {
                self.close_text();
                self.call(&update.id, update.clone());
            }
            AgentEvent::Plan { entries } => {
                let lines: Vec<&str> = entries.iter().map(|entry| entry.content.as_str()).collect();
                self.remark(
                    "plan",
                    MessageType::AgentPlan,
                    lines.join("\n"),
                    json!({"entries": entries}),
                );
            }
            AgentEvent::AvailableCommands { commands } => {
                self.remark(
                    "available_commands",
                    MessageType::Log,
                    String::new(),
                    json!({"commands": commands}),
                );
            }
            AgentEvent::CurrentMode { mode_id } => {
                self.remark(
                    "current_mode",
                    MessageType::Status,
                    format!("Mode: {mode_id}"),
                    json!({"mode_id": mode_id}),
                );
            }
            AgentEvent::ConfigOptions { options } => {
                self.remark(
                    "config_options",
                    MessageType::Log,
                    String::new(),
                    json!({"options": options}),
                );
            }
            AgentEvent::SessionInfo { title, updated_at } => {
                let text = title.clone().unwrap_or_default();
                self.remark(
                    "session_info",
                    MessageType::Log,
                    text,
                    json!({"title": title, "updated_at": updated_at}),
                );
            }
            AgentEvent::Usage(usage) => {
                let text = format!("{} of {} tokens", usage.used, usage.size);
                self.remark("usage", MessageType::Log, text, json!({"usage": usage}));
            }
            AgentEvent::Unknown { kind, raw } => {
                self.remark(
                    &format!("unknown:{kind}"),
                    MessageType::Log,
                    kind.clone(),
                    json!({"raw": raw}),
                );
            }
            AgentEvent::JunkLine { text } => self.noise(text),
            AgentEvent::OversizedLine { bytes } => {
                self.noise(&format!("[a line of {bytes} bytes was skipped]"));
            }
            AgentEvent::PermissionRequest(_)
            | AgentEvent::PermissionAllowed { .. }
            | AgentEvent::PermissionCancelled { .. }
            | AgentEvent::TurnEnded { .. }
            | AgentEvent::Stderr { .. }
            | AgentEvent::Exited { .. } => {}
        }
    }

    /// Whether there is something to write.
    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// What is to be written. Give it back with [`Self::put_back`] when writing failed.
    pub(super) fn drain(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.dirty)
    }

    /// Writing failed: what was drained is still to be written, unless a later version has come up meanwhile.
    pub(super) fn put_back(&mut self, outputs: Vec<Output>) {
        let newer = std::mem::replace(&mut self.dirty, outputs);
        for output in newer {
            self.write(output);
        }
    }

    /// The turn's share of storage is used up; nothing more of it is taken in.
    pub(super) fn set_full(&mut self) {
        self.full = true;
        self.dirty.clear();
    }

    /// The turn is over; call it once everything was drained.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    fn text(&mut self, kind: MessageType, chunk: &Chunk) {
        let content = &chunk.content;
        let goes_on = |open: &Text| open.kind == kind && open.agents_id == chunk.message_id;
        if !self.open.as_ref().is_some_and(goes_on) {
            self.open = Some(Text {
                id: MessageId::new(),
                kind,
                agents_id: chunk.message_id.clone(),
                content: String::new(),
                left_out: 0,
                raw: Vec::new(),
            });
        }
        let Some(open) = &mut self.open else { return };
        if open.content.len() > MAX_MESSAGE_BYTES {
            open.left_out += content.text.len();
            return;
        }
        open.content.push_str(&content.text);
        open.raw.extend(content.raw.clone());
        let mut metadata = Map::new();
        if !open.raw.is_empty() {
            metadata.insert("attachments".to_owned(), json!(open.raw));
        }
        let output = Output {
            id: open.id,
            message_type: kind,
            content: open.content.clone(),
            metadata,
        };
        self.write(output);
    }

    fn close_text(&mut self) {
        self.open = None;
    }

    fn call(&mut self, id: &str, update: ToolCallUpdate) {
        let (message, known) = self.calls.remove(id).unwrap_or_else(|| {
            (
                MessageId::new(),
                ToolCallUpdate {
                    id: id.to_owned(),
                    ..ToolCallUpdate::default()
                },
            )
        });
        let state = update.completed_by(&known);
        let output = Output {
            id: message,
            message_type: match state.kind {
                Some(ToolKind::Read | ToolKind::Search | ToolKind::Fetch) => MessageType::ToolRead,
                Some(ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => MessageType::ToolEdit,
                Some(ToolKind::Execute) => MessageType::ToolExecute,
                Some(ToolKind::Think | ToolKind::SwitchMode | ToolKind::Other) | None => {
                    MessageType::ToolCall
                }
            },
            content: state
                .title
                .clone()
                .unwrap_or_else(|| "Tool call".to_owned()),
            metadata: call_metadata(&state),
        };
        self.calls.insert(id.to_owned(), (message, state));
        self.write(output);
    }

    fn remark(
        &mut self,
        kind: &str,
        message_type: MessageType,
        content: String,
        particulars: Value,
    ) {
        let id = *self.remarks.entry(kind.to_owned()).or_default();
        let mut metadata = Map::new();
        metadata.insert("update".to_owned(), json!(kind));
        if let Value::Object(particulars) = particulars {
            metadata.extend(particulars);
        }
        self.write(Output {
            id,
            message_type,
            content,
            metadata,
        });
    }

    fn noise(&mut self, line: &str) {
        if self.noise.len() < MAX_NOISE {
            self.noise.push(line.chars().take(500).collect());
        } else {
            self.noise_left_out += 1;
            // A flood is written as a count, now and then.
            if !self.noise_left_out.is_power_of_two() {
                return;
            }
        }
        let text = self.noise.join("\n");
        let left_out = self.noise_left_out;
        self.remark(
            "noise",
            MessageType::Log,
            text,
            json!({"left_out": left_out}),
        );
    }

    fn write(&mut self, output: Output) {
        match self
            .dirty
            .iter_mut()
            .find(|waiting| waiting.id == output.id)
        {
            Some(waiting) => *waiting = output,
            None => self.dirty.push(output),
        }
    }
}

fn update_of(call: &ToolCall) -> ToolCallUpdate {
    ToolCallUpdate {
        id: call.id.clone(),
        title: call.title.clone(),
        kind: Some(call.kind),
        status: Some(call.status),
        content: Some(call.content.clone()),
        locations: Some(call.locations.clone()),
        raw_input: call.raw_input.clone(),
        raw_output: call.raw_output.clone(),
        meta: call.meta.clone(),
    }
}

fn call_metadata(state: &ToolCallUpdate) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("tool_call_id".to_owned(), json!(state.id));
    metadata.insert(
        "kind".to_owned(),
        json!(state.kind.unwrap_or(ToolKind::Other)),
    );
    metadata.insert(
        "status".to_owned(),
        json!(state.status.unwrap_or(ToolStatus::Pending)),
    );
    let mut keep = |key: &str, value: Option<Value>| {
        // One value of a call may be as long as one message; a longer one is named, not kept.
        if let Some(value) = value {
            let size = value.to_string().len();
            let kept = if size > MAX_MESSAGE_BYTES {
                json!({"left_out_bytes": size})
            } else {
                value
            };
            metadata.insert(key.to_owned(), kept);
        }
    };
    keep(
        "content",
        state
            .content
            .as_ref()
            .filter(|c: &&Vec<ToolContent>| !c.is_empty())
            .map(|c| json!(c)),
    );
    keep(
        "locations",
        state
            .locations
            .as_ref()
            .filter(|l| !l.is_empty())
            .map(|l| json!(l)),
    );
    keep("raw_input", state.raw_input.clone());
    keep("raw_output", state.raw_output.clone());
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::event::Content;

    fn chunk(text: &str) -> AgentEvent {
        AgentEvent::MessageChunk(Chunk {
            content: Content {
                text: text.to_owned(),
                raw: None,
            },
            message_id: None,
        })
    }

    fn call(id: &str, status: ToolStatus) -> AgentEvent {
        AgentEvent::ToolCallUpdate(ToolCallUpdate {
            id: id.to_owned(),
            status: Some(status),
            ..ToolCallUpdate::default()
        })
    }

    #[test]
    fn text_is_one_message_until_a_tool_call_comes_between() {
        let mut transcript = Transcript::default();
        for event in [
            chunk("Hello "),
            chunk("there"),
            call("t1", ToolStatus::Completed),
            chunk("Done"),
        ] {
            transcript.take(&event);
        }
        let texts: Vec<String> = transcript.drain().into_iter().map(|o| o.content).collect();
        assert_eq!(texts, ["Hello there", "Tool call", "Done"]);
    }

    #[test]
    fn an_agents_remark_is_no_part_of_the_message_before_it() {
        let mut transcript = Transcript::default();
        let of_message = |text: &str, id: Option<&str>| {
            AgentEvent::MessageChunk(Chunk {
                content: Content {
                    text: text.to_owned(),
                    raw: None,
                },
                message_id: id.map(str::to_owned),
            })
        };
        for event in [
            of_message("Hello ", Some("m1")),
            of_message("there", Some("m1")),
            of_message("**Warning:** not so fast", None),
            of_message("Bye", Some("m2")),
        ] {
            transcript.take(&event);
        }
        let texts: Vec<String> = transcript.drain().into_iter().map(|o| o.content).collect();
        assert_eq!(texts, ["Hello there", "**Warning:** not so fast", "Bye"]);
    }

    #[test]
    fn a_call_that_was_never_announced_is_one_message_through_all_its_updates() {
        let mut transcript = Transcript::default();
        transcript.take(&call("t1", ToolStatus::InProgress));
        let first = transcript.drain();
        transcript.take(&call("t1", ToolStatus::Failed));
        let second = transcript.drain();
        assert_eq!(first[0].id, second[0].id);
        assert_eq!(second[0].metadata["status"], "failed");
    }

    #[test]
    fn what_could_not_be_written_is_kept_but_not_over_something_newer() {
        let mut transcript = Transcript::default();
        transcript.take(&chunk("a"));
        let failed = transcript.drain();
        transcript.take(&chunk("b"));
        transcript.put_back(failed);
        let texts: Vec<String> = transcript.drain().into_iter().map(|o| o.content).collect();
        assert_eq!(texts, ["ab"]);
    }

    #[test]
    fn a_flood_of_junk_is_bounded() {
        let mut transcript = Transcript::default();
        for n in 0..100_000 {
            transcript.take(&AgentEvent::JunkLine {
                text: format!("junk {n}"),
            });
        }
        let outputs = transcript.drain();
        assert_eq!(outputs.len(), 1);
        assert!(outputs[0].content.len() < 64 * 1024);
    }

    #[test]
    fn text_beyond_the_limit_does_not_grow_memory() {
        let mut transcript = Transcript::default();
        let piece = "x".repeat(64 * 1024);
        for _ in 0..100 {
            transcript.take(&chunk(&piece));
        }
        assert!(transcript.drain()[0].content.len() < MAX_MESSAGE_BYTES + 2 * piece.len());
    }
}
