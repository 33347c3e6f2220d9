//! What our own agents share: standard streams, the record of a conversation, and the MCP servers they are handed.

use std::io::{self, BufRead};

use futures::Stream;
use tokio::sync::mpsc;

pub(crate) mod history;
pub(crate) mod mcp;
pub(crate) mod outbox;

/// Standard input, line by line. From a thread of its own: tokio's would keep the process from ending.
pub(crate) fn lines() -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let (lines, mut waiting) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    futures::stream::poll_fn(move |context| waiting.poll_recv(context))
}
