//! What would be done if the user agreed, with the buttons to agree or not; afterwards, what became of it.

use super::button::{Button, Weight};
use super::glyph::Glyph;
use super::icon::Icon;
use crate::clock::{ago, use_clock};
use crate::i18n::{t, use_locale};
use crate::paths;
use domain::job::effects::ConsentState;
use domain::job::view::ConsentView;
use leptos::prelude::*;
use serde_json::Value;

/// A preview and where it stands.
#[component]
pub fn ConsentCard(
    /// The preview as it is now.
    #[prop(into)]
    preview: Signal<ConsentView>,
    /// A press is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Why the last press came to nothing, in words.
    #[prop(into)]
    failure: Signal<Option<String>>,
    /// Agreed, or not.
    on_press: Callback<bool>,
) -> impl IntoView {
    let locale = use_locale();
    let clock = use_clock();
    // Whether it can still be agreed to is also a matter of the time.
    let state = Memo::new(move |_| {
        preview.with(|preview| {
            let late = clock.now() >= preview.expires_at;
            if late && preview.state == ConsentState::Open {
                ConsentState::Expired
            } else {
                preview.state
            }
        })
    });
    let asks = move || matches!(state.get(), ConsentState::Open | ConsentState::Agreed);
    let shown = move || {
        preview.with(|preview| {
            let tool = &preview.confirmation_tool;
            preview.summary.clone().unwrap_or_else(|| tool.clone())
        })
    };
    let arguments = move || {
        preview.with(|preview| serde_json::to_string_pretty(&preview.arguments).unwrap_or_default())
    };
    let card_class = move || if asks() { "ask-card" } else { "wait-card" };
    view! {
        <div
            role="group"
            class=card_class
            data-testid="consent-card"
            data-state=move || state.get().as_str()
            aria-label=t!(locale, job.consent)
        >
            <p class="flex items-center gap-2 text-13 font-semibold">
                {move || match state.get() {
                    ConsentState::Open | ConsentState::Agreed => {
                        view! { <Icon glyph=Glyph::CircleQuestionMark class="w-4 h-4 shrink-0 text-waiting"/> }
                    }
                    ConsentState::Confirmed => {
                        view! { <Icon glyph=Glyph::CircleCheck class="w-4 h-4 shrink-0 text-done"/> }
                    }
                    ConsentState::Declined | ConsentState::Expired => {
                        view! { <Icon glyph=Glyph::Ban class="w-4 h-4 shrink-0 text-muted"/> }
                    }
                }}
                {move || match state.get() {
                    ConsentState::Open => t!(locale, job.consent_open),
                    ConsentState::Agreed => t!(locale, job.consent_agreed),
                    ConsentState::Confirmed => t!(locale, job.consent_confirmed),
                    ConsentState::Declined => t!(locale, job.consent_declined),
                    ConsentState::Expired => t!(locale, job.consent_expired),
                }}
            </p>
            <p class="text-14 break-words">{shown}</p>
            {move || preview.with(made).map(|(address, title)| {
                view! { <a class="link self-start max-w-full truncate" href=address data-testid="consent-made">{title}</a> }
            })}
            <Show when=asks>
                <details class="text-13">
                    <summary class="text-muted">{t!(locale, job.consent_details)}</summary>
                    <pre class="code-block" tabindex="0">{arguments}</pre>
                </details>
            </Show>
            {move || failure.get().map(|failure| view! { <p role="alert" class="text-13 text-failed">{failure}</p> })}
            <Show when=asks>
                <footer class="flex flex-wrap items-center justify-end gap-2">
                    <span class="flex-1 text-12 text-muted whitespace-nowrap">
                        {move || {
                            let left = preview.with(|preview| ago(locale, clock.now(), preview.expires_at));
                            t!(locale, job.consent_until, time = left)
                        }}
                    </span>
                    <Show when=move || state.get() == ConsentState::Open>
                        <Button
                            disabled=busy
                            on_press=Callback::new(move |()| on_press.run(false))
                            test_id="consent-decline"
                        >
                            {t!(locale, job.consent_no)}
                        </Button>
                    </Show>
                    <Button
                        weight=Weight::Primary
                        glyph=Glyph::Check
                        busy
                        on_press=Callback::new(move |()| on_press.run(true))
                        test_id="consent-confirm"
                    >
                        {t!(locale, job.consent_yes)}
                    </Button>
                </footer>
            </Show>
        </div>
    }
    .into_any()
}

/// The task that was made: its address and its title.
fn made(preview: &ConsentView) -> Option<(String, String)> {
    let result = preview.result.as_ref()?;
    let text = |name: &str| result.get(name).and_then(Value::as_str);
    let id = text("id")?.parse().ok()?;
    Some((paths::task(id), text("title")?.to_owned()))
}
