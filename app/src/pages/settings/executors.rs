//! Profiles of the executor: what is run in a task's folder before and after, and which servers agents are given.

use super::servers::area;
use crate::api::settings::{
    executor_profile_create, executor_profile_delete, executor_profile_update,
};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::states::{EmptyState, explain};
use crate::components::toast::use_toasts;
use crate::i18n::{Locale, t, use_locale};
use domain::executor::{
    CreateExecutorProfile, Executor, ExecutorConfig, ExecutorProfile, McpPolicy,
    UpdateExecutorProfile,
};
use domain::ids::ExecutorProfileId;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// What the parts share.
#[derive(Debug, Clone, Copy)]
struct Held {
    profiles: RwSignal<Vec<ExecutorProfile>>,
    /// The one that is changed, or nothing for a new one.
    edited: RwSignal<Option<ExecutorProfile>>,
    editing: RwSignal<bool>,
    /// The one that is asked about.
    asked: RwSignal<Option<(ExecutorProfileId, String)>>,
    asking: RwSignal<bool>,
}

#[component]
pub(super) fn ExecutorProfiles(
    /// All of them, by age.
    profiles: Vec<ExecutorProfile>,
) -> impl IntoView {
    let locale = use_locale();
    let held = Held {
        profiles: RwSignal::new(profiles),
        edited: RwSignal::new(None),
        editing: RwSignal::new(false),
        asked: RwSignal::new(None),
        asking: RwSignal::new(false),
    };
    let add = Callback::new(move |()| {
        held.edited.set(None);
        held.editing.set(true);
    });
    view! {
        <section class="flex flex-col gap-3">
            <h2 class="text-16 font-semibold">{t!(locale, settings.executors)}</h2>
            <p class="text-muted">{t!(locale, settings.executors_help)}</p>
            <Show when=move || held.profiles.with(Vec::is_empty)>
                <EmptyState text=t!(locale, settings.executors_none)/>
            </Show>
            <ul class="inbox" hidden=move || held.profiles.with(Vec::is_empty) data-testid="executor-profiles">
                <For each=move || held.profiles.get() key=|profile| (profile.id, profile.updated_at) let:profile>
                    {row(profile, held, locale)}
                </For>
            </ul>
            <div>
                <Button glyph=Glyph::Plus on_press=add test_id="executor-new">{t!(locale, settings.executor_new)}</Button>
            </div>
        </section>
        {editor(held, locale)}
        {deletion(held, locale)}
    }
    .into_any()
}

fn row(profile: ExecutorProfile, held: Held, locale: Locale) -> impl IntoView + use<> {
    let (id, name) = (profile.id, profile.name.clone());
    let edit_label = t!(locale, settings.server_edit, name = name.clone());
    let delete_label = t!(locale, settings.server_delete, name = name.clone());
    let what = what_it_does(&profile, locale);
    let asked = name.clone();
    let edit = Callback::new(move |()| {
        held.edited.set(Some(profile.clone()));
        held.editing.set(true);
    });
    let ask = Callback::new(move |()| {
        held.asked.set(Some((id, asked.clone())));
        held.asking.set(true);
    });
    view! {
        <li class="inbox-row" data-testid="executor-profile">
            <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="font-medium break-words">{name}</span>
                <span class="text-13 text-muted">{what}</span>
            </div>
            <IconButton glyph=Glyph::Pencil label=edit_label on_press=edit test_id="executor-edit"/>
            <IconButton glyph=Glyph::Trash2 label=delete_label on_press=ask test_id="executor-delete"/>
        </li>
    }
}

/// What a profile does, in a line.
fn what_it_does(profile: &ExecutorProfile, locale: Locale) -> String {
    let mut parts = Vec::new();
    if !profile.prepare_script.is_empty() {
        parts.push(t!(locale, settings.executor_prepares));
    }
    if !profile.cleanup_script.is_empty() {
        parts.push(t!(locale, settings.executor_cleans));
    }
    parts.push(policy(profile.mcp_policy, locale));
    parts.join(" · ")
}

