//! Who calls a job endpoint.

use super::JobError;
use crate::state::AppState;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use subtle::ConstantTimeEq;

/// A service that showed a key of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service;

/// Somebody who may look at jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    /// With a key.
    Service,
    /// The person at this machine, from our own page.
    Operator,
}

impl Service {
    /// An empty key, ours or theirs, lets nobody in.
    pub(super) fn of(app: &AppState, headers: &HeaderMap) -> Result<Self, JobError> {
        let Some(given) = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
        else {
            return Err(unauthorized());
        };
        let (scheme, key) = given.split_once(' ').unwrap_or((given, ""));
        let key = key.trim();
        let settings = app.jobs.settings();
        let known = if scheme.eq_ignore_ascii_case("bearer") {
            settings.internal_keys.iter().any(|ours| same(ours, key))
        } else if scheme.eq_ignore_ascii_case("bot") {
            settings
                .bot_token
                .as_deref()
                .is_some_and(|ours| same(ours, key))
        } else {
            false
        };
        if known { Ok(Self) } else { Err(unauthorized()) }
    }
}

impl Party {
    /// A key that is wrong is refused, also from our page.
    pub(super) fn of(app: &AppState, headers: &HeaderMap) -> Result<Self, JobError> {
        if headers.contains_key(AUTHORIZATION) {
            return Service::of(app, headers).map(|_| Self::Service);
        }
        let ours = headers
            .get("sec-fetch-site")
            .is_some_and(|site| matches!(site.as_bytes(), b"same-origin" | b"none"));
        if ours {
            Ok(Self::Operator)
        } else {
            Err(unauthorized())
        }
    }
}

/// In a time that does not depend on where they differ.
fn same(ours: &str, theirs: &str) -> bool {
    !ours.is_empty() && bool::from(ours.as_bytes().ct_eq(theirs.as_bytes()))
}

pub(super) fn unauthorized() -> JobError {
    JobError(StatusCode::UNAUTHORIZED, json!({"error": "Unauthorized"}))
}
