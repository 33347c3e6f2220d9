//! The title of the page, which also counts what needs the operator: it is seen in the tab of a page in the background.

use crate::i18n::{t, use_locale};
use leptos::prelude::*;
use leptos_meta::Title;

/// How many tasks need the operator, for the title of every page.
#[derive(Debug, Clone, Copy)]
pub struct NeedsOperator(pub RwSignal<usize>);

/// Sets the title: `(2) Fix the checkout · Flightdeck`.
#[component]
pub fn PageTitle(
    /// What the page is about.
    #[prop(into)]
    text: TextProp,
) -> impl IntoView {
    let locale = use_locale();
    let NeedsOperator(count) = expect_context();
    let whole = move || title(count.get(), &text.get(), t!(locale, shell.product));
    // The document reads its title when it likes: on the server when the body is done, in the browser also once the page has gone
    // and what it is made of with it. So it reads a text that nobody puts away, and the page keeps that current while it lives.
    let shown = ArcRwSignal::new(untrack(&whole));
    Effect::new({
        let shown = shown.clone();
        move |_| shown.set(whole())
    });
    view! { <Title text=move || shown.get()/> }
}

fn title(count: usize, page: &str, product: &str) -> String {
    let counted = if count > 0 {
        format!("({count}) ")
    } else {
        String::new()
    };
    if page.is_empty() {
        format!("{counted}{product}")
    } else {
        format!("{counted}{page} · {product}")
    }
}

#[test]
fn the_count_comes_first_where_a_narrow_tab_still_shows_it() {
    assert_eq!(title(0, "Board", "Flightdeck"), "Board · Flightdeck");
    assert_eq!(title(12, "Board", "Flightdeck"), "(12) Board · Flightdeck");
    assert_eq!(title(1, "", "Flightdeck"), "(1) Flightdeck");
}
