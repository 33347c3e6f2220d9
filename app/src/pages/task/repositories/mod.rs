//! What the task is about: its repositories, and below each the pull or merge requests that it cares for, with what is done about
//! them by itself.
//!
//! In a part of its own, which comes when the panel is first shown. What it shows is read then and again whenever the task changes; what
//! the operator does shows at once.

mod add;
mod attach;
mod request;

use super::room::Room;
use crate::api::repositories::{TaskCode, change_request_forget, code_of_task, repository_detach};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::repository_places::{provider_name, repository_places};
use crate::components::states::EmptyState;
use crate::error::AppError;
use crate::i18n::{Locale, plural, t};
use crate::lazy;
use crate::live::{Live, Topic, use_live};
use add::AddRequest;
use attach::Attach;
use domain::change_request::{ChangeRequestView, short_name};
use domain::ids::{ChangeRequestId, RepositoryId};
use domain::repository::{KnownHost, Reach, TaskRepository, reach};
use domain::view::{TaskPageView, TaskView};
use leptos::prelude::*;
use leptos::task::spawn_local;
use request::request_row;
use std::pin::Pin;
use std::time::Duration;
use wasm_split_helpers::wasm_split;

/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);

/// The panel: a skeleton until it is there, the error with a retry if it does not come.
#[component]
pub(super) fn RepositoriesPanel(room: Room) -> impl IntoView {
    let live = use_live();
    lazy::view(move || async move { open(room, live).await?.await }, || {})
}

/// The panel, being made.
type Opening = Pin<Box<dyn Future<Output = Result<AnyView, AppError>> + Send>>;

#[wasm_split(repositories, fallible)]
fn open(room: Room, live: Live) -> Result<Opening, AppError> {
    Ok(Box::pin(async move {
        // Listening begins before reading: what happens in between is heard and read again.
        let heard = untrack(|| heard(room, live));
        let code = read(room).await?;
        Ok(view! { <Panel room code heard/> }.into_any())
    }))
}

/// Grows when something changed that the panel shows.
fn heard(room: Room, live: Live) -> u64 {
    live.revision(Topic::Task(room.id)) + live.revision(Topic::Setup)
}

async fn read(room: Room) -> Result<TaskCode, AppError> {
    let workspace = room.view.with_untracked(|view| view.task.workspace_id);
    code_of_task(room.id, workspace).await
}

/// What is asked before it is done.
#[derive(Debug, Clone, PartialEq)]
enum Asked {
    Detach(TaskRepository, usize),
    Forget(ChangeRequestView),
}

/// What the parts of the panel share.
#[derive(Debug, Clone, Copy)]
struct Held {
    room: Room,
    code: RwSignal<TaskCode>,
    /// A dialog that asks, and about what.
    asking: RwSignal<bool>,
    asked: RwSignal<Option<Asked>>,
    /// The dialog for a request, and of which repository.
    adding: RwSignal<bool>,
    added_to: RwSignal<Option<TaskRepository>>,
    /// Calls that change something and have no answer yet: what is read meanwhile may be older than what is shown.
    calls: RwSignal<usize>,
    reading: StoredValue<bool>,
    again: StoredValue<bool>,
}

impl Held {
    fn open(room: Room, code: TaskCode, first: u64) -> Self {
        let held = Self {
            room,
            code: RwSignal::new(code),
            asking: RwSignal::new(false),
            asked: RwSignal::new(None),
            adding: RwSignal::new(false),
            added_to: RwSignal::new(None),
            calls: RwSignal::new(0),
            reading: StoredValue::new(false),
            again: StoredValue::new(false),
        };
        let live = use_live();
        Effect::new(move |before: Option<u64>| {
            let now = heard(room, live);
            if before.unwrap_or(first) != now {
                held.reread();
            }
            now
        });
        held
    }

