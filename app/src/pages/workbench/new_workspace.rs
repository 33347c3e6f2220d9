//! The dialog for a new workspace: it is called something, and that is all.

use super::dialog_form::DialogForm;
use super::state::use_workbench;
use crate::api::setup::workspace_create;
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::lazy;
use crate::paths;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_navigate;
use wasm_split_helpers::wasm_split;

/// The dialog; [`super::Workbench::new_workspace`] opens it.
#[component]
pub fn NewWorkspace() -> impl IntoView {
    let locale = use_locale();
    let open = use_workbench().new_workspace;
    let name = RwSignal::new(String::new());
    let dirty = Signal::derive(move || !name.read().trim().is_empty());
    Effect::new(move |_| {
        if !open.get() {
            name.set(String::new());
        }
    });
    view! {
        <Dialog open title=t!(locale, board.new_workspace) dirty test_id="new-workspace-dialog">
            {lazy::view(move || form(name), || {})}
        </Dialog>
    }
}

/// What is in the dialog, in a part of its own with the other forms.
#[wasm_split(dialogs, preload(preload), fallible)]
pub(crate) fn form(name: RwSignal<String>) -> Result<AnyView, AppError> {
    Ok(view! { <Form name/> }.into_any())
}

#[component]
fn Form(name: RwSignal<String>) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let navigate = use_navigate();
    let missing = RwSignal::new(false);
    let refused = RwSignal::new(None::<AppError>);
    let busy = RwSignal::new(false);
    let create = Callback::new(move |()| {
        missing.set(name.with_untracked(|name| name.trim().is_empty()));
        if missing.get_untracked() || busy.get_untracked() {
            return;
        }
        busy.set(true);
        refused.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            let answer = workspace_create(name.get_untracked()).await;
            let _ = busy.try_set(false);
            match answer {
                Ok(made) => {
                    workbench.new_workspace.set(false);
                    navigate(&paths::board(made.id), Default::default());
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
                <Button on_press=Callback::new(move |()| workbench.new_workspace.set(false))>
                    {t!(locale, board.cancel)}
                </Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="create-workspace">
                    {t!(locale, board.new_workspace_make)}
                </Button>
            }
        >
            <div class="flex flex-col gap-1">
                <label class="flex flex-col gap-1 text-13 font-medium">
                    {t!(locale, board.new_workspace_name)}
                    <input
                        type="text"
                        class="field font-normal"
                        autocomplete="off"
                        maxlength="120"
                        data-testid="workspace-name"
                        aria-invalid=move || missing.get().then_some("true")
                        prop:value=move || name.get()
                        on:input=move |event| {
                            name.set(event_target_value(&event));
                            missing.set(false);
                        }
                    />
                </label>
                <p class="text-12 text-muted">{t!(locale, board.new_workspace_help)}</p>
                <p class="text-12 text-failed" aria-live="polite">
                    {move || missing.get().then(|| t!(locale, board.new_workspace_missing))}
                </p>
            </div>
        </DialogForm>
    }
    .into_any()
}
