//! Dependencies between tasks: what blocks a task, in words, and the refusal of circles.
//!
//! A parent says "part of", a dependency says "not before". Only COMPLETED resolves one; a predecessor that failed, was given
//! up or was archived before it was completed keeps its dependants blocked until somebody does something about it.

use crate::error::Refusal;
use crate::ids::TaskId;
use crate::task::TaskState;
use serde_json::json;
use std::collections::{HashMap, HashSet, VecDeque};

words! {
    /// What a deferred launch starts.
    LaunchIntent("intent") {
        /// The first prompt that the task was made with.
        Start = "start",
        /// The entry into the step the card stands in.
        EnterStep = "enter_step",
    }
}

/// A task that another waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predecessor {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Its state.
    pub state: TaskState,
    /// It is archived.
    pub archived: bool,
}

impl Predecessor {
    /// It no longer blocks anybody.
    #[must_use]
    pub const fn is_resolved(&self) -> bool {
        matches!(self.state, TaskState::Completed)
    }

    fn matter(&self) -> String {
        let title = &self.title;
        match self.state {
            TaskState::Failed | TaskState::Cancelled => format!(
                "\"{title}\" is {} and does not unblock it: complete that task, or remove the dependency",
                self.state
            ),
            TaskState::Todo
            | TaskState::Created
            | TaskState::Scheduling
            | TaskState::InProgress
            | TaskState::Review
            | TaskState::Blocked
            | TaskState::WaitingForInput
            | TaskState::Completed
                if self.archived =>
            {
                format!(
                    "\"{title}\" was archived before it was completed: unarchive that task, or remove the dependency"
                )
            }
            TaskState::Todo
            | TaskState::Created
            | TaskState::Scheduling
            | TaskState::InProgress
            | TaskState::Review
            | TaskState::Blocked
            | TaskState::WaitingForInput
            | TaskState::Completed => format!("waits for \"{title}\" ({})", self.state),
        }
    }
}

/// Why a task with these predecessors is blocked, naming each that blocks it; `None` when it is not.
#[must_use]
pub fn blocked_reason<'a>(
    predecessors: impl IntoIterator<Item = &'a Predecessor>,
) -> Option<String> {
    let matters: Vec<String> = predecessors
        .into_iter()
        .filter(|p| !p.is_resolved())
        .map(Predecessor::matter)
        .collect();
    (!matters.is_empty()).then(|| matters.join("; "))
}

/// The shortest way from `from` to `to` along edges `(task, depends on)`, both ends included.
#[must_use]
pub fn path(edges: &[(TaskId, TaskId)], from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
    let mut next: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for (task, depends_on) in edges {
        next.entry(*task).or_default().push(*depends_on);
    }
    let mut came_from: HashMap<TaskId, TaskId> = HashMap::new();
    let mut seen = HashSet::from([from]);
    let mut queue = VecDeque::from([from]);
    while let Some(task) = queue.pop_front() {
        if task == to {
            let mut path = vec![to];
            let mut at = to;
            while let Some(before) = came_from.get(&at) {
                path.push(*before);
                at = *before;
            }
            path.reverse();
            return Some(path);
        }
        for depends_on in next.get(&task).into_iter().flatten() {
            if seen.insert(*depends_on) {
                came_from.insert(*depends_on, task);
                queue.push_back(*depends_on);
            }
        }
    }
    None
}

/// The refusal of an edge that would close a circle. `path` leads from the task through the wanted predecessor back to it.
#[must_use]
pub fn cycle(path: &[(TaskId, String)]) -> Refusal {
    let titles: Vec<String> = path
        .iter()
        .map(|(_, title)| format!("\"{title}\""))
        .collect();
    let ids: Vec<TaskId> = path.iter().map(|(id, _)| *id).collect();
    Refusal {
        details: Some(json!({"path": ids})),
        ..Refusal::validation(format!(
            "these tasks would wait for one another: {}; remove one of these dependencies first",
            titles.join(" → ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predecessor(state: TaskState, archived: bool) -> Predecessor {
        Predecessor {
            id: TaskId::new(),
            title: "First".to_owned(),
            state,
            archived,
        }
    }

    #[test]
    fn only_completed_resolves() {
        for state in TaskState::ALL {
            for archived in [false, true] {
                let one = predecessor(*state, archived);
                let reason = blocked_reason([&one]);
                assert_eq!(
                    reason.is_none(),
                    *state == TaskState::Completed,
                    "{state} {archived}"
                );
                if let Some(reason) = reason {
                    assert!(reason.contains("\"First\""), "{reason}");
                }
            }
        }
        assert_eq!(blocked_reason([]), None);
    }

    #[test]
    fn a_path_is_the_shortest_one_and_ends_in_circles_too() {
        let t: Vec<TaskId> = (0..5).map(|_| TaskId::new()).collect();
        let edges = [
            (t[0], t[1]),
            (t[1], t[2]),
            (t[2], t[3]),
            (t[0], t[2]),
            (t[3], t[2]),
        ];
        assert_eq!(path(&edges, t[0], t[3]), Some(vec![t[0], t[2], t[3]]));
        assert_eq!(path(&edges, t[3], t[0]), None);
        assert_eq!(path(&edges, t[4], t[4]), Some(vec![t[4]]));
    }
}
