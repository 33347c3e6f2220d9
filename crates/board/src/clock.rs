//! The time of day, injected: proofs about hours run on a stepped clock.

use domain::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the board reads the time.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `start` until it is moved with [`Self::advance`].
    #[must_use]
    pub fn stepped(start: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(start.millis()))))
    }

    /// Moves a stepped clock forward; a system clock is left alone.
    pub fn advance(&self, millis: i64) {
        if let Some(at) = &self.0 {
            at.fetch_add(millis, Ordering::SeqCst);
        }
    }

    /// Now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the machine's clock"
    )]
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(match &self.0 {
            Some(at) => at.load(Ordering::SeqCst),
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .ok()
                .and_then(|since| i64::try_from(since.as_millis()).ok())
                .unwrap_or_default(),
        })
    }
}
