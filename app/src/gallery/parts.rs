//! Components one by one.

use super::sample;
use crate::components::autopilot::{AutopilotIcon, AutopilotSwitchRow};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::chip::{AutopilotChip, Chip, Tone};
use crate::components::composer::Composer;
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::menu::{Menu, MenuItem};
use crate::components::parent_wait::ParentWait;
use crate::components::permission_card::PermissionCard;
use crate::components::question_card::{ExpiredQuestion, QuestionCard};
use crate::components::state_icon::{StateIcon, word};
use crate::components::states::{EmptyState, ErrorState, Skeleton};
use crate::components::task_mark::TaskMark;
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, use_locale};
use crate::prefs::use_preferences;
use crate::title::PageTitle;
use domain::error::{ErrorBody, ErrorCode};
use leptos::prelude::*;

const MARKS: [TaskMark; 13] = [
    TaskMark::Permission,
    TaskMark::Question,
    TaskMark::ParentQuestion,
    TaskMark::Running,
    TaskMark::WaitingForInput,
    TaskMark::Preparing,
    TaskMark::Interrupted,
    TaskMark::Failed,
    TaskMark::Blocked,
    TaskMark::Cancelled,
    TaskMark::WorkflowComplete,
    TaskMark::TurnFinished,
    TaskMark::Backlog,
];

/// All of them on one page.
#[component]
pub fn Gallery() -> impl IntoView {
    view! {
        <PageTitle text="Gallery"/>
        <main id="main" class="flex flex-col gap-8 max-w-[50rem] mx-auto p-4">
            <h1 class="text-20">"Gallery"</h1>
            <Section name="Buttons">{buttons()}</Section>
            <Section name="Chips">{chips()}</Section>
            <Section name="Task states">{marks()}</Section>
            <Section name="Dialogs">{dialogs()}</Section>
            <Section name="Questions">{questions()}</Section>
            <Section name="Composer">{composers()}</Section>
            <Section name="In place of content">{states()}</Section>
        </main>
    }
}

#[component]
fn Section(name: &'static str, children: Children) -> impl IntoView {
    view! {
        <section class="flex flex-col gap-3">
            <h2 class="text-16">{name}</h2>
            {children()}
        </section>
    }
}

fn buttons() -> impl IntoView {
    let toasts = use_toasts();
    let prefs = use_preferences();
    let menu_item = |label: &str, glyph, danger| MenuItem {
        label: label.to_owned(),
        glyph,
        danger,
        on_choose: Callback::new(move |()| toasts.done("Done as you wished.")),
    };
    let items = vec![
        menu_item("Rename", Glyph::Pencil, false),
        menu_item("Archive", Glyph::Archive, false),
        menu_item("Delete", Glyph::Trash2, true),
    ];
    view! {
        <div class="flex flex-wrap items-center gap-2">
            <Button weight=Weight::Primary glyph=Glyph::Play>"Primary"</Button>
            <Button on_press=Callback::new(move |()| toasts.done("Saved.")) test_id="toast-done">"Plain"</Button>
            <Button weight=Weight::Quiet>"Quiet"</Button>
            <Button weight=Weight::Danger on_press=Callback::new(move |()| toasts.failed("Not saved: the server is away."))>
                "Danger"
            </Button>
            <Button weight=Weight::Primary busy=true>"Busy"</Button>
            <Button disabled=true>"Disabled"</Button>
            <IconButton glyph=Glyph::Settings label="Settings" on_press=Callback::new(|()| ())/>
            <Menu label="Actions of the task" items test_id="menu"/>
            <Button
                on_press=Callback::new(move |()| {
                    prefs.set_locale(if use_locale_now() == Locale::en { Locale::en_XA } else { Locale::en });
                })
            >
                "Other locale"
            </Button>
        </div>
    }
}

fn use_locale_now() -> Locale {
    let tag = document()
        .document_element()
        .and_then(|html| html.get_attribute("lang"));
    crate::i18n::choose(tag.as_deref(), None)
}

fn chips() -> impl IntoView {
    view! {
        <div class="flex flex-wrap items-center gap-2" data-testid="chat-status-bar">
            <AutopilotChip/>
            <Chip glyph=Glyph::Link2 text="depends on 1" sentence="This task depends on 1 other task."/>
            <Chip glyph=Glyph::ListOrdered text="2 queued" sentence="2 queued messages wait for the end of the turn."/>
            <Chip tone=Tone::Waiting glyph=Glyph::CircleQuestionMark text="asks you" sentence="The agent asks you."/>
            <Chip tone=Tone::Failed glyph=Glyph::CircleAlert text="failed" sentence="The last turn failed."/>
            <AutopilotIcon/>
        </div>
    }
}

