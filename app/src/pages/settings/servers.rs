//! MCP servers of agents' profiles: what each of them is given beside Flightdeck's own. What is secret is never shown again.

use crate::api::settings::mcp_config_put;
use crate::components::button::{Button, IconButton, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::states::{EmptyState, explain};
use crate::components::toast::{Toasts, use_toasts};
use crate::i18n::{Locale, t, use_locale};
use domain::ids::ProfileId;
use domain::mcp_servers::{
    McpConfig, McpConfigView, ServerEntry, Transport, UpdateMcpConfig, Values,
};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::collections::BTreeMap;

/// What the parts share.
#[derive(Debug, Clone, Copy)]
struct Held {
    configs: RwSignal<Vec<McpConfigView>>,
    /// The profile whose servers are shown.
    profile: RwSignal<ProfileId>,
    /// The server that is changed, or nothing for a new one.
    edited: RwSignal<Option<(String, ServerEntry)>>,
    editing: RwSignal<bool>,
    /// The one that is asked about.
    asked: RwSignal<Option<String>>,
    asking: RwSignal<bool>,
}

impl Held {
    /// What is known of the profile that is shown.
    fn shown(self) -> McpConfigView {
        let profile = self.profile.get();
        self.configs
            .with(|configs| {
                configs
                    .iter()
                    .find(|one| one.profile_id == profile)
                    .cloned()
            })
            .unwrap_or_else(|| McpConfigView::of(profile, &McpConfig::default(), None))
    }

    /// Puts what the server answered in the place of what was known.
    fn learn(self, config: McpConfigView) {
        self.configs.try_update(|configs| {
            configs.retain(|one| one.profile_id != config.profile_id);
            configs.push(config);
        });
    }
}

#[component]
pub(super) fn McpServers(
    /// The profiles of all agents, by what people call them.
    profiles: Vec<(ProfileId, String)>,
    /// The servers of those that ever had some.
    configs: Vec<McpConfigView>,
) -> impl IntoView {
    let locale = use_locale();
    let with_servers = configs.iter().find(|one| !one.servers.is_empty());
    let first = with_servers
        .map(|one| one.profile_id)
        .or(profiles.first().map(|(id, _)| *id));
    let body = match first {
        None => view! { <EmptyState text=t!(locale, board.no_agent)/> }.into_any(),
        Some(first) => {
            let held = Held {
                configs: RwSignal::new(configs),
                profile: RwSignal::new(first),
                edited: RwSignal::new(None),
                editing: RwSignal::new(false),
                asked: RwSignal::new(None),
                asking: RwSignal::new(false),
            };
            servers(profiles, held, locale)
        }
    };
    view! {
        <section class="flex flex-col gap-3">
            <h2 class="text-16 font-semibold">{t!(locale, settings.servers)}</h2>
            <p class="text-muted">{t!(locale, settings.servers_help)}</p>
            {body}
        </section>
    }
    .into_any()
}

fn servers(profiles: Vec<(ProfileId, String)>, held: Held, locale: Locale) -> AnyView {
    let toasts = use_toasts();
    let chosen = held.profile.get_untracked();
    let options = profiles
        .into_iter()
        .map(|(id, name)| {
            view! { <option value=id.to_string() selected=id == chosen>{name}</option> }
        })
        .collect_view();
    let choose = move |event| {
        if let Ok(id) = event_target_value(&event).parse() {
            held.profile.set(id);
        }
    };
    let add = Callback::new(move |()| {
        held.edited.set(None);
        held.editing.set(true);
    });
    let none = move || held.shown().servers.is_empty();
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {t!(locale, settings.servers_profile)}
            <select class="field font-normal" data-testid="servers-profile" on:change=choose>
                {options}
            </select>
        </label>
        <label class="flex items-center gap-2 py-1 text-13 max-sm:min-h-11">
            <input
                type="checkbox"
                data-testid="servers-enabled"
                prop:checked=move || held.shown().enabled
                on:change=move |event| switch(held, event_target_checked(&event), toasts, locale)
            />
            {t!(locale, settings.servers_enabled)}
        </label>
        <Show when=none>
            <EmptyState text=t!(locale, settings.servers_none)/>
        </Show>
        <ul class="inbox" hidden=none data-testid="mcp-servers">
            {move || {
                let rows = held.shown().servers.into_iter();
                rows.map(|(name, entry)| row(name, entry, held, locale)).collect_view()
            }}
        </ul>
        <div>
            <Button glyph=Glyph::Plus on_press=add test_id="server-new">{t!(locale, settings.server_new)}</Button>
        </div>
        {editor(held, locale)}
        {deletion(held, locale)}
    }
    .into_any()
}

fn switch(held: Held, enabled: bool, toasts: Toasts, locale: Locale) {
    let profile = held.profile.get_untracked();
    let params = UpdateMcpConfig {
        enabled: Some(enabled),
        servers: None,
    };
    spawn_local(async move {
        match mcp_config_put(profile, params).await {
            Ok(config) => held.learn(config),
            Err(error) => {
                // The box goes back to where it was.
                held.configs.try_update(|_| ());
                toasts.failed(explain(locale, &error));
            }
        }
    });
}

