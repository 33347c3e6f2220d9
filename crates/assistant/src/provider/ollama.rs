//! Ollama's chat. It is never given a list of tools: its instructions say how to write a call, and calls are read from its text.
//! A call that it sends natively all the same is taken.

use super::http::Http;
use super::lines::Lines;
use super::{Endpoint, Words};
use crate::call::ToolCall;
use crate::chat::{Chat, Message, Offer, Reply, Usage};
use crate::error::{ProviderError, Trouble};
use reqwest::Response;
use serde_json::{Value, json};
use std::fmt::Write as _;

const PATH: &str = "/api/chat";

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
        None => {
            let body = http.json(response).await?;
            let mut reply = Reply::default();
            take(http, &mut reply, &body)?;
            if body["message"].is_object() {
                Ok(reply)
            } else {
                Err(http.error(Trouble::Unreadable, "the answer holds no message"))
            }
        }
    }
}

fn request(endpoint: &Endpoint, chat: &Chat, stream: bool) -> Value {
    let mut messages = vec![json!({"role": "system", "content": system(chat)})];
    for message in &chat.messages {
        let (role, text) = match message {
            Message::User(text) => ("user", text.clone()),
            Message::Assistant { text, .. } => ("assistant", text.clone()),
            Message::Tool {
                name, text, failed, ..
            } => {
                let how = if *failed { "failed" } else { "answered" };
                ("user", format!("The tool {name} {how}:\n{text}"))
            }
        };
        messages.push(json!({"role": role, "content": text}));
    }
    json!({
        "model": endpoint.model,
        "messages": messages,
        "stream": stream,
        "options": {"temperature": chat.temperature, "num_predict": chat.max_output_tokens},
    })
}

/// The instructions, and how to call tools.
fn system(chat: &Chat) -> String {
    let mut text = chat.system.clone();
    if chat.tools.is_empty() {
        return text;
    }
    text.push_str(
        "\n\nYou can call tools. To call one, write a block like this and nothing after it:\n\
         ```tool\n{\"tool\": \"NAME\", \"args\": {\"PARAMETER\": \"VALUE\"}}\n```\n\
         You are then told what it answered. Only a tool changes anything; words alone change nothing. The tools are:\n",
    );
    for tool in &chat.tools {
        describe(&mut text, tool);
    }
    text
}

fn describe(text: &mut String, tool: &Offer) {
    let _ = writeln!(text, "\n{}: {}", tool.name, tool.description);
    let required = tool.schema["required"].as_array();
    for (name, property) in tool.schema["properties"].as_object().into_iter().flatten() {
        let kind = property["type"].as_str().unwrap_or("any");
        let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
        let mark = if needed { "required" } else { "optional" };
        let said = property["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "  {name}: {kind} ({mark}) {said}");
    }
}

fn take(http: &Http, reply: &mut Reply, body: &Value) -> Result<(), ProviderError> {
    if let Some(said) = body["error"].as_str() {
        return Err(http.error(Trouble::Server, http.without_key(said)));
    }
    let message = &body["message"];
    reply
        .text
        .push_str(message["content"].as_str().unwrap_or_default());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        reply.calls.extend(ToolCall::read(call, reply.calls.len()));
    }
    if body["done"] == true {
        reply.cut = body["done_reason"] == "length";
        reply.usage = Usage {
            input: body["prompt_eval_count"].as_u64().unwrap_or_default(),
            output: body["eval_count"].as_u64().unwrap_or_default(),
        };
    }
    Ok(())
}

async fn stream(http: &Http, response: Response, words: &Words) -> Result<Reply, ProviderError> {
    let mut lines = Lines::new(http, response);
    let mut reply = Reply::default();
    while let Some(chunk) = lines.json().await? {
        let before = reply.text.len();
        take(http, &mut reply, &chunk)?;
        if reply.text.len() > before {
            let _ = words.send(reply.text[before..].to_owned());
        }
        if chunk["done"] == true {
            return Ok(reply);
        }
    }
    Err(lines.broken_off())
}
