//! From the protocol's JSON to our vocabulary: pure, total, forgiving.
//!
//! Agents leave fields out, send null where a string belongs, and speak newer dialects. So nothing here is parsed by
//! derived types: each field is taken when it has the right shape and left out otherwise, and only what makes a
//! message useless (no kind, no tool call id, no content) turns it into [`AgentEvent::Unknown`].

use serde_json::Value;

use crate::event::{
    AgentEvent, AvailableCommand, Chunk, ConfigChoice, ConfigOption, Content, Cost, Location,
    PermissionKind, PermissionOption, PlanEntry, PlanStatus, StopReason, ToolCall, ToolCallUpdate,
    ToolContent, ToolKind, ToolStatus, TurnEnd, Usage,
};

/// Turns the `update` of one `session/update` into an event.
#[must_use]
pub fn normalise(update: &Value) -> AgentEvent {
    let Some(kind) = string(update, "sessionUpdate") else {
        return unknown("session/update", update);
    };
    let event = match kind.as_str() {
        "agent_message_chunk" => chunk(update).map(AgentEvent::MessageChunk),
        "user_message_chunk" => chunk(update).map(AgentEvent::UserChunk),
        "agent_thought_chunk" => chunk(update).map(AgentEvent::ThoughtChunk),
        "tool_call" => tool_call(update).map(AgentEvent::ToolCall),
        "tool_call_update" => tool_call_update(update).map(AgentEvent::ToolCallUpdate),
        "plan" => list(update, "entries").map(|entries| AgentEvent::Plan {
            entries: entries.iter().filter_map(plan_entry).collect(),
        }),
        "available_commands_update" => {
            list(update, "availableCommands").map(|commands| AgentEvent::AvailableCommands {
                commands: commands.iter().filter_map(available_command).collect(),
            })
        }
        "current_mode_update" => {
            string(update, "currentModeId").map(|mode_id| AgentEvent::CurrentMode { mode_id })
        }
        "config_option_update" => {
            update
                .get("configOptions")
                .map(|options| AgentEvent::ConfigOptions {
                    options: config_options(options),
                })
        }
        "session_info_update" => Some(AgentEvent::SessionInfo {
            title: string(update, "title"),
            updated_at: string(update, "updatedAt"),
        }),
        "usage_update" => usage(update).map(AgentEvent::Usage),
        _ => None,
    };
    event.unwrap_or_else(|| unknown(&kind, update))
}

/// The tool call of a permission request, which has the shape of an update.
pub(crate) fn tool_call_update(value: &Value) -> Option<ToolCallUpdate> {
    Some(ToolCallUpdate {
        id: string(value, "toolCallId")?,
        title: string(value, "title"),
        kind: string(value, "kind").map(|kind| tool_kind(&kind)),
        status: string(value, "status").and_then(|status| tool_status(&status)),
        content: list(value, "content").map(|items| items.iter().map(tool_content).collect()),
        locations: list(value, "locations")
            .map(|items| items.iter().filter_map(location).collect()),
        raw_input: present(value, "rawInput"),
        raw_output: present(value, "rawOutput"),
        meta: present(value, "_meta"),
    })
}

/// The options of a permission request. One without an id cannot be chosen and is left out.
pub(crate) fn permission_options(value: Option<&Value>) -> Vec<PermissionOption> {
    let Some(Value::Array(options)) = value else {
        return Vec::new();
    };
    options
        .iter()
        .filter_map(|option| {
            let id = string(option, "optionId")?;
            let kind = match string(option, "kind").as_deref() {
                Some("allow_once") => PermissionKind::AllowOnce,
                Some("allow_always") => PermissionKind::AllowAlways,
                Some("reject_once") => PermissionKind::RejectOnce,
                Some("reject_always") => PermissionKind::RejectAlways,
                _ => PermissionKind::Other,
            };
            Some(PermissionOption {
                name: string(option, "name").unwrap_or_else(|| id.clone()),
                id,
                kind,
            })
        })
        .collect()
}

