//! A token that was just made, with what each client is told: the only time that it is shown.

use super::snippets::{Snippet, snippets};
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::i18n::{Locale, t, use_locale};
use domain::operator::NewToken;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;

/// Where the tools are.
const ROUTE: &str = "/mcp";

#[component]
pub(super) fn Made(
    /// The token.
    made: NewToken,
    /// It was kept elsewhere and may go.
    on_done: Callback<()>,
) -> impl IntoView {
    let locale = use_locale();
    let origin = window().location().origin().unwrap_or_default();
    let url = [origin.as_str(), ROUTE].concat();
    let shown = snippets(&url, &made.token)
        .into_iter()
        .map(|snippet| snippet_view(snippet, locale))
        .collect_view();
    view! {
        <div class="flex flex-col gap-3 p-4 rounded-lg border border-line bg-surface" data-testid="token-made">
            <p class="font-semibold" role="status">{t!(locale, settings.made_heading, name = made.info.name)}</p>
            <p class="text-muted">{t!(locale, settings.made_once)}</p>
            {copied(made.token, t!(locale, settings.token), "token-text", locale)}
            {shown}
            <div class="flex justify-end">
                <Button on_press=on_done test_id="token-kept">{t!(locale, settings.kept)}</Button>
            </div>
        </div>
    }
    .into_any()
}

fn snippet_view(snippet: Snippet, locale: Locale) -> impl IntoView {
    view! {
        <details>
            <summary class="cursor-pointer text-13 font-medium">
                {snippet.client} " " <span class="text-muted font-mono font-normal">{snippet.place}</span>
            </summary>
            <div class="pt-2">{copied(snippet.text, snippet.client, "token-snippet", locale)}</div>
        </details>
    }
}

/// A text to be taken along: selected by a press on it, copied by its button.
fn copied(
    text: String,
    label: &'static str,
    test_id: &'static str,
    locale: Locale,
) -> impl IntoView {
    let lines = text.lines().count();
    let is_copied = RwSignal::new(false);
    // Elsewhere there is no clipboard; the text can be selected.
    let can_copy = window().is_secure_context();
    let to_copy = text.clone();
    let copy = Callback::new(move |()| {
        let promise = window().navigator().clipboard().write_text(&to_copy);
        spawn_local(async move {
            // The browser may refuse: the text can still be selected.
            let done = JsFuture::from(promise).await.is_ok();
            let _ = is_copied.try_set(done);
        });
    });
    let select = move |event: web_sys::FocusEvent| {
        event_target::<web_sys::HtmlTextAreaElement>(&event).select();
    };
    view! {
        <div class="flex items-start gap-2">
            <textarea
                class="field font-mono text-13 flex-1 min-w-0"
                readonly
                rows=lines
                aria-label=label
                data-testid=test_id
                on:focus=select
            >
                {text}
            </textarea>
            {can_copy.then(|| {
                view! {
                    <Button weight=Weight::Quiet glyph=Glyph::Copy on_press=copy>
                        {move || if is_copied.get() { t!(locale, settings.copied) } else { t!(locale, settings.copy) }}
                    </Button>
                }
            })}
        </div>
    }
}
