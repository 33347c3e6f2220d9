//! The dialog for a new task. There is no autopilot in it: only a subtask has a parent to ask.

use super::dialog_form::DialogForm;
use super::fields::{
    ExecutorField, Fault, ProfileField, PromptField, TitleField, prompt_fault, title_fault,
};
use super::predecessors::Predecessors;
use super::repository_field::RepositoryField;
use super::state::{Workbench, use_workbench};
use crate::api::tasks::task_create;
use crate::components::button::{Button, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::lazy;
use crate::paths;
use domain::ids::{RepositoryId, TaskId};
use domain::params::CreateTask;
use domain::view::TaskView;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_navigate;
use wasm_split_helpers::wasm_split;

/// The dialog; [`super::Workbench::new_task`] opens it.
#[component]
pub fn NewTask() -> impl IntoView {
    let locale = use_locale();
    let open = use_workbench().new_task;
    // Outside of the dialog, so that it knows whether closing it would lose something.
    let title = RwSignal::new(String::new());
    let prompt = RwSignal::new(String::new());
    let predecessors = RwSignal::new(Vec::new());
    let repository = RwSignal::new(None);
    let dirty = Signal::derive(move || {
        !title.read().trim().is_empty()
            || !prompt.read().trim().is_empty()
            || !predecessors.read().is_empty()
    });
    Effect::new(move |_| {
        if !open.get() {
            title.set(String::new());
            prompt.set(String::new());
            predecessors.set(Vec::new());
            repository.set(None);
        }
    });
    view! {
        <Dialog
            open
            title=t!(locale, task.new)
            frame=Frame::Wide
            dirty
            test_id="create-task-dialog"
        >
            {lazy::view(move || form(title, prompt, predecessors, repository), || {})}
        </Dialog>
    }
}

/// What is in the dialog, in a part of its own with the other forms.
#[wasm_split(dialogs, preload(preload), fallible)]
pub(crate) fn form(
    title: RwSignal<String>,
    prompt: RwSignal<String>,
    predecessors: RwSignal<Vec<TaskId>>,
    repository: RwSignal<Option<RepositoryId>>,
) -> Result<AnyView, AppError> {
    Ok(view! { <Form title prompt predecessors repository/> }.into_any())
}

#[component]
fn Form(
    title: RwSignal<String>,
    prompt: RwSignal<String>,
    predecessors: RwSignal<Vec<TaskId>>,
    repository: RwSignal<Option<RepositoryId>>,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let toasts = use_toasts();
    let profile = RwSignal::new(None);
    let executor = RwSignal::new(None);
    let title_wrong = RwSignal::new(None::<Fault>);
    let prompt_wrong = RwSignal::new(None::<Fault>);
    let refused = RwSignal::new(None::<AppError>);
    // Which of the two buttons is at work: `Some(true)` starts an agent.
    let busy = RwSignal::new(None::<bool>);
    let navigate = use_navigate();

    let create = Callback::new(move |start: bool| {
        title_wrong.set(title.with_untracked(|title| title_fault(title)));
        let prompt_is_wrong = start
            .then(|| prompt.with_untracked(|prompt| prompt_fault(prompt)))
            .flatten();
        prompt_wrong.set(prompt_is_wrong);
        let is_wrong =
            title_wrong.get_untracked().is_some() || prompt_wrong.get_untracked().is_some();
        if is_wrong || busy.get_untracked().is_some() {
            return;
        }
        let params = CreateTask {
            title: title.get_untracked(),
            description: prompt.get_untracked(),
            workspace_id: Some(workbench.workspace.with_untracked(|workspace| workspace.id)),
            workflow_id: Some(workbench.workflow.with_untracked(|workflow| workflow.id)),
            agent_profile_id: profile.get_untracked(),
            executor_profile_id: executor.get_untracked(),
            start_agent: Some(start),
            repository_id: repository.get_untracked(),
            blocked_by: predecessors.get_untracked(),
            ..CreateTask::default()
        };
        busy.set(Some(start));
        refused.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            let answer = task_create(params).await;
            // The dialog may have been discarded in the meantime.
            let _ = busy.try_set(None);
            match answer {
                Ok(created) => {
                    workbench.reload();
                    workbench.new_task.set(false);
                    let address = paths::task(created.task.id);
                    if start && created.session_id.is_none() {
                        // It waits, for tasks or for a place. The card is on the board, where it says so.
                        toasts.done(waits(locale, workbench, &created.task));
                    } else if start {
                        navigate(&address, Default::default());
                    } else {
                        let done = t!(locale, board.created, title = created.task.title);
                        let open = move || navigate(&address, Default::default());
                        toasts.done_with(done, t!(locale, board.open), open);
                    }
                }
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });

    view! {
        <DialogForm
            on_send=Callback::new(move |()| create.run(true))
            refused
            buttons=move || view! {
                <Button
                    busy=Signal::derive(move || busy.get() == Some(false))
                    on_press=Callback::new(move |()| create.run(false))
                    test_id="create-without-starting"
                >
                    {t!(locale, board.create_only)}
                </Button>
                <Button
                    weight=Weight::Primary
                    glyph=Glyph::Play
                    kind="submit"
                    busy=Signal::derive(move || busy.get() == Some(true))
                    test_id="start-task"
                >
                    {move || if busy.get() == Some(true) { t!(locale, board.starting) } else { t!(locale, board.start) }}
                </Button>
            }
        >
            <TitleField title fault=title_wrong test_id="task-title-input"/>
            <PromptField prompt fault=prompt_wrong test_id="task-description-input"/>
            <ProfileField profile preferred=None test_id="agent-profile-select"/>
            <ExecutorField profile=executor test_id="executor-profile-select"/>
            <RepositoryField chosen=repository/>
            <Predecessors chosen=predecessors/>
        </DialogForm>
    }
    .into_any()
}

/// Why a task that was to start did not yet.
fn waits(locale: Locale, workbench: Workbench, task: &TaskView) -> String {
    let title = task.title.clone();
    if task.blocked {
        return t!(locale, board.will_wait, title = title);
    }
    let step = task.queued_for_step_id.unwrap_or(task.workflow_step_id);
    let step = workbench.steps.with_untracked(|steps| {
        let step = steps.iter().find(|other| other.id == step);
        step.map(|step| step.name.clone()).unwrap_or_default()
    });
    t!(locale, board.has_no_place, title = title, step = step)
}
