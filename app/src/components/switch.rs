//! A switch: on or off at once, told by the position of its knob as well as by colour.

use leptos::prelude::*;

/// `id` is for the label's `for`, so that the whole label can be pressed.
#[component]
pub fn Switch(
    /// Id of the element.
    #[prop(into)]
    id: String,
    /// Its name.
    #[prop(into)]
    label: TextProp,
    /// Id of the line that explains it.
    #[prop(optional, into)]
    described_by: Option<String>,
    /// Its state.
    on: RwSignal<bool>,
    /// Hears what was switched to, for a switch that does something by itself.
    #[prop(optional)]
    on_switch: Option<Callback<bool>>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            role="switch"
            id=id
            class="switch"
            data-testid=test_id
            aria-checked=move || on.get().to_string()
            aria-label=move || label.get()
            aria-describedby=described_by
            on:click=move |_| {
                on.update(|on| *on = !*on);
                if let Some(on_switch) = on_switch {
                    on_switch.run(on.get_untracked());
                }
            }
        >
            <span class="switch-knob"></span>
        </button>
    }
}
