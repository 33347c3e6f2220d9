//! What is said in a transcript: who, when, and the words.

use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::LocalTime;
use crate::i18n::{t, use_locale};
use crate::paths;
use domain::ids::TaskId;
use domain::time::Timestamp;
use leptos::prelude::*;

/// Who speaks.
#[derive(Debug, Clone, PartialEq)]
pub enum Speaker {
    /// The operator.
    Operator,
    /// The agent of this session, by name.
    Agent(String),
    /// The agent of another task.
    Peer {
        /// That task.
        task_id: TaskId,
        /// Its title at the time.
        title: String,
    },
    /// The workflow.
    Workflow,
    /// Flightdeck itself.
    Flightdeck,
}

/// One message: a line that says who and when, and the words under it.
#[component]
pub fn Message(
    /// Who speaks. Whoever it is stays.
    speaker: Speaker,
    /// When.
    at: Timestamp,
    /// The words as HTML that the server has made and sanitised.
    #[prop(into)]
    html: Signal<String>,
) -> impl IntoView {
    let by_operator = speaker == Speaker::Operator;
    let article_class = if by_operator {
        "message message-operator"
    } else {
        "message"
    };
    view! {
        <article class=article_class data-testid="chat-message">
            <header class="flex items-baseline gap-2 text-12 text-muted">
                {speaker_view(speaker)} <span class="ml-auto shrink-0"><LocalTime at/></span>
            </header>
            <div class="prose" inner_html=move || html.get()></div>
        </article>
    }
    .into_any()
}

fn speaker_view(speaker: Speaker) -> AnyView {
    let locale = use_locale();
    match speaker {
        Speaker::Operator => {
            view! { <strong class="font-semibold text-text">{t!(locale, chat.you)}</strong> }.into_any()
        }
        Speaker::Agent(name) => {
            view! { <strong class="font-semibold text-text truncate">{name}</strong> }.into_any()
        }
        Speaker::Peer { task_id, title } => {
            view! {
                <a class="link inline-flex items-center gap-1 min-w-0" href=paths::task(task_id) data-testid="chat-peer-badge">
                    <Icon glyph=Glyph::Bot class="w-3.5 h-3.5 shrink-0"/>
                    <span class="truncate">{t!(locale, chat.from_task, title = title)}</span>
                </a>
            }
            .into_any()
        }
        Speaker::Workflow => view! { <span>{t!(locale, chat.workflow)}</span> }.into_any(),
        Speaker::Flightdeck => view! { <span>{t!(locale, taskpage.by_flightdeck)}</span> }.into_any(),
    }
}

/// A line that is not part of the conversation: a change of state, an error of the agent.
#[component]
pub fn StatusLine(
    /// What happened.
    #[prop(into)]
    text: TextProp,
    /// It went wrong.
    #[prop(optional)]
    failed: bool,
) -> impl IntoView {
    let (glyph, line_class) = if failed {
        (Glyph::CircleAlert, "status-line text-failed")
    } else {
        (Glyph::Info, "status-line text-muted")
    };
    view! {
        <p class=line_class>
            <Icon glyph class="w-3.5 h-3.5 shrink-0"/>
            <span>{move || text.get()}</span>
        </p>
    }
    .into_any()
}

/// The agent's reasoning, folded.
#[component]
pub fn Thinking(
    /// The words as HTML that the server has made and sanitised.
    #[prop(into)]
    html: Signal<String>,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <details class="tool">
            <summary class="tool-line text-muted">
                <Icon glyph=Glyph::Brain class="w-3.5 h-3.5 shrink-0"/>
                <span class="text-13">{t!(locale, chat.thinking)}</span>
            </summary>
            <div class="prose text-13 text-muted py-1" inner_html=move || html.get()></div>
        </details>
    }
    .into_any()
}
