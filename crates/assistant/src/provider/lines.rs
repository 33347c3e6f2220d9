//! Lines of a stream: server-sent events, and JSON lines.

use super::http::{Http, MAX_ANSWER};
use crate::error::{ProviderError, Trouble};
use reqwest::Response;
use serde_json::Value;

/// A response that is read line by line.
pub(super) struct Lines<'a> {
    http: &'a Http,
    response: Response,
    buffer: Vec<u8>,
    read: usize,
    ended: bool,
}

impl<'a> Lines<'a> {
    pub(super) const fn new(http: &'a Http, response: Response) -> Self {
        Self {
            http,
            response,
            buffer: Vec::new(),
            read: 0,
            ended: false,
        }
    }

    /// The next line that is not empty; none at the end of the stream.
    async fn line(&mut self) -> Result<Option<String>, ProviderError> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            if self.ended {
                let rest = std::mem::take(&mut self.buffer);
                let rest = String::from_utf8_lossy(&rest).trim().to_owned();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            match self.http.piece(&mut self.response).await? {
                Some(piece) => {
                    self.read += piece.len();
                    if self.read > MAX_ANSWER {
                        return Err(self
                            .http
                            .error(Trouble::Unreadable, "the answer is too long"));
                    }
                    self.buffer.extend_from_slice(&piece);
                }
                None => self.ended = true,
            }
        }
    }

    /// The next line as JSON.
    pub(super) async fn json(&mut self) -> Result<Option<Value>, ProviderError> {
        match self.line().await? {
            Some(line) => self.parse(&line).map(Some),
            None => Ok(None),
        }
    }

    /// The data of the next server-sent event; none at the end. Every provider writes an event's data in one line.
    pub(super) async fn event(&mut self) -> Result<Option<Event>, ProviderError> {
        while let Some(line) = self.line().await? {
            // Comments, and names of events, which the data repeats.
            let Some(data) = line.strip_prefix("data:").map(str::trim) else {
                continue;
            };
            return if data == "[DONE]" {
                Ok(Some(Event::Done))
            } else {
                self.parse(data).map(Event::Data).map(Some)
            };
        }
        Ok(None)
    }

    /// The stream ended before the answer did.
    pub(super) fn broken_off(&self) -> ProviderError {
        self.http.error(
            Trouble::Connection,
            "the connection was closed in the middle of the answer",
        )
    }

    fn parse(&self, text: &str) -> Result<Value, ProviderError> {
        serde_json::from_str(text).map_err(|error| {
            // A line cut at the end of the stream is a broken connection; one in the middle is no protocol.
            if self.ended && self.buffer.is_empty() && error.is_eof() {
                self.broken_off()
            } else {
                self.http.error(
                    Trouble::Unreadable,
                    format!("the answer is not valid JSON ({error})"),
                )
            }
        })
    }
}

/// What an event says.
pub(super) enum Event {
    /// Something.
    Data(Value),
    /// That there is nothing more.
    Done,
}
