//! How a refusal leaves the server: the mapping to HTTP and the mapping to MCP, each in one place.
//!
//! Two texts: what a caller may read travels in the [`Refusal`]; what failed in storage goes to the log, once, here.

use axum::response::{IntoResponse, Response};
use board::BoardError;
use domain::error::Refusal;
use http::StatusCode;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

/// Why a request of the API was not carried out. `http::envelope` gives it its body, with the request's id.
#[derive(Debug)]
pub struct ApiError(pub Refusal);

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<BoardError> for ApiError {
    fn from(error: BoardError) -> Self {
        Self(refusal_of(error))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = status_of(&self.0);
        let mut response = status.into_response();
        response.extensions_mut().insert(Refused(self.0));
        response
    }
}

/// Travels in a response's extensions to where the body is written.
#[derive(Debug, Clone)]
pub(crate) struct Refused(pub(crate) Refusal);

/// The HTTP status of a refusal.
#[must_use]
pub fn status_of(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A refusal as the result of a tool: marked as an error, in words for a model, and once more as data.
#[must_use]
pub fn tool_error(refusal: &Refusal) -> CallToolResult {
    let mut error = json!({"code": refusal.code, "message": refusal.message});
    if let Some(details) = &refusal.details {
        error["details"] = details.clone();
    }
    // Many clients show a model the text alone: when it may try again is part of what it has to know.
    let when = refusal
        .details
        .as_ref()
        .and_then(|details| details["retry_after_ms"].as_i64());
    let when = when.map_or_else(String::new, |ms| format!(" (retry_after_ms: {ms})"));
    let mut result = CallToolResult::structured_error(json!({"error": error}));
    result.content = vec![ContentBlock::text(format!(
        "{}: {}{when}",
        refusal.code, refusal.message
    ))];
    result
}

/// What the caller may read of a board's error. A storage failure is logged with its causes, in the span of its request.
pub fn refusal_of(error: BoardError) -> Refusal {
    if let BoardError::Store(cause) = &error {
        let mut chain = cause.to_string();
        let mut source = std::error::Error::source(cause);
        while let Some(inner) = source {
            chain.push_str(&format!(": {inner}"));
            source = inner.source();
        }
        tracing::error!(error = %chain, "storage failed");
    }
    error.into_refusal()
}
