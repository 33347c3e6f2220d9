//! One prompt that waits: whose it is, its words, and what can be done with it.

use super::{Ask, Confirm, Desk, change};
use crate::api::queue::{prompt_merge, prompt_remove, prompt_send_now, queue_reorder};
use crate::api::sessions::prompt_session;
use crate::components::button::IconButton;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::RelativeTime;
use crate::i18n::t;
use crate::pages::task::room::Room;
use crate::paths;
use domain::ids::PromptId;
use domain::queue::QueuedBy;
use domain::view::QueuedView;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// So much of a prompt's words tells it from the others.
const NAME_CHARS: usize = 40;

/// A prompt that waits.
#[component]
pub(super) fn Entry(desk: Desk, id: PromptId) -> impl IntoView {
    let room = desk.room;
    let locale = room.locale;
    let entry = Memo::new(move |before: Option<&Option<QueuedView>>| {
        let now = desk.queue.with(|queue| {
            let entries = queue.as_ref().map(|queue| &queue.entries)?;
            entries.iter().find(|entry| entry.id == id).cloned()
        });
        // One on its way out keeps its words.
        now.or_else(|| before.cloned().flatten())
    });
    let words = move || entry.with(|entry| entry.as_ref().map(|entry| entry.content.clone()));
    let place = move || {
        let ids = desk.ids();
        let place = ids.iter().position(|other| *other == id);
        (place.map_or(0, |place| place + 1), ids.len())
    };
    let grab_label = move || {
        let (n, all) = place();
        let name = name_of(&words().unwrap_or_default());
        t!(locale, queue.grab, name = name, n = n, all = all)
    };
    let is_edited = Memo::new(move |_| desk.words.edits(id));
    let is_asked = Memo::new(move |_| desk.ask.get() == Some(Ask::Remove(id)));
    view! {
        <li
            class="queue-entry"
            data-testid="queue-entry"
            data-queue-id=id.to_string()
            data-drop=move || desk.order.mark_at(id)
            data-held=move || desk.order.is_held(id).then_some("")
        >
            <button
                type="button"
                class="queue-grab"
                data-testid="queue-grab-handle"
                data-queue-handle=id.to_string()
                aria-label=grab_label
                on:keydown=move |event| {
                    if desk.order.on_key(id, &event.key()) {
                        event.prevent_default();
                    }
                }
            >
                <Icon glyph=Glyph::GripVertical/>
            </button>
            <div class="flex-1 min-w-0">
                <p class="flex flex-wrap items-center gap-x-2 text-12 text-muted">
                    {move || entry.get().map(|entry| view! { <Author room entry/> })}
                </p>
                <Show
                    when=move || is_edited.get()
                    fallback=move || view! { <p class="queue-words">{words}</p> }
                >
                    {desk.words.form()}
                </Show>
            </div>
            <Show when=move || !is_edited.get() && !is_asked.get()>
                <Actions desk id entry/>
            </Show>
            <Show when=move || is_asked.get()>
                <Confirm
                    text=t!(locale, queue.remove_question)
                    yes=t!(locale, queue.remove)
                    on_yes=Callback::new(move |()| {
                        desk.ask.set(None);
                        remove(room, id);
                    })
                    on_no=Callback::new(move |()| desk.ask.set(None))
                />
            </Show>
        </li>
    }
    .into_any()
}

/// Who put it there, and when.
#[component]
fn Author(room: Room, entry: QueuedView) -> impl IntoView {
    let locale = room.locale;
    let who = match (entry.queued_by, entry.sender_task_id) {
        (QueuedBy::User, _) => t!(locale, chat.you).into_any(),
        (QueuedBy::Agent, Some(task)) if task == room.id => {
            let name = entry.sender_session_name.unwrap_or_default();
            t!(locale, queue.from_session, name = name).into_any()
        }
        (QueuedBy::Agent, Some(task)) => {
            let title = entry.sender_task_title.unwrap_or_default();
            view! {
                <a class="link inline-flex items-center gap-1 min-w-0" href=paths::task(task) data-testid="queue-peer-badge">
                    <Icon glyph=Glyph::Bot class="w-3.5 h-3.5 shrink-0"/>
                    <span class="truncate">{t!(locale, chat.from_task, title = title)}</span>
                </a>
            }
            .into_any()
        }
        (QueuedBy::Agent, None) => t!(locale, taskpage.by_agent).into_any(),
        (QueuedBy::Workflow, _) => t!(locale, chat.workflow).into_any(),
        (QueuedBy::Server, _) => t!(locale, taskpage.by_flightdeck).into_any(),
    };
    view! {
        {who}
        <RelativeTime at=entry.queued_at/>
    }
}

