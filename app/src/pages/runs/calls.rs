//! The newest calls about a run: how its client waits for it, and what became of each wait.

use crate::clock::stopwatch;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::LocalTime;
use crate::i18n::{Locale, t};
use domain::run::call::{CallOutcome, RunCall};
use domain::run::refuse::RunErrorCode;
use leptos::prelude::*;

pub(super) fn calls(locale: Locale, calls: Signal<Vec<RunCall>>) -> impl IntoView {
    view! {
        <section class="flex flex-col gap-1.5" data-testid="run-calls">
            <h2 class="text-14">{t!(locale, run.calls)}</h2>
            <p class="text-12 text-muted">
                {move || if calls.with(Vec::is_empty) { t!(locale, run.calls_none) } else { t!(locale, run.calls_help) }}
            </p>
            <ol class="job-timeline">
                <For each=move || calls.get() key=|call| call.id let:call>
                    {entry(locale, &call)}
                </For>
            </ol>
        </section>
    }
    .into_any()
}

fn entry(locale: Locale, call: &RunCall) -> impl IntoView + use<> {
    let (glyph, icon_class) = match call.outcome {
        CallOutcome::Returned => (Glyph::Check, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"),
        CallOutcome::TimedOut | CallOutcome::Closing => (
            Glyph::CircleDashed,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted",
        ),
        CallOutcome::Disconnected => (Glyph::Unplug, "w-3.5 h-3.5 mt-0.5 shrink-0 text-waiting"),
        CallOutcome::Limited | CallOutcome::Refused => (
            Glyph::CircleAlert,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-waiting",
        ),
    };
    let details = details(locale, call).join(" · ");
    view! {
        <li class="job-entry" data-tool=call.tool.as_str() data-outcome=call.outcome.as_str()>
            <Icon glyph class=icon_class/>
            <span class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="flex flex-wrap gap-x-2">
                    <code class="text-12">{call.tool.as_str()}</code>
                    <span>{became(locale, call)}</span>
                </span>
                <span class="text-12 text-muted break-words">{details}</span>
            </span>
            <span class="shrink-0 text-12 text-muted"><LocalTime at=call.ended_at/></span>
        </li>
    }
}

/// What became of it.
fn became(locale: Locale, call: &RunCall) -> String {
    match call.outcome {
        CallOutcome::Returned => t!(locale, run.out_returned).to_owned(),
        CallOutcome::TimedOut => t!(locale, run.out_timeout).to_owned(),
        CallOutcome::Limited => t!(locale, run.out_limited).to_owned(),
        CallOutcome::Closing => t!(locale, run.out_closing).to_owned(),
        CallOutcome::Disconnected => t!(locale, run.out_disconnected).to_owned(),
        CallOutcome::Refused => {
            let code = call.error.map(RunErrorCode::as_str).unwrap_or_default();
            t!(locale, run.out_refused, code = code)
        }
    }
}

fn details(locale: Locale, call: &RunCall) -> Vec<String> {
    let mut said = vec![call.client.to_string()];
    if let Some(n) = call.poll {
        said.push(t!(locale, run.call_poll, n = n));
    }
    // A client that hung up has waited until then.
    let waited = call
        .waited_ms
        .or_else(|| (call.outcome == CallOutcome::Disconnected).then_some(call.duration_ms));
    if let Some(waited) = waited {
        let time = stopwatch(waited);
        said.push(match call.requested_wait_ms {
            Some(wanted) => {
                let wanted = stopwatch(wanted);
                t!(locale, run.call_wait_of, time = time, wanted = wanted)
            }
            None => t!(locale, run.call_wait, time = time),
        });
    }
    if call.bytes > 0 {
        said.push(t!(locale, run.call_bytes, n = call.bytes));
    }
    if call.duplicate {
        said.push(t!(locale, run.call_duplicate).to_owned());
    }
    if call.first_retrieval {
        said.push(t!(locale, run.call_first).to_owned());
    }
    said
}
