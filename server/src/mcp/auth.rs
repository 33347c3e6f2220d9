//! Whose bearer token it is.

use crate::error::ApiError;
use axum::response::{IntoResponse, Response};
use board::{Actor, Board};
use domain::error::Refusal;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};

/// The actor that a request's token speaks for, or the answer for a request without a good one.
///
/// `metadata`: where a client can read how it is let in.
pub(super) async fn identify(
    board: &Board,
    headers: &HeaderMap,
    metadata: &str,
) -> Result<Actor, Response> {
    let Some(token) = bearer(headers) else {
        return Err(challenge(
            "a bearer token is needed: make one with `flightdeck token create --name NAME` and send it as \"Authorization: Bearer …\"",
            &format!("Bearer realm=\"flightdeck\", resource_metadata=\"{metadata}\""),
        ));
    };
    match board.authenticate(token).await {
        Ok(Some(actor)) => Ok(actor),
        Ok(None) => Err(challenge(
            "the bearer token is not known, or was revoked because its session ended",
            &format!(
                "Bearer realm=\"flightdeck\", error=\"invalid_token\", resource_metadata=\"{metadata}\""
            ),
        )),
        Err(error) => Err(ApiError::from(error).into_response()),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    // Two of them: whoever is in between may believe the other one.
    let (Some(value), None) = (given.next(), given.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty()).then(|| token.trim())
}

fn challenge(message: &str, header: &str) -> Response {
    let mut response = ApiError(Refusal::unauthorized(message)).into_response();
    if let Ok(header) = HeaderValue::from_str(header) {
        response.headers_mut().insert(WWW_AUTHENTICATE, header);
    }
    response
}
