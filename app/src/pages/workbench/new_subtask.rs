//! The dialog for a subtask: the only place where autopilot can be chosen. The agent starts at once.

use super::dialog_form::DialogForm;
use super::fields::{Fault, ProfileField, PromptField, TitleField, prompt_fault, title_fault};
use super::state::use_workbench;
use crate::api::tasks::task_create;
use crate::components::autopilot::AutopilotSwitchRow;
use crate::components::button::{Button, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::lazy;
use crate::paths;
use domain::ids::TaskId;
use domain::params::CreateTask;
use domain::task::MAX_TITLE;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_navigate;
use wasm_split_helpers::wasm_split;

/// The dialog; [`super::Workbench::open_subtask`] opens it.
#[component]
pub fn NewSubtask() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let (open, of) = workbench.subtask;
    let parent = Memo::new(move |_| of.get().map(|id| workbench.title(id)).unwrap_or_default());
    let title = RwSignal::new(String::new());
    let proposed = RwSignal::new(String::new());
    let prompt = RwSignal::new(String::new());
    // A proposal that nobody touched is no loss.
    let dirty = Signal::derive(move || {
        !prompt.read().trim().is_empty() || *title.read() != *proposed.read()
    });
    Effect::new(move |_| {
        let proposal = open
            .get()
            .then(|| {
                let id = of.get_untracked()?;
                let parts = workbench
                    .parts
                    .with_untracked(|parts| parts.get(&id).map_or(0, Vec::len));
                Some(proposed_title(
                    locale,
                    &untrack(|| workbench.title(id)),
                    parts + 1,
                ))
            })
            .flatten()
            .unwrap_or_default();
        title.set(proposal.clone());
        proposed.set(proposal);
        prompt.set(String::new());
    });
    view! {
        <Dialog
            open
            title=move || t!(locale, board.subtask_of, parent = parent.get())
            frame=Frame::Wide
            dirty
            test_id="new-subtask-dialog"
        >
            {move || of.get_untracked().map(|parent| lazy::view(move || form(parent, title, prompt), || {}))}
        </Dialog>
    }
}

/// What is in the dialog, in a part of its own with the other forms.
#[wasm_split(dialogs, preload(preload), fallible)]
pub(crate) fn form(
    parent: TaskId,
    title: RwSignal<String>,
    prompt: RwSignal<String>,
) -> Result<AnyView, AppError> {
    Ok(view! { <Form parent title prompt/> }.into_any())
}

#[component]
fn Form(parent: TaskId, title: RwSignal<String>, prompt: RwSignal<String>) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let (open, _) = workbench.subtask;
    let toasts = use_toasts();
    let preferred = workbench
        .by_id
        .with_untracked(|tasks| tasks.get(&parent).and_then(|task| task.agent_profile_id));
    let profile = RwSignal::new(None);
    let autopilot = RwSignal::new(false);
    let title_wrong = RwSignal::new(None::<Fault>);
    let prompt_wrong = RwSignal::new(None::<Fault>);
    let refused = RwSignal::new(None::<AppError>);
    let busy = RwSignal::new(false);
    let navigate = use_navigate();

    let create = Callback::new(move |()| {
        title_wrong.set(title.with_untracked(|title| title_fault(title)));
        prompt_wrong.set(prompt.with_untracked(|prompt| prompt_fault(prompt)));
        let is_wrong =
            title_wrong.get_untracked().is_some() || prompt_wrong.get_untracked().is_some();
        if is_wrong || busy.get_untracked() {
            return;
        }
        let params = CreateTask {
            title: title.get_untracked(),
            description: prompt.get_untracked(),
            parent_id: Some(parent),
            autopilot: autopilot.get_untracked(),
            agent_profile_id: profile.get_untracked(),
            start_agent: Some(true),
            ..CreateTask::default()
        };
        busy.set(true);
        refused.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            let answer = task_create(params).await;
            // The dialog may have been discarded in the meantime.
            let _ = busy.try_set(false);
            match answer {
                Ok(created) => {
                    workbench.reload();
                    open.set(false);
                    let address = paths::task(created.task.id);
                    let done = t!(locale, board.created, title = created.task.title);
                    let open = move || navigate(&address, Default::default());
                    toasts.done_with(done, t!(locale, board.open), open);
                }
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });

    view! {
        <DialogForm
            on_send=create
            refused
            buttons=move || view! {
                <Button on_press=Callback::new(move |()| open.set(false)) test_id="cancel-subtask">
                    {t!(locale, board.cancel)}
                </Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="create-subtask">
                    {move || if busy.get() { t!(locale, board.creating) } else { t!(locale, board.create_subtask) }}
                </Button>
            }
        >
            <TitleField title fault=title_wrong test_id="subtask-title-input"/>
            <PromptField prompt fault=prompt_wrong test_id="subtask-prompt-input"/>
            <ProfileField profile preferred test_id="subtask-profile-select"/>
            <AutopilotSwitchRow on=autopilot/>
        </DialogForm>
    }
    .into_any()
}

/// "<parent> / Subtask N". When that is too long it is the parent's name that gives way: the number tells subtasks apart.
fn proposed_title(locale: Locale, parent: &str, n: usize) -> String {
    let title = |parent: String| t!(locale, board.subtask_title, parent = parent, n = n);
    let whole = title(parent.to_owned());
    let surplus = whole.chars().count().saturating_sub(MAX_TITLE);
    if surplus == 0 {
        return whole;
    }
    let room = parent.chars().count().saturating_sub(surplus + 1);
    let cut: String = parent.chars().take(room).collect();
    title(format!("{}…", cut.trim_end()))
}

#[test]
fn a_proposed_title_fits_and_keeps_its_number() {
    assert_eq!(
        proposed_title(Locale::en, "Checkout", 2),
        "Checkout / Subtask 2"
    );
    let long = proposed_title(Locale::en, &"W".repeat(60), 12);
    assert_eq!(long.chars().count(), MAX_TITLE);
    assert!(long.ends_with("… / Subtask 12"), "{long}");
}
