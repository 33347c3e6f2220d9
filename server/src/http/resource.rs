//! What the MCP route says of itself to clients that want to know how to be let in (RFC 9728).
//!
//! Tokens are made by an operator, so no authorization server is named: a client that looks for one learns that there is none.

use super::security::Names;
use crate::mcp;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use http::header::HOST;
use serde_json::{Value, json};

/// Where clients look first.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";
/// Where they look for a resource that has a path.
pub(super) const METADATA_OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";

pub(super) async fn show(State(app): State<AppState>, headers: HeaderMap) -> Json<Value> {
    let base = base(&app.names, &headers);
    Json(json!({
        "resource": format!("{base}{}", mcp::PATH),
        "resource_name": "Flightdeck",
        "bearer_methods_supported": ["header"],
    }))
}

/// The address of the metadata, for the challenge.
pub(crate) fn metadata_address(names: &Names, headers: &HeaderMap) -> String {
    format!("{}{METADATA_OF_MCP}", base(names, headers))
}

/// How whoever asks reaches the server: by its public address, or else by the name that was asked for, which was judged before.
fn base(names: &Names, headers: &HeaderMap) -> String {
    if let Some(public) = &names.public {
        let scheme = if names.public_over_tls {
            "https"
        } else {
            "http"
        };
        return format!("{scheme}://{public}");
    }
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .filter(|host| {
            host.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
        })
        .unwrap_or("localhost");
    format!("http://{host}")
}
