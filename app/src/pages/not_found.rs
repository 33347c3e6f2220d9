//! What stands at an address that leads nowhere.

use crate::components::states::EmptyState;
use crate::i18n::{t, use_locale};
use crate::paths;
use crate::title::PageTitle;
use leptos::prelude::*;

/// The page for an unknown address, with the status to match.
#[component]
pub fn NotFound() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
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
