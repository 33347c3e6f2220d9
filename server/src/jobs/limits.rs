//! Who has to wait although the job is due: users who ask too much, and providers that do not answer.
//!
//! Both live in the memory of one process. They only spare attempts: what they know is learnt again after a restart by a few
//! failures at most, and no job's fate hangs on them, so a table would buy nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Failures in a row after which a provider is left alone.
const TRIPS_AT: u32 = 5;
/// How long it is left alone, before one job may try it.
const OPEN: Duration = Duration::from_secs(30);
/// Entries beyond which those that say nothing any more are dropped.
const MANY: usize = 10_000;

/// The breakers of providers and the buckets of users.
#[derive(Debug)]
pub(super) struct Limits {
    breakers: Mutex<HashMap<String, Breaker>>,
    buckets: Mutex<HashMap<String, Bucket>>,
    /// Jobs a user may have run within a minute; 0 is unlimited.
    per_minute: u32,
}

#[derive(Debug, Default)]
struct Breaker {
    failures: u32,
    open_until: Option<Instant>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Limits {
    /// `per_minute` jobs a user, in bursts of as many.
    #[must_use]
    pub(super) fn new(per_minute: u32) -> Self {
        Self {
            breakers: Mutex::default(),
            buckets: Mutex::default(),
            per_minute,
        }
    }

    /// Takes one of the user's tokens, or says how long until there is one.
    pub(super) fn take(&self, user: &str, now: Instant) -> Result<(), Duration> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let full = f64::from(self.per_minute);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let refill = |bucket: &Bucket| {
            let since = now.duration_since(bucket.at).as_secs_f64();
            (bucket.tokens + since * full / 60.0).min(full)
        };
        if buckets.len() > MANY {
            buckets.retain(|_, bucket| refill(bucket) < full);
        }
        let bucket = buckets.entry(user.to_owned()).or_insert(Bucket {
            tokens: full,
            at: now,
        });
        let tokens = refill(bucket);
        bucket.at = now;
        if tokens >= 1.0 {
            bucket.tokens = tokens - 1.0;
            return Ok(());
        }
        bucket.tokens = tokens;
        Err(Duration::from_secs_f64((1.0 - tokens) * 60.0 / full))
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
    fn a_users_tokens_come_back_with_time() {
        let limits = Limits::new(2);
        let now = Instant::now();
        assert_eq!(limits.take("u", now), Ok(()));
        assert_eq!(limits.take("u", now), Ok(()));
        let wait = limits.take("u", now).unwrap_err();
        assert!(
            wait > Duration::from_secs(29) && wait <= Duration::from_secs(30),
            "{wait:?}"
        );
        assert_eq!(limits.take("v", now), Ok(()));
        let later = now + Duration::from_secs(31);
        assert_eq!(limits.take("u", later), Ok(()));
        assert!(limits.take("u", later).is_err());
        assert_eq!(Limits::new(0).take("u", now), Ok(()));
    }

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
