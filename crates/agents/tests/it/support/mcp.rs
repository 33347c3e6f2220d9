//! A real MCP server with tools named as ours, which remembers what it was asked.

use std::sync::{Arc, Mutex};

use agents::acp::McpEndpoint;
use axum::{
    extract::{Request, State},
    http::{StatusCode, header::AUTHORIZATION},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Value, json};

const BEARER: &str = "a-secret-token";

/// The server. It lives as long as its runtime.
pub(crate) struct Server {
    pub(crate) endpoint: McpEndpoint,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let calls = Arc::default();
        let tools = Tools {
            calls: Arc::clone(&calls),
        };
        let service = StreamableHttpService::new(
            move || Ok(tools.clone()),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        let router = axum::Router::new().nest_service("/mcp", service).layer(
            middleware::from_fn_with_state(format!("Bearer {BEARER}"), check_bearer),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        let endpoint = McpEndpoint {
            name: "kandev".to_owned(),
            url: format!("http://{address}/mcp"),
            bearer: BEARER.to_owned(),
        };
        Self { endpoint, calls }
    }

    /// The calls so far: tool and arguments.
    pub(crate) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().expect("no test panics here").clone()
    }
}

async fn check_bearer(State(expected): State<String>, request: Request, next: Next) -> Response {
    match request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
    {
        Some(value) if value == expected => next.run(request).await,
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

#[derive(Clone)]
struct Tools {
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"})
            .as_object()
            .cloned()
            .unwrap_or_default();
        let names = ["create_task_kandev", "message_task_kandev", "fail_kandev"];
        Ok(ListToolsResult::with_all_items(
            names
                .into_iter()
                .map(|name| Tool::new(name, "A tool.", schema.clone()))
                .collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        self.calls
            .lock()
            .expect("no test panics here")
            .push((request.name.to_string(), arguments.clone()));
        let result = match &*request.name {
            "create_task_kandev" => {
                CallToolResult::structured(json!({"id": "child-1", "title": arguments["title"]}))
            }
            "message_task_kandev" => CallToolResult::structured(
                json!({"task_id": arguments["task_id"], "status": "sent"}),
            ),
            _ => CallToolResult::error(vec![ContentBlock::text("This tool always fails.")]),
        };
        Ok(result.into())
    }
}
