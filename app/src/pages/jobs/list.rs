//! The list of all jobs, filtered by the address.

use super::asked_by;
use crate::api::jobs::{JobRow, JobRows, JobsAsked, jobs_list};
use crate::components::button::Button;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::job_status::{JobStatusMark, word};
use crate::components::moment::Ago;
use crate::components::states::{EmptyState, ErrorState};
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::live::Topic;
use crate::pages::listing::{Listing, Page, Rows, address};
use crate::paths;
use crate::title::PageTitle;
use domain::job::{JobId, JobStatus};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use leptos_router::params::ParamsMap;

/// Ages that can be asked for, in seconds.
const AGES: [(&str, i64); 3] = [("hour", 3_600), ("day", 86_400), ("week", 604_800)];

/// Jobs, listed.
struct Jobs;

type Listed = Listing<Jobs>;

impl Rows for Jobs {
    type Asked = JobsAsked;
    type Key = JobId;
    type Row = JobRow;
    type Cursor = String;

    const TOPIC: Topic = Topic::Jobs;

    fn asked(query: &ParamsMap) -> JobsAsked {
        asked_by(query)
    }

    fn key(row: &JobRow) -> JobId {
        row.id
    }

    async fn read(
        asked: JobsAsked,
        cursor: Option<String>,
        limit: i64,
    ) -> Result<Page<Self>, AppError> {
        let wanted = JobsAsked {
            cursor,
            limit: Some(limit),
            ..asked
        };
        jobs_list(wanted)
            .await
            .map(|page| (page.rows, page.next_cursor))
    }
}

#[component]
pub(super) fn List(
    /// What the page was loaded with.
    rows: JobRows,
) -> impl IntoView {
    let locale = use_locale();
    let listed = Listed::open((rows.rows, rows.next_cursor));
    let is_empty = Memo::new(move |_| listed.order.with(Vec::is_empty));
    view! {
        <PageTitle text=t!(locale, job.title)/>
        <div class="flex flex-col gap-4 max-w-[64rem] mx-auto p-4" data-testid="jobs">
            <header class="flex flex-wrap items-baseline gap-3">
                <h1 class="flex-1 text-20">{t!(locale, job.title)}</h1>
                <a class="link text-13 lg:hidden" href=paths::ASSISTANT>{t!(locale, shell.assistant)}</a>
            </header>
            {filters(locale, listed)}
            {move || {
                listed.failure.get().map(|error| {
                    view! { <ErrorState error on_retry=Callback::new(move |()| listed.read())/> }
                })
            }}
            <Show when=move || is_empty.get() && listed.failure.with(Option::is_none)>
                {move || if listed.is_filtered() {
                    view! {
                        <EmptyState text=t!(locale, job.filter_none)>
                            <a class="link" href=paths::JOBS>{t!(locale, job.filter_reset)}</a>
                        </EmptyState>
                    }
                    .into_any()
                } else {
                    view! {
                        <EmptyState text=t!(locale, job.list_empty)>
                            <a class="link" href=paths::ASSISTANT>{t!(locale, shell.assistant)}</a>
                        </EmptyState>
                    }
                    .into_any()
                }}
            </Show>
            <ul
                class="inbox"
                data-testid="job-list"
                hidden=move || is_empty.get()
                on:pointerenter=move |_| listed.point_at()
                on:pointerleave=move |_| listed.settle()
            >
                <For each=move || listed.order.get() key=|id| *id let:id>
                    {listed.row(id).map(|row| row_view(locale, row))}
                </For>
            </ul>
            <Show when=move || listed.next.with(Option::is_some) && !is_empty.get()>
                <div class="flex justify-center">
                    <Button
                        glyph=Glyph::ChevronDown
                        busy=listed.reading
                        on_press=Callback::new(move |()| listed.more())
                        test_id="jobs-more"
                    >
                        {t!(locale, job.more)}
                    </Button>
                </div>
            </Show>
        </div>
    }
    .into_any()
}

fn row_view(locale: Locale, row: ArcRwSignal<JobRow>) -> impl IntoView {
    let JobRow {
        id,
        correlation_id,
        user,
        source,
        excerpt,
        created_at,
        ..
    } = row.get_untracked();
    let title = if excerpt.is_empty() {
        t!(locale, job.message_gone).to_owned()
    } else {
        excerpt
    };
    let (standing, wrong) = (row.clone(), row.clone());
    let mark = move || {
        let (status, stopping) = standing.with(|row| (row.status, row.cancel_requested));
        view! { <JobStatusMark status stopping/> }
    };
    let error = move || {
        wrong.with(|row| {
            let worth = matches!(row.status, JobStatus::FailedTerminal | JobStatus::Pending);
            row.error.clone().filter(|_| worth)
        })
    };
    let attempts = move || {
        let (n, max) = row.with(|row| row.attempts);
        (n > 1).then(|| {
            let words = t!(locale, job.attempts_of, n = n, max = max);
            format!(" · {words}")
        })
    };
    view! {
        <li class="inbox-row max-sm:flex-col max-sm:gap-1" data-testid="job-row" data-job=id.to_string()>
            <span class="w-28 shrink-0 pt-0.5">{mark}</span>
            <span class="flex flex-col flex-1 min-w-0 max-w-full gap-0.5">
                <a class="task-card-link" href=paths::job(&correlation_id)>{title}</a>
                <span class="text-12 text-muted break-words">
                    {[user, source].join(" · ")}
                    " · " <Ago at=created_at/>
                    {attempts}
                </span>
                {move || error().map(|error| view! { <span class="text-12 text-failed line-clamp-2 break-words">{error}</span> })}
            </span>
        </li>
    }
}

