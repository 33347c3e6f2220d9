//! The dialog that makes the task be about one more repository: one of the workspace, or one that is named by its address or folder.

use super::Held;
use crate::api::repositories::repository_attach;
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::error::AppError;
use crate::i18n::t;
use crate::pages::workbench::dialog_form::DialogForm;
use domain::ids::RepositoryId;
use domain::repository::{AttachRepository, Repository};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The dialog.
#[component]
pub(super) fn Attach(held: Held, open: RwSignal<bool>) -> impl IntoView {
    let locale = held.room.locale;
    let place = RwSignal::new(String::new());
    let dirty = Signal::derive(move || !place.read().trim().is_empty());
    Effect::new(move |_| {
        if !open.get() {
            place.set(String::new());
        }
    });
    view! {
        <Dialog open title=t!(locale, repository.attach) dirty test_id="repository-attach-dialog">
            <Form held open place/>
        </Dialog>
    }
}

/// What is meant: one that is known, or what is typed. A folder of this machine begins with a slash.
fn meant(chosen: Option<RepositoryId>, place: &str) -> Option<AttachRepository> {
    let place = place.trim();
    let said = || Some(place.to_owned());
    match chosen {
        Some(id) => Some(AttachRepository {
            repository_id: Some(id),
            ..AttachRepository::default()
        }),
        None if place.is_empty() => None,
        None if place.starts_with('/') => Some(AttachRepository {
            local_path: said(),
            ..AttachRepository::default()
        }),
        None => Some(AttachRepository {
            repository_url: said(),
            ..AttachRepository::default()
        }),
    }
}

#[component]
fn Form(held: Held, open: RwSignal<bool>, place: RwSignal<String>) -> impl IntoView {
    let locale = held.room.locale;
    // As it is when the dialog opens: a choice does not change under the pointer.
    let known = untrack(|| {
        let attached = held.room.view.with(|view| view.task.repositories.clone());
        let is_free = |one: &&Repository| attached.iter().all(|other| other.id != one.id);
        held.code.with(|code| {
            code.known
                .iter()
                .filter(is_free)
                .cloned()
                .collect::<Vec<_>>()
        })
    });
    let chosen = RwSignal::new(known.first().map(|one| one.id));
    let has_known = !known.is_empty();
    let missing = RwSignal::new(false);
    let refused = RwSignal::new(None::<AppError>);
    let busy = RwSignal::new(false);
    let (help, fault) = (dom_id(), dom_id());
    let described_by = [help.as_str(), fault.as_str()].join(" ");
    let send = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        let Some(params) = place.with_untracked(|place| meant(chosen.get_untracked(), place))
        else {
            return missing.set(true);
        };
        busy.set(true);
        refused.set(None);
        spawn_local(async move {
            let answer = repository_attach(held.room.id, params).await;
            // The dialog may have been discarded in the meantime.
            let _ = busy.try_set(false);
            match answer {
                Ok(task) => {
                    held.attached(task);
                    open.set(false);
                }
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });
    let options = known
        .into_iter()
        .enumerate()
        .map(|(at, one)| view! { <option value=one.id.to_string() selected=at == 0>{one.name}</option> })
        .collect_view();
    view! {
        <DialogForm
            on_send=send
            refused
            buttons=move || view! {
                <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary glyph=Glyph::Plug kind="submit" busy test_id="repository-attach-confirm">
                    {t!(locale, repository.attach_confirm)}
                </Button>
            }
        >
            {has_known.then(|| view! {
                <label class="flex flex-col gap-1 text-13 font-medium">
                    {t!(locale, repository.field)}
                    <select
                        class="field font-normal"
                        data-testid="repository-attach-select"
                        on:change=move |event| {
                            chosen.set(event_target_value(&event).parse().ok());
                            missing.set(false);
                        }
                    >
                        {options}
                        <option value="">{t!(locale, repository.another)}</option>
                    </select>
                </label>
            })}
            <div class="flex flex-col gap-1" hidden=move || chosen.get().is_some()>
                <label class="flex flex-col gap-1 text-13 font-medium">
                    {t!(locale, repository.attach_where)}
                    <input
                        type="text"
                        class="field font-normal"
                        autocomplete="off"
                        autocapitalize="none"
                        spellcheck="false"
                        placeholder=t!(locale, repository.address_example)
                        data-testid="repository-attach-place"
                        aria-describedby=described_by.clone()
                        aria-invalid=move || missing.get().then_some("true")
                        prop:value=move || place.get()
                        on:input=move |event| {
                            place.set(event_target_value(&event));
                            missing.set(false);
                        }
                    />
                </label>
                <p id=fault.clone() class="text-12 text-failed" aria-live="polite">
                    {move || missing.get().then(|| t!(locale, repository.attach_missing))}
                </p>
            </div>
            <p id=help class="text-12 text-muted">{t!(locale, repository.attach_help)}</p>
        </DialogForm>
    }
    .into_any()
}

#[test]
fn what_begins_with_a_slash_is_a_folder_and_a_choice_comes_first() {
    let id = RepositoryId::new();
    let chosen = meant(Some(id), "/typed/before").unwrap();
    assert_eq!((chosen.repository_id, chosen.local_path), (Some(id), None));
    let folder = meant(None, " /srv/code ").unwrap();
    assert_eq!(folder.local_path.as_deref(), Some("/srv/code"));
    let address = meant(None, "git@github.com:a/b.git").unwrap();
    assert_eq!(
        address.repository_url.as_deref(),
        Some("git@github.com:a/b.git")
    );
    assert_eq!(meant(None, "  "), None);
}
