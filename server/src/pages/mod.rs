//! The web app: pages rendered on the server, the server functions behind them, and the files of the browser's half.

mod desk;
mod site;

pub use desk::{Models, NodeDesk};
pub use site::Site;

use crate::accounts::Signed;
use crate::feed::Feed;
use app::App;
use app::api::desk::AnyDesk;
use app::live::LiveCursor;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use board::Board;
use http::StatusCode;
use http::request::Parts;
use leptos::config::LeptosOptions;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::{LeptosRoutes, generate_route_list};
use std::sync::Arc;

/// The name that the build gives to the browser's half.
const NAME: &str = "flightdeck";

/// What pages need of the server.
#[derive(Debug, Clone)]
pub struct Pages {
    /// The only thing that doors call.
    pub board: Board,
    /// Where the event feed stands.
    pub feed: Feed,
    /// The files of the browser's half.
    pub site: Arc<Site>,
    /// AI jobs.
    pub desk: NodeDesk,
}

/// Pages, server functions and files; whatever nothing else answers ends here.
pub fn router(pages: &Pages) -> Router {
    let options = LeptosOptions::builder().output_name(NAME).build();
    Router::<LeptosOptions>::new()
        .leptos_routes_with_context(
            &options,
            generate_route_list(App),
            context(pages),
            app::shell::shell,
        )
        .with_state::<Pages>(options)
        .fallback(file_or_page)
        .with_state(pages.clone())
}

/// What pages and server functions find in their context beside the request.
fn context(pages: &Pages) -> impl Fn() + Clone + Send + Sync + 'static {
    let pages = pages.clone();
    let desk = AnyDesk(Arc::new(pages.desk.clone()));
    move || {
        provide_context(desk.clone());
        provide_context(pages.board.clone());
        // Whom the gate has let in. Nobody, and each call of a page says that somebody has to sign in.
        if let Some(Signed(actor)) =
            use_context::<Parts>().and_then(|parts| parts.extensions.get::<Signed>().copied())
        {
            provide_context(actor);
        }
        provide_context(pages.site.assets().clone());
        provide_context(LiveCursor(pages.feed.head()));
    }
}

/// A file of the site, or else the app's own page for an address that it does not know.
async fn file_or_page(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    if let Some(file) = pages.site.file(&parts).await {
        return file;
    }
    let context = context(&pages);
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
