//! Everything that answers HTTP, put together.
//!
//! Routes are listed once, as data ([`route::Route`]); the router, the OpenAPI document and the coverage test are all made of
//! that list, so that no route can be missing from any of them.
//!
//! From the outside in, a request passes: request id and log span, error body ([`envelope`]), metrics, the checks of
//! [`security`], then its route; an answer to a change waits until what it speaks of is durable.

mod access_tokens;
mod agents;
mod change_requests;
mod clarifications;
mod demo;
mod documents;
mod envelope;
mod events;
mod executors;
mod extract;
mod gate;
mod health;
mod inbox;
mod jobs;
mod messages;
mod metrics;
pub mod openapi;
mod papers;
mod permissions;
mod plans;
mod profiles;
mod queue;
mod repositories;
mod resource;
pub mod route;
mod saved_prompts;
mod schemas;
mod security;
mod sessions;
mod sign_in;
mod tasks;
mod workflows;
mod workspaces;

use crate::accounts;
use crate::error::ApiError;
use crate::names::METADATA_OF_MCP;
use crate::state::AppState;
use crate::{mcp, pages};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use domain::error::Refusal;
use pages::{NodeDesk, Pages};
use route::Route;
use tower_http::catch_panic::CatchPanicLayer;

/// Where the JSON API begins.
pub const API: &str = "/api/v1";

/// The largest body of the API.
const BODY_LIMIT: usize = 1024 * 1024;

/// The routes of the JSON API, below [`API`].
#[must_use]
pub fn api_routes() -> Vec<Route> {
    [
        workspaces::routes(),
        repositories::routes(),
        change_requests::routes(),
        workflows::routes(),
        tasks::routes(),
        plans::routes(),
        papers::routes(),
        documents::routes(),
        sessions::routes(),
        messages::routes(),
        queue::routes(),
        permissions::routes(),
        clarifications::routes(),
        inbox::routes(),
        access_tokens::routes(),
        saved_prompts::routes(),
        agents::routes(),
        profiles::routes(),
        executors::routes(),
        demo::routes(),
        events::routes(),
        openapi::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The routes beside the API.
#[must_use]
pub fn plain_routes() -> Vec<Route> {
    [health::routes(), metrics::routes(), jobs::routes()]
        .into_iter()
        .flatten()
        .collect()
}

/// The whole server.
pub fn router(state: AppState) -> Router {
    let mut router = Router::new();
    for route in plain_routes() {
        router = router.route(route.path, route.handler);
    }
    for route in api_routes() {
        router = router.route(&format!("{API}{}", route.path), route.handler);
    }
    router
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .route("/api/{*rest}", any(nothing_here))
        .route(sign_in::PAGE, sign_in::page())
        .route(sign_in::OUT, sign_in::out())
        .route(resource::METADATA, get(resource::show))
        .route(METADATA_OF_MCP, get(resource::show))
        .route("/.well-known/{*rest}", any(nothing_here))
        .route(mcp::PATH, any(mcp::serve))
        .with_state(state.clone())
        // Merged and not a fallback: the pages' own calls below /api must win over the catch-all above.
        .merge(pages::router(&Pages {
            board: state.board.clone(),
            feed: state.feed.clone(),
            site: state.site.clone(),
            desk: NodeDesk {
                board: state.board.clone(),
                jobs: state.jobs.clone(),
                models: state.models.clone(),
            },
        }))
        .layer(from_fn_with_state(state.clone(), settle))
        .layer(CatchPanicLayer::custom(envelope::panicked))
        .layer(from_fn_with_state(state.clone(), gate::check))
        .layer(accounts::layer(
            state.board.clone(),
            state.names.public_over_tls,
        ))
        .layer(from_fn_with_state(state.clone(), security::check))
        .layer(from_fn_with_state(state, metrics::observe))
        .layer(from_fn(envelope::wrap))
}

/// Lets no answer to a change out before what it speaks of is durable.
async fn settle(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let changes = !request.method().is_safe();
    let response = next.run(request).await;
    if changes && let Err(error) = app.board.settled().await {
        return ApiError::from(error).into_response();
    }
    response
}

async fn nothing_here() -> ApiError {
    Refusal::missing(
        "there is nothing at this address: GET /api/v1/openapi.json lists what there is",
    )
    .into()
}
