//! The page of one run: where it stands, what it asks, what came out, how it went, and how its client waits for it.

use super::calls::calls;
use super::list::{elapsed, polled};
use super::story::{artifacts, timeline};
use crate::api::questions::Asked;
use crate::api::runs::{ShownRun, run_cancel, run_show};
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::components::moment::Ago;
use crate::components::run_status::{RunStatusMark, phase};
use crate::components::states::explain;
use crate::components::toast::use_toasts;
use crate::i18n::{Locale, t, use_locale};
use crate::live::{Topic, use_live};
use crate::pages::asks::Ask;
use crate::pages::workbench::use_workbench;
use crate::paths;
use crate::title::PageTitle;
use domain::ids::{RunId, SessionId};
use domain::run::TerminalReason;
use domain::run::shown::{RunRow, RunShown};
use domain::run::view::LivenessState;
use domain::view::InboxItem;
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::time::Duration;

/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);
/// How long to wait where it is about words that come many times a second.
const SOON: Duration = Duration::from_secs(1);

/// The run as it was read last.
#[derive(Debug, Clone, Copy)]
struct Held {
    id: RunId,
    shown: RwSignal<ShownRun>,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
    soon: StoredValue<bool>,
}

impl Held {
    fn open(first: ShownRun) -> Self {
        let row = &first.run.row;
        let (id, task, session) = (row.id, row.task_id, row.session_id);
        let held = Self {
            id,
            shown: RwSignal::new(first),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
            soon: StoredValue::new(false),
        };
        let live = use_live();
        Effect::new(move |before: Option<(u64, u64)>| {
            let changed = live.revision(Topic::Task(task)) + live.revision(Topic::Waits);
            let said = live.revision(Topic::Said(session));
            match before {
                Some((before, _)) if before != changed => held.read(),
                Some((_, before)) if before != said => held.read_soon(),
                Some(_) | None => {}
            }
            (changed, said)
        });
        held
    }

    /// A part of it, told to its readers only when it is different.
    fn part<T>(self, get: impl Fn(&RunShown) -> T + Send + Sync + 'static) -> Memo<T>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        Memo::new(move |_| self.shown.with(|shown| get(&shown.run)))
    }

    fn of_row<T>(self, get: impl Fn(&RunRow) -> T + Send + Sync + 'static) -> Memo<T>
    where
        T: PartialEq + Send + Sync + 'static,
    {
        self.part(move |run| get(&run.row))
    }

    /// Reads it again: one read at a time, and one more when something changed meanwhile.
    fn read(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        spawn_local(async move {
            let read = run_show(self.id).await;
            let _ = self.reading.try_set_value(false);
            match read {
                Ok(Some(shown)) => {
                    if self.shown.try_with_untracked(|known| *known != shown) == Some(true) {
                        self.shown.set(shown);
                    }
                }
                // Forgotten while it is looked at: what was read stays readable.
                Ok(None) => {}
                Err(_) => set_timeout(move || self.read(), AGAIN),
            }
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.read();
            }
        });
    }

    /// Reads it again in a moment, however often this is asked for until then.
    fn read_soon(self) {
        let was_due = self
            .soon
            .try_update_value(|soon| std::mem::replace(soon, true));
        if was_due != Some(false) {
            return;
        }
        set_timeout(
            move || {
                let _ = self.soon.try_set_value(false);
                self.read();
            },
            SOON,
        );
    }
}

