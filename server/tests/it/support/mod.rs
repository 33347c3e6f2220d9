//! The smallest world: a server, an operator's client that checks every answer against the OpenAPI document, agents.

pub(crate) mod agent;
pub(crate) mod chance;
pub(crate) mod client;
pub(crate) mod discord;
pub(crate) mod feed;
pub(crate) mod providers;
pub(crate) mod redact;
mod stand_in;

use board::{Actor, Board};
use domain::ids::TaskId;
use http::Method;
use serde_json::{Value, json};
use server::config::Config;
use server::serve::{Server, Variation};
use std::time::Duration;
use store::testing::TestDb;
use tempfile::TempDir;

/// Longer than anything here takes, on a machine that is busy with other tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A running server and its operator.
pub(crate) struct TestApp {
    server: Server,
    http: reqwest::Client,
    // Below the server, so that it goes last.
    pub(crate) data: TempDir,
}

/// An answer of the API.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) json: Value,
}

impl TestApp {
    /// A server without the runtime.
    pub(crate) async fn new() -> Self {
        Self::with(Variation::default()).await
    }

    /// As [`Self::new`], with something otherwise.
    pub(crate) async fn with(vary: Variation) -> Self {
        Self::configured(vary, |_config| {}).await
    }

    /// As [`Self::new`], on a certain database.
    pub(crate) async fn on(db: &TestDb) -> Self {
        Self::on_with(db, Variation::default()).await
    }

    /// As [`Self::with`], on a certain database.
    pub(crate) async fn on_with(db: &TestDb, vary: Variation) -> Self {
        Self::on_configured(db, vary, |_config| {}).await
    }

    /// As [`Self::configured`], on a certain database.
    pub(crate) async fn on_configured(
        db: &TestDb,
        vary: Variation,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        Self::configured(vary, |config| {
            config.database_url = Some(db.url().to_owned());
            change(config);
        })
        .await
    }

    /// As [`Self::with`], with other settings.
    pub(crate) async fn configured(vary: Variation, change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::Builder::new()
            .prefix("flightdeck-it-")
            .tempdir()
            .unwrap();
        let mut config = Config::for_data_dir(data.path());
        change(&mut config);
        let vary = Variation {
            without_runtime: true,
            ..vary
        };
        let server = Server::start_with(config, vary).await.unwrap();
        Self {
            server,
            http: reqwest::Client::new(),
            data,
        }
    }

    pub(crate) fn board(&self) -> &Board {
        self.server.board()
    }

    pub(crate) fn mcp(&self) -> &server::mcp::Mcp {
        &self.server.state().mcp
    }

    pub(crate) fn feed(&self) -> &server::feed::Feed {
        &self.server.state().feed
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    /// A request as no browser sends it, to be changed and sent.
    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, self.url(path))
    }

    /// Stops the server in good order.
    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }

    /// A call of the API by the operator; its answer must be as the document says.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let path = format!("{}{path}", server::http::API);
        let mut request = self.request(method.clone(), &path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let reply = Reply::read(request).await;
        crate::openapi::check(&method, &path, &reply);
        reply
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.call(Method::DELETE, path, None).await
    }

    /// Makes a task through the API and gives it.
    pub(crate) async fn task(&self, body: Value) -> Value {
        let reply = self.post("/tasks", body).await;
        assert_eq!(reply.status, 201, "{}", reply.json);
        reply.json
    }

    /// A task as the API shows it.
    pub(crate) async fn card(&self, task: TaskId) -> Value {
        self.get(&format!("/tasks/{task}")).await.json
    }

    /// A task with a prompt, and its id.
    pub(crate) async fn started_task(&self, title: &str) -> TaskId {
        let task = self
            .task(json!({"title": title, "description": "Do it."}))
            .await;
        id(&task["id"])
    }

    /// An autopilot subtask with a prompt, and its id.
    pub(crate) async fn autopilot_child(&self, parent: TaskId) -> TaskId {
        let task = self
            .task(json!({"title": "Child", "description": "Do it.", "parent_id": parent, "autopilot": true}))
            .await;
        id(&task["id"])
    }

    /// An access token of an outside client.
    pub(crate) async fn access_token(&self) -> String {
        self.board()
            .token_create(&Actor::Operator, "a test")
            .await
            .unwrap()
            .token
    }

    /// Waits until the answer to a `GET` is as wished.
    pub(crate) async fn until(&self, path: &str, wished: impl Fn(&Value) -> bool) -> Value {
        let mut changes = self.board().signals().subscribe(board::Topic::Events);
        let wait = async {
            loop {
                let reply = self.get(path).await;
                if wished(&reply.json) {
                    return reply.json;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(DEADLINE, wait).await {
            Ok(json) => json,
            Err(_) => panic!("{path} never was as wished: {}", self.get(path).await.json),
        }
    }
}

impl Reply {
    pub(crate) async fn read(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().await.unwrap();
        Self {
            status,
            headers,
            json: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        }
    }

    /// The code of an error; the shape of the whole is checked with each call.
    pub(crate) fn code(&self) -> &str {
        self.json["error"]["code"]
            .as_str()
            .unwrap_or_else(|| panic!("no error: {} {}", self.status, self.json))
    }

    /// The sentence of an error.
    pub(crate) fn message(&self) -> &str {
        self.json["error"]["message"].as_str().unwrap_or_default()
    }
}

/// An id out of JSON.
#[track_caller]
pub(crate) fn id<T: std::str::FromStr<Err = domain::error::Refusal>>(value: &Value) -> T {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no id: {value}"))
        .parse()
        .unwrap()
}

/// Waits for something that must come.
#[track_caller]
pub(crate) fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let place = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(DEADLINE, future).await {
            Ok(value) => value,
            Err(_) => panic!("it did not come in time, at {place}"),
        }
    }
}
