//! The relatives of the task: what it is part of, its own parts with their states, the other parts of its parent, what it depends
//! on and what waits for it.

use super::room::Room;
use crate::components::autopilot::AutopilotIcon;
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::components::state_icon::StateIcon;
use crate::components::task_mark::{Facts, mark};
use crate::i18n::t;
use crate::pages::workbench::{Workbench, use_workbench};
use crate::paths;
use domain::view::{RelatedTask, RelatedTasks};
use leptos::prelude::*;

/// The relatives, in the panel or in the sheet.
#[component]
pub(super) fn Related(room: Room) -> impl IntoView {
    let locale = room.locale;
    let workbench = use_workbench();
    let list =
        |get: fn(&RelatedTasks) -> Vec<RelatedTask>| Memo::new(move |_| room.related.with(get));
    let parent = list(|related| related.parent.iter().cloned().collect());
    let children = list(|related| related.children.clone());
    let siblings = list(|related| related.siblings.clone());
    let depends_on = list(|related| related.depends_on.clone());
    let blocks = list(|related| related.blocks.clone());
    view! {
        <div class="flex flex-col gap-4">
            {section(t!(locale, taskpage.parent), parent, workbench, "related-parent")}
            {section(t!(locale, taskpage.subtasks), children, workbench, "related-children")}
            <Show when=move || children.with(Vec::is_empty)>
                <p class="text-13 text-muted">{t!(locale, taskpage.no_subtasks)}</p>
            </Show>
            {section(t!(locale, taskpage.siblings), siblings, workbench, "related-siblings")}
            {section(t!(locale, taskpage.depends_on), depends_on, workbench, "related-depends-on")}
            {section(t!(locale, taskpage.blocks), blocks, workbench, "related-blocks")}
            <div>
                <Button
                    weight=Weight::Quiet
                    glyph=Glyph::Plus
                    on_press=Callback::new(move |()| workbench.open_subtask(room.id))
                    test_id="add-subtask"
                >
                    {t!(locale, taskpage.add_subtask)}
                </Button>
            </div>
        </div>
    }
    .into_any()
}

fn section(
    heading: &'static str,
    tasks: Memo<Vec<RelatedTask>>,
    workbench: Workbench,
    test_id: &'static str,
) -> impl IntoView {
    view! {
        <Show when=move || tasks.with(|tasks| !tasks.is_empty())>
            <section data-testid=test_id>
                <h3 class="mb-1 text-12 text-muted font-medium">{heading}</h3>
                <ul>
                    <For
                        each=move || tasks.get()
                        key=|task| (task.id, task.title.clone())
                        children=move |task| row(workbench, tasks, task)
                    />
                </ul>
            </section>
        </Show>
    }
}

fn row(workbench: Workbench, tasks: Memo<Vec<RelatedTask>>, task: RelatedTask) -> impl IntoView {
    let RelatedTask {
        id,
        title,
        autopilot,
        ..
    } = task.clone();
    // The board knows more of a task than its relatives do, unless it is archived or elsewhere.
    let mark = Memo::new(move |_| {
        let on_board = workbench.marks.with(|marks| marks.get(&id).copied());
        on_board.unwrap_or_else(|| {
            tasks.with(|tasks| {
                let now = tasks.iter().find(|other| other.id == id);
                mark(Facts::of_related(now.unwrap_or(&task)))
            })
        })
    });
    view! {
        <li class="task-row px-1">
            <StateIcon mark/>
            <a class="task-row-link" href=paths::task(id)>
                <span class="truncate">{title}</span>
            </a>
            {autopilot.then(|| view! { <AutopilotIcon/> })}
        </li>
    }
}
