//! What waits for the agent of the session that is shown: a chip that counts, the panel behind it, and the word that it is held.
//!
//! What the operator does shows at once; the server's answer follows, and a failure puts things back and says why.

mod entry;
mod order;
mod words;

use super::room::Room;
use crate::api::queue::{queue_clear, session_auto_run};
use crate::components::button::{Button, Weight};
use crate::components::chip::Chip;
use crate::components::glyph::Glyph;
use crate::i18n::{plural, t};
use domain::ids::{PromptId, SessionId};
use domain::view::{QueueView, QueuedView, SessionView, TaskPageView};
use entry::Entry;
use leptos::prelude::*;
use order::Order;
use words::Words;

/// What is to be confirmed before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Take back somebody else's message.
    Remove(PromptId),
    /// Take back everything.
    Clear,
}

/// The queue of the session that is shown, and what the operator is doing with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Desk {
    room: Room,
    queue: Memo<Option<QueueView>>,
    /// What is asked back at present.
    ask: RwSignal<Option<Ask>>,
    /// What is being sent before its time.
    sending: RwSignal<Option<PromptId>>,
    order: Order,
    words: Words,
}

impl Desk {
    fn new(room: Room) -> Self {
        let queue = Memo::new(move |_| {
            let shown = room.shown.get()?;
            room.view
                .with(|view| view.queues.iter().find(|q| q.session_id == shown).cloned())
        });
        Self {
            room,
            queue,
            ask: RwSignal::new(None),
            sending: RwSignal::new(None),
            order: Order::new(room, queue),
            words: Words::new(room, queue),
        }
    }

    /// The prompts in the order they are shown in.
    fn ids(self) -> Vec<PromptId> {
        let ids = self.queue.with(|queue| ids_of(queue.as_ref()));
        self.order.applied(ids)
    }
}

fn ids_of(queue: Option<&QueueView>) -> Vec<PromptId> {
    queue.map_or_else(Vec::new, |queue| {
        queue.entries.iter().map(|entry| entry.id).collect()
    })
}

/// Changes the page's copy of a session's queue, until the server's is read.
fn change(room: Room, session: SessionId, change: impl FnOnce(&mut Vec<QueuedView>)) {
    let _ = room.view.try_update(|view: &mut TaskPageView| {
        if let Some(queue) = view.queues.iter_mut().find(|q| q.session_id == session) {
            change(&mut queue.entries);
            queue.count = queue.entries.len();
        }
    });
}

