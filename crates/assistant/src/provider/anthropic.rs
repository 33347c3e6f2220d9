//! Anthropic's messages.

use super::http::Http;
use super::lines::{Event, Lines};
use super::{Endpoint, Words};
use crate::call::ToolCall;
use crate::chat::{Chat, Message, Reply, Usage};
use crate::error::{ProviderError, Trouble};
use reqwest::Response;
use serde_json::{Value, json};

const PATH: &str = "/v1/messages";

pub(super) async fn ask(
    http: &Http,
    endpoint: &Endpoint,
    chat: &Chat,
    words: Option<&Words>,
) -> Result<Reply, ProviderError> {
    let body = request(endpoint, chat, words.is_some());
    let response = http.post(endpoint, PATH, &body).await?;
    match words {
        Some(words) => stream(http, response, words).await,
        None => read(http, &http.json(response).await?),
    }
}

fn request(endpoint: &Endpoint, chat: &Chat, stream: bool) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for message in &chat.messages {
        let (role, blocks) = blocks(message);
        // Turns must alternate, and the results of one turn's calls belong into one message.
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                if let (Some(all), Value::Array(more)) = (last["content"].as_array_mut(), blocks) {
                    all.extend(more);
                }
            }
            Some(_) | None => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    let mut body = json!({
        "model": endpoint.model,
        "max_tokens": chat.max_output_tokens,
        "temperature": chat.temperature,
        "messages": messages,
    });
    if !chat.system.is_empty() {
        body["system"] = chat.system.as_str().into();
    }
    if !chat.tools.is_empty() {
        body["tools"] = chat
            .tools
            .iter()
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
            })
            .collect();
    }
    if stream {
        body["stream"] = true.into();
    }
    body
}

fn blocks(message: &Message) -> (&'static str, Value) {
    let text = |text: &str| json!({"type": "text", "text": text});
    match message {
        Message::User(words) => ("user", json!([text(words)])),
        Message::Assistant { text: words, calls } => {
            let mut blocks = Vec::new();
            // An empty text is refused.
            if !words.is_empty() {
                blocks.push(text(words));
            }
            for call in calls {
                let input = call.arguments.as_object();
                blocks.push(
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input}),
                );
            }
            ("assistant", Value::Array(blocks))
        }
        Message::Tool {
            id, text, failed, ..
        } => (
            "user",
            json!([{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}]),
        ),
    }
}

fn read(http: &Http, body: &Value) -> Result<Reply, ProviderError> {
    let blocks = body["content"]
        .as_array()
        .ok_or_else(|| http.error(Trouble::Unreadable, "the answer holds no content"))?;
    let mut reply = Reply {
        usage: Usage {
            input: body["usage"]["input_tokens"].as_u64().unwrap_or_default(),
            output: body["usage"]["output_tokens"].as_u64().unwrap_or_default(),
        },
        ..Reply::default()
    };
    for block in blocks {
        match block["type"].as_str() {
            Some("text") => reply
                .text
                .push_str(block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => {
                let call =
                    json!({"id": block["id"], "name": block["name"], "arguments": block["input"]});
                reply.calls.extend(ToolCall::read(&call, reply.calls.len()));
            }
            // Thinking, and what is not known yet.
            Some(_) | None => {}
        }
    }
    finish(http, reply, body["stop_reason"].as_str())
}

fn finish(http: &Http, mut reply: Reply, reason: Option<&str>) -> Result<Reply, ProviderError> {
    if reason == Some("refusal") {
        return Err(http.error(Trouble::Refused, "the model declines to answer"));
    }
    reply.cut = reason == Some("max_tokens");
    Ok(reply)
}

/// An error within a stream that began well.
fn error_in(http: &Http, event: &Value) -> ProviderError {
    let trouble = match event["error"]["type"].as_str() {
        Some("rate_limit_error") => Trouble::RateLimited,
        Some("authentication_error" | "permission_error") => Trouble::Credentials,
        Some("invalid_request_error") => Trouble::Rejected,
        Some("not_found_error") => Trouble::Setup,
        Some(_) | None => Trouble::Server,
    };
    let said = event["error"]["message"]
        .as_str()
        .unwrap_or("an error without words");
    http.error(trouble, http.without_key(said))
}

/// A block that is being sent.
enum Open {
    Text,
    Call {
        id: Value,
        name: Value,
        input: String,
    },
    Other,
}

async fn stream(http: &Http, response: Response, words: &Words) -> Result<Reply, ProviderError> {
    let mut lines = Lines::new(http, response);
    let mut reply = Reply::default();
    let mut reason: Option<String> = None;
    let mut open = Open::Other;
    loop {
        let event = match lines.event().await? {
            Some(Event::Data(event)) => event,
            Some(Event::Done) => continue,
            None => return Err(lines.broken_off()),
        };
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                reply.usage.input = event["message"]["usage"]["input_tokens"]
                    .as_u64()
                    .unwrap_or_default();
            }
            "content_block_start" => {
                let block = &event["content_block"];
                open = match block["type"].as_str() {
                    Some("text") => Open::Text,
                    Some("tool_use") => Open::Call {
                        id: block["id"].clone(),
                        name: block["name"].clone(),
                        input: String::new(),
                    },
                    Some(_) | None => Open::Other,
                };
            }
            "content_block_delta" => match &mut open {
                Open::Text => {
                    if let Some(piece) = event["delta"]["text"].as_str() {
                        reply.text.push_str(piece);
                        let _ = words.send(piece.to_owned());
                    }
                }
                Open::Call { input, .. } => {
                    input.push_str(event["delta"]["partial_json"].as_str().unwrap_or_default());
                }
                Open::Other => {}
            },
            "content_block_stop" => {
                if let Open::Call { id, name, input } = std::mem::replace(&mut open, Open::Other) {
                    let call = json!({"id": id, "name": name, "arguments": input});
                    reply.calls.extend(ToolCall::read(&call, reply.calls.len()));
                }
            }
            "message_delta" => {
                if let Some(word) = event["delta"]["stop_reason"].as_str() {
                    reason = Some(word.to_owned());
                }
                if let Some(tokens) = event["usage"]["output_tokens"].as_u64() {
                    reply.usage.output = tokens;
                }
            }
            "message_stop" => return finish(http, reply, reason.as_deref()),
            "error" => return Err(error_in(http, &event)),
            _ => {}
        }
    }
}
