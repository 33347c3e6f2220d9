//! A stand-in for the providers, on a real socket and in their real wire formats.
//!
//! It plays OpenAI's chat completions (`/v1/chat/completions`), Anthropic's messages (`/v1/messages`) and Ollama's chat
//! (`/api/chat`), streamed or not as the request asks, and their ways of failing: statuses with `Retry-After`, answers that break
//! off in the middle, silence, and what is no JSON. What it says to a request is a function of the request, so that it can serve
//! tests that kill and restart whoever asks. It notes what it was asked.

use crate::call::ToolCall;
use crate::provider::{Endpoint, Kind};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures::StreamExt;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the model says to one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Say {
    /// Words.
    Text(String),
    /// Words that were cut at the limit of tokens.
    Cut(String),
    /// Calls, with words beside them that may be empty.
    Calls {
        /// The words.
        text: String,
        /// Tool and arguments; a text stands for arguments as the model wrote them, valid or not.
        calls: Vec<(String, Value)>,
    },
    /// It declines.
    Refusal(String),
    /// A failure with this status, headers and body.
    Status(u16, Vec<(&'static str, String)>, String),
    /// Words, and the connection is closed in the middle of them.
    HalfClosed(String),
    /// What it says, after it has thought for a while.
    Late(Duration, Box<Say>),
    /// No answer, and the connection stays open.
    Silence,
    /// The beginning of an answer, and then nothing, and the connection stays open.
    SilenceWithin(String),
    /// A good status, and a body that is none of the protocol's.
    Garbage(String),
}

impl Say {
    /// Words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// One call without words.
    #[must_use]
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::Calls {
            text: String::new(),
            calls: vec![(tool.to_owned(), arguments)],
        }
    }

    /// A call as a model without native tools writes it.
    #[must_use]
    pub fn prose_call(tool: &str, arguments: &Value) -> Self {
        let call = json!({"tool": tool, "args": arguments});
        Self::Text(format!("```tool\n{call}\n```"))
    }
}

/// A request that came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The how many-th, from 0.
    pub number: usize,
    /// Its path.
    pub path: String,
    /// The credential it carried.
    pub credential: Option<String>,
    /// Its body.
    pub body: Value,
}

impl Asked {
    /// All words of the conversation, for a function that decides by them.
    #[must_use]
    pub fn words(&self) -> String {
        self.body["messages"].to_string()
    }

    /// The names of the tools it offers natively.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| {
                tool.pointer("/function/name")
                    .or_else(|| tool.get("name"))?
                    .as_str()
            })
            .map(str::to_owned)
            .collect()
    }

    /// Whether the last message is the result of a tool.
    #[must_use]
    pub fn is_after_tool(&self) -> bool {
        let last = self.body["messages"].as_array().and_then(|all| all.last());
        last.is_some_and(|last| {
            let text = last["content"].as_str().unwrap_or_default();
            last["role"] == "tool"
                || last
                    .pointer("/content/0/type")
                    .is_some_and(|kind| kind == "tool_result")
                || text.starts_with("The tool ")
        })
    }
}

type Mind = dyn Fn(&Asked) -> Say + Send + Sync;

struct Shared {
    mind: Box<Mind>,
    asked: Mutex<Vec<Asked>>,
}

/// The stand-in; it ends when it is dropped.
pub struct ModelServer {
    url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

impl std::fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelServer")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ModelServer {
    /// Starts one that answers by `mind`.
    ///
    /// # Panics
    ///
    /// When no port can be had.
    pub async fn start(mind: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            mind: Box::new(mind),
            asked: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let app = axum::Router::new()
            .fallback(serve)
            .with_state(Arc::clone(&shared));
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self {
            url,
            shared,
            serving,
        }
    }

    /// Starts one that says these things in turn, and then fails.
    pub async fn scripted(script: impl IntoIterator<Item = Say>) -> Self {
        let script = Mutex::new(script.into_iter().collect::<VecDeque<_>>());
        Self::start(move |_| {
            let next = lock(&script).pop_front();
            next.unwrap_or_else(|| Say::Status(418, Vec::new(), "the script is over".to_owned()))
        })
        .await
    }

    /// Where it is, without a path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where a client of this kind finds it.
    #[must_use]
    pub fn base_url(&self, kind: Kind) -> String {
        match kind {
            Kind::OpenAi => format!("{}/v1", self.url),
            Kind::Anthropic | Kind::Ollama => self.url.clone(),
        }
    }

