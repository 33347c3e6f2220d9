//! How often somebody may do something: a bucket of tokens for each, which fills again with time.
//!
//! They live in the memory of one process. What they know is lost with it, and nothing but a limit hangs on that.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Entries beyond which those that say nothing any more are dropped, and whoever is new shares one bucket with all others that are.
const MANY: usize = 10_000;

/// Whose bucket that is. No user and no name is called nothing but this.
const CROWD: &str = "\0";

/// Buckets of one size.
#[derive(Debug)]
pub(crate) struct Buckets {
    held: Mutex<HashMap<String, Bucket>>,
    full: f64,
    fills_in: Duration,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Buckets {
    /// Buckets of `full` tokens, which an empty one has again after `fills_in`. Of no tokens: nothing is limited.
    #[must_use]
    pub(crate) fn new(full: u32, fills_in: Duration) -> Self {
        Self {
            held: Mutex::default(),
            full: f64::from(full),
            fills_in,
        }
    }

    /// Takes a token, or says how long until there is one.
    pub(crate) fn take(&self, who: &str, now: Instant) -> Result<(), Duration> {
        if self.full < 1.0 {
            return Ok(());
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() > MANY {
            held.retain(|_, bucket| self.tokens(bucket, now) < self.full);
        }
        let crowd = held.len() > MANY && !held.contains_key(who);
        let who = if crowd { CROWD } else { who };
        let bucket = held.entry(who.to_owned()).or_insert(Bucket {
            tokens: self.full,
            at: now,
        });
        let tokens = self.tokens(bucket, now);
        bucket.at = now;
        if tokens >= 1.0 {
            bucket.tokens = tokens - 1.0;
            return Ok(());
        }
        bucket.tokens = tokens;
        Err(self.fills_in.mul_f64((1.0 - tokens) / self.full))
    }

    /// Fills somebody's bucket.
    pub(crate) fn fill(&self, who: &str) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(who);
    }

    fn tokens(&self, bucket: &Bucket, now: Instant) -> f64 {
        let since = now.duration_since(bucket.at).as_secs_f64();
        (bucket.tokens + since * self.full / self.fills_in.as_secs_f64()).min(self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_time() {
        let buckets = Buckets::new(2, Duration::from_secs(60));
        let now = Instant::now();
        assert_eq!(buckets.take("u", now), Ok(()));
        assert_eq!(buckets.take("u", now), Ok(()));
        let wait = buckets.take("u", now).unwrap_err();
        assert!(
            wait > Duration::from_secs(29) && wait <= Duration::from_secs(30),
            "{wait:?}"
        );
        assert_eq!(buckets.take("v", now), Ok(()));
        let later = now + Duration::from_secs(31);
        assert_eq!(buckets.take("u", later), Ok(()));
        assert!(buckets.take("u", later).is_err());
        buckets.fill("u");
        assert_eq!(buckets.take("u", later), Ok(()));
    }

    #[test]
    fn a_flood_of_names_takes_no_more_room_than_there_is() {
        let buckets = Buckets::new(2, Duration::from_secs(60));
        let now = Instant::now();
        for n in 0..MANY + 1_000 {
            let _ = buckets.take(&format!("u{n}"), now);
        }
        assert!(buckets.held.lock().unwrap().len() <= MANY + 2);
        // Whoever is known keeps what is theirs.
        assert_eq!(buckets.take("u0", now), Ok(()));
        assert!(buckets.take("somebody new", now).is_err());
    }

    #[test]
    fn without_tokens_nothing_is_limited() {
        let buckets = Buckets::new(0, Duration::from_secs(60));
        for _ in 0..100 {
            assert_eq!(buckets.take("u", Instant::now()), Ok(()));
        }
    }
}
