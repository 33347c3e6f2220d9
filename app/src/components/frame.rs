//! The frame around every page: top bar, sidebar and main part on wide screens; on narrow ones a top bar, the page, a bottom bar
//! within reach of a thumb, and the task tree in a sheet.
//!
//! The tree is in the page once. Which place it has is decided by style until the page is hydrated, and by a media query after.

use super::button::{Button, IconButton, IconLink, Weight};
use super::dialog::{Dialog, Frame};
use super::forest::TaskNode;
use super::glyph::Glyph;
use super::icon::Icon;
use super::menu::{Menu, MenuItem};
use super::task_tree::TaskTree;
use crate::i18n::{plural, t, use_locale};
use crate::keys::{Command, Commands};
use crate::live::{Link, use_live};
use crate::paths;
use crate::prefs::{SIDEBAR_WIDTH, Theme, use_preferences};
use crate::viewport::Viewport;
use domain::ids::TaskId;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

/// What the frame shows besides the page.
#[derive(Debug, Clone, Copy)]
pub struct FrameData {
    /// All tasks of the workspace.
    pub tasks: Signal<Vec<TaskNode>>,
    /// The task whose page this is.
    pub current: Signal<Option<TaskId>>,
    /// How many tasks need the operator.
    pub needs_operator: Signal<usize>,
    /// Where its board is.
    pub home: Signal<String>,
    /// What the workspace is called.
    pub workspace: Signal<String>,
    /// The workspaces that can be gone to, and what else can be done about them.
    pub workspaces: Signal<Vec<MenuItem>>,
    /// Where the page is: workspace and workflow.
    pub place: Signal<String>,
}

/// The frame. It stays when the page in it changes.
#[component]
pub fn AppFrame(
    /// See [`FrameData`].
    data: FrameData,
    /// The page.
    children: Children,
) -> impl IntoView {
    let locale = use_locale();
    let prefs = use_preferences();
    let viewport: Viewport = expect_context();
    let switcher = RwSignal::new(false);
    provide_context(TaskSwitcher(switcher));
    // What was chosen in the sheet is under it.
    let location = use_location();
    Effect::new(move |before: Option<String>| {
        let now = location.pathname.get();
        if before.is_some_and(|before| before != now) {
            switcher.set(false);
        }
        now
    });

    view! {
        <a class="skip-link" href="#main">{t!(locale, shell.skip)}</a>
        <div class="frame" data-sidebar=move || if prefs.sidebar_open.get() { "open" } else { "closed" }>
            {top_bar(data)}
            <aside class="frame-sidebar" aria-label=t!(locale, shell.sidebar)>
                <Show when=move || !viewport.is_narrow()>{sidebar_content(data)}</Show>
                <SidebarEdge/>
            </aside>
            <main id="main" class="frame-main" tabindex="-1">
                {children()}
            </main>
            {bottom_bar(data, switcher)}
        </div>
        <Dialog open=switcher title=t!(locale, task.tree) frame=Frame::Sheet test_id="task-switcher">
            {sidebar_content(data)}
        </Dialog>
    }
    .into_any()
}

/// Opens the task switcher from anywhere on a narrow screen.
#[derive(Debug, Clone, Copy)]
pub struct TaskSwitcher(pub RwSignal<bool>);

fn top_bar(data: FrameData) -> impl IntoView {
    let locale = use_locale();
    let location = use_location();
    let here = move |address: &str| {
        let is_here = location.pathname.with(|path| path == address);
        is_here.then_some("page")
    };
    let prefs = use_preferences();
    let commands: Commands = expect_context();
    view! {
        <header class="frame-top">
            <span class="max-lg:hidden">
                <IconButton
                    glyph=Glyph::PanelLeft
                    label=t!(locale, shell.toggle_sidebar)
                    expanded=Signal::derive(move || prefs.sidebar_open.get())
                    on_press=Callback::new(move |()| prefs.set_sidebar_open(!prefs.sidebar_open.get_untracked()))
                />
            </span>
            <a class="shrink-0 font-semibold" href=data.home>{t!(locale, shell.product)}</a>
            <span class="min-w-0 truncate text-muted">{move || data.place.get()}</span>
            <span class="flex-1"></span>
            <LinkNotice/>
            <a class="top-link max-lg:hidden" href=paths::JOBS aria-current=move || here(paths::JOBS)>
                <Icon glyph=Glyph::ListChecks class="w-4 h-4 shrink-0"/>
                {t!(locale, shell.jobs)}
            </a>
            <a class="top-link max-lg:hidden" href=paths::RUNS aria-current=move || here(paths::RUNS)>
                <Icon glyph=Glyph::Plug class="w-4 h-4 shrink-0"/>
                {t!(locale, shell.runs)}
            </a>
            <a class="top-link max-lg:hidden" href=paths::ASSISTANT aria-current=move || here(paths::ASSISTANT)>
                <Icon glyph=Glyph::MessageSquare class="w-4 h-4 shrink-0"/>
                {t!(locale, shell.assistant)}
            </a>
            <span class="max-sm:hidden"><NeedsYou count=data.needs_operator/></span>
            <span class="max-sm:hidden flex">
                <IconButton
                    glyph=Glyph::Search
                    label=t!(locale, shell.search)
                    on_press=commands.callback(Command::Search)
                />
                <ThemeToggle/>
                <IconButton
                    glyph=Glyph::Keyboard
                    label=t!(locale, keys.heading)
                    on_press=commands.callback(Command::Help)
                />
                <IconLink glyph=Glyph::Settings label=t!(locale, shell.settings) href=paths::SETTINGS/>
            </span>
        </header>
    }
    .into_any()
}

