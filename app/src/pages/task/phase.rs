//! What an agent is doing at present, in a word: judged by the state of its session and what it said last.

use super::tool;
use crate::api::sessions::ShownMessage;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::Elapsed;
use crate::components::tool_call::ToolStatus;
use crate::i18n::{Locale, t};
use domain::message::{AuthorType, MessageType};
use domain::session::SessionState;
use domain::task::PendingAction;
use domain::view::SessionView;
use leptos::prelude::*;

/// What a session said last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum LastSaid {
    /// Nothing that says what goes on.
    #[default]
    Nothing,
    /// A piece of reasoning.
    Thought,
    /// A call of this tool, which still runs.
    Call(String),
    /// Words.
    Words,
}

impl LastSaid {
    /// What this message says about what goes on; `None` when the one before it says more.
    pub(super) fn of(shown: &ShownMessage) -> Option<Self> {
        let message = &shown.message;
        match message.message_type {
            MessageType::Log | MessageType::Status | MessageType::AgentPlan | MessageType::Todo => {
                None
            }
            MessageType::Thinking => Some(Self::Thought),
            MessageType::ToolCall
            | MessageType::ToolEdit
            | MessageType::ToolRead
            | MessageType::ToolExecute
            | MessageType::ScriptExecution => {
                let line = tool::line(message);
                Some(match line.status {
                    ToolStatus::Pending | ToolStatus::Running => Self::Call(line.name),
                    ToolStatus::Done | ToolStatus::Failed | ToolStatus::Stopped => Self::Nothing,
                })
            }
            MessageType::Message | MessageType::Content
                if message.author_type == AuthorType::Agent =>
            {
                Some(Self::Words)
            }
            MessageType::Message
            | MessageType::Content
            | MessageType::Progress
            | MessageType::Error
            | MessageType::PermissionRequest
            | MessageType::ClarificationRequest => Some(Self::Nothing),
        }
    }
}

/// The word for what goes on; `None` while nothing does.
fn words(locale: Locale, session: &SessionView, last: &LastSaid) -> Option<String> {
    if session.state == SessionState::Starting {
        return Some(t!(locale, taskpage.phase_starting).to_owned());
    }
    session.turn_started_at?;
    match session.pending_action {
        Some(PendingAction::Permission) => {
            return Some(t!(locale, taskpage.phase_permission).to_owned());
        }
        Some(PendingAction::Clarification) => {
            return Some(t!(locale, taskpage.phase_question).to_owned());
        }
        None => {}
    }
    Some(match last {
        LastSaid::Nothing => t!(locale, taskpage.phase_working).to_owned(),
        LastSaid::Thought => t!(locale, taskpage.phase_thinking).to_owned(),
        LastSaid::Call(name) => t!(locale, taskpage.phase_tool, name = name),
        LastSaid::Words => t!(locale, taskpage.phase_writing).to_owned(),
    })
}

/// While an agent works: what it does, and for how long.
#[component]
pub(super) fn Activity(
    session: Memo<Option<SessionView>>,
    last: RwSignal<LastSaid>,
    locale: Locale,
) -> impl IntoView {
    let phase = Memo::new(move |_| {
        session.with(|session| last.with(|last| words(locale, session.as_ref()?, last)))
    });
    let since = Memo::new(move |_| session.with(|s| s.as_ref().and_then(|s| s.turn_started_at)));
    let waits = Memo::new(move |_| {
        session.with(|s| s.as_ref().is_some_and(|s| s.pending_action.is_some()))
    });
    view! {
        <Show when=move || phase.with(Option::is_some)>
            <span class="inline-flex items-center gap-1.5 min-w-0 text-12 text-muted" data-testid="chat-activity">
                {move || {
                    let icon_class = if waits.get() {
                        "w-3.5 h-3.5 shrink-0"
                    } else {
                        "w-3.5 h-3.5 shrink-0 text-running spin"
                    };
                    let glyph = if waits.get() { Glyph::CircleQuestionMark } else { Glyph::LoaderCircle };
                    view! { <Icon glyph class=icon_class/> }
                }}
                <span class="truncate">{move || phase.get()}</span>
                {move || since.get().map(|since| view! { <Elapsed since/> })}
            </span>
        </Show>
    }
}
