//! One request to a provider: limits, time-outs, and what a failure is.

use super::{Endpoint, Kind};
use crate::error::{ProviderError, Trouble};
use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Response, StatusCode, redirect};
use serde_json::Value;
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// Most that is read of one answer.
pub(super) const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Most that is read of an error's body, and told of it.
const MAX_ERROR: usize = 64 * 1024;
const TOLD: usize = 300;
/// The longest wait that is believed.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A connection to one provider. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Http {
    client: reqwest::Client,
    provider: &'static str,
    timeout: Duration,
    key: Option<String>,
}

impl Http {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, ProviderError> {
        let provider = endpoint.kind.name();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            // A key must not follow to wherever an answer points.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("flightdeck/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ProviderError::new(provider, Trouble::Setup, told(&error)))?;
        Ok(Self {
            client,
            provider,
            timeout: endpoint.timeout,
            key: endpoint.key.clone(),
        })
    }

    pub(super) fn error(&self, trouble: Trouble, message: impl Into<String>) -> ProviderError {
        ProviderError::new(self.provider, trouble, message)
    }

    /// Posts JSON and gives the response if it is a good one.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        path: &str,
        body: &Value,
    ) -> Result<Response, ProviderError> {
        let mut request = self
            .client
            .post(format!("{}{path}", endpoint.base_url))
            .json(body);
        match (&endpoint.key, endpoint.kind) {
            (Some(key), Kind::Anthropic) => request = request.header("x-api-key", key),
            (Some(key), Kind::OpenAi | Kind::Ollama) => request = request.bearer_auth(key),
            (None, _) => {}
        }
        if endpoint.kind == Kind::Anthropic {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let response = tokio::time::timeout(self.timeout, request.send())
            .await
            .map_err(|_| self.silent())?
            .map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.failure(response).await)
    }

    /// The whole body as JSON. What is no JSON although the connection ended well is nobody's answer.
    pub(super) async fn json(&self, response: Response) -> Result<Value, ProviderError> {
        let bytes = tokio::time::timeout(self.timeout, self.body(response, MAX_ANSWER))
            .await
            .map_err(|_| self.silent())??;
        serde_json::from_slice(&bytes).map_err(|error| {
            self.error(
                Trouble::Unreadable,
                format!("the answer is not valid JSON ({error})"),
            )
        })
    }

    /// The next piece of a stream; none at its end.
    pub(super) async fn piece(
        &self,
        response: &mut Response,
    ) -> Result<Option<Bytes>, ProviderError> {
        tokio::time::timeout(self.timeout, response.chunk())
            .await
            .map_err(|_| self.silent())?
            .map_err(|error| self.broken(&error))
    }

    async fn body(&self, mut response: Response, limit: usize) -> Result<Vec<u8>, ProviderError> {
        let mut bytes = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.broken(&error))?
        {
            bytes.extend_from_slice(&piece);
            if bytes.len() > limit {
                return Err(self.error(Trouble::Unreadable, "the answer is too long"));
            }
        }
        Ok(bytes)
    }

    async fn failure(&self, response: Response) -> ProviderError {
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let body = tokio::time::timeout(self.timeout, self.body(response, MAX_ERROR))
            .await
            .unwrap_or_else(|_| Ok(Vec::new()))
            .unwrap_or_default();
        let said = message_of(&body);
        let mut message = format!("HTTP {}", status.as_u16());
        if !said.is_empty() {
            message = format!("{message}: {said}");
        }
        ProviderError {
            provider: self.provider.to_owned(),
            trouble: trouble(status),
            status: Some(status.as_u16()),
            retry_after,
            message: self.without_key(&message),
        }
    }

    /// Some providers repeat the key they do not like.
    pub(super) fn without_key(&self, text: &str) -> String {
        match self.key.as_deref().filter(|key| !key.is_empty()) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        }
    }

    fn silent(&self) -> ProviderError {
        self.error(
            Trouble::Timeout,
            format!(
                "timed out: nothing came for {} seconds",
                self.timeout.as_secs_f32()
            ),
        )
    }

    fn broken(&self, error: &reqwest::Error) -> ProviderError {
        let trouble = if error.is_timeout() {
            Trouble::Timeout
        } else if error.is_builder() {
            Trouble::Setup
        } else {
            Trouble::Connection
        };
        self.error(trouble, told(error))
    }
}

