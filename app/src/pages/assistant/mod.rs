//! The conversation with the assistant: each message is a job, whose timeline is seen while it runs and whose answer stands under it.
//!
//! The server renders all of it. In the browser it is made once and then told what changed: the feed says that something happened to
//! jobs, and the turns from the first one that can still change are read again.

#![expect(
    unreachable_pub,
    reason = "the component macro makes a public struct of the properties of each"
)]

mod chat;
mod outgoing;
mod setup;
mod turn;

use crate::api::assistant::{Opened, assistant_open};
use crate::carried::Carried;
use crate::components::composer::{Composer, keep_draft, typed_early};
use crate::components::states::{EmptyState, Skeleton};
use crate::components::transcript::TranscriptList;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::pages::desk::DeskOfAddress;
use crate::paths;
use crate::title::PageTitle;
use chat::Chat;
use leptos::prelude::*;
use outgoing::{OnTheirWay, Outgoing};
use setup::NotReady;
use std::pin::Pin;
use wasm_split_helpers::wasm_split;

/// The page.
#[component]
pub fn AssistantPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(opened) => present(opened).await,
            None => Ok(view! { <Skeleton lines=6/> }.into_any()),
        }
    })
}

/// The page once it is loaded: all that makes it a part of its own.
#[wasm_split(assistant, preload(preload), fallible)]
pub(crate) fn present(opened: Carried) -> Result<AnyView, AppError> {
    let opened = opened.open()?;
    Ok(view! { <Present opened/> }.into_any())
}

/// Reads what the page begins with.
#[wasm_split(assistant, fallible)]
pub(crate) fn load() -> Result<Loading, AppError> {
    Ok(Box::pin(
        async move { assistant_open().await.map(Carried::of) },
    ))
}

/// What the page begins with, being read.
type Loading = Pin<Box<dyn Future<Output = Result<Carried, AppError>> + Send>>;

#[component]
fn Present(opened: Opened) -> impl IntoView {
    let locale = use_locale();
    let Opened { readiness, talk } = opened;
    let chat = Chat::open(talk);
    let draft = RwSignal::new(typed_early());
    keep_draft(draft, Signal::stored("draft:assistant".to_owned()));
    let outgoing = Outgoing::new(chat, draft);
    let can_answer = readiness.enabled && readiness.has_model;
    let is_empty = Memo::new(move |_| chat.talk.ids().is_empty() && outgoing.is_empty());
    let place = if can_answer {
        let send = Callback::new(move |text: String| outgoing.say(text));
        view! {
            <Composer
                draft
                running=false
                label=t!(locale, assistant.placeholder)
                failure=outgoing.failure
                on_send=send
                on_cancel=Callback::new(|()| {})
            />
        }
        .into_any()
    } else {
        view! { <NotReady readiness/> }.into_any()
    };
    view! {
        <PageTitle text=t!(locale, assistant.title)/>
        <div class="task-page" data-testid="assistant">
            <div class="task-main">
                <header class="chat-head">
                    <h1 class="flex-1 text-16 font-semibold">{t!(locale, assistant.title)}</h1>
                    <a class="link text-13 lg:hidden" href=paths::JOBS>{t!(locale, shell.jobs)}</a>
                </header>
                <div class="task-talk">
                    <Show when=move || is_empty.get()>
                        <EmptyState text=t!(locale, assistant.empty)/>
                    </Show>
                    <TranscriptList
                        transcript=chat.talk
                        render=move |turn| turn::show(chat, turn)
                        on_top=Callback::new(move |()| chat.read_earlier())
                        head=move || chat::earlier(chat)
                        tail=move || view! { <OnTheirWay outgoing/> }
                    />
                </div>
                <div class="dock">{place}</div>
            </div>
        </div>
    }
    .into_any()
}
