//! A column: the name of the step, how many cards it has, and the cards.

use super::card::Card;
use super::carry::Carry;
use super::drag::Drag;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::i18n::{plural, t, use_locale};
use crate::pages::workbench::changes::Slot;
use crate::pages::workbench::use_workbench;
use domain::ids::{StepId, TaskId};
use domain::view::TaskView;
use leptos::prelude::*;

/// One step of the workflow.
#[component]
pub fn Column(
    /// Which step.
    step: StepId,
    /// The dragging of the board.
    drag: Drag,
    /// The carrying of the board.
    carry: Carry,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let facts = Memo::new(move |_| {
        workbench.steps.with(|steps| {
            let step = steps.iter().find(|s| s.id == step);
            step.map(|step| (step.name.clone(), step.color.clone(), step.wip_limit))
                .unwrap_or_default()
        })
    });
    let name = Memo::new(move |_| facts.with(|(name, ..)| name.clone()));
    let limit = Memo::new(move |_| facts.with(|(.., limit)| usize::try_from(*limit).unwrap_or(0)));
    let cards = Memo::new(move |_| workbench.cards(step));
    // Those that wait for a place stand apart, below the others.
    let waits = move |id: &TaskId| {
        workbench
            .by_id
            .with(|tasks| tasks.get(id).is_some_and(TaskView::waits_for_place))
    };
    let placed = Memo::new(move |_| {
        let mut cards = cards.get();
        cards.retain(|id| !waits(id));
        cards
    });
    let waiting = Memo::new(move |_| {
        let mut cards = cards.get();
        cards.retain(waits);
        cards
    });
    let all = Memo::new(move |_| cards.with(Vec::len));
    // With a limit the head counts what the limit counts: finished cards take no place.
    let count = Memo::new(move |_| {
        if limit.get() == 0 {
            return all.get();
        }
        workbench.by_id.with(|tasks| {
            let taken = |id: &&TaskId| tasks.get(id).is_some_and(TaskView::takes_place);
            cards.with(|cards| cards.iter().filter(taken).count())
        })
    });
    let at_end = Slot { step, before: None };
    view! {
        <section
            class="board-column"
            data-testid="kanban-column"
            data-step=step.to_string()
            data-target=move || drag.target().is_some_and(|slot| slot.step == step).then_some("")
            aria-label=move || name.get()
        >
            <header class="board-column-head">
                <span
                    class="board-dot"
                    data-color=move || facts.with(|(_, color, _)| color.clone())
                    aria-hidden="true"
                ></span>
                <h2 class="min-w-0 truncate text-13">{name}</h2>
                <span class="board-count" data-over=move || (limit.get() != 0 && count.get() > limit.get()).then_some("")>
                    <span aria-hidden="true">
                        {move || match (limit.get(), waiting.with(Vec::len)) {
                            (0, _) => count.get().to_string(),
                            (limit, 0) => format!("{}/{limit}", count.get()),
                            (limit, more) => format!("{}/{limit} +{more}", count.get()),
                        }}
                    </span>
                    <span class="sr-only">
                        {move || match limit.get() {
                            0 => plural!(locale, board.tasks, count.get()),
                            limit => t!(locale, board.count_of, n = count.get(), most = limit),
                        }}
                        {move || (limit.get() != 0 && waiting.with(|cards| !cards.is_empty())).then(|| {
                            let more = plural!(locale, board.queued_count, waiting.with(Vec::len));
                            format!(", {more}")
                        })}
                    </span>
                </span>
            </header>
            <ul class="board-cards" data-testid="kanban-column-scroll" aria-describedby="board-keys">
                <For each=move || placed.get() key=|id| *id let:id>
                    <Card id drag carry/>
                </For>
                <Show when=move || waiting.with(|cards| !cards.is_empty())>
                    <li class="board-queue" data-testid="kanban-queued-section">
                        <h3 class="board-queue-head">
                            <Icon glyph=Glyph::OctagonPause class="w-3 h-3 shrink-0"/>
                            <span aria-hidden="true">{t!(locale, board.queued_heading)}</span>
                            <span class="ml-auto" aria-hidden="true">{move || waiting.with(Vec::len)}</span>
                            <span class="sr-only">{move || plural!(locale, board.queued_count, waiting.with(Vec::len))}</span>
                        </h3>
                        <ul class="flex flex-col gap-2">
                            <For each=move || waiting.get() key=|id| *id let:id>
                                <Card id drag carry/>
                            </For>
                        </ul>
                    </li>
                </Show>
                <Show when=move || all.get() == 0>
                    <li class="board-empty">{t!(locale, board.column_empty)}</li>
                </Show>
                <li class="board-end" aria-hidden="true" data-drop=move || (drag.target() == Some(at_end)).then_some("")></li>
            </ul>
        </section>
    }
    .into_any()
}
