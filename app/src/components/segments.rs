//! A few views of one thing, one of which is shown: buttons side by side.

use leptos::prelude::*;

/// What holds the segments together.
#[component]
pub fn Segments(
    /// What is chosen between.
    #[prop(into)]
    label: TextProp,
    /// The segments.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="segments" data-scrolls-sideways="" role="group" aria-label=move || label.get()>
            {children()}
        </div>
    }
    .into_any()
}

/// One of them.
#[component]
pub fn Segment(
    /// Whether it is the one that is shown.
    #[prop(into)]
    chosen: Signal<bool>,
    /// Shows it.
    on_press: Callback<()>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
    /// Its name.
    children: Children,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="segment"
            data-testid=test_id
            aria-pressed=move || chosen.get().to_string()
            on:click=move |_| on_press.run(())
        >
            {children()}
        </button>
    }
    .into_any()
}
