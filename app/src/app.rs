//! The root: what every page finds in its context, and which page belongs to which address.

use crate::clock::Clock;
use crate::components::dom_id::DomIds;
use crate::components::key_help::KeyHelp;
use crate::components::toast::{Toaster, Toasts};
use crate::components::tooltip::OpenTooltip;
use crate::keys::{Command, Commands};
use crate::live::Live;
use crate::pages::assistant::{self, AssistantPage};
use crate::pages::board::Board;
use crate::pages::desk::{DeskOfAddress, Reading};
use crate::pages::inbox::Inbox;
use crate::pages::jobs::{self, JobPage, JobsPage};
use crate::pages::not_found::NotFound;
use crate::pages::runs::{self, RunPage, RunsPage};
use crate::pages::settings::{self, SettingsPage};
use crate::pages::task::{TaskOfAddress, TaskPage};
use crate::pages::workbench::Layout;
use crate::paths;
use crate::prefs::Preferences;
use crate::title::NeedsOperator;
use crate::viewport::Viewport;
use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::hooks::use_navigate;
use leptos_router::params::ParamsMap;
use leptos_router::{SsrMode, path};

/// The app, in the body of the document.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let _ = Preferences::provide();
    DomIds::provide();
    Clock::provide();
    Viewport::provide();
    OpenTooltip::provide();
    Toasts::provide();
    Live::provide();
    crate::faults::watch();
    provide_context(NeedsOperator(RwSignal::new(0)));
    let _ = Commands::provide();

    view! {
        <Router>
            <GlobalKeys/>
            <Pages/>
            <KeyHelp/>
            <Toaster/>
        </Router>
    }
}

/// Which page belongs to which address.
#[component]
fn Pages() -> impl IntoView {
    #[cfg(feature = "gallery")]
    return view! {
        <Routes fallback=NotFound>
            <WorkbenchRoutes/>
            <Route path=path!("/_gallery") view=crate::gallery::Gallery/>
            <Route path=path!("/_gallery/board") view=crate::gallery::GalleryBoard/>
            <Route path=path!("/_gallery/task") view=crate::gallery::GalleryTask/>
        </Routes>
    };
    #[cfg(not(feature = "gallery"))]
    return view! {
        <Routes fallback=NotFound>
            <WorkbenchRoutes/>
        </Routes>
    };
}

/// The pages of a workspace, in their frame. Rendered in one sweep, so that they can be read without a script.
#[component(transparent)]
fn WorkbenchRoutes() -> impl leptos_router::MatchNestedRoutes + Clone {
    view! {
        <ParentRoute path=path!("") view=WithAddressed ssr=SsrMode::Async>
            <Route path=path!("/") view=Board/>
            <Route path=path!("/w/:id") view=Board/>
            <Route path=path!("/inbox") view=Inbox/>
            <Route path=path!("/tasks/:id") view=TaskPage/>
            <Route path=path!("/assistant") view=AssistantPage/>
            <Route path=path!("/jobs") view=JobsPage/>
            <Route path=path!("/jobs/:id") view=JobPage/>
            <Route path=path!("/runs") view=RunsPage/>
            <Route path=path!("/runs/:id") view=RunPage/>
            <Route path=path!("/settings") view=SettingsPage/>
        </ParentRoute>
    }
    .into_inner()
}

/// The layout, with the task, conversation or job that the address names already being read: pages within find it in their context.
#[component]
fn WithAddressed() -> impl IntoView {
    TaskOfAddress::provide();
    DeskOfAddress::provide(desk_first);
    Layout()
}

/// Reads what the page of the assistant, of all jobs, or of one begins with.
fn desk_first(path: String, query: &ParamsMap) -> Reading {
    let asked = jobs::asked_by(query);
    let runs_asked = runs::asked_by(query);
    Box::pin(async move {
        match path.as_str() {
            paths::ASSISTANT => assistant::load().await?.await.map(Some),
            paths::JOBS => jobs::load(asked).await?.await.map(Some),
            paths::RUNS => runs::load(runs_asked).await?.await.map(Some),
            paths::SETTINGS => settings::load().await?.await.map(Some),
            _ => match (paths::job_of(&path), paths::run_of(&path)) {
                (Some(key), _) => jobs::load_one(key.to_owned()).await?.await,
                (_, Some(key)) => runs::load_one(key.to_owned()).await?.await,
                (None, None) => Ok(None),
            },
        }
    })
}

/// The keys that work on every page. Inside of the router, since some of them navigate.
#[component]
fn GlobalKeys() -> impl IntoView {
    let commands: Commands = expect_context();
    let go = |address: &'static str| {
        let navigate = use_navigate();
        Callback::new(move |()| navigate(address, leptos_router::NavigateOptions::default()))
    };
    commands.on(Command::GoBoard, go(paths::HOME));
    commands.on(Command::GoInbox, go(paths::INBOX));
    commands.on(Command::GoAssistant, go(paths::ASSISTANT));
    commands.on(Command::GoJobs, go(paths::JOBS));
    commands.on(Command::GoRuns, go(paths::RUNS));
    commands.on(
        Command::Next,
        Callback::new(|()| crate::components::task_tree::move_focus(1)),
    );
    commands.on(
        Command::Previous,
        Callback::new(|()| crate::components::task_tree::move_focus(-1)),
    );
}
