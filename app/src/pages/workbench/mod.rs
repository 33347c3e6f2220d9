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
pub mod predecessors;
pub mod search;
mod state;

pub use state::{Workbench, use_workbench};

use crate::api::board_page::board_page;
use crate::api::questions::inbox;
use crate::components::frame::{AppFrame, FrameData};
use crate::components::states::{ErrorState, Skeleton};
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::keys::{Command, Commands};
use crate::live::{Topic, use_live};
use crate::paths;
use crate::title::{NeedsOperator, PageTitle};
use delete_task::DeleteTask;
use domain::ids::TaskId;
use domain::view::{BoardView, InboxView};
use leptos::prelude::*;
use leptos_router::components::Outlet;
use leptos_router::hooks::use_location;
use new_subtask::NewSubtask;
use new_task::NewTask;
use search::Search;

/// The layout.
#[component]
pub fn Layout() -> impl IntoView {
    // Both in one: server and browser must count their resources alike.
    let board = Resource::new(
        || (),
        |()| async {
            let view = board_page(None, None).await?;
            Ok::<_, AppError>((view, inbox().await?))
        },
    );
    view! {
        // What a page reads later must never put the skeleton in the place of everything.
        <Transition fallback=Loading>
            {move || Suspend::new(async move {
                match board.await {
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
fn Loaded(view: BoardView, asks: InboxView) -> impl IntoView {
    let locale = use_locale();
    let live = use_live();
    let workspace = view.workspace.id;
    let workbench = Workbench::new(view, asks);
    provide_context(workbench);

    let NeedsOperator(count) = expect_context();
    count.set(workbench.needs_operator.get_untracked());
    Effect::new(move |_| count.set(workbench.needs_operator.get()));
    Effect::new(move |before: Option<u64>| {
        let revision = live.revision(Topic::Tasks(workspace));
        if before.is_some_and(|before| before != revision) {
            workbench.reload();
        }
        revision
    });

    Effect::new(move |before: Option<u64>| {
        let revision = live.revision(Topic::Attention);
        if before.is_some_and(|before| before != revision) {
            workbench.reload_asks();
        }
        revision
    });

    let location = use_location();
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

    let data = FrameData {
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
        <NewSubtask/>
        <DeleteTask/>
        <Search/>
    }
}

/// The task whose card or row has the focus.
fn focused_task() -> Option<TaskId> {
    let focused = document().active_element()?;
    let row = focused.closest("[data-task]").ok()??;
    row.get_attribute("data-task")?.parse().ok()
}