    /// As an endpoint.
    #[must_use]
    pub fn endpoint(&self, kind: Kind, timeout: Duration) -> Endpoint {
        Endpoint {
            kind,
            base_url: self.base_url(kind),
            key: Some("sk-stand-in".to_owned()),
            model: "stand-in".to_owned(),
            timeout,
        }
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, content) = request.into_parts();
    let path = head.uri.path().to_owned();
    let credential = ["authorization", "x-api-key"].iter().find_map(|name| {
        let value = head.headers.get(*name)?.to_str().ok()?;
        Some(value.trim_start_matches("Bearer ").to_owned())
    });
    let Ok(bytes) = axum::body::to_bytes(content, 16 * 1024 * 1024).await else {
        return plain(400, "the request broke off");
    };
    let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
        return plain(400, "the request is not valid JSON");
    };
    let Some(kind) = kind_of(&path) else {
        return plain(404, "no such path");
    };
    let asked = {
        let mut all = lock(&shared.asked);
        let asked = Asked {
            number: all.len(),
            path,
            credential,
            body,
        };
        all.push(asked.clone());
        asked
    };
    if let Err(complaint) = check(kind, &asked.body) {
        return plain(400, &json!({"error": {"message": complaint}}).to_string());
    }
    let streamed = asked.body["stream"] == true;
    answer(kind, streamed, (shared.mind)(&asked)).await
}

fn kind_of(path: &str) -> Option<Kind> {
    match path {
        "/v1/chat/completions" => Some(Kind::OpenAi),
        "/v1/messages" => Some(Kind::Anthropic),
        "/api/chat" => Some(Kind::Ollama),
        _ => None,
    }
}

/// What the real ones refuse of a conversation.
fn check(kind: Kind, body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("messages is missing")?;
    if messages.is_empty() {
        return Err("messages is empty".to_owned());
    }
    match kind {
        Kind::Ollama => match body.get("tools") {
            Some(_) => Err("this model does not support tools".to_owned()),
            None => Ok(()),
        },
        Kind::OpenAi => check_openai(messages, body),
        Kind::Anthropic => check_anthropic(messages, body),
    }
}

fn check_openai(messages: &[Value], body: &Value) -> Result<(), String> {
    if body["tools"].as_array().is_some_and(Vec::is_empty) {
        return Err("tools must not be empty".to_owned());
    }
    let mut open: Vec<&Value> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let before = open.len();
            open.retain(|id| **id != message["tool_call_id"]);
            if open.len() == before {
                return Err("a tool message must follow a message with its tool call".to_owned());
            }
            continue;
        }
        if !open.is_empty() {
            return Err("each tool call must be followed by its result".to_owned());
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let arguments = call["function"]["arguments"]
                .as_str()
                .ok_or("arguments must be a string")?;
            serde_json::from_str::<Value>(arguments).map_err(|_| "arguments must be JSON")?;
            open.push(&call["id"]);
        }
    }
    Ok(())
}

fn check_anthropic(messages: &[Value], body: &Value) -> Result<(), String> {
    if !body["max_tokens"].is_number() {
        return Err("max_tokens: Field required".to_owned());
    }
    for (position, message) in messages.iter().enumerate() {
        let expected = if position % 2 == 0 {
            "user"
        } else {
            "assistant"
        };
        if message["role"] != expected {
            return Err("roles must alternate between user and assistant".to_owned());
        }
        let blocks = message["content"]
            .as_array()
            .ok_or("content must be a list")?;
        if blocks.iter().any(|block| block["text"] == "") {
            return Err("text content blocks must be non-empty".to_owned());
        }
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let answered = messages.get(position + 1).is_some_and(|next| {
                let results = next["content"].as_array().into_iter().flatten();
                results
                    .into_iter()
                    .any(|result| result["tool_use_id"] == block["id"])
            });
            if !answered {
                return Err("tool_use ids were found without tool_result blocks".to_owned());
            }
        }
    }
    Ok(())
}

