//! The layout around the pages of a workspace: it reads the board once, keeps it current, and holds frame and dialogs.
//!
//! Pages find a [`Workbench`] in their context. The whole is rendered in one sweep on the server, so that every page can be read
//! before and without the browser's half.

pub mod changes;
pub mod delete_task;
pub mod dialog_form;
pub mod fields;
pub mod new_subtask;
pub mod new_task;
pub mod new_workspace;
pub mod predecessors;
pub mod repository_field;
pub mod search;
mod state;
mod switcher;

pub use state::{Workbench, use_workbench};

use crate::api::board_page::{Board, board_page};
use crate::api::questions::{Asks, inbox};
use crate::carried::Carried;
use crate::components::frame::{AppFrame, FrameData};
use crate::components::states::{ErrorState, Skeleton};
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::keys::{Command, Commands};
use crate::live::{Topic, use_live};
use crate::paths;
use crate::prefs::use_preferences;
use crate::title::{NeedsOperator, PageTitle};
use delete_task::DeleteTask;
use domain::ids::{TaskId, WorkspaceId};
use domain::params::BoardOf;
use leptos::leptos_dom::helpers::window_event_listener_untyped;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::components::Outlet;
use leptos_router::hooks::{use_location, use_navigate};
use new_subtask::NewSubtask;
use new_task::NewTask;
use new_workspace::NewWorkspace;
use search::Search;
use std::time::Duration;

/// After the page: its dialogs are fetched when it has settled, so that they open at once.
const DIALOGS_AFTER: Duration = Duration::from_secs(2);

/// The layout.
#[component]
pub fn Layout() -> impl IntoView {
    // Both in one: server and browser must count their resources alike. Carried, since the reader of what comes with a page is
    // another one than that of answers: one for each type is enough.
    let location = use_location();
    let prefs = use_preferences();
    let board = Resource::new(
        || (),
        move |()| {
            let of = location.pathname.with_untracked(|path| board_of(path));
            let of = of.unwrap_or_else(|| BoardOf {
                workspace: prefs.workspace.get_untracked(),
                ..BoardOf::default()
            });
            async move {
                let view = board_page(of, None).await?;
                Ok::<_, AppError>(Carried::of((view, inbox().await?)))
            }
        },
    );
    view! {
        // What a page reads later must never put the skeleton in the place of everything.
        <Transition fallback=Loading>
            {move || Suspend::new(async move {
                match board.await.and_then(|read| read.open::<(Board, Asks)>()) {
                    Ok((view, asks)) => view! { <Loaded view asks/> }.into_any(),
                    Err(error) => {
                        let retry = Callback::new(move |()| board.refetch());
                        view! {
                            <PageTitle text=""/>
                            <main id="main" class="p-4">
                                <ErrorState error on_retry=retry/>
                            </main>
                        }
                        .into_any()
                    }
                }
            })}
        </Transition>
    }
}

/// Only seen when the workspace is entered from a page outside of it.
#[component]
fn Loading() -> impl IntoView {
    view! {
        <main id="main" class="p-4">
            <Skeleton lines=6/>
        </main>
    }
}

