//! The turns, and reading them again: one read at a time, and one more when something changed meanwhile.

use crate::api::assistant::{ShownTalk, ShownTurn, assistant_earlier, assistant_news};
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::components::states::explain;
use crate::components::toast::{Toasts, use_toasts};
use crate::components::transcript::{Place, Transcript};
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::live::{Topic, use_live};
use domain::job::JobId;
use domain::job::effects::ConsentState;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;

/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// The conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chat {
    pub(super) talk: Transcript<ShownTurn>,
    pub(super) locale: Locale,
    pub(super) toasts: Toasts,
    has_earlier: RwSignal<bool>,
    reading_earlier: RwSignal<bool>,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
}

impl Chat {
    /// Opens the conversation and, in the browser, keeps it current.
    pub(super) fn open(first: ShownTalk) -> Self {
        let chat = Self {
            talk: Transcript::default(),
            locale: use_locale(),
            toasts: use_toasts(),
            has_earlier: RwSignal::new(first.has_earlier),
            reading_earlier: RwSignal::new(false),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
        };
        chat.talk.merge(first.turns);
        let live = use_live();
        Effect::new(move |before: Option<u64>| {
            let now = live.revision(Topic::Jobs);
            if before.map_or(now != 0, |before| before != now) {
                chat.read();
            }
            now
        });
        chat
    }

    /// Reads what may have changed, and what is new.
    pub(super) fn read(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        let from = self.first_that_changes();
        spawn_local(async move {
            let read = assistant_news(from).await;
            let _ = self.reading.try_set_value(false);
            match read {
                Ok(news) => self.talk.try_merge(news.turns),
                Err(_) => set_timeout(move || self.read(), AGAIN),
            }
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.read();
            }
        });
    }

    /// The first turn that is not what it will be, or else the last one.
    fn first_that_changes(self) -> JobId {
        let ids = untrack(|| self.talk.ids());
        let changes = |id: &JobId| {
            self.talk
                .entry(*id)
                .is_some_and(|turn| turn.with_untracked(can_change))
        };
        let first = ids.iter().copied().find(changes);
        first.or(ids.last().copied()).unwrap_or(JobId(0))
    }

    pub(super) fn read_earlier(self) {
        let ready = self.has_earlier.try_get_untracked() == Some(true)
            && self.reading_earlier.try_get_untracked() == Some(false);
        let (true, Some(first)) = (ready, self.talk.first()) else {
            return;
        };
        self.reading_earlier.set(true);
        spawn_local(async move {
            match assistant_earlier(first).await {
                Ok(page) => {
                    let place = Place::note();
                    self.talk.try_merge(page.turns);
                    let _ = self.has_earlier.try_set(page.has_earlier);
                    if let Some(place) = place {
                        request_animation_frame(move || place.restore());
                    }
                }
                Err(error) => self.failed(&error),
            }
            let _ = self.reading_earlier.try_set(false);
        });
    }

    /// Says why something could not be done.
    pub(super) fn failed(self, error: &AppError) {
        self.toasts.failed(explain(self.locale, error));
    }
}

/// Whether a turn is not over, or what it previewed is not.
fn can_change(turn: &ShownTurn) -> bool {
    let waits = |state| matches!(state, ConsentState::Open | ConsentState::Agreed);
    !turn.job.status.is_final()
        || turn
            .confirmation
            .as_ref()
            .is_some_and(|one| waits(one.state))
}

/// The way to earlier turns, above the first one.
pub(super) fn earlier(chat: Chat) -> impl IntoView {
    let locale = chat.locale;
    view! {
        <Show when=move || chat.has_earlier.get()>
            <div class="flex justify-center pt-4">
                <Button
                    weight=Weight::Quiet
                    glyph=Glyph::ChevronUp
                    busy=chat.reading_earlier
                    on_press=Callback::new(move |()| chat.read_earlier())
                    test_id="chat-earlier"
                >
                    {t!(locale, assistant.earlier)}
                </Button>
            </div>
        </Show>
    }
}
