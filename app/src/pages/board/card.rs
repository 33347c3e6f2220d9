//! A card on the board, with what can be done about it.

use super::carry::Carry;
use super::drag::Drag;
use crate::components::glyph::Glyph;
use crate::components::menu::{Menu, MenuItem};
use crate::components::task_card::TaskCard;
use crate::components::task_mark::TaskMark;
use crate::i18n::{t, use_locale};
use crate::pages::workbench::changes::Slot;
use crate::pages::workbench::{Workbench, use_workbench};
use crate::paths;
use domain::ids::TaskId;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

/// The card of one task.
#[component]
pub fn Card(
    /// Its task.
    id: TaskId,
    /// The dragging of the board.
    drag: Drag,
    /// The carrying of the board.
    carry: Carry,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let first = workbench
        .by_id
        .with_untracked(|tasks| tasks.get(&id).cloned());
    // A list never holds the id of a task that is not there.
    let first = first?;
    let autopilot_label = t!(locale, board.actions, title = first.title.clone());
    let task = Memo::new(move |before| {
        let now = workbench.by_id.with(|tasks| tasks.get(&id).cloned());
        // A card that leaves the board may be asked once more on its way out.
        now.or_else(|| before.cloned())
            .unwrap_or_else(|| first.clone())
    });
    let mark = Memo::new(move |_| {
        workbench
            .marks
            .with(|marks| marks.get(&id).copied().unwrap_or(TaskMark::Backlog))
    });
    let parts = Memo::new(move |_| {
        workbench
            .parts
            .with(|parts| parts.get(&id).cloned().unwrap_or_default())
    });
    let parent = Memo::new(move |_| {
        let parent = task.with(|task| task.parent_id)?;
        workbench
            .by_id
            .with(|tasks| tasks.get(&parent).map(|parent| parent.title.clone()))
    });
    let note = Memo::new(move |_| {
        let step = |id| {
            workbench.steps.with(|steps| {
                let step = steps.iter().find(|step| step.id == id);
                step.map(|step| step.name.clone()).unwrap_or_default()
            })
        };
        task.with(|task| {
            if let Some(target) = task.pending_move_step_id {
                Some(t!(locale, task.moves_later, step = step(target)))
            } else if let Some(target) = task.queued_for_step_id {
                Some(t!(locale, task.waits_for, step = step(target)))
            } else if task.wip_admitted {
                None
            } else {
                Some(t!(locale, task.waits_here).to_owned())
            }
        })
    });
    let navigate = use_navigate();
    let open = Callback::new(move |()| navigate(&paths::task(id), Default::default()));
    let items = Signal::derive(move || actions(workbench, id, open));
    let is_target = move || {
        drag.target()
            .is_some_and(|slot| slot.before == Some(id) && drag.held_task() != Some(id))
    };
    Some(
        view! {
            <li
                class="board-card"
                data-drop=move || is_target().then_some("")
                data-held=move || (drag.held_task() == Some(id)).then_some("")
                data-carried=move || carry.is_carried(id).then_some("")
            >
                <TaskCard task mark parent parts note>
                    <Menu label=autopilot_label items test_id="kanban-card-menu"/>
                </TaskCard>
            </li>
        }
        .into_any(),
    )
}

fn actions(workbench: Workbench, id: TaskId, open: Callback<()>) -> Vec<MenuItem> {
    let locale = use_locale();
    let item = |label: String, glyph, on_choose| MenuItem {
        label,
        glyph,
        danger: false,
        on_choose,
    };
    let mut items = vec![
        item(t!(locale, board.open).to_owned(), Glyph::FileText, open),
        item(
            t!(locale, board.add_subtask).to_owned(),
            Glyph::Plus,
            Callback::new(move |()| workbench.open_subtask(id)),
        ),
    ];
    items.extend(
        moves(workbench, id)
            .into_iter()
            .map(|(label, glyph, slot)| {
                item(
                    label,
                    glyph,
                    Callback::new(move |()| workbench.move_task(id, slot)),
                )
            }),
    );
    items.push(item(
        t!(locale, board.archive).to_owned(),
        Glyph::Archive,
        Callback::new(move |()| workbench.archive(id)),
    ));
    items.push(MenuItem {
        danger: true,
        ..item(
            t!(locale, board.delete).to_owned(),
            Glyph::Trash2,
            Callback::new(move |()| workbench.ask_to_delete(id)),
        )
    });
    items
}

/// Where the card can go from here.
fn moves(workbench: Workbench, id: TaskId) -> Vec<(String, Glyph, Slot)> {
    let locale = use_locale();
    let Some(here) = workbench.slot_of(id) else {
        return Vec::new();
    };
    let column = workbench.cards(here.step);
    let at = column.iter().position(|card| *card == id).unwrap_or(0);
    let mut moves = Vec::new();
    let within = |before| Slot {
        step: here.step,
        before,
    };
    if let Some(above) = at.checked_sub(1).and_then(|above| column.get(above)) {
        let label = t!(locale, board.move_up).to_owned();
        moves.push((label, Glyph::ChevronUp, within(Some(*above))));
    }
    if at + 1 < column.len() {
        let label = t!(locale, board.move_down).to_owned();
        let below_next = within(column.get(at + 2).copied());
        moves.push((label, Glyph::ChevronDown, below_next));
    }
    workbench.steps.with(|steps| {
        for step in steps {
            if step.id != here.step && step.allow_manual_move {
                let slot = Slot {
                    step: step.id,
                    before: None,
                };
                let label = t!(locale, board.move_to, step = step.name.clone());
                moves.push((label, Glyph::ChevronRight, slot));
            }
        }
    });
    moves
}