fn row(name: String, entry: ServerEntry, held: Held, locale: Locale) -> impl IntoView + use<> {
    let edit_label = t!(locale, settings.server_edit, name = name.clone());
    let delete_label = t!(locale, settings.server_delete, name = name.clone());
    let what = place(&entry);
    let (asked, edited) = (name.clone(), (name.clone(), entry));
    let edit = Callback::new(move |()| {
        held.edited.set(Some(edited.clone()));
        held.editing.set(true);
    });
    let ask = Callback::new(move |()| {
        held.asked.set(Some(asked.clone()));
        held.asking.set(true);
    });
    view! {
        <li class="inbox-row" data-testid="mcp-server">
            <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="font-medium font-mono break-words">{name}</span>
                <span class="text-13 text-muted truncate">{what}</span>
            </div>
            <IconButton glyph=Glyph::Pencil label=edit_label on_press=edit test_id="server-edit"/>
            <IconButton glyph=Glyph::Trash2 label=delete_label on_press=ask test_id="server-delete"/>
        </li>
    }
}

/// Where a server is, in a line.
fn place(entry: &ServerEntry) -> String {
    match (&entry.command, &entry.url) {
        (Some(command), _) => [command.as_str()]
            .into_iter()
            .chain(entry.args.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" "),
        (None, Some(url)) => url.clone(),
        (None, None) => String::new(),
    }
}

fn editor(held: Held, locale: Locale) -> impl IntoView {
    let dirty = RwSignal::new(false);
    let title = move || match held.edited.get() {
        Some((name, _)) => name,
        None => t!(locale, settings.server_new).to_owned(),
    };
    view! {
        <Dialog open=held.editing title=title frame=Frame::Wide dirty test_id="server-dialog">
            {form(held, dirty, locale)}
        </Dialog>
    }
}

/// What is typed.
#[derive(Debug, Clone, Copy)]
struct Fields {
    name: RwSignal<String>,
    transport: RwSignal<Transport>,
    command: RwSignal<String>,
    args: RwSignal<String>,
    env: RwSignal<String>,
    url: RwSignal<String>,
    headers: RwSignal<String>,
}

impl Fields {
    fn of(name: String, entry: &ServerEntry) -> Self {
        Self {
            name: RwSignal::new(name),
            transport: RwSignal::new(entry.transport.unwrap_or(Transport::Stdio)),
            command: RwSignal::new(entry.command.clone().unwrap_or_default()),
            args: RwSignal::new(entry.args.join("\n")),
            env: RwSignal::new(names(&entry.env)),
            url: RwSignal::new(entry.url.clone().unwrap_or_default()),
            headers: RwSignal::new(names(&entry.headers)),
        }
    }

