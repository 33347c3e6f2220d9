//! Numbers for the metrics of a node.

use crate::{Board, Result};
use domain::session::SessionState;
use domain::task::TaskState;

/// How much of what there is, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Unarchived tasks by state.
    pub tasks: Vec<(TaskState, i64)>,
    /// Sessions by state.
    pub sessions: Vec<(SessionState, i64)>,
    /// Follow-ups that are due and not being carried out.
    pub effects_due: i64,
}

impl Board {
    /// Counts what there is.
    pub async fn stats(&self) -> Result<Stats> {
        let mut db = self.snapshot().await?;
        Ok(Stats {
            tasks: store::stats::tasks(&mut db).await?,
            sessions: store::stats::sessions(&mut db).await?,
            effects_due: store::stats::effects_due(&mut db, self.clock.now()).await?,
        })
    }
}