#[component]
fn Loaded(view: Board, asks: Asks) -> impl IntoView {
    let locale = use_locale();
    let live = use_live();
    let prefs = use_preferences();
    let workbench = Workbench::new(view, asks);
    provide_context(workbench);

    let NeedsOperator(count) = expect_context();
    count.set(workbench.needs_operator.get_untracked());
    Effect::new(move |_| count.set(workbench.needs_operator.get()));
    let shown = Memo::new(move |_| workbench.workspace.with(|workspace| workspace.id));
    Effect::new(move |_| prefs.set_workspace(shown.get()));
    Effect::new(move |before: Option<(WorkspaceId, u64)>| {
        let id = shown.get();
        let now = (
            id,
            live.revision(Topic::Tasks(id)) + live.revision(Topic::Setup),
        );
        // Also when it is another workspace: what happened between its reading and our listening went unheard.
        if before.is_some_and(|before| before != now) {
            workbench.reload();
        }
        now
    });

    Effect::new(move |before: Option<u64>| {
        let revision = live.revision(Topic::Attention);
        if before.is_some_and(|before| before != revision) {
            workbench.reload_asks();
        }
        revision
    });

    Effect::new(|_| {
        set_timeout(fetch_dialogs_if_online, DIALOGS_AFTER);
        let online = window_event_listener_untyped("online", |_| fetch_dialogs_if_online());
        on_cleanup(move || online.remove());
    });

    let location = use_location();
    let wanted = Memo::new(move |_| location.pathname.with(|path| board_of(path)));
    Effect::new(move |before: Option<Option<BoardOf>>| {
        let now = wanted.get();
        if let Some(of) = now.filter(|_| before.is_some_and(|before| before != now)) {
            workbench.show(of);
        }
        now
    });
    let current = Memo::new(move |_| location.pathname.with(|path| paths::task_of(path)));
    let commands: Commands = expect_context();
    commands.on(
        Command::NewTask,
        Callback::new(move |()| workbench.new_task.set(true)),
    );
    commands.on(
        Command::NewSubtask,
        Callback::new(move |()| {
            let parent = focused_task().or(current.get_untracked());
            let known = |id: &TaskId| {
                workbench
                    .by_id
                    .with_untracked(|tasks| tasks.contains_key(id))
            };
            if let Some(parent) = parent.filter(known) {
                workbench.open_subtask(parent);
            }
        }),
    );

    let navigate = use_navigate();
    commands.on(
        Command::GoBoard,
        Callback::new({
            let navigate = navigate.clone();
            move |()| navigate(&untrack(|| workbench.home()), Default::default())
        }),
    );

    let data = FrameData {
        home: Signal::derive(move || workbench.home()),
        workspace: Signal::derive(move || workbench.workspace.with(|one| one.name.clone())),
        workspaces: switcher::items(workbench, locale, navigate),
        tasks: workbench.nodes.into(),
        current: current.into(),
        needs_operator: workbench.needs_operator.into(),
        place: Signal::derive(move || {
            t!(
                locale,
                board.place,
                workspace = workbench.workspace.with(|workspace| workspace.name.clone()),
                workflow = workbench.workflow.with(|workflow| workflow.name.clone())
            )
        }),
    };
    view! {
        <AppFrame data>
            <Outlet/>
        </AppFrame>
        <NewTask/>
        <NewWorkspace/>
        <NewSubtask/>
        <DeleteTask/>
        <Search/>
    }
}

/// Whose board belongs to the page at this path; `None` when any does.
fn board_of(path: &str) -> Option<BoardOf> {
    let workspace = paths::workspace_of(path).and_then(|id| id.parse().ok());
    let task = paths::task_of(path);
    (path == paths::HOME || workspace.is_some() || task.is_some())
        .then_some(BoardOf { task, workspace })
}

/// Whoever is offline by now fetches them when that is over; whoever opens a dialog earlier fetches it then.
fn fetch_dialogs_if_online() {
    if window().navigator().on_line() {
        spawn_local(async { fetch_dialogs().await.unwrap_or_default() });
    }
}

/// Fetches what is in the dialogs. Each entry of the part has to be told that it is there.
async fn fetch_dialogs() -> Result<(), AppError> {
    new_task::preload().await?;
    new_subtask::preload().await?;
    new_workspace::preload().await?;
    search::preload().await?;
    Ok(())
}

/// The task whose card or row has the focus.
fn focused_task() -> Option<TaskId> {
    let focused = document().active_element()?;
    let row = focused.closest("[data-task]").ok()??;
    row.get_attribute("data-task")?.parse().ok()
}

#[test]
fn a_page_says_whose_board_is_beside_it_or_leaves_the_one_that_is() {
    let (task, workspace) = (TaskId::new(), WorkspaceId::new());
    assert_eq!(board_of(paths::HOME), Some(BoardOf::default()));
    assert_eq!(
        board_of(&paths::board(workspace)).unwrap().workspace,
        Some(workspace)
    );
    assert_eq!(board_of(&paths::task(task)).unwrap().task, Some(task));
    for any in [paths::INBOX, paths::RUNS, "/w/1", "/tasks/"] {
        assert_eq!(board_of(any), None, "{any}");
    }
}
