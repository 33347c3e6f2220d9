//! The repositories of a workspace, and whether their providers can be asked.

use crate::api::repositories::{
    repository_create, repository_delete, repository_list, repository_update, repository_uses,
};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::icon::Icon;
use crate::components::repository_places::{provider_name, repository_places};
use crate::components::states::{EmptyState, ErrorState, Skeleton, explain};
use crate::components::toast::use_toasts;
use crate::error::AppError;
use crate::i18n::{Locale, plural, t, use_locale};
use crate::live::{Topic, use_live};
use crate::pages::workbench::dialog_form::DialogForm;
use crate::paths;
use domain::ids::WorkspaceId;
use domain::operator::TokenWorkspace;
use domain::repository::{
    CreateRepository, KnownHost, NamedTask, Provider, Repository, RepositoryUse, UpdateRepository,
};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// What the parts share.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// The workspace that is looked at.
    workspace: RwSignal<Option<WorkspaceId>>,
    list: RwSignal<Vec<Repository>>,
    /// Another workspace's are on their way.
    loading: RwSignal<bool>,
    /// Why they did not come.
    failure: RwSignal<Option<AppError>>,
    /// The one that is changed, or nothing for a new one.
    edited: RwSignal<Option<Repository>>,
    editing: RwSignal<bool>,
    /// The one that is asked about, and what is about it once that is known.
    asked: RwSignal<Option<Repository>>,
    asking: RwSignal<bool>,
    uses: RwSignal<Option<Result<RepositoryUse, AppError>>>,
}

impl Held {
    /// Reads the list of the workspace that is looked at.
    fn read(self) {
        let Some(workspace) = self.workspace.get_untracked() else {
            return;
        };
        spawn_local(async move {
            let answer = repository_list(workspace).await;
            if self.workspace.try_get_untracked().flatten() != Some(workspace) {
                // Another one is looked at by now.
                return;
            }
            match answer {
                Ok(list) => {
                    let _ = self.failure.try_set(None);
                    let _ = self.list.try_set(list);
                }
                Err(error) => {
                    let _ = self.failure.try_set(Some(error));
                }
            }
            let _ = self.loading.try_set(false);
        });
    }

    /// Looks at another workspace.
    fn look_at(self, workspace: Option<WorkspaceId>) {
        self.workspace.set(workspace);
        self.list.set(Vec::new());
        self.failure.set(None);
        self.loading.set(true);
        self.read();
    }
}

#[component]
pub(super) fn Repositories(
    /// The workspaces there are, oldest first.
    workspaces: Vec<TokenWorkspace>,
    /// The one that is looked at first.
    first: Option<WorkspaceId>,
    /// Its repositories.
    repositories: Vec<Repository>,
    /// The servers of providers that are reached.
    providers: Vec<KnownHost>,
) -> impl IntoView {
    let locale = use_locale();
    let held = Held {
        workspace: RwSignal::new(first),
        list: RwSignal::new(repositories),
        loading: RwSignal::new(false),
        failure: RwSignal::new(None),
        edited: RwSignal::new(None),
        editing: RwSignal::new(false),
        asked: RwSignal::new(None),
        asking: RwSignal::new(false),
        uses: RwSignal::new(None),
    };
    let live = use_live();
    Effect::new(move |before: Option<u64>| {
        let revision = live.revision(Topic::Setup);
        if before.is_some_and(|before| before != revision) {
            held.read();
        }
        revision
    });
    let add = Callback::new(move |()| {
        held.edited.set(None);
        held.editing.set(true);
    });
    let is_empty = Memo::new(move |_| {
        held.list.with(Vec::is_empty) && !held.loading.get() && held.failure.with(Option::is_none)
    });
    view! {
        <section class="flex flex-col gap-3" data-testid="settings-repositories">
            <h2 class="text-16 font-semibold">{t!(locale, repository.heading)}</h2>
            <p class="text-muted">{t!(locale, repository.help)}</p>
            {choice(workspaces, held, locale)}
            <Show when=move || held.loading.get()>
                <Skeleton/>
            </Show>
            {move || {
                held.failure
                    .get()
                    .map(|error| {
                        view! { <ErrorState error on_retry=Callback::new(move |()| held.read())/> }
                    })
            }}
            <Show when=move || is_empty.get()>
                <EmptyState text=t!(locale, repository.list_empty)/>
            </Show>
            <ul class="inbox" hidden=move || held.list.with(Vec::is_empty) data-testid="repositories">
                <For each=move || held.list.get() key=|one| (one.id, one.updated_at) let:one>
                    {row(one, held, locale)}
                </For>
            </ul>
            <div>
                <Button glyph=Glyph::Plus on_press=add test_id="repository-new">{t!(locale, repository.add)}</Button>
            </div>
            {tokens(providers, locale)}
        </section>
        {editor(held, locale)}
        {deletion(held, locale)}
    }
    .into_any()
}

