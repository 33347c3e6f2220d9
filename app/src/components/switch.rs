//! A switch: on or off at once, told by the position of its knob as well as by colour.

use leptos::prelude::*;

/// `id` is for the label's `for`, so that the whole label can be pressed.
#[component]
pub fn Switch(
    /// Id of the element.
    id: &'static str,
    /// Its name.
    #[prop(into)]
    label: TextProp,
    /// Id of the line that explains it.
    #[prop(optional, into)]
    described_by: Option<String>,
    /// Its state.
    on: RwSignal<bool>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            role="switch"
            id=id
            class="switch"
            aria-checked=move || on.get().to_string()
            aria-label=move || label.get()
            aria-describedby=described_by
            on:click=move |_| on.update(|on| *on = !*on)
        >
            <span class="switch-knob"></span>
        </button>
    }
}
