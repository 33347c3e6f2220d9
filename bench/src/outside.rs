//! A client from outside: a token, the wire of MCP, and the text that its model is shown.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// One client.
pub(crate) struct Outside {
    http: reqwest::Client,
    url: String,
    token: String,
    session: String,
    calls: AtomicU64,
}

/// An answer: what the model is shown, and how many bytes that is.
pub(crate) struct Shown {
    pub(crate) value: Value,
    pub(crate) bytes: usize,
}

impl Outside {
    pub(crate) async fn connect(server: &str, token: String) -> Result<Self> {
        let mut client = Self {
            http: reqwest::Client::builder()
                .pool_max_idle_per_host(0)
                .build()?,
            url: format!("{server}/mcp"),
            token,
            session: String::new(),
            calls: AtomicU64::new(1),
        };
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let opened = client.post(&initialize).send().await?.error_for_status()?;
        if let Some(session) = opened.headers().get("mcp-session-id") {
            session.to_str()?.clone_into(&mut client.session);
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.post(&ready).send().await?.error_for_status()?;
        Ok(client)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Result<Shown> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = self
            .post(&body)
            .send()
            .await?
            .error_for_status()?
            .text()
            .await?;
        let message = answer
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line))
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .find(|message| message["id"] == id)
            .with_context(|| format!("{tool} was not answered: {answer}"))?;
        let Some(text) = message["result"]["content"][0]["text"].as_str() else {
            bail!("{tool}: {message}");
        };
        Ok(Shown {
            value: serde_json::from_str(text)?,
            bytes: text.len(),
        })
    }

    fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        let request = self
            .http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(&self.token)
            .json(body);
        if self.session.is_empty() {
            request
        } else {
            request.header("mcp-session-id", &self.session)
        }
    }
}
