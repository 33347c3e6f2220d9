//! On the page of a child that waits for its parent: whom it asked, what, and since when. Read-only, since only the parent answers;
//! the operator's ways out are named instead.

use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::LocalTime;
use crate::i18n::{t, use_locale};
use crate::paths;
use domain::view::ParentQuestionView;
use leptos::prelude::*;

/// What a waiting child waits for.
#[component]
pub fn ParentWait(
    /// The pending question.
    question: ParentQuestionView,
) -> impl IntoView {
    let locale = use_locale();
    let ParentQuestionView {
        parent_task_id,
        parent_title,
        questions,
        context,
        blocked_effect,
        created_at,
        parent_cannot_answer,
        parent_rests,
        ..
    } = question;
    let prompts = questions
        .into_iter()
        .map(|question| view! { <li class="whitespace-pre-line">{question.prompt}</li> })
        .collect_view();
    view! {
        <div role="group" class="wait-card" data-testid="parent-question-wait" aria-label=t!(locale, question.waiting_heading)>
            <div class="flex items-start gap-2">
                <Icon glyph=Glyph::CircleQuestionMark class="w-4 h-4 mt-0.5 shrink-0 text-muted"/>
                <p class="flex-1 min-w-0 flex flex-wrap items-baseline gap-x-2">
                    <strong class="font-semibold">{t!(locale, question.waiting_for, title = parent_title)}</strong>
                    <span class="inline-flex gap-1 text-12 text-muted">
                        {t!(locale, question.since)} <LocalTime at=created_at/>
                    </span>
                </p>
                <a class="link shrink-0" href=paths::task(parent_task_id)>{t!(locale, question.open_parent)}</a>
            </div>
            <ul class="pl-6">{prompts}</ul>
            {context.map(|context| view! { <p class="pl-6 text-13 text-muted whitespace-pre-line">{context}</p> })}
            {blocked_effect
                .map(|effect| {
                    view! {
                        <p class="pl-6 text-13 whitespace-pre-line" data-testid="parent-question-blocks">
                            <span class="text-muted">{t!(locale, question.blocks)}</span>
                            " "
                            {effect}
                        </p>
                    }
                })}
            {parent_cannot_answer
                .then(|| view! { <p class="pl-6 text-13 text-waiting">{t!(locale, question.parent_cannot_answer)}</p> })}
            {parent_rests
                .then(|| {
                    view! {
                        <p class="pl-6 text-13 text-waiting" data-testid="parent-question-rests">{t!(locale, question.parent_rests)}</p>
                    }
                })}
            <p class="pl-6 text-12 text-muted">{t!(locale, question.replaces)}</p>
        </div>
    }
    .into_any()
}
