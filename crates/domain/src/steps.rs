//! Setting up the steps of a workflow: what a step may be changed to, where a new one goes, and what goes with one that is removed.

use crate::error::Refusal;
use crate::ids::StepId;
use crate::name;
use crate::params::UpdateStep;
use crate::wip::check_feeder;
use crate::workflow::{CompleteAction, MoveAction, Step, StepEvents};

/// Longest name of a step, in code points.
pub const MAX_NAME: usize = 60;
/// Most steps of a workflow: a board that nobody can look over helps nobody.
pub const MAX_STEPS: usize = 50;
/// Most actions of a step at one moment: each is carried out within the move of a card.
pub const MAX_ACTIONS: usize = 10;
/// Longest word for a colour.
const MAX_COLOR: usize = 32;

/// A step as a change makes it. `steps` are all of its workflow, itself among them. Its place is another matter: see [`placed`].
///
/// Refused: an empty or long name, a colour that is no word, a negative number, a feeder of another workflow or in a circle, an
/// event that leads to another workflow's step, more actions than [`MAX_ACTIONS`], a profile beside a configuration of sessions.
pub fn changed(step: &Step, change: &UpdateStep, steps: &[Step]) -> Result<Step, Refusal> {
    let mut step = step.clone();
    if let Some(name) = &change.name {
        step.name.clone_from(name);
    }
    step.name = name::check("name", &step.name, MAX_NAME, "call the step something")?;
    if let Some(color) = &change.color {
        step.color = check_color(color)?;
    }
    if let Some(prompt) = &change.prompt {
        step.prompt.clone_from(prompt);
    }
    if let Some(events) = &change.events {
        check_events(events, steps)?;
        step.events = events.clone();
    }
    if let Some(limit) = change.wip_limit {
        step.wip_limit = not_negative("wip_limit must be 0, for no limit, or more", limit)?;
    }
    if let Some(hours) = change.auto_archive_after_hours {
        step.auto_archive_after_hours = not_negative(
            "auto_archive_after_hours must be 0, for never, or more",
            hours,
        )?;
    }
    if let Some(feeder) = change.pull_from_step_id {
        if let Some(feeder) = feeder {
            check_feeder(step.id, feeder, steps)?;
        }
        step.pull_from_step_id = feeder;
    }
    step.agent_profile_id = change.agent_profile_id.unwrap_or(step.agent_profile_id);
    step.stage_type = change.stage_type.unwrap_or(step.stage_type);
    for (field, wanted) in [
        (&mut step.allow_manual_move, change.allow_manual_move),
        (&mut step.is_start_step, change.is_start_step),
        (
            &mut step.show_in_command_panel,
            change.show_in_command_panel,
        ),
        (
            &mut step.auto_advance_requires_signal,
            change.auto_advance_requires_signal,
        ),
        (
            &mut step.cancel_triggers_turn_complete,
            change.cancel_triggers_turn_complete,
        ),
    ] {
        *field = wanted.unwrap_or(*field);
    }
    if step.agent_profile_id.is_some() && step.configures_sessions() {
        return Err(Refusal::validation(
            "a step either pins an agent profile or configures the session: take one of the two out",
        ));
    }
    Ok(step)
}

fn not_negative(otherwise: &str, number: i64) -> Result<i64, Refusal> {
    if number < 0 {
        return Err(Refusal::validation(otherwise));
    }
    Ok(number)
}

/// A colour is a name of the board's, or the number of one.
fn check_color(color: &str) -> Result<String, Refusal> {
    let color = color.trim();
    let word = color.strip_prefix('#').unwrap_or(color);
    let fits = !word.is_empty()
        && color.len() <= MAX_COLOR
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !fits {
        return Err(Refusal::validation(
            "color must be a word such as neutral, running, review or done, or a number such as #4f46e5",
        ));
    }
    Ok(color.to_owned())
}

