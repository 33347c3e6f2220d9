//! The transcript of the session that is shown, and how it stays current.
//!
//! The feed says which messages changed; exactly these are read again, one read at a time, so that an older state of a message never
//! replaces a newer one. Earlier messages are read when somebody scrolls up to where they would be, and what is being read stays
//! where it is on the screen.

use super::entry;
use super::phase::LastSaid;
use super::room::Room;
use super::room::outgoing::OnTheirWay;
use crate::api::sessions::{ShownMessage, TranscriptPage, messages, transcript};
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::components::states::{ErrorState, Skeleton};
use crate::components::transcript::{Place, Transcript, TranscriptList};
use crate::error::AppError;
use crate::i18n::t;
use crate::live::{Changed, Live, Topic, use_live};
use domain::ids::{MessageId, PromptId, SessionId};
use domain::view::TaskPageView;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;

/// Messages that one call reads again.
const A_CALL: usize = 100;
/// How far back to look for a message that was just sent.
const RECENT: usize = 30;
/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// What stands between the head and the dock: a transcript, or what the task is about while nobody has worked on it.
#[component]
pub(super) fn ConversationOfTask(
    room: Room,
    /// What the page was loaded with.
    first: Option<(SessionId, TranscriptPage)>,
) -> impl IntoView {
    let first = StoredValue::new(first);
    // A transcript that is come back to is read anew.
    Effect::new(move |before: Option<Option<SessionId>>| {
        let shown = room.shown.get();
        if before.is_some_and(|before| before != shown) {
            first.set_value(None);
        }
        shown
    });
    view! {
        <div class="task-talk">
            {move || match room.shown.get() {
                Some(session) => {
                    let first = first.with_value(|first| {
                        let (of, page) = first.as_ref()?;
                        (*of == session).then(|| page.clone())
                    });
                    view! { <Conversation room session first/> }.into_any()
                }
                None => view! { <NotStarted room/> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

/// What a task is about, before its first session.
#[component]
fn NotStarted(room: Room) -> impl IntoView {
    let locale = room.locale;
    let description = room.part(|view: &TaskPageView| view.task.description.clone());
    view! {
        <div class="transcript" data-testid="task-not-started">
            <div class="transcript-column">
                <p class="text-muted">{t!(locale, taskpage.not_started)}</p>
                <Show when=move || description.with(|text| !text.is_empty())>
                    <p class="message message-operator whitespace-pre-wrap">{description}</p>
                </Show>
            </div>
            <OnTheirWay room arrived=Signal::stored(Vec::new())/>
        </div>
    }
}

#[component]
fn Conversation(room: Room, session: SessionId, first: Option<TranscriptPage>) -> impl IntoView {
    let locale = room.locale;
    let live = use_live();
    let talk = Transcript::<ShownMessage>::default();
    let reader = Reader {
        room,
        session,
        talk,
        live,
        has_earlier: RwSignal::new(false),
        loaded: RwSignal::new(first.is_some()),
        failure: RwSignal::new(None),
        busy: StoredValue::new(false),
        reading_earlier: RwSignal::new(false),
    };
    if let Some(page) = first {
        reader.has_earlier.set(page.has_earlier);
        talk.merge(page.messages);
    }
    Effect::new(move |before: Option<u64>| {
        let revision = live.revision(Topic::Transcript(session));
        if before.is_none() && !reader.loaded.get_untracked() {
            reader.read_newest();
        } else {
            reader.read_changed();
        }
        revision
    });
    let last = Memo::new(move |_| {
        let ids = talk.ids();
        ids.iter()
            .rev()
            .filter_map(|id| talk.entry(*id))
            .find_map(|entry| entry.with(LastSaid::of))
            .unwrap_or_default()
    });
    Effect::new(move |_| room.last_said.set(last.get()));
    let arrived = Memo::new(move |_| {
        let ids = talk.ids();
        ids.iter()
            .rev()
            .take(RECENT)
            .filter_map(|id| talk.entry(*id))
            .filter_map(|entry| entry.with_untracked(prompt_of))
            .collect::<Vec<PromptId>>()
    });
    let earlier = move || {
        view! {
            <Show when=move || reader.has_earlier.get()>
                <div class="flex justify-center pt-4">
                    <Button
                        weight=Weight::Quiet
                        glyph=Glyph::ChevronUp
                        busy=reader.reading_earlier
                        on_press=Callback::new(move |()| reader.read_earlier())
                        test_id="chat-earlier"
                    >
                        {t!(locale, taskpage.earlier)}
                    </Button>
                </div>
            </Show>
        }
    };
    let tail = move || view! { <OnTheirWay room arrived/> };
    view! {
        <Show
            when=move || reader.loaded.get()
            fallback=move || match reader.failure.get() {
                Some(error) => {
                    view! {
                        <div class="p-4">
                            <ErrorState error on_retry=Callback::new(move |()| reader.read_newest())/>
                        </div>
                    }
                    .into_any()
                }
                None => view! { <Skeleton lines=6/> }.into_any(),
            }
        >
            <TranscriptList
                transcript=talk
                render=move |shown| entry::show(room, session, shown)
                on_top=Callback::new(move |()| reader.read_earlier())
                head=earlier
                tail=tail
            />
        </Show>
    }
    .into_any()
}

fn prompt_of(shown: &ShownMessage) -> Option<PromptId> {
    let id = shown.message.metadata.get("prompt_id")?;
    id.as_str()?.parse().ok()
}

#[derive(Debug, Clone, Copy)]
struct Reader {
    room: Room,
    session: SessionId,
    talk: Transcript<ShownMessage>,
    live: Live,
    has_earlier: RwSignal<bool>,
    loaded: RwSignal<bool>,
    failure: RwSignal<Option<AppError>>,
    /// A read of new or changed messages is under way.
    busy: StoredValue<bool>,
    reading_earlier: RwSignal<bool>,
}

impl Reader {
    fn read_changed(self) {
        if self.busy.try_get_value() != Some(false) {
            return;
        }
        match self.live.take_changed(self.session) {
            Changed::Messages(ids) if ids.is_empty() => {}
            Changed::Messages(ids) => {
                let ids: Vec<MessageId> = ids.into_iter().collect();
                self.busy.set_value(true);
                spawn_local(async move {
                    for some in ids.chunks(A_CALL) {
                        match messages(some.to_vec()).await {
                            Ok(found) => self.take(found),
                            Err(_) => return self.read_newest_later(),
                        }
                    }
                    self.done();
                });
            }
            Changed::Anything => self.read_newest(),
        }
    }

    /// Reads the newest page: at the beginning, and after the feed had a gap.
    fn read_newest(self) {
        if self.busy.try_get_value() != Some(false) {
            return;
        }
        self.busy.set_value(true);
        let _ = self.failure.try_set(None);
        // What was noted until now is in what is read now.
        let _ = self.live.take_changed(self.session);
        spawn_local(async move {
            match transcript(self.session, None).await {
                Ok(page) => {
                    // After a gap of more than a page the transcript would have a hole: begin again from the end.
                    let first_time = self.loaded.try_get_untracked() == Some(false);
                    if first_time || !self.talk.joins(&page.messages) {
                        self.talk.clear();
                        let _ = self.has_earlier.try_set(page.has_earlier);
                    }
                    self.take(page.messages);
                    let _ = self.loaded.try_set(true);
                    self.done();
                }
                Err(error) if self.loaded.try_get_untracked() == Some(false) => {
                    let _ = self.failure.try_set(Some(error));
                    let _ = self.busy.try_set_value(false);
                }
                Err(_) => self.read_newest_later(),
            }
        });
    }

    fn read_newest_later(self) {
        let _ = self.busy.try_set_value(false);
        set_timeout(move || self.read_newest(), AGAIN);
    }

    /// More may have changed meanwhile.
    fn done(self) {
        if self.busy.try_set_value(false).is_none() {
            self.read_changed();
        }
    }

    fn take(self, found: Vec<ShownMessage>) {
        // The task has many sessions, and the feed of one of them is never shown in another.
        self.talk.try_merge(
            found
                .into_iter()
                .filter(|shown| shown.message.session_id == self.session)
                .collect(),
        );
    }

    fn read_earlier(self) {
        let ready = self.has_earlier.try_get_untracked() == Some(true)
            && self.reading_earlier.try_get_untracked() == Some(false);
        let first = self.talk.first();
        let (true, Some(first)) = (ready, first) else {
            return;
        };
        self.reading_earlier.set(true);
        spawn_local(async move {
            match transcript(self.session, Some(first)).await {
                Ok(page) => {
                    let place = Place::note();
                    self.take(page.messages);
                    let _ = self.has_earlier.try_set(page.has_earlier);
                    if let Some(place) = place {
                        request_animation_frame(move || place.restore());
                    }
                }
                Err(error) => self.room.failed(&error),
            }
            let _ = self.reading_earlier.try_set(false);
        });
    }
}
