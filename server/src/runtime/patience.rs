//! Waiting between tries, longer each time.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The wait before the next try.
#[derive(Debug, Default)]
pub(super) struct Patience(Option<Duration>);

impl Patience {
    /// It worked: the next failure begins with a short wait again.
    pub(super) fn reset(&mut self) {
        self.0 = None;
    }

    /// Waits, then doubles the wait.
    pub(super) async fn wait(&mut self) {
        let wait = self.0.unwrap_or(FIRST);
        self.0 = Some((wait * 2).min(LONGEST));
        tokio::time::sleep(wait).await;
    }
}
