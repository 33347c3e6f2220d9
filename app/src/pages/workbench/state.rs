//! What all pages know of the workspace, and what they can do to its tasks.
//!
//! The truth is what the server said last. Changes of the operator lie over it until they are confirmed or refused, so a press
//! shows at once and a refusal puts things back. Events say when to read again; reads never overlap, and an older answer never
//! replaces a newer one.

use super::changes::{Change, Slot, slot_of};
use crate::api::board_page::{Board, BoardStep, Named, board_page};
use crate::api::questions::{Asked, Asks, inbox};
use crate::api::tasks::{task_archive, task_delete, task_move, task_move_withdraw, task_unarchive};
use crate::components::forest::TaskNode;
use crate::components::states::what_happened;
use crate::components::task_mark::{Facts, TaskMark, mark};
use crate::components::toast::{Toasts, use_toasts};
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::need::{asks_something, needs_operator};
use crate::order::by_rank;
use crate::paths;
use domain::ids::{StepId, TaskId, WorkflowId, WorkspaceId};
use domain::moves::Disposition;
use domain::params::{BoardOf, MoveTask};
use domain::view::{TaskMoved, TaskView};
use domain::wip::places_in_line;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::collections::BTreeMap;
use std::time::Duration;

/// After a read that failed.
const READ_AGAIN: Duration = Duration::from_secs(3);

/// A workspace as the pages of the frame see it. In their context.
#[derive(Debug, Clone, Copy)]
pub struct Workbench {
    /// The workspace.
    pub workspace: Memo<Named<WorkspaceId>>,
    /// All workspaces, oldest first.
    pub workspaces: Memo<Vec<Named<WorkspaceId>>>,
    /// The workflow of the board.
    pub workflow: Memo<Named<WorkflowId>>,
    /// Its steps by position.
    pub steps: Memo<Vec<BoardStep>>,
    /// All unarchived tasks of the workspace in board order.
    pub tasks: Memo<Vec<TaskView>>,
    /// The same by id.
    pub by_id: Memo<BTreeMap<TaskId, TaskView>>,
    /// The state icon of each.
    pub marks: Memo<BTreeMap<TaskId, TaskMark>>,
    /// The state icons of each one's parts, in the order they were made.
    pub parts: Memo<BTreeMap<TaskId, Vec<TaskMark>>>,
    /// The rows of the task tree.
    pub nodes: Memo<Vec<TaskNode>>,
    /// Every question and permission that waits for the operator, in all workspaces, oldest first.
    pub asks: Memo<Vec<Asked>>,
    /// Tasks of the workspace that need the operator without asking anything: they failed, or were cut off.
    pub stuck: Memo<Vec<TaskId>>,
    /// How many things need the operator: what is asked, and what is stuck.
    pub needs_operator: Memo<usize>,
    /// A change that is only tried, such as a card being carried with the keyboard.
    pub preview: RwSignal<Option<Change>>,
    /// The new task dialog.
    pub new_task: RwSignal<bool>,
    /// The dialog for a new workspace.
    pub new_workspace: RwSignal<bool>,
    /// The board that is gone to, until it is here.
    pub arriving: RwSignal<Option<BoardOf>>,
    /// Why it is not.
    pub not_arrived: RwSignal<Option<AppError>>,
    /// The subtask dialog, and whose subtask it makes.
    pub(super) subtask: (RwSignal<bool>, RwSignal<Option<TaskId>>),
    /// The question whether to delete, and what.
    pub(super) deletion: (RwSignal<bool>, RwSignal<Option<TaskId>>),
    inbox: RwSignal<Asks>,
    reading_asks: StoredValue<Reading>,
    truth: RwSignal<Board>,
    changes: RwSignal<Vec<(u32, Change)>>,
    next_change: StoredValue<u32>,
    reading: StoredValue<Reading>,
    toasts: Toasts,
    locale: Locale,
}

/// Whether the board is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    No,
    Yes,
    /// It is, and must be once more, since something changed after it began.
    AndAgain,
}

