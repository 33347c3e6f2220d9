//! Numbers and what is said of them.

use std::fmt;

/// Times in nanoseconds.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples(Vec<i64>);

impl Samples {
    pub(crate) fn add(&mut self, nanoseconds: i64) {
        self.0.push(nanoseconds);
    }

    pub(crate) fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The value that `share` of the samples do not exceed, in milliseconds; 0 when there are none.
    pub(crate) fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let Some(last) = sorted.len().checked_sub(1) else {
            return 0.0;
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into a few thousand samples"
        )]
        let index = ((last as f64) * share).round() as usize;
        milliseconds(sorted[index.min(last)])
    }
}

/// Nanoseconds as milliseconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "times of a run are far below 2^52 nanoseconds"
)]
pub(crate) fn milliseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {:>8.2} ms   p99 {:>8.2} ms   max {:>8.2} ms   ({} samples)",
            self.at(0.5),
            self.at(0.99),
            self.at(1.0),
            self.0.len()
        )
    }
}