fn sidebar_content(data: FrameData) -> impl IntoView {
    let locale = use_locale();
    let commands: Commands = expect_context();
    view! {
        <div class="flex flex-col gap-2 h-full p-2 overflow-y-auto">
            <Menu
                label=move || t!(locale, shell.workspace, name = data.workspace.get())
                glyph=Glyph::SquareKanban
                button_class="workspace-button"
                text=data.workspace
                items=data.workspaces
                test_id="workspace-switcher"
            />
            <Button
                glyph=Glyph::Plus
                on_press=commands.callback(Command::NewTask)
                test_id="new-task"
            >
                {t!(locale, task.new)}
            </Button>
            <TaskTree tasks=data.tasks current=data.current/>
        </div>
    }
    .into_any()
}

fn bottom_bar(data: FrameData, switcher: RwSignal<bool>) -> impl IntoView {
    let locale = use_locale();
    let prefs = use_preferences();
    let commands: Commands = expect_context();
    let item = |label: &'static str, glyph, run: Callback<()>| MenuItem {
        label: label.to_owned(),
        glyph,
        danger: false,
        on_choose: run,
    };
    let navigate = use_navigate();
    let to = move |address: &'static str| {
        let navigate = navigate.clone();
        Callback::new(move |()| navigate(address, NavigateOptions::default()))
    };
    let more = vec![
        item(t!(locale, shell.jobs), Glyph::ListChecks, to(paths::JOBS)),
        item(t!(locale, shell.runs), Glyph::Plug, to(paths::RUNS)),
        item(
            t!(locale, shell.settings),
            Glyph::Settings,
            to(paths::SETTINGS),
        ),
        item(
            t!(locale, shell.search),
            Glyph::Search,
            commands.callback(Command::Search),
        ),
        item(
            t!(locale, shell.next_theme),
            Glyph::Moon,
            Callback::new(move |()| prefs.set_theme(prefs.theme.get_untracked().next())),
        ),
        item(
            t!(locale, keys.heading),
            Glyph::Keyboard,
            commands.callback(Command::Help),
        ),
    ];
    view! {
        <nav class="frame-bottom" aria-label=t!(locale, shell.bottom_bar)>
            <a class="bottom-item" href=data.home>
                <Icon glyph=Glyph::SquareKanban class="w-5 h-5"/>
                {t!(locale, shell.board)}
            </a>
            <button
                type="button"
                class="bottom-item"
                data-testid="mobile-session-menu"
                aria-haspopup="dialog"
                on:click=move |_| switcher.set(true)
            >
                <Icon glyph=Glyph::ListTree class="w-5 h-5"/>
                {t!(locale, shell.tasks)}
            </button>
            <a class="bottom-item" href=paths::INBOX>
                <span class="relative">
                    <Icon glyph=Glyph::Inbox class="w-5 h-5"/>
                    <Show when=move || data.needs_operator.get() != 0>
                        <span class="badge" aria-hidden="true">{data.needs_operator}</span>
                        <span class="sr-only">
                            {move || plural!(locale, shell.needs_you, data.needs_operator.get())}
                        </span>
                    </Show>
                </span>
                {t!(locale, shell.inbox)}
            </a>
            <a class="bottom-item" href=paths::ASSISTANT>
                <Icon glyph=Glyph::MessageSquare class="w-5 h-5"/>
                {t!(locale, shell.assistant)}
            </a>
            <Menu label=t!(locale, shell.more) button_class="bottom-item" labelled=true items=more/>
        </nav>
    }
    .into_any()
}

/// The loud thing: how many tasks need the operator, one press away from anywhere.
#[component]
fn NeedsYou(count: Signal<usize>) -> impl IntoView {
    let locale = use_locale();
    view! {
        <a
            class="needs-you"
            data-now=move || (count.get() != 0).then_some("")
            href=paths::INBOX
            data-testid="needs-you"
        >
            <Icon glyph=Glyph::Inbox class="w-4 h-4 shrink-0"/>
            {move || match count.get() {
                0 => t!(locale, shell.needs_nobody).to_owned(),
                n => plural!(locale, shell.needs_you, n),
            }}
        </a>
    }
    .into_any()
}

