//! What the MCP route says of itself to clients that want to know how to be let in (RFC 9728).
//!
//! Tokens are made by an operator, so no authorization server is named: a client that looks for one learns that there is none.

use crate::mcp;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde_json::{Value, json};

/// Where clients look first.
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

pub(super) async fn show(State(app): State<AppState>, headers: HeaderMap) -> Json<Value> {
    let base = app.names.base(&headers);
    Json(json!({
        "resource": format!("{base}{}", mcp::PATH),
        "resource_name": "Flightdeck",
        "bearer_methods_supported": ["header"],
    }))
}
