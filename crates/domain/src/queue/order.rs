//! Reordering what waits, as one wish: the order of everything that is visible, or nothing.

use super::{Lane, QueuedPrompt};
use crate::error::Refusal;
use crate::ids::PromptId;
use std::collections::HashMap;

/// Where a prompt stands after a reorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which one.
    pub id: PromptId,
    /// Its lane.
    pub lane: Lane,
    /// Its place in it.
    pub position: i64,
}

/// The places that put the visible `rows` (given in delivery order) into the order of `wanted`.
///
/// `wanted` must name exactly the visible prompts, each once: who reorders has seen all of them, or is told to look again.
/// Questions and answers keep their places. A prompt stays express as long as only express ones are before it: what an operator
/// puts behind a held prompt waits with it.
pub fn reorder(rows: &[QueuedPrompt], wanted: &[PromptId]) -> Result<Vec<Place>, Refusal> {
    let visible: HashMap<PromptId, &QueuedPrompt> = rows
        .iter()
        .filter(|row| row.is_visible())
        .map(|row| (row.id, row))
        .collect();
    let mut ordered = Vec::with_capacity(wanted.len());
    let mut seen = std::collections::HashSet::new();
    for id in wanted {
        match visible.get(id) {
            Some(row) if seen.insert(*id) => ordered.push(*row),
            Some(_) | None => return Err(changed()),
        }
    }
    if ordered.len() != visible.len() {
        return Err(changed());
    }
    let mut positions: Vec<i64> = visible.values().map(|row| row.position).collect();
    positions.sort_unstable();
    let mut lane = Lane::Express;
    Ok(ordered
        .into_iter()
        .zip(positions)
        .map(|(row, position)| {
            lane = lane.max(row.lane);
            Place {
                id: row.id,
                lane,
                position,
            }
        })
        .collect())
}

fn changed() -> Refusal {
    Refusal::conflict(
        "the queue is another by now: read it again, and give every prompt that waits exactly once",
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::super::{QueuedState, next};
    use super::*;
    use crate::error::ErrorCode;
    use crate::ids::QuestionId;

    fn at(lane: Lane, position: i64) -> QueuedPrompt {
        QueuedPrompt {
            position,
            ..row(lane, QueuedState::Queued)
        }
    }

    fn applied(rows: &[QueuedPrompt], places: &[Place]) -> Vec<QueuedPrompt> {
        let mut rows = rows.to_vec();
        for row in &mut rows {
            if let Some(place) = places.iter().find(|place| place.id == row.id) {
                (row.lane, row.position) = (place.lane, place.position);
            }
        }
        rows.sort_by_key(|row| (row.lane, row.position));
        rows
    }

    #[test]
    fn what_is_wanted_is_the_order_of_delivery() {
        let rows = [
            at(Lane::Express, 7),
            at(Lane::Normal, 1),
            at(Lane::Normal, 4),
        ];
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1], [2, 1, 0]] {
            let wanted: Vec<PromptId> = order.iter().map(|n: &usize| rows[*n].id).collect();
            let places = reorder(&rows, &wanted).unwrap();
            let after = applied(&rows, &places);
            let found: Vec<PromptId> = after.iter().map(|row| row.id).collect();
            assert_eq!(found, wanted);
            assert_eq!(
                next(&after, super::super::Gate::default()).unwrap().id,
                wanted[0]
            );
        }
    }

    #[test]
    fn a_question_keeps_its_place_between_others() {
        let mut rows = [
            at(Lane::Normal, 1),
            at(Lane::Normal, 2),
            at(Lane::Normal, 3),
        ];
        rows[1].question_id = Some(QuestionId::new());
        let places = reorder(&rows, &[rows[2].id, rows[0].id]).unwrap();
        let after = applied(&rows, &places);
        let found: Vec<PromptId> = after.iter().map(|row| row.id).collect();
        assert_eq!(found, [rows[2].id, rows[1].id, rows[0].id]);
    }

    #[test]
    fn a_set_that_is_not_the_visible_one_is_refused_as_a_whole() {
        let mut rows = [
            at(Lane::Normal, 1),
            at(Lane::Normal, 2),
            at(Lane::Normal, 3),
        ];
        rows[2].state = QueuedState::Attempted;
        let (one, two, sent) = (rows[0].id, rows[1].id, rows[2].id);
        for wanted in [
            vec![one],
            vec![one, one],
            vec![one, two, two],
            vec![one, two, sent],
            vec![one, PromptId::new()],
            vec![],
        ] {
            let refusal = reorder(&rows, &wanted).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::Conflict);
        }
        assert!(reorder(&rows, &[two, one]).is_ok());
    }
}
