//! What a transaction notes down to be looked at before it commits; see `settle`.

use domain::ids::{SessionId, StepId, TaskId};
use domain::task::Task;
use std::collections::BTreeSet;

/// What is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Steps with a place that may be free.
    pub(crate) places: BTreeSet<StepId>,
    /// Sessions whose turn may be over.
    pub(crate) sessions: BTreeSet<SessionId>,
    /// Tasks whose dependants may be free, or show another reason.
    pub(crate) predecessors: BTreeSet<TaskId>,
    /// Tasks whose parts may all have ended.
    pub(crate) parents: BTreeSet<TaskId>,
    /// Sessions whose run may be over.
    pub(crate) runs: BTreeSet<SessionId>,
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
