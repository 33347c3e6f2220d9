//! The page of one job: where it stands, what was asked and answered, and its timeline as it grows.

use super::Consent;
use crate::api::jobs::{ShownJob, job_cancel, job_retry, job_show};
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::job_status::{JobStatusMark, again_in, phase};
use crate::components::job_timeline::JobTimelineList;
use crate::components::moment::{Ago, Elapsed};
use crate::components::states::explain;
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::live::job::Following;
use crate::live::{Topic, use_live};
use crate::paths;
use crate::title::PageTitle;
use domain::job::JobStatus;
use domain::job::view::{AttemptView, ConsentView, JobView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use std::time::Duration;

/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// The job as it was read last.
#[derive(Debug, Clone, Copy)]
struct Held {
    key: StoredValue<String>,
    shown: RwSignal<ShownJob>,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
}

impl Held {
    fn open(job: ShownJob) -> Self {
        let key = job.timeline.job.correlation_id.clone();
        let held = Self {
            key: StoredValue::new(key.clone()),
            shown: RwSignal::new(job),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
        };
        let over = held.part(|job| job.status.is_final());
        // As long as it is not over its own stream tells of it, and of nothing else. The effect alone holds the stream, and goes with
        // the page: on the server, which runs no effects, nothing is bound to a thread.
        Effect::new(move |before: Option<Option<Following>>| {
            drop(before);
            (!over.get())
                .then(|| Following::begin(&key, move || held.read()))
                .flatten()
        });
        // Afterwards only what it previewed can change.
        let live = use_live();
        Effect::new(move |before: Option<u64>| {
            let now = live.revision(Topic::Jobs);
            if before.is_some_and(|before| before != now) && over.get_untracked() {
                held.read();
            }
            now
        });
        held
    }

    /// A part of the job, told to its readers only when it is different.
    fn part<T>(self, get: impl Fn(&JobView) -> T + Send + Sync + 'static) -> Memo<T>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        Memo::new(move |_| self.shown.with(|shown| get(&shown.timeline.job)))
    }

    /// Reads it again: one read at a time, and one more when something changed meanwhile.
    fn read(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        let key = self.key.get_value();
        spawn_local(async move {
            let read = job_show(key).await;
            let _ = self.reading.try_set_value(false);
            match read {
                Ok(Some(shown)) => {
                    if self.shown.try_with_untracked(|known| *known != shown) == Some(true) {
                        self.shown.set(shown);
                    }
                }
                // Removed while it is looked at: what was read stays readable.
                Ok(None) => {}
                Err(_) => set_timeout(move || self.read(), AGAIN),
            }
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.read();
            }
        });
    }

    fn take_consent(self, view: ConsentView) {
        let _ = self
            .shown
            .try_update(|shown| shown.timeline.confirmation = Some(view));
    }
}

