//! Where the workflow has the task: what it depends on, a move that waits for the end of the turn, a place that it waits for, and
//! why the workflow moves it no more.

use super::room::Room;
use crate::components::button::{Button, Weight};
use crate::components::chip::{Chip, Tone};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::i18n::{plural, t};
use crate::pages::workbench::use_workbench;
use domain::ids::StepId;
use domain::view::TaskPageView;
use leptos::prelude::*;

/// How many tasks it depends on, and what is the matter with them.
#[component]
pub(super) fn DependencyChip(room: Room) -> impl IntoView {
    let locale = room.locale;
    let edges = room.part(|view: &TaskPageView| {
        let task = &view.task;
        (task.depends_on.len(), task.blocked_reason.clone())
    });
    let text = move || edges.with(|(number, _)| plural!(locale, task.depends, *number));
    let sentence = move || {
        edges.with(|(number, reason)| {
            let tasks = plural!(locale, board.depends_on_count, *number);
            match reason {
                Some(reason) => {
                    t!(
                        locale,
                        task.depends_blocked,
                        n = tasks,
                        reason = reason.clone()
                    )
                }
                None => t!(locale, task.depends_done, n = tasks),
            }
        })
    };
    let is_blocked = Memo::new(move |_| edges.with(|(_, reason)| reason.is_some()));
    move || {
        if edges.with(|(number, _)| *number) == 0 {
            return ().into_any();
        }
        let tone = if is_blocked.get() {
            Tone::Waiting
        } else {
            Tone::Plain
        };
        view! { <Chip tone glyph=Glyph::Link2 text sentence test_id="dependency-chip"/> }.into_any()
    }
}

/// What is to be known about the card's place, each with what can be done about it.
#[component]
pub(super) fn FlowNotes(room: Room) -> impl IntoView {
    let locale = room.locale;
    let workbench = use_workbench();
    let step = move |view: &TaskPageView, id: StepId| {
        let step = view.steps.iter().find(|step| step.id == id);
        step.map(|step| step.name.clone()).unwrap_or_default()
    };
    let pending = room.part(move |view: &TaskPageView| {
        let target = view.task.pending_move_step_id?;
        Some(step(view, target))
    });
    let place = room.part(move |view| {
        let task = &view.task;
        let target = task.queued_for_step_id.unwrap_or(task.workflow_step_id);
        task.waits_for_place().then(|| step(view, target))
    });
    let halted = room.part(|view| view.task.workflow_notice.clone());
    let starts = room.part(|view| view.task.start_when_unblocked);
    let id = room.id;
    let note = |text: String| {
        view! {
            <p class="flex-1 min-w-0 flex items-start gap-2 text-13 text-muted">
                <Icon glyph=Glyph::Info class="w-4 h-4 mt-0.5 shrink-0"/>
                <span class="min-w-0">{text}</span>
            </p>
        }
    };
    view! {
        <div class="flex flex-col gap-1" role="status" data-testid="flow-notes">
            {move || {
                pending
                    .get()
                    .map(|step| {
                        view! {
                            <div class="flex items-center gap-2" data-testid="pending-move">
                                {note(t!(locale, taskpage.moves_later, step = step))}
                                <Button
                                    weight=Weight::Quiet
                                    on_press=Callback::new(move |()| {
                                        workbench.withdraw_move(id);
                                        room.reread();
                                    })
                                >
                                    {t!(locale, taskpage.keep_here)}
                                </Button>
                            </div>
                        }
                    })
            }}
            {move || place.get().map(|step| note(t!(locale, taskpage.waits_for_place, step = step)))}
            {move || starts.get().then(|| note(t!(locale, taskpage.starts_when_free).to_owned()))}
            {move || halted.get().map(note)}
        </div>
    }
    .into_any()
}
