//! What agents ask of the operator, as cards that answer: the same on a task's page, on that of a run, and in the inbox.
//!
//! The card is made once and then only told what changed, since answers are being written in it. Whoever was faster elsewhere is
//! told of by `on_settled`, since the card itself is gone by then.

use crate::api::questions::{Asked, clarification_respond, permission_respond};
use crate::components::permission_card::PermissionCard;
use crate::components::question_card::QuestionCard;
use crate::components::states::{ErrorState, explain};
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::pages::workbench::{Workbench, use_workbench};
use crate::paths;
use domain::clarification::{ClarificationAnswer, ClarificationStatus};
use domain::error::ErrorCode;
use domain::view::{ClarificationOutcome, ClarificationView, InboxAsk, InboxItem, PermissionView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use serde_json::Value;

/// One question or permission, under the name of the task that asks.
#[component]
pub fn Ask(
    /// What is asked.
    asked: Asked,
    /// The page is that task's own, or that of its run.
    #[prop(optional)]
    untitled: bool,
) -> impl IntoView {
    let workbench = use_workbench();
    let Asked { key, item } = asked;
    let item = match item.open::<InboxItem>() {
        Ok(item) => item,
        Err(error) => return view! { <ErrorState error/> }.into_any(),
    };
    let on_settled = settled(workbench, key.clone());
    let InboxItem {
        task_id,
        task_title,
        session_id,
        ask,
        ..
    } = item;
    let card = match ask {
        InboxAsk::Clarification { clarification } => {
            let now = Signal::derive(move || {
                let asked = workbench
                    .asks
                    .with(|asks| asks.iter().find(|asked| asked.key == key).cloned())?;
                match asked.item.open::<InboxItem>().ok()?.ask {
                    InboxAsk::Clarification { clarification } => Some(clarification),
                    InboxAsk::Permission { .. } => None,
                }
            });
            view! { <AnswerQuestions bundle=clarification now on_settled/> }.into_any()
        }
        InboxAsk::Permission { permission } => {
            view! { <AnswerPermission permission on_settled/> }.into_any()
        }
    };
    let heading = (!untitled).then(|| {
        view! {
            <h2 class="text-14 min-w-0 truncate">
                <a class="link" href=paths::session(task_id, session_id)>{task_title}</a>
            </h2>
        }
    });
    view! {
        <article class="flex flex-col gap-1.5" data-testid="inbox-item" data-task=task_id.to_string()>
            {heading}
            {card}
        </article>
    }
    .into_any()
}

/// The ask goes at once; that somebody else was faster is said in a notice, since its card is gone.
fn settled(workbench: Workbench, id: String) -> Callback<Settled> {
    let toasts = use_toasts();
    Callback::new(move |otherwise: Settled| {
        if let Some(sentence) = otherwise {
            toasts.failed(sentence);
        }
        workbench.settled(&id);
    })
}

/// How an ask that is no longer open ended for the one who answered it: by that answer, or otherwise, in words.
pub type Settled = Option<String>;

/// A bundle of questions that is answered in place.
#[component]
pub fn AnswerQuestions(
    /// The bundle as it was when the card was made.
    bundle: ClarificationView,
    /// The same as it is now; none when it is gone.
    #[prop(into)]
    now: Signal<Option<ClarificationView>>,
    /// It is no longer open.
    on_settled: Callback<Settled>,
) -> impl IntoView {
    let locale = use_locale();
    let id = bundle.pending_id;
    let sending = RwSignal::new(false);
    let failure = RwSignal::new(None);
    let detached =
        Memo::new(move |_| now.with(|now| now.as_ref().is_some_and(|b| b.agent_disconnected)));
    let busy = Signal::derive(move || {
        let elsewhere = |b: &ClarificationView| b.status == ClarificationStatus::Responding;
        sending.get() || now.with(|now| now.as_ref().is_some_and(elsewhere))
    });
    let respond = Callback::new(move |answer: ClarificationAnswer| {
        if busy.get_untracked() {
            return;
        }
        sending.set(true);
        failure.set(None);
        spawn_local(async move {
            let answered = clarification_respond(id, answer).await;
            let _ = sending.try_set(false);
            match answered {
                Ok(outcome) if outcome.claimed => on_settled.run(None),
                Ok(outcome) => on_settled.run(Some(recorded(locale, &outcome))),
                Err(error) => not_taken(locale, &error, failure, on_settled),
            }
        });
    });
    view! { <QuestionCard bundle busy failure detached on_answer=respond/> }
}

/// A permission that is given or refused in place.
#[component]
pub fn AnswerPermission(
    /// The request.
    permission: PermissionView,
    /// It is no longer open.
    on_settled: Callback<Settled>,
) -> impl IntoView {
    let locale = use_locale();
    let id = permission.id;
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None);
    let choose = Callback::new(move |option: String| {
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            let chosen = permission_respond(id, option).await;
            let _ = busy.try_set(false);
            match chosen {
                Ok(_) => on_settled.run(None),
                Err(error) => not_taken(locale, &error, failure, on_settled),
            }
        });
    });
    view! { <PermissionCard permission busy failure on_choose=choose/> }
}

/// A conflict means that it is over; anything else is said in the card, which stays.
fn not_taken(
    locale: Locale,
    error: &AppError,
    failure: RwSignal<Option<String>>,
    on_settled: Callback<Settled>,
) {
    if error.code() == ErrorCode::Conflict {
        on_settled.run(Some(explain(locale, error)));
    } else {
        let _ = failure.try_set(Some(explain(locale, error)));
    }
}

/// What was recorded instead of the answer that came too late.
fn recorded(locale: Locale, outcome: &ClarificationOutcome) -> String {
    if outcome.status == ClarificationStatus::Rejected {
        return t!(locale, taskpage.skipped_elsewhere).to_owned();
    }
    let answers = outcome.response.as_ref().and_then(Value::as_object);
    let words: Vec<String> = answers
        .into_iter()
        .flat_map(|answers| answers.values())
        .filter_map(answer_words)
        .collect();
    t!(
        locale,
        taskpage.answered_elsewhere,
        answer = words.join("; ")
    )
}

fn answer_words(answer: &Value) -> Option<String> {
    let label = answer.pointer("/selected_option/label");
    let parts: Vec<&str> = [label, answer.get("custom_text")]
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_comes_too_late_reads_what_was_recorded() {
        let outcome = |status, response| ClarificationOutcome {
            success: true,
            claimed: false,
            status,
            response: Some(response),
        };
        let answered = outcome(
            ClarificationStatus::Answered,
            json!({"q1": {"selected_option": {"id": "a", "label": "SQLite"}, "custom_text": "one file"}, "q2": {"custom_text": "MIT"}}),
        );
        assert!(recorded(Locale::en, &answered).contains("SQLite, one file; MIT"));
        let skipped = outcome(
            ClarificationStatus::Rejected,
            json!({"q1": {"answered": false, "rejected": true}, "rejected": true}),
        );
        assert_eq!(
            recorded(Locale::en, &skipped),
            t!(Locale::en, taskpage.skipped_elsewhere)
        );
    }
}
