//! Chat completions, of OpenAI and of whoever is compatible.

use super::http::Http;
use super::lines::{Event, Lines};
use super::{Endpoint, Words};
use crate::call::ToolCall;
use crate::chat::{Chat, Message, Reply, Usage};
use crate::error::{ProviderError, Trouble};
use reqwest::Response;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const PATH: &str = "/chat/completions";

pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    chat: &Chat,
    words: Option<&Words>,
) -> Result<Reply, ProviderError> {
    let mut body = request(endpoint, chat, words.is_some());
    let response = match http.post(endpoint, PATH, &body).await {
        Err(error) if adapt(&mut body, &error) => http.post(endpoint, PATH, &body).await?,
        answered => answered?,
    };
    match words {
        Some(words) => stream(http, response, words).await,
        None => read(http, &http.json(response).await?),
    }
}

fn request(endpoint: &Endpoint, chat: &Chat, stream: bool) -> Value {
    let mut messages = Vec::with_capacity(chat.messages.len() + 1);
    if !chat.system.is_empty() {
        messages.push(json!({"role": "system", "content": chat.system}));
    }
    messages.extend(chat.messages.iter().map(message));
    let mut body = json!({
        "model": endpoint.model,
        "messages": messages,
        "max_tokens": chat.max_output_tokens,
        "temperature": chat.temperature,
    });
    if !chat.tools.is_empty() {
        body["tools"] = chat
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.schema,
                }})
            })
            .collect();
    }
    if stream {
        body["stream"] = true.into();
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    json!({"id": call.id, "type": "function", "function": {
                        "name": call.name, "arguments": call.arguments.as_object().to_string(),
                    }})
                })
                .collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Tool { id, text, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
    }
}

/// Models that reason take other settings than the rest. Which ones do is not to be known beforehand; they say so.
fn adapt(body: &mut Value, error: &ProviderError) -> bool {
    if error.trouble != Trouble::Rejected {
        return false;
    }
    let Some(body) = body.as_object_mut() else {
        return false;
    };
    if error.message.contains("max_completion_tokens") {
        return match body.remove("max_tokens") {
            Some(limit) => {
                body.insert("max_completion_tokens".to_owned(), limit);
                // They take no temperature either, and would say so only now.
                body.remove("temperature");
                true
            }
            None => false,
        };
    }
    error.message.contains("temperature") && body.remove("temperature").is_some()
}

fn read(http: &Http, body: &Value) -> Result<Reply, ProviderError> {
    if let Some(error) = error_in(http, body) {
        return Err(error);
    }
    let choice = body
        .pointer("/choices/0")
        .filter(|choice| choice.is_object())
        .ok_or_else(|| http.error(Trouble::Unreadable, "the answer holds no choice"))?;
    let message = &choice["message"];
    if let Some(reason) = message["refusal"].as_str().filter(|text| !text.is_empty()) {
        return Err(http.error(Trouble::Refused, reason.to_owned()));
    }
    let calls = message["tool_calls"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    finish(
        http,
        text_of(&message["content"]),
        calls,
        choice["finish_reason"].as_str(),
        usage(&body["usage"]),
    )
}

fn finish(
    http: &Http,
    text: String,
    calls: &[Value],
    reason: Option<&str>,
    usage: Usage,
) -> Result<Reply, ProviderError> {
    if reason == Some("content_filter") {
        return Err(http.error(
            Trouble::Refused,
            "the provider's content filter stopped the answer",
        ));
    }
    Ok(Reply {
        text,
        calls: calls
            .iter()
            .enumerate()
            .filter_map(|(position, call)| ToolCall::read(call, position))
            .collect(),
        cut: reason == Some("length"),
        usage,
    })
}

/// Text, or the text of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn usage(value: &Value) -> Usage {
    Usage {
        input: value["prompt_tokens"].as_u64().unwrap_or_default(),
        output: value["completion_tokens"].as_u64().unwrap_or_default(),
    }
}

/// Some servers send an error with a good status.
fn error_in(http: &Http, body: &Value) -> Option<ProviderError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let said = error["message"]
        .as_str()
        .or(error.as_str())
        .unwrap_or("an error without words");
    Some(http.error(Trouble::Server, http.without_key(said)))
}

async fn stream(http: &Http, response: Response, words: &Words) -> Result<Reply, ProviderError> {
    let mut lines = Lines::new(http, response);
    let mut text = String::new();
    let mut refusal = String::new();
    let mut calls: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    let mut reason: Option<String> = None;
    let mut spent = Usage::default();
    loop {
        let chunk = match lines.event().await? {
            Some(Event::Data(chunk)) => chunk,
            Some(Event::Done) => break,
            // Some leave the closing mark out; the reason to stop then says that it is whole.
            None if reason.is_some() => break,
            None => return Err(lines.broken_off()),
        };
        if let Some(error) = error_in(http, &chunk) {
            return Err(error);
        }
        if chunk["usage"].is_object() {
            spent = usage(&chunk["usage"]);
        }
        let choice = &chunk["choices"][0];
        if let Some(word) = choice["finish_reason"].as_str() {
            reason = Some(word.to_owned());
        }
        let delta = &choice["delta"];
        if let Some(piece) = delta["content"].as_str().filter(|piece| !piece.is_empty()) {
            text.push_str(piece);
            let _ = words.send(piece.to_owned());
        }
        if let Some(piece) = delta["refusal"].as_str() {
            refusal.push_str(piece);
        }
        for (position, piece) in delta["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let index = piece["index"].as_u64().unwrap_or(position as u64);
            gather(calls.entry(index).or_default(), piece);
        }
    }
    if !refusal.is_empty() {
        return Err(http.error(Trouble::Refused, refusal));
    }
    let calls: Vec<Value> = calls.into_values().map(Value::Object).collect();
    finish(http, text, &calls, reason.as_deref(), spent)
}

/// Puts a piece of a call to what came of it before: names come whole, arguments in pieces.
fn gather(call: &mut Map<String, Value>, piece: &Value) {
    if let Some(id) = piece["id"].as_str().filter(|id| !id.is_empty()) {
        call.insert("id".to_owned(), id.into());
    }
    let function = call
        .entry("function")
        .or_insert_with(|| json!({"name": "", "arguments": ""}));
    if let Some(name) = piece["function"]["name"]
        .as_str()
        .filter(|name| !name.is_empty())
    {
        function["name"] = name.into();
    }
    match &piece["function"]["arguments"] {
        Value::String(more) => {
            let before = function["arguments"].as_str().unwrap_or_default();
            function["arguments"] = format!("{before}{more}").into();
        }
        whole @ Value::Object(_) => function["arguments"] = whole.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
    }
}