#[component]
pub(super) fn One(
    /// What the page was loaded with.
    job: ShownJob,
) -> impl IntoView {
    let locale = use_locale();
    let first = job.timeline.job.clone();
    let held = Held::open(job);
    let events = Memo::new(move |_| held.shown.with(|shown| shown.timeline.events.clone()));
    let truncated = Memo::new(move |_| held.shown.with(|shown| shown.timeline.truncated));
    let html = Memo::new(move |_| held.shown.with(|shown| shown.html.clone()));
    let preview = Memo::new(move |_| held.shown.with(|shown| shown.timeline.confirmation.clone()));
    let tools = held.part(|job| job.tools_used.join(", "));
    let reason = held.part(|job| job.last_error.clone());
    let title = t!(locale, job.title_one, id = first.id);
    view! {
        <PageTitle text=title.clone()/>
        <div class="flex flex-col gap-5 max-w-[50rem] mx-auto p-4" data-testid="job-page">
            <header class="flex flex-col gap-2">
                <a class="link text-13 self-start" href=paths::JOBS>{t!(locale, job.back)}</a>
                <div class="flex flex-wrap items-center gap-x-3 gap-y-2">
                    <h1 class="text-20">{title}</h1>
                    {standing(held)}
                    <span class="flex-1"></span>
                    {deeds(locale, held)}
                </div>
                <p class="font-mono text-12 text-muted break-all" data-testid="job-correlation">{first.correlation_id.clone()}</p>
                {facts(locale, held, &first)}
            </header>
            {move || reason.get().map(|reason| {
                view! {
                    <section class="flex flex-col gap-1.5" data-testid="job-reason">
                        <h2 class="text-14">{t!(locale, job.reason)}</h2>
                        <p class="end-reason text-failed">{reason}</p>
                    </section>
                }
            })}
            <section class="flex flex-col gap-1.5">
                <h2 class="text-14">{t!(locale, job.message)}</h2>
                <p class="message message-operator whitespace-pre-wrap break-words" data-testid="job-message">
                    {if first.request_text.is_empty() { t!(locale, job.message_gone).to_owned() } else { first.request_text }}
                </p>
            </section>
            {move || html.get().map(|html| {
                view! {
                    <section class="flex flex-col gap-1.5" data-testid="job-answer">
                        <h2 class="text-14">{t!(locale, job.answer)}</h2>
                        <div class="prose" inner_html=html></div>
                        <Show when=move || tools.with(|tools| !tools.is_empty())>
                            <p class="text-12 text-muted break-words">{t!(locale, job.tools)} ": " {tools}</p>
                        </Show>
                    </section>
                }
            })}
            <Show when=move || preview.with(Option::is_some)>
                {move || preview.get_untracked().map(|first| {
                    let now = Signal::derive(move || preview.get().unwrap_or_else(|| first.clone()));
                    let on_settled = Callback::new(move |settled: Option<ConsentView>| match settled {
                        Some(view) => held.take_consent(view),
                        None => held.read(),
                    });
                    view! { <Consent preview=now on_settled/> }
                })}
            </Show>
            <section class="flex flex-col gap-1.5">
                <h2 class="text-14">{t!(locale, job.timeline)}</h2>
                <Show when=move || truncated.get()>
                    <p class="text-12 text-muted">{t!(locale, job.older_entries)}</p>
                </Show>
                <JobTimelineList events/>
            </section>
            {attempts(locale, held)}
        </div>
    }
    .into_any()
}

/// Where it stands, and while it is not over what goes on and for how long.
fn standing(held: Held) -> impl IntoView {
    let locale = use_locale();
    let clock = crate::clock::use_clock();
    let status = held.part(|job| (job.status, job.cancel_requested));
    let since = held.part(|job| job.started_at.or(Some(job.created_at)));
    let words = Memo::new(move |_| {
        held.shown.with(|shown| {
            let job = &shown.timeline.job;
            (!job.status.is_final())
                .then(|| phase(locale, job, &shown.timeline.events, clock.now()))
        })
    });
    let again = Memo::new(move |_| {
        held.shown
            .with(|shown| again_in(locale, &shown.timeline.job, clock.now()))
    });
    view! {
        <span class="inline-flex flex-wrap items-center gap-2" role="status">
            {move || {
                let (status, stopping) = status.get();
                view! { <JobStatusMark status stopping/> }
            }}
        </span>
        <Show when=move || words.with(Option::is_some)>
            <span class="inline-flex items-center gap-1.5 text-12 text-muted" data-testid="job-phase">
                <span>{words}</span>
                <span>{again}</span>
                {move || since.get().map(|since| view! { <Elapsed since/> })}
            </span>
        </Show>
    }
}

/// What can be done about it.
fn deeds(locale: Locale, held: Held) -> impl IntoView {
    let toasts = use_toasts();
    let navigate = use_navigate();
    let busy = RwSignal::new(false);
    let asking = RwSignal::new(false);
    let status = held.part(|job| (job.status, job.cancel_requested));
    let can_cancel = move || {
        matches!(
            status.get(),
            (JobStatus::Pending | JobStatus::Running, false)
        )
    };
    let can_retry = move || {
        matches!(
            status.get().0,
            JobStatus::FailedTerminal | JobStatus::Canceled
        )
    };
    let failed = move |error: &AppError| toasts.failed(explain(locale, error));
    let cancel = Callback::new(move |()| {
        asking.set(false);
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        let key = held.key.get_value();
        spawn_local(async move {
            if let Err(error) = job_cancel(key).await {
                failed(&error);
            }
            let _ = busy.try_set(false);
            held.read();
        });
    });
    let retry = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        let key = held.key.get_value();
        let navigate = navigate.clone();
        spawn_local(async move {
            let retried = job_retry(key).await;
            let _ = busy.try_set(false);
            match retried {
                Ok(made) => navigate(
                    &paths::job(&made.correlation_id),
                    NavigateOptions::default(),
                ),
                Err(error) => {
                    failed(&error);
                    held.read();
                }
            }
        });
    });
    view! {
        <Show when=can_cancel>
            <Button
                glyph=Glyph::CircleStop
                busy
                on_press=Callback::new(move |()| asking.set(true))
                test_id="job-cancel"
            >
                {t!(locale, job.cancel)}
            </Button>
        </Show>
        <Show when=can_retry>
            <Button weight=Weight::Primary glyph=Glyph::RotateCcw busy on_press=retry test_id="job-retry">
                {t!(locale, job.retry)}
            </Button>
            <p class="w-full text-12 text-muted">{t!(locale, job.retry_help)}</p>
        </Show>
        <Dialog open=asking title=t!(locale, job.cancel_heading) test_id="job-cancel-dialog">
            <p class="p-4">{t!(locale, job.cancel_text)}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| asking.set(false))>{t!(locale, job.cancel_no)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::CircleStop on_press=cancel test_id="confirm-job-cancel">
                    {t!(locale, job.cancel_yes)}
                </Button>
            </footer>
        </Dialog>
    }
}

