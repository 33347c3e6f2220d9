//! A job's timeline: what happened to it, in words, with the time.

use super::glyph::Glyph;
use super::icon::Icon;
use super::job_status::tool_of;
use super::moment::LocalTime;
use crate::i18n::{Locale, t, use_locale};
use domain::job::{JobEvent, JobEventType};
use leptos::prelude::*;

/// The entries, oldest first. New ones are added at the end; nothing that stands moves.
#[component]
pub fn JobTimelineList(
    /// What happened.
    #[prop(into)]
    events: Signal<Vec<JobEvent>>,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <ol class="job-timeline" data-testid="job-timeline" aria-label=t!(locale, job.timeline)>
            <For each=move || events.get() key=|event| event.id let:event>
                {entry(locale, &event)}
            </For>
        </ol>
    }
    .into_any()
}

fn entry(locale: Locale, event: &JobEvent) -> impl IntoView + use<> {
    let (glyph, icon_class) = mark(event.event_type);
    view! {
        <li class="job-entry" data-type=event.event_type.as_str()>
            <Icon glyph class=icon_class/>
            <span class="flex-1 min-w-0 break-words">{words(locale, event)}</span>
            <span class="shrink-0 text-12 text-muted"><LocalTime at=event.created_at/></span>
        </li>
    }
}

const fn mark(kind: JobEventType) -> (Glyph, &'static str) {
    use JobEventType as E;
    match kind {
        E::Completed | E::Confirmed => {
            (Glyph::CircleCheck, "w-3.5 h-3.5 mt-0.5 shrink-0 text-done")
        }
        E::FailedTerminal | E::RequeueCapped => {
            (Glyph::CircleX, "w-3.5 h-3.5 mt-0.5 shrink-0 text-failed")
        }
        E::RetryScheduled
        | E::StaleRecovered
        | E::DeliveryFailed
        | E::ClaimLost
        | E::QueueSubmitFailed
        | E::RequeueFailed
        | E::RunnerFallbackFailed => (
            Glyph::CircleAlert,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-waiting",
        ),
        E::Canceled | E::Declined => (Glyph::Ban, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"),
        E::ToolCalled => (Glyph::Wrench, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"),
        E::ManualRetry => (Glyph::RotateCcw, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"),
        E::Queued
        | E::Enqueued
        | E::Running
        | E::Executing
        | E::Delivering
        | E::Requeued
        | E::RunnerFallbackDispatched
        | E::Snoozed => (
            Glyph::CircleDashed,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted",
        ),
    }
}

fn words(locale: Locale, event: &JobEvent) -> String {
    use JobEventType as E;
    let plain = match event.event_type {
        E::Queued => t!(locale, job.event_queued),
        E::Enqueued => t!(locale, job.event_enqueued),
        E::QueueSubmitFailed => t!(locale, job.event_queue_submit_failed),
        E::Running => match number(event, "attemptCount") {
            Some(n) => return t!(locale, job.event_running_n, n = n),
            None => t!(locale, job.event_running),
        },
        E::Executing => t!(locale, job.event_executing),
        E::ToolCalled => return t!(locale, job.event_tool_called, name = tool_of(event)),
        E::Delivering => t!(locale, job.event_delivering),
        E::Completed => t!(locale, job.event_completed),
        E::RetryScheduled => match number(event, "delaySeconds") {
            Some(n) => return t!(locale, job.event_retry_scheduled_n, n = n),
            None => t!(locale, job.event_retry_scheduled),
        },
        E::FailedTerminal => t!(locale, job.event_failed_terminal),
        E::Requeued => t!(locale, job.event_requeued),
        E::RequeueFailed => t!(locale, job.event_requeue_failed),
        E::RequeueCapped => t!(locale, job.event_requeue_capped),
        E::RunnerFallbackDispatched => t!(locale, job.event_runner_dispatched),
        E::RunnerFallbackFailed => t!(locale, job.event_runner_failed),
        E::StaleRecovered => t!(locale, job.event_stale_recovered),
        E::DeliveryFailed => t!(locale, job.event_delivery_failed),
        E::Snoozed => t!(locale, job.event_snoozed),
        E::Canceled => t!(locale, job.event_canceled),
        E::ClaimLost => t!(locale, job.event_claim_lost),
        E::ManualRetry => t!(locale, job.event_manual_retry),
        E::Confirmed => t!(locale, job.event_confirmed),
        E::Declined => t!(locale, job.event_declined),
    };
    plain.to_owned()
}

fn number(event: &JobEvent, name: &str) -> Option<i64> {
    event.metadata_json.as_ref()?.get(name)?.as_i64()
}
