//! A bundle of questions to the operator, above the composer. The composer stays usable, Escape never rejects, and a long bundle can
//! be folded away while the operator looks things up in the transcript.

use super::button::{Button, Weight};
use super::dom_id::dom_id;
use super::glyph::Glyph;
use super::icon::Icon;
use super::moment::RelativeTime;
use crate::i18n::{t, use_locale};
use domain::clarification::{AnswerItem, ClarificationAnswer};
use domain::question::{MAX_FREE_TEXT, Question};
use domain::view::ClarificationView;
use leptos::prelude::*;

/// What the operator has put down so far for one question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Draft {
    option: Option<String>,
    text: String,
}

impl Draft {
    fn is_answer(&self) -> bool {
        (self.option.is_some() || !self.text.trim().is_empty())
            && self.text.chars().count() <= MAX_FREE_TEXT
    }
}

/// The whole bundle as the answer that goes out.
fn answer(questions: &[Question], drafts: &[Draft]) -> ClarificationAnswer {
    let answers = questions
        .iter()
        .zip(drafts)
        .map(|(question, draft)| AnswerItem {
            question_id: question.id.clone(),
            selected_options: draft.option.iter().cloned().collect(),
            custom_text: Some(draft.text.trim().to_owned()).filter(|text| !text.is_empty()),
        })
        .collect();
    ClarificationAnswer {
        answers,
        rejected: false,
        reject_reason: None,
    }
}

/// A bundle of questions with its answer form, one question at a time.
#[component]
pub fn QuestionCard(
    /// What is asked.
    bundle: ClarificationView,
    /// An answer is on its way.
    #[prop(into)]
    busy: Signal<bool>,
    /// Why the last attempt failed, in words.
    #[prop(optional, into)]
    failure: Signal<Option<String>>,
    /// The agent has stopped waiting since the card was made. The card is not made anew for that: answers are being written in it.
    #[prop(optional, into)]
    detached: Signal<bool>,
    /// The operator answered, or skipped (`rejected`).
    on_answer: Callback<ClarificationAnswer>,
) -> impl IntoView {
    let locale = use_locale();
    let ClarificationView {
        questions,
        context,
        agent_disconnected,
        created_at,
        ..
    } = bundle;
    let count = questions.len();
    let drafts = RwSignal::new(vec![Draft::default(); count]);
    let step = RwSignal::new(0_usize);
    let folded = RwSignal::new(false);
    let body = dom_id();

    let complete = Memo::new(move |_| drafts.with(|drafts| drafts.iter().all(Draft::is_answer)));
    let step_done = Memo::new(move |_| {
        drafts.with(|drafts| drafts.get(step.get()).is_some_and(Draft::is_answer))
    });
    let last = move || step.get() + 1 >= count;
    let questions = StoredValue::new(questions);
    let submit = Callback::new(move |()| {
        if complete.get_untracked() && !busy.get_untracked() {
            let answer = questions
                .with_value(|questions| drafts.with_untracked(|drafts| answer(questions, drafts)));
            on_answer.run(answer);
        }
    });
    let skip = Callback::new(move |()| {
        on_answer.run(ClarificationAnswer {
            rejected: true,
            ..ClarificationAnswer::default()
        });
    });
    let body_id = body.clone();

    view! {
        <div role="group" class="ask-card" data-testid="clarification-overlay" aria-label=t!(locale, question.heading)>
            <header class="flex items-center gap-2">
                <Icon glyph=Glyph::CircleQuestionMark class="w-4 h-4 shrink-0 text-waiting"/>
                <h2 class="flex-1 min-w-0 text-13">{t!(locale, question.heading)}</h2>
                <span class="text-12 text-muted"><RelativeTime at=created_at/></span>
                <button
                    type="button"
                    class="inline-flex items-center justify-center w-7 h-7 max-sm:w-11 max-sm:h-11 rounded-md text-muted hover:text-text"
                    aria-expanded=move || (!folded.get()).to_string()
                    aria-controls=body
                    aria-label=t!(locale, question.fold)
                    on:click=move |_| folded.update(|folded| *folded = !*folded)
                >
                    {move || {
                        let glyph = if folded.get() { Glyph::ChevronUp } else { Glyph::ChevronDown };
                        view! { <Icon glyph/> }
                    }}
                </button>
            </header>
            <div id=body_id class="flex flex-col gap-3" hidden=move || folded.get()>
                {context.map(|context| {
                    view! {
                        <p class="text-13 text-muted whitespace-pre-line" data-testid="clarification-context">{context}</p>
                    }
                })}
                <Show when=move || agent_disconnected || detached.get()>
                    <p class="text-12 text-muted" data-testid="clarification-deferred-notice">
                        {t!(locale, question.deferred)}
                    </p>
                </Show>
                {questions
                    .with_value(|questions| {
                        questions
                            .iter()
                            .enumerate()
                            .map(|(at, question)| {
                                view! {
                                    <div hidden=move || step.get() != at>
                                        {question_view(at, question.clone(), drafts, submit)}
                                    </div>
                                }
                            })
                            .collect_view()
                    })}
                {move || {
                    failure.get().map(|failure| view! { <p role="alert" class="text-13 text-failed">{failure}</p> })
                }}
                <footer class="flex flex-wrap items-center gap-2">
                    {(count > 1)
                        .then(|| {
                            view! {
                                <span class="text-12 text-muted" data-testid="clarification-stepper">
                                    {move || t!(locale, question.step, n = step.get() + 1, of = count)}
                                </span>
                                <Show when=move || step.get() != 0>
                                    <Button
                                        weight=Weight::Quiet
                                        on_press=Callback::new(move |()| step.update(|step| *step -= 1))
                                    >
                                        {t!(locale, question.back)}
                                    </Button>
                                </Show>
                            }
                        })}
                    <span class="flex-1"></span>
                    <Button weight=Weight::Quiet disabled=busy on_press=skip test_id="clarification-skip">
                        {t!(locale, question.skip)}
                    </Button>
                    <Show
                        when=last
                        fallback=move || {
                            view! {
                                <Button
                                    weight=Weight::Primary
                                    disabled=Signal::derive(move || !step_done.get())
                                    on_press=Callback::new(move |()| step.update(|step| *step += 1))
                                >
                                    {t!(locale, question.next)}
                                </Button>
                            }
                        }
                    >
                        <Button
                            weight=Weight::Primary
                            busy=busy
                            disabled=Signal::derive(move || !complete.get())
                            on_press=submit
                            test_id="clarification-submit"
                        >
                            {t!(locale, question.submit)}
                        </Button>
                    </Show>
                </footer>
            </div>
        </div>
    }
    .into_any()
}

