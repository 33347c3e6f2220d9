//! What stands in the composer's place when nothing can be answered: what is missing, and what to do about it.

use crate::api::assistant::Readiness;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;

// Names are no copy: they are the same in every language.
const OPENAI_MODEL: &str = "OPENAI_MODEL";
const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
const ANTHROPIC_MODEL: &str = "ANTHROPIC_MODEL";
const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
const OLLAMA_MODEL: &str = "OLLAMA_MODEL";
const SWITCH: &str = "FLIGHTDECK_ASSISTANT_ENABLED=true";

/// Why the assistant cannot be talked to.
#[component]
pub(super) fn NotReady(readiness: Readiness) -> impl IntoView {
    let locale = use_locale();
    if !readiness.enabled {
        let heading = t!(locale, assistant.off);
        return view! {
            <div class="setup-card" role="group" aria-label=heading data-testid="assistant-off">
                <p class="flex items-center gap-2 font-medium">
                    <Icon glyph=Glyph::Ban class="w-4 h-4 shrink-0 text-muted"/>
                    {heading}
                </p>
                <p class="text-13 text-muted">{t!(locale, assistant.off_text)}</p>
                <pre class="code-block" tabindex="0">{SWITCH}</pre>
            </div>
        }
        .into_any();
    }
    let heading = t!(locale, assistant.no_model);
    let problems = readiness.problems;
    let some = !problems.is_empty();
    view! {
        <div class="setup-card" role="group" aria-label=heading data-testid="assistant-no-model">
            <p class="flex items-center gap-2 font-medium">
                <Icon glyph=Glyph::Info class="w-4 h-4 shrink-0 text-waiting"/>
                {heading}
            </p>
            <p class="text-13 text-muted">{t!(locale, assistant.no_model_text)}</p>
            <dl class="setup-ways">
                <dt>{t!(locale, assistant.hint_openai)}</dt>
                <dd>
                    <code>{OPENAI_MODEL}</code> " + " <code>{OPENAI_API_KEY}</code> " "
                    {t!(locale, assistant.hint_or)} " " <code>{OPENAI_BASE_URL}</code>
                </dd>
                <dt>{t!(locale, assistant.hint_anthropic)}</dt>
                <dd><code>{ANTHROPIC_MODEL}</code> " + " <code>{ANTHROPIC_API_KEY}</code></dd>
                <dt>{t!(locale, assistant.hint_ollama)}</dt>
                <dd><code>{OLLAMA_MODEL}</code></dd>
            </dl>
            {some.then(|| view! {
                <div class="flex flex-col gap-1 text-13" data-testid="assistant-problems">
                    <p class="font-medium">{t!(locale, assistant.problems)}</p>
                    <ul class="flex flex-col gap-1 text-failed">
                        {problems
                            .into_iter()
                            .map(|problem| view! { <li class="break-words">{problem}</li> })
                            .collect_view()}
                    </ul>
                </div>
            })}
            <p class="text-12 text-muted">{t!(locale, assistant.docs)}</p>
        </div>
    }
    .into_any()
}
