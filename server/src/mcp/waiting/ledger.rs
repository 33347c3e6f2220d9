//! Keeps what is told of calls about runs, for operators to read. A call never waits for it: what there is no room for is left out,
//! as is what storage does not take.

use board::{Board, Clock};
use domain::run::call::RunCall;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Calls that wait to be written.
const ROOM: usize = 4_096;
/// Calls that are written at once.
const BATCH: usize = 256;

/// Where calls are handed in.
#[derive(Debug)]
pub(super) struct Ledger {
    calls: mpsc::Sender<RunCall>,
    /// By which calls are dated.
    pub(super) clock: Clock,
}

impl Ledger {
    pub(super) fn start(board: Board, shutdown: CancellationToken) -> Self {
        let (sender, receiver) = mpsc::channel(ROOM);
        let clock = board.clock().clone();
        tokio::spawn(write(board, receiver, shutdown));
        Self {
            calls: sender,
            clock,
        }
    }

    pub(super) fn note(&self, call: RunCall) {
        if self.calls.try_send(call).is_err() {
            tracing::debug!("a call about a run is not kept: too many at once");
        }
    }
}

async fn write(board: Board, mut calls: mpsc::Receiver<RunCall>, shutdown: CancellationToken) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            received = calls.recv_many(&mut batch, BATCH) => {
                if received == 0 {
                    return;
                }
            }
        }
        if let Err(error) = board.run_calls_note(&batch).await {
            crate::error::refusal_of(error);
        }
        batch.clear();
    }
}
