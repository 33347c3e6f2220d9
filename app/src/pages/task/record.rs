//! Questions and permissions as the transcript keeps them: what was asked, of whom, and how it ended.

use super::fields::field;
use super::room::Room;
use crate::api::questions::clarification_get;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::moment::LocalTime;
use crate::components::question_card::ExpiredQuestion;
use crate::i18n::{Locale, t};
use crate::paths;
use domain::ids::{ClarificationId, TaskId};
use domain::permission::PermissionOption;
use domain::question::Question;
use domain::time::Timestamp;
use domain::view::MessageView;
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn meta<T: DeserializeOwned>(message: &MessageView, key: &str) -> Option<T> {
    T::deserialize(message.metadata.get(key)?).ok()
}

/// How a question ended, or that it has not.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ending {
    Pending,
    /// With the words of the answer, when there are any beside a choice.
    Answered(Option<String>),
    Skipped(Option<String>),
    Expired,
    Withdrawn,
    Superseded,
    Stale,
}

impl Ending {
    fn of(message: &MessageView) -> Self {
        let response = message.metadata.get("response");
        let words = |key| response.and_then(|response| field::<String>(response, key));
        match meta::<String>(message, "status").as_deref() {
            Some("answered") => Self::Answered(
                words("custom_text").or_else(|| response?.as_str().map(str::to_owned)),
            ),
            Some("rejected") => Self::Skipped(words("reject_reason")),
            Some("expired") => Self::Expired,
            Some("cancelled") => Self::Withdrawn,
            Some("superseded") => Self::Superseded,
            Some("stale") => Self::Stale,
            _ => Self::Pending,
        }
    }

    /// As the message that put a child's question to this task has it.
    fn of_child(message: &MessageView) -> Self {
        match meta::<String>(message, "parent_question_status").as_deref() {
            Some("answered") => Self::Answered(meta(message, "parent_question_response")),
            Some("superseded") => Self::Superseded,
            Some("stale") => Self::Stale,
            _ => Self::Pending,
        }
    }
}

/// Who was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Operator,
    Parent(Option<TaskId>),
}

