//! Whose bearer token it is.

use crate::error::ApiError;
use crate::names::{METADATA_OF_MCP, Names};
use axum::response::{IntoResponse, Response};
use board::{Actor, Board};
use domain::error::Refusal;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};

/// The actor that a request's token speaks for, or the answer for a request without a good one.
///
/// A challenge says by `names` where a client can read how it is let in.
pub(super) async fn identify(
    board: &Board,
    names: &Names,
    headers: &HeaderMap,
) -> Result<Actor, Response> {
    let refused = |message: &str, error: &str| {
        let metadata = format!("{}{METADATA_OF_MCP}", names.base(headers));
        let header =
            format!("Bearer realm=\"flightdeck\",{error} resource_metadata=\"{metadata}\"");
        Err(challenge(message, &header))
    };
    let Some(token) = bearer(headers) else {
        return refused(
            "a bearer token is needed: make one with `flightdeck token create --name NAME` and send it as \"Authorization: Bearer …\"",
            "",
        );
    };
    match board.authenticate(token).await {
        Ok(Some(actor)) => Ok(actor),
        Ok(None) => refused(
            "the bearer token is not known, or was revoked because its session ended",
            " error=\"invalid_token\",",
        ),
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
