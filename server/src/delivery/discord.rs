//! Direct messages on Discord, over its REST API.
//!
//! A message carries its piece's nonce and asks for it to be enforced, so that a repeat within Discord's window shows nothing
//! twice. Mentions are off: a model's text must ping nobody. Discord says in its headers when a route is used up; the adapter then
//! waits a little, or says when to come back. Who blocks the bot, or cannot be written to, is never tried again.

use super::settings::DiscordSettings;
use super::{not_set_up, wire};
use domain::job::{ErrorClass, Failure};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A wait that is sat out here; a longer one is the executor's to plan.
const SHORT_WAIT: Duration = Duration::from_secs(3);
/// How often a rate limit is sat out for one request.
const TRIES: usize = 3;
/// Channels that are remembered.
const CHANNELS: usize = 10_000;
/// The name that stands for all routes.
const EVERYWHERE: &str = "";

/// Codes of Discord that say that this user will never get a message: unknown channel, guild, message or user, no access, cannot
/// message this user, invalid recipients.
const NEVER: &[i64] = &[
    10_003, 10_004, 10_008, 10_013, 50_001, 50_007, 50_013, 50_033, 40_003,
];

/// The adapter.
#[derive(Debug)]
pub struct Discord {
    bot: Option<Bot>,
    channels: Mutex<HashMap<String, String>>,
    /// Until when a route must be left alone.
    pauses: Mutex<HashMap<String, Instant>>,
}

#[derive(Debug)]
struct Bot {
    settings: DiscordSettings,
    client: reqwest::Client,
}

impl Discord {
    /// An adapter; without settings everything it is asked fails as not set up.
    ///
    /// # Errors
    ///
    /// When no client can be made.
    pub fn new(settings: Option<DiscordSettings>) -> Result<Self, Failure> {
        let bot = settings
            .map(|settings| wire::client().map(|client| Bot { settings, client }))
            .transpose()?;
        Ok(Self {
            bot,
            channels: Mutex::default(),
            pauses: Mutex::default(),
        })
    }

    /// The channel to a user: opened, or found open. Discord gives the same one each time.
    ///
    /// # Errors
    ///
    /// Typed, as the module says.
    pub async fn open(&self, user_id: &str) -> Result<String, Failure> {
        if user_id.is_empty() || !user_id.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Failure::new(
                ErrorClass::DeliveryPermanent,
                "the user's id is none of Discord's",
            ));
        }
        if let Some(known) = lock(&self.channels).get(user_id) {
            return Ok(known.clone());
        }
        let opened = self
            .post("/users/@me/channels", &json!({"recipient_id": user_id}))
            .await?;
        let channel = id_of(&opened)?;
        let mut channels = lock(&self.channels);
        if channels.len() >= CHANNELS {
            channels.clear();
        }
        channels.insert(user_id.to_owned(), channel.clone());
        Ok(channel)
    }

    /// Posts one piece, and gives Discord's id of it.
    ///
    /// # Errors
    ///
    /// Typed, as the module says.
    pub async fn send(&self, channel: &str, text: &str, nonce: &str) -> Result<String, Failure> {
        let message = json!({
            "content": text,
            "nonce": nonce,
            "enforce_nonce": true,
            "allowed_mentions": {"parse": []},
        });
        let sent = self
            .post(&format!("/channels/{channel}/messages"), &message)
            .await?;
        id_of(&sent)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let bot = self
            .bot
            .as_ref()
            .ok_or_else(|| not_set_up("Discord", "DISCORD_BOT_TOKEN"))?;
        let mut tries = 0;
        loop {
            self.wait_for(path).await?;
            let response = bot
                .client
                .post(format!("{}{path}", bot.settings.base_url))
                .header("authorization", format!("Bot {}", bot.settings.token))
                .json(body)
                .send()
                .await
                .map_err(|error| wire::unanswered("Discord", &error))?;
            self.note_limits(path, &response);
            let status = response.status();
            if status == StatusCode::TOO_MANY_REQUESTS {
                let wait = self.note_refused(path, response).await;
                tries += 1;
                if tries < TRIES && wait <= SHORT_WAIT {
                    continue;
                }
                return Err(limited(wait));
            }
            if !status.is_success() {
                return Err(refused(status, &wire::body(response).await));
            }
            return serde_json::from_slice(&wire::body(response).await).map_err(|_| {
                Failure::new(
                    ErrorClass::DeliveryTransient,
                    "Discord's answer is not valid JSON",
                )
            });
        }
    }

    /// Sits out a short pause of the route; says so of a long one.
    async fn wait_for(&self, path: &str) -> Result<(), Failure> {
        let until = {
            let pauses = lock(&self.pauses);
            [path, EVERYWHERE]
                .iter()
                .filter_map(|route| pauses.get(*route))
                .max()
                .copied()
        };
        let Some(until) = until else {
            return Ok(());
        };
        let wait = until.saturating_duration_since(Instant::now());
        if wait > SHORT_WAIT {
            return Err(limited(wait));
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// A route that is used up is left alone until it is not.
    fn note_limits(&self, path: &str, response: &Response) {
        let headers = response.headers();
        let used_up = headers
            .get("x-ratelimit-remaining")
            .is_some_and(|left| left == "0");
        if let (true, Some(wait)) = (used_up, wire::seconds(headers, "x-ratelimit-reset-after")) {
            self.pause(path, wait);
        }
    }

    /// How long Discord wants to be left alone, and where.
    async fn note_refused(&self, path: &str, response: Response) -> Duration {
        let headers = response.headers().clone();
        let body: Value = serde_json::from_slice(&wire::body(response).await).unwrap_or_default();
        let wait = body["retry_after"]
            .as_f64()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or_else(|| wire::seconds(&headers, "retry-after"))
            .unwrap_or(Duration::from_secs(1));
        let everywhere = body["global"] == true || headers.get("x-ratelimit-global").is_some();
        self.pause(if everywhere { EVERYWHERE } else { path }, wait);
        wait
    }

    fn pause(&self, route: &str, wait: Duration) {
        let now = Instant::now();
        let mut pauses = lock(&self.pauses);
        pauses.retain(|_, until| *until > now);
        pauses.insert(route.to_owned(), now + wait);
    }
}

fn limited(wait: Duration) -> Failure {
    Failure::new(
        ErrorClass::DeliveryTransient,
        "Discord asks to come back later",
    )
    .retry_after(Some(wire::millis(wait)))
}

fn refused(status: StatusCode, body: &[u8]) -> Failure {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let code = body["code"].as_i64().unwrap_or_default();
    let class = match status.as_u16() {
        401 => ErrorClass::Config,
        _ if NEVER.contains(&code) => ErrorClass::DeliveryPermanent,
        // What Discord does not like of a message it will not like later either.
        400 | 403 | 404 | 405 | 413 => ErrorClass::DeliveryPermanent,
        _ => ErrorClass::DeliveryTransient,
    };
    let said: String = body["message"]
        .as_str()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect();
    Failure::new(
        class,
        format!("Discord answered {} (code {code}): {said}", status.as_u16()),
    )
}

fn id_of(answer: &Value) -> Result<String, Failure> {
    let id = answer["id"].as_str().filter(|id| !id.is_empty());
    id.map(str::to_owned).ok_or_else(|| {
        Failure::new(
            ErrorClass::DeliveryTransient,
            "Discord's answer names no id",
        )
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
