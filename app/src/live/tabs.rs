//! One connection for all tabs of a browser.
//!
//! A browser opens no more than six connections to a server over HTTP/1.1, so a feed for every tab would leave the seventh
//! without any answer at all. The tab that holds the lock listens and passes on what it hears; when it goes, the browser gives
//! the lock to the next one, which takes the feed up where it has heard it last. Whoever joins asks how far the others are, and
//! reads everything again when that is further than its own page.
//!
//! Locks exist only in secure contexts (https, or this machine): elsewhere every tab listens for itself.

use super::Link;
use domain::event::Event;
use js_sys::{Function, Promise};
use serde::{Deserialize, Serialize};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{BroadcastChannel, MessageEvent};

/// Name of the lock and of the channel.
const NAME: &str = "flightdeck-feed";

/// What tabs tell one another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// A tab has joined and asks how far the feed is.
    Hello,
    /// The one that listens has heard everything up to here.
    At(Option<i64>),
    /// Something happened.
    Heard(Event),
    /// Something happened that is in no event: which of those there are.
    Beside(usize),
    /// Something may have been missed.
    Gap,
    /// How the connection stands.
    Link(Link),
}

/// The other tabs.
#[derive(Debug, Clone)]
pub(super) struct Tabs(BroadcastChannel);

impl Tabs {
    /// Joins the other tabs: `heard` is told what they say. `None` where a browser cannot do it.
    pub(super) fn join(heard: impl Fn(Word) + 'static) -> Option<Self> {
        locks()?;
        let channel = BroadcastChannel::new(NAME).ok()?;
        let listener = Closure::<dyn Fn(MessageEvent)>::new(move |message: MessageEvent| {
            let text = message.data().as_string().unwrap_or_default();
            // A tab of another version may say what this one does not understand: something happened, in any case.
            heard(serde_json::from_str(&text).unwrap_or(Word::Gap));
        });
        channel.set_onmessage(Some(listener.as_ref().unchecked_ref()));
        // The channel lives as long as the page.
        listener.forget();
        Some(Self(channel))
    }

    /// Tells the other tabs; not this one.
    pub(super) fn say(&self, word: &Word) {
        if let Ok(text) = serde_json::to_string(word) {
            // Only a closed channel refuses, and this one is never closed.
            let _ = self.0.post_message(&JsValue::from_str(&text));
        }
    }

    /// Calls `lead` once it is this tab's turn to listen, which it then does for as long as it lives.
    pub(super) fn when_leading(lead: impl FnOnce() + 'static) {
        let Some((locks, request)) = locks() else {
            return lead();
        };
        let granted = Closure::once_into_js(move |_lock: JsValue| {
            lead();
            // The lock is held until this promise is kept, and it never is.
            Promise::new(&mut |_, _| {})
        });
        // The promise of the request ends with the page; a browser that refuses it outright has no leader, and says so.
        let _ = request.call2(&locks, &JsValue::from_str(NAME), &granted);
    }
}

/// The lock manager with its `request`, where the browser has one.
fn locks() -> Option<(JsValue, Function)> {
    let navigator =
        js_sys::Reflect::get(&js_sys::global(), &JsValue::from_str("navigator")).ok()?;
    let locks = js_sys::Reflect::get(&navigator, &JsValue::from_str("locks")).ok()?;
    let request = js_sys::Reflect::get(&locks, &JsValue::from_str("request"))
        .ok()?
        .dyn_into()
        .ok()?;
    Some((locks, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_went() {
        for word in [
            Word::Hello,
            Word::At(Some(7)),
            Word::At(None),
            Word::Gap,
            Word::Beside(0),
            Word::Link(Link::Lost),
        ] {
            let text = serde_json::to_string(&word).unwrap();
            assert_eq!(serde_json::from_str::<Word>(&text).unwrap(), word);
        }
    }
}