async fn answer(kind: Kind, streamed: bool, say: Say) -> Response {
    let mime = match (kind, streamed) {
        (_, false) => "application/json",
        (Kind::Ollama, true) => "application/x-ndjson",
        (Kind::OpenAi | Kind::Anthropic, true) => "text/event-stream",
    };
    let text = |say: &Say| match streamed {
        true => stream(kind, say),
        false => whole(kind, say).to_string(),
    };
    let half = |words: String| {
        let text = text(&Say::Text(words));
        // In the middle of a line, as it happens.
        let mut at = text.len() / 2;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text[..at].to_owned()
    };
    match say {
        Say::Status(status, headers, body) => {
            let mut response = Response::builder()
                .status(status)
                .header("content-type", "application/json");
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("a response")
        }
        Say::Late(after, say) => {
            tokio::time::sleep(after).await;
            Box::pin(answer(kind, streamed, *say)).await
        }
        Say::Silence => std::future::pending().await,
        Say::SilenceWithin(words) => {
            body(mime, pieces(half(words)).chain(futures::stream::pending()))
        }
        Say::HalfClosed(words) => {
            let broken = futures::stream::once(async { Err(std::io::Error::other("closed")) });
            body(mime, pieces(half(words)).chain(broken))
        }
        Say::Garbage(text) => body(mime, pieces(text)),
        Say::Text(_) | Say::Cut(_) | Say::Calls { .. } | Say::Refusal(_) => {
            body(mime, pieces(text(&say)))
        }
    }
}

type Piece = Result<Bytes, std::io::Error>;

/// In small pieces, so that lines and characters are cut where nobody expects it.
fn pieces(text: String) -> impl futures::Stream<Item = Piece> + Send {
    let pieces: Vec<Piece> = text
        .into_bytes()
        .chunks(37)
        .map(|piece| Ok(Bytes::copy_from_slice(piece)))
        .collect();
    futures::stream::iter(pieces)
}

fn body(mime: &str, pieces: impl futures::Stream<Item = Piece> + Send + 'static) -> Response {
    Response::builder()
        .header("content-type", mime)
        .body(Body::from_stream(pieces))
        .expect("a response")
}

fn plain(status: u16, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// Words, calls and the reason to stop, as every wire has them.
struct Parts<'a> {
    text: &'a str,
    calls: &'a [(String, Value)],
    refusal: Option<&'a str>,
    cut: bool,
}

impl<'a> Parts<'a> {
    fn of(say: &'a Say) -> Self {
        let (text, calls, refusal, cut) = match say {
            Say::Text(text) => (text.as_str(), &[][..], None, false),
            Say::Cut(text) => (text.as_str(), &[][..], None, true),
            Say::Calls { text, calls } => (text.as_str(), calls.as_slice(), None, false),
            Say::Refusal(reason) => ("", &[][..], Some(reason.as_str()), false),
            Say::Status(..)
            | Say::HalfClosed(_)
            | Say::Late(..)
            | Say::Silence
            | Say::SilenceWithin(_)
            | Say::Garbage(_) => ("", &[][..], None, false),
        };
        Self {
            text,
            calls,
            refusal,
            cut,
        }
    }

    fn reason(&self, words: [&'static str; 4]) -> &'static str {
        let [stop, cut, tools, refused] = words;
        match (self.refusal.is_some(), self.cut, self.calls.is_empty()) {
            (true, _, _) => refused,
            (false, true, _) => cut,
            (false, false, false) => tools,
            (false, false, true) => stop,
        }
    }
}

/// Arguments as a text on the wire.
fn as_text(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            arguments.to_string()
        }
    }
}

fn whole(kind: Kind, say: &Say) -> Value {
    let parts = Parts::of(say);
    match kind {
        Kind::OpenAi => {
            let calls: Vec<Value> = parts.calls.iter().enumerate().map(|(at, (name, arguments))| {
                json!({"id": format!("call_abc{at}"), "type": "function", "function": {"name": name, "arguments": as_text(arguments)}})
            }).collect();
            let content = if parts.text.is_empty() {
                Value::Null
            } else {
                parts.text.into()
            };
            let mut message =
                json!({"role": "assistant", "content": content, "refusal": parts.refusal});
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stand-in",
                "choices": [{"index": 0, "message": message, "logprobs": null,
                    "finish_reason": parts.reason(["stop", "length", "tool_calls", "stop"])}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            })
        }
        Kind::Anthropic => {
            let mut content = Vec::new();
            if !parts.text.is_empty() {
                content.push(json!({"type": "text", "text": parts.text}));
            }
            for (at, (name, arguments)) in parts.calls.iter().enumerate() {
                content.push(json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": arguments}));
            }
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": content,
                "stop_reason": parts.reason(["end_turn", "max_tokens", "tool_use", "refusal"]), "stop_sequence": null,
                "usage": {"input_tokens": 11, "output_tokens": 7},
            })
        }
        Kind::Ollama => {
            let mut body = ollama_piece(parts.text, parts.calls);
            body["done"] = true.into();
            body["done_reason"] = parts.reason(["stop", "length", "stop", "stop"]).into();
            body["prompt_eval_count"] = 11.into();
            body["eval_count"] = 7.into();
            body
        }
    }
}

