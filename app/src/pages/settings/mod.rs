//! Settings: the tokens of outside clients, repositories, what agents are given and how they are run, what messages may name, and
//! who may sign in.

#![expect(
    unreachable_pub,
    reason = "the component macro makes a public struct of the properties of each"
)]

mod executors;
mod made;
mod prompts;
mod repositories;
mod servers;
mod snippets;
mod tokens;

use crate::api::settings::{SettingsView, settings_open};
use crate::carried::Carried;
use crate::components::moment::Ago;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::pages::desk::DeskOfAddress;
use crate::title::PageTitle;
use domain::error::ErrorCode;
use domain::operator::OperatorView;
use domain::view::AgentView;
use leptos::prelude::*;
use std::pin::Pin;
use wasm_split_helpers::wasm_split;

/// Something that a page begins with, being read.
type Loading<T> = Pin<Box<dyn Future<Output = Result<T, AppError>> + Send>>;

/// The page.
#[component]
pub fn SettingsPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(settings) => present(settings).await,
            // It always exists; what was read belongs to another page.
            None => Err(AppError::of(ErrorCode::Unavailable)),
        }
    })
}

#[wasm_split(settings, preload(preload), fallible)]
pub(crate) fn present(settings: Carried) -> Result<AnyView, AppError> {
    let settings: SettingsView = settings.open()?;
    Ok(view! { <Settings settings/> }.into_any())
}

/// Reads what the page begins with.
#[wasm_split(settings, fallible)]
pub(crate) fn load() -> Result<Loading<Carried>, AppError> {
    Ok(Box::pin(
        async move { settings_open().await.map(Carried::of) },
    ))
}

#[component]
fn Settings(
    /// What the page was loaded with.
    settings: SettingsView,
) -> impl IntoView {
    let locale = use_locale();
    let profiles = settings.agents.iter();
    let profiles = profiles.flat_map(AgentView::profile_names).collect();
    view! {
        <PageTitle text=t!(locale, settings.title)/>
        <div class="flex flex-col gap-6 max-w-[48rem] mx-auto p-4" data-testid="settings">
            <h1 class="text-20">{t!(locale, settings.title)}</h1>
            <tokens::Tokens tokens=settings.tokens workspaces=settings.workspaces.clone()/>
            <repositories::Repositories
                workspaces=settings.workspaces
                first=settings.repositories_of
                repositories=settings.repositories
                providers=settings.providers
            />
            <servers::McpServers profiles configs=settings.servers/>
            <executors::ExecutorProfiles profiles=settings.executor_profiles/>
            <prompts::SavedPrompts prompts=settings.prompts/>
            <section class="flex flex-col gap-3">
                <h2 class="text-16 font-semibold">{t!(locale, settings.operators)}</h2>
                {operators(settings.operators, locale)}
            </section>
        </div>
    }
    .into_any()
}

fn operators(operators: Vec<OperatorView>, locale: Locale) -> AnyView {
    if operators.is_empty() {
        return view! { <p class="text-muted" data-testid="no-operators">{t!(locale, settings.operators_none)}</p> }
            .into_any();
    }
    let rows = operators
        .into_iter()
        .map(|one| {
            let seen = match one.last_signed_in_at {
                Some(at) => view! {
                    <span class="text-13 text-muted">{t!(locale, settings.signed_in)} " " <Ago at/></span>
                }
                .into_any(),
                None => view! {
                    <span class="text-13 text-muted">{t!(locale, settings.never_signed_in)}</span>
                }
                .into_any(),
            };
            view! {
                <li class="inbox-row">
                    <span class="flex-1 min-w-0 font-medium break-words">{one.name}</span>
                    {seen}
                </li>
            }
        })
        .collect_view();
    view! {
        <ul class="inbox">{rows}</ul>
        // A form of the document: it leaves the app.
        <form method="post" action="/sign-out">
            <button type="submit" class="link" data-testid="sign-out">{t!(locale, account.sign_out)}</button>
        </form>
    }
    .into_any()
}
