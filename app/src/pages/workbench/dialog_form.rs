//! The form inside a dialog: its fields, the place where a refusal is told, and its buttons.
//!
//! Enter in a field sends it, and Ctrl+Enter (or the Mac's Command) from anywhere in it, so that a long text needs no mouse.

use super::fields::Refused;
use crate::error::AppError;
use leptos::prelude::*;

/// See the module. One of the buttons has the kind `submit`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the macro hands properties over by value"
)]
#[component]
pub fn DialogForm(
    /// Sends it. Whoever is asked twice sends once.
    on_send: Callback<()>,
    /// Why it was refused last.
    refused: RwSignal<Option<AppError>>,
    /// The buttons, from left to right.
    #[prop(into)]
    buttons: ViewFn,
    /// The fields.
    children: Children,
) -> impl IntoView {
    view! {
        <form
            class="flex flex-col flex-1"
            on:submit=move |event| {
                event.prevent_default();
                on_send.run(());
            }
            on:keydown=move |event| {
                if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
                    event.prevent_default();
                    on_send.run(());
                }
            }
        >
            <div class="flex flex-col gap-4 p-4">
                {children()}
                <Refused error=refused/>
            </div>
            <footer class="dialog-foot">{buttons.run()}</footer>
        </form>
    }
    .into_any()
}
