//! The sessions of the task: which one is shown, and what can be done with it.

use super::room::Room;
use super::session_dialogs::{DeleteSession, NewSession, RenameSession};
use crate::api::sessions::{session_cancel, session_resume, session_set_primary, session_stop};
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::components::menu::{Menu, MenuItem};
use crate::components::state_icon::{StateIcon, word};
use crate::components::task_mark::TaskMark;
use crate::i18n::{Locale, t};
use crate::paths;
use domain::ids::SessionId;
use domain::session::SessionState;
use domain::task::PendingAction;
use domain::view::{SessionView, TaskPageView};
use leptos::prelude::*;

/// One session as a tab shows it.
#[derive(Debug, Clone, PartialEq)]
struct Tab {
    id: SessionId,
    name: String,
    mark: TaskMark,
    is_primary: bool,
}

fn tabs(locale: Locale, view: &TaskPageView) -> Vec<Tab> {
    let asks_parent = |id| {
        let question = view.parent_question.as_ref();
        question.is_some_and(|question| question.child_session_id == id)
    };
    // Oldest first: a tab stays where it is when another comes.
    let sessions = view.sessions.iter().rev();
    sessions
        .zip(1_usize..)
        .map(|(session, n)| Tab {
            id: session.id,
            name: session.name.clone().unwrap_or_else(|| {
                t!(
                    locale,
                    taskpage.session_name,
                    agent = session.agent_name.clone(),
                    n = n
                )
            }),
            mark: mark(session, asks_parent(session.id)),
            is_primary: session.is_primary,
        })
        .collect()
}

fn mark(session: &SessionView, asks_parent: bool) -> TaskMark {
    match (session.pending_action, session.state) {
        (Some(PendingAction::Permission), _) => TaskMark::Permission,
        (Some(PendingAction::Clarification), _) if asks_parent => TaskMark::ParentQuestion,
        (Some(PendingAction::Clarification), _) => TaskMark::Question,
        (None, SessionState::Running) => TaskMark::Running,
        (None, SessionState::Starting) => TaskMark::Preparing,
        (None, SessionState::WaitingForInput | SessionState::Idle)
            if session.error_message.is_some() =>
        {
            TaskMark::Failed
        }
        (None, SessionState::WaitingForInput | SessionState::Idle) => TaskMark::TurnFinished,
        (None, SessionState::Created) => TaskMark::Backlog,
        (None, SessionState::Completed) => TaskMark::WorkflowComplete,
        (None, SessionState::Failed) => TaskMark::Failed,
        (None, SessionState::Cancelled) => TaskMark::Cancelled,
    }
}

/// A session by its name, its agent, and how it stands.
fn described(locale: Locale, view: &TaskPageView, id: SessionId) -> Option<String> {
    let session = view.sessions.iter().find(|session| session.id == id)?;
    let tab = tabs(locale, view).into_iter().find(|tab| tab.id == id)?;
    let state = word(locale, tab.mark);
    Some(if session.name.is_some() {
        t!(
            locale,
            taskpage.delete_session_which,
            name = tab.name,
            agent = session.agent_name.clone(),
            state = state
        )
    } else {
        // Its name says the agent already.
        t!(
            locale,
            taskpage.delete_session_unnamed,
            name = tab.name,
            state = state
        )
    })
}

/// The sessions as links, when there is more than one.
#[component]
pub(super) fn SessionTabs(room: Room) -> impl IntoView {
    let locale = room.locale;
    let tabs = room.part(move |view| tabs(locale, view));
    let tab_view = move |id: SessionId| {
        let tab = Memo::new(move |before: Option<&Option<Tab>>| {
            let now = tabs.with(|tabs| tabs.iter().find(|tab| tab.id == id).cloned());
            // A tab on its way out keeps its words.
            now.or_else(|| before.cloned().flatten())
        });
        let mark = Signal::derive(move || {
            tab.with(|tab| tab.as_ref().map_or(TaskMark::Backlog, |tab| tab.mark))
        });
        view! {
            <a
                class="task-tab"
                data-testid="session-tab"
                href=format!("{}?session={id}", paths::task(room.id))
                aria-current=move || (room.shown.get() == Some(id)).then_some("page")
            >
                <StateIcon mark/>
                <span class="truncate">{move || tab.get().map(|tab| tab.name)}</span>
                <Show when=move || tab.with(|tab| tab.as_ref().is_some_and(|tab| tab.is_primary))>
                    <span class="text-12 text-muted font-normal">{t!(locale, taskpage.primary)}</span>
                </Show>
            </a>
        }
    };
    view! {
        <Show when=move || tabs.with(|tabs| tabs.len() > 1)>
            <nav class="task-tabs" aria-label=t!(locale, taskpage.sessions)>
                <For
                    each=move || tabs.with(|tabs| tabs.iter().map(|tab| tab.id).collect::<Vec<_>>())
                    key=|id| *id
                    children=tab_view
                />
            </nav>
        </Show>
    }
}