/// Counts what waits and opens the panel.
#[component]
pub(super) fn QueueChip(room: Room, open: RwSignal<bool>) -> impl IntoView {
    let locale = room.locale;
    let count = Memo::new(move |_| {
        let shown = room.shown.get();
        room.view.with(|view| {
            let queue = view.queues.iter().find(|q| Some(q.session_id) == shown);
            queue.map_or(0, |queue| queue.count)
        })
    });
    view! {
        // It stays while its panel is open, or nothing could close that.
        <Show when=move || count.get() != 0 || open.get()>
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

/// Everything that waits, in order, and what can be done about it.
#[component]
pub(super) fn QueuePanel(
    room: Room,
    session: Memo<Option<SessionView>>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let locale = room.locale;
    let desk = Desk::new(room);
    view! {
        <Show when=move || open.get() && session.with(Option::is_some)>
            <section class="queue-panel" aria-label=t!(locale, taskpage.queue) data-testid="queue-panel">
                <Head desk session/>
                <Show
                    when=move || desk.queue.with(|queue| queue.as_ref().is_some_and(|queue| queue.count != 0))
                    fallback=move || {
                        view! { <p class="py-1 text-13 text-muted" data-testid="queue-empty">{t!(locale, queue.empty)}</p> }
                    }
                >
                    <ol
                        on:pointerdown=move |event| desk.order.pressed(&event)
                        on:pointermove=move |event| desk.order.moved(&event)
                        on:pointerup=move |_| desk.order.released()
                        on:pointercancel=move |_| desk.order.cancel()
                        on:lostpointercapture=move |_| desk.order.cancel()
                    >
                        <For each=move || desk.ids() key=|id| *id children=move |id| view! { <Entry desk id/> }/>
                    </ol>
                </Show>
                <p class="sr-only" role="status">{move || desk.order.said()}</p>
            </section>
        </Show>
    }
    .into_any()
}

/// How much waits, whether it goes by itself, and taking all of it back.
#[component]
fn Head(desk: Desk, session: Memo<Option<SessionView>>) -> impl IntoView {
    let room = desk.room;
    let locale = room.locale;
    let count = move || {
        desk.queue.with(|queue| {
            let queue = queue.as_ref()?;
            Some(match queue.max {
                0 => queue.count.to_string(),
                max => t!(locale, queue.of_max, n = queue.count, max = max),
            })
        })
    };
    let auto_run = Memo::new(move |_| session.with(|s| s.as_ref().is_none_or(|s| s.auto_run)));
    let switch = move |_| {
        if let Some(session) = room.shown.get_untracked() {
            let on = !auto_run.get_untracked();
            let _ = room.view.try_update(|view| {
                let sessions = view.sessions.iter_mut();
                sessions
                    .filter(|s| s.id == session)
                    .for_each(|s| s.auto_run = on);
            });
            room.act(session_auto_run(session, on));
        }
    };
    let clearing = Memo::new(move |_| desk.ask.get() == Some(Ask::Clear));
    let clear = Callback::new(move |()| {
        desk.ask.set(None);
        if let Some(session) = room.shown.get_untracked() {
            change(room, session, Vec::clear);
            room.act(queue_clear(session));
        }
    });
    view! {
        <header class="queue-head">
            <h2 class="flex-1 min-w-0 text-13 font-semibold">
                {t!(locale, taskpage.queue)} " "
                <span class="font-normal text-muted tabular-nums">{count}</span>
            </h2>
            <span class="inline-flex items-center gap-2 min-h-8 max-sm:h-11">
                <label for="queue-auto-run" class="text-12">{t!(locale, queue.auto_run)}</label>
                <button
                    type="button"
                    role="switch"
                    id="queue-auto-run"
                    class="switch"
                    data-testid="queue-auto-run"
                    aria-checked=move || auto_run.get().to_string()
                    aria-describedby="queue-auto-run-help"
                    on:click=switch
                >
                    <span class="switch-knob"></span>
                </button>
            </span>
            <Show when=move || desk.queue.with(|queue| queue.as_ref().is_some_and(|queue| queue.count != 0)) && !clearing.get()>
                <Button
                    weight=Weight::Quiet
                    on_press=Callback::new(move |()| desk.ask.set(Some(Ask::Clear)))
                    test_id="queue-clear-all"
                >
                    {t!(locale, queue.clear_all)}
                </Button>
            </Show>
        </header>
        <p id="queue-auto-run-help" class="text-12 text-muted">
            {move || if auto_run.get() { t!(locale, queue.runs) } else { t!(locale, queue.is_held) }}
        </p>
        <Show when=move || clearing.get()>
            <Confirm
                text=t!(locale, queue.clear_question)
                yes=t!(locale, queue.clear)
                on_yes=clear
                on_no=Callback::new(move |()| desk.ask.set(None))
            />
        </Show>
    }
    .into_any()
}

/// Asks back, in the place of what was pressed.
#[component]
fn Confirm(
    /// What would be lost.
    text: &'static str,
    /// The word for doing it.
    yes: &'static str,
    on_yes: Callback<()>,
    on_no: Callback<()>,
) -> impl IntoView {
    let locale = crate::i18n::use_locale();
    let element = NodeRef::<leptos::html::Div>::new();
    // What was pressed is gone; focus goes to what has come, or a keyboard would begin again at the top of the page.
    Effect::new(move |_| {
        if let Some(element) = element.get() {
            let _ = element.focus();
        }
    });
    view! {
        <div
            node_ref=element
            class="queue-confirm"
            role="group"
            aria-label=text
            tabindex="-1"
            on:keydown=move |event| {
                if event.key() == "Escape" {
                    event.stop_propagation();
                    on_no.run(());
                }
            }
        >
            <p class="flex-1 min-w-0 text-13">{text}</p>
            <Button on_press=on_no test_id="queue-confirm-no">{t!(locale, queue.keep)}</Button>
            <Button weight=Weight::Danger on_press=on_yes test_id="queue-confirm-yes">{yes}</Button>
        </div>
    }
    .into_any()
}

/// Says that a queue is held, with the way to let it go on.
#[component]
pub(super) fn HeldNote(room: Room, session: Memo<Option<SessionView>>) -> impl IntoView {
    let locale = room.locale;
    let held = Memo::new(move |_| {
        session.with(|session| {
            let session = session.as_ref()?;
            (!session.auto_run).then_some(session.id)
        })
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
                                test_id="queue-release"
                            >
                                {t!(locale, taskpage.release)}
                            </Button>
                        </span>
                    }
                })
        }}
    }
}
