//! Who gets past the door (design 7): one place that judges every request, so that a route that nobody thought of is closed.
//!
//! Where nobody has to sign in ([`crate::accounts`]), all is the operator's. Otherwise a request passes that is signed in, that goes
//! to what anybody may have, or that shows a key to routes which look at keys themselves. Everything else is sent to the page
//! for signing in, or refused.

use super::envelope::REQUEST_ID;
use super::{API, jobs, sign_in};
use crate::accounts::{self, Signed};
use crate::error::{ApiError, status_of};
use crate::mcp;
use crate::state::AppState;
use app::error::AppError;
use axum::Json;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use board::Actor;
use domain::error::Refusal;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, Method};
use tower_sessions::Session;

/// Where the calls of our pages come in; they have an error of their own shape.
const PAGE_CALLS: &str = "/api/page/";

/// What a path is, before anybody is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// Anybody's.
    Open,
    /// Judged by the route itself when a key is shown.
    Keyed,
    /// The operator's: everything else.
    Operators,
}

fn ground(path: &str, headers: &HeaderMap) -> Ground {
    let below = |prefix: &str| path.starts_with(prefix);
    let file = below("/pkg/") || matches!(path, "/favicon.svg" | "/favicon.ico" | "/robots.txt");
    if file
        || matches!(path, "/healthz" | "/readyz" | "/metrics" | mcp::PATH)
        || matches!(path, sign_in::PAGE | sign_in::OUT)
        || below("/.well-known/")
    {
        Ground::Open
    } else if (below("/api/ai/") || below("/api/gateway/")) && headers.contains_key(AUTHORIZATION) {
        Ground::Keyed
    } else {
        Ground::Operators
    }
}

/// Lets a request in, or not.
pub(super) async fn check(
    State(app): State<AppState>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let ground = ground(request.uri().path(), request.headers());
    if matches!(ground, Ground::Open | Ground::Keyed) {
        return next.run(request).await;
    }
    match admitted(&app, &session).await {
        Ok(true) => {
            request.extensions_mut().insert(Signed(Actor::Operator));
            next.run(request).await
        }
        Ok(false) => turned_away(&request),
        Err(refusal) => ApiError(refusal).into_response(),
    }
}

async fn admitted(app: &AppState, session: &Session) -> Result<bool, Refusal> {
    let required = app
        .accounts
        .required()
        .await
        .map_err(crate::error::refusal_of)?;
    Ok(!required || accounts::operator_of(session).await?.is_some())
}

/// A reader is shown the way, a program is told.
fn turned_away(request: &Request) -> Response {
    let path = request.uri().path();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if reads && !path.starts_with("/api/") && wants_page(request.headers()) {
        let whole = request
            .uri()
            .path_and_query()
            .map_or(path, |whole| whole.as_str());
        return Redirect::to(&sign_in::address(whole)).into_response();
    }
    let refusal = Refusal::unauthorized("sign in first");
    if path.starts_with(PAGE_CALLS) {
        let id = request.headers().get(REQUEST_ID);
        let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
        let status = status_of(&refusal);
        return (status, Json(AppError::refused(refusal, id))).into_response();
    }
    if path.starts_with("/api/") && !path.starts_with(&format!("{API}/")) {
        return jobs::unauthorized();
    }
    ApiError(refusal).into_response()
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_none_or(|accept| {
        accept
            .to_str()
            .is_ok_and(|accept| accept.contains("text/html") || accept.contains("*/*"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn what_nobody_thought_of_is_the_operators() {
        let none = HeaderMap::new();
        for path in [
            "/",
            "/tasks/1",
            "/api/v1/tasks",
            "/api/ai/jobs",
            "/api/unknown",
            "/pkgs",
            "/mcp/x",
            "/healthz/x",
            "/sign-in/x",
        ] {
            assert_eq!(ground(path, &none), Ground::Operators, "{path}");
        }
        for path in [
            "/healthz",
            "/mcp",
            "/pkg/flightdeck.css",
            "/sign-in",
            "/sign-out",
            "/.well-known/x",
        ] {
            assert_eq!(ground(path, &none), Ground::Open, "{path}");
        }
        let mut keyed = HeaderMap::new();
        keyed.insert(AUTHORIZATION, HeaderValue::from_static("Bearer x"));
        assert_eq!(ground("/api/ai/jobs", &keyed), Ground::Keyed);
        assert_eq!(ground("/api/v1/tasks", &keyed), Ground::Operators);
        assert_eq!(ground("/api/page/x", &keyed), Ground::Operators);
    }
}
