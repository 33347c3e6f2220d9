//! One turn: what the operator said, and under it the answer, or what goes on until it is there.

use super::chat::Chat;
use crate::api::assistant::ShownTurn;
use crate::api::jobs::{job_cancel, job_retry};
use crate::clock::{ago, use_clock};
use crate::components::button::{Button, Weight};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::job_status::{again_in, phase};
use crate::components::job_timeline::JobTimelineList;
use crate::components::message::{Message, Speaker};
use crate::components::moment::{Elapsed, LocalTime};
use crate::i18n::t;
use crate::pages::jobs::Consent;
use crate::paths;
use domain::job::JobStatus;
use domain::job::view::ConsentView;
use leptos::prelude::*;
use leptos::task::spawn_local;

type Turn = ArcRwSignal<ShownTurn>;

/// What stands under a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Under {
    Progress,
    Answer,
    Failed,
    Canceled,
}

const fn under(status: JobStatus) -> Under {
    match status {
        JobStatus::Pending | JobStatus::Running => Under::Progress,
        JobStatus::Completed => Under::Answer,
        JobStatus::FailedTerminal => Under::Failed,
        JobStatus::Canceled => Under::Canceled,
    }
}

pub(super) fn show(chat: Chat, turn: Turn) -> impl IntoView {
    let locale = chat.locale;
    let job = turn.with_untracked(|turn| turn.job.clone());
    let words = if job.request_text.is_empty() {
        t!(locale, job.message_gone).to_owned()
    } else {
        job.request_text
    };
    let state = {
        let turn = turn.clone();
        Memo::new(move |_| turn.with(|turn| under(turn.job.status)))
    };
    view! {
        <div class="flex flex-col gap-3" data-testid="assistant-turn" data-job=job.correlation_id>
            <article class="message message-operator" data-testid="assistant-said">
                <header class="flex items-baseline gap-2 text-12 text-muted">
                    <strong class="font-semibold text-text">{t!(locale, chat.you)}</strong>
                    <span class="ml-auto shrink-0"><LocalTime at=job.created_at/></span>
                </header>
                <p class="whitespace-pre-wrap break-words">{words}</p>
            </article>
            {move || match state.get() {
                Under::Progress => progress(chat, &turn).into_any(),
                Under::Answer => answer(chat, &turn).into_any(),
                Under::Failed => ended(chat, &turn, true).into_any(),
                Under::Canceled => ended(chat, &turn, false).into_any(),
            }}
        </div>
    }
}

/// The reference that the user can quote, and the way to all that is known.
fn reference(chat: Chat, turn: &Turn) -> impl IntoView + use<> {
    let id = turn.with_untracked(|turn| turn.job.correlation_id.clone());
    let words = t!(chat.locale, assistant.reference, id = id.clone());
    view! {
        <a class="text-12 text-muted hover:text-text break-all" href=paths::job(&id) data-testid="assistant-reference">{words}</a>
    }
}

/// While it is not over: what goes on, for how long, since when that is known, and all that happened.
fn progress(chat: Chat, turn: &Turn) -> impl IntoView + use<> {
    let locale = chat.locale;
    let clock = use_clock();
    let busy = RwSignal::new(false);
    let read = turn.clone();
    let words = Memo::new(move |_| read.with(|t| phase(locale, &t.job, &t.events, clock.now())));
    let read = turn.clone();
    let again = Memo::new(move |_| read.with(|turn| again_in(locale, &turn.job, clock.now())));
    let read = turn.clone();
    let updated = Memo::new(move |_| {
        let last = read.with(|turn| turn.events.last().map(|event| event.created_at));
        last.map(|at| {
            t!(
                locale,
                assistant.updated,
                time = ago(locale, at, clock.now())
            )
        })
    });
    let read = turn.clone();
    let events = Memo::new(move |_| read.with(|turn| turn.events.clone()));
    let read = turn.clone();
    let reason = Memo::new(move |_| {
        read.with(|turn| {
            let waits = turn.job.status == JobStatus::Pending;
            turn.job.last_error.clone().filter(|_| waits)
        })
    });
    let read = turn.clone();
    let stopping = Memo::new(move |_| read.with(|turn| turn.job.cancel_requested));
    let (since, key) =
        turn.with_untracked(|turn| (turn.job.created_at, turn.job.correlation_id.clone()));
    let cancel = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        let key = key.clone();
        spawn_local(async move {
            if let Err(error) = job_cancel(key).await {
                chat.failed(&error);
            }
            let _ = busy.try_set(false);
            chat.read();
        });
    });
    view! {
        <div class="job-progress" role="group" aria-label=t!(locale, assistant.name) data-testid="assistant-progress">
            // What ticks is not read out: the conversation is a live region.
            <div class="flex flex-wrap items-center gap-x-2 gap-y-1" aria-live="off">
                <Icon glyph=Glyph::LoaderCircle class="w-4 h-4 shrink-0 text-running spin"/>
                <span class="text-13 font-medium break-words min-w-0" role="status" data-testid="assistant-phase">{words}</span>
                {move || again.get().map(|again| view! { <span class="text-12 text-muted">{again}</span> })}
                <span class="text-12 text-muted"><Elapsed since/></span>
                <span class="text-12 text-muted">{updated}</span>
                <span class="flex-1"></span>
                <Button
                    weight=Weight::Quiet
                    glyph=Glyph::CircleStop
                    busy
                    disabled=stopping
                    on_press=cancel
                    test_id="assistant-cancel"
                >
                    {t!(locale, assistant.stop)}
                </Button>
            </div>
            {move || reason.get().map(|reason| view! { <p class="text-13 text-muted break-words">{reason}</p> })}
            <details class="text-13">
                <summary class="text-12 text-muted">{t!(locale, assistant.steps)}</summary>
                <JobTimelineList events/>
            </details>
            {reference(chat, turn)}
        </div>
    }
}

