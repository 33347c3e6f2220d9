//! The page for signing in: a document of its own that needs no script, since whoever reads it may not read the app yet.

use crate::assets::Assets;
use crate::components::button::{Button, Weight};
use crate::i18n::{Locale, direction, t};
use crate::prefs::Prefs;
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_i18n::Locale as _;

/// What is said above the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Name or password were not right.
    Wrong,
    /// There were too many attempts.
    TooMany,
    /// The server could not look.
    Unavailable,
    /// Somebody just signed out.
    Out,
}

impl Notice {
    /// Reads the word of an address.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Wrong, Self::TooMany, Self::Unavailable, Self::Out]
            .into_iter()
            .find(|notice| notice.word() == word)
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::TooMany => "wait",
            Self::Unavailable => "unavailable",
            Self::Out => "out",
        }
    }

    fn text(self, locale: Locale) -> &'static str {
        match self {
            Self::Wrong => t!(locale, account.wrong),
            Self::TooMany => t!(locale, account.too_many),
            Self::Unavailable => t!(locale, account.unavailable),
            Self::Out => t!(locale, account.signed_out),
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// The page's content.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// Where it leads to; a path of ours.
    pub next: String,
    /// What is said above the form.
    pub notice: Option<Notice>,
    /// This browser is signed in already, so that it can only go on or sign out.
    pub signed: bool,
}

impl SignIn {
    /// The whole document. [`Assets`] are taken from the context.
    pub fn document(self) -> impl IntoView {
        let prefs = Prefs::of_request();
        let locale = prefs.locale;
        let assets = use_context::<Assets>().unwrap_or_default();
        crate::shell::set_headers(use_nonce().as_ref().map_or("", |nonce| nonce.as_inner()));
        view! {
            <!DOCTYPE html>
            <html lang=locale.as_str() dir=direction(locale) data-theme=prefs.theme.as_str()>
                <head>
                    <meta charset="utf-8"/>
                    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover"/>
                    <meta name="color-scheme" content="light dark"/>
                    <title>{t!(locale, account.title)}</title>
                    <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                    <link rel="stylesheet" href=assets.css.to_string()/>
                </head>
                <body>
                    <main id="main" class="grid place-items-center min-h-dvh p-4">
                        <div class="flex flex-col gap-4 w-full max-w-[22rem]">
                            <h1 class="text-20 font-semibold">{t!(locale, account.heading)}</h1>
                            {self.notice.map(|notice| said(notice, locale))}
                            {if self.signed { way_out(self.next, locale).into_any() } else { form(self.next, locale).into_any() }}
                        </div>
                    </main>
                </body>
            </html>
        }
    }
}

fn form(next: String, locale: Locale) -> impl IntoView {
    view! {
        <form method="post" action="/sign-in" class="flex flex-col gap-4">
            <input type="hidden" name="next" value=next/>
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, account.name)}
                <input
                    class="field font-normal"
                    name="name"
                    autocomplete="username"
                    autocapitalize="none"
                    spellcheck="false"
                    required
                    autofocus
                    data-testid="sign-in-name"
                />
            </label>
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, account.password)}
                <input
                    class="field font-normal"
                    name="password"
                    type="password"
                    autocomplete="current-password"
                    required
                    data-testid="sign-in-password"
                />
            </label>
            <Button weight=Weight::Primary kind="submit" test_id="sign-in">{t!(locale, account.sign_in)}</Button>
            <p class="text-12 text-muted">{t!(locale, account.help)}</p>
        </form>
    }
}

fn way_out(next: String, locale: Locale) -> impl IntoView {
    view! {
        <p class="text-14">{t!(locale, account.signed_in)}</p>
        <div class="flex items-center gap-4">
            <a class="link" href=next>{t!(locale, account.go_on)}</a>
            <form method="post" action="/sign-out">
                <Button kind="submit" test_id="sign-out">{t!(locale, account.sign_out)}</Button>
            </form>
        </div>
    }
}

fn said(notice: Notice, locale: Locale) -> impl IntoView {
    let (role, class) = match notice {
        Notice::Out => ("status", "text-14 text-muted"),
        Notice::Wrong | Notice::TooMany | Notice::Unavailable => ("alert", "text-14 text-failed"),
    };
    view! { <p role=role class=class data-testid="sign-in-notice">{notice.text(locale)}</p> }
}