#[component]
pub(super) fn One(
    /// What the page was loaded with.
    run: ShownRun,
) -> impl IntoView {
    let locale = use_locale();
    let session = run.run.row.session_id;
    let held = Held::open(run);
    let name = held.of_row(|row| row.title.clone());
    let title = move || {
        name.get()
            .unwrap_or_else(|| t!(locale, run.card_gone).to_owned())
    };
    let html = Memo::new(move |_| held.shown.with(|shown| shown.html.clone()));
    let entries = held.part(|run| run.timeline.clone());
    let log_count = held.part(|run| run.log_count);
    let made = held.part(|run| run.artifacts.clone());
    let kept = held.part(|run| run.calls.clone());
    view! {
        <PageTitle text=title/>
        <div class="flex flex-col gap-5 max-w-[50rem] mx-auto p-4" data-testid="run-page">
            <header class="flex flex-col gap-2">
                <a class="link text-13 self-start" href=paths::RUNS>{t!(locale, run.back)}</a>
                <div class="flex flex-wrap items-center gap-x-3 gap-y-2">
                    <h1 class="text-20 min-w-0 break-words">{title}</h1>
                    {standing(held)}
                    <span class="flex-1"></span>
                    {deeds(locale, held)}
                </div>
                {latest(held)}
                {facts(locale, held)}
            </header>
            {asks(locale, session)}
            {reason(locale, held)}
            {move || html.get().map(|html| {
                view! {
                    <section class="flex flex-col gap-1.5" data-testid="run-answer">
                        <h2 class="text-14">{t!(locale, run.answer)}</h2>
                        <div class="prose" inner_html=html></div>
                    </section>
                }
            })}
            {artifacts(locale, made.into())}
            {timeline(locale, entries.into(), log_count.into())}
            {calls(locale, kept.into())}
        </div>
    }
    .into_any()
}

/// Where it stands, and while it is not over what goes on and for how long.
fn standing(held: Held) -> impl IntoView {
    let locale = use_locale();
    let status = held.of_row(|row| row.status);
    let doing = held.of_row(move |row| phase(locale, row.phase));
    let span = held.of_row(|row| (row.since(), row.ended_at));
    view! {
        <span role="status">{move || view! { <RunStatusMark status=status.get()/> }}</span>
        <span class="inline-flex items-center gap-1.5 text-12 text-muted" data-testid="run-phase">
            {move || doing.get()}
            {move || doing.get().is_some().then(|| elapsed(span.get()))}
        </span>
    }
}

/// What its agent said or did last, while it is not over: then the result says it better.
fn latest(held: Held) -> impl IntoView {
    let words = held.of_row(|row| {
        let latest = row.latest.as_ref().filter(|_| row.ended_at.is_none());
        latest.map(|latest| latest.text.clone())
    });
    view! {
        <Show when=move || words.with(Option::is_some)>
            <p class="text-13 break-words" data-testid="run-latest">{move || words.get()}</p>
        </Show>
    }
    .into_any()
}

/// What its agent asks, answered in place as in the inbox.
fn asks(locale: Locale, session: SessionId) -> impl IntoView {
    let workbench = use_workbench();
    let own = Memo::new(move |_| {
        workbench.asks.with(|asks| {
            let own = asks.iter().filter(|asked| {
                let item = asked.item.open::<InboxItem>();
                item.is_ok_and(|item| item.session_id == session)
            });
            own.cloned().collect::<Vec<Asked>>()
        })
    });
    view! {
        <Show when=move || own.with(|own| !own.is_empty())>
            <section class="flex flex-col gap-1.5" data-testid="run-asks" aria-label=t!(locale, run.asks)>
                <For each=move || own.get() key=|asked| asked.key.clone() let:asked>
                    <Ask asked untitled=true/>
                </For>
            </section>
        </Show>
    }
    .into_any()
}

/// Why it is over, when that is not that its agent was done.
fn reason(locale: Locale, held: Held) -> impl IntoView {
    let fault = held.part(|run| run.fault.clone());
    let ended = held.part(|run| run.reason);
    let words = move || match ended.get()? {
        TerminalReason::Stopped | TerminalReason::TurnCancelled => {
            Some(t!(locale, run.reason_stopped))
        }
        TerminalReason::CancelRequested => Some(t!(locale, run.reason_client)),
        TerminalReason::Deleted => Some(t!(locale, run.reason_deleted)),
        TerminalReason::Withdrawn => Some(t!(locale, run.reason_withdrawn)),
        TerminalReason::Expired => Some(t!(locale, run.reason_expired)),
        TerminalReason::Finished
        | TerminalReason::TurnFailed
        | TerminalReason::AgentFailed
        | TerminalReason::Interrupted => None,
    };
    view! {
        {move || match (fault.get(), words()) {
            (Some(fault), _) => Some(view! {
                <section class="flex flex-col gap-1.5" data-testid="run-reason">
                    <h2 class="text-14">{t!(locale, run.reason)}</h2>
                    <p class="end-reason text-failed break-words">{fault.message}</p>
                </section>
            }
            .into_any()),
            (None, Some(words)) => Some(view! {
                <p class="text-13 text-muted" data-testid="run-reason">{words}</p>
            }
            .into_any()),
            (None, None) => None,
        }}
    }
    .into_any()
}

