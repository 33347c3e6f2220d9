//! The web app: pages rendered on the server, the server functions behind them, and the files of the browser's half.

mod site;

pub use site::Site;

use crate::http::AppState;
use app::App;
use app::live::LiveCursor;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use board::Actor;
use http::StatusCode;
use leptos::config::LeptosOptions;
use leptos::prelude::provide_context;
use leptos_axum::{LeptosRoutes, generate_route_list};
use std::sync::Arc;

/// The name that the build gives to the browser's half.
const NAME: &str = "flightdeck";

/// Pages, server functions and files; whatever nothing else answers ends here.
pub fn router(state: &AppState) -> Router<AppState> {
    let options = LeptosOptions::builder().output_name(NAME).build();
    let context = context(state);
    Router::<LeptosOptions>::new()
        .leptos_routes_with_context(
            &options,
            generate_route_list(App),
            context,
            app::shell::shell,
        )
        .with_state(options)
        .fallback(file_or_page)
}

/// What pages and server functions find in their context beside the request.
fn context(state: &AppState) -> impl Fn() + Clone + Send + Sync + 'static {
    let state = state.clone();
    move || {
        provide_context(state.board.clone());
        // Bound to loopback and without accounts, the person at the machine is the operator; see `http::security`.
        provide_context(Actor::Operator);
        provide_context(state.site.assets().clone());
        provide_context(LiveCursor(state.feed.head()));
    }
}

/// A file of the site, or else the app's own page for an address that it does not know.
async fn file_or_page(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    if let Some(file) = state.site.file(&parts).await {
        return file;
    }
    let context = context(&state);
    let request = Request::from_parts(parts, Body::empty());
    let mut page =
        leptos_axum::render_app_to_stream_with_context(context, app::shell::shell)(request)
            .await
            .into_response();
    if page.status() == StatusCode::OK {
        *page.status_mut() = StatusCode::NOT_FOUND;
    }
    page
}

/// The site in a folder, or without files when it is not there.
#[must_use]
pub fn site(folder: Option<std::path::PathBuf>) -> Arc<Site> {
    Arc::new(Site::open(folder))
}