fn policy(policy: McpPolicy, locale: Locale) -> &'static str {
    match policy {
        McpPolicy::All => t!(locale, settings.policy_all),
        McpPolicy::RemoteOnly => t!(locale, settings.policy_remote),
        McpPolicy::None => t!(locale, settings.policy_none),
    }
}

fn editor(held: Held, locale: Locale) -> impl IntoView {
    let dirty = RwSignal::new(false);
    let title = move || match held.edited.get() {
        Some(profile) => profile.name,
        None => t!(locale, settings.executor_new).to_owned(),
    };
    view! {
        <Dialog open=held.editing title=title frame=Frame::Wide dirty test_id="executor-dialog">
            {form(held, dirty, locale)}
        </Dialog>
    }
}

/// What is typed.
#[derive(Debug, Clone, Copy)]
struct Fields {
    name: RwSignal<String>,
    policy: RwSignal<McpPolicy>,
    prepare: RwSignal<String>,
    cleanup: RwSignal<String>,
    prepare_seconds: RwSignal<String>,
    cleanup_seconds: RwSignal<String>,
}

impl Fields {
    fn of(profile: Option<&ExecutorProfile>) -> Self {
        let text = |of: fn(&ExecutorProfile) -> &String| {
            RwSignal::new(profile.map(of).cloned().unwrap_or_default())
        };
        let config = profile.map(|profile| profile.config).unwrap_or_default();
        let seconds = |seconds: i64| RwSignal::new(seconds.to_string());
        Self {
            name: text(|profile| &profile.name),
            policy: RwSignal::new(profile.map_or(McpPolicy::All, |profile| profile.mcp_policy)),
            prepare: text(|profile| &profile.prepare_script),
            cleanup: text(|profile| &profile.cleanup_script),
            prepare_seconds: seconds(config.prepare_seconds()),
            cleanup_seconds: seconds(config.cleanup_seconds()),
        }
    }

    /// `None` when what should be seconds is no number.
    fn read(self) -> Option<UpdateExecutorProfile> {
        let usual = ExecutorConfig::default();
        let seconds = |field: RwSignal<String>, usual: i64| {
            let seconds: i64 = field.with_untracked(|text| text.trim().parse()).ok()?;
            Some((seconds != usual).then_some(seconds))
        };
        Some(UpdateExecutorProfile {
            name: Some(self.name.get_untracked()),
            mcp_policy: Some(self.policy.get_untracked()),
            prepare_script: Some(self.prepare.get_untracked()),
            cleanup_script: Some(self.cleanup.get_untracked()),
            config: Some(ExecutorConfig {
                prepare_timeout_seconds: seconds(self.prepare_seconds, usual.prepare_seconds())?,
                cleanup_timeout_seconds: seconds(self.cleanup_seconds, usual.cleanup_seconds())?,
            }),
        })
    }
}