/// Refuses events that lead to a step of another workflow: they would be ignored when their moment comes.
fn check_events(events: &StepEvents, steps: &[Step]) -> Result<(), Refusal> {
    let most = [
        events.on_enter.len(),
        events.on_turn_start.len(),
        events.on_turn_complete.len(),
        events.on_exit.len(),
        events.on_children_completed.len(),
    ];
    if most.into_iter().any(|actions| actions > MAX_ACTIONS) {
        return Err(Refusal::validation(format!(
            "events: a step has at most {MAX_ACTIONS} actions at one moment"
        )));
    }
    let mut words = events
        .on_enter
        .iter()
        .filter_map(|action| action.beside()?.prompt);
    if words.any(|words| words.contains('\0')) {
        return Err(Refusal::validation(
            "events: prompt must not hold the character NUL",
        ));
    }
    let foreign = moves(events).any(|action| match action {
        MoveAction::MoveToStep { step_id } => !steps.iter().any(|step| step.id == *step_id),
        MoveAction::MoveToNext | MoveAction::MoveToPrevious => false,
    });
    if foreign {
        return Err(Refusal::validation(
            "events: move_to_step must name a step of the same workflow",
        ));
    }
    Ok(())
}

fn moves(events: &StepEvents) -> impl Iterator<Item = &MoveAction> {
    let on_complete = events
        .on_turn_complete
        .iter()
        .filter_map(|action| match action {
            CompleteAction::Move(action) => Some(action),
            CompleteAction::Plan(_) => None,
        });
    events
        .on_turn_start
        .iter()
        .chain(on_complete)
        .chain(&events.on_children_completed)
}

/// `order` with `id` at `position`, or at the end; where it was before does not matter.
#[must_use]
pub fn placed<T: Copy + PartialEq>(order: &[T], id: T, position: Option<i64>) -> Vec<T> {
    let mut order: Vec<T> = order.iter().copied().filter(|other| *other != id).collect();
    let at = position
        .and_then(|position| usize::try_from(position.max(0)).ok())
        .map_or(order.len(), |position| position.min(order.len()));
    order.insert(at, id);
    order
}

/// Refuses an order that leaves one out, names one twice or names a stranger; `noun` says what is put in order.
pub fn check_order<T: Copy + Ord>(noun: &str, known: &[T], wanted: &[T]) -> Result<(), Refusal> {
    let sorted = |ids: &[T]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    };
    if sorted(known) != sorted(wanted) {
        return Err(Refusal::validation(format!(
            "the order must name each {noun} exactly once: there are {}, read them again",
            known.len()
        )));
    }
    Ok(())
}

/// Refuses to remove a step that cards are in, or wait to come into.
pub fn check_empty(step: &Step, cards: i64) -> Result<(), Refusal> {
    if cards > 0 {
        return Err(Refusal::conflict(format!(
            "\"{}\" has {cards} tasks in it or on their way to it, archived ones counted: move or delete them first",
            step.name
        )));
    }
    Ok(())
}

