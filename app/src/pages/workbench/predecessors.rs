//! The field of the dialog for a new task that says which tasks must be completed first.

use super::state::use_workbench;
use crate::components::dom_id::dom_id;
use crate::i18n::{plural, t, use_locale};
use domain::ids::TaskId;
use domain::task::TaskState;
use leptos::prelude::*;

/// From this many on there is something to search.
const MANY: usize = 8;

/// "Depends on": a list of the workspace's unfinished tasks, folded until it is wanted.
#[component]
pub fn Predecessors(
    /// The tasks chosen.
    chosen: RwSignal<Vec<TaskId>>,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let help = dom_id();
    let wanted = RwSignal::new(String::new());
    let choices = Memo::new(move |_| {
        workbench.tasks.with(|tasks| {
            let open = tasks
                .iter()
                .filter(|task| task.state != TaskState::Completed);
            open.map(|task| (task.id, task.title.clone()))
                .collect::<Vec<_>>()
        })
    });
    let shown = Memo::new(move |_| {
        let wanted = wanted.with(|wanted| wanted.trim().to_lowercase());
        let mut shown = choices.get();
        // What is chosen stays in sight.
        shown.retain(|(id, title)| {
            title.to_lowercase().contains(&wanted) || chosen.with(|chosen| chosen.contains(id))
        });
        shown
    });
    let is_long = Memo::new(move |_| choices.with(Vec::len) >= MANY);
    let count = Memo::new(move |_| chosen.with(Vec::len));
    view! {
        <details class="flex flex-col gap-1 text-13" data-testid="depends-on">
            <summary class="font-medium cursor-pointer">
                {t!(locale, board.depends_on)}
                <Show when=move || count.get() != 0>
                    <span class="ml-2 text-muted font-normal">{move || plural!(locale, board.depends_on_count, count.get())}</span>
                </Show>
            </summary>
            <p id=help.clone() class="text-12 text-muted">{t!(locale, board.depends_on_help)}</p>
            <Show when=move || is_long.get()>
                <input
                    type="search"
                    class="field"
                    aria-label=t!(locale, board.depends_on_find)
                    prop:value=move || wanted.get()
                    on:input=move |event| wanted.set(event_target_value(&event))
                />
            </Show>
            <Show
                when=move || choices.with(|choices| !choices.is_empty())
                fallback=move || view! { <p class="text-12 text-muted">{t!(locale, board.depends_on_none)}</p> }
            >
                <ul class="flex flex-col max-h-48 overflow-y-auto" aria-describedby=help.clone()>
                    <For
                        each=move || shown.get()
                        key=|(id, title)| (*id, title.clone())
                        children=move |(id, title)| choice(chosen, id, title)
                    />
                </ul>
            </Show>
        </details>
    }
    .into_any()
}

fn choice(chosen: RwSignal<Vec<TaskId>>, id: TaskId, title: String) -> impl IntoView {
    view! {
        <li>
            <label class="flex items-center gap-2 py-1 max-sm:min-h-11">
                <input
                    type="checkbox"
                    prop:checked=move || chosen.with(|chosen| chosen.contains(&id))
                    on:change=move |event| {
                        let on = event_target_checked(&event);
                        chosen
                            .update(|chosen| {
                                chosen.retain(|other| *other != id);
                                if on {
                                    chosen.push(id);
                                }
                            });
                    }
                />
                <span class="min-w-0 truncate">{title}</span>
            </label>
        </li>
    }
}
