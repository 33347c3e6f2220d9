//! A signed request to a service of the operator's, for platforms that have no adapter here.
//!
//! The body is JSON: `{type: "message", userId, source, jobId, kind, chunkNo, content, nonce}`, one request a piece. Three headers go
//! with it:
//!
//! * `Flightdeck-Timestamp`: seconds since 1970.
//! * `Flightdeck-Signature`: `sha256=` and, in hex, HMAC-SHA256 of timestamp, a full stop, and the body as it was sent, under
//!   `AI_WEBHOOK_SECRET`. The service compares it in constant time and refuses a timestamp that is minutes old.
//! * `Idempotency-Key`: the nonce. A repeat carries the same one and must not be shown twice.
//!
//! A good status means that the service has the piece; if it answers `{"id": "…"}`, that is kept.

use super::settings::WebhookSettings;
use super::{not_set_up, wire};
use board::Clock;
use domain::digest::hex;
use domain::job::{Delivery, ErrorClass, Failure, Target};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// Carries the time of a request.
pub const TIMESTAMP_HEADER: &str = "flightdeck-timestamp";
/// Carries its signature.
pub const SIGNATURE_HEADER: &str = "flightdeck-signature";

/// The adapter.
#[derive(Debug)]
pub struct Webhook {
    service: Option<(WebhookSettings, reqwest::Client)>,
    clock: Clock,
}

impl Webhook {
    /// An adapter; without settings everything it is asked fails as not set up.
    ///
    /// # Errors
    ///
    /// When no client can be made.
    pub fn new(settings: Option<WebhookSettings>, clock: Clock) -> Result<Self, Failure> {
        let service = settings
            .map(|settings| wire::client().map(|client| (settings, client)))
            .transpose()?;
        Ok(Self { service, clock })
    }

    /// Whether there is a service; its address needs no opening.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn open(&self) -> Result<(), Failure> {
        self.service().map(|_| ())
    }

    /// Sends one piece.
    ///
    /// # Errors
    ///
    /// Typed, as the adapters' module says.
    pub async fn send(&self, target: &Target, piece: &Delivery) -> Result<String, Failure> {
        let (settings, client) = self.service()?;
        let body = json!({
            "type": "message",
            "userId": target.user_id,
            "source": target.source,
            "jobId": piece.job_id,
            "kind": piece.kind,
            "chunkNo": piece.chunk_no,
            "content": piece.body,
            "nonce": piece.nonce,
        })
        .to_string();
        let timestamp = (self.clock.now().millis() / 1000).to_string();
        let response = client
            .post(&settings.url)
            .header("content-type", "application/json")
            .header("idempotency-key", &piece.nonce)
            .header(TIMESTAMP_HEADER, &timestamp)
            .header(
                SIGNATURE_HEADER,
                signature(&settings.secret, &timestamp, &body),
            )
            .body(body)
            .send()
            .await
            .map_err(|error| wire::unanswered("the webhook", &error))?;
        let status = response.status();
        let advised = wire::seconds(response.headers(), "retry-after").map(wire::millis);
        let answer = wire::body(response).await;
        if status.is_success() {
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            return Ok(answer["id"].as_str().unwrap_or(&piece.nonce).to_owned());
        }
        let class = match status.as_u16() {
            401 => ErrorClass::Config,
            400 | 403 | 404 | 405 | 410 | 413 | 415 | 422 => ErrorClass::DeliveryPermanent,
            _ => ErrorClass::DeliveryTransient,
        };
        Err(
            Failure::new(class, format!("the webhook answered {}", status.as_u16()))
                .retry_after(advised),
        )
    }

    fn service(&self) -> Result<&(WebhookSettings, reqwest::Client), Failure> {
        self.service
            .as_ref()
            .ok_or_else(|| not_set_up("the webhook", "AI_WEBHOOK_URL and AI_WEBHOOK_SECRET"))
    }
}

/// The signature of a request, as its header carries it.
#[must_use]
pub fn signature(secret: &str, timestamp: &str, body: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of every length");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf '%s' '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key`
    #[test]
    fn anybody_can_make_the_same_signature() {
        assert_eq!(
            signature("key", "1700000000", "{\"a\":1}"),
            "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
        assert_ne!(signature("key", "1", "x"), signature("other", "1", "x"));
    }
}