impl Workbench {
    /// A workbench that begins with `view`, and with what is asked of the operator.
    #[must_use]
    pub fn new(view: Board, asks: Asks) -> Self {
        let truth = RwSignal::new(view);
        let inbox = RwSignal::new(asks);
        let asks = Memo::new(move |_| inbox.with(|inbox| inbox.items.clone()));
        let changes = RwSignal::new(Vec::<(u32, Change)>::new());
        let preview = RwSignal::new(None::<Change>);
        let workspace = Memo::new(move |_| truth.with(|view| view.workspace.clone()));
        let workspaces = Memo::new(move |_| truth.with(|view| view.workspaces.clone()));
        let workflow = Memo::new(move |_| truth.with(|view| view.workflow.clone()));
        let steps = Memo::new(move |_| truth.with(|view| view.steps.clone()));
        let tasks = Memo::new(move |_| {
            let mut tasks = truth.with(|view| view.tasks.clone());
            changes.with(|changes| {
                for (_, change) in changes {
                    change.apply(&mut tasks);
                }
            });
            if let Some(change) = preview.get() {
                change.apply(&mut tasks);
            }
            tasks
        });
        let by_id = Memo::new(move |_| {
            tasks.with(|tasks| {
                let pairs = tasks.iter().map(|task| (task.id, task.clone()));
                pairs.collect::<BTreeMap<_, _>>()
            })
        });
        let last = Memo::new(move |_| truth.with(|view| view.last_step));
        let marks = Memo::new(move |_| {
            tasks.with(|tasks| {
                let pairs = tasks
                    .iter()
                    .map(|task| (task.id, mark(Facts::of(task, last.get()))));
                pairs.collect::<BTreeMap<_, _>>()
            })
        });
        let parts = Memo::new(move |_| by_parent(&by_id.read(), &marks.read()));
        let nodes = Memo::new(move |_| {
            tasks.with(|tasks| {
                let places = places_in_line(tasks);
                let nodes = tasks
                    .iter()
                    .map(|task| TaskNode::of(task, last.get(), places.get(&task.id).copied()));
                nodes.collect::<Vec<_>>()
            })
        });
        let stuck = Memo::new(move |_| {
            let (marks, tasks) = (marks.read(), by_id.read());
            let is_stuck = |mark: TaskMark| needs_operator(mark) && !asks_something(mark);
            let stuck = marks.iter().filter(|(_, mark)| is_stuck(**mark));
            let mut stuck: Vec<TaskId> = stuck.map(|(id, _)| *id).collect();
            // The worst first; within a kind, who waits longest.
            by_rank(&mut stuck, &|id| {
                tasks.get(&id).map_or(0, |task| task.updated_at.millis())
            });
            by_rank(&mut stuck, &|id| {
                marks.get(&id).map_or(0, |mark| *mark as i64)
            });
            stuck
        });
        let needs = Memo::new(move |_| asks.with(Vec::len) + stuck.with(Vec::len));
        Self {
            workspace,
            workspaces,
            workflow,
            steps,
            tasks,
            by_id,
            marks,
            parts,
            nodes,
            asks,
            stuck,
            needs_operator: needs,
            preview,
            new_task: RwSignal::new(false),
            new_workspace: RwSignal::new(false),
            arriving: RwSignal::new(None),
            not_arrived: RwSignal::new(None),
            subtask: (RwSignal::new(false), RwSignal::new(None)),
            deletion: (RwSignal::new(false), RwSignal::new(None)),
            inbox,
            reading_asks: StoredValue::new(Reading::No),
            truth,
            changes,
            next_change: StoredValue::new(0),
            reading: StoredValue::new(Reading::No),
            toasts: use_toasts(),
            locale: use_locale(),
        }
    }

    /// Opens the dialog for a subtask of `parent`.
    pub fn open_subtask(self, parent: TaskId) {
        let (open, of) = self.subtask;
        of.set(Some(parent));
        open.set(true);
    }

    /// Asks whether to delete `task`, and does it when the answer is yes.
    pub fn ask_to_delete(self, task: TaskId) {
        let (open, of) = self.deletion;
        of.set(Some(task));
        open.set(true);
    }

    /// Where the board of the workspace shown is.
    #[must_use]
    pub fn home(self) -> String {
        let shown = self.workspace.with(|workspace| workspace.id);
        let is_first =
            |all: &Vec<Named<WorkspaceId>>| all.first().is_none_or(|one| one.id == shown);
        if self.workspaces.with(is_first) {
            paths::HOME.to_owned()
        } else {
            paths::board(shown)
        }
    }

    /// Whether the board shown is the one that is meant.
    #[must_use]
    pub fn shows(self, of: BoardOf) -> bool {
        let shown = self.workspace.with(|workspace| workspace.id);
        match (of.task, of.workspace) {
            (Some(task), _) => self.by_id.with(|tasks| tasks.contains_key(&task)),
            (None, Some(workspace)) => workspace == shown,
            (None, None) => {
                let first = self.workspaces.with(|all| all.first().map(|one| one.id));
                first.is_none_or(|first| first == shown)
            }
        }
    }

    /// Goes to another board; what is shown stays until that is here.
    pub fn show(self, of: BoardOf) {
        self.not_arrived.set(None);
        if untrack(|| self.shows(of)) {
            self.arriving.set(None);
            return;
        }
        self.arriving.set(Some(of));
        spawn_local(async move {
            let answer = board_page(of, None).await;
            if self.arriving.try_get_untracked().flatten() != Some(of) {
                // Somewhere else is gone to by now.
                return;
            }
            match answer {
                Ok(view) => {
                    let is_older = |old: &Board| {
                        old.workspace.id == view.workspace.id && view.as_of < old.as_of
                    };
                    if !self.truth.with_untracked(is_older) {
                        self.truth.set(view);
                    }
                }
                Err(error) => self.not_arrived.set(Some(error)),
            }
            self.arriving.set(None);
        });
    }

