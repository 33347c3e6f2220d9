//! Where a run stands, as an icon with its word, and in a phrase what goes on at present.

use super::glyph::Glyph;
use super::icon::Icon;
use crate::i18n::{Locale, t, use_locale};
use domain::message::MessageType;
use domain::run::RunStatus;
use domain::run::standing::Phase;
use leptos::prelude::*;

/// The status: shape, colour and word.
#[component]
pub fn RunStatusMark(
    /// Where it stands.
    status: RunStatus,
) -> impl IntoView {
    let locale = use_locale();
    let (glyph, icon_class) = match status {
        RunStatus::Queued => (Glyph::CircleDashed, "w-4 h-4 shrink-0 text-muted"),
        RunStatus::Running => (Glyph::LoaderCircle, "w-4 h-4 shrink-0 text-running spin"),
        RunStatus::Completed | RunStatus::CompletedNoSummary => {
            (Glyph::CircleCheck, "w-4 h-4 shrink-0 text-done")
        }
        RunStatus::Error => (Glyph::CircleX, "w-4 h-4 shrink-0 text-failed"),
        RunStatus::Blocked => (Glyph::OctagonPause, "w-4 h-4 shrink-0 text-muted"),
        RunStatus::NeedsHuman => (Glyph::CircleQuestionMark, "w-4 h-4 shrink-0 text-waiting"),
        RunStatus::Cancelled => (Glyph::Ban, "w-4 h-4 shrink-0 text-muted"),
    };
    view! {
        <span class="inline-flex items-center gap-1.5" data-testid="run-status" data-status=status.as_str()>
            <Icon glyph class=icon_class/>
            <span class="text-12 font-medium">{word(locale, status)}</span>
        </span>
    }
}

/// The word for a status.
#[must_use]
pub fn word(locale: Locale, status: RunStatus) -> &'static str {
    match status {
        RunStatus::Queued => t!(locale, run.queued),
        RunStatus::Running => t!(locale, run.running),
        RunStatus::Completed => t!(locale, run.completed),
        RunStatus::CompletedNoSummary => t!(locale, run.no_text),
        RunStatus::Error => t!(locale, run.failed),
        RunStatus::Blocked => t!(locale, run.blocked),
        RunStatus::NeedsHuman => t!(locale, run.needs_human),
        RunStatus::Cancelled => t!(locale, run.canceled),
    }
}

/// What goes on with a run; `None` when it is over.
#[must_use]
pub fn phase(locale: Locale, phase: Phase) -> Option<&'static str> {
    Some(match phase {
        Phase::Queued => t!(locale, run.phase_queued),
        Phase::WaitingForPlace => t!(locale, run.phase_place),
        Phase::Starting => t!(locale, run.phase_starting),
        Phase::Thinking => t!(locale, run.phase_thinking),
        Phase::Tool(MessageType::ToolRead) => t!(locale, run.phase_read),
        Phase::Tool(MessageType::ToolEdit) => t!(locale, run.phase_edit),
        Phase::Tool(MessageType::ToolExecute) => t!(locale, run.phase_execute),
        Phase::Tool(_) => t!(locale, run.phase_tool),
        Phase::Recovering => t!(locale, run.phase_recovering),
        Phase::WaitingHuman => t!(locale, run.phase_human),
        Phase::WaitingPermission => t!(locale, run.phase_permission),
        Phase::WaitingParent => t!(locale, run.phase_parent),
        Phase::WaitingDependency => t!(locale, run.phase_dependency),
        Phase::Held => t!(locale, run.phase_held),
        Phase::Done => return None,
    })
}

#[test]
fn only_what_is_over_has_no_phase() {
    for standing in Phase::ALL {
        let has_one = phase(Locale::en, standing).is_some();
        assert_eq!(has_one, standing != Phase::Done, "{}", standing.as_str());
    }
}
