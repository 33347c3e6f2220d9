//! The list of all runs, filtered by the address.

use super::asked_by;
use crate::api::runs::{RunsAsked, runs_list};
use crate::components::button::Button;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::moment::{Ago, Elapsed};
use crate::components::run_status::{RunStatusMark, phase};
use crate::components::states::{EmptyState, ErrorState};
use crate::error::AppError;
use crate::i18n::{Locale, plural, t, use_locale};
use crate::live::{Topic, use_live};
use crate::pages::listing::{Listing, Page, Rows, address};
use crate::paths;
use crate::title::PageTitle;
use domain::ids::{RunId, SessionId};
use domain::run::RunGroup;
use domain::run::shown::{RunRow, RunRows};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use leptos_router::params::ParamsMap;

/// Runs, listed.
struct Runs;

type Listed = Listing<Runs>;

impl Rows for Runs {
    type Asked = RunsAsked;
    type Key = RunId;
    type Row = RunRow;
    type Cursor = RunId;

    const TOPIC: Topic = Topic::Runs;

    fn asked(query: &ParamsMap) -> RunsAsked {
        asked_by(query)
    }

    fn key(row: &RunRow) -> RunId {
        row.id
    }

    async fn read(
        asked: RunsAsked,
        cursor: Option<RunId>,
        limit: i64,
    ) -> Result<Page<Self>, AppError> {
        let wanted = RunsAsked {
            cursor,
            limit: Some(limit),
            ..asked
        };
        runs_list(wanted)
            .await
            .map(|page| (page.rows, page.next_cursor))
    }
}

#[component]
pub(super) fn List(
    /// What the page was loaded with.
    rows: RunRows,
) -> impl IntoView {
    let locale = use_locale();
    let listed = Listed::open((rows.rows, rows.next_cursor));
    follow_words(listed);
    let is_empty = Memo::new(move |_| listed.order.with(Vec::is_empty));
    view! {
        <PageTitle text=t!(locale, run.title)/>
        <div class="flex flex-col gap-4 max-w-[64rem] mx-auto p-4" data-testid="runs">
            <h1 class="text-20">{t!(locale, run.title)}</h1>
            {filters(locale, listed)}
            {move || {
                listed.failure.get().map(|error| {
                    view! { <ErrorState error on_retry=Callback::new(move |()| listed.read())/> }
                })
            }}
            <Show when=move || is_empty.get() && listed.failure.with(Option::is_none)>
                {move || if listed.is_filtered() {
                    view! {
                        <EmptyState text=t!(locale, run.filter_none)>
                            <a class="link" href=paths::RUNS>{t!(locale, run.filter_reset)}</a>
                        </EmptyState>
                    }
                    .into_any()
                } else {
                    view! {
                        <EmptyState text=t!(locale, run.list_empty)>
                            <a class="link" href=paths::SETTINGS>{t!(locale, run.list_empty_do)}</a>
                        </EmptyState>
                    }
                    .into_any()
                }}
            </Show>
            <ul
                class="inbox"
                data-testid="run-list"
                hidden=move || is_empty.get()
                on:pointerenter=move |_| listed.point_at()
                on:pointerleave=move |_| listed.settle()
            >
                <For each=move || listed.order.get() key=|id| *id let:id>
                    {listed.row(id).map(|row| row_view(locale, row))}
                </For>
            </ul>
            <Show when=move || listed.next.with(Option::is_some)>
                <div class="flex justify-center">
                    <Button
                        glyph=Glyph::ChevronDown
                        busy=listed.reading
                        on_press=Callback::new(move |()| listed.more())
                        test_id="runs-more"
                    >
                        {t!(locale, run.more)}
                    </Button>
                </div>
            </Show>
        </div>
    }
    .into_any()
}

/// What agents say comes many times a second and concerns only the runs that are shown and go on.
fn follow_words(listed: Listed) {
    let live = use_live();
    let going_on = Memo::new(move |_| {
        let rows = listed.order.get();
        let rows = rows.into_iter().filter_map(|id| listed.row(id));
        rows.filter_map(|row| row.with(|row| row.ended_at.is_none().then_some(row.session_id)))
            .collect::<Vec<SessionId>>()
    });
    Effect::new(move |before: Option<u64>| {
        let said = going_on.with(|sessions| {
            let revisions = sessions.iter().map(|id| live.revision(Topic::Said(*id)));
            revisions.sum::<u64>()
        });
        if before.is_some_and(|before| before != said) {
            listed.read_soon();
        }
        said
    });
}