    /// The title of a task; empty when it is not there.
    #[must_use]
    pub fn title(self, id: TaskId) -> String {
        self.by_id
            .with(|tasks| tasks.get(&id).map(|task| task.title.clone()))
            .unwrap_or_default()
    }

    /// The cards of a column, in order.
    #[must_use]
    pub fn cards(self, step: StepId) -> Vec<TaskId> {
        self.tasks.with(|tasks| {
            let within = tasks.iter().filter(|task| task.workflow_step_id == step);
            within.map(|task| task.id).collect()
        })
    }

    /// Where a card is, a preview included.
    #[must_use]
    pub fn slot_of(self, task: TaskId) -> Option<Slot> {
        self.tasks.with(|tasks| slot_of(tasks, task))
    }

    /// Moves a card. It is there at once; when the server refuses, it is back where it was, and a notice says why.
    pub fn move_task(self, task: TaskId, slot: Slot) {
        self.preview.set(None);
        if self.tasks.with_untracked(|tasks| slot_of(tasks, task)) == Some(slot) {
            return;
        }
        let before = slot.before;
        let position = before.and_then(|before| {
            self.by_id
                .with_untracked(|tasks| tasks.get(&before).map(|task| task.position))
        });
        let params = MoveTask {
            position,
            ..MoveTask::to(slot.step)
        };
        let title = untrack(|| self.title(task));
        let refused = t!(self.locale, board.not_moved, title = title.clone());
        let change = self.add(Change::Moved { task, slot });
        spawn_local(async move {
            let answer = task_move(task, params).await;
            if let Ok(moved) = &answer {
                self.say_what_happened(slot.step, &title, moved);
            }
            self.settle(change, answer.map(drop), &refused).await;
        });
    }

    /// Says what a move came to when that is not what was asked for: it waits, or the card does.
    fn say_what_happened(self, to: StepId, title: &str, moved: &TaskMoved) {
        let step = self.steps.with_untracked(|steps| {
            let step = steps.iter().find(|step| step.id == to);
            step.map(|step| step.name.clone()).unwrap_or_default()
        });
        let (task, title) = (moved.task.id, title.to_owned());
        match moved.disposition {
            Disposition::Deferred => {
                let said = t!(self.locale, board.moves_later, title = title, step = step);
                let undo = move || self.withdraw_move(task);
                self.toasts
                    .done_with(said, t!(self.locale, board.undo), undo);
            }
            Disposition::Applied if moved.task.waits_for_place() => {
                self.toasts.done(t!(
                    self.locale,
                    board.waits_for_place,
                    title = title,
                    step = step
                ));
            }
            Disposition::Applied => {}
        }
    }

    /// Takes back a move that waits for the end of a turn.
    pub fn withdraw_move(self, task: TaskId) {
        spawn_local(async move {
            match task_move_withdraw(task).await {
                Ok(()) => self.reload(),
                Err(error) => self.say_why(t!(self.locale, board.not_withdrawn), error),
            }
        });
    }

    /// Archives a task at once, with a way back.
    pub fn archive(self, task: TaskId) {
        let title = untrack(|| self.title(task));
        let refused = t!(self.locale, board.not_archived, title = title.clone());
        let done = t!(self.locale, board.archived, title = title);
        let change = self.add(Change::Gone(task));
        spawn_local(async move {
            let answer = task_archive(task).await;
            if answer.is_ok() {
                let undo = move || self.unarchive(task);
                self.toasts
                    .done_with(done, t!(self.locale, board.undo), undo);
            }
            self.settle(change, answer, &refused).await;
        });
    }

    /// Brings an archived task back.
    pub fn unarchive(self, task: TaskId) {
        spawn_local(async move {
            match task_unarchive(task).await {
                Ok(view) => {
                    let restored = t!(self.locale, board.restored, title = view.title);
                    self.toasts.done(restored);
                    self.reload();
                }
                Err(error) => self.say_why(t!(self.locale, board.not_restored), error),
            }
        });
    }

    /// Deletes a task for good, without asking.
    pub(super) fn delete(self, task: TaskId) {
        let title = untrack(|| self.title(task));
        let refused = t!(self.locale, board.not_deleted, title = title.clone());
        let done = t!(self.locale, board.deleted, title = title);
        let change = self.add(Change::Gone(task));
        spawn_local(async move {
            let answer = task_delete(task).await;
            if answer.is_ok() {
                self.toasts.done(done);
            }
            self.settle(change, answer, &refused).await;
        });
    }

