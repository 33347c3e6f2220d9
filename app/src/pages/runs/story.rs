//! What happened in a run, and what it has made: as its client reads it.

use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::LocalTime;
use crate::i18n::{Locale, t};
use domain::message::MessageType;
use domain::run::view::{Artifacts, TimelineEntry};
use leptos::prelude::*;

pub(super) fn timeline(
    locale: Locale,
    entries: Signal<Vec<TimelineEntry>>,
    log_count: Signal<i64>,
) -> impl IntoView {
    let left_out = move || {
        let shown: usize = entries.with(|entries| entries.iter().map(|entry| entry.count).sum());
        let all = log_count.get();
        (i64::try_from(shown).unwrap_or(i64::MAX) < all)
            .then(|| t!(locale, run.entries_left_out, n = all))
    };
    view! {
        <section class="flex flex-col gap-1.5">
            <h2 class="text-14">{t!(locale, run.timeline)}</h2>
            <Show when=move || entries.with(Vec::is_empty)>
                <p class="text-12 text-muted">{t!(locale, run.timeline_empty)}</p>
            </Show>
            <ol class="job-timeline" data-testid="run-timeline" aria-label=t!(locale, run.timeline)>
                // The last entry grows: what stands before it stays.
                <For
                    each=move || entries.get().into_iter().enumerate()
                    key=|(at, entry)| (*at, entry.at, entry.count, entry.text.clone())
                    let((_, entry))
                >
                    {self::entry(locale, entry)}
                </For>
            </ol>
            {move || left_out().map(|words| view! { <p class="text-12 text-muted">{words}</p> })}
        </section>
    }
    .into_any()
}

fn entry(locale: Locale, entry: TimelineEntry) -> impl IntoView {
    let (glyph, icon_class) = mark(entry.kind);
    let repeated = (entry.count > 1).then(|| {
        let words = t!(locale, run.times, n = entry.count);
        view! { <span class="shrink-0 text-12 text-muted tabular-nums">{words}</span> }
    });
    view! {
        <li class="job-entry" data-type=entry.kind.as_str()>
            <Icon glyph class=icon_class/>
            <span class="flex-1 min-w-0 break-words">{entry.text}</span>
            {repeated}
            <span class="shrink-0 text-12 text-muted"><LocalTime at=entry.at/></span>
        </li>
    }
}

const fn mark(kind: MessageType) -> (Glyph, &'static str) {
    use MessageType as M;
    match kind {
        M::Error => (Glyph::CircleX, "w-3.5 h-3.5 mt-0.5 shrink-0 text-failed"),
        M::ClarificationRequest | M::PermissionRequest => (
            Glyph::CircleQuestionMark,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-waiting",
        ),
        M::ToolCall | M::ToolEdit | M::ToolRead | M::ToolExecute => {
            (Glyph::Wrench, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted")
        }
        M::Message => (
            Glyph::MessageSquare,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted",
        ),
        M::Content
        | M::Progress
        | M::Log
        | M::Status
        | M::ScriptExecution
        | M::Thinking
        | M::AgentPlan
        | M::Todo => (
            Glyph::CircleDashed,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted",
        ),
    }
}

/// Files and commands; nothing when there are none.
pub(super) fn artifacts(locale: Locale, made: Signal<Artifacts>) -> impl IntoView {
    let is_some =
        move || made.with(|made| !made.files_changed.is_empty() || !made.commands_run.is_empty());
    let lines = |heading: &'static str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| {
            let lines = lines
                .into_iter()
                .map(|line| view! { <li class="font-mono text-12 break-all">{line}</li> })
                .collect_view();
            view! {
                <div class="flex flex-col gap-0.5">
                    <h3 class="text-12 text-muted">{heading}</h3>
                    <ul class="flex flex-col gap-0.5">{lines}</ul>
                </div>
            }
        })
    };
    view! {
        <Show when=is_some>
            <section class="flex flex-col gap-1.5" data-testid="run-made">
                <h2 class="text-14">{t!(locale, run.made)}</h2>
                {move || lines(t!(locale, run.files), made.with(|made| made.files_changed.clone()))}
                {move || lines(t!(locale, run.commands), made.with(|made| made.commands_run.clone()))}
            </section>
        </Show>
    }
    .into_any()
}
