//! The time of day for views: one ticking signal for the whole page, and how instants and spans are put into words.

use crate::i18n::{Locale, t};
use domain::time::Timestamp;
use leptos::prelude::*;
use std::time::Duration;

/// The present, to the second. Rendered once on the server, ticking in the browser.
#[derive(Debug, Clone, Copy)]
pub struct Clock(RwSignal<Timestamp>);

impl Clock {
    /// Puts a clock into the context of the app and starts it in the browser.
    pub fn provide() {
        let clock = Self(RwSignal::new(now()));
        provide_context(clock);
        Effect::new(move |_| {
            let tick = set_interval_with_handle(move || clock.0.set(now()), Duration::from_secs(1));
            on_cleanup(move || {
                if let Ok(tick) = tick {
                    tick.clear();
                }
            });
        });
    }

    /// The present; readers are told every second.
    #[must_use]
    pub fn now(self) -> Timestamp {
        self.0.get()
    }
}

/// The page's clock.
///
/// # Panics
/// Outside of the app, where nobody has provided it.
#[must_use]
pub fn use_clock() -> Clock {
    expect_context()
}

/// How long ago, in one short word: `now`, `12s`, `5m`, `3h`, `2d`, `6w`, `1y`.
#[must_use]
pub fn ago(locale: Locale, then: Timestamp, now: Timestamp) -> String {
    // The browser's clock may be behind the server's: what has just happened never happened "in the future".
    let seconds = now.since(then).max(0) / 1000;
    match seconds {
        0..5 => t!(locale, time.now).to_owned(),
        5..60 => t!(locale, time.seconds, n = seconds),
        60..3_600 => t!(locale, time.minutes, n = seconds / 60),
        3_600..86_400 => t!(locale, time.hours, n = seconds / 3_600),
        86_400..1_209_600 => t!(locale, time.days, n = seconds / 86_400),
        1_209_600..31_536_000 => t!(locale, time.weeks, n = seconds / 604_800),
        _ => t!(locale, time.years, n = seconds / 31_536_000),
    }
}

/// How long ago, in a phrase: `just now`, `5m ago`.
#[must_use]
pub fn ago_phrase(locale: Locale, then: Timestamp, now: Timestamp) -> String {
    let word = ago(locale, then, now);
    if word == t!(locale, time.now) {
        t!(locale, time.just_now).to_owned()
    } else {
        t!(locale, time.ago, time = word)
    }
}

/// A span as a stopwatch shows it: `0:07`, `12:40`, `1:02:03`.
#[must_use]
pub fn stopwatch(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// The local time of day, `09:05`, for somebody whose clock is `utc_offset_min` minutes ahead of UTC.
#[must_use]
pub fn time_of_day(at: Timestamp, utc_offset_min: i16) -> String {
    let minutes = (at.millis().div_euclid(60_000) + i64::from(utc_offset_min)).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// The present by the browser's clock.
#[cfg(not(feature = "ssr"))]
pub(crate) fn now() -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "milliseconds since 1970 are whole and far below 2^53"
    )]
    Timestamp::from_millis(js_sys::Date::now() as i64)
}

/// The present by the board's clock, which tests can step.
#[cfg(feature = "ssr")]
pub(crate) fn now() -> Timestamp {
    let clock = use_context::<board::Board>().map(|board| board.clock().clone());
    clock.unwrap_or_default().now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_one_short_word() {
        let words: Vec<String> = [
            0,
            4_999,
            12_000,
            300_000,
            10_800_000,
            172_800_000,
            3_700_000_000,
            40_000_000_000,
            -5_000,
        ]
        .map(|ms| {
            ago(
                Locale::en,
                Timestamp::from_millis(0),
                Timestamp::from_millis(ms),
            )
        })
        .to_vec();
        assert_eq!(
            words,
            ["now", "now", "12s", "5m", "3h", "2d", "6w", "1y", "now"]
        );
    }

    #[test]
    fn a_phrase_says_that_it_is_past() {
        let phrase = |millis| {
            let [then, now] = [0, millis].map(Timestamp::from_millis);
            ago_phrase(Locale::en, then, now)
        };
        assert_eq!([phrase(0), phrase(56_000)], ["just now", "56s ago"]);
    }

    #[test]
    fn a_stopwatch_has_hours_only_when_needed() {
        assert_eq!(
            [7_400, 760_000, 3_723_000, -1].map(stopwatch),
            ["0:07", "12:40", "1:02:03", "0:00"]
        );
    }

    #[test]
    fn time_of_day_follows_the_offset_over_midnight() {
        let at = Timestamp::from_millis(23 * 3_600_000 + 50 * 60_000);
        assert_eq!(time_of_day(at, 0), "23:50");
        assert_eq!(time_of_day(at, 330), "05:20");
        assert_eq!(time_of_day(Timestamp::from_millis(60_000), -60), "23:01");
    }
}
