//! The MCP servers of one conversation, and real calls to their tools.

use std::collections::HashMap;

use agent_client_protocol::v1::schema::{McpServer, McpServerHttp};
use http::{HeaderName, HeaderValue};
use rmcp::{
    Peer, RoleClient, ServiceExt,
    model::{CallToolRequestParams, ClientConfig, ContentBlock, Tool},
    service::RunningService,
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::Value;
use tokio::sync::Mutex;

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The result: structured if the server sends that, else the text read as JSON, else the text.
    pub value: Value,
    /// The text to show.
    pub text: String,
    /// The tool said that it failed, or there was no tool to ask.
    pub failed: bool,
}

/// The HTTP servers that the client handed over. Connections are made when first needed.
pub(crate) struct McpServers {
    servers: Vec<McpServerHttp>,
    connections: Mutex<HashMap<String, RunningService<RoleClient, ClientConfig>>>,
}

impl McpServers {
    pub(crate) fn new(servers: Vec<McpServer>) -> Self {
        let http = |server| {
            if let McpServer::Http(server) = server {
                Some(server)
            } else {
                None
            }
        };
        Self {
            servers: servers.into_iter().filter_map(http).collect(),
            connections: Mutex::default(),
        }
    }

    /// Calls a tool. That it cannot be called is an outcome too: a script goes on and may look at it.
    pub(crate) async fn call(&self, server: &str, tool: &str, arguments: &Value) -> Outcome {
        match self.try_call(server, tool, arguments).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let text = format!("{server}:{tool} could not be called: {error:#}");
                Outcome {
                    value: serde_json::json!({"error": text}),
                    text,
                    failed: true,
                }
            }
        }
    }

    async fn try_call(
        &self,
        server: &str,
        tool: &str,
        arguments: &Value,
    ) -> anyhow::Result<Outcome> {
        let peer = self.peer(server).await?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let result = peer
            .call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments))
            .await?;
        let text: Vec<&str> = result.content.iter().filter_map(text_of).collect();
        let text = text.join("\n");
        let value = match result.structured_content {
            Some(value) => value,
            None => serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone())),
        };
        Ok(Outcome {
            value,
            text,
            failed: result.is_error == Some(true),
        })
    }

    /// Names of the servers, the first of two with the same name only.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for server in &self.servers {
            if !names.contains(&server.name) {
                names.push(server.name.clone());
            }
        }
        names
    }

    /// The tools of a server, all pages of them.
    pub(crate) async fn tools(&self, server: &str) -> anyhow::Result<Vec<Tool>> {
        Ok(self.peer(server).await?.list_all_tools().await?)
    }

    async fn peer(&self, server: &str) -> anyhow::Result<Peer<RoleClient>> {
        let mut connections = self.connections.lock().await;
        if let Some(connection) = connections.get(server)
            && !connection.is_closed()
        {
            return Ok(connection.peer().clone());
        }
        let connection = self.connect(server).await?;
        let peer = connection.peer().clone();
        connections.insert(server.to_owned(), connection);
        Ok(peer)
    }

    async fn connect(
        &self,
        name: &str,
    ) -> anyhow::Result<RunningService<RoleClient, ClientConfig>> {
        // The first of two with the same name wins, as with other agents.
        let server = self.servers.iter().find(|server| server.name == name);
        let server =
            server.ok_or_else(|| anyhow::anyhow!("there is no MCP server {name} over HTTP"))?;
        let mut config = StreamableHttpClientTransportConfig::with_uri(server.url.clone());
        let mut headers = HashMap::new();
        for header in &server.headers {
            let bearer = header.value.strip_prefix("Bearer ");
            if let (true, Some(token)) = (header.name.eq_ignore_ascii_case("authorization"), bearer)
            {
                config = config.auth_header(token);
            } else {
                headers.insert(
                    header.name.parse::<HeaderName>()?,
                    HeaderValue::from_str(&header.value)?,
                );
            }
        }
        let transport = StreamableHttpClientTransport::from_config(config.custom_headers(headers));
        Ok(ClientConfig::default().serve(transport).await?)
    }
}

fn text_of(content: &ContentBlock) -> Option<&str> {
    content.as_text().map(|text| text.text.as_str())
}
