//! A Flightdeck of one's own: a free port, an empty data folder, the reporting agent; gone with the value.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::RequestBuilder;
use rmcp::model::{CallToolRequestParams, ClientConfig};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixDatagram;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Nothing here takes this long.
const LIMIT: Duration = Duration::from_secs(120);

/// The running server.
pub(crate) struct Flightdeck {
    url: String,
    client: reqwest::Client,
    reports: UnixDatagram,
    profile: String,
    child: Child,
}

/// A task whose agent has ended its first turn.
pub(crate) struct Worker {
    pub(crate) task: String,
    pub(crate) session: String,
    tools: Value,
}

/// A prompt that reached an agent.
pub(crate) struct Report {
    pub(crate) prompt: String,
    /// Monotonic nanoseconds.
    pub(crate) at: i64,
    worker: Worker,
}

impl Flightdeck {
    pub(crate) async fn start(binary: &Path, folder: &Path) -> Result<Self> {
        Self::start_with(binary, folder, &[]).await
    }

    /// With settings of its own.
    pub(crate) async fn start_with(
        binary: &Path,
        folder: &Path,
        settings: &[String],
    ) -> Result<Self> {
        let socket = folder.join("reports.sock");
        let reports = UnixDatagram::bind(&socket)?;
        let mut child = Command::new(binary)
            .args(["serve", "--addr", "127.0.0.1:0", "--data-dir"])
            .arg(folder.join("data"))
            .args(settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        let mut lines = BufReader::new(child.stdout.take().context("standard output")?).lines();
        let url = timeout(LIMIT, async {
            while let Some(line) = lines.next_line().await? {
                if let Some(start) = line.find("http://") {
                    return Ok(line[start..].trim().trim_end_matches('/').to_owned());
                }
            }
            bail!("the server ended before it said where it listens")
        })
        .await??;
        // What it says later must have somewhere to go.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let mut deck = Self {
            url,
            client: reqwest::Client::new(),
            reports,
            profile: String::new(),
            child,
        };
        let exe = std::env::current_exe()?;
        let agent = json!({"name": "Reporter", "command": exe, "args": ["agent", "--report", socket], "env": {}});
        let agent = deck.post("/agents", &agent).await?;
        deck.profile = text(&agent["profiles"][0]["id"])?;
        Ok(deck)
    }

    /// Makes and starts a task, and waits until its first turn is over.
    pub(crate) async fn worker(&self, title: &str) -> Result<Worker> {
        let task =
            json!({"title": title, "description": "Begin.", "agent_profile_id": self.profile});
        let made = self.post("/tasks", &task).await?;
        let worker = self.report().await?.worker;
        if text(&made["id"])? != worker.task {
            bail!("another task than the one that was started has reported");
        }
        self.until_idle(&worker).await?;
        Ok(worker)
    }

    /// The next prompt that reached an agent.
    pub(crate) async fn report(&self) -> Result<Report> {
        let mut buffer = vec![0; 8_192];
        let length = timeout(LIMIT, self.reports.recv(&mut buffer))
            .await
            .context("no agent was prompted")??;
        let said: Value = serde_json::from_slice(&buffer[..length])?;
        Ok(Report {
            prompt: text(&said["prompt"])?,
            at: said["at"].as_i64().context("a report has a time")?,
            worker: Worker {
                task: text(&said["task"])?,
                session: text(&said["session"])?,
                tools: said["tools"].clone(),
            },
        })
    }

    /// Waits until a session's turn is over.
    pub(crate) async fn until_idle(&self, worker: &Worker) -> Result<()> {
        timeout(LIMIT, async {
            loop {
                let session = self
                    .get(&format!("/task-sessions/{}", worker.session))
                    .await?;
                if session["state"] == "WAITING_FOR_INPUT" {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await
        .context("a turn did not end")?
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The process, for what the system says of it.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// A token of an outside client.
    pub(crate) async fn token(&self, name: &str) -> Result<String> {
        let made = self.post("/access-tokens", &json!({"name": name})).await?;
        text(&made["token"])
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let answer = self.client.get(self.api(path)).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.send(self.client.post(self.api(path)), path, body)
            .await
    }

    async fn send(&self, request: RequestBuilder, path: &str, body: &Value) -> Result<Value> {
        let request = request
            // What changes something must come from a page of the server's own; this stands for one.
            .header("origin", &self.url)
            .json(body);
        let answer = request.send().await?;
        let status = answer.status();
        let body = answer.text().await?;
        if !status.is_success() {
            bail!("{path}: {status} {body}");
        }
        Ok(serde_json::from_str(&body)?)
    }

    fn api(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.url)
    }
}

impl Drop for Flightdeck {
    fn drop(&mut self) {
        // The guard of each agent sees the server go and ends its agent.
        let _ = self.child.start_kill();
    }
}

/// A connection to the tools of a worker's session.
pub(crate) struct Tools(RunningService<RoleClient, ClientConfig>);

impl Tools {
    pub(crate) async fn of(worker: &Worker) -> Result<Self> {
        let config = StreamableHttpClientTransportConfig::with_uri(text(&worker.tools["url"])?)
            .auth_header(text(&worker.tools["token"])?)
            .custom_headers(HashMap::new());
        let transport = StreamableHttpClientTransport::from_config(config);
        Ok(Self(ClientConfig::default().serve(transport).await?))
    }

    /// Writes to another task and gives the tool's answer.
    pub(crate) async fn message(&self, to: &Worker, words: &str) -> Result<Value> {
        let arguments = json!({"task_id": to.task, "prompt": words});
        let call = CallToolRequestParams::new("message_task_kandev".to_owned())
            .with_arguments(arguments.as_object().cloned().unwrap_or_default());
        let result = self.0.peer().call_tool(call).await?;
        let said: Vec<&str> = result
            .content
            .iter()
            .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
            .collect();
        let said = said.join("\n");
        if result.is_error == Some(true) {
            bail!("message_task_kandev: {said}");
        }
        Ok(serde_json::from_str(&said)?)
    }
}

fn text(value: &Value) -> Result<String> {
    value
        .as_str()
        .map(str::to_owned)
        .with_context(|| format!("expected a text, got {value}"))
}
