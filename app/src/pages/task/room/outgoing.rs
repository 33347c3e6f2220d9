//! What the operator has said and the page has not seen come back yet.
//!
//! A message leaves the field at once and stands at the end of the transcript until it is there, or in the queue. Messages go out one
//! after the other, in the order they were written. When one is refused, it and all behind it go back into the field, in front of
//! what was typed meanwhile: nothing is lost.

use super::{Room, explain};
use crate::api::sessions::{prompt_session, prompt_task};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::i18n::{t, use_locale};
use domain::ids::{PromptId, SessionId};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;

/// After this time a message that went out is no longer shown, whatever became of it.
const FORGET: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages::task) struct Said {
    pub(in crate::pages::task) n: u32,
    pub(in crate::pages::task) text: String,
    /// The session it is for; `None` starts one.
    session: Option<SessionId>,
    /// Makes it harmless to send it again.
    key: String,
    /// The server has it, under this id.
    pub(in crate::pages::task) receipt: Option<PromptId>,
}

/// Messages on their way.
#[derive(Debug, Clone, Copy)]
pub(in crate::pages::task) struct Outgoing {
    pub(in crate::pages::task) list: RwSignal<Vec<Said>>,
    /// Why the last one was refused, in words.
    pub(in crate::pages::task) failure: RwSignal<Option<String>>,
    count: StoredValue<u32>,
    busy: StoredValue<bool>,
    /// The last one that failed. Whether the server has it is not known; sent again as it was, it is the same message.
    failed: StoredValue<Option<Said>>,
}

impl Outgoing {
    pub(in crate::pages::task) fn new() -> Self {
        Self {
            list: RwSignal::new(Vec::new()),
            failure: RwSignal::new(None),
            count: StoredValue::new(0),
            busy: StoredValue::new(false),
            failed: StoredValue::new(None),
        }
    }

    fn forget(self, n: u32) {
        let _ = self.list.try_update(|list| list.retain(|said| said.n != n));
    }
}

/// Says something to the session that is shown, or to the task when there is none.
pub(in crate::pages::task) fn say(room: Room, text: String) {
    let outgoing = room.outgoing;
    outgoing.failure.set(None);
    let n = outgoing.count.get_value();
    outgoing.count.set_value(n.wrapping_add(1));
    let session = room.shown.get_untracked();
    let failed = outgoing.failed.try_update_value(Option::take).flatten();
    let said = Said {
        n,
        key: key_for(failed, session, &text),
        text,
        session,
        receipt: None,
    };
    outgoing.list.update(|list| list.push(said));
    send_next(room);
}

fn send_next(room: Room) {
    let outgoing = room.outgoing;
    let next = outgoing
        .list
        .try_with_untracked(|list| list.iter().find(|said| said.receipt.is_none()).cloned());
    let Some(Some(said)) = next else { return };
    if outgoing.busy.try_get_value() != Some(false) {
        return;
    }
    outgoing.busy.set_value(true);
    spawn_local(async move {
        let (text, key) = (said.text.clone(), Some(said.key.clone()));
        let sent = match said.session {
            Some(session) => prompt_session(session, text, key).await,
            None => prompt_task(room.id, text, key).await,
        };
        let _ = outgoing.busy.try_set_value(false);
        match sent {
            Ok(outcome) => {
                match outcome.queue_entry_id {
                    Some(receipt) => {
                        let _ = outgoing.list.try_update(|list| {
                            list.iter_mut()
                                .filter(|other| other.n == said.n)
                                .for_each(|other| other.receipt = Some(receipt));
                        });
                        set_timeout(move || outgoing.forget(said.n), FORGET);
                    }
                    None => outgoing.forget(said.n),
                }
                room.reread();
                send_next(room);
            }
            Err(error) => {
                let _ = outgoing.failed.try_set_value(Some(said));
                let _ = outgoing.failure.try_set(Some(explain(room.locale, &error)));
                let unsent = outgoing.list.try_update(take_unsent);
                let _ = room.draft.try_update(|draft| {
                    *draft = put_back(unsent.unwrap_or_default(), draft);
                });
            }
        }
    });
}

/// The key of the message that failed, when this is that one again; a new one otherwise.
fn key_for(failed: Option<Said>, session: Option<SessionId>, text: &str) -> String {
    failed
        .filter(|said| said.session == session && said.text == text)
        .map_or_else(|| PromptId::new().to_string(), |said| said.key)
}

fn take_unsent(list: &mut Vec<Said>) -> Vec<String> {
    let (unsent, sent) = std::mem::take(list)
        .into_iter()
        .partition(|said: &Said| said.receipt.is_none());
    *list = sent;
    unsent.into_iter().map(|said| said.text).collect()
}

fn put_back(mut unsent: Vec<String>, draft: &str) -> String {
    if !draft.trim().is_empty() {
        unsent.push(draft.to_owned());
    }
    unsent.join("\n\n")
}

/// Messages on their way, at the end of the transcript. Those in `arrived` are there already.
#[component]
pub(in crate::pages::task) fn OnTheirWay(
    room: Room,
    #[prop(into)] arrived: Signal<Vec<PromptId>>,
) -> impl IntoView {
    let locale = use_locale();
    let waiting = Memo::new(move |_| {
        let queued: Vec<PromptId> = room.view.with(|view| {
            let entries = view.queues.iter().flat_map(|queue| &queue.entries);
            entries.map(|prompt| prompt.id).collect()
        });
        let arrived = arrived.get();
        room.outgoing.list.with(|list| {
            list.iter()
                .filter(|said| {
                    said.receipt
                        .is_none_or(|id| !queued.contains(&id) && !arrived.contains(&id))
                })
                .cloned()
                .collect::<Vec<Said>>()
        })
    });
    view! {
        <For each=move || waiting.get() key=|said| said.n let:said>
            <div class="transcript-column">
                <article class="message message-operator opacity-60" data-testid="chat-outgoing">
                    <header class="flex items-center gap-2 text-12 text-muted">
                        <strong class="font-semibold text-text">{t!(locale, chat.you)}</strong>
                        <span class="ml-auto inline-flex items-center gap-1">
                            <Icon glyph=Glyph::LoaderCircle class="w-3.5 h-3.5 spin"/>
                            {t!(locale, taskpage.sending)}
                        </span>
                    </header>
                    <p class="whitespace-pre-wrap">{said.text}</p>
                </article>
            </div>
        </For>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_comes_back_in_order_and_before_what_was_typed_since() {
        let said = |n, text: &str, receipt| Said {
            n,
            text: text.to_owned(),
            session: None,
            key: String::new(),
            receipt,
        };
        let mut list = vec![
            said(0, "went", Some(PromptId::new())),
            said(1, "a", None),
            said(2, "b", None),
        ];
        let unsent = take_unsent(&mut list);
        assert_eq!(list.len(), 1);
        assert_eq!(put_back(unsent.clone(), "typing"), "a\n\nb\n\ntyping");
        assert_eq!(put_back(unsent, " \n"), "a\n\nb");
    }

    #[test]
    fn what_failed_and_is_sent_again_as_it_was_is_the_same_message() {
        let session = Some(SessionId::new());
        let failed = || {
            Some(Said {
                n: 0,
                text: "a".to_owned(),
                session,
                key: "k".to_owned(),
                receipt: None,
            })
        };
        assert_eq!(key_for(failed(), session, "a"), "k");
        assert_ne!(key_for(failed(), session, "a b"), "k");
        assert_ne!(key_for(failed(), None, "a"), "k");
        assert_ne!(key_for(None, session, "a"), key_for(None, session, "a"));
    }
}
