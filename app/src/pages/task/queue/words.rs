//! Editing a prompt in its place. When it goes to the agent meanwhile, the new words are not lost: they are put into the message
//! field.

use super::ids_of;
use crate::api::queue::prompt_edit;
use crate::components::button::{Button, Weight};
use crate::i18n::t;
use crate::pages::task::room::{Room, explain};
use domain::ids::PromptId;
use domain::view::QueueView;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The prompt that is edited, if one is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    room: Room,
    edited: RwSignal<Option<Edited>>,
    text: RwSignal<String>,
    failure: RwSignal<Option<String>>,
    busy: RwSignal<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Edited {
    id: PromptId,
    before: String,
}

impl Words {
    pub(super) fn new(room: Room, queue: Memo<Option<QueueView>>) -> Self {
        let words = Self {
            room,
            edited: RwSignal::new(None),
            text: RwSignal::new(String::new()),
            failure: RwSignal::new(None),
            busy: RwSignal::new(false),
        };
        Effect::new(move |_| {
            let Some(edited) = words.edited.get() else {
                return;
            };
            let waits = queue.with(|queue| ids_of(queue.as_ref()).contains(&edited.id));
            if !waits && !words.busy.get() {
                words.rescue(&edited);
            }
        });
        words
    }

    /// Whether it is this one.
    pub(super) fn edits(self, id: PromptId) -> bool {
        self.edited
            .with(|edited| edited.as_ref().is_some_and(|edited| edited.id == id))
    }

    /// Begins with a prompt's present words. What was begun with another one is saved first.
    pub(super) fn begin(self, id: PromptId, words: String) {
        if self.is_changed() {
            self.save();
        }
        self.failure.set(None);
        self.text.set(words.clone());
        self.edited.set(Some(Edited { id, before: words }));
    }

    fn is_changed(self) -> bool {
        self.edited.with_untracked(|edited| {
            let text = self.text.get_untracked();
            edited.as_ref().is_some_and(|edited| edited.before != text)
        })
    }

    fn rescue(self, edited: &Edited) {
        let text = self.text.get_untracked();
        self.edited.set(None);
        if text == edited.before || text.trim().is_empty() {
            return;
        }
        self.room.draft.update(|draft| {
            *draft = if draft.trim().is_empty() {
                text
            } else {
                [text, std::mem::take(draft)].join("\n\n")
            };
        });
        self.room.toasts.done(t!(self.room.locale, queue.rescued));
    }

    fn save(self) {
        let Some(edited) = self.edited.get_untracked() else {
            return;
        };
        let text = self.text.get_untracked().trim().to_owned();
        if text.is_empty() || self.busy.get_untracked() {
            return;
        }
        if text == edited.before {
            self.edited.set(None);
            return;
        }
        self.busy.set(true);
        self.failure.set(None);
        let room = self.room;
        spawn_local(async move {
            let saved = prompt_edit(edited.id, text, edited.before.clone()).await;
            match saved {
                Ok(queue) => {
                    let _ = room.view.try_update(|view| {
                        let queues = view.queues.iter_mut();
                        queues
                            .filter(|known| known.session_id == queue.session_id)
                            .for_each(|known| known.clone_from(&queue));
                    });
                    let is_this = |now: &Option<Edited>| now.as_ref() == Some(&edited);
                    if self.edited.try_with_untracked(is_this) == Some(true) {
                        let _ = self.edited.try_set(None);
                    }
                }
                Err(error) => {
                    let _ = self.failure.try_set(Some(explain(room.locale, &error)));
                }
            }
            let _ = self.busy.try_set(false);
            room.reread();
        });
    }

    /// The field and what ends the editing.
    pub(super) fn form(self) -> AnyView {
        let locale = self.room.locale;
        let field = NodeRef::<leptos::html::Textarea>::new();
        Effect::new(move |_| {
            if let Some(field) = field.get() {
                let _ = field.focus();
            }
        });
        let empty = Signal::derive(move || self.text.with(|text| text.trim().is_empty()));
        view! {
            <form
                class="flex flex-col gap-2 py-1"
                on:submit=move |event| {
                    event.prevent_default();
                    self.save();
                }
            >
                <textarea
                    node_ref=field
                    class="field field-growing"
                    rows="2"
                    aria-label=t!(locale, queue.words)
                    data-testid="queue-entry-words"
                    prop:value=move || self.text.get()
                    on:input:target=move |event| self.text.set(event.target().value())
                    on:keydown=move |event| {
                        let sends = event.key() == "Enter" && (event.ctrl_key() || event.meta_key());
                        if sends {
                            event.prevent_default();
                            self.save();
                        } else if event.key() == "Escape" && !self.is_changed() {
                            event.stop_propagation();
                            self.edited.set(None);
                        }
                    }
                ></textarea>
                {move || self.failure.get().map(|failure| view! { <p role="alert" class="text-13 text-failed">{failure}</p> })}
                <div class="flex flex-wrap gap-2">
                    <Button
                        kind="submit"
                        weight=Weight::Primary
                        busy=self.busy
                        disabled=empty
                        test_id="queue-entry-save"
                    >
                        {t!(locale, queue.save)}
                    </Button>
                    <Button on_press=Callback::new(move |()| self.edited.set(None)) test_id="queue-entry-discard">
                        {t!(locale, queue.discard)}
                    </Button>
                </div>
            </form>
        }
        .into_any()
    }
}