/// What is asked for: a form that leads to the address of the answer, with or without a script.
fn filters(locale: Locale, listed: Listed) -> impl IntoView {
    let form = NodeRef::<leptos::html::Form>::new();
    let (state_id, user_id, age_id) = (dom_id(), dom_id(), dom_id());
    let asked = listed.asked;
    let navigate = use_navigate();
    let (status, user, age) = (
        RwSignal::new(None::<String>),
        RwSignal::new(None::<String>),
        RwSignal::new(None::<String>),
    );
    let go = Callback::new(move |()| {
        let now = asked.get_untracked();
        let pairs = [
            (
                "status",
                status
                    .get_untracked()
                    .or_else(|| now.status.map(|status| status.to_string())),
            ),
            ("user", user.get_untracked().or_else(|| now.user.clone())),
            (
                "within",
                age.get_untracked()
                    .or_else(|| now.younger_than.map(|age| age.to_string())),
            ),
        ];
        for field in [status, user, age] {
            field.set(None);
        }
        let address = address(paths::JOBS, pairs);
        navigate(
            &address,
            NavigateOptions {
                scroll: false,
                replace: true,
                ..NavigateOptions::default()
            },
        );
    });
    let status_now = move || asked.with(|asked| asked.status);
    let age_now = move || asked.with(|asked| asked.younger_than);
    view! {
        <form
            node_ref=form
            method="get"
            action=paths::JOBS
            class="flex flex-wrap items-end gap-3"
            aria-label=t!(locale, job.filter)
            data-testid="job-filter"
            on:submit=move |event| {
                event.prevent_default();
                go.run(());
            }
        >
            <div class="flex flex-col gap-1 max-sm:w-full">
                <label for=state_id.clone() class="text-12 text-muted">{t!(locale, job.filter_state)}</label>
                <select
                    id=state_id
                    name="status"
                    class="field h-8 max-sm:h-11"
                    data-testid="job-filter-state"
                    prop:value=move || status_now().map(|status| status.to_string()).unwrap_or_default()
                    on:change:target=move |event| {
                        status.set(Some(event.target().value()));
                        go.run(());
                    }
                >
                    <option value="" selected=move || status_now().is_none()>{t!(locale, job.filter_any)}</option>
                    {JobStatus::ALL
                        .iter()
                        .map(|status| {
                            let status = *status;
                            view! {
                                <option value=status.as_str() selected=move || status_now() == Some(status)>
                                    {word(locale, status)}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </div>
            <div class="flex flex-col gap-1 max-sm:w-full">
                <label for=age_id.clone() class="text-12 text-muted">{t!(locale, job.filter_age)}</label>
                <select
                    id=age_id
                    name="within"
                    class="field h-8 max-sm:h-11"
                    data-testid="job-filter-age"
                    prop:value=move || age_now().map(|age| age.to_string()).unwrap_or_default()
                    on:change:target=move |event| {
                        age.set(Some(event.target().value()));
                        go.run(());
                    }
                >
                    <option value="" selected=move || age_now().is_none()>{t!(locale, job.filter_age_any)}</option>
                    {AGES
                        .iter()
                        .map(|(name, seconds)| {
                            let seconds = *seconds;
                            let words = match *name {
                                "hour" => t!(locale, job.filter_age_hour),
                                "day" => t!(locale, job.filter_age_day),
                                _ => t!(locale, job.filter_age_week),
                            };
                            view! {
                                <option value=seconds.to_string() selected=move || age_now() == Some(seconds)>{words}</option>
                            }
                        })
                        .collect_view()}
                </select>
            </div>
            <div class="flex flex-col gap-1 flex-1 min-w-0 max-sm:w-full max-sm:flex-auto">
                <label for=user_id.clone() class="text-12 text-muted">{t!(locale, job.filter_user)}</label>
                <input
                    id=user_id
                    name="user"
                    type="search"
                    class="field h-8 max-sm:h-11"
                    autocomplete="off"
                    data-testid="job-filter-user"
                    value=asked.with_untracked(|asked| asked.user.clone())
                    prop:value=move || asked.with(|asked| asked.user.clone().unwrap_or_default())
                    on:input:target=move |event| user.set(Some(event.target().value()))
                    on:change:target=move |event| {
                        user.set(Some(event.target().value()));
                        go.run(());
                    }
                />
            </div>
            <Button kind="submit" test_id="job-filter-go">{t!(locale, job.filter)}</Button>
        </form>
    }
    .into_any()
}
