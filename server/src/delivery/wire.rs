//! What the adapters share of HTTP: a client with limits, and what a connection that fails means.

use domain::job::{ErrorClass, Failure};
use reqwest::header::HeaderMap;
use reqwest::{Response, redirect};
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(10);
/// For one request as a whole.
const WHOLE: Duration = Duration::from_secs(20);
/// Most that is read of an answer.
const MAX_BODY: usize = 256 * 1024;

/// A client that takes no credential to where an answer points.
pub(super) fn client() -> Result<reqwest::Client, Failure> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(WHOLE)
        .redirect(redirect::Policy::none())
        .user_agent(concat!(
            "DiscordBot (https://flightdeck.invalid, ",
            env!("CARGO_PKG_VERSION"),
            ")"
        ))
        .build()
        .map_err(|error| Failure::new(ErrorClass::Config, error.without_url().to_string()))
}

/// What a request that got no answer means: it may have arrived, and is repeated under its own nonce.
pub(super) fn unanswered(platform: &str, error: &reqwest::Error) -> Failure {
    let how = if error.is_timeout() {
        "timed out"
    } else if error.is_connect() {
        "could not be reached"
    } else {
        "broke off"
    };
    let class = if error.is_builder() {
        ErrorClass::Config
    } else {
        ErrorClass::DeliveryTransient
    };
    Failure::new(class, format!("{platform} {how}"))
}

/// The body, as far as it is of use.
pub(super) async fn body(mut response: Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_BODY {
            break;
        }
    }
    bytes
}

/// A header with seconds.
pub(super) fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let seconds: f64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// As failures carry it.
pub(super) fn millis(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)
}
