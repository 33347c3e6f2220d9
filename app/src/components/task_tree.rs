//! The tree of tasks in the sidebar, and in the task switcher on phones.
//!
//! A list of links, nested as the tasks are: that is what it is, and every reader can walk it. On top of that the arrow keys move,
//! left and right fold, Home and End jump, so the whole tree is one stop of the Tab key once the page is hydrated; before that every
//! link is a stop. New rows appear in their place; nothing moves while the pointer is on the tree.

use super::autopilot::AutopilotIcon;
use super::forest::{Forest, TaskNode};
use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::RelativeTime;
use super::request_mark::RequestsIcon;
use super::state_icon::StateIcon;
use super::task_mark::TaskMark;
use crate::i18n::{plural, t, use_locale};
use crate::paths;
use domain::ids::TaskId;
use leptos::prelude::*;
use std::collections::BTreeSet;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

/// What the rows of one tree share.
#[derive(Clone, Copy)]
struct Tree {
    forest: Memo<Forest>,
    folded: RwSignal<BTreeSet<TaskId>>,
    /// The row that Tab reaches. `None` until the page is hydrated.
    stop: RwSignal<Option<TaskId>>,
    current: Signal<Option<TaskId>>,
}

impl Tree {
    fn toggle(self, id: TaskId) {
        self.folded.update(|folded| {
            if !folded.remove(&id) {
                folded.insert(id);
            }
        });
    }
}

/// The tree of all tasks.
#[component]
pub fn TaskTree(
    /// The tasks to show.
    #[prop(into)]
    tasks: Signal<Vec<TaskNode>>,
    /// The task whose page this is.
    #[prop(into)]
    current: Signal<Option<TaskId>>,
) -> impl IntoView {
    let locale = use_locale();
    let pointed_at = RwSignal::new(false);
    let forest = Memo::new(move |before: Option<&Forest>| {
        let forest = Forest::new(tasks.get());
        match before {
            Some(before) if pointed_at.get() => forest.in_order_of(before),
            _ => forest,
        }
    });
    let tree = Tree {
        forest,
        folded: RwSignal::new(BTreeSet::new()),
        stop: RwSignal::new(None),
        current,
    };

    // The page of a task must show where in the tree it stands.
    Effect::new(move |_| {
        let Some(id) = current.get() else { return };
        let above = forest.with_untracked(|forest| forest.ancestors(id));
        if above
            .iter()
            .any(|id| tree.folded.with_untracked(|folded| folded.contains(id)))
        {
            tree.folded
                .update(|folded| folded.retain(|id| !above.contains(id)));
        }
    });
    Effect::new(move |_| {
        let first = forest.with(|forest| forest.parts(None).first().copied());
        let known = |id: &TaskId| forest.with(|forest| forest.node(*id).is_some());
        let stop = tree
            .stop
            .get_untracked()
            .filter(known)
            .or_else(|| current.get().filter(known))
            .or(first);
        tree.stop.set(stop);
    });

    view! {
        <nav
            data-task-tree=""
            aria-label=t!(locale, task.tree)
            on:pointerenter=move |_| pointed_at.set(true)
            on:pointerleave=move |_| pointed_at.set(false)
            on:keydown=move |event| {
                let Some(row) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else { return };
                if on_key(tree, &row, &event.key()) {
                    event.prevent_default();
                }
            }
        >
            {branch(tree, None)}
        </nav>
    }
    .into_any()
}

fn branch(tree: Tree, parent: Option<TaskId>) -> AnyView {
    view! {
        <ul class="task-branch">
            <For
                each=move || tree.forest.with(|forest| forest.parts(parent).to_vec())
                key=|id| *id
                children=move |id| twig(tree, id)
            />
        </ul>
    }
    .into_any()
}

