//! A real server process: started from the binary, spoken to over HTTP, killed for real, started again on the same data.

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use store::testing::TestDb;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// Longest wait for anything.
const DEADLINE: Duration = Duration::from_secs(60);

/// Data that outlives the server process.
pub(crate) struct Data {
    dir: tempfile::TempDir,
    db: TestDb,
}

impl Data {
    /// Fresh data on the database given.
    pub(crate) fn new(db: TestDb) -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            db,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The ids of all prompts that demo agents have seen, in order, repeats included.
    pub(crate) fn prompts_seen(&self) -> Vec<String> {
        let log = self.dir.path().join("demo-agent/prompts.log");
        std::fs::read_to_string(log)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// A running worker of AI jobs.
pub(crate) struct Worker(Child);

impl Worker {
    /// `kill -9`, and wait until it is gone.
    pub(crate) async fn kill(mut self) {
        self.0.kill().await.expect("killed");
    }
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    base: String,
    client: Client,
}

impl Server {
    pub(crate) async fn start(data: &Data) -> Self {
        Self::start_with(data, &[]).await
    }

    /// Starts with further settings, as environment variables.
    pub(crate) async fn start_with(data: &Data, settings: &[(&str, &str)]) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the server itself is under test")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_flightdeck"));
        command
            .args([
                "serve",
                "--addr",
                "127.0.0.1:0",
                "--database-url",
                data.db.url(),
                "--data-dir",
            ])
            .arg(data.path())
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(log_file(data)).expect("a log"))
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let base = timeout(DEADLINE, async {
            while let Some(line) = lines.next_line().await.expect("readable") {
                if let Some(base) = line.strip_prefix("listening on ") {
                    return base.to_owned();
                }
            }
            panic!(
                "the server ended before it listened: {}",
                std::fs::read_to_string(log_file(data)).unwrap_or_default()
            );
        })
        .await
        .expect("the server listens in time");
        Self {
            child,
            base,
            client: Client::new(),
        }
    }

    /// `kill -9`, and wait until it is gone.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    /// Starts a worker of this server's AI jobs.
    pub(crate) fn worker(&self, key: &str) -> Worker {
        #[expect(clippy::disallowed_methods, reason = "the worker itself is under test")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_flightdeck"));
        let child = command
            .args(["worker", "--api-base", &self.base])
            .env("AI_AUTOPILOT_INTERNAL_KEY", key)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the worker starts");
        Worker(child)
    }

    /// A request to the endpoints of AI jobs, with the internal key.
    pub(crate) async fn jobs(
        &self,
        key: &str,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        let mut request = self
            .client
            .request(method, format!("{}/api{path}", self.base))
            .bearer_auth(key)
            .timeout(DEADLINE);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("the server answers");
        let status = response.status();
        let text = response.text().await.expect("a body");
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The address of the tools.
    pub(crate) fn tools(&self) -> String {
        format!("{}/mcp", self.base)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(reqwest::Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "GET {path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(reqwest::Method::POST, path, Some(body)).await;
        assert!(status.is_success(), "POST {path}: {status} {answer}");
        answer
    }

    pub(crate) async fn call(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let mut request = self
            .client
            .request(method, format!("{}/api/v1{path}", self.base))
            .timeout(DEADLINE);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("the server answers");
        let status = response.status();
        let text = response.text().await.expect("a body");
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    /// The only workspace.
    pub(crate) async fn workspace(&self) -> String {
        text(&self.get("/workspaces").await["workspaces"][0]["id"])
    }

    /// Starts a task with a script for the demo agent; gives its id.
    pub(crate) async fn start_task(&self, title: &str, script: &str) -> String {
        let body = json!({"title": title, "description": script, "agent_profile_id": self.demo_profile().await});
        text(&self.post("/tasks", body).await["id"])
    }

    pub(crate) async fn demo_profile(&self) -> String {
        let agents = self.get("/agents").await;
        let demo = agents["agents"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|a| a["name"] == "Demo agent");
        text(&demo.expect("the demo agent is registered")["profiles"][0]["id"])
    }

    pub(crate) async fn task(&self, id: &str) -> Value {
        self.get(&format!("/tasks/{id}")).await
    }

    /// All tasks of the only workspace.
    pub(crate) async fn tasks(&self) -> Vec<Value> {
        let workspace = self.workspace().await;
        let list = self.get(&format!("/workspaces/{workspace}/tasks")).await;
        list["tasks"].as_array().expect("a list").clone()
    }

    /// The whole transcript of a task's primary session, oldest first; empty without a session.
    pub(crate) async fn transcript(&self, task: &str) -> Vec<Value> {
        let session = self.task(task).await["primary_session_id"].clone();
        let Some(session) = session.as_str() else {
            return Vec::new();
        };
        let mut messages: Vec<Value> = Vec::new();
        loop {
            let before = messages
                .first()
                .map(|m| format!("&before={}", text(&m["id"])))
                .unwrap_or_default();
            let page = self
                .get(&format!(
                    "/task-sessions/{session}/messages?limit=100{before}"
                ))
                .await;
            let mut older = page["messages"].as_array().expect("a list").clone();
            older.append(&mut messages);
            messages = older;
            if page["has_more"] != json!(true) {
                return messages;
            }
        }
    }

    /// Waits until a condition on what the API shows holds.
    pub(crate) async fn until<F, T>(&self, what: &str, mut condition: F) -> T
    where
        F: AsyncFnMut(&Self) -> Option<T>,
    {
        let give_up = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = condition(self).await {
                return found;
            }
            assert!(Instant::now() < give_up, "{what} did not happen in time");
            sleep(Duration::from_millis(25)).await;
        }
    }

    /// Waits until a task's primary session is in a state.
    pub(crate) async fn until_session(&self, task: &str, state: &str) {
        self.until(&format!("session of {task} {state}"), async |server| {
            (server.task(task).await["primary_session_state"] == state).then_some(())
        })
        .await;
    }

    /// The only child of a task, once there is one.
    pub(crate) async fn child_of(&self, parent: &str) -> String {
        self.until("a child", async |server| {
            let tasks = server.tasks().await;
            tasks
                .iter()
                .find(|t| t["parent_id"] == parent)
                .map(|t| text(&t["id"]))
        })
        .await
    }

    /// Waits until nothing runs and nothing waits, but for what a pending question holds.
    pub(crate) async fn until_quiet(&self) -> Vec<Value> {
        self.until("rest", async |server| {
            let tasks = server.tasks().await;
            let quiet = tasks.iter().all(|t| {
                let busy = matches!(
                    t["primary_session_state"].as_str(),
                    Some("STARTING" | "RUNNING" | "CREATED")
                );
                let waits = t["queued_prompt_count"] != 0 && t["task_pending_action"].is_null();
                !busy && !waits
            });
            quiet.then_some(tasks)
        })
        .await
    }
}

/// A string that must be one.
pub(crate) fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("a string, not {value}"))
        .to_owned()
}

fn log_file(data: &Data) -> PathBuf {
    data.path().join("server.log")
}

/// How often each item occurs.
pub(crate) fn counts<I: IntoIterator<Item = String>>(items: I) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_insert(0) += 1;
    }
    counts
}
