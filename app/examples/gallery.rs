//! Serves the gallery of components: every one of them in every state, to look at and to test against.
//!
//! ```text
//! cargo build -p frontend --target wasm32-unknown-unknown --features gallery   # then wasm-bindgen into DIR/pkg
//! cargo run -p app --features ssr,gallery --example gallery -- DIR [127.0.0.1:3100]
//! ```
//!
//! `DIR/pkg` holds `flightdeck.css`, `flightdeck.js` and `flightdeck_bg.wasm`.

#![expect(clippy::print_stdout, reason = "says where to look")]

use app::App;
use axum::Router;
use leptos::config::LeptosOptions;
use leptos_axum::{LeptosRoutes as _, generate_route_list};
use tower_http::services::ServeDir;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder holds `pkg`?")?;
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:3100".to_owned());
    let options = LeptosOptions::builder().output_name("flightdeck").build();
    let routes = generate_route_list(App);
    let router = Router::new()
        .leptos_routes(&options, routes, app::shell::shell)
        .fallback_service(ServeDir::new(folder))
        .with_state(options);
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{address}/_gallery");
    axum::serve(listener, router).await?;
    Ok(())
}
