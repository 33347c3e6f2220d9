//! The browser's end of the event feed.
//!
//! The browser's own `EventSource` takes a broken connection up again by itself, with `Last-Event-ID`. What it does not do is try
//! again after an answer that is not a stream (the server is restarting, a proxy answers for it); then a new one is opened here,
//! with `since`. Of the tabs of one browser, one listens for all: see `tabs`. Events are named by their kind and come as JSON of [`Event`]; one named `reset` says that the log no longer reaches
//! back to where we were.

use super::link::{Link, QUIET, backoff};
use super::tabs::{Tabs, Word};
use super::{Hub, Live, Topic};
use domain::event::{Event, EventKind};
use leptos::prelude::*;
use std::time::Duration;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

const FEED: &str = "/api/v1/events";
/// Its names for what is not in the event log, and what they concern.
const BESIDE: [(&str, &[Topic]); 2] = [
    ("jobs.changed", &[Topic::Jobs]),
    ("runs.changed", &[Topic::Runs, Topic::Waits]),
];

/// Views are told at most this often, so that an agent that streams quickly does not keep the page busy with reading.
const ROUND: Duration = Duration::from_millis(200);

#[derive(Clone, Copy)]
struct Feed {
    live: Live,
    /// Attempts since the connection was last open.
    attempt: StoredValue<u32>,
    /// A round of telling is on its way.
    telling: StoredValue<bool>,
    /// The other tabs of this browser, when they can be reached.
    tabs: StoredValue<Option<Tabs>, LocalStorage>,
    /// This tab is the one that listens.
    leads: StoredValue<bool>,
}

/// Opens the feed for as long as the page lives.
pub(super) fn open(live: Live) {
    if let Some(cursor) = rendered_at() {
        live.hub.update_value(|hub| hub.start_at(cursor));
    }
    let feed = Feed {
        live,
        attempt: StoredValue::new(0),
        telling: StoredValue::new(false),
        tabs: StoredValue::new_local(None),
        leads: StoredValue::new(false),
    };
    let tabs = Tabs::join(move |word| feed.told(word));
    feed.tabs.set_value(tabs);
    feed.say(&Word::Hello);
    Tabs::when_leading(move || feed.lead());
}

impl Feed {
    /// From now on this tab listens for all.
    fn lead(self) {
        self.leads.set_value(true);
        // The others may have heard less than this one: what they missed is not told again.
        self.say(&Word::At(self.position()));
        self.connect();
    }

    /// What another tab said.
    fn told(self, word: Word) {
        match word {
            Word::Hello if self.leads.get_value() => {
                self.say(&Word::At(self.position()));
                self.say(&Word::Link(self.live.link.get_untracked()));
            }
            Word::Hello => {}
            Word::At(position) => {
                if position > self.position() {
                    self.gap();
                }
            }
            Word::Heard(event) => self.heard(&event),
            Word::Beside(place) => self.beside(place),
            Word::Gap => self.gap(),
            Word::Link(link) => {
                self.live.link.set(link);
                // What the feed says of these is not said again to who comes later.
                self.all_beside();
            }
        }
    }

    fn say(self, word: &Word) {
        self.tabs.with_value(|tabs| {
            if let Some(tabs) = tabs {
                tabs.say(word);
            }
        });
    }

    fn position(self) -> Option<i64> {
        self.live.hub.with_value(Hub::last_id)
    }

    fn set_link(self, link: Link) {
        self.live.link.set(link);
        self.say(&Word::Link(link));
    }