fn row_view(locale: Locale, row: ArcRwSignal<RunRow>) -> impl IntoView {
    let first = row.get_untracked();
    let (id, created_at) = (first.id, first.created_at);
    let who = [
        first
            .client
            .unwrap_or_else(|| t!(locale, run.client_gone).to_owned()),
        first.agent,
    ]
    .join(" · ");
    let part = |row: &ArcRwSignal<RunRow>| {
        let row = row.clone();
        move |get: fn(&RunRow) -> Option<String>| row.with(get)
    };
    let (title, error) = (part(&row), part(&row));
    let status = {
        let row = row.clone();
        Memo::new(move |_| row.with(|row| row.status))
    };
    let doing = {
        let row = row.clone();
        Memo::new(move |_| {
            row.with(|row| {
                // A failure is said below, and would be said twice.
                let latest = row.latest.as_ref().filter(|_| row.error.is_none());
                let update = latest.map(|latest| latest.text.as_str());
                let parts = [phase(locale, row.phase), update];
                parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
            })
        })
    };
    let span = {
        let row = row.clone();
        Memo::new(move |_| row.with(|row| (row.since(), row.ended_at)))
    };
    let polls = Memo::new(move |_| row.with(|row| (row.poll_count, row.last_polled_at)));
    view! {
        <li class="inbox-row max-sm:flex-col max-sm:gap-1" data-testid="run-row" data-run=id.to_string()>
            <span class="w-28 shrink-0 pt-0.5">{move || view! { <RunStatusMark status=status.get()/> }}</span>
            <span class="flex flex-col flex-1 min-w-0 max-w-full gap-0.5">
                <a class="task-card-link" href=paths::run(id)>
                    {move || title(|row| row.title.clone()).unwrap_or_else(|| t!(locale, run.card_gone).to_owned())}
                </a>
                <span class="text-12 text-muted break-words">{who} " · " <Ago at=created_at/></span>
                <Show when=move || doing.with(|doing| !doing.is_empty())>
                    <span class="text-12 line-clamp-2 break-words" data-testid="run-doing">{doing}</span>
                </Show>
                {move || error(|row| row.error.clone()).map(|error| {
                    view! { <span class="text-12 text-failed line-clamp-2 break-words">{error}</span> }
                })}
            </span>
            <span class="run-figures">
                <span data-testid="run-elapsed">{move || elapsed(span.get())}</span>
                <span data-testid="run-polls">{move || polled(locale, polls.get())}</span>
            </span>
        </li>
    }
}

/// How long it took, or takes: ticking while it goes on.
pub(super) fn elapsed(
    (since, until): (domain::time::Timestamp, Option<domain::time::Timestamp>),
) -> AnyView {
    match until {
        Some(until) => view! {
            <span class="tabular-nums">{crate::clock::stopwatch(until.since(since))}</span>
        }
        .into_any(),
        None => view! { <Elapsed since/> }.into_any(),
    }
}

/// How often it was waited for, and when last.
pub(super) fn polled(
    locale: Locale,
    (count, last): (i64, Option<domain::time::Timestamp>),
) -> AnyView {
    let Some(last) = last else {
        return view! { {t!(locale, run.never_polled)} }.into_any();
    };
    let count = plural!(
        locale,
        run.polls,
        usize::try_from(count).unwrap_or_default()
    );
    view! { {count} " · " <Ago at=last/> }.into_any()
}

/// What is asked for: a form that leads to the address of the answer, with or without a script.
fn filters(locale: Locale, listed: Listed) -> impl IntoView {
    let (group_id, text_id) = (dom_id(), dom_id());
    let asked = listed.asked;
    let navigate = use_navigate();
    let (group, text) = (RwSignal::new(None::<String>), RwSignal::new(None::<String>));
    let go = Callback::new(move |()| {
        let now = asked.get_untracked();
        let group_now = now.group.map(|group| group.to_string());
        let pairs = [
            ("group", group.get_untracked().or(group_now)),
            ("text", text.get_untracked().or(now.text)),
        ];
        for field in [group, text] {
            field.set(None);
        }
        navigate(
            &address(paths::RUNS, pairs),
            NavigateOptions {
                scroll: false,
                replace: true,
                ..NavigateOptions::default()
            },
        );
    });
    let group_now = move || asked.with(|asked| asked.group);
    view! {
        <form
            method="get"
            action=paths::RUNS
            class="flex flex-wrap items-end gap-3"
            aria-label=t!(locale, run.filter)
            data-testid="run-filter"
            on:submit=move |event| {
                event.prevent_default();
                go.run(());
            }
        >
            <div class="flex flex-col gap-1 max-sm:w-full">
                <label for=group_id.clone() class="text-12 text-muted">{t!(locale, run.filter_state)}</label>
                <select
                    id=group_id
                    name="group"
                    class="field h-8 max-sm:h-11"
                    data-testid="run-filter-group"
                    prop:value=move || group_now().map(|group| group.to_string()).unwrap_or_default()
                    on:change:target=move |event| {
                        group.set(Some(event.target().value()));
                        go.run(());
                    }
                >
                    <option value="" selected=move || group_now().is_none()>{t!(locale, run.filter_any)}</option>
                    {RunGroup::ALL
                        .iter()
                        .map(|group| {
                            let group = *group;
                            view! {
                                <option value=group.as_str() selected=move || group_now() == Some(group)>
                                    {group_word(locale, group)}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </div>
            <div class="flex flex-col gap-1 flex-1 min-w-0 max-sm:w-full max-sm:flex-auto">
                <label for=text_id.clone() class="text-12 text-muted">{t!(locale, run.filter_text)}</label>
                <input
                    id=text_id
                    name="text"
                    type="search"
                    class="field h-8 max-sm:h-11"
                    autocomplete="off"
                    data-testid="run-filter-text"
                    value=asked.with_untracked(|asked| asked.text.clone())
                    prop:value=move || asked.with(|asked| asked.text.clone().unwrap_or_default())
                    on:input:target=move |event| text.set(Some(event.target().value()))
                    on:change:target=move |event| {
                        text.set(Some(event.target().value()));
                        go.run(());
                    }
                />
            </div>
            <Button kind="submit" test_id="run-filter-go">{t!(locale, run.filter)}</Button>
        </form>
    }
    .into_any()
}

fn group_word(locale: Locale, group: RunGroup) -> &'static str {
    match group {
        RunGroup::Active => t!(locale, run.filter_active),
        RunGroup::NeedsAttention => t!(locale, run.filter_attention),
        RunGroup::Completed => t!(locale, run.filter_completed),
        RunGroup::Failed => t!(locale, run.filter_failed),
    }
}
