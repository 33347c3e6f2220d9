//! The head of the page: where the task hangs in the tree, what it is called, how it stands, and what can be done with it.

use super::room::Room;
use super::sessions::SessionTabs;
use super::side::{Paper, Side};
use super::title::TaskTitle;
use crate::components::button::IconButton;
use crate::components::glyph::Glyph;
use crate::components::menu::{Menu, MenuItem};
use crate::components::state_icon::{StateIcon, word};
use crate::components::task_mark::{Facts, mark};
use crate::i18n::t;
use crate::pages::workbench::changes::Slot;
use crate::pages::workbench::{Workbench, use_workbench};
use crate::paths;
use crate::prefs::use_preferences;
use crate::viewport::Viewport;
use domain::view::{RelatedTask, TaskPageView};
use domain::workflow::last_step;
use leptos::prelude::*;

/// The head.
#[component]
pub(super) fn Head(
    room: Room,
    /// What stands beside the conversation.
    side: Side,
) -> impl IntoView {
    let locale = room.locale;
    let prefs = use_preferences();
    let viewport: Viewport = expect_context();
    let workbench = use_workbench();
    let ancestors = room.part(|view: &TaskPageView| view.ancestors.clone());
    let mark = room.part(|view| {
        let last = last_step(&view.steps).map(|step| step.id);
        mark(Facts::of(&view.task, last))
    });
    let step = room.part(|view| {
        let step = view
            .steps
            .iter()
            .find(|s| s.id == view.task.workflow_step_id);
        step.map(|step| step.name.clone()).unwrap_or_default()
    });
    let menu_label =
        room.part(move |view| t!(locale, taskpage.actions, title = view.task.title.clone()));
    let items = Signal::derive(move || actions(room, workbench));
    let toggle = move |paper| Callback::new(move |()| side.toggle(paper, viewport, prefs));
    view! {
        <header class="task-head">
            <Show when=move || ancestors.with(|list| !list.is_empty())>
                <nav aria-label=t!(locale, taskpage.breadcrumb) data-testid="task-breadcrumb">
                    <ol class="task-crumbs">
                        <For each=move || ancestors.get() key=|task| (task.id, task.title.clone()) children=crumb/>
                    </ol>
                </nav>
            </Show>
            <div class="flex items-center gap-2 min-h-8 max-sm:min-h-11">
                <StateIcon mark/>
                <TaskTitle room/>
                <span class="flex-1"></span>
                <span class="shrink-0 text-12 text-muted max-sm:hidden" data-testid="task-state">
                    {move || word(locale, mark.get())} " · " {step}
                </span>
                <IconButton
                    glyph=Glyph::FileText
                    label=t!(locale, plan.plan)
                    on_press=toggle(Paper::Plan)
                    test_id="plan-toggle"
                />
                <IconButton
                    glyph=Glyph::ListTree
                    label=t!(locale, taskpage.related)
                    on_press=toggle(Paper::Related)
                    test_id="related-toggle"
                />
                {move || view! { <Menu label=menu_label.get() items test_id="task-menu"/> }}
            </div>
            <SessionTabs room/>
        </header>
    }
    .into_any()
}

fn crumb(task: RelatedTask) -> impl IntoView {
    view! {
        <li class="min-w-0 flex items-center gap-1">
            <a class="min-w-0 truncate hover:text-text" href=paths::task(task.id)>{task.title}</a>
            <span aria-hidden="true">"▸"</span>
        </li>
    }
}

fn actions(room: Room, workbench: Workbench) -> Vec<MenuItem> {
    let locale = room.locale;
    let item = |label: String, glyph, on_choose: Callback<()>| MenuItem {
        label,
        glyph,
        danger: false,
        on_choose,
    };
    let (archived, here, steps) = room.view.with(|view| {
        (
            view.task.archived_at.is_some(),
            view.task.workflow_step_id,
            view.steps.clone(),
        )
    });
    let id = room.id;
    let mut items = Vec::new();
    if !archived {
        items.push(item(
            t!(locale, taskpage.rename).to_owned(),
            Glyph::Pencil,
            Callback::new(move |()| room.renaming.set(true)),
        ));
        items.push(item(
            t!(locale, taskpage.add_subtask).to_owned(),
            Glyph::Plus,
            Callback::new(move |()| workbench.open_subtask(id)),
        ));
        items.extend(
            steps
                .into_iter()
                .filter(|step| step.id != here)
                .map(|step| {
                    let slot = Slot {
                        step: step.id,
                        before: None,
                    };
                    item(
                        t!(locale, taskpage.move_to, step = step.name),
                        Glyph::SquareKanban,
                        Callback::new(move |()| workbench.move_task(id, slot)),
                    )
                }),
        );
        items.push(item(
            t!(locale, taskpage.archive).to_owned(),
            Glyph::Archive,
            Callback::new(move |()| workbench.archive(id)),
        ));
    }
    items.push(MenuItem {
        danger: true,
        ..item(
            t!(locale, taskpage.delete).to_owned(),
            Glyph::Trash2,
            Callback::new(move |()| workbench.ask_to_delete(id)),
        )
    });
    items
}
