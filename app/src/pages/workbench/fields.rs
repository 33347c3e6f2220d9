//! What the dialogs for a new task and a new subtask have in common: their fields, their checks, and what is said about them.

use crate::api::setup::{agent_list, executor_profile_list};
use crate::components::button::Button;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::states::what_happened;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use domain::ids::{ExecutorProfileId, ProfileId};
use domain::task::MAX_TITLE;
use domain::view::AgentView;
use leptos::prelude::*;

/// Why a field cannot be sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing in it, and something is needed.
    Missing,
    /// Longer than it may be.
    TooLong,
}

/// What is wrong with a title, by the server's own limits.
#[must_use]
pub fn title_fault(title: &str) -> Option<Fault> {
    let title = title.trim();
    match title.chars().count() {
        0 => Some(Fault::Missing),
        1..=MAX_TITLE => None,
        _ => Some(Fault::TooLong),
    }
}

/// What is wrong with the prompt of a task that is to start.
#[must_use]
pub fn prompt_fault(prompt: &str) -> Option<Fault> {
    prompt.trim().is_empty().then_some(Fault::Missing)
}

/// The title, with a count of its characters.
#[component]
pub fn TitleField(
    /// What is typed.
    title: RwSignal<String>,
    /// What is wrong with it.
    fault: RwSignal<Option<Fault>>,
    /// For tests.
    test_id: &'static str,
) -> impl IntoView {
    let locale = use_locale();
    let (help, error) = (dom_id(), dom_id());
    let described_by = [help.as_str(), error.as_str()].join(" ");
    let length = Memo::new(move |_| title.with(|title| title.trim().chars().count()));
    view! {
        <div class="flex flex-col gap-1">
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, board.task_title)}
                <input
                    type="text"
                    class="field font-normal"
                    autocomplete="off"
                    data-testid=test_id
                    aria-describedby=described_by
                    aria-invalid=move || fault.get().is_some().then_some("true")
                    prop:value=move || title.get()
                    on:input=move |event| {
                        title.set(event_target_value(&event));
                        fault.set(None);
                    }
                />
            </label>
            <div class="flex gap-2 text-12">
                <p id=error class="flex-1 text-failed" aria-live="polite">
                    {move || match fault.get() {
                        Some(Fault::Missing) => t!(locale, board.title_missing).to_owned(),
                        Some(Fault::TooLong) => t!(locale, board.title_long, most = MAX_TITLE),
                        None => String::new(),
                    }}
                </p>
                <p id=help class="length-help" data-over=move || (length.get() > MAX_TITLE).then_some("")>
                    <span class="sr-only">{t!(locale, board.title_length)}</span>
                    {move || t!(locale, board.count_of, n = length.get(), most = MAX_TITLE)}
                </p>
            </div>
        </div>
    }
    .into_any()
}

/// The prompt: the agent's first message, word for word.
#[component]
pub fn PromptField(
    /// What is typed.
    prompt: RwSignal<String>,
    /// What is wrong with it.
    fault: RwSignal<Option<Fault>>,
    /// For tests.
    test_id: &'static str,
) -> impl IntoView {
    let locale = use_locale();
    let (help, error) = (dom_id(), dom_id());
    let described_by = [help.as_str(), error.as_str()].join(" ");
    view! {
        <div class="flex flex-col gap-1">
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, board.prompt)}
                <textarea
                    class="field field-growing min-h-[7rem] font-normal"
                    rows="5"
                    data-testid=test_id
                    aria-describedby=described_by
                    aria-invalid=move || fault.get().is_some().then_some("true")
                    prop:value=move || prompt.get()
                    on:input=move |event| {
                        prompt.set(event_target_value(&event));
                        fault.set(None);
                    }
                ></textarea>
            </label>
            <p id=error class="text-12 text-failed" aria-live="polite">
                {move || fault.get().map(|_| t!(locale, board.prompt_missing))}
            </p>
            <p id=help class="text-12 text-muted">{t!(locale, board.prompt_help)}</p>
        </div>
    }
    .into_any()
}