const MENU_CLASS: &str = "session-menu inline-flex flex-row-reverse items-center gap-1 h-7 max-sm:h-11 px-2 rounded-md text-12 text-muted \
                          hover:bg-hover hover:text-text";

/// The agent of the session that is shown, and what can be done with the session.
#[component]
pub(super) fn SessionMenu(room: Room, session: Memo<Option<SessionView>>) -> impl IntoView {
    let locale = room.locale;
    let asked = Asked {
        stop: RwSignal::new(false),
        rename: RwSignal::new(false),
        new: RwSignal::new(false),
        delete: RwSignal::new(false),
    };
    let stopping = asked.stop;
    let name = Memo::new(move |_| session.with(|s| s.as_ref().map(|s| s.agent_name.clone())));
    let items = Signal::derive(move || {
        session.with(|session| {
            let session = session.as_ref();
            session.map_or_else(Vec::new, |session| actions(room, session, asked))
        })
    });
    let stop = Callback::new(move |()| {
        stopping.set(false);
        if let Some(session) = room.shown.get_untracked() {
            room.act(session_stop(session));
        }
    });
    view! {
        {move || {
            name.get()
                .map(|name| {
                    view! {
                        <Menu
                            label=name
                            glyph=Glyph::ChevronDown
                            button_class=MENU_CLASS
                            labelled=true
                            items
                            test_id="session-menu"
                        />
                    }
                })
        }}
        <Dialog open=stopping title=t!(locale, taskpage.stop_heading) test_id="stop-session-dialog">
            <p class="p-4">{t!(locale, taskpage.stop_text)}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| stopping.set(false))>
                    {t!(locale, taskpage.keep_going)}
                </Button>
                <Button weight=Weight::Danger glyph=Glyph::CircleStop on_press=stop test_id="confirm-stop">
                    {t!(locale, taskpage.stop)}
                </Button>
            </footer>
        </Dialog>
        <RenameSession room session open=asked.rename/>
        <NewSession room session open=asked.new/>
        <DeleteSession room open=asked.delete describe=described/>
    }
}

/// What is asked before it is done.
#[derive(Debug, Clone, Copy)]
struct Asked {
    stop: RwSignal<bool>,
    rename: RwSignal<bool>,
    new: RwSignal<bool>,
    delete: RwSignal<bool>,
}

fn actions(room: Room, session: &SessionView, asked: Asked) -> Vec<MenuItem> {
    let locale = room.locale;
    let id = session.id;
    let item = |label: &'static str, glyph, danger, on_choose| MenuItem {
        label: label.to_owned(),
        glyph,
        danger,
        on_choose,
    };
    let mut items = Vec::new();
    if session.turn_started_at.is_some() {
        items.push(item(
            t!(locale, taskpage.cancel_turn),
            Glyph::CircleStop,
            false,
            Callback::new(move |()| room.act(session_cancel(id))),
        ));
    }
    if session.state.is_terminal() {
        items.push(item(
            t!(locale, taskpage.resume),
            Glyph::Play,
            false,
            Callback::new(move |()| room.act(session_resume(id))),
        ));
    } else {
        items.push(item(
            t!(locale, taskpage.stop_session),
            Glyph::Ban,
            true,
            Callback::new(move |()| asked.stop.set(true)),
        ));
    }
    items.push(item(
        t!(locale, taskpage.rename_session),
        Glyph::Pencil,
        false,
        Callback::new(move |()| asked.rename.set(true)),
    ));
    if !session.is_primary {
        items.push(item(
            t!(locale, taskpage.make_primary),
            Glyph::Check,
            false,
            Callback::new(move |()| room.act(session_set_primary(id))),
        ));
    }
    items.push(item(
        t!(locale, taskpage.new_session),
        Glyph::Plus,
        false,
        Callback::new(move |()| asked.new.set(true)),
    ));
    let logs = if room.show_logs.get() {
        t!(locale, taskpage.hide_logs)
    } else {
        t!(locale, taskpage.show_logs)
    };
    items.push(item(
        logs,
        Glyph::Terminal,
        false,
        Callback::new(move |()| room.show_logs.update(|show| *show = !*show)),
    ));
    items.push(item(
        t!(locale, taskpage.delete_session),
        Glyph::Trash2,
        true,
        Callback::new(move |()| asked.delete.set(true)),
    ));
    items
}
