//! A listener to the event feed that reads what is on the wire.

use super::{TestApp, soon};
use futures::StreamExt;
use http::Method;
use serde_json::Value;

/// An open feed.
pub(crate) struct FeedReader {
    stream: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    buffer: String,
}

/// One message of the feed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heard {
    pub(crate) id: i64,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<Value>,
}

impl FeedReader {
    /// Opens the feed and reads the position it begins at.
    pub(crate) async fn open(
        app: &TestApp,
        query: &str,
        last_event_id: Option<i64>,
    ) -> (Self, i64) {
        let mut request = app.request(Method::GET, &format!("/api/v1/events{query}"));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id.to_string());
        }
        let response = soon(request.send()).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut reader = Self {
            stream: response.bytes_stream().boxed(),
            buffer: String::new(),
        };
        let start = reader.next().await.expect("a first message");
        assert_eq!(start.data, None);
        (reader, start.id)
    }

    /// The next message; `None` when the feed ended.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let message: String = self.buffer.drain(..end + 2).collect();
                if let Some(heard) = read(&message) {
                    return Some(heard);
                }
                continue;
            }
            let bytes = soon(self.stream.next()).await?.ok()?;
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next `count` events.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<Heard> {
        let mut heard = Vec::new();
        for _ in 0..count {
            heard.push(self.next().await.expect("another event"));
        }
        heard
    }
}

fn read(message: &str) -> Option<Heard> {
    let field = |name: &str| {
        message
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Heard {
        // A message without an id keeps the connection alive and says nothing.
        id: field("id")?.parse().unwrap(),
        event: field("event").map(str::to_owned),
        data: field("data").map(|data| serde_json::from_str(data).unwrap()),
    })
}
