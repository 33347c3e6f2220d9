//! Changes that are shown before the server has confirmed them.
//!
//! They lie over what the server said last and never become part of it: when one is confirmed the board is read again, when it is
//! refused it is simply taken away, and things are where they were.

use domain::ids::{StepId, TaskId};
use domain::view::TaskView;

/// A place on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The column.
    pub step: StepId,
    /// The card that comes after it; at the end when there is none.
    pub before: Option<TaskId>,
}

/// What an operator did to the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The card is somewhere else.
    Moved {
        /// Which card.
        task: TaskId,
        /// Where it is now.
        slot: Slot,
    },
    /// The card is archived or deleted.
    Gone(TaskId),
}

impl Change {
    /// Carries it out on a list of tasks in board order. A task that is no longer there is passed over.
    pub fn apply(self, tasks: &mut Vec<TaskView>) {
        match self {
            Self::Gone(id) => tasks.retain(|task| task.id != id),
            Self::Moved { task: id, slot } => {
                let Some(at) = tasks.iter().position(|task| task.id == id) else {
                    return;
                };
                let mut task = tasks.remove(at);
                task.workflow_step_id = slot.step;
                let next = slot.before.and_then(|before| {
                    let is_next = |other: &TaskView| {
                        other.id == before && other.workflow_step_id == slot.step
                    };
                    tasks.iter().position(is_next)
                });
                tasks.insert(next.unwrap_or(tasks.len()), task);
            }
        }
    }
}

/// Where a card is: the card after it in its column, in board order.
#[must_use]
pub fn slot_of(tasks: &[TaskView], id: TaskId) -> Option<Slot> {
    let at = tasks.iter().position(|task| task.id == id)?;
    let step = tasks.get(at)?.workflow_step_id;
    let after = tasks.get(at + 1..)?;
    let before = after.iter().find(|task| task.workflow_step_id == step);
    Some(Slot {
        step,
        before: before.map(|task| task.id),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use domain::ids::{WorkflowId, WorkspaceId};
    use domain::task::{Origin, Purpose, TaskState, TitleMode};
    use domain::time::Timestamp;
    use domain::view::Revision;

    /// A task of which only its place matters.
    pub(crate) fn task(step: StepId) -> TaskView {
        TaskView {
            id: TaskId::new(),
            workspace_id: WorkspaceId::new(),
            workflow_id: WorkflowId::new(),
            workflow_step_id: step,
            title: String::new(),
            description: String::new(),
            state: TaskState::Todo,
            priority: None,
            position: 0,
            wip_admitted: true,
            queued_for_step_id: None,
            queued_at: None,
            pending_move_step_id: None,
            workflow_notice: None,
            blocked: false,
            blocked_reason: None,
            depends_on: Vec::new(),
            blocks: Vec::new(),
            start_when_unblocked: false,
            parent_id: None,
            autopilot: false,
            purpose: Purpose::Work,
            origin: Origin::Manual,
            external_id: None,
            title_mode: TitleMode::Settled,
            agent_profile_id: None,
            executor_profile_id: None,
            working_directory: None,
            interrupted: false,
            archived_at: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            primary_session_id: None,
            primary_session_state: None,
            primary_session_pending_action: None,
            task_pending_action: None,
            pending_action_revision: Revision {
                epoch: 0,
                sequence: 0,
            },
            needs_operator: false,
            session_count: 0,
            queued_prompt_count: 0,
            primary_agent_name: None,
            primary_executor_id: None,
            primary_executor_profile_id: None,
            primary_executor_name: None,
            error_message: None,
            turn_started_at: None,
            repositories: Vec::new(),
            prs: Vec::new(),
        }
    }

    fn column(tasks: &[TaskView], step: StepId) -> Vec<TaskId> {
        let within = tasks.iter().filter(|task| task.workflow_step_id == step);
        within.map(|task| task.id).collect()
    }

    #[test]
    fn a_card_moves_between_and_within_columns() {
        let [todo, done] = [(); 2].map(|()| StepId::new());
        let mut tasks = vec![task(todo), task(todo), task(done), task(done)];
        let [a, b, x, y] = [0, 1, 2, 3].map(|at: usize| tasks[at].id);
        let moved = |task, step, before| Change::Moved {
            task,
            slot: Slot { step, before },
        };
        moved(a, done, Some(y)).apply(&mut tasks);
        assert_eq!(column(&tasks, todo), [b]);
        assert_eq!(column(&tasks, done), [x, a, y]);
        assert_eq!(
            slot_of(&tasks, a),
            Some(Slot {
                step: done,
                before: Some(y)
            })
        );
        moved(x, done, None).apply(&mut tasks);
        assert_eq!(column(&tasks, done), [a, y, x]);
        assert_eq!(
            slot_of(&tasks, x),
            Some(Slot {
                step: done,
                before: None
            })
        );
        // The card it was to stand before has left in the meantime.
        moved(b, done, Some(TaskId::new())).apply(&mut tasks);
        assert_eq!(column(&tasks, done), [a, y, x, b]);
        Change::Gone(y).apply(&mut tasks);
        assert_eq!(column(&tasks, done), [a, x, b]);
        let before = tasks.clone();
        moved(y, todo, None).apply(&mut tasks);
        assert_eq!(tasks, before, "a card that is gone comes back by no move");
    }
}
