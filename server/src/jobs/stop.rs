//! Why a run is stopped, and the runs that can be.

use domain::job::JobId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Why a run is stopped before it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its lease is lost.
    Lost,
    /// Its owner does not want the answer any more.
    Canceled,
    /// The server stops.
    Shutdown,
    /// It has to wait, for this reason and this long.
    Snooze(&'static str, Duration),
}

/// Stops one run. The first reason stands, save that a lost lease goes before all.
#[derive(Debug, Clone)]
pub(super) struct Stopper(Arc<watch::Sender<Option<Stop>>>);

impl Stopper {
    fn new() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }

    pub(super) fn stop(&self, why: Stop) {
        self.0.send_if_modified(|stop| {
            let changes = stop.is_none() || (why == Stop::Lost && *stop != Some(Stop::Lost));
            if changes {
                *stop = Some(why);
            }
            changes
        });
    }

    /// Whether the run may go on.
    pub(super) fn check(&self) -> Result<(), Stop> {
        self.0.borrow().map_or(Ok(()), Err)
    }

    /// Waits until the run is to stop.
    pub(super) async fn stopped(&self) -> Stop {
        let mut seen = self.0.subscribe();
        loop {
            if let Some(stop) = *seen.borrow_and_update() {
                return stop;
            }
            if seen.changed().await.is_err() {
                return Stop::Shutdown;
            }
        }
    }
}

/// The runs of this process.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<JobId, Stopper>>);

impl Running {
    fn map(&self) -> MutexGuard<'_, HashMap<JobId, Stopper>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, job: JobId) -> Stopper {
        let stopper = Stopper::new();
        self.map().insert(job, stopper.clone());
        stopper
    }

    /// The run is over. One that took the job over here meanwhile stays.
    pub(super) fn leave(&self, job: JobId, run: &Stopper) {
        let mut map = self.map();
        if map.get(&job).is_some_and(|now| Arc::ptr_eq(&now.0, &run.0)) {
            map.remove(&job);
        }
    }

    pub(super) fn stop(&self, job: JobId, why: Stop) {
        let stopper = self.map().get(&job).cloned();
        if let Some(stopper) = stopper {
            stopper.stop(why);
        }
    }

    pub(super) fn stop_all(&self, why: Stop) {
        let all: Vec<Stopper> = self.map().values().cloned().collect();
        for stopper in all {
            stopper.stop(why);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.map().len()
    }
}
