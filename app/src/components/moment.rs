//! Points in time and spans in a view. Rendered by the server, kept current in the browser by the page's one clock.

use crate::clock::{ago, ago_phrase, stopwatch, time_of_day, use_clock};
use crate::i18n::use_locale;
use crate::prefs::use_preferences;
use domain::time::Timestamp;
use leptos::prelude::*;

/// How long ago, in one short word.
#[component]
pub fn RelativeTime(
    /// When.
    at: Timestamp,
) -> impl IntoView {
    let locale = use_locale();
    let clock = use_clock();
    // The clock ticks every second, the word changes far less often.
    let word = Memo::new(move |_| ago(locale, at, clock.now()));
    view! { <time datetime=at.to_rfc3339() class="tabular-nums">{word}</time> }
}

/// How long ago, in a phrase that can stand after what happened.
#[component]
pub fn Ago(
    /// When.
    at: Timestamp,
) -> impl IntoView {
    let locale = use_locale();
    let clock = use_clock();
    let phrase = Memo::new(move |_| ago_phrase(locale, at, clock.now()));
    view! { <time datetime=at.to_rfc3339() class="tabular-nums">{phrase}</time> }
}

/// The local time of day.
#[component]
pub fn LocalTime(
    /// When.
    at: Timestamp,
) -> impl IntoView {
    let offset = use_preferences().utc_offset_min;
    view! {
        <time datetime=at.to_rfc3339() class="tabular-nums">{move || time_of_day(at, offset.get())}</time>
    }
}

/// A running stopwatch.
#[component]
pub fn Elapsed(
    /// Since when.
    since: Timestamp,
) -> impl IntoView {
    let clock = use_clock();
    let span = Memo::new(move |_| stopwatch(clock.now().since(since)));
    // No live region: a screen reader that reads every second cannot be used for anything else.
    view! { <span class="tabular-nums" role="timer">{span}</span> }
}