    fn reread(self) {
        if self.reading.try_get_value() != Some(false) {
            let _ = self.again.try_set_value(true);
            return;
        }
        self.reading.set_value(true);
        spawn_local(async move {
            match read(self.room).await {
                Ok(code) => self.take(code),
                // The page itself says when the task is gone or the server does not answer.
                Err(_) => set_timeout(move || self.reread(), AGAIN),
            }
            let _ = self.reading.try_set_value(false);
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.reread();
            }
        });
    }

    fn take(self, code: TaskCode) {
        let is_news = self.code.try_with_untracked(|known| *known != code);
        if self.calls.try_get_untracked() == Some(0) && is_news == Some(true) {
            let _ = self.code.try_set(code);
        }
    }

    /// Does something on the server and takes its answer, unless another call is under way: then it is read again after the last one.
    async fn change(
        self,
        call: impl Future<Output = Result<Vec<ChangeRequestView>, AppError>>,
    ) -> Result<(), AppError> {
        self.calls.try_update(|calls| *calls += 1);
        let answer = call.await;
        let left = self.calls.try_update(|calls| {
            *calls = calls.saturating_sub(1);
            *calls
        });
        match answer {
            Ok(requests) => {
                if left == Some(0) {
                    self.code.try_update(|code| code.requests = requests);
                }
                Ok(())
            }
            Err(error) => {
                self.reread();
                Err(error)
            }
        }
    }

    /// Shows what the task is about now, until the page is read again.
    fn attached(self, task: TaskView) {
        let _ = self.room.view.try_update(|view| {
            view.task.repositories = task.repositories;
            view.task.prs = task.prs;
        });
        self.room.reread();
        self.reread();
    }

    fn requests_of(self, repository: RepositoryId) -> Vec<ChangeRequestId> {
        self.code.with(|code| {
            let of = code
                .requests
                .iter()
                .filter(|request| request.repository_id == repository);
            of.map(|request| request.id).collect()
        })
    }
}

#[component]
fn Panel(room: Room, code: TaskCode, heard: u64) -> impl IntoView {
    let locale = room.locale;
    let held = Held::open(room, code, heard);
    let ids = room.part(|view: &TaskPageView| {
        let repositories = view.task.repositories.iter();
        repositories.map(|one| one.id).collect::<Vec<_>>()
    });
    let archived = room.part(|view| view.task.archived_at.is_some());
    let attaching = RwSignal::new(false);
    view! {
        <section class="flex flex-col gap-4" data-testid="repositories-panel" aria-label=t!(locale, repository.heading)>
            <Show
                when=move || ids.with(|ids| !ids.is_empty())
                fallback=move || view! { <EmptyState text=t!(locale, repository.empty)/> }
            >
                <ul class="flex flex-col gap-4">
                    <For each=move || ids.get() key=|id| *id children=move |id| repository_row(held, id)/>
                </ul>
            </Show>
            <Show when=move || !archived.get()>
                <div>
                    <Button
                        glyph=Glyph::Plus
                        on_press=Callback::new(move |()| attaching.set(true))
                        test_id="repository-attach"
                    >
                        {t!(locale, repository.attach)}
                    </Button>
                </div>
            </Show>
            <Attach held open=attaching/>
            <AddRequest held/>
            <Ask held/>
        </section>
    }
    .into_any()
}

