//! What needs the operator: one row a task, what it waits for and since when, most urgent first.

use crate::components::autopilot::AutopilotIcon;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::RelativeTime;
use crate::components::state_icon::{StateIcon, word};
use crate::components::states::EmptyState;
use crate::components::task_mark::TaskMark;
use crate::i18n::{t, use_locale};
use crate::need::needs_operator;
use crate::pages::workbench::use_workbench;
use crate::paths;
use crate::title::PageTitle;
use domain::ids::TaskId;
use leptos::prelude::*;

/// The page.
#[component]
pub fn Inbox() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let waiting = Memo::new(move |_| {
        let marks = workbench.marks.read();
        let mut waiting: Vec<_> = workbench
            .by_id
            .read()
            .values()
            .filter_map(|task| {
                let mark = *marks.get(&task.id)?;
                needs_operator(mark).then_some((mark, task.updated_at, task.id))
            })
            .collect();
        // Agents that stand still for an answer before what has ended; within each, who waits longest.
        waiting.sort();
        waiting.into_iter().map(|(.., id)| id).collect::<Vec<_>>()
    });
    view! {
        <PageTitle text=t!(locale, board.inbox)/>
        <div class="flex flex-col gap-4 max-w-[50rem] mx-auto p-4">
            <h1 class="text-20">{t!(locale, board.inbox)}</h1>
            <Show
                when=move || !waiting.with(Vec::is_empty)
                fallback=move || view! { <EmptyState text=t!(locale, board.inbox_empty)/> }
            >
                <ul class="inbox" data-testid="inbox">
                    <For each=move || waiting.get() key=|id| *id let:id>
                        <Row id/>
                    </For>
                </ul>
            </Show>
        </div>
    }
    .into_any()
}

#[component]
fn Row(id: TaskId) -> impl IntoView {
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
        <li class="inbox-row" data-testid="inbox-item" data-task=id.to_string()>
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
