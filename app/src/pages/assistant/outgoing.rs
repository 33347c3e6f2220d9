//! What the operator has said and the conversation does not show yet.
//!
//! A message leaves the field at once, so that a second press finds nothing to send, and stands at the end until its job is there. One
//! that was refused goes back into the field, in front of what was typed meanwhile. Sent again as it was it has the same key: whether
//! the server had it the first time is not known, and it is one job either way.

use super::chat::Chat;
use crate::api::assistant::assistant_say;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::states::explain;
use crate::i18n::t;
use domain::ids::PromptId;
use domain::job::JobId;
use leptos::prelude::*;
use leptos::task::spawn_local;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    key: String,
    text: String,
    /// The job that was made of it.
    job: Option<JobId>,
}

/// Messages on their way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing {
    chat: Chat,
    draft: RwSignal<String>,
    list: RwSignal<Vec<Said>>,
    /// Why the last one was refused, in words.
    pub(super) failure: RwSignal<Option<String>>,
    /// The last one that failed.
    failed: StoredValue<Option<Said>>,
    busy: StoredValue<bool>,
}

impl Outgoing {
    pub(super) fn new(chat: Chat, draft: RwSignal<String>) -> Self {
        let outgoing = Self {
            chat,
            draft,
            list: RwSignal::new(Vec::new()),
            failure: RwSignal::new(None),
            failed: StoredValue::new(None),
            busy: StoredValue::new(false),
        };
        // What the conversation shows is no longer on its way.
        Effect::new(move |_| {
            let shown = chat.talk.ids();
            let arrived = |said: &Said| said.job.is_some_and(|job| shown.contains(&job));
            if outgoing.list.with(|list| list.iter().any(arrived)) {
                outgoing
                    .list
                    .update(|list| list.retain(|said| !arrived(said)));
            }
        });
        outgoing
    }

    pub(super) fn is_empty(self) -> bool {
        self.list.with(Vec::is_empty)
    }

    /// Says something.
    pub(super) fn say(self, text: String) {
        self.draft.set(String::new());
        self.failure.set(None);
        let failed = self.failed.try_update_value(Option::take).flatten();
        let key = failed
            .filter(|said| said.text == text)
            .map_or_else(|| PromptId::new().to_string(), |said| said.key);
        let said = Said {
            key,
            text,
            job: None,
        };
        self.list.update(|list| list.push(said));
        self.send_next();
    }

    /// One after the other, in the order in which they were written.
    fn send_next(self) {
        let next = self
            .list
            .try_with_untracked(|list| list.iter().find(|said| said.job.is_none()).cloned());
        let (Some(Some(said)), Some(false)) = (next, self.busy.try_get_value()) else {
            return;
        };
        self.busy.set_value(true);
        spawn_local(async move {
            let sent = assistant_say(said.text.clone(), said.key.clone()).await;
            let _ = self.busy.try_set_value(false);
            match sent {
                Ok(enqueued) => {
                    let _ = self.list.try_update(|list| {
                        list.iter_mut()
                            .filter(|other| other.key == said.key)
                            .for_each(|other| other.job = Some(enqueued.job_id));
                    });
                    self.chat.read();
                    self.send_next();
                }
                Err(error) => {
                    let words = explain(self.chat.locale, &error);
                    let _ = self.failed.try_set_value(Some(said));
                    let _ = self.failure.try_set(Some(words));
                    let unsent = self.list.try_update(take_unsent).unwrap_or_default();
                    let _ = self
                        .draft
                        .try_update(|draft| *draft = put_back(unsent, draft));
                }
            }
        });
    }
}

fn take_unsent(list: &mut Vec<Said>) -> Vec<String> {
    let (unsent, sent) = std::mem::take(list)
        .into_iter()
        .partition(|said: &Said| said.job.is_none());
    *list = sent;
    unsent.into_iter().map(|said| said.text).collect()
}

fn put_back(mut unsent: Vec<String>, draft: &str) -> String {
    if !draft.trim().is_empty() {
        unsent.push(draft.to_owned());
    }
    unsent.join("\n\n")
}

/// Messages on their way, at the end of the conversation.
#[component]
pub(super) fn OnTheirWay(outgoing: Outgoing) -> impl IntoView {
    let locale = outgoing.chat.locale;
    view! {
        <For each=move || outgoing.list.get() key=|said| said.key.clone() let:said>
            <div class="transcript-column">
                <article class="message message-operator" data-testid="assistant-outgoing">
                    <header class="flex items-center gap-2 text-12 text-muted">
                        <strong class="font-semibold text-text">{t!(locale, chat.you)}</strong>
                        <span class="ml-auto inline-flex items-center gap-1">
                            <Icon glyph=Glyph::LoaderCircle class="w-3.5 h-3.5 spin"/>
                            {t!(locale, assistant.sending)}
                        </span>
                    </header>
                    <p class="whitespace-pre-wrap break-words">{said.text}</p>
                </article>
            </div>
        </For>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_comes_back_before_what_was_typed_since() {
        let said = |text: &str, job| Said {
            key: text.to_owned(),
            text: text.to_owned(),
            job,
        };
        let mut list = vec![
            said("went", Some(JobId(1))),
            said("a", None),
            said("b", None),
        ];
        let unsent = take_unsent(&mut list);
        assert_eq!(list, [said("went", Some(JobId(1)))]);
        assert_eq!(put_back(unsent.clone(), "typing"), "a\n\nb\n\ntyping");
        assert_eq!(put_back(unsent, " \n"), "a\n\nb");
    }
}