fn question_view(
    at: usize,
    question: Question,
    drafts: RwSignal<Vec<Draft>>,
    submit: Callback<()>,
) -> impl IntoView {
    let locale = use_locale();
    let Question {
        title,
        prompt,
        options,
        allow_custom_text,
        ..
    } = question;
    let group = dom_id();
    let field = dom_id();
    let set = move |change: &dyn Fn(&mut Draft)| {
        drafts.update(|drafts| drafts.get_mut(at).into_iter().for_each(change));
    };
    let text_len = Memo::new(move |_| {
        drafts.with(|drafts| drafts.get(at).map_or(0, |draft| draft.text.chars().count()))
    });
    let too_long = Memo::new(move |_| text_len.get() > MAX_FREE_TEXT);
    let has_options = !options.is_empty();
    let rows = options
        .into_iter()
        .map(|option| {
            let (id, chosen) = (option.id.clone(), option.id);
            view! {
                <label class="choice" data-testid="clarification-option">
                    <input
                        type="radio"
                        name=group.clone()
                        value=id
                        on:change=move |_| set(&|draft| draft.option = Some(chosen.clone()))
                    />
                    <span class="min-w-0">
                        <span class="block text-14 font-medium">{option.label}</span>
                        <span class="block text-13 text-muted">{option.description}</span>
                    </span>
                </label>
            }
        })
        .collect_view();
    let label = if has_options {
        t!(locale, question.or_own_words)
    } else {
        t!(locale, question.own_words)
    };
    view! {
        <fieldset class="flex flex-col gap-2" data-testid="clarification-question-card">
            <legend class="mb-2 text-14 font-medium whitespace-pre-line">
                {title.map(|title| view! { <span class="mr-2 text-12 text-muted">{title}</span> })}
                {prompt}
            </legend>
            {rows}
            {allow_custom_text.then(|| view! {
            <label for=field.clone() class="text-12 text-muted">{label}</label>
            <textarea
                id=field
                class="field field-growing"
                rows="1"
                data-testid="clarification-custom-input"
                prop:value=move || drafts.with(|drafts| drafts.get(at).map(|draft| draft.text.clone()).unwrap_or_default())
                on:input:target=move |event| {
                    let text = event.target().value();
                    set(&|draft| draft.text.clone_from(&text));
                }
                on:keydown=move |event| {
                    if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
                        event.prevent_default();
                        submit.run(());
                    }
                }
            ></textarea>
            <Show when=move || text_len.get() != 0>
                <span
                    class=move || if too_long.get() { "text-12 text-failed" } else { "text-12 text-muted" }
                    data-testid="clarification-input-rune-counter"
                >
                    {move || t!(locale, question.length, n = text_len.get(), most = MAX_FREE_TEXT)}
                </span>
            </Show>
            })}
        </fieldset>
    }
}

/// In the transcript, for a bundle whose time is over: the operator can still say it as an ordinary message.
#[component]
pub fn ExpiredQuestion(
    /// Sends question and answer as a message.
    on_answer_anyway: Callback<()>,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <div class="flex flex-wrap items-center gap-2" data-testid="clarification-expired-notice">
            <span class="text-12 text-muted">{t!(locale, question.expired)}</span>
            <Button on_press=on_answer_anyway>{t!(locale, question.answer_anyway)}</Button>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_choice_or_words_or_both_within_the_limit() {
        let draft = |option: Option<&str>, text: &str| Draft {
            option: option.map(str::to_owned),
            text: text.to_owned(),
        };
        assert!(!draft(None, "").is_answer());
        assert!(!draft(None, "  \n").is_answer());
        assert!(draft(Some("a"), "").is_answer());
        assert!(draft(None, &"é".repeat(MAX_FREE_TEXT)).is_answer());
        assert!(!draft(Some("a"), &"é".repeat(MAX_FREE_TEXT + 1)).is_answer());
    }

    #[test]
    fn every_question_gets_an_entry_and_blank_words_are_left_out() {
        let question = |id: &str| Question {
            id: id.to_owned(),
            title: None,
            prompt: String::new(),
            options: Vec::new(),
            allow_custom_text: true,
        };
        let drafts = [
            Draft {
                option: Some("sqlite".to_owned()),
                text: " ".to_owned(),
            },
            Draft {
                option: None,
                text: " both ".to_owned(),
            },
        ];
        let sent = answer(&[question("q1"), question("q2")], &drafts);
        assert_eq!(sent.answers[0].selected_options, ["sqlite"]);
        assert_eq!(sent.answers[0].custom_text, None);
        assert_eq!(sent.answers[1].question_id, "q2");
        assert_eq!(sent.answers[1].custom_text.as_deref(), Some("both"));
        assert!(!sent.rejected);
    }
}
