//! The dialog that adds a pull or merge request by its number or its address.

use super::Held;
use crate::api::repositories::change_request_automate;
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::error::AppError;
use crate::i18n::t;
use crate::pages::workbench::dialog_form::DialogForm;
use domain::change_request::{NotNamed, UpdateAutomation, read_name};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The dialog; [`Held::adding`] opens it.
#[component]
pub(super) fn AddRequest(held: Held) -> impl IntoView {
    let locale = held.room.locale;
    let open = held.adding;
    let text = RwSignal::new(String::new());
    let dirty = Signal::derive(move || !text.read().trim().is_empty());
    let title = move || {
        let name = held
            .added_to
            .with(|one| one.as_ref().map(|one| one.name.clone()).unwrap_or_default());
        t!(locale, repository.add_request_heading, name = name)
    };
    Effect::new(move |_| {
        if !open.get() {
            text.set(String::new());
        }
    });
    view! {
        <Dialog open title=title dirty test_id="request-add-dialog">
            <Form held text/>
        </Dialog>
    }
}

#[component]
fn Form(held: Held, text: RwSignal<String>) -> impl IntoView {
    let locale = held.room.locale;
    let wrong = RwSignal::new(None::<NotNamed>);
    let refused = RwSignal::new(None::<AppError>);
    let busy = RwSignal::new(false);
    let (help, fault) = (dom_id(), dom_id());
    let described_by = [help.as_str(), fault.as_str()].join(" ");
    let send = Callback::new(move |()| {
        let Some(repository) = held
            .added_to
            .get_untracked()
            .filter(|_| !busy.get_untracked())
        else {
            return;
        };
        let named = text.with_untracked(|text| {
            read_name(
                text,
                repository.host.as_deref(),
                repository.project_path.as_deref(),
            )
        });
        let number = match named {
            Ok(number) => number,
            Err(why) => return wrong.set(Some(why)),
        };
        // Nothing is switched on by it. One that the task cares for already stays as it is.
        let known = held.code.with_untracked(|code| {
            code.requests
                .iter()
                .find(|one| one.repository_id == repository.id && one.number == number)
                .map(|one| one.automation.auto_fix_enabled)
        });
        let change = UpdateAutomation {
            auto_fix_enabled: Some(known.unwrap_or(false)),
            ..UpdateAutomation::default()
        };
        busy.set(true);
        refused.set(None);
        spawn_local(async move {
            let call = change_request_automate(held.room.id, repository.id, number, change);
            let answer = held.change(call).await;
            let _ = busy.try_set(false);
            match answer {
                Ok(()) => held.adding.set(false),
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });
    view! {
        <DialogForm
            on_send=send
            refused
            buttons=move || view! {
                <Button on_press=Callback::new(move |()| held.adding.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary glyph=Glyph::Plus kind="submit" busy test_id="request-add-confirm">
                    {t!(locale, repository.add_request)}
                </Button>
            }
        >
            <div class="flex flex-col gap-1">
                <label class="flex flex-col gap-1 text-13 font-medium">
                    {t!(locale, repository.add_request_label)}
                    <input
                        type="text"
                        class="field font-normal"
                        autocomplete="off"
                        autocapitalize="none"
                        spellcheck="false"
                        data-testid="request-add-input"
                        aria-describedby=described_by.clone()
                        aria-invalid=move || wrong.get().is_some().then_some("true")
                        prop:value=move || text.get()
                        on:input=move |event| {
                            text.set(event_target_value(&event));
                            wrong.set(None);
                        }
                    />
                </label>
                <p id=fault.clone() class="text-12 text-failed" aria-live="polite">
                    {move || wrong.get().map(|why| match why {
                        NotNamed::Unreadable => t!(locale, repository.not_there),
                        NotNamed::Elsewhere => t!(locale, repository.other_repository),
                    })}
                </p>
                <p id=help.clone() class="text-12 text-muted">{t!(locale, repository.add_request_help)}</p>
            </div>
        </DialogForm>
    }
    .into_any()
}
