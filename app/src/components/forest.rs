//! Tasks as a forest: who is part of whom, in an order that stays.
//!
//! Parents come newest first, parts in the order they were made. A task whose parent is not in the list is a root, and so is one
//! whose line of parents runs in a circle: no task is ever lost from sight.

use super::request_mark::Requests;
use super::task_mark::{Facts, TaskMark, mark};
use crate::order::by_rank;
use domain::ids::{StepId, TaskId};
use domain::time::Timestamp;
use domain::view::TaskView;
use std::collections::{BTreeMap, BTreeSet};

/// What a row shows.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskNode {
    /// The task.
    pub id: TaskId,
    /// The task it is part of.
    pub parent_id: Option<TaskId>,
    /// Its title.
    pub title: String,
    /// Its state icon.
    pub mark: TaskMark,
    /// Works alone.
    pub autopilot: bool,
    /// The requests that it cares for.
    pub requests: Option<Requests>,
    /// The last part of the name of the repository that it is about first.
    pub repository: Option<String>,
    /// Prompts that wait.
    pub queued: usize,
    /// Its place in the line for a step that is full, from 1.
    pub place_in_line: Option<usize>,
    /// Last change.
    pub updated_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
}

impl TaskNode {
    /// The row of a task whose workflow ends with `last_step` and that stands at this place in the line for a full step.
    #[must_use]
    pub fn of(task: &TaskView, last_step: Option<StepId>, place_in_line: Option<usize>) -> Self {
        Self {
            id: task.id,
            parent_id: task.parent_id,
            title: task.title.clone(),
            mark: mark(Facts::of(task, last_step)),
            autopilot: task.autopilot,
            requests: Requests::of(&task.prs),
            repository: task.repositories.first().map(|repository| {
                let name = repository.name.as_str();
                name.rsplit('/').next().unwrap_or(name).to_owned()
            }),
            queued: usize::try_from(task.queued_prompt_count).unwrap_or(0),
            place_in_line,
            updated_at: task.updated_at,
            created_at: task.created_at,
        }
    }
}

/// Tasks with their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    nodes: BTreeMap<TaskId, TaskNode>,
    /// Parts by parent; roots under `None`.
    branches: BTreeMap<Option<TaskId>, Vec<TaskId>>,
}

impl Forest {
    /// Arranges a list of tasks.
    #[must_use]
    pub fn new(list: Vec<TaskNode>) -> Self {
        let nodes: BTreeMap<TaskId, TaskNode> =
            list.into_iter().map(|node| (node.id, node)).collect();
        let mut branches: BTreeMap<Option<TaskId>, Vec<TaskId>> = BTreeMap::new();
        for node in nodes.values() {
            branches
                .entry(parent_within(&nodes, node))
                .or_default()
                .push(node.id);
        }
        for (parent, parts) in &mut branches {
            // They are in the order of their ids, which decides between those of the same instant.
            let made = |id: TaskId| nodes.get(&id).map_or(0, |node| node.created_at.millis());
            by_rank(parts, &made);
            if parent.is_none() {
                parts.reverse();
            }
        }
        Self { nodes, branches }
    }

    /// The same tasks in the order of `before` as far as it goes, so that nothing moves under a pointer; what is new comes last.
    #[must_use]
    pub fn in_order_of(mut self, before: &Self) -> Self {
        for (parent, parts) in &mut self.branches {
            let old = before.parts(*parent);
            by_rank(parts, &|id| {
                let place = old.iter().position(|old| *old == id);
                place
                    .and_then(|place| i64::try_from(place).ok())
                    .unwrap_or(i64::MAX)
            });
        }
        self
    }

    /// The parts of a task in order, or the roots.
    #[must_use]
    pub fn parts(&self, parent: Option<TaskId>) -> &[TaskId] {
        self.branches.get(&parent).map_or(&[], Vec::as_slice)
    }

    /// A task.
    #[must_use]
    pub fn node(&self, id: TaskId) -> Option<&TaskNode> {
        self.nodes.get(&id)
    }

    /// Whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The tasks above this one that must be unfolded for it to be seen, nearest first.
    #[must_use]
    pub fn ancestors(&self, id: TaskId) -> Vec<TaskId> {
        let mut found = Vec::new();
        let mut at = self
            .node(id)
            .and_then(|node| parent_within(&self.nodes, node));
        while let Some(parent) = at {
            found.push(parent);
            at = self
                .node(parent)
                .and_then(|node| parent_within(&self.nodes, node));
        }
        found
    }
}

/// The parent, if it is in the list and the line of parents from there ends.
fn parent_within(nodes: &BTreeMap<TaskId, TaskNode>, node: &TaskNode) -> Option<TaskId> {
    let parent = node.parent_id.filter(|parent| nodes.contains_key(parent))?;
    let mut seen = BTreeSet::from([node.id]);
    let mut at = Some(parent);
    while let Some(id) = at {
        if !seen.insert(id) {
            return None;
        }
        at = nodes.get(&id).and_then(|node| node.parent_id);
    }
    Some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: TaskId, parent_id: Option<TaskId>, at: i64) -> TaskNode {
        TaskNode {
            id,
            parent_id,
            title: String::new(),
            mark: TaskMark::Backlog,
            autopilot: false,
            requests: None,
            repository: None,
            queued: 0,
            place_in_line: None,
            updated_at: Timestamp::from_millis(at),
            created_at: Timestamp::from_millis(at),
        }
    }

    #[test]
    fn roots_newest_first_and_parts_in_the_order_they_were_made() {
        let [a, b, a1, a2] = [(); 4].map(|()| TaskId::new());
        let forest = Forest::new(vec![
            node(a2, Some(a), 4),
            node(b, None, 2),
            node(a, None, 1),
            node(a1, Some(a), 3),
        ]);
        assert_eq!(forest.parts(None), [b, a]);
        assert_eq!(forest.parts(Some(a)), [a1, a2]);
        assert_eq!(forest.ancestors(a2), [a]);
        assert!(forest.parts(Some(b)).is_empty());
    }

    #[test]
    fn no_task_is_lost_with_its_parent_or_in_a_circle() {
        let [orphan, x, y, gone] = [(); 4].map(|()| TaskId::new());
        let forest = Forest::new(vec![
            node(orphan, Some(gone), 1),
            node(x, Some(y), 2),
            node(y, Some(x), 3),
        ]);
        assert_eq!(forest.parts(None), [y, x, orphan]);
        assert!(forest.ancestors(x).is_empty());
    }

    #[test]
    fn nothing_moves_under_the_pointer() {
        let [a, b, c] = [(); 3].map(|()| TaskId::new());
        let before = Forest::new(vec![node(a, None, 1), node(b, None, 2)]);
        let after = Forest::new(vec![node(a, None, 1), node(b, None, 2), node(c, None, 3)]);
        assert_eq!(after.parts(None), [c, b, a]);
        assert_eq!(after.in_order_of(&before).parts(None), [b, a, c]);
    }
}
