//! What the workflow does before a transaction commits.
//!
//! A transaction may free a place, end a turn that a move waits for, complete a task that others wait for, or end the last part
//! of a parent. Whoever writes that only notes it here. Before the commit the notes are worked off in the same transaction,
//! until there are none: so no way of freeing a place or of ending a turn can forget what follows from it, nothing is left to
//! be made up for after a crash, and whatever follows is done once, since writers take turns.

use crate::Result;
use crate::transition::Work;

impl Work {
    /// Works off what is due until nothing is.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        loop {
            // Moves first: they decide which step a card is in when the rest is looked at.
            if let Some(session) = self.due.sessions.pop_first() {
                self.apply_pending_move(session).await?;
            } else if let Some(parent) = self.due.parents.pop_first() {
                self.children_completed(parent).await?;
            } else if let Some(task) = self.due.predecessors.pop_first() {
                self.release_dependants(task).await?;
            } else if let Some(step) = self.due.places.pop_first() {
                self.promote(step).await?;
            } else if let Some(session) = self.due.runs.pop_first() {
                // Last: whatever the others put into the session's queue belongs to its run.
                self.settle_run(session).await?;
            } else {
                return Ok(());
            }
        }
    }
}