/// Which workspace is looked at, where there is more than one.
fn choice(workspaces: Vec<TokenWorkspace>, held: Held, locale: Locale) -> impl IntoView {
    let several = workspaces.len() > 1;
    let first = held.workspace.get_untracked();
    let options = workspaces
        .into_iter()
        .map(|one| {
            view! { <option value=one.id.to_string() selected=Some(one.id) == first>{one.name}</option> }
        })
        .collect_view();
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium" hidden=!several>
            {t!(locale, repository.workspace)}
            <select
                class="field font-normal"
                data-testid="repositories-workspace"
                on:change=move |event| held.look_at(event_target_value(&event).parse().ok())
            >
                {options}
            </select>
        </label>
    }
    .into_any()
}

fn row(one: Repository, held: Held, locale: Locale) -> impl IntoView + use<> {
    let edit_label = t!(locale, repository.edit, name = one.name.clone());
    let delete_label = t!(locale, repository.delete, name = one.name.clone());
    let (to_edit, to_delete) = (one.clone(), one.clone());
    let edit = Callback::new(move |()| {
        held.edited.set(Some(to_edit.clone()));
        held.editing.set(true);
    });
    let ask = Callback::new(move |()| {
        held.asked.set(Some(to_delete.clone()));
        held.uses.set(None);
        held.asking.set(true);
        let id = to_delete.id;
        spawn_local(async move {
            let uses = repository_uses(id).await;
            let asked = held.asked.try_get_untracked().flatten();
            if asked.is_some_and(|asked| asked.id == id) {
                let _ = held.uses.try_set(Some(uses));
            }
        });
    });
    let name = one.name.clone();
    let places = repository_places(locale, one.into());
    view! {
        <li class="inbox-row" data-testid="repository">
            <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="font-medium break-words">{name}</span>
                {places}
            </div>
            <IconButton glyph=Glyph::Pencil label=edit_label on_press=edit test_id="repository-edit"/>
            <IconButton glyph=Glyph::Trash2 label=delete_label on_press=ask test_id="repository-delete"/>
        </li>
    }
}

/// Whether each provider can be asked, and where that is set. What the token is, nobody sees.
fn tokens(providers: Vec<KnownHost>, locale: Locale) -> impl IntoView {
    let rows = providers
        .into_iter()
        .filter_map(|known| {
            let name = provider_name(locale, known.provider)?;
            let variable = known.provider.token_variable()?;
            let (glyph, icon_class, word) = if known.has_token {
                (
                    Glyph::CircleCheck,
                    "w-4 h-4 shrink-0 text-done",
                    t!(locale, repository.token_set, variable = variable),
                )
            } else {
                (
                    Glyph::CircleDashed,
                    "w-4 h-4 shrink-0 text-muted",
                    t!(locale, repository.token_unset, variable = variable),
                )
            };
            Some(view! {
                <li class="inbox-row" data-testid="provider" data-token=known.has_token.then_some("")>
                    <span class="inline-flex mt-0.5"><Icon glyph class=icon_class/></span>
                    <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                        <span class="font-medium">{name}</span>
                        <span class="text-13 text-muted break-words">{known.host} " · " {word}</span>
                    </div>
                </li>
            })
        })
        .collect_view();
    view! {
        <h3 class="text-14 font-semibold">{t!(locale, repository.providers)}</h3>
        <p class="text-muted">{t!(locale, repository.providers_help)}</p>
        <ul class="inbox">{rows}</ul>
    }
    .into_any()
}

