//! Copy: every sentence a person can see comes from `locales/<locale>/<namespace>.json`, by a key checked at compile time.
//!
//! `en` is what people write. `en-XA` is made from it (accented and padded, see `pseudo`), so that copy which never reached the
//! catalogue, and layouts which only fit English, show at a glance.
//!
//! A page is rendered in one locale and stays in it: the server picks it from the cookie or from `Accept-Language`, the browser
//! reads it back from `<html lang>`, and choosing another one loads the page again. So nothing subscribes to the locale, and the
//! library's own provider (with its cookie and its observers) is not needed in the browser.
//!
//! ```ignore
//! let locale = use_locale();
//! view! { <h2>{t!(locale, task.autopilot)}</h2> }
//! ```

#[cfg(test)]
mod catalogue_test;
#[cfg(test)]
mod pseudo;

mod catalogue {
    #![expect(
        missing_docs,
        reason = "generated from the message files, whose keys are the documentation"
    )]
    #![expect(
        clippy::all,
        dead_code,
        unused_imports,
        unused_qualifications,
        unreachable_pub,
        reason = "generated"
    )]
    include!(concat!(env!("OUT_DIR"), "/i18n.rs"));
}

pub use catalogue::i18n::Locale;

use leptos::prelude::*;
use leptos_i18n::Locale as _;

/// The text of a key in a locale: `&'static str` for a plain sentence, `String` for one with `{{ values }}`.
macro_rules! t {
    ($locale:expr, $($rest:tt)+) => { leptos_i18n::td_string!($locale, $($rest)+) };
}
pub(crate) use t;

/// The text for a number of things. The key has a sentence for `one` and for `other`, each with `{{ count }}`.
///
/// The library's own plurals would bring ICU's rules for all languages of the world into the bundle. A language with more forms than
/// these two adds a variant to [`Plural`] and a sentence to each key, and the compiler shows where.
macro_rules! plural {
    ($locale:expr, $namespace:ident . $key:ident, $count:expr) => {{
        let count = $count;
        match $crate::i18n::Plural::of($locale, count) {
            $crate::i18n::Plural::One => {
                leptos_i18n::td_string!($locale, $namespace.$key.one, count = count)
            }
            $crate::i18n::Plural::Other => {
                leptos_i18n::td_string!($locale, $namespace.$key.other, count = count)
            }
        }
    }};
}
pub(crate) use plural;

/// The grammatical number of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plural {
    /// As in "1 task".
    One,
    /// As in "0 tasks" and "2 tasks".
    Other,
}

impl Plural {
    /// The form that `count` takes in `locale`.
    #[must_use]
    pub fn of(locale: Locale, count: usize) -> Self {
        match locale {
            Locale::en | Locale::en_XA if count == 1 => Self::One,
            Locale::en | Locale::en_XA => Self::Other,
        }
    }
}

/// The locale this page is rendered in.
#[must_use]
pub fn use_locale() -> Locale {
    use_context().unwrap_or_default()
}

/// `ltr` or `rtl`, for `<html dir>`.
#[must_use]
pub fn direction(locale: Locale) -> &'static str {
    locale.direction().as_str()
}

/// The locale to render in: what the operator chose (a cookie's value) if we have it, otherwise the best match for the browser's
/// `Accept-Language`, otherwise English.
#[must_use]
pub fn choose(chosen: Option<&str>, accept_language: Option<&str>) -> Locale {
    if let Some(locale) = chosen.and_then(|tag| tag.parse().ok()) {
        return locale;
    }
    accept_language
        .into_iter()
        .flat_map(by_preference)
        .find_map(best_match)
        .unwrap_or_default()
}

/// The language tags of an `Accept-Language` header, most wanted first. Malformed entries are passed over.
fn by_preference(header: &str) -> Vec<&str> {
    let mut wanted: Vec<(u16, &str)> = header
        .split(',')
        .filter_map(|entry| {
            let mut parts = entry.trim().split(';');
            let tag = parts.next().filter(|tag| !tag.is_empty())?;
            let quality = match parts.next() {
                None => 1.0,
                Some(q) => q
                    .trim()
                    .strip_prefix("q=")?
                    .parse::<f32>()
                    .ok()
                    .filter(|q| (0.0..=1.0).contains(q))?,
            };
            // Thousandths, so that the order is total; a float has none.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to lie between 0 and 1 just above"
            )]
            let rank = (quality * 1000.0) as u16;
            (rank > 0).then_some((rank, tag))
        })
        .collect();
    wanted.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    wanted.into_iter().map(|(_, tag)| tag).collect()
}

/// `pt-BR` finds `pt-BR`, else a locale of the same language. The pseudo locale is never a guess: it must be named.
fn best_match(tag: &str) -> Option<Locale> {
    let language = tag.split('-').next().unwrap_or(tag);
    let all = Locale::get_all();
    all.iter()
        .find(|locale| locale.as_str().eq_ignore_ascii_case(tag))
        .copied()
        .or_else(|| {
            all.iter()
                .find(|locale| {
                    **locale != Locale::en_XA
                        && locale
                            .as_str()
                            .split('-')
                            .next()
                            .is_some_and(|l| l.eq_ignore_ascii_case(language))
                })
                .copied()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_locale_beats_the_browser() {
        assert_eq!(choose(Some("en-XA"), Some("en")), Locale::en_XA);
        assert_eq!(choose(Some("klingon"), Some("en-GB,en;q=0.9")), Locale::en);
    }

    #[test]
    fn an_accept_language_is_read_by_quality_and_junk_is_passed_over() {
        assert_eq!(
            by_preference("de;q=0.5, en-GB, fr;q=0.8, xx;q=2, ;q=1, zz;q=0"),
            ["en-GB", "fr", "de"]
        );
        assert_eq!(choose(None, Some("fr, en-GB;q=0.3")), Locale::en);
        assert_eq!(choose(None, Some("fr")), Locale::en);
        assert_eq!(choose(None, None), Locale::en);
    }

    #[test]
    fn the_pseudo_locale_is_only_used_when_named() {
        assert_eq!(choose(None, Some("en-AU")), Locale::en);
        assert_eq!(choose(None, Some("en-XA")), Locale::en_XA);
    }
}
