//! What handlers take out of a request. Whatever does not fit is a refusal in our own words.

use super::schemas;
use crate::accounts::Signed;
use crate::error::ApiError;
use crate::schema;
use crate::state::AppState;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use board::Actor;
use bytes::Bytes;
use domain::error::{ErrorCode, Refusal};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::str::FromStr;

/// What a handler answers with.
pub(super) type Reply<T> = Result<axum::Json<T>, ApiError>;

/// Who calls the API.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(pub(super) Actor);

impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    /// Whom the gate has let in.
    async fn from_request_parts(parts: &mut Parts, _state: &AppState) -> Result<Self, ApiError> {
        match parts.extensions.get::<Signed>() {
            Some(Signed(actor)) => Ok(Self(*actor)),
            None => Err(Refusal::unauthorized("sign in first").into()),
        }
    }
}

/// An id in the address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id<T>(pub(super) T);

impl<T: FromStr<Err = Refusal> + Send> FromRequestParts<AppState> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let axum::extract::Path(text) =
            axum::extract::Path::<String>::from_request_parts(parts, state)
                .await
                .map_err(|_| Refusal::validation("the id in the address cannot be read"))?;
        Ok(Self(text.parse()?))
    }
}

/// Two ids in the address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ids<A, B>(pub(super) A, pub(super) B);

impl<A, B> FromRequestParts<AppState> for Ids<A, B>
where
    A: FromStr<Err = Refusal> + Send,
    B: FromStr<Err = Refusal> + Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let axum::extract::Path((first, second)) =
            axum::extract::Path::<(String, String)>::from_request_parts(parts, state)
                .await
                .map_err(|_| Refusal::validation("the ids in the address cannot be read"))?;
        Ok(Self(first.parse()?, second.parse()?))
    }
}

/// What stands behind the question mark; unknown names are refused by the types that are asked for.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let axum::extract::Query(query) =
            axum::extract::Query::<T>::from_request_parts(parts, state)
                .await
                .map_err(|rejection| {
                    Refusal::validation(format!("query: {}", rejection.body_text()))
                })?;
        Ok(Self(query))
    }
}

/// A body that has a schema in the OpenAPI document.
pub trait Wire: DeserializeOwned {
    /// Its name there.
    const SCHEMA: &'static str;
}

/// A body that was checked against its schema.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

impl<T: Wire> FromRequest<AppState> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        let is_json = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .and_then(|kind| kind.split(';').next())
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        if !is_json {
            return Err(bad_request(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be JSON: send it with content-type: application/json",
            ));
        }
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(BytesRejection::into_response)?;
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| {
            bad_request(
                StatusCode::BAD_REQUEST,
                &format!(
                    "the body is not valid JSON (line {}, column {})",
                    error.line(),
                    error.column()
                ),
            )
        })?;
        read(value)
            .map(Self)
            .map_err(|refusal| ApiError(refusal).into_response())
    }
}

/// Checks and reads a body.
fn read<T: Wire>(value: Value) -> Result<T, Refusal> {
    schemas::body_schema(T::SCHEMA).check("body", &value)?;
    schema::read("body", value)
}

fn bad_request(status: StatusCode, message: &str) -> Response {
    let mut response = ApiError(Refusal {
        code: ErrorCode::BadRequest,
        message: message.to_owned(),
        details: None,
    })
    .into_response();
    *response.status_mut() = status;
    response
}

/// Reads an id of a query parameter, naming the parameter when it is not one.
pub(super) fn id<T: FromStr<Err = Refusal>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    domain::ids::parse_uuid(name, text)?;
    text.parse().map(Some)
}