/// The form of a new one, or of one that is changed: where it is with its provider stays then.
fn editor(held: Held, locale: Locale) -> impl IntoView {
    let dirty = RwSignal::new(false);
    let title = move || match held.edited.get() {
        Some(one) => one.name,
        None => t!(locale, repository.add).to_owned(),
    };
    view! {
        <Dialog open=held.editing title=title frame=Frame::Wide dirty test_id="repository-dialog">
            {form(held, dirty, locale)}
        </Dialog>
    }
}

/// What is typed.
#[derive(Debug, Clone, Copy)]
struct Typed {
    address: RwSignal<String>,
    provider: RwSignal<Option<Provider>>,
    folder: RwSignal<String>,
    name: RwSignal<String>,
    branch: RwSignal<String>,
    dirty: RwSignal<bool>,
    missing: RwSignal<bool>,
}

fn some(text: RwSignal<String>) -> Option<String> {
    let text = text.get_untracked().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn form(held: Held, dirty: RwSignal<bool>, locale: Locale) -> impl IntoView + use<> {
    let before = held.edited.get_untracked();
    let text = |text: Option<String>| RwSignal::new(text.unwrap_or_default());
    dirty.set(false);
    let typed = Typed {
        address: RwSignal::new(String::new()),
        provider: RwSignal::new(None),
        folder: text(before.as_ref().and_then(|one| one.local_path.clone())),
        name: text(before.as_ref().map(|one| one.name.clone())),
        branch: text(before.as_ref().and_then(|one| one.default_branch.clone())),
        dirty,
        missing: RwSignal::new(false),
    };
    let busy = RwSignal::new(false);
    let refused = RwSignal::new(None::<AppError>);
    let toasts = use_toasts();
    let edited = before.as_ref().map(|one| one.id);
    let is_hosted = before
        .as_ref()
        .is_some_and(|one| one.project_path.is_some());
    let save = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        let has_place = is_hosted || some(typed.address).or_else(|| some(typed.folder)).is_some();
        if !has_place {
            return typed.missing.set(true);
        }
        let Some(workspace) = held.workspace.get_untracked() else {
            return;
        };
        busy.set(true);
        refused.set(None);
        spawn_local(async move {
            let answer = match edited {
                Some(id) => {
                    let params = UpdateRepository {
                        name: some(typed.name),
                        local_path: Some(some(typed.folder)),
                        default_branch: Some(some(typed.branch)),
                    };
                    repository_update(id, params).await
                }
                None => {
                    let params = CreateRepository {
                        name: some(typed.name),
                        local_path: some(typed.folder),
                        repository_url: some(typed.address),
                        provider: typed.provider.get_untracked(),
                        default_branch: some(typed.branch),
                        ..CreateRepository::default()
                    };
                    repository_create(workspace, params).await
                }
            };
            let _ = busy.try_set(false);
            match answer {
                Ok(saved) => {
                    let _ = dirty.try_set(false);
                    held.editing.set(false);
                    toasts.done(t!(locale, repository.saved, name = saved.name));
                    held.read();
                }
                // What was typed stays in its fields.
                Err(error) => {
                    let _ = refused.try_set(Some(error));
                }
            }
        });
    });
    let place = before.map(|one| repository_places(locale, one.into()));
    view! {
        <DialogForm
            on_send=save
            refused
            buttons=move || view! {
                <Button on_press=Callback::new(move |()| held.editing.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="repository-save">
                    {t!(locale, repository.save)}
                </Button>
            }
        >
            {place}
            {edited.is_none().then(|| address(typed, locale))}
            {field(typed, typed.folder, (t!(locale, repository.folder), t!(locale, repository.folder_help)), "repository-folder")}
            {field(typed, typed.name, (t!(locale, repository.name), t!(locale, repository.name_help)), "repository-name")}
            {field(typed, typed.branch, (t!(locale, repository.branch), ""), "repository-branch")}
            <p class="text-13 text-failed" role="alert">
                {move || typed.missing.get().then(|| t!(locale, repository.place_missing))}
            </p>
        </DialogForm>
    }
}