/// The steps whose events lead to the step that goes, as they are without it: an action without a target could only be ignored.
#[must_use]
pub fn without_ways_to(gone: StepId, steps: &[Step]) -> Vec<Step> {
    let stays = |action: &MoveAction| !matches!(action, MoveAction::MoveToStep { step_id } if *step_id == gone);
    steps
        .iter()
        .filter(|step| step.id != gone && !moves(&step.events).all(stays))
        .map(|step| {
            let mut step = step.clone();
            step.events.on_turn_start.retain(stays);
            step.events.on_children_completed.retain(stays);
            step.events.on_turn_complete.retain(|action| match action {
                CompleteAction::Move(action) => stays(action),
                CompleteAction::Plan(_) => true,
            });
            step
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;
    use crate::ids::WorkflowId;
    use crate::workflow::{EnterAction, StageType, blank, kanban_steps};

    fn kanban() -> Vec<Step> {
        kanban_steps(WorkflowId::new())
    }

    #[test]
    fn a_change_leaves_the_rest_as_it_is() {
        let steps = kanban();
        let change = UpdateStep {
            name: Some(" Look ".to_owned()),
            color: Some("#4f46e5".to_owned()),
            stage_type: Some(StageType::Approval),
            is_start_step: Some(true),
            ..UpdateStep::default()
        };
        let expected = Step {
            name: "Look".to_owned(),
            color: "#4f46e5".to_owned(),
            stage_type: StageType::Approval,
            is_start_step: true,
            ..steps[2].clone()
        };
        assert_eq!(changed(&steps[2], &change, &steps), Ok(expected));
        let nothing = changed(&steps[2], &UpdateStep::default(), &steps);
        assert_eq!(nothing.as_ref(), Ok(&steps[2]));
    }

    #[test]
    fn what_could_not_work_is_refused() {
        let steps = kanban();
        let to = |step_id| StepEvents {
            on_turn_complete: vec![MoveAction::MoveToStep { step_id }.into()],
            ..StepEvents::default()
        };
        let configures = StepEvents {
            on_enter: vec![EnterAction::ConfigureSession { rules: Vec::new() }],
            ..StepEvents::default()
        };
        for change in [
            UpdateStep {
                name: Some("  ".to_owned()),
                ..UpdateStep::default()
            },
            UpdateStep {
                name: Some("x".repeat(MAX_NAME + 1)),
                ..UpdateStep::default()
            },
            UpdateStep {
                color: Some("red; background: url(x)".to_owned()),
                ..UpdateStep::default()
            },
            UpdateStep {
                wip_limit: Some(-1),
                ..UpdateStep::default()
            },
            UpdateStep {
                auto_archive_after_hours: Some(-1),
                ..UpdateStep::default()
            },
            UpdateStep {
                pull_from_step_id: Some(Some(steps[0].id)),
                ..UpdateStep::default()
            },
            UpdateStep {
                events: Some(StepEvents {
                    on_enter: vec![EnterAction::ClearDecisions; MAX_ACTIONS + 1],
                    ..StepEvents::default()
                }),
                ..UpdateStep::default()
            },
            UpdateStep {
                events: Some(to(StepId::new())),
                ..UpdateStep::default()
            },
            UpdateStep {
                events: Some(configures),
                agent_profile_id: Some(Some(crate::ids::ProfileId::new())),
                ..UpdateStep::default()
            },
        ] {
            let refused = changed(&steps[0], &change, &steps).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Validation, "{change:?}");
        }
        let blank = blank(StepId::new(), steps[0].workflow_id);
        assert!(
            changed(&blank, &UpdateStep::default(), &steps).is_err(),
            "a new step has a name"
        );
    }

    #[test]
    fn a_place_is_counted_among_the_others() {
        assert_eq!(placed(&[1, 2, 3], 9, None), [1, 2, 3, 9]);
        assert_eq!(placed(&[1, 2, 3], 9, Some(0)), [9, 1, 2, 3]);
        assert_eq!(placed(&[1, 2, 3], 1, Some(1)), [2, 1, 3]);
        assert_eq!(placed(&[1, 2, 3], 2, Some(99)), [1, 3, 2]);
        assert_eq!(placed(&[1, 2, 3], 3, Some(-5)), [3, 1, 2]);
    }

    #[test]
    fn an_order_names_each_once() {
        assert!(check_order("step", &[1, 2, 3], &[3, 1, 2]).is_ok());
        for wrong in [&[1, 2][..], &[1, 2, 2], &[1, 2, 4], &[1, 2, 3, 3]] {
            assert!(check_order("step", &[1, 2, 3], wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ways_to_a_step_that_goes_are_taken_out() {
        let steps = kanban();
        // The end of a turn in Backlog leads to Review.
        let changed = without_ways_to(steps[2].id, &steps);
        assert_eq!(
            changed.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["Backlog"]
        );
        assert!(changed[0].events.on_turn_complete.is_empty());
        assert_eq!(
            changed[0].events.on_turn_start,
            steps[0].events.on_turn_start
        );
        assert!(without_ways_to(StepId::new(), &steps).is_empty());
    }
}
