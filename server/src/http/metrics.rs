//! `/metrics`, and the layer that counts.

use super::route::Route;
use crate::error::ApiError;
use crate::metrics::{Key, Metrics};
use crate::state::AppState;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use std::time::Instant;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/metrics", show)
            .says("Metrics in the text format of Prometheus.")
            .writes(FORMAT),
    ]
}

const FORMAT: &str = "text/plain; version=0.0.4";

/// Counts each request.
pub(super) async fn observe(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let method = match request.method().as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        // Methods are free text; a series for each would be a way to fill our memory.
        _ => "other",
    };
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("other", MatchedPath::as_str)
        .to_owned();
    let started = Instant::now();
    let response = next.run(request).await;
    let took = started.elapsed();
    let status = response.status().as_u16();
    tracing::debug!(status, took_ms = took.as_millis(), "answered");
    app.metrics.count(
        Key {
            method,
            route,
            status,
        },
        took,
    );
    response
}

async fn show(State(app): State<AppState>) -> Result<Response, ApiError> {
    let stats = app.board.stats().await?;
    let jobs = app.board.job_stats().await?;
    let (running, open_breakers) = app.jobs.gauges();
    let mut text = app
        .metrics
        .render(&stats, app.runtime.live_agents(), app.feed.listeners());
    text.push_str(&Metrics::render_jobs(&jobs, running, open_breakers));
    text.push_str(&app.mcp.run_metrics().render());
    Ok(([(CONTENT_TYPE, FORMAT)], text).into_response())
}