fn twig(tree: Tree, id: TaskId) -> impl IntoView {
    let locale = use_locale();
    let node = move |read: &dyn Fn(&TaskNode) -> String| {
        tree.forest
            .with(|forest| forest.node(id).map(read))
            .unwrap_or_default()
    };
    let title = Memo::new(move |_| node(&|node| node.title.clone()));
    let mark = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).map_or(TaskMark::Backlog, |node| node.mark))
    });
    let queued = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).map_or(0, |node| node.queued))
    });
    let place = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).and_then(|node| node.place_in_line))
    });
    let changed = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).map(|node| node.updated_at))
    });
    let requests = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).and_then(|node| node.requests.clone()))
    });
    let repository = Memo::new(move |_| {
        tree.forest
            .with(|forest| forest.node(id).and_then(|node| node.repository.clone()))
    });
    // What is cut or only an icon, for whoever points at the row.
    let whole = move || {
        let requests = requests.with(|requests| requests.as_ref().map(|some| some.words(locale)));
        let parts = [Some(title.get()), requests, repository.get()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    };
    let has_parts = Memo::new(move |_| {
        tree.forest
            .with(|forest| !forest.parts(Some(id)).is_empty())
    });
    let is_open =
        Memo::new(move |_| has_parts.get() && tree.folded.with(|folded| !folded.contains(&id)));
    // Fixed at creation, so it needs no signal.
    let autopilot = tree
        .forest
        .with_untracked(|forest| forest.node(id).is_some_and(|node| node.autopilot));

    view! {
        <li>
            <div class="task-row" data-testid="sidebar-task-item" data-task=id.to_string()>
                <Show when=move || has_parts.get() fallback=|| view! { <span class="task-row-toggle"></span> }>
                    <button
                        type="button"
                        class="task-row-toggle"
                        data-testid="sidebar-subtask-toggle"
                        // The arrow keys do this from the row itself.
                        tabindex="-1"
                        aria-expanded=move || is_open.get().to_string()
                        aria-label=move || t!(locale, task.toggle_subtasks, title = title.get())
                        on:click=move |_| tree.toggle(id)
                    >
                        {move || {
                            let glyph = if is_open.get() { Glyph::ChevronDown } else { Glyph::ChevronRight };
                            view! { <Icon glyph class="w-3.5 h-3.5"/> }
                        }}
                    </button>
                </Show>
                <a
                    class="task-row-link"
                    href=paths::task(id)
                    title=whole
                    aria-current=move || (tree.current.get() == Some(id)).then_some("page")
                    tabindex=move || tree.stop.get().map(|stop| if stop == id { "0" } else { "-1" })
                    on:focus=move |_| tree.stop.set(Some(id))
                >
                    <StateIcon mark/>
                    <span class="truncate">{title}</span>
                </a>
                {autopilot.then(|| view! { <AutopilotIcon/> })}
                <RequestsIcon requests/>
                <Show when=move || place.get().is_some()>
                    <span class="task-row-count" data-testid="sidebar-task-wip-queue">
                        <span aria-hidden="true">"#" {move || place.get().unwrap_or_default()}</span>
                        <span class="sr-only">
                            {move || t!(locale, task.place_in_line, n = place.get().unwrap_or_default())}
                        </span>
                    </span>
                </Show>
                <Show when=move || queued.get() != 0>
                    <span class="task-row-count" data-testid="sidebar-task-queued-count">
                        <span aria-hidden="true">{queued}</span>
                        <span class="sr-only">{move || plural!(locale, task.queued, queued.get())}</span>
                    </span>
                </Show>
                <span class="shrink-0 text-12 text-muted">
                    {move || changed.get().map(|at| view! { <RelativeTime at/> })}
                </span>
                {move || {
                    repository
                        .get()
                        .map(|name| {
                            view! { <span class="task-row-repository" data-testid="sidebar-task-repository">{name}</span> }
                        })
                }}
            </div>
            <Show when=move || is_open.get()>{branch(tree, Some(id))}</Show>
        </li>
    }
}

/// Moves, folds or unfolds; answers whether the key meant something. Works on the rows as they stand in the page, which is the order
/// that the eye sees.
fn on_key(tree: Tree, focused: &Element, key: &str) -> bool {
    let Ok(Some(row)) = focused.closest(".task-row") else {
        return false;
    };
    let Some(id) = row
        .get_attribute("data-task")
        .and_then(|id| id.parse::<TaskId>().ok())
    else {
        return false;
    };
    let has_parts = tree
        .forest
        .with_untracked(|forest| !forest.parts(Some(id)).is_empty());
    let open = has_parts && tree.folded.with_untracked(|folded| !folded.contains(&id));
    match key {
        "ArrowDown" => focus_by(focused, 1),
        "ArrowUp" => focus_by(focused, -1),
        "Home" => focus_by(focused, i32::MIN),
        "End" => focus_by(focused, i32::MAX),
        "ArrowRight" if has_parts && !open => tree.toggle(id),
        "ArrowRight" if open => focus_by(focused, 1),
        "ArrowLeft" if open => tree.toggle(id),
        "ArrowLeft" => {
            if let Some(parent) = tree
                .forest
                .with_untracked(|forest| forest.ancestors(id).first().copied())
            {
                focus_row(focused, parent);
            }
        }
        _ => return false,
    }
    true
}

/// The rows of the tree that `within` is in, top to bottom.
fn rows(within: &Element) -> Vec<HtmlElement> {
    let Ok(Some(tree)) = within.closest("[data-task-tree]") else {
        return Vec::new();
    };
    let Ok(links) = tree.query_selector_all(".task-row-link") else {
        return Vec::new();
    };
    (0..links.length())
        .filter_map(|i| links.get(i)?.dyn_into().ok())
        .collect()
}

fn focus_by(focused: &Element, step: i32) {
    let rows = rows(focused);
    let row = focused.closest(".task-row").ok().flatten();
    let at = rows
        .iter()
        .position(|link| row.as_ref().is_some_and(|row| row.contains(Some(link))));
    let (Some(at), Some(last)) = (at, rows.len().checked_sub(1)) else {
        return;
    };
    let next = i32::try_from(at)
        .unwrap_or(i32::MAX)
        .saturating_add(step)
        .max(0);
    if let Some(link) = rows.get(usize::try_from(next).unwrap_or(0).min(last)) {
        // Refused only by an element that has left the page.
        let _ = link.focus();
    }
}

fn focus_row(within: &Element, id: TaskId) {
    let href = paths::task(id);
    let row = rows(within)
        .into_iter()
        .find(|link| link.get_attribute("href").is_some_and(|h| h == href));
    if let Some(link) = row {
        let _ = link.focus();
    }
}

/// Moves focus to the next or previous row of the page's first tree, from wherever it is (the keys `j` and `k`).
pub fn move_focus(step: i32) {
    let document = document();
    let focused = document
        .active_element()
        .filter(|element| matches!(element.closest("[data-task-tree]"), Ok(Some(_))));
    match focused {
        Some(focused) => focus_by(&focused, step),
        None => {
            let stop = document
                .query_selector(".task-row-link[tabindex=\"0\"]")
                .ok()
                .flatten();
            if let Some(link) = stop.and_then(|link| link.dyn_into::<HtmlElement>().ok()) {
                let _ = link.focus();
            }
        }
    }
}
