//! What stands at an address that leads nowhere.

use crate::components::states::EmptyState;
use crate::i18n::{t, use_locale};
use crate::paths;
use crate::title::PageTitle;
use leptos::prelude::*;

/// The page for an unknown address, with the status to match.
#[component]
pub fn NotFound() -> impl IntoView {
    answer_not_found();
    let locale = use_locale();
    view! {
        <PageTitle text=t!(locale, shell.not_found_title)/>
        <main id="main">
            <h1 class="sr-only">{t!(locale, shell.not_found_title)}</h1>
            <EmptyState text=t!(locale, shell.not_found)>
                <a class="link" href=paths::HOME>{t!(locale, shell.to_board)}</a>
            </EmptyState>
        </main>
    }
}

/// What stands in a page's place when there is no such thing as its address names, or not any more.
#[component]
pub fn Missing(
    /// What there is not.
    text: &'static str,
    /// Where to go instead.
    href: &'static str,
    /// What is there.
    back: &'static str,
) -> impl IntoView {
    answer_not_found();
    let locale = use_locale();
    view! {
        <PageTitle text=t!(locale, shell.not_found_title)/>
        <h1 class="sr-only">{t!(locale, shell.not_found_title)}</h1>
        <EmptyState text>
            <a class="link" href=href>{back}</a>
        </EmptyState>
    }
}

/// The status to match, while the server makes the page.
fn answer_not_found() {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
}
