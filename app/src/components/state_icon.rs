//! The state of a task as an icon: shape, colour and word together, never colour alone.

use super::glyph::Glyph;
use super::icon::Icon;
use super::task_mark::TaskMark;
use crate::i18n::{Locale, t, use_locale};
use leptos::prelude::*;

/// The icon of a task. Its name is the word for the state.
#[component]
pub fn StateIcon(
    /// See [`TaskMark`].
    #[prop(into)]
    mark: Signal<TaskMark>,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <span
            role="img"
            class=move || mark_class(mark.get())
            data-testid=move || test_id(mark.get())
            data-loading-phase=move || phase(mark.get())
            aria-label=move || word(locale, mark.get())
        >
            {move || {
                let mark = mark.get();
                let icon_class = if moves(mark) { "w-4 h-4 spin" } else { "w-4 h-4" };
                view! { <Icon glyph=mark.glyph() class=icon_class/> }
            }}
        </span>
    }
    .into_any()
}

/// The word for a state: the name of the icon, and what a tooltip or a status line says.
#[must_use]
pub fn word(locale: Locale, mark: TaskMark) -> &'static str {
    match mark {
        TaskMark::Permission => t!(locale, task.mark_permission),
        TaskMark::Question => t!(locale, task.mark_question),
        TaskMark::ParentQuestion => t!(locale, task.mark_parent_question),
        TaskMark::Running => t!(locale, task.mark_running),
        TaskMark::WaitingForInput => t!(locale, task.mark_waiting),
        TaskMark::Preparing => t!(locale, task.mark_preparing),
        TaskMark::Interrupted => t!(locale, task.mark_interrupted),
        TaskMark::Failed => t!(locale, task.mark_failed),
        TaskMark::Blocked => t!(locale, task.mark_blocked),
        TaskMark::Cancelled => t!(locale, task.mark_cancelled),
        TaskMark::WorkflowComplete => t!(locale, task.mark_complete),
        TaskMark::TurnFinished => t!(locale, task.mark_turn_finished),
        TaskMark::Backlog => t!(locale, task.mark_backlog),
    }
}

impl TaskMark {
    /// The shape of the state.
    #[must_use]
    pub const fn glyph(self) -> Glyph {
        match self {
            Self::Permission => Glyph::ShieldAlert,
            Self::Question | Self::ParentQuestion | Self::WaitingForInput => {
                Glyph::CircleQuestionMark
            }
            Self::Running | Self::Preparing => Glyph::LoaderCircle,
            Self::Interrupted => Glyph::OctagonPause,
            Self::Failed => Glyph::CircleX,
            Self::Blocked => Glyph::Link2,
            Self::Cancelled => Glyph::Ban,
            Self::WorkflowComplete => Glyph::CircleCheckBig,
            Self::TurnFinished => Glyph::CircleCheck,
            Self::Backlog => Glyph::CircleDashed,
        }
    }
}

/// Amber and red are for what needs the operator; a child that waits for its parent is calm.
const fn mark_class(mark: TaskMark) -> &'static str {
    match mark {
        TaskMark::Permission | TaskMark::Question | TaskMark::WaitingForInput => {
            "inline-flex shrink-0 text-waiting"
        }
        TaskMark::Running => "inline-flex shrink-0 text-running",
        TaskMark::Interrupted | TaskMark::Failed => "inline-flex shrink-0 text-failed",
        TaskMark::WorkflowComplete => "inline-flex shrink-0 text-done",
        TaskMark::TurnFinished => "inline-flex shrink-0 text-review",
        TaskMark::ParentQuestion
        | TaskMark::Preparing
        | TaskMark::Blocked
        | TaskMark::Cancelled
        | TaskMark::Backlog => "inline-flex shrink-0 text-muted",
    }
}

const fn test_id(mark: TaskMark) -> &'static str {
    match mark {
        TaskMark::Permission => "task-state-pending-permission",
        TaskMark::Question | TaskMark::ParentQuestion | TaskMark::WaitingForInput => {
            "task-state-waiting-for-input"
        }
        TaskMark::Running | TaskMark::Preparing => "task-state-running",
        TaskMark::Interrupted => "task-state-interrupted",
        TaskMark::Failed => "task-state-failed",
        TaskMark::Blocked => "task-state-blocked",
        TaskMark::Cancelled => "task-state-cancelled",
        TaskMark::WorkflowComplete => "task-state-workflow-complete",
        TaskMark::TurnFinished => "task-state-turn-finished",
        TaskMark::Backlog => "task-state-backlog",
    }
}

const fn phase(mark: TaskMark) -> Option<&'static str> {
    match mark {
        TaskMark::Running => Some("running"),
        TaskMark::Preparing => Some("preparing"),
        TaskMark::Permission
        | TaskMark::Question
        | TaskMark::ParentQuestion
        | TaskMark::WaitingForInput
        | TaskMark::Interrupted
        | TaskMark::Failed
        | TaskMark::Blocked
        | TaskMark::Cancelled
        | TaskMark::WorkflowComplete
        | TaskMark::TurnFinished
        | TaskMark::Backlog => None,
    }
}

const fn moves(mark: TaskMark) -> bool {
    phase(mark).is_some()
}