fn answer(chat: Chat, turn: &Turn) -> impl IntoView + use<> {
    let locale = chat.locale;
    let read = turn.clone();
    let html = Signal::derive(move || read.with(|turn| turn.html.clone().unwrap_or_default()));
    let (at, used, not_performed) = turn.with_untracked(|turn| {
        let job = &turn.job;
        (
            job.completed_at.unwrap_or(job.updated_at),
            job.tools_used.join(", "),
            job.action_not_performed,
        )
    });
    let read = turn.clone();
    let preview = Memo::new(move |_| read.with(|turn| turn.confirmation.clone()));
    let write = turn.clone();
    let on_settled = Callback::new(move |settled: Option<ConsentView>| {
        if settled.is_some() {
            let _ = write.try_update(|turn| turn.confirmation = settled);
        }
        chat.read();
    });
    view! {
        <div class="flex flex-col gap-2" data-testid="assistant-answer">
            <Message speaker=Speaker::Agent(t!(locale, assistant.name).to_owned()) at html/>
            <Show when=move || preview.with(Option::is_some)>
                {move || preview.get_untracked().map(|first| {
                    let now = Signal::derive(move || preview.get().unwrap_or_else(|| first.clone()));
                    view! { <Consent preview=now on_settled/> }
                })}
            </Show>
            {not_performed.then(|| view! {
                <p class="status-line text-muted" data-testid="assistant-not-performed">
                    <Icon glyph=Glyph::Info class="w-3.5 h-3.5 shrink-0"/>
                    <span>{t!(locale, job.not_performed)}</span>
                </p>
            })}
            <p class="flex flex-wrap gap-x-3 text-12 text-muted">
                {(!used.is_empty()).then(|| view! {
                    <span class="break-words min-w-0">{t!(locale, assistant.used, names = used)}</span>
                })}
                {reference(chat, turn)}
            </p>
        </div>
    }
}

/// It ended without an answer: why, and the way to try it again.
fn ended(chat: Chat, turn: &Turn, failed: bool) -> impl IntoView + use<> {
    let locale = chat.locale;
    let busy = RwSignal::new(false);
    let (key, reason) = turn.with_untracked(|turn| {
        (
            turn.job.correlation_id.clone(),
            turn.job.last_error.clone().filter(|_| failed),
        )
    });
    let retry = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        let key = key.clone();
        spawn_local(async move {
            match job_retry(key).await {
                Ok(_) => chat.toasts.done(t!(chat.locale, assistant.retried)),
                Err(error) => chat.failed(&error),
            }
            let _ = busy.try_set(false);
            chat.read();
        });
    });
    let (glyph, icon_class, heading) = if failed {
        (
            Glyph::CircleX,
            "w-4 h-4 mt-0.5 shrink-0 text-failed",
            t!(locale, assistant.failed),
        )
    } else {
        (
            Glyph::Ban,
            "w-4 h-4 mt-0.5 shrink-0 text-muted",
            t!(locale, assistant.canceled),
        )
    };
    view! {
        <div class="end-card" role="group" aria-label=heading data-testid="assistant-ended">
            <Icon glyph class=icon_class/>
            <div class="flex-1 min-w-[10rem] flex flex-col gap-1">
                <p class="text-13 font-medium">{heading}</p>
                {reason.map(|reason| view! { <p class="end-reason" data-testid="assistant-reason">{reason}</p> })}
                {reference(chat, turn)}
            </div>
            <Button glyph=Glyph::RotateCcw busy on_press=retry test_id="assistant-retry">
                {t!(locale, common.retry)}
            </Button>
        </div>
    }
}