fn repository_row(held: Held, id: RepositoryId) -> impl IntoView {
    let locale = held.room.locale;
    let found = move |view: &TaskPageView| {
        let mut repositories = view.task.repositories.iter();
        repositories.find(|one| one.id == id).cloned()
    };
    let repository = Memo::new(move |before: Option<&Option<TaskRepository>>| {
        let now = held.room.view.with(found);
        // One on its way out keeps its words.
        now.or_else(|| before.cloned().flatten())
    });
    let archived = held
        .room
        .part(|view: &TaskPageView| view.task.archived_at.is_some());
    let requests = Memo::new(move |_| held.requests_of(id));
    let note = Memo::new(move |_| {
        let repository = repository.get()?;
        held.code
            .with(|code| unreached(locale, &repository, &code.providers))
    });
    let has_requests = Memo::new(move |_| {
        repository.with(|one| {
            let provider = one.as_ref().map(|one| one.provider);
            provider.is_some_and(|provider| provider.with_tools().is_some())
        })
    });
    let detach = Callback::new(move |()| {
        let Some(repository) = repository.get_untracked() else {
            return;
        };
        let count = requests.with_untracked(Vec::len);
        held.asked.set(Some(Asked::Detach(repository, count)));
        held.asking.set(true);
    });
    let add = Callback::new(move |()| {
        held.added_to.set(repository.get_untracked());
        held.adding.set(true);
    });
    let name =
        move || repository.with(|one| one.as_ref().map(|one| one.name.clone()).unwrap_or_default());
    view! {
        <li class="code-repository" data-testid="task-code-repository">
            <header class="flex items-start gap-2">
                <Icon glyph=Glyph::FolderGit2 class="w-4 h-4 mt-0.5 shrink-0 text-muted"/>
                <div class="flex-1 min-w-0">
                    <h3 class="font-medium break-words">{name}</h3>
                    {move || repository.get().map(|one| repository_places(locale, one))}
                </div>
                <Show when=move || !archived.get()>
                    <IconButton
                        glyph=Glyph::Unplug
                        label=move || t!(locale, repository.detach, name = name())
                        on_press=detach
                        test_id="repository-detach"
                    />
                </Show>
            </header>
            {move || {
                note.get()
                    .map(|note| {
                        view! {
                            <p class="flex items-start gap-2 text-12 text-muted" data-testid="repository-unreached">
                                <Icon glyph=Glyph::Info class="w-4 h-4 shrink-0"/>
                                <span class="min-w-0 break-words">{note}</span>
                            </p>
                        }
                    })
            }}
            <Show when=move || has_requests.get()>
                <ul class="flex flex-col" hidden=move || requests.with(Vec::is_empty)>
                    <For each=move || requests.get() key=|id| *id children=move |id| request_row(held, id)/>
                </ul>
                <Show when=move || !archived.get()>
                    <div>
                        <Button weight=Weight::Quiet glyph=Glyph::Plus on_press=add test_id="request-add">
                            {t!(locale, repository.add_request)}
                            <span class="sr-only">{name}</span>
                        </Button>
                    </div>
                </Show>
            </Show>
        </li>
    }
}

/// Why the requests of a repository are not looked at, if they are not.
fn unreached(
    locale: Locale,
    repository: &TaskRepository,
    providers: &[KnownHost],
) -> Option<String> {
    let provider = repository.provider;
    let name = provider_name(locale, provider).unwrap_or_default();
    match reach(provider, repository.host.as_deref(), providers) {
        Reach::Reached => None,
        Reach::NoToken => Some(t!(
            locale,
            repository.no_token,
            provider = name,
            variable = provider.token_variable().unwrap_or_default()
        )),
        Reach::Elsewhere(server) => Some(t!(
            locale,
            repository.elsewhere,
            variable = provider.base_variable().unwrap_or_default(),
            server = server
        )),
        Reach::Nobody => Some(t!(locale, repository.nobody).to_owned()),
    }
}

/// The question before something is let go.
#[component]
fn Ask(held: Held) -> impl IntoView {
    let locale = held.room.locale;
    let title = move || match held.asked.get() {
        Some(Asked::Forget(request)) => {
            let name = short_name(request.provider, request.number);
            t!(locale, repository.forget_heading, name = name)
        }
        Some(Asked::Detach(..)) | None => t!(locale, repository.detach_heading).to_owned(),
    };
    let text = move || match held.asked.get() {
        Some(Asked::Detach(repository, requests)) => {
            let text = t!(locale, repository.detach_text, name = repository.name);
            if requests == 0 {
                return text;
            }
            let cared = plural!(locale, repository.detach_requests, requests);
            [text, cared].join(" ")
        }
        Some(Asked::Forget(_)) => t!(locale, repository.forget_text).to_owned(),
        None => String::new(),
    };
    let word = move || match held.asked.get() {
        Some(Asked::Forget(_)) => t!(locale, repository.forget_confirm),
        Some(Asked::Detach(..)) | None => t!(locale, repository.detach_confirm),
    };
    let confirm = Callback::new(move |()| {
        held.asking.set(false);
        let Some(asked) = held.asked.get_untracked() else {
            return;
        };
        let room = held.room;
        spawn_local(async move {
            let failed = match asked {
                Asked::Detach(repository, _) => repository_detach(room.id, repository.id)
                    .await
                    .map(|task| held.attached(task)),
                Asked::Forget(request) => {
                    let call = change_request_forget(room.id, request.id);
                    held.change(call).await
                }
            };
            if let Err(error) = failed {
                room.failed(&error);
            }
        });
    });
    view! {
        <Dialog open=held.asking title=title test_id="repository-ask-dialog">
            <p class="p-4">{text}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Unplug on_press=confirm test_id="repository-ask-confirm">
                    {word}
                </Button>
            </footer>
        </Dialog>
    }
}
