//! When to look at the requests that tasks care for, and whom to tell.
//!
//! A provider has no wake-up for us, so that it is looked at by the clock; but only while something is switched on. Otherwise this
//! sleeps until something is. What a look comes to goes to the board, which tells each thing once; a merge follows after that was
//! committed, and names the commit it means, so that it may be tried again.

use super::{ProviderError, Providers};
use board::{Board, Topic, Watched};
use futures::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Requests taken at once.
const BATCH: i64 = 32;
/// Requests looked at together.
const TOGETHER: usize = 4;
/// The wait after the database did not answer.
const AFTER_ERROR: Duration = Duration::from_secs(5);
/// How long it sleeps at most when other nodes may switch something on whose wake-up is lost.
const LONGEST_SLEEP: Duration = Duration::from_secs(5 * 60);

/// The watcher of a node.
#[derive(Debug)]
pub struct Watcher {
    stop: CancellationToken,
    watching: JoinHandle<()>,
}

impl Watcher {
    /// Begins to watch.
    #[must_use]
    pub fn start(board: Board, providers: Arc<Providers>) -> Self {
        let stop = CancellationToken::new();
        let watching = tokio::spawn(watch(board, providers, stop.clone()));
        Self { stop, watching }
    }

    /// Ends; a look that is under way is broken off, and made again by whoever looks next.
    pub async fn stop(self) {
        self.stop.cancel();
        if self.watching.await.is_err() {
            tracing::error!("the watcher of requests did not end well");
        }
    }
}

async fn watch(board: Board, providers: Arc<Providers>, stop: CancellationToken) {
    let mut wake = board.signals().subscribe(Topic::Requests);
    while !stop.is_cancelled() {
        wake.mark_unchanged();
        let due = match round(&board, &providers, &stop).await {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "requests cannot be looked at"
                );
                Some(Instant::now() + AFTER_ERROR)
            }
        };
        let sleep = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = wake.changed() => {}
            () = sleep => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Looks at what is due, and says when the next look is.
async fn round(
    board: &Board,
    providers: &Providers,
    stop: &CancellationToken,
) -> board::Result<Option<Instant>> {
    let claimed = board.change_requests_claim(BATCH).await?;
    let looks = futures::stream::iter(claimed)
        .for_each_concurrent(TOGETHER, |watched| look(board, providers, watched));
    tokio::select! {
        () = looks => {}
        () = stop.cancelled() => {}
    }
    let longest = board.is_shared().then_some(LONGEST_SLEEP);
    let due = board.change_requests_due().await?.map(|due| {
        let millis = due.since(board.clock().now()).max(0);
        Duration::from_millis(millis.unsigned_abs())
    });
    let wait = match (due, longest) {
        (Some(due), Some(longest)) => Some(due.min(longest)),
        (due, longest) => due.or(longest),
    };
    Ok(wait.map(|wait| Instant::now() + wait))
}

/// Looks at one request and reports what that came to.
async fn look(board: &Board, providers: &Providers, watched: Watched) {
    let Watched {
        request,
        repository,
    } = watched;
    let remarks = request.automation.auto_fix_enabled;
    let noted = match providers
        .observe(&repository, request.number, remarks)
        .await
    {
        Err(error) => failed(board, &request.id, "", &error).await,
        Ok(observed) => match board.change_request_observed(request.id, &observed).await {
            Err(error) => Err(error),
            Ok(false) => Ok(()),
            Ok(true) => {
                let merged = providers
                    .merge(&repository, request.number, &observed.head)
                    .await;
                match merged {
                    Ok(()) => {
                        tracing::info!(id = %request.id, "merged a request");
                        board.change_request_merged(request.id).await
                    }
                    Err(error) => failed(board, &request.id, "it was not merged: ", &error).await,
                }
            }
        },
    };
    if let Err(error) = noted {
        // It is looked at again after the usual time.
        tracing::error!(error = &error as &dyn std::error::Error, id = %request.id, "what a request showed was not stored");
    }
}

async fn failed(
    board: &Board,
    id: &domain::ids::ChangeRequestId,
    what: &str,
    error: &ProviderError,
) -> board::Result<()> {
    tracing::debug!(%id, %error, "a request could not be looked at");
    let again = error.wait().map(|wait| {
        let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        board.clock().now().plus_millis(millis)
    });
    board
        .change_request_failed(*id, &format!("{what}{error}"), again)
        .await
}
