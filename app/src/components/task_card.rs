//! A task on the board.

use super::autopilot::AutopilotIcon;
use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::{Elapsed, RelativeTime};
use super::request_mark::{Requests, RequestsIcon};
use super::state_icon::StateIcon;
use super::task_mark::TaskMark;
use crate::i18n::{plural, t, use_locale};
use crate::paths;
use domain::view::TaskView;
use leptos::prelude::*;

/// A card: what it is, who works on it and for how long, and the states of its parts. The whole card is the link.
#[component]
pub fn TaskCard(
    /// The task.
    #[prop(into)]
    task: Signal<TaskView>,
    /// Its state.
    #[prop(into)]
    mark: Signal<TaskMark>,
    /// Title of the task it is part of.
    #[prop(into)]
    parent: Signal<Option<String>>,
    /// States of its parts.
    #[prop(into)]
    parts: Signal<Vec<TaskMark>>,
    /// What else is to be known: that it moves later, or what it waits for.
    #[prop(into, optional)]
    note: Signal<Option<String>>,
    /// What can be done with it, at the end of its first line.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let locale = use_locale();
    let id = task.with_untracked(|task| task.id);
    let autopilot = task.with_untracked(|task| task.autopilot);
    let title = Memo::new(move |_| task.with(|task| task.title.clone()));
    let agent = Memo::new(move |_| task.with(|task| task.primary_agent_name.clone()));
    let running_since = Memo::new(move |_| task.with(|task| task.turn_started_at));
    let updated_at = Memo::new(move |_| task.with(|task| task.updated_at));
    let error = Memo::new(move |_| task.with(|task| task.error_message.clone()));
    let blocked = Memo::new(move |_| task.with(|task| task.blocked_reason.clone()));
    let halted = Memo::new(move |_| task.with(|task| task.workflow_notice.clone()));
    let repository = Memo::new(move |_| {
        task.with(|task| {
            let first = task.repositories.first()?;
            Some((first.name.clone(), task.repositories.len() - 1))
        })
    });
    let requests = Memo::new(move |_| task.with(|task| Requests::of(&task.prs)));
    let queued = Memo::new(move |_| {
        task.with(|task| usize::try_from(task.queued_prompt_count).unwrap_or(0))
    });
    let needs_operator = move || {
        matches!(
            mark.get(),
            TaskMark::Permission | TaskMark::Question | TaskMark::WaitingForInput
        )
    };

    view! {
        <article
            class="task-card"
            data-testid="kanban-card"
            data-task=id.to_string()
            data-needs-operator=move || needs_operator().then_some("")
        >
            <div class="flex items-start gap-2" data-testid="kanban-card-title-row">
                <span class="mt-0.5 flex"><StateIcon mark/></span>
                <a class="task-card-link" href=paths::task(id) data-testid="task-card-title">{title}</a>
                {autopilot.then(|| view! { <AutopilotIcon/> })}
                {children.map(|children| view! { <span class="task-card-menu">{children()}</span> })}
            </div>
            {move || {
                parent
                    .get()
                    .map(|parent| {
                        view! {
                            <p class="flex items-center gap-1 text-12 text-muted" data-testid="task-parent-relationship">
                                <Icon glyph=Glyph::CornerLeftUp class="w-3 h-3 shrink-0"/>
                                <span class="truncate">{t!(locale, task.part_of, title = parent)}</span>
                            </p>
                        }
                    })
            }}
            {move || {
                repository
                    .get()
                    .map(|(name, more)| {
                        view! {
                            <p class="flex items-center gap-1 text-12 text-muted" data-testid="task-repository">
                                <Icon glyph=Glyph::FolderGit2 class="w-3 h-3 shrink-0"/>
                                <span class="truncate">{name}</span>
                                {(more > 0).then(|| view! { <span class="shrink-0">"+" {more}</span> })}
                            </p>
                        }
                    })
            }}
            <Show when=move || requests.with(Option::is_some)>
                <p class="flex text-12 text-muted"><RequestsIcon requests written=true/></p>
            </Show>
            {move || error.get().map(|error| view! { <p class="text-12 text-failed line-clamp-2">{error}</p> })}
            {move || {
                blocked
                    .get()
                    .map(|reason| {
                        view! {
                            <p class="flex items-start gap-1 text-12 text-waiting" data-testid="kanban-card-blocked-badge">
                                <Icon glyph=Glyph::Link2 class="w-3 h-3 mt-0.5 shrink-0"/>
                                <span class="min-w-0 line-clamp-2">{t!(locale, task.blocked_by, reason = reason)}</span>
                            </p>
                        }
                    })
            }}
            {move || note.get().map(|note| view! { <p class="text-12 text-muted line-clamp-2" data-testid="kanban-card-note">{note}</p> })}
            {move || {
                halted.get().map(|why| view! { <p class="text-12 text-waiting line-clamp-3" data-testid="kanban-card-halted">{why}</p> })
            }}
            <div class="flex items-center gap-2 min-h-5 text-12 text-muted">
                {move || agent.get().map(|agent| view! { <span class="truncate">{agent}</span> })}
                {move || {
                    match running_since.get() {
                        Some(since) => view! { <Elapsed since/> }.into_any(),
                        None => view! { <RelativeTime at=updated_at.get()/> }.into_any(),
                    }
                }}
                <Show when=move || queued.get() != 0>
                    <span class="inline-flex items-center gap-0.5">
                        <Icon glyph=Glyph::ListOrdered class="w-3 h-3"/>
                        <span class="sr-only">{move || plural!(locale, task.queued, queued.get())}</span>
                        <span aria-hidden="true">{queued}</span>
                    </span>
                </Show>
                <Show when=move || !parts.with(Vec::is_empty)>
                    <span class="ml-auto inline-flex items-center gap-0.5" data-testid="task-subagent-count">
                        <span class="sr-only">{move || plural!(locale, task.parts, parts.with(Vec::len))}</span>
                        <span class="inline-flex gap-0.5" aria-hidden="true">{move || parts_strip(&parts.get())}</span>
                        <span aria-hidden="true">{move || parts.with(Vec::len)}</span>
                    </span>
                </Show>
            </div>
        </article>
    }
    .into_any()
}

/// At most five icons: beyond that the number says more.
fn parts_strip(parts: &[TaskMark]) -> impl IntoView + use<> {
    parts
        .iter()
        .take(5)
        .map(|mark| view! { <Icon glyph=mark.glyph() class="w-3 h-3"/> })
        .collect_view()
}
