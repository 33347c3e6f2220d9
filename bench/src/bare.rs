//! The least that can wait: an axum server whose answers stay open until they are let go, in a process of its own.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::routing::post;
use tokio::sync::watch;

/// Listens on a free port, says where on standard output, and answers `/wait` when `/go` is asked for.
pub(crate) async fn serve() -> Result<()> {
    let gate = Arc::new(watch::Sender::new(false));
    let app = Router::new()
        .route("/wait", post(wait))
        .route("/go", post(go))
        .with_state(gate);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}

async fn wait(State(gate): State<Arc<watch::Sender<bool>>>, _body: String) -> &'static str {
    // Closed only when the process ends.
    let _ = gate.subscribe().wait_for(|open| *open).await;
    "{}"
}

async fn go(State(gate): State<Arc<watch::Sender<bool>>>) {
    gate.send_replace(true);
}
