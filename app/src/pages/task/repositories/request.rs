//! A pull or merge request: what it is, how it stands, and what is done about it by itself.

use super::{Asked, Held};
use crate::api::repositories::change_request_automate;
use crate::components::button::{Button, Weight};
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::Ago;
use crate::components::request_mark::RequestMark;
use crate::components::states::explain;
use crate::components::switch::Switch;
use crate::i18n::{Locale, t};
use domain::change_request::{
    Automation, ChangeRequestView, Checks, Mergeable, RequestState, UpdateAutomation, short_name,
};
use domain::ids::ChangeRequestId;
use domain::view::TaskPageView;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// One of the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Fix,
    Merge,
    Review,
    Merged,
    Closed,
}

impl Wish {
    const ALL: [Self; 5] = [
        Self::Fix,
        Self::Merge,
        Self::Review,
        Self::Merged,
        Self::Closed,
    ];

    const fn is_on(self, automation: Automation) -> bool {
        match self {
            Self::Fix => automation.auto_fix_enabled,
            Self::Merge => automation.auto_merge_enabled,
            Self::Review => automation.prompt_on_review_requested,
            Self::Merged => automation.prompt_on_merged,
            Self::Closed => automation.prompt_on_closed,
        }
    }

    fn set(self, on: bool) -> UpdateAutomation {
        let mut change = UpdateAutomation::default();
        *match self {
            Self::Fix => &mut change.auto_fix_enabled,
            Self::Merge => &mut change.auto_merge_enabled,
            Self::Review => &mut change.prompt_on_review_requested,
            Self::Merged => &mut change.prompt_on_merged,
            Self::Closed => &mut change.prompt_on_closed,
        } = Some(on);
        change
    }

    /// What it is called, and what it does.
    fn words(self, locale: Locale) -> (&'static str, &'static str) {
        match self {
            Self::Fix => (
                t!(locale, repository.switch_fix),
                t!(locale, repository.switch_fix_help),
            ),
            Self::Merge => (
                t!(locale, repository.switch_merge),
                t!(locale, repository.switch_merge_help),
            ),
            Self::Review => (
                t!(locale, repository.switch_review),
                t!(locale, repository.switch_review_help),
            ),
            Self::Merged => (
                t!(locale, repository.switch_merged),
                t!(locale, repository.switch_merged_help),
            ),
            Self::Closed => (
                t!(locale, repository.switch_closed),
                t!(locale, repository.switch_closed_help),
            ),
        }
    }

    const fn test_id(self) -> &'static str {
        match self {
            Self::Fix => "request-auto-fix",
            Self::Merge => "request-auto-merge",
            Self::Review => "request-on-review",
            Self::Merged => "request-on-merged",
            Self::Closed => "request-on-closed",
        }
    }
}

/// A request that is shown.
#[derive(Debug, Clone, Copy)]
struct Shown {
    held: Held,
    request: Memo<Option<ChangeRequestView>>,
    /// Why the last change was refused.
    failure: RwSignal<Option<String>>,
}

impl Shown {
    fn automation(self) -> Automation {
        self.request
            .with(|one| one.as_ref().map(|one| one.automation).unwrap_or_default())
    }

    /// Changes what is done about it; answers whether that was taken.
    async fn change(self, change: UpdateAutomation) -> bool {
        let Some(request) = self.request.get_untracked() else {
            return false;
        };
        let _ = self.failure.try_set(None);
        let call = change_request_automate(
            self.held.room.id,
            request.repository_id,
            request.number,
            change,
        );
        match self.held.change(call).await {
            Ok(()) => true,
            Err(error) => {
                let why = explain(self.held.room.locale, &error);
                let _ = self.failure.try_set(Some(why));
                false
            }
        }
    }
}

/// One request.
pub(super) fn request_row(held: Held, id: ChangeRequestId) -> impl IntoView {
    let request = Memo::new(move |before: Option<&Option<ChangeRequestView>>| {
        let now = held
            .code
            .with(|code| code.requests.iter().find(|one| one.id == id).cloned());
        // One on its way out keeps its words.
        now.or_else(|| before.cloned().flatten())
    });
    let shown = Shown {
        held,
        request,
        failure: RwSignal::new(None),
    };
    let locale = held.room.locale;
    let mark = Memo::new(move |_| {
        request.with(|one| {
            one.as_ref().map_or(RequestMark::Unseen, |one| {
                RequestMark::of(one.state, one.checks, one.mergeable)
            })
        })
    });
    // Told only when it is another: a link that has the focus keeps it.
    let named = Memo::new(move |_| {
        request.with(|one| {
            let one = one.as_ref()?;
            Some(Named {
                name: short_name(one.provider, one.number),
                title: one.title.clone(),
                url: one.url.clone().filter(|url| !url.is_empty()),
            })
        })
    });
    let state = move || request.with(|one| one.as_ref()?.state.map(RequestState::as_str));
    let problem = Memo::new(move |_| request.with(|one| one.as_ref()?.problem.clone()));
    view! {
        <li class="code-request" data-testid="change-request" data-state=state>
            <p class="flex items-start gap-2">
                <span class="inline-flex mt-0.5">
                    {move || {
                        let mark = mark.get();
                        view! { <span class=mark.color_class()><Icon glyph=mark.glyph()/></span> }
                    }}
                </span>
                {move || named.get().map(|named| heading(locale, named))}
            </p>
            {move || request.get().map(|one| facts(locale, &one))}
            {move || {
                problem
                    .get()
                    .map(|problem| view! { <p class="text-12 text-failed" data-testid="request-problem">{problem}</p> })
            }}
            {automation(shown)}
        </li>
    }
}