/// Which agent works on it. Chooses `preferred` as soon as the list is there, or the first that takes our tools.
#[component]
pub fn ProfileField(
    /// The profile chosen.
    profile: RwSignal<Option<ProfileId>>,
    /// The one to begin with.
    #[prop(optional_no_strip)]
    preferred: Option<ProfileId>,
    /// For tests.
    test_id: &'static str,
) -> impl IntoView {
    let locale = use_locale();
    // Made when a dialog opens, so never on the server.
    let agents = LocalResource::new(agent_list);
    let choices = move || {
        match agents.get() {
        None => ().into_any(),
        Some(Err(error)) => {
            view! {
                <span class="flex items-center gap-2 font-normal">
                    <span class="flex-1 text-12 text-failed">{what_happened(locale, error.code())}</span>
                    <Button glyph=Glyph::RotateCcw on_press=Callback::new(move |()| agents.refetch())>
                        {t!(locale, common.retry)}
                    </Button>
                </span>
            }
            .into_any()
        }
        Some(Ok(agents)) if agents.iter().all(|agent| agent.profiles.is_empty()) => {
            view! { <span class="text-12 text-failed font-normal">{t!(locale, board.no_agent)}</span> }
                .into_any()
        }
        Some(Ok(agents)) => {
            let chosen = profile
                .get_untracked()
                .or_else(|| first_choice(&agents, preferred));
            profile.set(chosen);
            let options = agents
                .iter()
                .flat_map(AgentView::profile_names)
                .map(|(id, label)| {
                    view! { <option value=id.to_string() selected=chosen == Some(id)>{label}</option> }
                })
                .collect_view();
            view! {
                <select
                    class="field font-normal"
                    data-testid=test_id
                    on:change=move |event| profile.set(event_target_value(&event).parse().ok())
                >
                    {options}
                </select>
            }
            .into_any()
        }
    }
    };
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {t!(locale, board.agent)}
            // Its own, so that nothing around the dialog waits for the list.
            <Suspense fallback=move || {
                view! {
                    <select class="field font-normal" disabled>
                        <option>{t!(locale, common.loading)}</option>
                    </select>
                }
            }>{choices}</Suspense>
        </label>
    }
    .into_any()
}

/// How the task's agents are run: there is only something to choose when somebody made a profile of the executor.
#[component]
pub fn ExecutorField(
    /// The executor's profile chosen; the usual way without one.
    profile: RwSignal<Option<ExecutorProfileId>>,
    /// For tests.
    test_id: &'static str,
) -> impl IntoView {
    let locale = use_locale();
    // Made when a dialog opens, so never on the server. A list that cannot be read leaves the usual way.
    let profiles = LocalResource::new(executor_profile_list);
    let choices = move || {
        let profiles = profiles.get().and_then(Result::ok).unwrap_or_default();
        (!profiles.is_empty()).then(|| {
            let options = profiles
                .into_iter()
                .map(|one| view! { <option value=one.id.to_string()>{one.name}</option> })
                .collect_view();
            view! {
                <label class="flex flex-col gap-1 text-13 font-medium">
                    {t!(locale, board.executor)}
                    <select
                        class="field font-normal"
                        data-testid=test_id
                        on:change=move |event| profile.set(event_target_value(&event).parse().ok())
                    >
                        <option value="">{t!(locale, board.executor_usual)}</option>
                        {options}
                    </select>
                </label>
            }
        })
    };
    // Its own, so that nothing around the dialog waits for the list.
    view! { <Suspense fallback=|| ()>{choices}</Suspense> }.into_any()
}

/// What the server said about the whole.
#[component]
pub fn Refused(
    /// The refusal.
    error: RwSignal<Option<AppError>>,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <div role="alert">
            {move || error.get().map(|error| {
                view! {
                    <p class="flex items-start gap-2 text-13 text-failed" data-testid="form-error">
                        <Icon glyph=Glyph::CircleAlert class="w-4 h-4 mt-0.5 shrink-0"/>
                        <span class="min-w-0">{sentence(locale, &error)}</span>
                    </p>
                }
            })}
        </div>
    }
}

fn sentence(locale: Locale, error: &AppError) -> String {
    let what = what_happened(locale, error.code());
    if error.0.message.is_empty() {
        what.to_owned()
    } else {
        format!("{what} {}", error.0.message)
    }
}

/// The wanted profile if it is still there, else what the server would take.
fn first_choice(agents: &[AgentView], preferred: Option<ProfileId>) -> Option<ProfileId> {
    let all = || agents.iter().flat_map(|agent| &agent.profiles);
    all()
        .find(|profile| Some(profile.id) == preferred)
        .or_else(|| all().find(|profile| !profile.passthrough))
        .or_else(|| all().next())
        .map(|profile| profile.id)
}

#[test]
fn a_title_is_judged_as_the_server_judges_it() {
    for title in ["", "  ", "a", &"é".repeat(60), &"é".repeat(61)] {
        assert_eq!(
            title_fault(title).is_none(),
            domain::task::check_title(title).is_ok(),
            "{title}"
        );
    }
}
