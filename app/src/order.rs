//! Putting tasks in order. A sort is 4 kB of code for each type and each comparison it is made for; this is the one for all.

use domain::ids::TaskId;

/// Lower ranks first; what has the same rank stays as it is.
pub fn by_rank(tasks: &mut [TaskId], rank: &dyn Fn(TaskId) -> i64) {
    tasks.sort_by_key(|task| rank(*task));
}

#[test]
fn the_last_order_counts_most_and_keeps_the_one_before() {
    let mut tasks: Vec<TaskId> = (0..4).map(|_| TaskId::new()).collect();
    let made = tasks.clone();
    let place = |task: TaskId| made.iter().position(|other| *other == task).unwrap_or(9);
    by_rank(&mut tasks, &|task| [3, 2, 1, 0][place(task)]);
    by_rank(&mut tasks, &|task| [0, 1, 0, 1][place(task)]);
    assert_eq!(tasks, [made[2], made[0], made[3], made[1]]);
}