fn facts(locale: Locale, held: Held, job: &JobView) -> impl IntoView + use<> {
    let ended = held.part(|job| job.completed_at);
    let tries = held.part(|job| (job.attempt_count, job.max_attempts));
    let user = job.user_name.clone().unwrap_or_else(|| job.user_id.clone());
    let (source, made) = (job.source.clone(), job.created_at);
    let again = job.retry_of.map(|old| {
        let name = t!(locale, job.title_one, id = old);
        view! {
            <dt class="text-muted">{t!(locale, job.retry_of)}</dt>
            <dd><a class="link" href=paths::job(&old.to_string())>{name}</a></dd>
        }
    });
    view! {
        <dl class="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-13">
            <dt class="text-muted">{t!(locale, job.fact_user)}</dt>
            <dd class="min-w-0 break-words">{user}</dd>
            <dt class="text-muted">{t!(locale, job.fact_source)}</dt>
            <dd class="min-w-0 break-words">{source}</dd>
            <dt class="text-muted">{t!(locale, job.fact_created)}</dt>
            <dd><Ago at=made/></dd>
            {move || ended.get().map(|at| view! {
                <dt class="text-muted">{t!(locale, job.fact_ended)}</dt>
                <dd><Ago at/></dd>
            })}
            <dt class="text-muted">{t!(locale, job.attempts)}</dt>
            <dd>{move || {
                let (n, max) = tries.get();
                t!(locale, job.tries, n = n, max = max)
            }}</dd>
            {again}
        </dl>
    }
}

/// Its runs, with what went wrong in each.
fn attempts(locale: Locale, held: Held) -> impl IntoView {
    let attempts = Memo::new(move |_| held.shown.with(|shown| shown.timeline.attempts.clone()));
    view! {
        <Show when=move || attempts.with(|attempts| !attempts.is_empty())>
            <section class="flex flex-col gap-1.5" data-testid="job-attempts">
                <h2 class="text-14">{t!(locale, job.attempts)}</h2>
                <ol class="flex flex-col">
                    {move || attempts.get().into_iter().map(|run| attempt(locale, run)).collect_view()}
                </ol>
            </section>
        </Show>
    }
}

fn attempt(locale: Locale, run: AttemptView) -> impl IntoView {
    let (glyph, icon_class) = match (run.ended_at, &run.error) {
        (None, _) => (
            Glyph::LoaderCircle,
            "w-3.5 h-3.5 mt-0.5 shrink-0 text-running spin",
        ),
        (Some(_), None) => (Glyph::Check, "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"),
        (Some(_), Some(_)) => (Glyph::CircleX, "w-3.5 h-3.5 mt-0.5 shrink-0 text-failed"),
    };
    let class_word = run.error_class.map(|class| class.to_string());
    let (since, until) = (run.started_at, run.ended_at);
    let took = until.map(|until| crate::clock::stopwatch(until.since(since)));
    view! {
        <li class="job-entry">
            <Icon glyph class=icon_class/>
            <span class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="flex flex-wrap gap-x-2">
                    <span>{t!(locale, job.attempt, n = run.attempt)}</span>
                    {class_word.map(|word| view! { <code class="text-12 text-muted">{word}</code> })}
                </span>
                {run.error.map(|error| view! { <span class="text-12 text-failed break-words whitespace-pre-line">{error}</span> })}
                <span class="text-12 text-muted break-all">{t!(locale, job.worker)} " " {run.worker_id}</span>
            </span>
            <span class="shrink-0 text-12 text-muted tabular-nums">
                {match took {
                    Some(took) => view! { {took} }.into_any(),
                    None => view! { <Elapsed since/> }.into_any(),
                }}
            </span>
        </li>
    }
}
