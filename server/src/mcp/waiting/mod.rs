//! Waiting for runs, and what is told of it; apart from the tools, since every call is given it.
//!
//! | Module | For |
//! |---|---|
//! | [`waits`] | who waits, and what wakes them |
//! | [`telemetry`] | what is told of a call: nothing that anybody wrote |
//! | [`ledger`] | keeps it for operators |

mod ledger;
mod telemetry;
mod waits;

pub(super) use telemetry::CallRecord;
pub use telemetry::RunMetrics;
pub use waits::WaitLimits;
pub(super) use waits::{Waits, WakeBy};

use crate::feed::Feed;
use board::Board;
use domain::run::wait::WaitBounds;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// How long calls may wait for runs, and how many.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunWaits {
    /// How long.
    pub bounds: WaitBounds,
    /// How many.
    pub limits: WaitLimits,
}

/// What the contract's tools share. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Runs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    waits: Waits,
    bounds: WaitBounds,
    metrics: RunMetrics,
}

impl Runs {
    pub(super) fn start(
        board: Board,
        feed: &Feed,
        waits: RunWaits,
        shutdown: CancellationToken,
    ) -> Self {
        Self(Arc::new(Shared {
            waits: Waits::start(feed, waits.limits, shutdown.clone()),
            bounds: waits.bounds,
            metrics: RunMetrics::keeping(board, shutdown),
        }))
    }

    pub(super) fn waits(&self) -> &Waits {
        &self.0.waits
    }

    pub(super) fn bounds(&self) -> WaitBounds {
        self.0.bounds
    }

    pub(super) fn metrics(&self) -> &RunMetrics {
        self.0.metrics.set_waiting(self.0.waits.waiting());
        &self.0.metrics
    }

    /// Where a call is counted.
    pub(super) fn counts(&self) -> &RunMetrics {
        &self.0.metrics
    }

    pub(super) async fn end_waits(&self) {
        self.0.waits.end().await;
    }
}
