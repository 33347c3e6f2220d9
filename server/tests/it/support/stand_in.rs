//! A server that stands in for one of the outside world's, on a port of its own; it ends when it is dropped.

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) struct StandIn {
    base: String,
    serving: JoinHandle<()>,
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl StandIn {
    pub(crate) async fn start(app: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self { base, serving }
    }

    /// Its address, without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }
}
