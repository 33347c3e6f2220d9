//! Who has to wait although the job is due: users who ask too much, and providers that do not answer.
//!
//! Both live in the memory of one process. They only spare attempts: what they know is learnt again after a restart by a few
//! failures at most, and no job's fate hangs on them, so a table would buy nothing.

use crate::buckets::Buckets;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row after which a provider is left alone.
const TRIPS_AT: u32 = 5;
/// How long it is left alone, before one job may try it.
const OPEN: Duration = Duration::from_secs(30);

/// The breakers of providers and the buckets of users.
#[derive(Debug)]
pub(super) struct Limits {
    breakers: Mutex<HashMap<String, Breaker>>,
    buckets: Buckets,
}

#[derive(Debug, Default)]
struct Breaker {
    failures: u32,
    open_until: Option<Instant>,
}

impl Limits {
    /// `per_minute` jobs a user, in bursts of as many; 0 is unlimited.
    #[must_use]
    pub(super) fn new(per_minute: u32) -> Self {
        Self {
            breakers: Mutex::default(),
            buckets: Buckets::new(per_minute, Duration::from_secs(60)),
        }
    }

    /// Takes one of the user's tokens, or says how long until there is one.
    pub(super) fn take(&self, user: &str, now: Instant) -> Result<(), Duration> {
        self.buckets.take(user, now)
    }

    /// Whether a chain of providers may be tried, or how long not. When the time is over, one job may try it, and the next only
    /// after that one succeeded or the time was over again.
    pub(super) fn admit(&self, chain: &str, now: Instant) -> Result<(), Duration> {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(breaker) = breakers.get_mut(chain) else {
            return Ok(());
        };
        match breaker.open_until {
            Some(until) if until > now => Err(until - now),
            Some(_) => {
                breaker.open_until = Some(now + OPEN);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A chain answered.
    pub(super) fn succeeded(&self, chain: &str) {
        self.breakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(chain);
    }

    /// A chain did not answer.
    pub(super) fn failed(&self, chain: &str, now: Instant) {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.entry(chain.to_owned()).or_default();
        breaker.failures += 1;
        if breaker.failures >= TRIPS_AT {
            breaker.open_until = Some(now + OPEN);
        }
    }

    /// How many chains are left alone at present.
    pub(super) fn open_breakers(&self, now: Instant) -> usize {
        self.breakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .filter(|breaker| breaker.open_until.is_some_and(|until| until > now))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_fails_is_left_alone_and_tried_by_one() {
        let limits = Limits::new(0);
        let now = Instant::now();
        for _ in 1..TRIPS_AT {
            limits.failed("a", now);
        }
        assert_eq!(limits.admit("a", now), Ok(()));
        limits.failed("a", now);
        assert!(limits.admit("a", now).is_err());
        assert_eq!(limits.admit("b", now), Ok(()));
        assert_eq!(limits.open_breakers(now), 1);
        let later = now + OPEN;
        assert_eq!(limits.admit("a", later), Ok(()));
        assert!(limits.admit("a", later).is_err(), "only one tries");
        limits.succeeded("a");
        assert_eq!(limits.admit("a", later), Ok(()));
        assert_eq!(limits.open_breakers(later), 0);
    }
}
