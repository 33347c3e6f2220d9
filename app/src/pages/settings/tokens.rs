//! The tokens of outside clients: what each is for and when it was last used, a new one, and an end.

use super::made::Made;
use crate::api::settings::{token_create, token_revoke};
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::glyph::Glyph;
use crate::components::moment::Ago;
use crate::components::states::{EmptyState, explain};
use crate::components::toast::use_toasts;
use crate::i18n::{Locale, t, use_locale};
use domain::ids::{TokenId, WorkspaceId};
use domain::operator::{NewToken, TokenView, TokenWorkspace};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// What the parts share.
#[derive(Debug, Clone, Copy)]
struct Held {
    tokens: RwSignal<Vec<TokenView>>,
    /// The one that was just made; gone when it is put away.
    made: RwSignal<Option<NewToken>>,
    /// The one that is asked about.
    asked: RwSignal<Option<(TokenId, String)>>,
    asking: RwSignal<bool>,
}

#[component]
pub(super) fn Tokens(
    /// All tokens.
    tokens: Vec<TokenView>,
    /// What a token can be limited to.
    workspaces: Vec<TokenWorkspace>,
) -> impl IntoView {
    let locale = use_locale();
    let held = Held {
        tokens: RwSignal::new(tokens),
        made: RwSignal::new(None),
        asked: RwSignal::new(None),
        asking: RwSignal::new(false),
    };
    view! {
        <section class="flex flex-col gap-3">
            <h2 class="text-16 font-semibold">{t!(locale, settings.tokens)}</h2>
            <p class="text-muted">{t!(locale, settings.tokens_help)}</p>
            {new_token(held, workspaces, locale)}
            {move || held.made.get().map(|made| {
                view! { <Made made on_done=Callback::new(move |()| held.made.set(None))/> }
            })}
            <Show when=move || held.tokens.with(Vec::is_empty)>
                <EmptyState text=t!(locale, settings.tokens_none)/>
            </Show>
            <ul class="inbox" hidden=move || held.tokens.with(Vec::is_empty) data-testid="tokens">
                <For each=move || held.tokens.get() key=|token| (token.id, token.revoked_at.is_some()) let:token>
                    {row(&token, held, locale)}
                </For>
            </ul>
        </section>
        {revocation(held, locale)}
    }
    .into_any()
}

fn new_token(held: Held, workspaces: Vec<TokenWorkspace>, locale: Locale) -> impl IntoView {
    let name = RwSignal::new(String::new());
    let limited = RwSignal::new(false);
    let chosen = RwSignal::new(Vec::<WorkspaceId>::new());
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let create = move || {
        if busy.get_untracked() {
            return;
        }
        if name.with_untracked(|name| name.trim().is_empty()) {
            failure.set(Some(t!(locale, settings.name_missing).to_owned()));
            return;
        }
        let reach = limited.get_untracked().then(|| chosen.get_untracked());
        if reach.as_ref().is_some_and(Vec::is_empty) {
            failure.set(Some(t!(locale, settings.workspace_missing).to_owned()));
            return;
        }
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            match token_create(name.get_untracked(), reach).await {
                Ok(made) => {
                    held.tokens
                        .try_update(|tokens| tokens.insert(0, made.info.clone()));
                    let _ = held.made.try_set(Some(made));
                    let _ = name.try_set(String::new());
                    let _ = limited.try_set(false);
                    let _ = chosen.try_set(Vec::new());
                }
                // The name stays in the field.
                Err(error) => {
                    let _ = failure.try_set(Some(explain(locale, &error)));
                }
            }
            let _ = busy.try_set(false);
        });
    };
    view! {
        <form
            class="flex flex-wrap items-end gap-2"
            on:submit=move |event| {
                event.prevent_default();
                create();
            }
        >
            <label class="flex flex-col gap-1 flex-1 min-w-[12rem] text-13 font-medium">
                {t!(locale, settings.token_name)}
                <input
                    type="text"
                    class="field font-normal"
                    autocomplete="off"
                    maxlength="120"
                    placeholder=t!(locale, settings.token_example)
                    data-testid="token-name"
                    aria-invalid=move || failure.get().is_some().then_some("true")
                    prop:value=move || name.get()
                    on:input=move |event| {
                        name.set(event_target_value(&event));
                        failure.set(None);
                    }
                />
            </label>
            <Button weight=Weight::Primary kind="submit" busy test_id="token-create">
                {t!(locale, settings.token_create)}
            </Button>
            {limits(workspaces, limited, chosen, failure, locale)}
        </form>
        <p class="text-13 text-failed" role="alert">{move || failure.get()}</p>
    }
}