fn marks() -> impl IntoView {
    let locale = use_locale();
    view! {
        <ul class="grid sm:grid-cols-2 gap-1">
            {MARKS
                .into_iter()
                .map(|mark| view! { <li class="flex items-center gap-2"><StateIcon mark=mark/> {word(locale, mark)}</li> })
                .collect_view()}
        </ul>
    }
}

fn dialogs() -> impl IntoView {
    let (narrow, wide, sheet) = (
        RwSignal::new(false),
        RwSignal::new(false),
        RwSignal::new(false),
    );
    let autopilot = RwSignal::new(false);
    let prompt = RwSignal::new(String::new());
    view! {
        <div class="flex flex-wrap gap-2">
            <Button on_press=Callback::new(move |()| narrow.set(true)) test_id="open-narrow">"Dialog"</Button>
            <Button on_press=Callback::new(move |()| wide.set(true)) test_id="open-subtask">"Subtask dialog"</Button>
            <Button on_press=Callback::new(move |()| sheet.set(true)) test_id="open-sheet">"Sheet"</Button>
        </div>
        <Dialog open=narrow title="Delete the task?">
            <p class="p-4">"Its subtasks become tasks of their own."</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| narrow.set(false))>"Cancel"</Button>
                <Button weight=Weight::Danger on_press=Callback::new(move |()| narrow.set(false))>"Delete"</Button>
            </footer>
        </Dialog>
        <Dialog
            open=wide
            title="Subtask of Investigate the flaky checkout test"
            frame=Frame::Wide
            dirty=Signal::derive(move || !prompt.read().is_empty())
            test_id="new-subtask-dialog"
        >
            <form class="flex flex-col gap-4 p-4" on:submit=move |event| event.prevent_default()>
                <label class="flex flex-col gap-1 text-13">
                    "Prompt"
                    <textarea
                        class="field field-growing"
                        rows="4"
                        data-testid="subtask-prompt-input"
                        on:input:target=move |event| prompt.set(event.target().value())
                    ></textarea>
                </label>
                <AutopilotSwitchRow on=autopilot/>
            </form>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| wide.set(false))>"Cancel"</Button>
                <Button weight=Weight::Primary>"Create Subtask"</Button>
            </footer>
        </Dialog>
        <Dialog open=sheet title="A sheet" frame=Frame::Sheet>
            <p class="p-4">"From below on phones, from the side elsewhere."</p>
        </Dialog>
        <AutopilotSwitchRow on=RwSignal::new(true)/>
    }
}

fn questions() -> impl IntoView {
    let toasts = use_toasts();
    let answered = Callback::new(move |_| toasts.done("Answer sent."));
    view! {
        <QuestionCard bundle=sample::clarification(2, true) busy=false on_answer=answered/>
        <QuestionCard bundle=sample::clarification(1, false) busy=true failure=Some("Somebody else was first.".to_owned()) on_answer=answered/>
        <PermissionCard permission=sample::permission() busy=false on_choose=Callback::new(move |_| toasts.done("Chosen."))/>
        <ParentWait question=sample::parent_question(true)/>
        <ExpiredQuestion on_answer_anyway=Callback::new(|()| ())/>
    }
}

fn composers() -> impl IntoView {
    let nothing = Callback::new(|()| ());
    let sent = Callback::new(|_: String| ());
    view! {
        <Composer draft=RwSignal::new(String::new()) running=false on_send=sent on_cancel=nothing/>
        <Composer
            draft=RwSignal::new("Then look at the lock.".to_owned())
            running=true
            failure=Some("The queue is full.".to_owned())
            on_send=sent
            on_cancel=nothing
        />
        <Composer
            draft=RwSignal::new(String::new())
            running=false
            closed=Some("This task is archived.".to_owned())
            on_send=sent
            on_cancel=nothing
        />
    }
}

fn states() -> impl IntoView {
    let error = |code, message: &str| {
        AppError(ErrorBody {
            code,
            message: message.to_owned(),
            details: None,
            request_id: "01JX5K9V".to_owned(),
        })
    };
    let again = Callback::new(|()| ());
    view! {
        <EmptyState text="Tasks that you delegate to agents appear here.">
            <Button weight=Weight::Primary glyph=Glyph::Play>"Try the demo"</Button>
        </EmptyState>
        <ErrorState error=error(ErrorCode::Unavailable, "") on_retry=again/>
        <ErrorState error=error(ErrorCode::Validation, "title must have at most 60 characters")/>
        <Skeleton/>
    }
}
