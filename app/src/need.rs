//! What needs the operator, judged by the state icon, so that count, list and icon cannot disagree.

use crate::components::task_mark::TaskMark;

/// Whether a task in this state waits for the operator. A child that waits for its parent does not; a failure does, since nobody
/// else will pick it up.
#[must_use]
pub const fn needs_operator(mark: TaskMark) -> bool {
    match mark {
        TaskMark::Permission
        | TaskMark::Question
        | TaskMark::WaitingForInput
        | TaskMark::Interrupted
        | TaskMark::Failed => true,
        TaskMark::ParentQuestion
        | TaskMark::Running
        | TaskMark::Preparing
        | TaskMark::Blocked
        | TaskMark::Cancelled
        | TaskMark::WorkflowComplete
        | TaskMark::TurnFinished
        | TaskMark::Backlog => false,
    }
}

/// Whether it waits with something to be answered: a permission or a question. The inbox lists those one by one.
#[must_use]
pub const fn asks_something(mark: TaskMark) -> bool {
    matches!(mark, TaskMark::Permission | TaskMark::Question)
}

#[test]
fn a_question_to_the_parent_is_not_the_operators() {
    assert!(needs_operator(TaskMark::Question));
    assert!(!needs_operator(TaskMark::ParentQuestion));
}