/// What the token will reach: everything, or what is chosen.
fn limits(
    workspaces: Vec<TokenWorkspace>,
    limited: RwSignal<bool>,
    chosen: RwSignal<Vec<WorkspaceId>>,
    failure: RwSignal<Option<String>>,
    locale: Locale,
) -> impl IntoView {
    let workspaces = StoredValue::new(workspaces);
    let choice = move |one: TokenWorkspace| {
        let id = one.id;
        view! {
            <label class="flex items-center gap-2 py-1 max-sm:min-h-11">
                <input
                    type="checkbox"
                    data-testid="token-workspace"
                    prop:checked=move || chosen.with(|chosen| chosen.contains(&id))
                    on:change=move |event| {
                        let on = event_target_checked(&event);
                        failure.set(None);
                        chosen.update(|chosen| {
                            chosen.retain(|other| *other != id);
                            if on {
                                chosen.push(id);
                            }
                        });
                    }
                />
                <span class="min-w-0 break-words">{one.name}</span>
            </label>
        }
    };
    view! {
        <div class="flex flex-col w-full text-13">
            <label class="flex items-center gap-2 py-1 max-sm:min-h-11">
                <input
                    type="checkbox"
                    data-testid="token-limited"
                    prop:checked=move || limited.get()
                    on:change=move |event| {
                        failure.set(None);
                        limited.set(event_target_checked(&event));
                    }
                />
                {t!(locale, settings.limit)}
            </label>
            <Show when=move || limited.get()>
                <fieldset class="flex flex-col pl-6" aria-label=t!(locale, settings.limit)>
                    {workspaces.get_value().into_iter().map(choice).collect_view()}
                </fieldset>
            </Show>
        </div>
    }
    .into_any()
}

fn row(token: &TokenView, held: Held, locale: Locale) -> impl IntoView + use<> {
    let (id, name) = (token.id, token.name.clone());
    let used = match (token.revoked_at, token.last_used_at) {
        (Some(at), _) => {
            view! { <span>{t!(locale, settings.revoked)} " " <Ago at/></span> }.into_any()
        }
        (None, Some(at)) => {
            view! { <span>{t!(locale, settings.used)} " " <Ago at/></span> }.into_any()
        }
        (None, None) => view! { <span>{t!(locale, settings.never_used)}</span> }.into_any(),
    };
    let ask = Callback::new(move |()| {
        held.asked.set(Some((id, name.clone())));
        held.asking.set(true);
    });
    view! {
        <li class="inbox-row" data-testid="token" data-revoked=token.revoked_at.map(|_| "")>
            <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="font-medium break-words">{token.name.clone()}</span>
                <span class="text-13 text-muted">
                    {t!(locale, settings.made)} " " <Ago at=token.created_at/> " · " {used} " · "
                    <span data-testid="token-reach">{reach(token, locale)}</span>
                </span>
            </div>
            {token.revoked_at.is_none().then(|| {
                view! {
                    <Button weight=Weight::Danger on_press=ask test_id="token-revoke">
                        {t!(locale, settings.revoke)}
                    </Button>
                }
            })}
        </li>
    }
}

/// What a token reaches, in words.
fn reach(token: &TokenView, locale: Locale) -> String {
    match &token.workspaces {
        None => t!(locale, settings.reaches_all).to_owned(),
        Some(some) => {
            let names: Vec<&str> = some.iter().map(|one| one.name.as_str()).collect();
            t!(locale, settings.reaches, names = names.join(", "))
        }
    }
}

/// The question before a client loses its way in.
fn revocation(held: Held, locale: Locale) -> impl IntoView {
    let toasts = use_toasts();
    let name = Memo::new(move |_| held.asked.get().map(|(_, name)| name).unwrap_or_default());
    let revoke = Callback::new(move |()| {
        held.asking.set(false);
        let Some((id, name)) = held.asked.get_untracked() else {
            return;
        };
        spawn_local(async move {
            match token_revoke(id).await {
                Ok(()) => {
                    held.tokens.try_update(|tokens| {
                        if let Some(token) = tokens.iter_mut().find(|token| token.id == id) {
                            token.revoked_at = Some(crate::clock::now());
                        }
                    });
                    held.made.try_update(|made| {
                        if made.as_ref().is_some_and(|made| made.info.id == id) {
                            *made = None;
                        }
                    });
                    toasts.done(t!(locale, settings.revoked_done, name = name));
                }
                Err(error) => toasts.failed(explain(locale, &error)),
            }
        });
    });
    view! {
        <Dialog open=held.asking title=t!(locale, settings.revoke_heading) test_id="token-revoke-dialog">
            <p class="p-4">{move || t!(locale, settings.revoke_text, name = name.get())}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=revoke test_id="confirm-token-revoke">
                    {t!(locale, settings.revoke)}
                </Button>
            </footer>
        </Dialog>
    }
}
