//! The first page.

use crate::components::states::EmptyState;
use crate::i18n::{t, use_locale};
use crate::title::PageTitle;
use leptos::prelude::*;

/// What will be here, while nothing is.
#[component]
pub fn Home() -> impl IntoView {
    let locale = use_locale();
    view! {
        <PageTitle text=""/>
        <main id="main">
            <h1 class="sr-only">{t!(locale, shell.product)}</h1>
            <EmptyState text=t!(locale, shell.home_empty)/>
        </main>
    }
}
