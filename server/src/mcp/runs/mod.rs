//! The outside contract: `run_task`, `check_task`, `get_task`, `list_tasks`, `cancel_task`.
//!
//! | Module | For |
//! |---|---|
//! | [`tools`] | how the tools are listed |
//! | [`args`] | reading arguments: what is not known is ignored, what is wrong is named |
//! | [`answers`] | carrying out a call |
//! | [`waits`] | who waits, and what wakes them |
//! | [`telemetry`] | what is told of a call: nothing that anybody wrote |
//!
//! Only `check_task` waits, and a wait that runs out is no error: the client is told to ask again. A run never depends on the
//! call that started it or on one that waits for it.

mod answers;
mod args;
mod telemetry;
mod tools;
mod waits;

pub use telemetry::RunMetrics;
pub(super) use tools::tools;
pub use waits::WaitLimits;

use crate::feed::Feed;
use domain::run::wait::WaitBounds;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use waits::Waits;

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
    pub(super) fn start(feed: &Feed, waits: RunWaits, shutdown: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            waits: Waits::start(feed, waits.limits, shutdown),
            bounds: waits.bounds,
            metrics: RunMetrics::default(),
        }))
    }

    pub(super) fn metrics(&self) -> &RunMetrics {
        self.0.metrics.set_waiting(self.0.waits.waiting());
        &self.0.metrics
    }

    pub(super) async fn end_waits(&self) {
        self.0.waits.end().await;
    }
}
