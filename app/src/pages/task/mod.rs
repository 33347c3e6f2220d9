//! The page of a task: what was said, what is asked, and where the operator answers.
//!
//! The server renders all of it, transcript included, so that it can be read before any script runs. In the browser it is made once a
//! task and then only told what changed ([`room`]): nothing that is typed, folded or scrolled is lost to an update.

#![expect(
    unreachable_pub,
    reason = "the component macro makes a public struct of the properties of each"
)]

mod conversation;
mod dock;
mod entry;
mod fields;
mod findings;
mod flow;
mod head;
mod phase;
mod plan;
mod queue;
mod record;
mod related;
mod repositories;
mod room;
mod session_dialogs;
mod sessions;
mod side;
mod title;
mod tool;
mod walkthrough;

use crate::api::papers::{Papers, papers_of};
use crate::api::sessions::{TranscriptPage, transcript};
use crate::api::tasks::{task_page, task_related};
use crate::carried::Carried;
use crate::components::frame::SidePanel;
use crate::components::states::Skeleton;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::lazy;
use crate::live::{Live, Topic, use_live};
use crate::pages::not_found::Missing;
use crate::paths;
use crate::title::PageTitle;
use conversation::ConversationOfTask;
use dock::Dock;
use domain::error::ErrorCode;
use domain::ids::{SessionId, TaskId};
use domain::view::{RelatedTasks, TaskPageView};
use head::Head;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};
use plan::Editor;
use room::Room;
use serde::{Deserialize, Serialize};
use side::{Side, SideContent};
use std::pin::Pin;
use wasm_split_helpers::wasm_split;

/// The task that the address names, as it was first read.
///
/// It is read by the layout and not by the page: server and browser must count their resources alike, and what stands within the
/// layout's suspense is made once or twice on the server, as the timing has it.
#[derive(Debug, Clone, Copy)]
pub struct TaskOfAddress(Resource<Result<First, AppError>>);

/// Which task was asked for, and what the page begins with if there is such a task: a [`Loaded`].
type First = (Option<TaskId>, Option<Carried>);

impl TaskOfAddress {
    /// Puts it into the context of the pages.
    pub fn provide() {
        let live = use_live();
        let query = use_query_map();
        let location = use_location();
        let id = Memo::new(move |_| location.pathname.with(|path| paths::task_of(path)));
        provide_context(Self(Resource::new(
            move || id.get(),
            move |id| async move {
                let Some(task) = id else {
                    return Ok((None, None));
                };
                let wanted = query.with_untracked(room::wanted_session);
                Ok((id, load(task, wanted, live).await?.await?))
            },
        )));
    }
}

/// The page of the task that the address names.
#[component]
pub fn TaskPage() -> impl IntoView {
    let TaskOfAddress(first) = expect_context();
    let location = use_location();
    let id = Memo::new(move |_| location.pathname.with(|path| paths::task_of(path)));
    lazy::view(
        move || async move {
            match first.await? {
                (asked, _) if asked != id.get_untracked() => {
                    // Of the task that was shown before; the right one is on its way.
                    Ok(view! { <Skeleton lines=6/> }.into_any())
                }
                (_, Some(loaded)) => present(loaded).await,
                (_, None) => Ok(missing()),
            }
        },
        move || {
            first.refetch();
        },
    )
}

/// What the page begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    view: TaskPageView,
    related: RelatedTasks,
    papers: Papers,
    /// The newest messages of the session that is shown first.
    transcript: Option<(SessionId, TranscriptPage)>,
}

/// The page once it is loaded: all that makes it a part of its own.
#[wasm_split(task, preload(preload), fallible)]
pub(crate) fn present(loaded: Carried) -> Result<AnyView, AppError> {
    let loaded = loaded.open::<Loaded>()?;
    Ok(view! { <Present loaded/> }.into_any())
}

/// Everything the page begins with, being read.
type Loading = Pin<Box<dyn Future<Output = Result<Option<Carried>, AppError>> + Send>>;

/// Reads everything the page begins with.
#[wasm_split(task, fallible)]
fn load(id: TaskId, wanted: Option<SessionId>, live: Live) -> Result<Loading, AppError> {
    Ok(Box::pin(async move {
        let loaded = load_all(id, wanted, live).await?;
        Ok(loaded.map(Carried::of))
    }))
}

/// Everything the page begins with; `None` when there is no such task.
async fn load_all(
    id: TaskId,
    wanted: Option<SessionId>,
    live: Live,
) -> Result<Option<Loaded>, AppError> {
    // Listening begins before reading: what happens in between is heard and read again.
    let listen = |topic| untrack(|| live.revision(topic));
    listen(Topic::Task(id));
    listen(Topic::Papers(id));
    let view = match task_page(id).await {
        Ok(view) => view,
        Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let related = task_related(id).await?;
    let papers = papers_of(id).await?;
    let transcript = match room::first_session(&view, wanted) {
        Some(session) => {
            listen(Topic::Transcript(session));
            // Noted while nobody looked; the page that is read now has it all.
            let _ = live.take_changed(session);
            Some((session, transcript(session, None).await?))
        }
        None => None,
    };
    Ok(Some(Loaded {
        view,
        related,
        papers,
        transcript,
    }))
}

/// The page once it is loaded.
#[component]
fn Present(loaded: Loaded) -> impl IntoView {
    let locale = use_locale();
    let Loaded {
        view,
        related,
        papers,
        transcript,
    } = loaded;
    let room = Room::open(view, related);
    let side = Side::open(&papers);
    let editor = Editor::open(room, papers);
    view! {
        <PageTitle text=move || room.view.with(|view| view.task.title.clone())/>
        <Show when=move || !room.gone.get() fallback=missing>
            <div class="task-page">
                <div class="task-main">
                    <Head room side/>
                    <ConversationOfTask room first=transcript.clone()/>
                    <Dock room side/>
                </div>
                <SidePanel title=move || side.heading(locale) open_sheet=side.sheet test_id="related-panel">
                    <SideContent side room editor/>
                </SidePanel>
            </div>
        </Show>
    }
    .into_any()
}

/// There is no such task, or not any more.
fn missing() -> AnyView {
    let locale = use_locale();
    view! { <Missing text=t!(locale, taskpage.missing) href=paths::HOME back=t!(locale, shell.to_board)/> }.into_any()
}
