//! The queue of hints, for workers that are processes of their own (ruling 40).
//!
//! A hint names a job to look at, or says that it is time to sweep. It lives in memory and may be lost: the row is the truth, and
//! a worker that asks while the queue is empty is told what is due in the database.

use domain::job::JobId;
use domain::job::view::{Hint, HintKind};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// Hints that wait at most.
const CAPACITY: usize = 10_000;
/// Hints given out at once.
pub(super) const BATCH: usize = 10;
/// What was given out is not given out again from the database before this: its worker is about to claim it.
const GIVEN: Duration = Duration::from_secs(5);

/// The queue.
#[derive(Debug, Default)]
pub struct Hints {
    inner: Mutex<Inner>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Hint>,
    given: HashMap<JobId, Instant>,
    closed: bool,
    limit: Option<usize>,
}

impl Hints {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more would be taken.
    pub fn has_room(&self) -> Result<(), String> {
        let inner = self.inner();
        if inner.closed {
            return Err("the queue of hints is closed".to_owned());
        }
        if inner.waiting.len() >= inner.limit.unwrap_or(CAPACITY) {
            return Err("the queue of hints is full: no worker takes any".to_owned());
        }
        Ok(())
    }

    /// Adds a hint.
    pub fn submit(&self, hint: Hint) -> Result<(), String> {
        self.has_room()?;
        self.inner().waiting.push_back(hint);
        self.wake.notify_waiters();
        Ok(())
    }

    /// Adds a hint to sweep, unless one waits already.
    pub fn submit_sweep(&self) -> Result<(), String> {
        let waits = self
            .inner()
            .waiting
            .iter()
            .any(|hint| hint.kind == HintKind::WatchdogSweep);
        if waits {
            return Ok(());
        }
        self.submit(Hint {
            kind: HintKind::WatchdogSweep,
            job_id: None,
            correlation_id: None,
            dispatch: None,
        })
    }

    /// Takes no more hints, as a queue that is down, or takes them again.
    pub fn set_closed(&self, closed: bool) {
        self.inner().closed = closed;
    }

    /// The hints that wait, at most a batch of them.
    pub fn take(&self) -> Vec<Hint> {
        let mut inner = self.inner();
        let count = inner.waiting.len().min(BATCH);
        let hints: Vec<Hint> = inner.waiting.drain(..count).collect();
        let now = Instant::now();
        inner.given.retain(|_, at| now.duration_since(*at) < GIVEN);
        for job in hints.iter().filter_map(|hint| hint.job_id) {
            inner.given.insert(job, now);
        }
        hints
    }

    /// Hints for jobs that are due by the database and were not given out a moment ago.
    pub fn take_due(&self, due: Vec<(JobId, String)>) -> Vec<Hint> {
        let mut inner = self.inner();
        let now = Instant::now();
        inner.given.retain(|_, at| now.duration_since(*at) < GIVEN);
        let mut hints = Vec::new();
        for (job, correlation) in due {
            if hints.len() < BATCH && !inner.given.contains_key(&job) {
                inner.given.insert(job, now);
                hints.push(Hint {
                    kind: HintKind::JobDue,
                    job_id: Some(job),
                    correlation_id: Some(correlation),
                    dispatch: None,
                });
            }
        }
        hints
    }

    /// Waits until a hint may be there. Made before one looks, it misses none.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.wake.notified()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(job: i64) -> Hint {
        Hint {
            kind: HintKind::JobCreated,
            job_id: Some(JobId(job)),
            correlation_id: None,
            dispatch: None,
        }
    }

    #[test]
    fn a_full_or_closed_queue_says_so_and_gives_what_it_has() {
        let hints = Hints::default();
        hints.inner().limit = Some(2);
        assert_eq!(hints.submit(hint(1)), Ok(()));
        assert_eq!(hints.submit(hint(2)), Ok(()));
        assert!(hints.submit(hint(3)).is_err());
        assert_eq!(hints.take(), [hint(1), hint(2)]);
        hints.set_closed(true);
        assert!(hints.submit(hint(3)).is_err());
        hints.set_closed(false);
        assert_eq!(hints.submit_sweep(), Ok(()));
        assert_eq!(hints.submit_sweep(), Ok(()));
        assert_eq!(hints.take().len(), 1);
    }

    #[test]
    fn what_was_just_given_out_is_not_due_again_at_once() {
        let hints = Hints::default();
        assert_eq!(hints.submit(hint(1)), Ok(()));
        hints.take();
        let due = vec![(JobId(1), "a".to_owned()), (JobId(2), "b".to_owned())];
        let given = hints.take_due(due.clone());
        assert_eq!(
            given.iter().map(|hint| hint.job_id).collect::<Vec<_>>(),
            [Some(JobId(2))]
        );
        assert!(hints.take_due(due).is_empty());
    }
}