    fn entry(self) -> ServerEntry {
        let transport = Some(self.transport.get_untracked());
        match self.transport.get_untracked() {
            Transport::Stdio => ServerEntry {
                transport,
                command: Some(self.command.get_untracked()),
                args: self
                    .args
                    .with_untracked(|args| lines(args).map(str::to_owned).collect()),
                env: self.env.with_untracked(|env| values(env, '=')),
                ..ServerEntry::default()
            },
            Transport::Http | Transport::Sse => ServerEntry {
                transport,
                url: Some(self.url.get_untracked()),
                headers: self.headers.with_untracked(|headers| values(headers, ':')),
                ..ServerEntry::default()
            },
        }
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Names whose values are not shown, one a line.
fn names(values: &Values) -> String {
    let names: Vec<&str> = values.0.keys().map(String::as_str).collect();
    names.join("\n")
}

/// A name and its value a line; a name alone keeps the value that is stored.
fn values(text: &str, sign: char) -> Values {
    let value = |line: &str| match line.split_once(sign) {
        Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
        None => (line.to_owned(), None),
    };
    Values(lines(text).map(value).collect())
}

fn form(held: Held, dirty: RwSignal<bool>, locale: Locale) -> impl IntoView + use<> {
    let before = held.edited.get_untracked();
    let is_new = before.is_none();
    let (name, entry) = before.unwrap_or_default();
    dirty.set(false);
    let fields = Fields::of(name, &entry);
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let toasts = use_toasts();
    let save = move || {
        if busy.get_untracked() {
            return;
        }
        let name = fields.name.with_untracked(|name| name.trim().to_owned());
        let config = untrack(|| held.shown());
        if is_new && config.servers.contains_key(&name) {
            return failure.set(Some(t!(locale, settings.server_name_taken).to_owned()));
        }
        let mut servers = config.servers;
        servers.insert(name.clone(), fields.entry());
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            match mcp_config_put(config.profile_id, all(servers)).await {
                Ok(config) => {
                    held.learn(config);
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
    let is_command = move || fields.transport.get() == Transport::Stdio;
    view! {
        <form
            class="flex flex-col gap-3 p-4"
            on:submit=move |event| {
                event.prevent_default();
                save();
            }
        >
            <div class="flex flex-col" hidden=!is_new>
                {line(t!(locale, settings.server_name), fields.name, typed, "server-name")}
            </div>
            {kinds(fields, typed, locale)}
            <div class="flex flex-col gap-3" hidden=move || !is_command()>
                {line(t!(locale, settings.server_command), fields.command, typed, "server-command")}
                {area(t!(locale, settings.server_args), fields.args, typed, "server-args")}
                {area(t!(locale, settings.server_env), fields.env, typed, "server-env")}
            </div>
            <div class="flex flex-col gap-3" hidden=is_command>
                {line(t!(locale, settings.server_url), fields.url, typed, "server-url")}
                {area(t!(locale, settings.server_headers), fields.headers, typed, "server-headers")}
            </div>
            <p class="text-12 text-muted">{t!(locale, settings.server_secrets)}</p>
            <p class="text-13 text-failed" role="alert">{move || failure.get()}</p>
            <footer class="flex justify-end gap-2">
                <Button on_press=Callback::new(move |()| held.editing.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="server-save">
                    {t!(locale, settings.prompt_save)}
                </Button>
            </footer>
        </form>
    }
    .into_any()
}

const fn all(servers: BTreeMap<String, ServerEntry>) -> UpdateMcpConfig {
    UpdateMcpConfig {
        enabled: None,
        servers: Some(servers),
    }
}

fn kinds(fields: Fields, typed: Callback<()>, locale: Locale) -> AnyView {
    let chosen = fields.transport.get_untracked();
    let options = Transport::ALL
        .iter()
        .map(|kind| {
            let name = match kind {
                Transport::Stdio => t!(locale, settings.server_stdio),
                Transport::Http => t!(locale, settings.server_http),
                Transport::Sse => t!(locale, settings.server_sse),
            };
            view! { <option value=kind.as_str() selected=*kind == chosen>{name}</option> }
        })
        .collect_view();
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {t!(locale, settings.server_kind)}
            <select
                class="field font-normal"
                data-testid="server-kind"
                on:change=move |event| {
                    if let Ok(kind) = Transport::parse(&event_target_value(&event)) {
                        fields.transport.set(kind);
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

/// A field for one line of machine text.
fn line(
    label: &'static str,
    value: RwSignal<String>,
    typed: Callback<()>,
    test_id: &'static str,
) -> AnyView {
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {label}
            <input
                type="text"
                class="field font-normal font-mono"
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
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

/// A field for lines of machine text.
pub(super) fn area(
    label: &'static str,
    value: RwSignal<String>,
    typed: Callback<()>,
    test_id: &'static str,
) -> AnyView {
    view! {
        <label class="flex flex-col gap-1 text-13 font-medium">
            {label}
            <textarea
                class="field field-growing min-h-[4.5rem] font-normal font-mono"
                rows="3"
                autocomplete="off"
                autocapitalize="none"
                spellcheck="false"
                data-testid=test_id
                prop:value=move || value.get()
                on:input=move |event| {
                    value.set(event_target_value(&event));
                    typed.run(());
                }
            ></textarea>
        </label>
    }
    .into_any()
}

/// The question before a server goes.
fn deletion(held: Held, locale: Locale) -> impl IntoView {
    let toasts = use_toasts();
    let name = Memo::new(move |_| held.asked.get().unwrap_or_default());
    let delete = Callback::new(move |()| {
        held.asking.set(false);
        let mut config = untrack(|| held.shown());
        let name = name.get_untracked();
        config.servers.remove(&name);
        spawn_local(async move {
            match mcp_config_put(config.profile_id, all(config.servers)).await {
                Ok(config) => {
                    held.learn(config);
                    toasts.done(t!(locale, settings.server_deleted, name = name));
                }
                Err(error) => toasts.failed(explain(locale, &error)),
            }
        });
    });
    view! {
        <Dialog open=held.asking title=t!(locale, settings.server_delete_heading) test_id="server-delete-dialog">
            <p class="p-4">{move || t!(locale, settings.server_delete_text, name = name.get())}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-server-delete">
                    {t!(locale, settings.prompt_delete_now)}
                </Button>
            </footer>
        </Dialog>
    }
}

#[test]
fn a_name_alone_keeps_its_value_and_what_is_shown_reads_back() {
    let read = values(" KEY = a=b \n\nOTHER\n", '=');
    let expected = BTreeMap::from([
        ("KEY".to_owned(), Some("a=b".to_owned())),
        ("OTHER".to_owned(), None),
    ]);
    assert_eq!(read.0, expected);
    let headers = values("Authorization: Bearer x:y", ':');
    assert_eq!(headers.0["Authorization"].as_deref(), Some("Bearer x:y"));
    let kept = Values(BTreeMap::from([
        ("A".to_owned(), None),
        ("B".to_owned(), None),
    ]));
    assert_eq!(values(&names(&kept), '='), kept);
}
