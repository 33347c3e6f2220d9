//! A client of the tools: the official SDK over real HTTP.

use super::{TestApp, soon};
use domain::ids::TaskId;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ProgressNotificationParam,
    ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::sync::watch;

/// A connected client.
pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Handler>,
    changes: watch::Receiver<usize>,
    progress: watch::Receiver<usize>,
}

/// Counts what it is told.
pub(crate) struct Handler {
    changes: watch::Sender<usize>,
    progress: watch::Sender<usize>,
}

impl ClientHandler for Handler {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.send_modify(|count| *count += 1);
    }

    async fn on_progress(
        &self,
        _params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.send_modify(|count| *count += 1);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }
}

impl Client {
    /// Connects as clients of the revisions with sessions do.
    pub(crate) async fn connect(app: &TestApp, token: &str) -> Self {
        let (handler, changes, progress) = handler();
        let service = soon(handler.serve(transport(app, token))).await.unwrap();
        Self {
            service,
            changes,
            progress,
        }
    }

    /// Connects as clients of the newest revision do, without a session.
    pub(crate) async fn discover(app: &TestApp, token: &str) -> Self {
        let (handler, changes, progress) = handler();
        let lifecycle = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let service = soon(handler.serve_with_lifecycle(transport(app, token), lifecycle))
            .await
            .unwrap();
        Self {
            service,
            changes,
            progress,
        }
    }

    /// The tools as listed now.
    pub(crate) async fn tools(&self) -> Vec<Tool> {
        soon(self.service.peer().list_all_tools()).await.unwrap()
    }

    /// Their names.
    pub(crate) async fn tool_names(&self) -> Vec<String> {
        self.tools()
            .await
            .iter()
            .map(|tool| tool.name.to_string())
            .collect()
    }

    /// Calls a tool; a protocol error is the caller's to look at.
    pub(crate) async fn try_call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        self.service.peer().call_tool(params).await
    }

    /// Calls a tool that does what it is asked, and gives its data.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = soon(self.try_call(tool, arguments)).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{tool}: {}", text(&result));
        let value = result.structured_content.clone().expect("data");
        // Models read the text, programs the data: they say the same.
        assert_eq!(
            serde_json::from_str::<Value>(&text(&result)).unwrap(),
            value
        );
        value
    }

    /// Calls a tool that refuses, and gives its text.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = soon(self.try_call(tool, arguments)).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{tool}: {}", text(&result));
        let text = text(&result);
        let error = &result.structured_content.as_ref().unwrap()["error"];
        let when = error["details"]["retry_after_ms"].as_i64();
        let when = when.map_or_else(String::new, |ms| format!(" (retry_after_ms: {ms})"));
        assert_eq!(
            text,
            format!(
                "{}: {}{when}",
                error["code"].as_str().unwrap(),
                error["message"].as_str().unwrap()
            )
        );
        text
    }

    /// Waits until it was told `count` times that its list changed.
    pub(crate) async fn told_of_changes(&mut self, count: usize) {
        soon(self.changes.wait_for(|told| *told >= count))
            .await
            .unwrap();
    }

    /// How often it was told that its list changed.
    pub(crate) fn changes(&self) -> usize {
        *self.changes.borrow()
    }

    /// Waits until it was told `count` times that a call still waits.
    pub(crate) async fn told_of_progress(&mut self, count: usize) {
        soon(self.progress.wait_for(|told| *told >= count))
            .await
            .unwrap();
    }

    /// Answers a child's question.
    pub(crate) async fn answer(&self, child: TaskId, question: &str, words: &str) -> Value {
        self.call(
            "message_task_kandev",
            json!({"task_id": child, "reply_to_question_id": question, "prompt": words}),
        )
        .await
    }
}

/// The text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|text| text.text.as_str())
        .collect();
    texts.join("\n")
}

fn handler() -> (Handler, watch::Receiver<usize>, watch::Receiver<usize>) {
    let (changes, changes_seen) = watch::channel(0);
    let (progress, progress_seen) = watch::channel(0);
    (Handler { changes, progress }, changes_seen, progress_seen)
}

fn transport(app: &TestApp, token: &str) -> StreamableHttpClientTransport<reqwest::Client> {
    StreamableHttpClientTransport::from_config(
        StreamableHttpClientTransportConfig::with_uri(app.url(server::mcp::PATH))
            .auth_header(token),
    )
}
