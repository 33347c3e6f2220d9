//! What stands beside the conversation: the plan, a walkthrough, review findings, repositories, the relatives. One of them is shown at a time, in the panel or, on a narrow
//! screen, in a sheet.

use super::findings::FindingsPanel;
use super::plan::{Editor, PlanPanel};
use super::related::Related;
use super::repositories::RepositoriesPanel;
use super::room::Room;
use super::walkthrough::WalkthroughPanel;
use crate::api::papers::{Papers, ShownFinding};
use crate::components::segments::{Segment, Segments};
use crate::i18n::{Locale, t};
use crate::prefs::Preferences;
use crate::viewport::Viewport;
use domain::review::FindingStatus;
use leptos::prelude::*;

/// One thing that stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paper {
    Plan,
    Walkthrough,
    Review,
    Repositories,
    Related,
}

/// Which one is shown, and whether the sheet is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    paper: RwSignal<Paper>,
    pub(super) sheet: RwSignal<bool>,
}

impl Side {
    /// Begins with the plan, when there is one.
    pub(super) fn open(papers: &Papers) -> Self {
        let first = if papers.plan.is_some() {
            Paper::Plan
        } else {
            Paper::Related
        };
        Self {
            paper: RwSignal::new(first),
            sheet: RwSignal::new(false),
        }
    }

    pub(super) fn heading(self, locale: Locale) -> &'static str {
        name(locale, self.paper.get())
    }

    /// Shows a paper.
    pub(super) fn show(self, paper: Paper, viewport: Viewport, prefs: Preferences) {
        self.paper.set(paper);
        if viewport.is_narrow_now() {
            self.sheet.set(true);
        } else {
            prefs.set_panel_open(true);
        }
    }

    /// Shows a paper, or hides the panel when it is the one that is shown.
    pub(super) fn toggle(self, paper: Paper, viewport: Viewport, prefs: Preferences) {
        let is_shown = prefs.panel_open.get_untracked() && self.paper.get_untracked() == paper;
        if is_shown && !viewport.is_narrow_now() {
            prefs.set_panel_open(false);
        } else {
            self.show(paper, viewport, prefs);
        }
    }
}

fn name(locale: Locale, paper: Paper) -> &'static str {
    match paper {
        Paper::Plan => t!(locale, plan.plan),
        Paper::Walkthrough => t!(locale, paper.walkthrough),
        Paper::Review => t!(locale, paper.review),
        Paper::Repositories => t!(locale, repository.heading),
        Paper::Related => t!(locale, taskpage.related),
    }
}

/// The choice, and what was chosen.
#[component]
pub(super) fn SideContent(side: Side, room: Room, editor: Editor) -> impl IntoView {
    let locale = room.locale;
    let open_findings = Memo::new(move |_| {
        editor.papers.with(|papers| {
            let is_open = |shown: &&ShownFinding| shown.finding.status == FindingStatus::Open;
            papers.findings.iter().filter(is_open).count()
        })
    });
    // What there is none of has no entry, unless it is being looked at.
    let has_walkthrough = Memo::new(move |_| {
        side.paper.get() == Paper::Walkthrough
            || editor.papers.with(|papers| papers.walkthrough.is_some())
    });
    let has_findings = Memo::new(move |_| {
        side.paper.get() == Paper::Review
            || editor.papers.with(|papers| !papers.findings.is_empty())
    });
    let segment = move |paper: Paper, test_id: &'static str| {
        let count = move || {
            let open = open_findings.get();
            (paper == Paper::Review && open > 0)
                .then(|| view! { <span class="tabular-nums">" " {open}</span> })
        };
        view! {
            <Segment
                chosen=Signal::derive(move || side.paper.get() == paper)
                on_press=Callback::new(move |()| side.paper.set(paper))
                test_id
            >
                {name(locale, paper)}
                {count}
            </Segment>
        }
    };
    view! {
        <div class="side-content">
            <Segments label=t!(locale, taskpage.side_views)>
                {segment(Paper::Plan, "side-plan")}
                <Show when=move || has_walkthrough.get()>{segment(Paper::Walkthrough, "side-walkthrough")}</Show>
                <Show when=move || has_findings.get()>{segment(Paper::Review, "side-review")}</Show>
                {segment(Paper::Repositories, "side-repositories")}
                {segment(Paper::Related, "side-related")}
            </Segments>
            {move || match side.paper.get() {
                Paper::Plan => view! { <PlanPanel editor/> }.into_any(),
                Paper::Walkthrough => view! { <WalkthroughPanel editor/> }.into_any(),
                Paper::Review => view! { <FindingsPanel editor/> }.into_any(),
                Paper::Repositories => view! { <RepositoriesPanel room/> }.into_any(),
                Paper::Related => view! { <Related room/> }.into_any(),
            }}
        </div>
    }
    .into_any()
}
