//! Finding a task by its title, on `/`: type, arrow down or press Enter, and its page opens.

use super::state::use_workbench;
use crate::components::dialog::Dialog;
use crate::components::state_icon::StateIcon;
use crate::components::task_mark::TaskMark;
use crate::error::AppError;
use crate::i18n::{plural, t, use_locale};
use crate::keys::{Command, Commands};
use crate::lazy;
use crate::paths;
use domain::ids::TaskId;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;
use wasm_bindgen::JsCast;
use wasm_split_helpers::wasm_split;
use web_sys::HtmlElement;

/// More than these are not worth reading: another letter is quicker.
const MOST: usize = 20;

/// The dialog. It listens for its own key.
#[component]
pub fn Search() -> impl IntoView {
    let locale = use_locale();
    let open = RwSignal::new(false);
    let commands: Commands = expect_context();
    commands.on(Command::Search, Callback::new(move |()| open.set(true)));
    view! {
        <Dialog open title=t!(locale, board.search_heading) test_id="search-dialog">
            {lazy::view(move || found(open), || {})}
        </Dialog>
    }
}

/// What is in the dialog, in a part of its own with the forms.
#[wasm_split(dialogs, preload(preload), fallible)]
pub(crate) fn found(open: RwSignal<bool>) -> Result<AnyView, AppError> {
    Ok(view! { <Found open/> }.into_any())
}

#[component]
fn Found(open: RwSignal<bool>) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let navigate = use_navigate();
    let words = RwSignal::new(String::new());
    let found = Memo::new(move |_| {
        let words = words.with(|words| words.to_lowercase());
        let matches = |title: &str| {
            let title = title.to_lowercase();
            words.split_whitespace().all(|word| title.contains(word))
        };
        workbench.by_id.with(|tasks| {
            // Ids grow with time: the newest first.
            let found = tasks.values().rev().filter(|task| matches(&task.title));
            found.map(|task| task.id).collect::<Vec<_>>()
        })
    });
    let row = move |id: TaskId| {
        let mark = Memo::new(move |_| {
            workbench
                .marks
                .with(|marks| marks.get(&id).copied().unwrap_or(TaskMark::Backlog))
        });
        view! {
            <li>
                <a class="menu-item" href=paths::task(id) on:click=move |_| open.set(false)>
                    <StateIcon mark/>
                    <span class="truncate">{move || workbench.title(id)}</span>
                </a>
            </li>
        }
    };
    view! {
        <div
            class="flex flex-col gap-2 p-4"
            on:keydown=move |event| {
                let step = match event.key().as_str() {
                    "ArrowDown" => 1,
                    "ArrowUp" => -1,
                    _ => return,
                };
                event.prevent_default();
                let within = event.current_target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
                if let Some(within) = within {
                    move_focus(&within, step);
                }
            }
        >
            <input
                type="search"
                class="field"
                autocomplete="off"
                aria-label=t!(locale, shell.search)
                data-testid="search-input"
                on:input=move |event| words.set(event_target_value(&event))
                on:keydown=move |event| {
                    if event.key() == "Enter" && !event.is_composing()
                        && let Some(id) = found.with_untracked(|found| found.first().copied())
                    {
                        event.prevent_default();
                        open.set(false);
                        navigate(&paths::task(id), Default::default());
                    }
                }
            />
            <p class="text-12 text-muted" role="status">
                {move || plural!(locale, board.tasks, found.with(Vec::len))}
            </p>
            <ul>
                <For each=move || found.with(|found| found.iter().take(MOST).copied().collect::<Vec<_>>()) key=|id| *id children=row/>
            </ul>
        </div>
    }
    .into_any()
}

/// Between the field and the rows.
fn move_focus(within: &HtmlElement, step: i32) {
    let Ok(stops) = within.query_selector_all("input, a") else {
        return;
    };
    let stops: Vec<HtmlElement> = (0..stops.length())
        .filter_map(|at| stops.get(at)?.dyn_into().ok())
        .collect();
    let focused = document().active_element();
    let at = stops
        .iter()
        .position(|stop| Some(stop.as_ref()) == focused.as_ref());
    let next = at
        .and_then(|at| i32::try_from(at).ok())
        .map_or(0, |at| at + step);
    if let Some(stop) = usize::try_from(next).ok().and_then(|next| stops.get(next)) {
        // Refused only by an element that has left the page.
        let _ = stop.focus();
    }
}
