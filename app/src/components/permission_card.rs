//! A permission that an agent asks the operator for: what it wants to do, and the choices that the agent itself offers.

use super::button::{Button, Weight};
use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::RelativeTime;
use crate::i18n::{t, use_locale};
use domain::permission::PermissionOption;
use domain::view::PermissionView;
use leptos::prelude::*;

/// A permission request with its choices.
#[component]
pub fn PermissionCard(
    /// What is asked.
    permission: PermissionView,
    /// A choice is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Why the last attempt failed, in words.
    #[prop(optional, into)]
    failure: Signal<Option<String>>,
    /// The operator chose the option with this id.
    on_choose: Callback<String>,
) -> impl IntoView {
    let locale = use_locale();
    let PermissionView {
        title,
        tool_call,
        options,
        created_at,
        ..
    } = permission;
    let details = serde_json::to_string_pretty(&tool_call).unwrap_or_default();
    // The agent's first way to say yes is the one to expect; only one button may be loud.
    let expected = options
        .iter()
        .position(|option| option.kind.starts_with("allow"));
    let buttons = options
        .into_iter()
        .enumerate()
        .map(|(at, option)| {
            let weight = if Some(at) == expected {
                Weight::Primary
            } else {
                weight(&option)
            };
            let PermissionOption {
                option_id, name, ..
            } = option;
            view! {
                <Button
                    weight
                    disabled=busy
                    test_id="permission-option"
                    on_press=Callback::new(move |()| on_choose.run(option_id.clone()))
                >
                    {name}
                </Button>
            }
        })
        .collect_view();
    view! {
        <div role="group" class="ask-card" data-testid="permission-card" aria-label=t!(locale, question.permission)>
            <header class="flex items-center gap-2">
                <Icon glyph=Glyph::ShieldAlert class="w-4 h-4 shrink-0 text-waiting"/>
                <h2 class="flex-1 min-w-0 text-13">{t!(locale, question.permission)}</h2>
                <span class="text-12 text-muted"><RelativeTime at=created_at/></span>
            </header>
            <p class="text-14 font-medium">{title}</p>
            <details class="text-13">
                <summary class="text-muted">{t!(locale, question.permission_details)}</summary>
                <pre class="code-block" tabindex="0">{details}</pre>
            </details>
            {move || failure.get().map(|failure| view! { <p role="alert" class="text-13 text-failed">{failure}</p> })}
            <footer class="flex flex-wrap justify-end gap-2">{buttons}</footer>
        </div>
    }
    .into_any()
}

fn weight(option: &PermissionOption) -> Weight {
    if option.kind.starts_with("reject") {
        Weight::Quiet
    } else {
        Weight::Plain
    }
}
