//! What is asked before something is done with a session: its new name, what another one is to do, whether it may go.

use super::room::{Room, explain};
use crate::api::sessions::{session_delete, session_rename, session_spawn};
use crate::components::button::{Button, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::error::AppError;
use crate::i18n::{Locale, t};
use crate::pages::workbench::dialog_form::DialogForm;
use crate::pages::workbench::fields::{Fault, ProfileField, PromptField, prompt_fault};
use crate::paths;
use domain::ids::SessionId;
use domain::params::SpawnSession;
use domain::session::{MAX_NAME, check_name};
use domain::view::{SessionView, TaskPageView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_navigate;

/// A field for the name of the session that is shown. An empty one takes the name away.
#[component]
pub(super) fn RenameSession(
    room: Room,
    session: Memo<Option<SessionView>>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let locale = room.locale;
    let name = RwSignal::new(String::new());
    let fault = RwSignal::new(None::<String>);
    let busy = RwSignal::new(false);
    Effect::new(move |_| {
        if open.get() {
            let named = session.with_untracked(|s| s.as_ref().and_then(|s| s.name.clone()));
            name.set(named.unwrap_or_default());
            fault.set(None);
        }
    });
    let rename = Callback::new(move |()| {
        let Some(id) = room.shown.get_untracked() else {
            return;
        };
        let wanted = match check_name(&name.get_untracked()) {
            Ok(wanted) => wanted,
            Err(_) => return fault.set(Some(t!(locale, taskpage.name_long, most = MAX_NAME))),
        };
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        spawn_local(async move {
            let renamed = session_rename(id, wanted).await;
            let _ = busy.try_set(false);
            match renamed {
                Ok(_) => open.set(false),
                Err(error) => {
                    let _ = fault.try_set(Some(explain(locale, &error)));
                }
            }
            room.reread();
        });
    });
    view! {
        <Dialog open title=t!(locale, taskpage.rename_heading) test_id="rename-session-dialog">
            <form
                on:submit=move |event| {
                    event.prevent_default();
                    rename.run(());
                }
            >
                <div class="flex flex-col gap-1 p-4">
                    <label class="flex flex-col gap-1 text-13 font-medium">
                        {t!(locale, taskpage.session_label)}
                        <input
                            type="text"
                            class="field font-normal"
                            autocomplete="off"
                            data-testid="session-name-input"
                            aria-invalid=move || fault.with(Option::is_some).then_some("true")
                            prop:value=move || name.get()
                            on:input=move |event| {
                                name.set(event_target_value(&event));
                                fault.set(None);
                            }
                        />
                    </label>
                    <p class="text-12 text-failed" aria-live="polite">{move || fault.get()}</p>
                </div>
                <footer class="dialog-foot">
                    <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                    <Button weight=Weight::Primary kind="submit" busy test_id="confirm-rename">
                        {t!(locale, taskpage.rename_confirm)}
                    </Button>
                </footer>
            </form>
        </Dialog>
    }
    .into_any()
}

/// Another agent on the task: which one, and what it is to do. Its session is shown when it is there.
#[component]
pub(super) fn NewSession(
    room: Room,
    session: Memo<Option<SessionView>>,
    open: RwSignal<bool>,
) -> impl IntoView {
    let locale = room.locale;
    let prompt = RwSignal::new(String::new());
    let dirty = Signal::derive(move || !prompt.read().trim().is_empty());
    Effect::new(move |_| {
        if open.get() {
            prompt.set(String::new());
        }
    });
    view! {
        <Dialog open title=t!(locale, taskpage.new_session_heading) frame=Frame::Wide dirty test_id="new-session-dialog">
            <NewSessionForm room session open prompt/>
        </Dialog>
    }
    .into_any()
}

#[component]
fn NewSessionForm(
    room: Room,
    session: Memo<Option<SessionView>>,
    open: RwSignal<bool>,
    prompt: RwSignal<String>,
) -> impl IntoView {
    let locale = room.locale;
    let preferred = session.with_untracked(|s| s.as_ref().map(|s| s.agent_profile_id));
    let profile = RwSignal::new(None);
    let wrong = RwSignal::new(None::<Fault>);
    let refused = RwSignal::new(None::<AppError>);
    let busy = RwSignal::new(false);
    let navigate = use_navigate();
    let start = Callback::new(move |()| {
        wrong.set(prompt.with_untracked(|prompt| prompt_fault(prompt)));
        if wrong.get_untracked().is_some() || busy.get_untracked() {
            return;
        }
        let params = SpawnSession {
            prompt: prompt.get_untracked(),
            agent_profile_id: profile.get_untracked(),
            name: None,
        };
        busy.set(true);
        refused.set(None);
        let navigate = navigate.clone();
        spawn_local(async move {
            let spawned = session_spawn(room.id, params).await;
            // The dialog may have been discarded in the meantime.
            let _ = busy.try_set(false);
            match spawned {
                Ok(spawned) => {
                    open.set(false);
                    room.reread();
                    let address =
                        format!("{}?session={}", paths::task(room.id), spawned.session_id);
                    navigate(&address, Default::default());
                }
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });
    view! {
        <DialogForm
            on_send=start
            refused
            buttons=move || view! {
                <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary glyph=Glyph::Play kind="submit" busy test_id="start-session">
                    {t!(locale, taskpage.start_session)}
                </Button>
            }
        >
            <PromptField prompt fault=wrong test_id="session-prompt-input"/>
            <ProfileField profile preferred test_id="session-profile-select"/>
        </DialogForm>
    }
    .into_any()
}

/// Whether the session that is shown may go, with all that was said in it.
#[component]
pub(super) fn DeleteSession(
    room: Room,
    open: RwSignal<bool>,
    /// Says which session that is.
    describe: fn(Locale, &TaskPageView, SessionId) -> Option<String>,
) -> impl IntoView {
    let locale = room.locale;
    let navigate = use_navigate();
    // The one that was asked about, also when another one is shown by now.
    let asked = RwSignal::new(None::<SessionId>);
    Effect::new(move |_| {
        if open.get() {
            asked.set(room.shown.get_untracked());
        }
    });
    let which = Memo::new(move |_| {
        let asked = asked.get()?;
        room.view.with(|view| describe(locale, view, asked))
    });
    let delete = Callback::new(move |()| {
        open.set(false);
        let Some(session) = asked.get_untracked() else {
            return;
        };
        let navigate = navigate.clone();
        room.act(async move {
            session_delete(session).await?;
            // Its own address would name a session that is gone.
            navigate(&paths::task(room.id), Default::default());
            Ok(())
        });
    });
    view! {
        <Dialog open title=t!(locale, taskpage.delete_session_heading) test_id="delete-session-dialog">
            <div class="flex flex-col gap-2 p-4">
                <p class="font-medium break-words" data-testid="delete-session-which">{which}</p>
                <p>{t!(locale, taskpage.delete_session_text)}</p>
            </div>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-delete-session">
                    {t!(locale, taskpage.delete_session_confirm)}
                </Button>
            </footer>
        </Dialog>
    }
    .into_any()
}