/// What a request is called, and where its page is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    name: String,
    title: Option<String>,
    url: Option<String>,
}

/// Number and title; a link where the provider gave an address.
fn heading(locale: Locale, named: Named) -> AnyView {
    let Named { name, title, url } = named;
    let title = match title {
        // Somebody else's words: they keep their own direction.
        Some(title) => view! { <bdi>{title}</bdi> }.into_any(),
        None => view! { <span class="text-muted">{t!(locale, repository.request_untitled)}</span> }
            .into_any(),
    };
    let words = view! { <span class="tabular-nums">{name}</span> " " {title} };
    match url {
        Some(url) => view! {
            <a class="link flex-1 min-w-0 font-medium" href=url target="_blank" rel="noopener noreferrer" data-testid="request-link">
                {words}
                <span class="sr-only">" " {t!(locale, repository.new_tab)}</span>
            </a>
        }
        .into_any(),
        None => view! { <span class="flex-1 min-w-0 font-medium">{words}</span> }.into_any(),
    }
}

/// How it stands, in words.
fn stands(locale: Locale, request: &ChangeRequestView) -> Vec<&'static str> {
    match request.state {
        None => Vec::new(),
        Some(RequestState::Merged) => vec![t!(locale, repository.merged)],
        Some(RequestState::Closed) => vec![t!(locale, repository.closed)],
        Some(RequestState::Open) => {
            let checks = request.checks.map(|checks| match checks {
                Checks::Nothing => t!(locale, repository.checks_none),
                Checks::Pending => t!(locale, repository.checks_running),
                Checks::Passed => t!(locale, repository.checks_passed),
                Checks::Failed => t!(locale, repository.checks_failed),
            });
            let mergeable = match request.mergeable {
                Some(Mergeable::Ready) => Some(t!(locale, repository.ready)),
                Some(Mergeable::Conflict) => Some(t!(locale, repository.conflicts)),
                Some(Mergeable::NotYet) | None => None,
            };
            let all = [Some(t!(locale, repository.open)), checks, mergeable];
            all.into_iter().flatten().collect()
        }
    }
}

fn facts(locale: Locale, request: &ChangeRequestView) -> AnyView {
    let words = stands(locale, request).join(" · ");
    let looked = request.seen_at.map(|at| {
        view! { <span class="whitespace-nowrap">" · " {t!(locale, repository.looked)} " " <Ago at/></span> }
    });
    view! {
        <p class="text-12 text-muted" data-testid="request-facts" hidden=request.seen_at.is_none()>
            {words} {looked}
        </p>
    }
    .into_any()
}

/// The switches, folded under a line that says how many are on.
fn automation(shown: Shown) -> AnyView {
    let locale = shown.held.room.locale;
    let on = Memo::new(move |_| {
        let automation = shown.automation();
        Wish::ALL
            .iter()
            .filter(|wish| wish.is_on(automation))
            .count()
    });
    let summary = move || {
        let what = match on.get() {
            0 => t!(locale, repository.automation_none).to_owned(),
            n => t!(
                locale,
                repository.automation_some,
                n = n,
                of = Wish::ALL.len()
            ),
        };
        t!(locale, repository.automation, what = what)
    };
    let archived = shown
        .held
        .room
        .part(|view: &TaskPageView| view.task.archived_at.is_some());
    let name = move || {
        shown.request.with(|one| {
            let named = one.as_ref();
            named.map(|one| short_name(one.provider, one.number))
        })
    };
    let look = Callback::new(move |()| {
        // Whatever is said again has it looked at.
        let fix = untrack(|| shown.automation()).auto_fix_enabled;
        spawn_local(async move {
            shown.change(Wish::Fix.set(fix)).await;
        });
    });
    let forget = Callback::new(move |()| {
        let request = shown.request.get_untracked();
        shown.held.asked.set(request.map(Asked::Forget));
        shown.held.asking.set(true);
    });
    // One that was just added shows what could be done about it.
    let is_new = shown
        .request
        .with_untracked(|one| one.as_ref().is_some_and(|one| one.seen_at.is_none()));
    let unfolded = is_new && on.get_untracked() == 0;
    view! {
        <details class="code-automation" open=unfolded data-testid="request-automation">
            <summary>{summary} <span class="sr-only">{name}</span></summary>
            <fieldset class="flex flex-col gap-2 pt-2" disabled=move || archived.get()>
                {Wish::ALL.into_iter().map(|wish| switch_row(shown, wish)).collect_view()}
                {words(shown)}
                <p class="text-12 text-failed" role="alert">{move || shown.failure.get()}</p>
                <div class="flex flex-wrap gap-1">
                    <Button weight=Weight::Quiet glyph=Glyph::RotateCcw on_press=look test_id="request-look">
                        {t!(locale, repository.look_now)}
                    </Button>
                    <Button weight=Weight::Quiet glyph=Glyph::X on_press=forget test_id="request-forget">
                        {t!(locale, repository.forget)}
                    </Button>
                </div>
            </fieldset>
        </details>
    }
    .into_any()
}

