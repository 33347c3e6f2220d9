//! Where the operator writes to an agent.

use super::button::{Button, Weight};
use super::dom_id::dom_id;
use super::glyph::Glyph;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;

/// A growing text field with one way to send. Ctrl or ⌘ with Enter sends as well; Enter alone makes a line, since prompts are long
/// and a half-written one cannot be taken back.
#[component]
pub fn Composer(
    /// The text. The page clears it when it was accepted; a failure leaves it as it is.
    draft: RwSignal<String>,
    /// A turn is running, so that what is sent now waits for its end.
    #[prop(into)]
    running: Signal<bool>,
    /// What was sent is on its way.
    #[prop(optional, into)]
    sending: Signal<bool>,
    /// Why nothing can be sent, when nothing can.
    #[prop(optional, into)]
    closed: Signal<Option<String>>,
    /// Why the last attempt failed, in words.
    #[prop(optional, into)]
    failure: Signal<Option<String>>,
    /// What is written here: the field's name, and what stands in it while it is empty.
    #[prop(optional)]
    label: Option<&'static str>,
    /// Sends the text, trimmed and not empty.
    on_send: Callback<String>,
    /// Ends the running turn.
    on_cancel: Callback<()>,
) -> impl IntoView {
    let locale = use_locale();
    let field = dom_id();
    let empty = Signal::derive(move || draft.with(|text| text.trim().is_empty()));
    let send = move || {
        if !empty.get_untracked()
            && !sending.get_untracked()
            && closed.with_untracked(Option::is_none)
        {
            on_send.run(draft.with_untracked(|text| text.trim().to_owned()));
        }
    };
    view! {
        <form
            class="composer"
            data-testid="chat-composer"
            on:submit=move |event| {
                event.prevent_default();
                send();
            }
        >
            {move || failure.get().map(|failure| view! { <p role="alert" class="text-13 text-failed">{failure}</p> })}
            <label for=field.clone() class="sr-only">{label.unwrap_or(t!(locale, chat.message))}</label>
            <textarea
                id=field
                class="composer-field field-growing"
                rows="2"
                data-testid="chat-input"
                placeholder=move || closed.get().unwrap_or_else(|| label.unwrap_or(t!(locale, chat.placeholder)).to_owned())
                readonly=move || closed.with(Option::is_some)
                prop:value=move || draft.get()
                on:input:target=move |event| draft.set(event.target().value())
                on:keydown=move |event| {
                    if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
                        event.prevent_default();
                        send();
                    }
                }
            ></textarea>
            <div class="flex items-center gap-2">
                <span class="flex-1 text-12 text-muted max-sm:hidden" aria-hidden="true">
                    {t!(locale, chat.send_keys)}
                </span>
                <span class="flex-1 sm:hidden"></span>
                <Show when=move || running.get()>
                    <Button glyph=Glyph::CircleStop on_press=on_cancel test_id="chat-cancel">
                        {t!(locale, chat.cancel_turn)}
                    </Button>
                </Show>
                <Button
                    kind="submit"
                    weight=Weight::Primary
                    glyph=Glyph::SendHorizontal
                    busy=sending
                    disabled=Signal::derive(move || empty.get() || closed.with(Option::is_some))
                    test_id="chat-send"
                >
                    {move || if running.get() { t!(locale, chat.queue) } else { t!(locale, chat.send) }}
                </Button>
            </div>
        </form>
    }
    .into_any()
}

/// Keeps a draft in the browser's session storage under `key`, so that a reload or a look at another task loses nothing.
pub fn keep_draft(draft: RwSignal<String>, key: Signal<String>) {
    let storage = || window().session_storage().ok().flatten();
    Effect::new(move |before: Option<String>| {
        let key = key.get();
        if before.as_ref() != Some(&key) {
            let kept = storage()
                .and_then(|storage| storage.get_item(&key).ok().flatten())
                .unwrap_or_default();
            // What was typed before the page was hydrated wins over what was kept.
            if before.is_some() || draft.with_untracked(String::is_empty) {
                draft.set(kept);
            }
        }
        key
    });
    Effect::new(move |before: Option<String>| {
        let text = draft.get();
        if before.is_some_and(|before| before != text)
            && let Some(storage) = storage()
        {
            let key = key.get_untracked();
            // A full or forbidden storage only means that the draft does not outlive the page.
            let _ = if text.is_empty() {
                storage.remove_item(&key)
            } else {
                storage.set_item(&key, &text)
            };
        }
        text
    });
}

/// What was typed into the server's page before the script arrived. Binding the field would wipe it out.
#[must_use]
pub fn typed_early() -> String {
    #[cfg(feature = "ssr")]
    return String::new();
    #[cfg(not(feature = "ssr"))]
    {
        use wasm_bindgen::JsCast;
        let hydrating =
            Owner::current_shared_context().is_some_and(|shared| shared.during_hydration());
        if !hydrating {
            return String::new();
        }
        document()
            .query_selector("[data-testid=chat-input]")
            .ok()
            .flatten()
            .and_then(|field| field.dyn_into::<web_sys::HtmlTextAreaElement>().ok())
            .map(|field| field.value())
            .unwrap_or_default()
    }
}