    fn connect(self) {
        let since = self.position();
        let address = since.map_or_else(|| FEED.to_owned(), |id| format!("{FEED}?since={id}"));
        let Ok(source) = EventSource::new(&address) else {
            return;
        };

        let opened = Closure::<dyn Fn()>::new(move || self.opened());
        let heard = Closure::<dyn Fn(MessageEvent)>::new(move |message: MessageEvent| {
            let text = message.data().as_string().unwrap_or_default();
            match serde_json::from_str::<Event>(&text) {
                Ok(event) => {
                    self.heard(&event);
                    self.say(&Word::Heard(event));
                }
                // A kind of event newer than this page: what it is about is unknown, so everything may be.
                Err(_) => self.gap_for_all(),
            }
        });
        let gap = Closure::<dyn Fn()>::new(move || self.gap_for_all());
        let failed = Closure::<dyn Fn()>::new({
            let source = source.clone();
            move || self.failed(&source)
        });
        source.set_onopen(Some(opened.as_ref().unchecked_ref()));
        source.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        source.set_onerror(Some(failed.as_ref().unchecked_ref()));
        // Names of events are constants, so this cannot fail.
        for kind in EventKind::ALL {
            let _ = source
                .add_event_listener_with_callback(kind.as_str(), heard.as_ref().unchecked_ref());
        }
        for (place, (name, _)) in BESIDE.iter().enumerate() {
            let changed = Closure::<dyn Fn()>::new(move || {
                self.beside(place);
                self.say(&Word::Beside(place));
            });
            let _ = source.add_event_listener_with_callback(name, changed.as_ref().unchecked_ref());
            changed.forget();
        }
        let _ = source.add_event_listener_with_callback("reset", gap.as_ref().unchecked_ref());
        // The feed lives as long as the page. What is left behind by a failed attempt is a few hundred bytes.
        opened.forget();
        heard.forget();
        failed.forget();
        gap.forget();
    }

    fn opened(self) {
        // Without an id to take the feed up from, whatever happened while it was away went unheard.
        if self.live.link.get_untracked() != Link::Opening && self.position().is_none() {
            self.gap_for_all();
        }
        self.attempt.set_value(0);
        self.set_link(Link::Open);
        self.all_beside();
    }

    fn heard(self, event: &Event) {
        if self.live.hub.try_update_value(|hub| hub.note(event)) == Some(true) {
            self.tell_soon();
        }
    }

    /// Something may have happened that is in no event.
    fn beside(self, place: usize) {
        let concerned = BESIDE.get(place).map_or(&[][..], |(_, topics)| *topics);
        for topic in concerned {
            let note = |hub: &mut Hub| hub.note_topic(*topic);
            if self.live.hub.try_update_value(note) == Some(true) {
                self.tell_soon();
            }
        }
    }

    fn all_beside(self) {
        (0..BESIDE.len()).for_each(|place| self.beside(place));
    }

    fn gap_for_all(self) {
        self.gap();
        self.say(&Word::Gap);
    }

    fn gap(self) {
        self.live.hub.update_value(Hub::note_gap);
        self.tell_soon();
    }

    /// A timer rather than an animation frame: a page in the background still counts what needs its operator.
    fn tell_soon(self) {
        if self.telling.get_value() {
            return;
        }
        self.telling.set_value(true);
        set_timeout(
            move || {
                self.telling.set_value(false);
                let revisions = self
                    .live
                    .hub
                    .try_update_value(Hub::tell)
                    .unwrap_or_default();
                for revision in revisions {
                    *revision.write() += 1;
                }
            },
            ROUND,
        );
    }

    fn failed(self, source: &EventSource) {
        if self.live.link.get_untracked() != Link::Lost {
            self.set_link(Link::Faltering);
            set_timeout(
                move || {
                    if self.live.link.get_untracked() == Link::Faltering {
                        self.set_link(Link::Lost);
                    }
                },
                QUIET,
            );
        }
        if source.ready_state() == EventSource::CLOSED {
            let attempt = self.attempt.get_value();
            self.attempt.set_value(attempt.saturating_add(1));
            set_timeout(move || self.connect(), backoff(attempt));
        }
    }
}

fn rendered_at() -> Option<i64> {
    let meta = document()
        .query_selector("meta[name=flightdeck-cursor]")
        .ok()??;
    meta.get_attribute("content")?.parse().ok()
}
