//! Limits of work in progress: who is admitted to a step, and where a new card waits that is not.

use crate::error::Refusal;
use crate::ids::{StepId, TaskId};
use crate::task::Priority;
use crate::view::TaskView;
use crate::workflow::Step;
use std::collections::BTreeMap;

/// A step and how many cards take a place in it.
#[derive(Debug, Clone, Copy)]
pub struct Load<'a> {
    /// The step.
    pub step: &'a Step,
    /// Cards that take a place: admitted, not archived, not over.
    pub taken: i64,
}

impl Load<'_> {
    /// Whether one more card may be admitted.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.step.wip_limit <= 0 || self.taken < self.step.wip_limit
    }
}

/// Where a new card goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Into the step.
    Admitted,
    /// Into the step, to wait for a place there.
    Queued,
    /// Into the step's feeder, to wait for a place in the step.
    Feeder(StepId),
}

/// Where a new card for a step goes (task-domain 1.14). With a feeder that is full too, nothing is made.
pub fn place_new(target: Load<'_>, feeder: Option<Load<'_>>) -> Result<Placement, Refusal> {
    if target.has_room() {
        return Ok(Placement::Admitted);
    }
    match feeder {
        None => Ok(Placement::Queued),
        Some(feeder) if feeder.has_room() => Ok(Placement::Feeder(feeder.step.id)),
        Some(feeder) => Err(Refusal::conflict(format!(
            "\"{}\" and \"{}\", which feeds it, are both full: finish or move a task there first, or choose another step",
            target.step.name, feeder.step.name
        ))),
    }
}

/// The place in the line of each card that waits for a step, from 1: cards in the step come before those that wait for it
/// elsewhere, each in the order of task-domain 1.14. `tasks` are all of a workspace.
#[must_use]
pub fn places_in_line(tasks: &[TaskView]) -> BTreeMap<TaskId, usize> {
    let mut waiting: Vec<(StepId, &TaskView)> = tasks
        .iter()
        .filter(|task| {
            task.waits_for_place() && !task.state.is_terminal() && task.archived_at.is_none()
        })
        .map(|task| {
            (
                task.queued_for_step_id.unwrap_or(task.workflow_step_id),
                task,
            )
        })
        .collect();
    waiting.sort_by_key(|(step, task)| {
        let urgency = task.priority.map_or(4, |priority| match priority {
            Priority::Critical => 0,
            Priority::High => 1,
            Priority::Medium => 2,
            Priority::Low => 3,
        });
        let elsewhere = task.workflow_step_id != *step;
        let since = task.queued_at.unwrap_or(task.created_at);
        (
            *step,
            elsewhere,
            task.position,
            urgency,
            since,
            task.created_at,
            task.id,
        )
    });
    let mut places = BTreeMap::new();
    let mut before = None;
    let mut place = 0;
    for (step, task) in waiting {
        place = if before == Some(step) { place + 1 } else { 1 };
        before = Some(step);
        places.insert(task.id, place);
    }
    places
}

/// Refuses a feeder that is of another workflow, is the step itself, or would feed in a circle.
pub fn check_feeder(step: StepId, feeder: StepId, steps: &[Step]) -> Result<(), Refusal> {
    if feeder == step {
        return Err(Refusal::validation("a step cannot feed itself"));
    }
    let mut at = steps.iter().find(|s| s.id == feeder).ok_or_else(|| {
        Refusal::validation("pull_from_step_id must be a step of the same workflow")
    })?;
    for _ in 0..=steps.len() {
        let Some(next) = at.pull_from_step_id else {
            return Ok(());
        };
        if next == step {
            break;
        }
        match steps.iter().find(|s| s.id == next) {
            Some(found) => at = found,
            None => return Ok(()),
        }
    }
    Err(Refusal::validation(format!(
        "these steps would feed one another in a circle: take \"{}\" out of it first",
        at.name
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::WorkflowId;
    use crate::workflow::kanban_steps;

    #[test]
    fn a_new_card_goes_where_there_is_room() {
        let mut steps = kanban_steps(WorkflowId::new());
        steps[0].wip_limit = 1;
        steps[1].wip_limit = 2;
        let load = |index: usize, taken| Load {
            step: &steps[index],
            taken,
        };
        let place = |target, feeder| place_new(target, feeder).map_err(|r| r.code.as_str());
        assert_eq!(place(load(1, 1), None), Ok(Placement::Admitted));
        assert_eq!(place(load(1, 2), None), Ok(Placement::Queued));
        assert_eq!(
            place(load(1, 2), Some(load(0, 0))),
            Ok(Placement::Feeder(steps[0].id))
        );
        assert_eq!(place(load(1, 2), Some(load(0, 1))), Err("CONFLICT"));
        assert_eq!(
            place(load(2, 99), None),
            Ok(Placement::Admitted),
            "no limit"
        );
    }

    #[test]
    fn feeders_stand_in_a_line() {
        let mut steps = kanban_steps(WorkflowId::new());
        let ids: Vec<StepId> = steps.iter().map(|s| s.id).collect();
        assert!(check_feeder(ids[1], ids[1], &steps).is_err());
        assert!(check_feeder(ids[1], StepId::new(), &steps).is_err());
        steps[1].pull_from_step_id = Some(ids[0]);
        steps[2].pull_from_step_id = Some(ids[1]);
        assert!(check_feeder(ids[3], ids[2], &steps).is_ok());
        assert!(check_feeder(ids[0], ids[2], &steps).is_err());
        // A circle that is there already ends too.
        steps[0].pull_from_step_id = Some(ids[2]);
        assert!(check_feeder(ids[3], ids[2], &steps).is_err());
    }
}
