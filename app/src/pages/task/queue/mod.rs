//! What waits for the task's agent: a chip that counts, the list behind it, and the word that it is held.

use crate::api::queue::{prompt_remove, session_auto_run};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::chip::Chip;
use crate::components::glyph::Glyph;
use crate::components::moment::RelativeTime;
use crate::i18n::{plural, t};
use crate::pages::task::room::Room;
use domain::ids::SessionId;
use domain::queue::QueuedBy;
use domain::view::{QueueView, QueuedView, TaskPageView};
use leptos::prelude::*;

/// Counts what waits and opens the list.
#[component]
pub(super) fn QueueChip(room: Room, open: RwSignal<bool>) -> impl IntoView {
    let locale = room.locale;
    let count =
        room.part(|view: &TaskPageView| view.queues.iter().map(|queue| queue.count).sum::<usize>());
    view! {
        <Show when=move || count.get() != 0>
            <Chip
                glyph=Glyph::ListOrdered
                text=move || t!(locale, taskpage.queued, n = count.get())
                sentence=move || plural!(locale, taskpage.queue_sentence, count.get())
                on_press=Callback::new(move |()| open.update(|open| *open = !*open))
                test_id="queue-chip"
            />
        </Show>
    }
}

/// What waits, in order.
#[component]
pub(super) fn QueueList(room: Room, open: RwSignal<bool>) -> impl IntoView {
    let locale = room.locale;
    let queue = room.part(|view: &TaskPageView| {
        let entries = |queue: &QueueView| queue.entries.clone();
        view.queues.iter().flat_map(entries).collect::<Vec<_>>()
    });
    view! {
        <Show when=move || open.get() && queue.with(|queue| !queue.is_empty())>
            <section class="queue-list" aria-label=t!(locale, taskpage.queue) data-testid="queue-panel">
                <ol>
                    <For each=move || queue.get() key=|prompt| prompt.id children=move |prompt| row(room, prompt)/>
                </ol>
            </section>
        </Show>
    }
}

fn row(room: Room, prompt: QueuedView) -> impl IntoView {
    let locale = room.locale;
    let who = match prompt.queued_by {
        QueuedBy::User => t!(locale, chat.you),
        QueuedBy::Agent => t!(locale, taskpage.by_agent),
        QueuedBy::Workflow => t!(locale, chat.workflow),
        QueuedBy::Server => t!(locale, taskpage.by_question),
    };
    let id = prompt.id;
    let remove = view! {
        <IconButton
            glyph=Glyph::X
            label=t!(locale, taskpage.remove_queued)
            on_press=Callback::new(move |()| {
                room.view.update(|view| {
                    for queue in &mut view.queues {
                        queue.entries.retain(|other| other.id != id);
                    }
                });
                room.act(prompt_remove(id));
            })
            test_id="queue-entry-remove"
        />
    };
    view! {
        <li class="flex items-center gap-2 min-h-8 text-13" data-testid="queue-entry">
            <span class="shrink-0 text-12 text-muted">{who}</span>
            <span class="flex-1 min-w-0 truncate">{prompt.content}</span>
            <span class="shrink-0 text-12 text-muted"><RelativeTime at=prompt.queued_at/></span>
            {remove}
        </li>
    }
}

/// Says that a queue is held, with the way to let it go on.
#[component]
pub(super) fn HeldNote(room: Room) -> impl IntoView {
    let locale = room.locale;
    let held = room.part(|view: &TaskPageView| {
        let waits = |id: SessionId| view.queues.iter().any(|queue| queue.session_id == id);
        let held = view.sessions.iter().find(|s| !s.auto_run && waits(s.id));
        held.map(|session| session.id)
    });
    view! {
        {move || {
            held.get()
                .map(|session| {
                    view! {
                        <span class="inline-flex items-center gap-2 text-12 text-muted">
                            {t!(locale, taskpage.held)}
                            <Button
                                weight=Weight::Plain
                                glyph=Glyph::Play
                                on_press=Callback::new(move |()| room.act(session_auto_run(session, true)))
                                test_id="queue-auto-run"
                            >
                                {t!(locale, taskpage.release)}
                            </Button>
                        </span>
                    }
                })
        }}
    }
}
