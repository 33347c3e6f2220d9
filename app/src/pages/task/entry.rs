//! One message of the transcript, shown as what it is.

use super::fields::field;
use super::record::{
    child_question, is_child_question, permission_record, question_record, sender,
};
use super::room::Room;
use super::tool;
use crate::api::sessions::ShownMessage;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::message::{Message, Speaker, StatusLine, Thinking};
use crate::components::tool_call::ToolCall;
use crate::i18n::{Locale, t};
use domain::ids::SessionId;
use domain::message::{AuthorType, MessageType};
use domain::view::MessageView;
use leptos::prelude::*;
use serde_json::Value;

/// Shows a message. What kind it is stays; what it says may grow.
pub(super) fn show(room: Room, session: SessionId, entry: ArcRwSignal<ShownMessage>) -> AnyView {
    let locale = room.locale;
    let first = entry.get_untracked().message;
    match first.message_type {
        MessageType::Message | MessageType::Content => {
            if first.author_type == AuthorType::User && is_child_question(&first) {
                // How it ended is told later.
                return view! { {move || entry.with(|shown| child_question(locale, &shown.message))} }
                    .into_any();
            }
            let speaker = speaker(room, session, &first);
            view! { <Message speaker at=first.created_at html=html(entry)/> }.into_any()
        }
        MessageType::Thinking => view! { <Thinking html=html(entry)/> }.into_any(),
        MessageType::ToolCall
        | MessageType::ToolEdit
        | MessageType::ToolRead
        | MessageType::ToolExecute
        | MessageType::ScriptExecution => {
            let call = Memo::new(move |_| entry.with(|shown| tool::line(&shown.message)));
            view! { <ToolCall call/> }.into_any()
        }
        MessageType::AgentPlan | MessageType::Todo => plan(locale, entry),
        MessageType::Error => view! { <StatusLine text=text(entry) failed=true/> }.into_any(),
        MessageType::Status | MessageType::Progress => {
            view! { <StatusLine text=text(entry)/> }.into_any()
        }
        MessageType::Log => {
            let text = Memo::new(move |_| entry.with(|shown| log_text(&shown.message)));
            view! {
                {move || {
                    room.show_logs
                        .get()
                        .then(|| view! { <pre class="log-line" data-testid="chat-log">{text}</pre> })
                }}
            }
            .into_any()
        }
        MessageType::ClarificationRequest => {
            view! { {move || entry.with(|shown| question_record(room, &shown.message))} }.into_any()
        }
        MessageType::PermissionRequest => {
            view! { {move || entry.with(|shown| permission_record(locale, &shown.message))} }
                .into_any()
        }
    }
}

fn html(entry: ArcRwSignal<ShownMessage>) -> Signal<String> {
    Signal::derive(move || entry.with(|shown| shown.html.clone().unwrap_or_default()))
}

fn text(entry: ArcRwSignal<ShownMessage>) -> impl Fn() -> String + Send + Sync + 'static {
    move || entry.with(|shown| shown.message.content.clone())
}

fn speaker(room: Room, session: SessionId, message: &MessageView) -> Speaker {
    match message.author_type {
        AuthorType::Agent => Speaker::Agent(room.view.with_untracked(|view| {
            let session = view.sessions.iter().find(|s| s.id == session);
            session.map(|s| s.agent_name.clone()).unwrap_or_default()
        })),
        AuthorType::User => match sender(message) {
            Some((task_id, title)) => Speaker::Peer { task_id, title },
            None => match queued_by(message) {
                Some("workflow") => Speaker::Workflow,
                Some("server") => Speaker::Flightdeck,
                Some(_) | None => Speaker::Operator,
            },
        },
    }
}

/// Who queued a prompt that nobody said.
fn queued_by(message: &MessageView) -> Option<&str> {
    message.metadata.get("queued_by").and_then(Value::as_str)
}

/// Remarks without words are named by their kind.
fn log_text(message: &MessageView) -> String {
    if message.content.is_empty() {
        let kind = message.metadata.get("update").and_then(Value::as_str);
        kind.unwrap_or_default().to_owned()
    } else {
        message.content.clone()
    }
}

/// How far a line of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Open,
    Begun,
    Done,
}

/// The lines of a plan. A list without states is one of open lines.
fn plan_lines(message: &MessageView) -> Vec<(Progress, String)> {
    let entries = message.metadata.get("entries").and_then(Value::as_array);
    match entries {
        Some(entries) => entries
            .iter()
            .filter_map(|entry| {
                let progress = match entry.get("status").and_then(Value::as_str) {
                    Some("completed") => Progress::Done,
                    Some("in_progress") => Progress::Begun,
                    _ => Progress::Open,
                };
                Some((progress, field(entry, "content")?))
            })
            .collect(),
        None => message
            .content
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| (Progress::Open, line.to_owned()))
            .collect(),
    }
}

fn plan(locale: Locale, entry: ArcRwSignal<ShownMessage>) -> AnyView {
    let lines = Memo::new(move |_| entry.with(|shown| plan_lines(&shown.message)));
    let heading = move || {
        let (done, all) = lines.with(|lines| {
            let done = lines.iter().filter(|(p, _)| *p == Progress::Done).count();
            (done, lines.len())
        });
        t!(locale, taskpage.plan, done = done, all = all)
    };
    let rows = move || {
        lines
            .get()
            .into_iter()
            .map(|(progress, line)| {
                let (glyph, icon_class, word) = match progress {
                    Progress::Open => (
                        Glyph::CircleDashed,
                        "w-3.5 h-3.5 mt-0.5 shrink-0 text-muted",
                        t!(locale, taskpage.plan_open),
                    ),
                    Progress::Begun => (
                        Glyph::Play,
                        "w-3.5 h-3.5 mt-0.5 shrink-0 text-running",
                        t!(locale, taskpage.plan_begun),
                    ),
                    Progress::Done => (
                        Glyph::Check,
                        "w-3.5 h-3.5 mt-0.5 shrink-0 text-done",
                        t!(locale, taskpage.plan_done),
                    ),
                };
                view! {
                    <li class="flex items-start gap-2 text-13">
                        <Icon glyph class=icon_class/>
                        <span class="sr-only">{word}</span>
                        <span class="min-w-0">{line}</span>
                    </li>
                }
            })
            .collect_view()
    };
    view! {
        <details class="tool" open data-testid="chat-plan">
            <summary class="tool-line text-muted">
                <Icon glyph=Glyph::ListOrdered class="w-3.5 h-3.5 shrink-0"/>
                <span class="text-13">{heading}</span>
            </summary>
            <ul class="flex flex-col gap-1 py-1 pl-2">{rows}</ul>
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::message;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plan_is_read_with_and_without_states() {
        let with = message(
            MessageType::AgentPlan,
            "",
            json!({"entries": [
                {"content": "a", "status": "completed"},
                {"content": "b", "status": "in_progress"},
                {"content": "c", "status": "someday"},
                {"status": "completed"},
            ]}),
        );
        assert_eq!(
            plan_lines(&with),
            [
                (Progress::Done, "a".to_owned()),
                (Progress::Begun, "b".to_owned()),
                (Progress::Open, "c".to_owned()),
            ]
        );
        let without = message(MessageType::Todo, "x\n\n y", json!({}));
        assert_eq!(plan_lines(&without).len(), 2);
    }
}