fn facts(locale: Locale, held: Held) -> impl IntoView {
    let first = held.shown.with_untracked(|shown| shown.run.row.clone());
    let client = first
        .client
        .unwrap_or_else(|| t!(locale, run.client_gone).to_owned());
    let card = paths::session(first.task_id, first.session_id);
    let made = first.created_at;
    let name = held.of_row(|row| row.title.clone());
    let ended = held.of_row(|row| row.ended_at);
    let span = held.of_row(|row| (row.since(), row.ended_at));
    let waits = held.of_row(|row| (row.poll_count, row.last_polled_at));
    let fetched = held.part(|run| run.retrieved_at);
    let at_work = held.part(move |run| run.liveness.map(|state| liveness(locale, state)));
    view! {
        <dl class="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-13">
            <dt class="text-muted">{t!(locale, run.client)}</dt>
            <dd class="min-w-0 break-words" data-testid="run-client">{client}</dd>
            <dt class="text-muted">{t!(locale, run.agent)}</dt>
            <dd class="min-w-0 break-words">{first.agent}</dd>
            <dt class="text-muted">{t!(locale, run.card)}</dt>
            <dd class="min-w-0 break-words">
                {move || match name.get() {
                    Some(name) => view! { <a class="link" href=card.clone()>{name}</a> }.into_any(),
                    None => view! { {t!(locale, run.card_gone)} }.into_any(),
                }}
            </dd>
            <dt class="text-muted">{t!(locale, run.started)}</dt>
            <dd><Ago at=made/></dd>
            {move || ended.get().map(|at| view! {
                <dt class="text-muted">{t!(locale, run.ended)}</dt>
                <dd><Ago at/></dd>
                <dt class="text-muted">{t!(locale, run.took)}</dt>
                <dd>{elapsed(span.get())}</dd>
                <dt class="text-muted">{t!(locale, run.outcome)}</dt>
                <dd>{move || match fetched.get() {
                    Some(at) => view! { {t!(locale, run.outcome_fetched)} " " <Ago at/> }.into_any(),
                    None => view! { {t!(locale, run.outcome_waits)} }.into_any(),
                }}</dd>
            })}
            {move || at_work.get().map(|words| view! {
                <dt class="text-muted">{t!(locale, run.host)}</dt>
                <dd>{words}</dd>
            })}
            <dt class="text-muted">{t!(locale, run.waits)}</dt>
            <dd data-testid="run-polls">{move || polled(locale, waits.get())}</dd>
        </dl>
    }
    .into_any()
}

fn liveness(locale: Locale, state: LivenessState) -> &'static str {
    match state {
        LivenessState::Live => t!(locale, run.liveness_live),
        LivenessState::Quiet => t!(locale, run.liveness_quiet),
        LivenessState::Suspect => t!(locale, run.liveness_suspect),
    }
}

/// What can be done about it.
fn deeds(locale: Locale, held: Held) -> impl IntoView {
    let toasts = use_toasts();
    let busy = RwSignal::new(false);
    let asking = RwSignal::new(false);
    let over = held.of_row(|row| row.status.is_final());
    let cancel = Callback::new(move |()| {
        asking.set(false);
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        spawn_local(async move {
            if let Err(error) = run_cancel(held.id).await {
                toasts.failed(explain(locale, &error));
            }
            let _ = busy.try_set(false);
            held.read();
        });
    });
    view! {
        <Show when=move || !over.get()>
            <Button
                glyph=Glyph::CircleStop
                busy
                on_press=Callback::new(move |()| asking.set(true))
                test_id="run-cancel"
            >
                {t!(locale, run.cancel)}
            </Button>
        </Show>
        <Dialog open=asking title=t!(locale, run.cancel_heading) test_id="run-cancel-dialog">
            <p class="p-4">{t!(locale, run.cancel_text)}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| asking.set(false))>{t!(locale, run.cancel_no)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::CircleStop on_press=cancel test_id="confirm-run-cancel">
                    {t!(locale, run.cancel_yes)}
                </Button>
            </footer>
        </Dialog>
    }
    .into_any()
}
