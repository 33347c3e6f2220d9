//! How the connection to the event feed stands, and when to try again.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a lost connection stays unmentioned: most come back at once.
pub(super) const QUIET: Duration = Duration::from_secs(3);

/// State of the connection, as views show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// Not open yet; the page is as fresh as its rendering.
    Opening,
    /// Changes arrive.
    Open,
    /// Gone for a moment; nothing is said yet.
    Faltering,
    /// Gone for long enough that the operator should know.
    Lost,
}

/// How long to wait before the attempt with this number, from 0: quickly at first, never more than 15 s.
#[must_use]
pub(super) fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(500_u64.saturating_mul(1 << attempt.min(10)).min(15_000))
}

#[test]
fn attempts_thin_out_but_never_stop() {
    let waits: Vec<u128> = (0..7).map(|attempt| backoff(attempt).as_millis()).collect();
    assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    assert_eq!(backoff(u32::MAX).as_millis(), 15_000);
}