/// The answer to a prompt. `None` when it lacks its one required field.
pub(crate) fn turn_end(result: &Value) -> Option<TurnEnd> {
    let stop_reason = match string(result, "stopReason")?.as_str() {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" => StopReason::Cancelled,
        other => StopReason::Other(other.to_owned()),
    };
    Some(TurnEnd {
        stop_reason,
        usage: present(result, "usage"),
    })
}

/// A list of settings, as it stands in updates and in the answers to session requests.
pub(crate) fn config_options(value: &Value) -> Vec<ConfigOption> {
    let Value::Array(options) = value else {
        return Vec::new();
    };
    options
        .iter()
        .filter_map(|option| {
            let id = string(option, "id")?;
            Some(ConfigOption {
                name: string(option, "name").unwrap_or_else(|| id.clone()),
                category: string(option, "category"),
                description: string(option, "description"),
                current: present(option, "currentValue").unwrap_or(Value::Null),
                choices: list(option, "options")
                    .map(|items| config_choices(items))
                    .unwrap_or_default(),
                id,
            })
        })
        .collect()
}

pub(crate) fn string(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn list<'a>(value: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    value.get(key).and_then(Value::as_array)
}

/// The field, unless it is absent or null.
fn present(value: &Value, key: &str) -> Option<Value> {
    value.get(key).filter(|field| !field.is_null()).cloned()
}

fn unknown(kind: &str, raw: &Value) -> AgentEvent {
    AgentEvent::Unknown {
        kind: kind.to_owned(),
        raw: raw.clone(),
    }
}

fn chunk(update: &Value) -> Option<Chunk> {
    let content = update
        .get("content")
        .filter(|content| content.is_object())?;
    Some(Chunk {
        content: self::content(content),
        message_id: string(update, "messageId"),
    })
}

fn content(block: &Value) -> Content {
    let kind = string(block, "type").unwrap_or_default();
    if kind == "text"
        && let Some(text) = string(block, "text")
    {
        return Content { text, raw: None };
    }
    let subject = match kind.as_str() {
        "image" | "audio" => string(block, "mimeType"),
        "resource_link" => string(block, "title")
            .or_else(|| string(block, "name"))
            .or_else(|| string(block, "uri")),
        "resource" => block
            .get("resource")
            .and_then(|resource| string(resource, "uri")),
        _ => None,
    };
    let kind = match kind.as_str() {
        "" => "content",
        "resource_link" => "resource",
        named => named,
    };
    let text = match subject {
        Some(subject) => format!("[{kind}: {subject}]"),
        None => format!("[{kind}]"),
    };
    Content {
        text,
        raw: Some(block.clone()),
    }
}

fn tool_call(update: &Value) -> Option<ToolCall> {
    let call = tool_call_update(update)?;
    Some(ToolCall {
        id: call.id,
        title: call.title,
        kind: call.kind.unwrap_or(ToolKind::Other),
        status: call.status.unwrap_or(ToolStatus::Pending),
        content: call.content.unwrap_or_default(),
        locations: call.locations.unwrap_or_default(),
        raw_input: call.raw_input,
        raw_output: call.raw_output,
        meta: call.meta,
    })
}