fn ollama_piece(text: &str, calls: &[(String, Value)]) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        message["tool_calls"] = calls
            .iter()
            .map(|(name, arguments)| json!({"function": {"name": name, "arguments": arguments}}))
            .collect();
    }
    json!({"model": "stand-in", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false})
}

/// Halves of a text, neither of them within a character.
fn halves(text: &str) -> [&str; 2] {
    let at = text
        .char_indices()
        .nth(text.chars().count() / 2)
        .map_or(0, |(at, _)| at);
    [&text[..at], &text[at..]]
}

fn stream(kind: Kind, say: &Say) -> String {
    let parts = Parts::of(say);
    match kind {
        Kind::OpenAi => stream_openai(&parts),
        Kind::Anthropic => stream_anthropic(&parts),
        Kind::Ollama => {
            let [first, second] = halves(parts.text);
            let mut end = ollama_piece("", &[]);
            end["done"] = true.into();
            end["done_reason"] = parts.reason(["stop", "length", "stop", "stop"]).into();
            format!(
                "{}\n{}\n{end}\n",
                ollama_piece(first, parts.calls),
                ollama_piece(second, &[])
            )
        }
    }
}

fn stream_openai(parts: &Parts<'_>) -> String {
    let chunk = |delta: Value, reason: Option<&str>| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        });
        format!("data: {chunk}\r\n\r\n")
    };
    let mut out = format!(
        ": keep-alive\n\n{}",
        chunk(json!({"role": "assistant", "content": ""}), None)
    );
    for half in halves(parts.text) {
        out.push_str(&chunk(json!({"content": half}), None));
    }
    if let Some(refusal) = parts.refusal {
        out.push_str(&chunk(json!({"refusal": refusal}), None));
    }
    for (at, (name, arguments)) in parts.calls.iter().enumerate() {
        let head = json!({"index": at, "id": format!("call_abc{at}"), "type": "function", "function": {"name": name, "arguments": ""}});
        out.push_str(&chunk(json!({"tool_calls": [head]}), None));
        for half in halves(&as_text(arguments)) {
            out.push_str(&chunk(
                json!({"tool_calls": [{"index": at, "function": {"arguments": half}}]}),
                None,
            ));
        }
    }
    out.push_str(&chunk(
        json!({}),
        Some(parts.reason(["stop", "length", "tool_calls", "stop"])),
    ));
    out.push_str("data: [DONE]\n\n");
    out
}

fn stream_anthropic(parts: &Parts<'_>) -> String {
    let event = |value: Value| {
        format!(
            "event: {}\ndata: {value}\n\n",
            value["type"].as_str().unwrap_or_default()
        )
    };
    let mut out = event(
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
        "usage": {"input_tokens": 11, "output_tokens": 1}}}),
    );
    out.push_str(&event(json!({"type": "ping"})));
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        let mut text =
            event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            text.push_str(&event(
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        text.push_str(&event(
            json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
        text
    };
    if !parts.text.is_empty() {
        let deltas = halves(parts.text).map(|half| json!({"type": "text_delta", "text": half}));
        out.push_str(&block(json!({"type": "text", "text": ""}), deltas.to_vec()));
    }
    for (at, (name, arguments)) in parts.calls.iter().enumerate() {
        let text = as_text(arguments);
        let deltas =
            halves(&text).map(|half| json!({"type": "input_json_delta", "partial_json": half}));
        let start =
            json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": {}});
        out.push_str(&block(start, deltas.to_vec()));
    }
    let reason = parts.reason(["end_turn", "max_tokens", "tool_use", "refusal"]);
    out.push_str(&event(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}})));
    out.push_str(&event(json!({"type": "message_stop"})));
    out
}

/// The calls of a request's conversation that were already made, for a mind that must not make them again.
#[must_use]
pub fn calls_made(asked: &Asked) -> Vec<ToolCall> {
    let messages = asked.body["messages"].as_array().into_iter().flatten();
    messages
        .flat_map(|message| {
            message["tool_calls"]
                .as_array()
                .cloned()
                .unwrap_or_default()
        })
        .filter_map(|call| ToolCall::read(&call, 0))
        .collect()
}