fn form(held: Held, dirty: RwSignal<bool>, locale: Locale) -> impl IntoView + use<> {
    let before = held.edited.get_untracked();
    let fields = Fields::of(before.as_ref());
    let id = before.map(|profile| profile.id);
    dirty.set(false);
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let toasts = use_toasts();
    let save = move || {
        if busy.get_untracked() {
            return;
        }
        let Some(profile) = fields.read() else {
            return failure.set(Some(t!(locale, settings.seconds_bad).to_owned()));
        };
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            let saved = match id {
                Some(id) => executor_profile_update(id, profile).await,
                None => {
                    let executor_id = Executor::Local;
                    executor_profile_create(CreateExecutorProfile {
                        executor_id,
                        profile,
                    })
                    .await
                }
            };
            match saved {
                Ok(saved) => {
                    let name = saved.name.clone();
                    held.profiles.try_update(|profiles| {
                        match profiles.iter_mut().find(|one| one.id == saved.id) {
                            Some(known) => *known = saved,
                            None => profiles.push(saved),
                        }
                    });
                    let _ = dirty.try_set(false);
                    let _ = held.editing.try_set(false);
                    toasts.done(t!(locale, settings.server_saved, name = name));
                }
                // What was typed stays in its fields.
                Err(error) => {
                    let _ = failure.try_set(Some(explain(locale, &error)));
                }
            }
            let _ = busy.try_set(false);
        });
    };
    let typed = Callback::new(move |()| {
        dirty.set(true);
        failure.set(None);
    });
    view! {
        <form
            class="flex flex-col gap-3 p-4"
            on:submit=move |event| {
                event.prevent_default();
                save();
            }
        >
            {field(t!(locale, settings.executor_name), "text", fields.name, typed, "executor-name")}
            {policies(fields, typed, locale)}
            {area(t!(locale, settings.executor_prepare), fields.prepare, typed, "executor-prepare")}
            {area(t!(locale, settings.executor_cleanup), fields.cleanup, typed, "executor-cleanup")}
            <p class="text-12 text-muted">{t!(locale, settings.executor_scripts)}</p>
            <div class="flex flex-wrap gap-3">
                {field(t!(locale, settings.prepare_seconds), "number", fields.prepare_seconds, typed, "prepare-seconds")}
                {field(t!(locale, settings.cleanup_seconds), "number", fields.cleanup_seconds, typed, "cleanup-seconds")}
            </div>
            <p class="text-13 text-failed" role="alert">{move || failure.get()}</p>
            <footer class="flex justify-end gap-2">
                <Button on_press=Callback::new(move |()| held.editing.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="executor-save">
                    {t!(locale, settings.prompt_save)}
                </Button>
            </footer>
        </form>
    }
    .into_any()
}

fn policies(fields: Fields, typed: Callback<()>, locale: Locale) -> AnyView {
    let chosen = fields.policy.get_untracked();
    let options = McpPolicy::ALL
        .iter()
        .map(|one| {
            view! { <option value=one.as_str() selected=*one == chosen>{policy(*one, locale)}</option> }
        })
        .collect_view();
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {t!(locale, settings.executor_policy)}
            <select
                class="field font-normal"
                data-testid="executor-policy"
                on:change=move |event| {
                    if let Ok(policy) = McpPolicy::parse(&event_target_value(&event)) {
                        fields.policy.set(policy);
                        typed.run(());
                    }
                }
            >
                {options}
            </select>
        </label>
    }
    .into_any()
}

fn field(
    label: &'static str,
    kind: &'static str,
    value: RwSignal<String>,
    typed: Callback<()>,
    test_id: &'static str,
) -> AnyView {
    view! {
        <label class="flex flex-col gap-1 flex-1 min-w-[12rem] text-13 font-medium">
            {label}
            <input
                type=kind
                class="field font-normal"
                autocomplete="off"
                data-testid=test_id
                prop:value=move || value.get()
                on:input=move |event| {
                    value.set(event_target_value(&event));
                    typed.run(());
                }
            />
        </label>
    }
    .into_any()
}

/// The question before scripts are lost.
fn deletion(held: Held, locale: Locale) -> impl IntoView {
    let toasts = use_toasts();
    let name = Memo::new(move |_| held.asked.get().map(|(_, name)| name).unwrap_or_default());
    let delete = Callback::new(move |()| {
        held.asking.set(false);
        let Some((id, name)) = held.asked.get_untracked() else {
            return;
        };
        spawn_local(async move {
            match executor_profile_delete(id).await {
                Ok(()) => {
                    held.profiles
                        .try_update(|profiles| profiles.retain(|profile| profile.id != id));
                    toasts.done(t!(locale, settings.server_deleted, name = name));
                }
                Err(error) => toasts.failed(explain(locale, &error)),
            }
        });
    });
    view! {
        <Dialog open=held.asking title=t!(locale, settings.executor_delete_heading) test_id="executor-delete-dialog">
            <p class="p-4">{move || t!(locale, settings.executor_delete_text, name = name.get())}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-executor-delete">
                    {t!(locale, settings.prompt_delete_now)}
                </Button>
            </footer>
        </Dialog>
    }
}
