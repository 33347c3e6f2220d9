//! `flightdeck worker`: takes hints from a server and has their jobs run there (ruling 40).
//!
//! It needs the server's address and the internal key, and nothing else. It keeps nothing: the row is the truth, and a run goes
//! on when this process is killed. Each hint is settled by itself, so that one that fails hurts no other.

use anyhow::{Context, bail};
use domain::job::view::{Hint, HintKind};
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Seconds that a poll waits for hints.
const WAIT: u64 = 20;
/// A poll that takes longer than this has lost its server.
const POLL_LIMIT: Duration = Duration::from_secs(45);
/// How often a hint is tried before it is left to the next sweep.
const TRIES: u32 = 5;
/// The wait after the first failure; doubled with each.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Where to work, and how much at once.
#[derive(Clone)]
pub struct WorkerConfig {
    /// The server's address.
    pub api_base: String,
    /// The internal key.
    pub key: String,
    /// Hints worked on at once.
    pub concurrency: usize,
}

impl std::fmt::Debug for WorkerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerConfig")
            .field("api_base", &self.api_base)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// A consumer of hints.
#[derive(Debug, Clone)]
pub struct Worker {
    config: WorkerConfig,
    http: Client,
}

#[derive(Debug, Deserialize)]
struct Batch {
    /// Kinds that this version does not know are acknowledged and left.
    hints: Vec<Value>,
}

/// What became of a request.
enum Sent {
    /// The server did its part.
    Taken,
    /// It did not; trying again may help.
    Refused(String),
}

impl Worker {
    /// A worker for a server. A missing address or key is an error here, rather than a stream of refusals later.
    pub fn new(mut config: WorkerConfig) -> anyhow::Result<Self> {
        config.api_base = config.api_base.trim().trim_end_matches('/').to_owned();
        if config.api_base.is_empty() {
            bail!(
                "the server's address is missing: set SPACEBOT_API_BASE, such as http://127.0.0.1:3000"
            );
        }
        if config.key.trim().is_empty() {
            bail!("the internal key is missing: set AI_AUTOPILOT_INTERNAL_KEY to the server's");
        }
        let http = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .tcp_keepalive(Duration::from_secs(30))
            .build()
            .context("an HTTP client cannot be made")?;
        Ok(Self { config, http })
    }

    /// Works until it is stopped; then it waits for what it has begun.
    pub async fn run(&self, stop: CancellationToken) {
        let mut at_work = JoinSet::new();
        let mut wait = FIRST_WAIT;
        while !stop.is_cancelled() {
            while at_work.try_join_next().is_some() {}
            if at_work.len() >= self.config.concurrency {
                tokio::select! {
                    _ = at_work.join_next() => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
            let polled = tokio::select! {
                polled = self.poll() => polled,
                () = stop.cancelled() => break,
            };
            match polled {
                Ok(hints) => {
                    wait = FIRST_WAIT;
                    for hint in hints {
                        let worker = self.clone();
                        at_work.spawn(async move { worker.settle(hint).await });
                    }
                }
                Err(error) => {
                    tracing::warn!(error, "no hints were had");
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = stop.cancelled() => {}
                    }
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
        while at_work.join_next().await.is_some() {}
    }

    async fn poll(&self) -> Result<Vec<Value>, String> {
        let url = format!("{}/api/ai/jobs/hints?wait={WAIT}", self.config.api_base);
        let response = self
            .http
            .get(url)
            .bearer_auth(&self.config.key)
            .timeout(POLL_LIMIT)
            .send()
            .await
            .map_err(without_url)?;
        if !response.status().is_success() {
            return Err(format!("the server answers {}", response.status()));
        }
        let batch: Batch = response.json().await.map_err(without_url)?;
        Ok(batch.hints)
    }

    /// Does what a hint says; whatever comes of it, the hint is settled.
    async fn settle(&self, hint: Value) {
        let kind = hint.get("type").and_then(Value::as_str).unwrap_or_default();
        let Ok(hint) = serde_json::from_value::<Hint>(hint.clone()) else {
            tracing::warn!(kind, "a hint of an unknown kind was left");
            return;
        };
        match hint.kind {
            HintKind::WatchdogSweep => {
                // The next tick makes up for a sweep that failed.
                if let Sent::Refused(error) = self.send("sweep", None).await {
                    tracing::warn!(error, "a sweep failed");
                }
            }
            HintKind::JobCreated | HintKind::JobDue => self.execute(&hint).await,
        }
    }

    async fn execute(&self, hint: &Hint) {
        let body = json!({"jobId": hint.job_id, "dispatch": hint.dispatch});
        let mut wait = FIRST_WAIT;
        for left in (0..TRIES).rev() {
            match self.send("execute", Some(&body)).await {
                Sent::Taken => return,
                Sent::Refused(error) if left == 0 => {
                    tracing::warn!(error, job = ?hint.job_id, "a hint was left to the next sweep");
                }
                Sent::Refused(error) => {
                    tracing::info!(error, job = ?hint.job_id, "a hint is tried again");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    /// A run may take as long as it does: no limit of our own, and a server that is gone shows at the connection.
    async fn send(&self, what: &str, body: Option<&Value>) -> Sent {
        let url = format!("{}/api/ai/jobs/{what}", self.config.api_base);
        let mut request = self.http.post(url).bearer_auth(&self.config.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        match request.send().await {
            Ok(response) if response.status().is_success() => Sent::Taken,
            Ok(response) => Sent::Refused(format!("the server answers {}", response.status())),
            Err(error) => Sent::Refused(without_url(error)),
        }
    }
}

/// An address may hold a password.
fn without_url(error: reqwest::Error) -> String {
    error.without_url().to_string()
}