fn tool_kind(word: &str) -> ToolKind {
    match word {
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "think" => ToolKind::Think,
        "fetch" => ToolKind::Fetch,
        "switch_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

fn tool_status(word: &str) -> Option<ToolStatus> {
    match word {
        "pending" => Some(ToolStatus::Pending),
        "in_progress" => Some(ToolStatus::InProgress),
        "completed" => Some(ToolStatus::Completed),
        "failed" => Some(ToolStatus::Failed),
        _ => None,
    }
}

fn tool_content(item: &Value) -> ToolContent {
    let found = match string(item, "type").as_deref() {
        Some("content") => item
            .get("content")
            .filter(|block| block.is_object())
            .map(|block| ToolContent::Content(content(block))),
        Some("diff") => string(item, "path").map(|path| ToolContent::Diff {
            path,
            old_text: string(item, "oldText"),
            new_text: string(item, "newText").unwrap_or_default(),
        }),
        _ => None,
    };
    found.unwrap_or_else(|| ToolContent::Other { raw: item.clone() })
}

fn location(item: &Value) -> Option<Location> {
    Some(Location {
        path: string(item, "path")?,
        line: item.get("line").and_then(Value::as_u64),
    })
}

fn plan_entry(item: &Value) -> Option<PlanEntry> {
    let status = match string(item, "status").as_deref() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    };
    Some(PlanEntry {
        content: string(item, "content")?,
        status,
        priority: string(item, "priority"),
    })
}

fn available_command(item: &Value) -> Option<AvailableCommand> {
    Some(AvailableCommand {
        name: string(item, "name")?,
        description: string(item, "description").unwrap_or_default(),
        hint: item.get("input").and_then(|input| string(input, "hint")),
    })
}

/// Choices come plain or in named groups.
fn config_choices(items: &[Value]) -> Vec<ConfigChoice> {
    let mut choices = Vec::new();
    for item in items {
        if let Some(grouped) = list(item, "options") {
            let group = string(item, "name").or_else(|| string(item, "group"));
            choices.extend(
                grouped
                    .iter()
                    .filter_map(|item| config_choice(item, group.clone())),
            );
        } else {
            choices.extend(config_choice(item, None));
        }
    }
    choices
}

fn config_choice(item: &Value, group: Option<String>) -> Option<ConfigChoice> {
    let value = string(item, "value")?;
    Some(ConfigChoice {
        name: string(item, "name").unwrap_or_else(|| value.clone()),
        value,
        group,
    })
}

fn usage(update: &Value) -> Option<Usage> {
    let cost = update.get("cost").and_then(|cost| {
        Some(Cost {
            amount: cost.get("amount")?.as_f64()?,
            currency: string(cost, "currency").unwrap_or_default(),
        })
    });
    Some(Usage {
        used: update.get("used")?.as_u64()?,
        size: update.get("size")?.as_u64()?,
        cost,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every kind of update, each beside the event it must become.
    const UPDATES: &str = include_str!("../../tests/fixtures/updates.json");

    #[test]
    fn every_recorded_update_becomes_its_event() {
        let cases: Vec<Value> = serde_json::from_str(UPDATES).expect("the fixture file is JSON");
        assert!(cases.len() > 20, "the fixture file lost its cases");
        for case in cases {
            let event = normalise(&case["update"]);
            let stored = serde_json::to_value(&event).expect("events can be stored");
            assert_eq!(stored, case["event"], "case {}", case["name"]);
            let read: AgentEvent =
                serde_json::from_value(stored).expect("stored events can be read");
            assert_eq!(read, event, "case {}", case["name"]);
        }
    }

    #[test]
    fn no_shape_of_json_is_refused() {
        for odd in [
            json!(null),
            json!([]),
            json!("text"),
            json!({}),
            json!({"sessionUpdate": 7}),
        ] {
            assert_eq!(
                normalise(&odd),
                AgentEvent::Unknown {
                    kind: "session/update".into(),
                    raw: odd
                }
            );
        }
    }

    #[test]
    fn options_keep_their_kind_and_lose_what_cannot_be_chosen() {
        let options = permission_options(Some(&json!([
            {"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "abort", "name": null, "kind": "cancel"},
            {"name": "No id", "kind": "allow_always"},
        ])));
        assert_eq!(
            options,
            [
                PermissionOption {
                    id: "y".into(),
                    name: "Yes".into(),
                    kind: PermissionKind::AllowOnce
                },
                PermissionOption {
                    id: "abort".into(),
                    name: "abort".into(),
                    kind: PermissionKind::Other
                },
            ]
        );
    }

    #[test]
    fn stop_reasons_are_stored_as_words_and_new_ones_survive() {
        for word in [
            "end_turn",
            "max_tokens",
            "max_turn_requests",
            "refusal",
            "cancelled",
            "tired",
        ] {
            let end = turn_end(&json!({"stopReason": word})).expect("has a stop reason");
            assert_eq!(
                serde_json::to_value(&end).expect("storable"),
                json!({"stop_reason": word})
            );
        }
        assert_eq!(turn_end(&json!({})), None);
    }
}
