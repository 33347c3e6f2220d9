//! An icon, always decorative: the words stand beside it or in the label of what contains it.

use super::glyph::Glyph;
use leptos::prelude::*;

/// One glyph, 16 px unless `class` says otherwise, in the colour of the text around it.
#[component]
pub fn Icon(
    /// Which one.
    glyph: Glyph,
    /// Size and colour.
    #[prop(default = "w-4 h-4")]
    class: &'static str,
) -> impl IntoView {
    view! {
        <svg
            class=class
            viewBox="0 0 24 24"
            fill="none"
            stroke="currentColor"
            stroke-width="1.75"
            stroke-linecap="round"
            stroke-linejoin="round"
            aria-hidden="true"
        >
            <path d=glyph.path()></path>
        </svg>
    }
}