/// Where a new one is, and whose that server is when its address does not say so.
fn address(typed: Typed, locale: Locale) -> impl IntoView {
    let words = (
        t!(locale, repository.address),
        t!(locale, repository.address_help),
    );
    let options = [Provider::Github, Provider::Gitlab]
        .into_iter()
        .map(|provider| {
            let name = provider_name(locale, provider);
            view! { <option value=provider.as_str()>{name}</option> }
        })
        .collect_view();
    view! {
        {field(typed, typed.address, words, "repository-address")}
        <label class="flex flex-col gap-1 text-13 font-medium">
            {t!(locale, repository.provider)}
            <select
                class="field font-normal"
                data-testid="repository-provider"
                on:change=move |event| {
                    typed.provider.set(Provider::parse(&event_target_value(&event)).ok());
                    typed.dirty.set(true);
                }
            >
                <option value="">{t!(locale, repository.provider_by_address)}</option>
                {options}
            </select>
        </label>
    }
}

fn field(
    typed: Typed,
    text: RwSignal<String>,
    (label, help): (&'static str, &'static str),
    test_id: &'static str,
) -> impl IntoView {
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {label}
            <input
                type="text"
                class="field font-normal"
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                data-testid=test_id
                prop:value=move || text.get()
                on:input=move |event| {
                    text.set(event_target_value(&event));
                    typed.dirty.set(true);
                    typed.missing.set(false);
                }
            />
            <span class="text-12 text-muted font-normal" hidden=help.is_empty()>{help}</span>
        </label>
    }
}

/// The question before a repository is removed; as long as tasks are about it, what to do about that instead.
fn deletion(held: Held, locale: Locale) -> impl IntoView {
    let toasts = use_toasts();
    let name = move || {
        let asked = held.asked.get();
        asked.map(|one| one.name).unwrap_or_default()
    };
    let is_free = Memo::new(move |_| {
        held.uses
            .with(|uses| matches!(uses, Some(Ok(uses)) if uses.total == 0))
    });
    let delete = Callback::new(move |()| {
        held.asking.set(false);
        let Some(one) = held.asked.get_untracked() else {
            return;
        };
        spawn_local(async move {
            match repository_delete(one.id).await {
                Ok(()) => {
                    held.list
                        .try_update(|list| list.retain(|other| other.id != one.id));
                    toasts.done(t!(locale, repository.deleted, name = one.name));
                }
                Err(error) => toasts.failed(explain(locale, &error)),
            }
        });
    });
    let means = move || match held.uses.get() {
        None => view! { <Skeleton lines=2/> }.into_any(),
        Some(Err(error)) => view! { <ErrorState error/> }.into_any(),
        Some(Ok(uses)) if uses.total == 0 => {
            view! { <p>{t!(locale, repository.delete_free, name = name())}</p> }.into_any()
        }
        Some(Ok(uses)) => used(uses, locale),
    };
    view! {
        <Dialog open=held.asking title=t!(locale, repository.delete_heading) test_id="repository-delete-dialog">
            <div class="flex flex-col gap-3 p-4" aria-live="polite">
                <p class="font-medium break-words">{name}</p>
                {means}
            </div>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>
                    {move || if is_free.get() { t!(locale, board.cancel) } else { t!(locale, common.close) }}
                </Button>
                <Show when=move || is_free.get()>
                    <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-repository-delete">
                        {t!(locale, repository.delete_confirm)}
                    </Button>
                </Show>
            </footer>
        </Dialog>
    }
}

/// The tasks that stand in the way.
fn used(uses: RepositoryUse, locale: Locale) -> AnyView {
    let total = usize::try_from(uses.total).unwrap_or(0);
    let more = total.saturating_sub(uses.tasks.len());
    let named = |task: NamedTask| {
        view! { <li><a class="link" href=paths::task(task.id)>{task.title}</a></li> }
    };
    view! {
        <p>{plural!(locale, repository.delete_used, total)}</p>
        <ul class="flex flex-col gap-1" data-testid="repository-uses">
            {uses.tasks.into_iter().map(named).collect_view()}
            {(more > 0).then(|| view! { <li class="text-muted">{t!(locale, repository.more, n = more)}</li> })}
        </ul>
    }
    .into_any()
}
