//! An agent that ends every turn at once, and reports when each prompt reached it. Told to work for so many seconds, it first
//! does that: a tool call every few seconds, and a word at the end.
//!
//! A report is one datagram of JSON: the ids that Flightdeck put into the prompt, the machine's monotonic time in nanoseconds at
//! which its line was read, and where the conversation's tools are.

use std::io::{BufRead, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// The machine's monotonic time in nanoseconds; the same clock in every process.
pub(crate) fn now() -> i64 {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

pub(crate) fn run(report: &Path) -> Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket
        .connect(report)
        .with_context(|| format!("connecting to {}", report.display()))?;
    let mut out = std::io::stdout().lock();
    let mut tools = json!({});
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let at = now();
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": false, "mcpCapabilities": {"http": true, "sse": false}},
                "authMethods": [],
            }),
            Some("session/new") => {
                tools = tools_of(&message["params"]);
                json!({"sessionId": std::process::id().to_string()})
            }
            Some("session/prompt") => {
                let blocks = message["params"]["prompt"].as_array().into_iter().flatten();
                let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
                let text = &texts.join("\n");
                let said = json!({
                    "prompt": line_of(text, "prompt_id: "),
                    "task": line_of(text, "task_id: "),
                    "session": line_of(text, "session_id: "),
                    "at": at,
                    "tools": tools,
                });
                socket.send(said.to_string().as_bytes())?;
                if let Some(seconds) = line_of(text, WORK).and_then(|n| n.trim().parse().ok()) {
                    work(&mut out, &message["params"]["sessionId"], seconds)?;
                }
                json!({"stopReason": "end_turn"})
            }
            _ => json!({}),
        };
        if let Some(id) = message.get("id") {
            writeln!(
                out,
                "{}",
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            )?;
            out.flush()?;
        }
    }
    Ok(())
}

/// What a prompt's line begins with that asks for work of so many seconds.
pub(crate) const WORK: &str = "work for seconds: ";
/// A tool is called this often.
const STRIDE: u64 = 7;

fn work(out: &mut impl Write, session: &Value, seconds: u64) -> Result<()> {
    let mut tell = |update: Value| -> Result<()> {
        let params = json!({"sessionId": session, "update": update});
        let message = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
        writeln!(out, "{message}")?;
        Ok(out.flush()?)
    };
    let mut left = seconds;
    let mut number = 0;
    while left > 0 {
        number += 1;
        tell(json!({
            "sessionUpdate": "tool_call",
            "toolCallId": format!("call-{number}"),
            "title": format!("Read part {number}"),
            "kind": "read",
            "status": "completed",
        }))?;
        let pause = left.min(STRIDE);
        std::thread::sleep(Duration::from_secs(pause));
        left -= pause;
    }
    let text = "All parts are read.";
    tell(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

/// Where a conversation's tools are, and its token.
fn tools_of(params: &Value) -> Value {
    let server = &params["mcpServers"][0];
    let token = server["headers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|header| header["value"].as_str())
        .find_map(|value| value.strip_prefix("Bearer "));
    json!({"url": server["url"], "token": token})
}

fn line_of<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(head))
}
