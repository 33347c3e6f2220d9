//! What needs the operator: every question and permission that waits, oldest first, answered where it stands; and below, the tasks
//! that are stuck without asking anything.

use crate::components::autopilot::AutopilotIcon;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::RelativeTime;
use crate::components::state_icon::{StateIcon, word};
use crate::components::states::EmptyState;
use crate::components::task_mark::TaskMark;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::lazy;
use crate::pages::asks::Ask;
use crate::pages::workbench::use_workbench;
use crate::paths;
use crate::title::PageTitle;
use domain::ids::TaskId;
use leptos::prelude::*;
use wasm_split_helpers::wasm_split;

/// The page.
#[component]
pub fn Inbox() -> impl IntoView {
    lazy::view(present, || {})
}

/// The page once it is loaded: all that makes it a part of its own.
#[wasm_split(inbox, preload(preload), fallible)]
pub(crate) fn present() -> Result<AnyView, AppError> {
    Ok(view! { <Present/> }.into_any())
}

#[component]
fn Present() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let (asks, stuck) = (workbench.asks, workbench.stuck);
    let is_empty = Memo::new(move |_| asks.with(Vec::is_empty) && stuck.with(Vec::is_empty));
    view! {
        <PageTitle text=t!(locale, board.inbox)/>
        <div class="flex flex-col gap-4 max-w-[50rem] mx-auto p-4" data-testid="inbox">
            <h1 class="text-20">{t!(locale, board.inbox)}</h1>
            <Show when=move || is_empty.get()>
                <EmptyState text=t!(locale, board.inbox_empty)/>
            </Show>
            <For each=move || asks.get() key=|asked| asked.key.clone() let:asked>
                <Ask asked/>
            </For>
            <Show when=move || !stuck.with(Vec::is_empty)>
                <section class="flex flex-col gap-2" aria-label=t!(locale, board.inbox_stuck)>
                    <h2 class="text-14 text-muted">{t!(locale, board.inbox_stuck)}</h2>
                    <ul class="inbox" data-testid="inbox-stuck">
                        <For each=move || stuck.get() key=|id| *id let:id>
                            <Stuck id/>
                        </For>
                    </ul>
                </section>
            </Show>
        </div>
    }
    .into_any()
}

/// A task that is stuck.
#[component]
fn Stuck(id: TaskId) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let mark = Memo::new(move |_| {
        workbench
            .marks
            .with(|marks| marks.get(&id).copied().unwrap_or(TaskMark::Backlog))
    });
    let task = Memo::new(move |_| workbench.by_id.with(|tasks| tasks.get(&id).cloned()));
    let parent = Memo::new(move |_| {
        let parent = task.with(|task| task.as_ref()?.parent_id)?;
        Some(workbench.title(parent)).filter(|title| !title.is_empty())
    });
    let autopilot = task.with_untracked(|task| task.as_ref().is_some_and(|task| task.autopilot));
    let error = move || task.with(|task| task.as_ref()?.error_message.clone());
    let since = move || task.with(|task| task.as_ref().map(|task| task.updated_at));
    view! {
        <li class="inbox-row" data-testid="inbox-stuck-item" data-task=id.to_string()>
            <span class="mt-0.5 flex"><StateIcon mark/></span>
            <span class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="flex items-start gap-2">
                    <a class="task-card-link" href=paths::task(id)>{move || workbench.title(id)}</a>
                    {autopilot.then(|| view! { <AutopilotIcon/> })}
                </span>
                <span class="text-12 text-muted">
                    // The icon says it already to those who cannot see it.
                    <span aria-hidden="true">{move || word(locale, mark.get())}</span>
                    {move || since().map(|at| view! { " · " <RelativeTime at/> })}
                </span>
                {move || parent.get().map(|parent| {
                    view! {
                        <span class="flex items-center gap-1 text-12 text-muted">
                            <Icon glyph=Glyph::CornerLeftUp class="w-3 h-3 shrink-0"/>
                            <span class="truncate">{t!(locale, task.part_of, title = parent)}</span>
                        </span>
                    }
                })}
                {move || error().map(|error| view! { <span class="text-12 text-failed line-clamp-2">{error}</span> })}
            </span>
        </li>
    }
    .into_any()
}
