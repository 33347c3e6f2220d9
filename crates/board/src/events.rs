//! The event feed.

use crate::{Actor, Board, Result};
use domain::event::Event;

/// Most events in one read.
const PAGE: i64 = 500;

impl Board {
    /// Events after position `since`, in order, at most a page of them. Subscribe to [`crate::Topic::Events`] before reading.
    pub async fn events_since(&self, _actor: &Actor, since: i64) -> Result<Vec<Event>> {
        Ok(store::events::since(&mut self.snapshot().await?, since, PAGE).await?)
    }

    /// The first and the last position of the log. A reader whose position is before the first has missed some and reads
    /// everything again.
    pub async fn events_bounds(&self) -> Result<(i64, i64)> {
        Ok(store::events::bounds(&mut self.snapshot().await?).await?)
    }

    /// Drops the events that are older than the log is to reach back, and says how many they were. The newest stays in any case.
    pub async fn events_prune(&self) -> Result<u64> {
        let mut work = self.begin().await?;
        let before = work.now.plus_millis(-self.settings().events_kept_ms);
        let dropped = store::events::prune(&mut work.tx, before).await?;
        work.commit().await?;
        Ok(dropped)
    }
}