/// Says quietly that changes do not arrive at present. Nothing while all is well.
#[component]
fn LinkNotice() -> impl IntoView {
    let locale = use_locale();
    let live = use_live();
    view! {
        <span role="status" class="shrink-0 text-12 text-muted">
            <Show when=move || live.link() == Link::Lost>
                <span class="inline-flex items-center gap-1">
                    <Icon glyph=Glyph::Unplug class="w-3.5 h-3.5 shrink-0"/>
                    {t!(locale, shell.offline)}
                </span>
            </Show>
        </span>
    }
    .into_any()
}

/// Goes round light, dark and what the system says.
#[component]
fn ThemeToggle() -> impl IntoView {
    let locale = use_locale();
    let prefs = use_preferences();
    let glyph = Signal::derive(move || match prefs.theme.get() {
        Theme::System => Glyph::Monitor,
        Theme::Light => Glyph::Sun,
        Theme::Dark => Glyph::Moon,
    });
    let label = move || match prefs.theme.get() {
        Theme::System => t!(locale, shell.theme_system),
        Theme::Light => t!(locale, shell.theme_light),
        Theme::Dark => t!(locale, shell.theme_dark),
    };
    view! {
        <IconButton
            glyph
            label
            on_press=Callback::new(move |()| prefs.set_theme(prefs.theme.get_untracked().next()))
            test_id="theme-toggle"
        />
    }
    .into_any()
}

/// The edge that the sidebar is pulled by: with the pointer, or with the arrow keys.
#[component]
fn SidebarEdge() -> impl IntoView {
    let locale = use_locale();
    let prefs = use_preferences();
    let (min, max, _) = SIDEBAR_WIDTH;
    let pulling = StoredValue::new(false);
    let pull_to = move |width: i32| {
        let width = u16::try_from(width.clamp(i32::from(min), i32::from(max))).unwrap_or(min);
        prefs.set_sidebar_width(width);
        let root = document().document_element();
        if let Some(root) =
            root.and_then(|root| wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(root).ok())
        {
            // A known property with a number; cannot fail.
            let _ = root
                .style()
                .set_property("--sidebar-width", &format!("{width}px"));
        }
    };
    view! {
        <div
            class="frame-edge"
            role="separator"
            tabindex="0"
            aria-orientation="vertical"
            aria-label=t!(locale, shell.sidebar_width)
            aria-valuemin=min
            aria-valuemax=max
            aria-valuenow=move || prefs.sidebar_width.get()
            on:pointerdown=move |event| {
                event.prevent_default();
                pulling.set_value(true);
                // Refused only when the pointer is already gone.
                let _ = event_target::<web_sys::Element>(&event).set_pointer_capture(event.pointer_id());
            }
            on:pointermove=move |event| {
                if pulling.get_value() {
                    pull_to(event.client_x());
                }
            }
            on:pointerup=move |_| pulling.set_value(false)
            on:pointercancel=move |_| pulling.set_value(false)
            on:keydown=move |event| {
                let width = i32::from(prefs.sidebar_width.get_untracked());
                match event.key().as_str() {
                    "ArrowLeft" => pull_to(width - 16),
                    "ArrowRight" => pull_to(width + 16),
                    "Home" => pull_to(i32::from(min)),
                    "End" => pull_to(i32::from(max)),
                    _ => return,
                }
                event.prevent_default();
            }
        ></div>
    }
    .into_any()
}

/// A panel at the right of a page on wide screens, a sheet on narrow ones.
#[component]
pub fn SidePanel(
    /// Its heading.
    #[prop(into)]
    title: TextProp,
    /// Opens the sheet, on narrow screens.
    open_sheet: RwSignal<bool>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
    /// What is in it.
    children: ChildrenFn,
) -> impl IntoView {
    let locale = use_locale();
    let prefs = use_preferences();
    let viewport: Viewport = expect_context();
    let content = StoredValue::new(children);
    let heading = title.clone();
    let name = title.clone();
    view! {
        <aside
            class="side-panel"
            data-testid=test_id
            aria-label=move || name.get()
            hidden=move || !prefs.panel_open.get()
        >
            <header class="flex items-center gap-2">
                <h2 class="flex-1 text-13">{move || heading.get()}</h2>
                <IconButton
                    glyph=Glyph::PanelRight
                    label=t!(locale, shell.hide_panel)
                    on_press=Callback::new(move |()| prefs.set_panel_open(false))
                />
            </header>
            <Show when=move || !viewport.is_narrow()>{content.with_value(|content| content())}</Show>
        </aside>
        <Dialog open=open_sheet title frame=Frame::Sheet>
            <div class="p-4 overflow-y-auto">{content.with_value(|content| content())}</div>
        </Dialog>
    }
    .into_any()
}

/// The floating button for a new task on phones.
#[component]
pub fn NewTaskFab() -> impl IntoView {
    let locale = use_locale();
    let commands: Commands = expect_context();
    view! {
        <div class="fab">
            <Button
                weight=Weight::Primary
                glyph=Glyph::Plus
                test_id="mobile-fab"
                on_press=commands.callback(Command::NewTask)
            >
                {t!(locale, task.new)}
            </Button>
        </div>
    }
}
