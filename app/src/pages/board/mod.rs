//! The board: a column for each step, a card for each task.
//!
//! Wide screens show the columns side by side, phones one at a time; both are the same list that scrolls sideways and snaps, so
//! a swipe works without a script. Cards are moved by dragging (see `drag`), with the keyboard (see `carry`) or by their menu.

pub mod card;
pub mod carry;
pub mod column;
pub mod drag;
pub mod navigator;

use crate::api::board_page::demo_start;
use crate::components::button::{Button, Weight};
use crate::components::frame::NewTaskFab;
use crate::components::glyph::Glyph;
use crate::components::states::{EmptyState, ErrorState, Skeleton, what_happened};
use crate::components::toast::use_toasts;
use crate::i18n::{t, use_locale};
use crate::pages::not_found::Missing;
use crate::pages::workbench::use_workbench;
use crate::paths;
use crate::title::PageTitle;
use carry::Carry;
use column::Column;
use domain::ids::{StepId, WorkspaceId};
use domain::params::BoardOf;
use drag::Drag;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::{use_location, use_navigate};
use navigator::Navigator;

/// The page of the oldest workspace, or of the one that the address names.
#[component]
pub fn Board() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let location = use_location();
    let named = Memo::new(move |_| {
        let id = location
            .pathname
            .with(|path| paths::workspace_of(path).map(str::to_owned));
        id.map(|id| id.parse::<WorkspaceId>().ok())
    });
    let meant = move || BoardOf {
        workspace: named.get().flatten(),
        ..BoardOf::default()
    };
    let is_here = Memo::new(move |_| named.get() != Some(None) && workbench.shows(meant()));
    view! {
        <Show
            when=move || is_here.get()
            fallback=move || {
                if let Some(error) = workbench.not_arrived.get() {
                    let retry = Callback::new(move |()| workbench.show(untrack(meant)));
                    view! { <div class="p-4"><ErrorState error on_retry=retry/></div> }.into_any()
                } else if workbench.arriving.with(Option::is_some) {
                    view! { <div class="p-4"><Skeleton lines=6/></div> }.into_any()
                } else {
                    view! { <Missing text=t!(locale, board.no_workspace) href=paths::HOME back=t!(locale, shell.to_board)/> }
                        .into_any()
                }
            }
        >
            <Shown/>
        </Show>
    }
    .into_any()
}

/// The board that is here.
#[component]
fn Shown() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let is_empty = Memo::new(move |_| workbench.tasks.with(Vec::is_empty));
    view! {
        <PageTitle text=move || workbench.workflow.with(|workflow| workflow.name.clone())/>
        <Show when=move || !is_empty.get() fallback=Nothing>
            <Columns/>
        </Show>
        <Show when=move || !is_empty.get()>
            <NewTaskFab/>
        </Show>
        <h1 class="sr-only" data-testid="swimlane-header">
            {move || t!(locale, board.title, workflow = workbench.workflow.with(|workflow| workflow.name.clone()))}
        </h1>
    }
}

#[component]
fn Columns() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let drag = Drag::new(workbench);
    let carry = Carry::new(workbench, locale);
    let shown = RwSignal::new(0_usize);
    let scroller = NodeRef::<leptos::html::Div>::new();
    let steps = Memo::new(move |_| {
        workbench
            .steps
            .with(|steps| steps.iter().map(|step| step.id).collect::<Vec<StepId>>())
    });
    view! {
        <div class="board-frame" data-testid="swimlane-container">
            <Navigator scroller shown/>
            <div
                node_ref=scroller
                class="board"
                data-scrolls-sideways=""
                data-dragging=move || drag.held().is_some().then_some("")
                on:scroll=move |event| navigator::follow(&event, shown)
                on:pointerdown=move |event| drag.pressed(&event)
                on:pointermove=move |event| drag.moved(&event)
                on:pointerup=move |_| drag.released()
                on:pointercancel=move |_| drag.cancel()
                on:lostpointercapture=move |_| drag.cancel()
                // The browser would drag the link's address instead.
                on:dragstart=move |event| event.prevent_default()
                on:click=move |event| {
                    if drag.take_click() {
                        event.prevent_default();
                    }
                }
                on:keydown=move |event| {
                    if event.key() == "Escape" && drag.held().is_some() {
                        drag.cancel();
                    } else if carry.on_key(&event) {
                        event.prevent_default();
                    }
                }
            >
                <For each=move || steps.get() key=|id| *id let:step>
                    <Column step drag carry/>
                </For>
            </div>
            <p id="board-keys" hidden>{t!(locale, board.keys)}</p>
            <p class="board-hint" role="status" data-shown=move || carry.is_carrying().then_some("")>
                {move || carry.said()}
            </p>
            <drag::Ghost drag/>
        </div>
    }
    .into_any()
}

/// The board before the first task.
#[component]
fn Nothing() -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();
    let toasts = use_toasts();
    let navigate = use_navigate();
    let busy = RwSignal::new(false);
    let demo = Callback::new(move |()| {
        busy.set(true);
        let workspace = workbench.workspace.with_untracked(|workspace| workspace.id);
        let navigate = navigate.clone();
        spawn_local(async move {
            match demo_start(Some(workspace)).await {
                Ok(created) => {
                    workbench.reload();
                    navigate(&paths::task(created.task.id), Default::default());
                }
                Err(error) => {
                    let _ = busy.try_set(false);
                    let what = what_happened(locale, error.code());
                    toasts.failed([what, &error.0.message].join(" "));
                }
            }
        });
    });
    view! {
        <EmptyState text=t!(locale, shell.home_empty)>
            <div class="flex flex-wrap justify-center gap-2">
                <Button weight=Weight::Primary glyph=Glyph::Play busy on_press=demo test_id="try-demo">
                    {t!(locale, board.try_demo)}
                </Button>
                <Button glyph=Glyph::Plus on_press=Callback::new(move |()| workbench.new_task.set(true))>
                    {t!(locale, task.new)}
                </Button>
            </div>
        </EmptyState>
    }
    .into_any()
}
