//! `/healthz` and `/readyz`.

use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/healthz", health)
            .says("The process is there.")
            .answers("Health"),
        Route::get("/readyz", ready)
            .says("Database and runtime are at work; 503 when one of them is not.")
            .answers("Readiness"),
    ]
}

async fn health() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

async fn ready(State(app): State<AppState>) -> Response {
    let database = match app.board.ping().await {
        Ok(()) => true,
        Err(error) => {
            crate::error::refusal_of(error);
            false
        }
    };
    let runtime = app.runtime.is_running() && !app.shutdown.is_cancelled();
    let (status, word) = if database && runtime {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
    };
    let part = |works: bool| if works { "ok" } else { "unavailable" };
    let body = json!({"status": word, "database": part(database), "runtime": part(runtime)});
    (status, Json(body)).into_response()
}
