//! The request's id and the one shape of errors: `{"error": {code, message, details?, request_id}}`.
//!
//! Whatever goes wrong below `/api/v1` and beside it comes out in that shape: refusals, unknown addresses, methods that an
//! address does not take, bodies that are too large, panics. Pages, server functions and the MCP route have shapes of their own.

use crate::error::Refused;
use axum::Json;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::error::{ErrorBody, ErrorCode, Refusal};
use domain::ids::EffectId;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::json;
use std::any::Any;
use tracing::Instrument;

/// The header with the request's id: on the way in for handlers, on the way out for the caller.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives each request its id and a log span, and each error its body.
pub(super) async fn wrap(mut request: Request, next: Next) -> Response {
    // Ours always: one from outside could repeat, or carry what does not belong into a log.
    let id = EffectId::new().uuid().simple().to_string();
    let header = HeaderValue::from_str(&id).ok();
    if let Some(header) = &header {
        request.headers_mut().insert(REQUEST_ID, header.clone());
    }
    let span = tracing::info_span!("request", id = %id, method = %request.method(), path = request.uri().path());
    let shaped = is_shaped(request.uri().path());
    let mut response = next.run(request).instrument(span).await;
    if let Some(Refused(refusal)) = response.extensions_mut().remove::<Refused>() {
        response = with_body(response, refusal, &id);
    } else if shaped && is_bare_error(&response) {
        let refusal = refusal_for(&response);
        response = with_body(response, refusal, &id);
    }
    if let Some(header) = header {
        response.headers_mut().insert(REQUEST_ID, header);
    }
    response
}

/// The answer to a handler that panicked. The text stays in the log.
#[expect(clippy::needless_pass_by_value, reason = "the layer's signature")]
pub(super) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!(panic = text, "a handler panicked");
    let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
    response.extensions_mut().insert(Refused(internal()));
    response
}

fn internal() -> Refusal {
    Refusal {
        code: ErrorCode::Internal,
        message: "something went wrong on the server: try again, and if it stays, look in the server's log for the request id"
            .to_owned(),
        details: None,
    }
}

fn is_shaped(path: &str) -> bool {
    path.starts_with("/api/v1") || path.starts_with("/.well-known/")
}

/// An error that somebody else wrote: axum, or a layer.
fn is_bare_error(response: &Response) -> bool {
    let status = response.status();
    let json = response
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    (status.is_client_error() || status.is_server_error()) && !json
}

fn refusal_for(response: &Response) -> Refusal {
    let (code, message) = match response.status() {
        StatusCode::NOT_FOUND => (
            ErrorCode::NotFound,
            "there is nothing at this address".to_owned(),
        ),
        StatusCode::METHOD_NOT_ALLOWED => (
            ErrorCode::BadRequest,
            "this address does not take that method: see the answer's Allow header for those it takes"
                .to_owned(),
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            ErrorCode::BadRequest,
            "the body is larger than 1 MiB: put long text into a file and name its path".to_owned(),
        ),
        status if status.is_client_error() => (
            ErrorCode::BadRequest,
            "the request cannot be read".to_owned(),
        ),
        _ => return internal(),
    };
    Refusal {
        code,
        message,
        details: None,
    }
}

/// The same status and headers with our body.
fn with_body(response: Response, refusal: Refusal, id: &str) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(http::header::CONTENT_LENGTH);
    parts.headers.remove(CONTENT_TYPE);
    let body = Json(json!({"error": ErrorBody::from_refusal(refusal, id)})).into_response();
    let mut shaped = Response::from_parts(parts, body.into_body());
    shaped
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    shaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    async fn panics() {
        panic!("s3cret of the inside");
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_whose_text_stays_inside() {
        let router = Router::new()
            .route("/api/v1/panics", get(panics))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn(wrap));
        let request = Request::get("/api/v1/panics").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        let id = response.headers()[REQUEST_ID].to_str().unwrap().to_owned();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(!text.contains("s3cret"), "{text}");
        let body: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(body["error"]["code"], "INTERNAL_ERROR");
        assert_eq!(body["error"]["request_id"], id);
    }
}
