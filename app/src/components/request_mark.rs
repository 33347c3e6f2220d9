//! Pull and merge requests in small: how one stands, and which of a task's stands worst.

use super::glyph::Glyph;
use super::icon::Icon;
use crate::i18n::{Locale, t, use_locale};
use domain::change_request::{Checks, Mergeable, RequestState, TaskRequest, short_name};
use leptos::prelude::*;

/// How a request stands. What is wrong comes first, what is over last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestMark {
    /// Checks failed.
    Failing,
    /// Its branch and the one it is for changed the same.
    Conflict,
    /// Checks run.
    Pending,
    /// Nothing stands in the way of merging it.
    Ready,
    /// It is open, and nothing else is to be said.
    Open,
    /// Nobody has looked yet.
    Unseen,
    /// It was merged.
    Merged,
    /// It was closed and not merged.
    Closed,
}

impl RequestMark {
    /// The mark of a request as it was seen last.
    #[must_use]
    pub const fn of(
        state: Option<RequestState>,
        checks: Option<Checks>,
        mergeable: Option<Mergeable>,
    ) -> Self {
        match (state, checks, mergeable) {
            (None, _, _) => Self::Unseen,
            (Some(RequestState::Merged), _, _) => Self::Merged,
            (Some(RequestState::Closed), _, _) => Self::Closed,
            (Some(RequestState::Open), Some(Checks::Failed), _) => Self::Failing,
            (Some(RequestState::Open), _, Some(Mergeable::Conflict)) => Self::Conflict,
            (Some(RequestState::Open), Some(Checks::Pending), _) => Self::Pending,
            (Some(RequestState::Open), _, Some(Mergeable::Ready)) => Self::Ready,
            (Some(RequestState::Open), _, Some(Mergeable::NotYet) | None) => Self::Open,
        }
    }

    /// The shape.
    #[must_use]
    pub const fn glyph(self) -> Glyph {
        match self {
            Self::Failing => Glyph::CircleX,
            Self::Conflict => Glyph::CircleAlert,
            Self::Pending => Glyph::LoaderCircle,
            Self::Ready => Glyph::CircleCheck,
            Self::Open | Self::Unseen => Glyph::GitPullRequest,
            Self::Merged => Glyph::GitMerge,
            Self::Closed => Glyph::GitPullRequestClosed,
        }
    }

    /// The colour.
    #[must_use]
    pub const fn color_class(self) -> &'static str {
        match self {
            Self::Failing | Self::Conflict => "inline-flex shrink-0 text-failed",
            Self::Ready => "inline-flex shrink-0 text-done",
            Self::Merged => "inline-flex shrink-0 text-review",
            Self::Pending | Self::Open | Self::Unseen | Self::Closed => {
                "inline-flex shrink-0 text-muted"
            }
        }
    }

    /// The word.
    #[must_use]
    pub fn word(self, locale: Locale) -> &'static str {
        match self {
            Self::Failing => t!(locale, repository.checks_failed),
            Self::Conflict => t!(locale, repository.conflicts),
            Self::Pending => t!(locale, repository.checks_running),
            Self::Ready => t!(locale, repository.ready),
            Self::Open => t!(locale, repository.open),
            Self::Unseen => t!(locale, repository.not_seen),
            Self::Merged => t!(locale, repository.merged),
            Self::Closed => t!(locale, repository.closed),
        }
    }
}

/// The requests of a task in one: how many there are, and the one that stands worst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    count: usize,
    name: String,
    /// How that one stands.
    pub mark: RequestMark,
}

impl Requests {
    /// Of a task that cares for these; `None` when it cares for none.
    #[must_use]
    pub fn of(requests: &[TaskRequest]) -> Option<Self> {
        let mark = |request: &TaskRequest| {
            RequestMark::of(request.state, request.checks, request.mergeable)
        };
        let worst = requests.iter().min_by_key(|request| mark(request))?;
        Some(Self {
            count: requests.len(),
            name: short_name(worst.provider, worst.number),
            mark: mark(worst),
        })
    }

    /// All of it in words.
    #[must_use]
    pub fn words(&self, locale: Locale) -> String {
        let (name, state) = (self.name.clone(), self.mark.word(locale));
        if self.count == 1 {
            t!(locale, repository.request_one, name = name, state = state)
        } else {
            t!(
                locale,
                repository.request_many,
                n = self.count,
                name = name,
                state = state
            )
        }
    }
}

/// The requests of a task as an icon. Its name says which and how they stand.
#[component]
pub fn RequestsIcon(
    /// What it is about; nothing is shown for none.
    #[prop(into)]
    requests: Signal<Option<Requests>>,
    /// Writes the words beside it, instead of only saying them.
    #[prop(optional)]
    written: bool,
) -> impl IntoView {
    let locale = use_locale();
    move || {
        requests.get().map(|requests| {
            let color_class = requests.mark.color_class();
            let icon_class = if written {
                "w-3 h-3 shrink-0"
            } else {
                "w-3.5 h-3.5 shrink-0"
            };
            let word_class = if written { "truncate" } else { "sr-only" };
            view! {
                <span class="inline-flex items-center gap-1 min-w-0" data-testid="task-requests">
                    <span class=color_class>
                        <Icon glyph=requests.mark.glyph() class=icon_class/>
                    </span>
                    <span class=word_class>{requests.words(locale)}</span>
                </span>
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::RepositoryId;
    use domain::repository::Provider;

    #[test]
    fn the_request_that_stands_worst_speaks_for_all() {
        let request = |number, state, checks, mergeable| TaskRequest {
            repository_id: RepositoryId::new(),
            provider: Provider::Gitlab,
            number,
            title: None,
            url: None,
            state,
            checks,
            mergeable,
        };
        let open = Some(RequestState::Open);
        let merged = request(1, Some(RequestState::Merged), Some(Checks::Failed), None);
        let unseen = request(2, None, None, None);
        let ready = request(3, open, Some(Checks::Passed), Some(Mergeable::Ready));
        let conflict = request(4, open, Some(Checks::Pending), Some(Mergeable::Conflict));
        let failing = request(5, open, Some(Checks::Failed), Some(Mergeable::Conflict));
        let mut all = Vec::new();
        assert_eq!(Requests::of(&all), None);
        for (next, words) in [
            (merged, "!1 merged"),
            (unseen, "2 requests, !2 not looked at yet"),
            (ready, "3 requests, !3 ready to merge"),
            (conflict, "4 requests, !4 conflicts"),
            (failing, "5 requests, !5 checks failed"),
        ] {
            all.push(next);
            assert_eq!(Requests::of(&all).unwrap().words(Locale::en), words);
        }
    }
}
