//! What the workflow does before a transaction commits.
//!
//! A transaction may free a place, end a turn that a move waits for, complete a task that others wait for, or end the last part
//! of a parent. Whoever writes that only notes it here. Before the commit the notes are worked off in the same transaction,
//! until there are none: so no way of freeing a place or of ending a turn can forget what follows from it, nothing is left to
//! be made up for after a crash, and whatever follows is done once, since writers take turns.

use crate::Result;
use crate::transition::Work;
use domain::ids::{SessionId, StepId, TaskId};
use domain::task::Task;
use std::collections::BTreeSet;

/// What is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Steps with a place that may be free.
    places: BTreeSet<StepId>,
    /// Sessions whose turn may be over.
    sessions: BTreeSet<SessionId>,
    /// Tasks whose dependants may be free, or show another reason.
    predecessors: BTreeSet<TaskId>,
    /// Tasks whose parts may all have ended.
    parents: BTreeSet<TaskId>,
    /// Cards that were promoted in this transaction: none is twice, so steps that feed one another in a circle come to an end.
    pub(crate) promoted: Vec<TaskId>,
}

impl Due {
    pub(crate) fn place_freed(&mut self, step: StepId) {
        self.places.insert(step);
    }

    pub(crate) fn at_rest(&mut self, session: SessionId) {
        self.sessions.insert(session);
    }

    pub(crate) fn predecessor_changed(&mut self, task: TaskId) {
        self.predecessors.insert(task);
    }

    pub(crate) fn part_ended(&mut self, parent: Option<TaskId>) {
        self.parents.extend(parent);
    }

    /// A task's state is another one now.
    pub(crate) fn state_changed(&mut self, task: &Task, was_over: bool) {
        let is_over = task.state.is_terminal();
        if is_over || was_over {
            self.predecessor_changed(task.id);
        }
        if is_over && !was_over {
            self.part_ended(task.parent_id);
            if task.wip_admitted {
                self.place_freed(task.workflow_step_id);
            }
        }
        if was_over && !is_over && !task.wip_admitted {
            self.place_freed(task.workflow_step_id);
        }
    }
}

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
            } else {
                return Ok(());
            }
        }
    }
}