    /// Reads the board again. A read that is under way is followed by one more, and no others.
    pub fn reload(self) {
        match self.reading.try_get_value() {
            Some(Reading::No) => {}
            Some(Reading::Yes) => return self.reading.set_value(Reading::AndAgain),
            Some(Reading::AndAgain) | None => return,
        }
        self.reading.set_value(Reading::Yes);
        spawn_local(async move {
            let answer = self.read().await;
            let again = self.reading.try_get_value() == Some(Reading::AndAgain);
            let _ = self.reading.try_update_value(|state| *state = Reading::No);
            if answer.is_err() {
                // What is shown stays; that the connection is lost is said in the top bar.
                set_timeout(move || self.reload(), READ_AGAIN);
            } else if again {
                self.reload();
            }
        });
    }

    /// Reads again what is asked of the operator, as [`Self::reload`] reads the board.
    pub fn reload_asks(self) {
        match self.reading_asks.try_get_value() {
            Some(Reading::No) => {}
            Some(Reading::Yes) => return self.reading_asks.set_value(Reading::AndAgain),
            Some(Reading::AndAgain) | None => return,
        }
        self.reading_asks.set_value(Reading::Yes);
        spawn_local(async move {
            let answer = inbox().await;
            let again = self.reading_asks.try_get_value() == Some(Reading::AndAgain);
            let _ = self
                .reading_asks
                .try_update_value(|state| *state = Reading::No);
            match answer {
                Ok(view) => {
                    let is_newer = |old: &Asks| view.as_of >= old.as_of;
                    if self.inbox.try_with_untracked(is_newer) == Some(true) {
                        self.inbox.set(view);
                    }
                    if again {
                        self.reload_asks();
                    }
                }
                Err(_) => set_timeout(move || self.reload_asks(), READ_AGAIN),
            }
        });
    }

    /// Takes away what was just answered; the next reading says the same.
    pub fn settled(self, key: &str) {
        let _ = self
            .inbox
            .try_update(|inbox| inbox.items.retain(|asked| asked.key != key));
        self.reload_asks();
    }

    async fn read(self) -> Result<(), AppError> {
        let shown = self
            .truth
            .try_with_untracked(|view| (view.workspace.id, view.workflow.id));
        let Some((workspace, workflow)) = shown else {
            return Ok(());
        };
        let of = BoardOf {
            workspace: Some(workspace),
            ..BoardOf::default()
        };
        let view = board_page(of, Some(workflow)).await?;
        // Of the workspace shown: it may be another one by now.
        let is_newer =
            |old: &Board| old.workspace.id == view.workspace.id && view.as_of >= old.as_of;
        if self.truth.try_with_untracked(is_newer) == Some(true) {
            self.truth.set(view);
        }
        Ok(())
    }

    fn add(self, change: Change) -> u32 {
        let id = self.next_change.get_value();
        self.next_change.set_value(id.wrapping_add(1));
        self.changes.update(|changes| changes.push((id, change)));
        id
    }

    /// The answer to a change is here. It is taken away only after the board that contains it was read, so nothing flickers.
    async fn settle(self, change: u32, answer: Result<(), AppError>, refused: &str) {
        match answer {
            Ok(()) => {
                if self.read().await.is_err() {
                    self.reload();
                }
            }
            Err(error) => self.say_why(refused, error),
        }
        let _ = self
            .changes
            .try_update(|changes| changes.retain(|(id, _)| *id != change));
    }

    fn say_why(self, what: &str, error: AppError) {
        let why = if error.0.message.is_empty() {
            what_happened(self.locale, error.code()).to_owned()
        } else {
            error.0.message
        };
        self.toasts.failed(format!("{what} {why}"));
    }
}

/// The workbench around this page.
///
/// # Panics
/// Outside of the frame, where nobody has provided it.
#[must_use]
pub fn use_workbench() -> Workbench {
    expect_context()
}

fn by_parent(
    tasks: &BTreeMap<TaskId, TaskView>,
    marks: &BTreeMap<TaskId, TaskMark>,
) -> BTreeMap<TaskId, Vec<TaskMark>> {
    // In the order of their ids, which decides between those of the same instant.
    let mut children: Vec<TaskId> = tasks.keys().copied().collect();
    by_rank(&mut children, &|id| {
        tasks.get(&id).map_or(0, |task| task.created_at.millis())
    });
    let mut parts: BTreeMap<TaskId, Vec<TaskMark>> = BTreeMap::new();
    for child in children {
        let parent = tasks.get(&child).and_then(|task| task.parent_id);
        if let (Some(parent), Some(mark)) = (parent, marks.get(&child)) {
            parts.entry(parent).or_default().push(*mark);
        }
    }
    parts
}
