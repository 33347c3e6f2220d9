//! Standard output, one whole line at a time.
//!
//! Everything that leaves the agent goes through one thread: what the protocol crate sends, the updates we write
//! ourselves (to wait until they are out, which the crate does not offer), and the rubbish that the demo agent's fault scripts ask for.
//! Lines stay whole although scripts are cancelled at any point.

use std::io::{self, Write};

use agent_client_protocol::v1::schema::{SessionNotification, SessionUpdate};
use futures::Sink;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

/// Sends lines to standard output.
#[derive(Clone)]
pub(crate) struct Outbox {
    lines: mpsc::Sender<(String, oneshot::Sender<()>)>,
}

impl Outbox {
    pub(crate) fn start() -> Self {
        let (lines, mut waiting) = mpsc::channel::<(String, oneshot::Sender<()>)>(1);
        std::thread::spawn(move || {
            let mut stdout = io::stdout().lock();
            while let Some((mut line, written)) = waiting.blocking_recv() {
                line.push('\n');
                if stdout
                    .write_all(line.as_bytes())
                    .and_then(|()| stdout.flush())
                    .is_err()
                {
                    // Nobody listens any more; the end of the input follows.
                    break;
                }
                let _ = written.send(());
            }
        });
        Self { lines }
    }

    /// Writes one line as it is, and waits until it is out.
    pub(crate) async fn line(&self, line: String) -> io::Result<()> {
        let (written, done) = oneshot::channel();
        self.lines
            .send((line, written))
            .await
            .map_err(|_| io::ErrorKind::BrokenPipe)?;
        done.await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends one update of a conversation. That nobody listens is no reason to stop: the end of the input is.
    pub(crate) async fn update(&self, session_id: &str, update: SessionUpdate) {
        let params = SessionNotification::new(session_id.to_owned(), update);
        let message = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
        let _ = self.line(message.to_string()).await;
    }

    /// The form in which the protocol crate wants it.
    pub(crate) fn sink(&self) -> impl Sink<String, Error = io::Error> + Send + 'static {
        Box::pin(futures::sink::unfold(
            self.clone(),
            async move |outbox: Outbox, line: String| {
                outbox.line(line).await?;
                Ok(outbox)
            },
        ))
    }
}