/// A question in the transcript of the task that asked it.
pub(super) fn question_record(room: Room, message: &MessageView) -> AnyView {
    let locale = room.locale;
    let asked = if meta(message, "parent_question") == Some(true) {
        Asked::Parent(meta(message, "parent_task_id"))
    } else {
        Asked::Operator
    };
    let questions: Vec<Question> = meta(message, "questions")
        .or_else(|| meta(message, "question").map(|question| vec![question]))
        .unwrap_or_default();
    let chosen = message
        .metadata
        .get("response")
        .and_then(|response| response.pointer("/selected_option/id"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    let ending = Ending::of(message);
    let said_later = meta(message, "said_later") == Some(true);
    let bundle: Option<ClarificationId> =
        meta(message, "pending_id").filter(|_| asked == Asked::Operator);
    let is_over = matches!(ending, Ending::Expired | Ending::Withdrawn);
    let expired = bundle.filter(|_| is_over && !said_later).map(|bundle| {
        let answer = Callback::new(move |()| answer_late(room, bundle));
        view! { <ExpiredQuestion on_answer_anyway=answer/> }
    });
    let said_later = (is_over && said_later)
        .then(|| view! { <p class="text-12 text-muted">{t!(locale, question.said_later)}</p> });
    let test_id = match asked {
        Asked::Operator => "clarification-record",
        Asked::Parent(_) => "parent-question-record",
    };
    let body = if questions.is_empty() {
        view! { <p class="whitespace-pre-line">{message.content.clone()}</p> }.into_any()
    } else {
        questions_view(locale, questions, chosen.as_deref())
    };
    view! {
        <section class="record" data-testid=test_id>
            <header class="flex items-center gap-1.5 text-12 text-muted">
                <Icon glyph=Glyph::CircleQuestionMark class="w-3.5 h-3.5 shrink-0"/>
                {asked_heading(room, asked)}
                <span class="ml-auto shrink-0"><LocalTime at=message.created_at/></span>
            </header>
            {body}
            {ending_view(locale, asked, ending)}
            {expired}
            {said_later}
        </section>
    }
    .into_any()
}

fn asked_heading(room: Room, asked: Asked) -> AnyView {
    let locale = room.locale;
    match asked {
        Asked::Operator => view! { <span>{t!(locale, taskpage.asked_you)}</span> }.into_any(),
        Asked::Parent(parent) => {
            let ancestors = room.view.with_untracked(|view| view.ancestors.clone());
            let known = ancestors.into_iter().find(|task| Some(task.id) == parent);
            match (parent, known) {
                (Some(id), Some(task)) => view! {
                    <a class="link min-w-0 truncate" href=paths::task(id)>
                        {t!(locale, taskpage.asked_parent, title = task.title)}
                    </a>
                }
                .into_any(),
                (_, _) => view! { <span>{t!(locale, taskpage.asked_a_parent)}</span> }.into_any(),
            }
        }
    }
}

fn ending_view(locale: Locale, asked: Asked, ending: Ending) -> AnyView {
    let (word, quote) = match (ending, asked) {
        (Ending::Pending, Asked::Operator) => (t!(locale, taskpage.waits_for_you), None),
        (Ending::Pending, Asked::Parent(_)) => (t!(locale, taskpage.waits_for_parent), None),
        (Ending::Answered(words), _) => (t!(locale, taskpage.answered), words),
        (Ending::Skipped(reason), _) => (t!(locale, taskpage.skipped), reason),
        // Said by the notice that comes with the way out.
        (Ending::Expired, _) => return ().into_any(),
        (Ending::Withdrawn, _) => (t!(locale, taskpage.withdrawn), None),
        (Ending::Superseded, _) => (t!(locale, taskpage.superseded), None),
        (Ending::Stale, _) => (t!(locale, taskpage.stale), None),
    };
    view! {
        <p class="text-12 text-muted">{word}</p>
        {quote.map(|words| view! { <p class="whitespace-pre-line">{words}</p> })}
    }
    .into_any()
}

fn questions_view(locale: Locale, questions: Vec<Question>, chosen: Option<&str>) -> AnyView {
    questions
        .into_iter()
        .map(|question| {
            let options = question
                .options
                .into_iter()
                .map(|option| {
                    let is_chosen = Some(option.id.as_str()) == chosen;
                    let glyph = if is_chosen { Glyph::CircleCheck } else { Glyph::CircleDashed };
                    let row_class = if is_chosen { "record-option font-medium" } else { "record-option" };
                    let description = (!option.description.is_empty())
                        .then(|| view! { <span class="text-muted font-normal">{option.description}</span> });
                    view! {
                        <li class=row_class>
                            <Icon glyph class="w-3.5 h-3.5 mt-1 shrink-0 text-muted"/>
                            <span class="min-w-0">
                                {option.label} " " {description}
                                {is_chosen.then(|| view! { <span class="sr-only">{t!(locale, taskpage.chosen)}</span> })}
                            </span>
                        </li>
                    }
                })
                .collect_view();
            view! {
                <div>
                    <p class="font-medium whitespace-pre-line">{question.prompt}</p>
                    <ul>{options}</ul>
                </div>
            }
        })
        .collect_view()
        .into_any()
}

/// A question of a subtask in the transcript of its parent.
pub(super) fn child_question(locale: Locale, message: &MessageView) -> AnyView {
    let questions: Vec<Question> = meta(message, "questions").unwrap_or_default();
    let body = if questions.is_empty() {
        view! { <p class="whitespace-pre-line">{message.content.clone()}</p> }.into_any()
    } else {
        questions_view(locale, questions, None)
    };
    let (child, title) = sender(message).unzip();
    let title = title.unwrap_or_default();
    view! {
        <section class="record" data-testid="child-question">
            <header class="flex items-center gap-1.5 text-12 text-muted">
                <a
                    class="link inline-flex items-center gap-1 min-w-0"
                    href=child.map(paths::task)
                    data-testid="chat-peer-badge"
                >
                    <Icon glyph=Glyph::Bot class="w-3.5 h-3.5 shrink-0"/>
                    <span class="truncate">{t!(locale, chat.from_task, title = title)}</span>
                </a>
                <span class="shrink-0">{t!(locale, taskpage.a_question)}</span>
                <span class="ml-auto shrink-0"><LocalTime at=message.created_at/></span>
            </header>
            {body}
            {child_ending(locale, Ending::of_child(message))}
        </section>
    }
    .into_any()
}

/// How a subtask's question ended, as its parent sees it. One that is open needs no line: it is the parent's own to answer.
fn child_ending(locale: Locale, ending: Ending) -> Option<AnyView> {
    let (glyph, text, words) = match ending {
        Ending::Answered(words) => (Glyph::Check, t!(locale, taskpage.answered), words),
        Ending::Superseded => (Glyph::X, t!(locale, taskpage.superseded), None),
        Ending::Stale => (Glyph::X, t!(locale, taskpage.stale), None),
        Ending::Pending | Ending::Skipped(_) | Ending::Expired | Ending::Withdrawn => return None,
    };
    Some(
        view! {
            <p class="flex items-start gap-1.5 text-13" data-testid="child-question-ending">
                <Icon glyph class="w-3.5 h-3.5 mt-0.5 shrink-0 text-muted"/>
                <span class="min-w-0 whitespace-pre-line">
                    <span class="text-muted">{text}</span>
                    {words.map(|words| view! { " " {words} })}
                </span>
            </p>
        }
        .into_any(),
    )
}

/// The task whose agent sent a message, and its title at the time.
pub(super) fn sender(message: &MessageView) -> Option<(TaskId, String)> {
    Some((
        meta(message, "sender_task_id")?,
        meta(message, "sender_task_title").unwrap_or_default(),
    ))
}

/// Whether a message puts a subtask's question to this task.
pub(super) fn is_child_question(message: &MessageView) -> bool {
    meta(message, "parent_question") == Some(true)
}

/// A permission request: what the agent wanted, and what was chosen.
pub(super) fn permission_record(locale: Locale, message: &MessageView) -> AnyView {
    let options: Vec<PermissionOption> = meta(message, "options").unwrap_or_default();
    let option_id: Option<String> = meta(message, "option_id");
    let outcome = match meta::<String>(message, "status").as_deref() {
        Some("selected") => options
            .into_iter()
            .find(|option| Some(&option.option_id) == option_id.as_ref())
            .map_or_else(
                || t!(locale, taskpage.answered).to_owned(),
                |option| option.name,
            ),
        Some("cancelled") => t!(locale, taskpage.withdrawn).to_owned(),
        _ => t!(locale, taskpage.waits_for_permission).to_owned(),
    };
    permission_line(message.content.clone(), outcome, message.created_at)
}

fn permission_line(title: String, outcome: String, at: Timestamp) -> AnyView {
    view! {
        <p class="status-line text-muted" data-testid="permission-record">
            <Icon glyph=Glyph::ShieldAlert class="w-3.5 h-3.5 shrink-0"/>
            <span class="min-w-0 truncate">{title}</span>
            <span class="shrink-0" aria-hidden="true">"·"</span>
            <span class="shrink-0 text-text">{outcome}</span>
            <span class="ml-auto shrink-0"><LocalTime at/></span>
        </p>
    }
    .into_any()
}

/// Puts the bundle above the composer, to be answered by a message.
fn answer_late(room: Room, bundle: ClarificationId) {
    spawn_local(async move {
        match clarification_get(bundle).await {
            Ok(bundle) => {
                let _ = room.late_answer.try_set(Some(bundle));
            }
            Err(error) => room.failed(&error),
        }
    });
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use domain::ids::{MessageId, SessionId};
    use domain::message::{AuthorType, MessageType};
    use serde_json::json;

    pub(in super::super) fn message(
        message_type: MessageType,
        content: &str,
        metadata: Value,
    ) -> MessageView {
        let Value::Object(metadata) = metadata else {
            panic!("metadata is an object")
        };
        MessageView {
            id: MessageId::new(),
            session_id: SessionId::new(),
            task_id: TaskId::new(),
            turn_id: None,
            seq: 1,
            author_type: AuthorType::Agent,
            author_id: None,
            content: content.to_owned(),
            has_hidden_context: false,
            message_type,
            metadata,
            requests_input: false,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn the_ending_of_a_question_is_read_from_both_kinds_of_record() {
        let ending =
            |metadata| Ending::of(&message(MessageType::ClarificationRequest, "?", metadata));
        assert_eq!(ending(json!({"status": "pending"})), Ending::Pending);
        assert_eq!(ending(json!({})), Ending::Pending);
        let parent = json!({"status": "answered", "response": "SQLite."});
        assert_eq!(ending(parent), Ending::Answered(Some("SQLite.".to_owned())));
        let choice = json!({"status": "answered", "response": {"selected_option": {"id": "a", "label": "A"}}});
        assert_eq!(ending(choice), Ending::Answered(None));
        let both = json!({"status": "answered", "response": {"custom_text": "but small"}});
        assert_eq!(ending(both), Ending::Answered(Some("but small".to_owned())));
        assert_eq!(
            ending(json!({"status": "rejected", "response": {"rejected": true}})),
            Ending::Skipped(None)
        );
        assert_eq!(ending(json!({"status": "superseded"})), Ending::Superseded);
    }

    #[test]
    fn the_parents_record_of_a_childs_question_says_how_it_ended() {
        let ending = |metadata| Ending::of_child(&message(MessageType::Message, "?", metadata));
        assert_eq!(ending(json!({"parent_question": true})), Ending::Pending);
        assert_eq!(
            ending(
                json!({"parent_question_status": "answered", "parent_question_response": "SQLite."})
            ),
            Ending::Answered(Some("SQLite.".to_owned()))
        );
        assert_eq!(
            ending(json!({"parent_question_status": "superseded"})),
            Ending::Superseded
        );
    }
}