/// The reason without the address, which may hold a password.
fn told(error: &reqwest::Error) -> String {
    use std::error::Error as _;
    let what = if error.is_connect() {
        "no connection could be made"
    } else if error.is_timeout() {
        "timed out"
    } else if error.is_builder() {
        "the address cannot be used"
    } else {
        "the connection broke off"
    };
    let mut deepest = error.source();
    while let Some(next) = deepest.and_then(std::error::Error::source) {
        deepest = Some(next);
    }
    match deepest {
        Some(reason) => format!("{what} ({reason})"),
        None => what.to_owned(),
    }
}

fn trouble(status: StatusCode) -> Trouble {
    match status.as_u16() {
        429 => Trouble::RateLimited,
        408 | 425 => Trouble::Server,
        401 | 403 => Trouble::Credentials,
        404 => Trouble::Setup,
        500.. => Trouble::Server,
        _ => Trouble::Rejected,
    }
}

/// What an error's body says; each provider has a shape of its own.
fn message_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let said = serde_json::from_str::<Value>(&text).ok().and_then(|value| {
        [
            value.pointer("/error/message"),
            value.get("error"),
            value.get("message"),
        ]
        .into_iter()
        .flatten()
        .find_map(|found| found.as_str().map(str::to_owned))
    });
    // A page of a proxy in between says nothing that helps.
    let said = said.unwrap_or_else(|| {
        if text.trim_start().starts_with('<') {
            String::new()
        } else {
            text.into_owned()
        }
    });
    said.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(TOLD)
        .collect()
}

/// How long the provider asks to be left alone: milliseconds, seconds, or a date, which is read against the response's own.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| {
        text(name)?
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0)
    };
    let seconds = number("retry-after-ms")
        .map(|ms| ms / 1000.0)
        .or_else(|| number("retry-after"))
        .or_else(|| {
            let date = |name: &str| OffsetDateTime::parse(text(name)?, &Rfc2822).ok();
            Some(
                (date("retry-after")? - date("date")?)
                    .as_seconds_f64()
                    .max(0.0),
            )
        })?;
    Some(Duration::from_secs_f64(seconds.min(MAX_WAIT.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    reqwest::header::HeaderName::from_static(name),
                    value.parse().unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn advice_to_wait_is_read_in_every_form() {
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        let later = "Wed, 21 Oct 2026 07:28:40 GMT";
        for (pairs, seconds) in [
            (vec![("retry-after", "7")], Some(7.0)),
            (vec![("retry-after", " 0.25 ")], Some(0.25)),
            (
                vec![("retry-after-ms", "1500"), ("retry-after", "9")],
                Some(1.5),
            ),
            (vec![("retry-after", later), ("date", date)], Some(40.0)),
            (vec![("retry-after", date), ("date", later)], Some(0.0)),
            (vec![("retry-after", "999999999")], Some(86400.0)),
            (vec![("retry-after", later)], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "-5")], None),
            (vec![("retry-after", "inf")], None),
            (vec![], None),
        ] {
            assert_eq!(
                retry_after(&headers(&pairs)),
                seconds.map(Duration::from_secs_f64),
                "{pairs:?}"
            );
        }
    }

    #[test]
    fn an_error_is_told_in_its_own_words_and_never_as_a_page() {
        for (body, said) in [
            (
                r#"{"error":{"message":"no\n such  model","code":"x"}}"#,
                "no such model",
            ),
            (r#"{"error":"model 'x' not found"}"#, "model 'x' not found"),
            ("<html><body>Bad gateway</body></html>", ""),
            ("upstream is down", "upstream is down"),
        ] {
            assert_eq!(message_of(body.as_bytes()), said);
        }
        assert_eq!(message_of("x".repeat(5000).as_bytes()).len(), TOLD);
    }
}