fn switch_row(shown: Shown, wish: Wish) -> impl IntoView {
    let (label, sentence) = wish.words(shown.held.room.locale);
    let (id, help) = (dom_id(), dom_id());
    let on = RwSignal::new(untrack(|| wish.is_on(shown.automation())));
    Effect::new(move |_| {
        let now = wish.is_on(shown.automation());
        // What is under way is newer than what was read.
        if shown.held.calls.get_untracked() == 0 {
            on.set(now);
        }
    });
    let switch = Callback::new(move |wanted: bool| {
        spawn_local(async move {
            if !shown.change(wish.set(wanted)).await {
                let _ = on.try_set(!wanted);
            }
        });
    });
    view! {
        <div class="flex items-start gap-3">
            <div class="flex-1 min-w-0">
                <label for=id.clone() class="text-13 font-medium">{label}</label>
                <p id=help.clone() class="text-12 text-muted">{sentence}</p>
            </div>
            <Switch id=id label described_by=help on on_switch=switch test_id=wish.test_id()/>
        </div>
    }
}

/// What the agent is asked to do, in the place of the usual words. It counts when something is to be fixed.
fn words(shown: Shown) -> impl IntoView {
    let locale = shown.held.room.locale;
    let stored = Memo::new(move |_| {
        let stored = shown
            .request
            .with(|one| one.as_ref()?.auto_fix_prompt_override.clone());
        stored.unwrap_or_default()
    });
    let typed = RwSignal::new(None::<String>);
    let text = move || typed.get().unwrap_or_else(|| stored.get());
    let is_wanted = Memo::new(move |_| {
        shown.automation().auto_fix_enabled || stored.with(|stored| !stored.is_empty())
    });
    let is_changed = Memo::new(move |_| {
        typed.with(|typed| {
            typed
                .as_ref()
                .is_some_and(|typed| stored.with(|stored| stored != typed))
        })
    });
    let busy = RwSignal::new(false);
    let save = Callback::new(move |()| {
        let Some(wanted) = typed.get_untracked().filter(|_| !busy.get_untracked()) else {
            return;
        };
        busy.set(true);
        spawn_local(async move {
            let change = UpdateAutomation {
                auto_fix_prompt_override: Some(Some(wanted)),
                ..UpdateAutomation::default()
            };
            if shown.change(change).await {
                let _ = typed.try_set(None);
                let toasts = shown.held.room.toasts;
                toasts.done(t!(locale, repository.words_saved));
            }
            let _ = busy.try_set(false);
        });
    });
    view! {
        <Show when=move || is_wanted.get()>
            <div class="flex flex-col items-start gap-1">
                <label class="flex flex-col gap-1 w-full text-13 font-medium">
                    {t!(locale, repository.words)}
                    <textarea
                        class="field field-growing font-normal"
                        rows="2"
                        placeholder=t!(locale, repository.words_example)
                        data-testid="request-words"
                        prop:value=text
                        on:input=move |event| typed.set(Some(event_target_value(&event)))
                    ></textarea>
                </label>
                <Show when=move || is_changed.get()>
                    <Button busy on_press=save test_id="request-words-save">{t!(locale, repository.words_save)}</Button>
                </Show>
            </div>
        </Show>
    }
}

#[test]
fn each_switch_changes_what_it_shows_and_nothing_else() {
    for wish in Wish::ALL {
        let change = wish.set(true);
        let automation = Automation {
            auto_fix_enabled: change.auto_fix_enabled == Some(true),
            auto_merge_enabled: change.auto_merge_enabled == Some(true),
            prompt_on_review_requested: change.prompt_on_review_requested == Some(true),
            prompt_on_merged: change.prompt_on_merged == Some(true),
            prompt_on_closed: change.prompt_on_closed == Some(true),
        };
        let on: Vec<Wish> = Wish::ALL
            .into_iter()
            .filter(|other| other.is_on(automation))
            .collect();
        assert_eq!(on, [wish]);
        assert!(change.auto_fix_prompt_override.is_none());
    }
}