#[component]
fn Actions(desk: Desk, id: PromptId, entry: Memo<Option<QueuedView>>) -> impl IntoView {
    let room = desk.room;
    let locale = room.locale;
    let can = move |what: fn(&QueuedView) -> bool| {
        Memo::new(move |_| entry.with(|entry| entry.as_ref().is_some_and(what)))
    };
    let mergeable = can(|entry| entry.mergeable);
    let editable = can(|entry| entry.editable);
    let is_sent = Memo::new(move |_| desk.sending.get() == Some(id));
    let send = Callback::new(move |()| {
        if desk.sending.with_untracked(Option::is_some) {
            return;
        }
        desk.sending.set(Some(id));
        room.act(async move {
            let sent = prompt_send_now(id).await;
            let _ = desk.sending.try_set(None);
            sent
        });
    });
    let edit = Callback::new(move |()| {
        if let Some(entry) = entry.get_untracked() {
            desk.words.begin(id, entry.content);
        }
    });
    let take_back = Callback::new(move |()| {
        if editable.get_untracked() {
            remove_own(room, id);
        } else {
            desk.ask.set(Some(Ask::Remove(id)));
        }
    });
    view! {
        <div class="queue-actions">
            <Show
                when=move || !is_sent.get()
                fallback=move || {
                    view! {
                        <span class="inline-flex items-center gap-1 px-2 text-12 text-muted" role="status">
                            <Icon glyph=Glyph::LoaderCircle class="w-4 h-4 spin"/>
                            {t!(locale, queue.sending_now)}
                        </span>
                    }
                }
            >
                <IconButton
                    glyph=Glyph::SendHorizontal
                    label=t!(locale, queue.send_now)
                    on_press=send
                    test_id="queue-entry-send-now"
                />
            </Show>
            <Show when=move || mergeable.get()>
                <IconButton
                    glyph=Glyph::CornerLeftUp
                    label=t!(locale, queue.merge)
                    on_press=Callback::new(move |()| room.act(prompt_merge(id)))
                    test_id="queue-entry-merge"
                />
            </Show>
            <Show when=move || editable.get()>
                <IconButton glyph=Glyph::Pencil label=t!(locale, queue.edit) on_press=edit test_id="queue-entry-edit"/>
            </Show>
            <IconButton
                glyph=Glyph::X
                label=t!(locale, taskpage.remove_queued)
                on_press=take_back
                test_id="queue-entry-remove"
            />
        </div>
    }
    .into_any()
}

fn remove(room: Room, id: PromptId) {
    if let Some(session) = room.shown.get_untracked() {
        change(room, session, |entries| {
            entries.retain(|entry| entry.id != id);
        });
    }
    room.act(prompt_remove(id));
}

/// Takes the operator's own words back. They can be put back to their place.
fn remove_own(room: Room, id: PromptId) {
    let Some(session) = room.shown.get_untracked() else {
        return;
    };
    let mut taken = None;
    change(room, session, |entries| {
        if let Some(at) = entries.iter().position(|entry| entry.id == id) {
            taken = Some((at, entries.remove(at).content));
        }
    });
    let Some((at, content)) = taken else { return };
    let locale = room.locale;
    let undo = move || {
        let content = content.clone();
        spawn_local(async move {
            let put_back = async {
                let queued = prompt_session(session, content, None).await?;
                let Some(id) = queued.queue_entry_id.filter(|_| !queued.merged) else {
                    return Ok(());
                };
                let mut ids: Vec<PromptId> = room
                    .view
                    .try_with_untracked(|view| {
                        let queue = view.queues.iter().find(|q| q.session_id == session);
                        super::ids_of(queue)
                    })
                    .unwrap_or_default();
                ids.retain(|other| *other != id);
                ids.insert(at.min(ids.len()), id);
                // When the queue has moved on since, it stands at the end, which is as good.
                let _ = queue_reorder(session, ids).await;
                Ok(())
            };
            if let Err(error) = put_back.await {
                room.failed(&error);
            }
            room.reread();
        });
    };
    spawn_local(async move {
        match prompt_remove(id).await {
            Ok(_) => room
                .toasts
                .done_with(t!(locale, queue.removed), t!(locale, queue.undo), undo),
            Err(error) => room.failed(&error),
        }
        room.reread();
    });
}

/// The beginning of a prompt's words, in one line.
fn name_of(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= NAME_CHARS {
        return line;
    }
    let mut name: String = line.chars().take(NAME_CHARS).collect();
    name.push('…');
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_named_by_its_first_words() {
        assert_eq!(name_of("one\n two"), "one two");
        let long = name_of(&"é".repeat(100));
        assert_eq!(long.chars().count(), NAME_CHARS + 1);
        assert!(long.ends_with('…'));
    }
}
