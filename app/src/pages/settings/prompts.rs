//! Saved prompts: what a message brings along when it says `@name`.

use crate::api::settings::{saved_prompt_delete, saved_prompt_put};
use crate::components::button::{Button, IconButton, Weight};
use crate::components::dialog::{Dialog, Frame};
use crate::components::glyph::Glyph;
use crate::components::states::{EmptyState, explain};
use crate::components::toast::use_toasts;
use crate::i18n::{Locale, t, use_locale};
use domain::saved_prompt::{PromptName, SavedPrompt};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// What the parts share.
#[derive(Debug, Clone, Copy)]
struct Held {
    prompts: RwSignal<Vec<SavedPrompt>>,
    /// The one that is written, or nothing for a new one.
    edited: RwSignal<Option<SavedPrompt>>,
    editing: RwSignal<bool>,
    /// The one that is asked about.
    asked: RwSignal<Option<PromptName>>,
    asking: RwSignal<bool>,
}

#[component]
pub(super) fn SavedPrompts(
    /// All of them, by name.
    prompts: Vec<SavedPrompt>,
) -> impl IntoView {
    let locale = use_locale();
    let held = Held {
        prompts: RwSignal::new(prompts),
        edited: RwSignal::new(None),
        editing: RwSignal::new(false),
        asked: RwSignal::new(None),
        asking: RwSignal::new(false),
    };
    let write = Callback::new(move |()| {
        held.edited.set(None);
        held.editing.set(true);
    });
    view! {
        <section class="flex flex-col gap-3">
            <h2 class="text-16 font-semibold">{t!(locale, settings.prompts)}</h2>
            <p class="text-muted">{t!(locale, settings.prompts_help)}</p>
            <Show when=move || held.prompts.with(Vec::is_empty)>
                <EmptyState text=t!(locale, settings.prompts_none)/>
            </Show>
            <ul class="inbox" hidden=move || held.prompts.with(Vec::is_empty) data-testid="saved-prompts">
                <For each=move || held.prompts.get() key=|prompt| (prompt.name.clone(), prompt.updated_at) let:prompt>
                    {row(prompt, held, locale)}
                </For>
            </ul>
            <div>
                <Button glyph=Glyph::Plus on_press=write test_id="prompt-new">{t!(locale, settings.prompt_new)}</Button>
            </div>
        </section>
        {editor(held, locale)}
        {deletion(held, locale)}
    }
    .into_any()
}

fn row(prompt: SavedPrompt, held: Held, locale: Locale) -> impl IntoView + use<> {
    let name = prompt.name.clone();
    let label = ["@", name.as_str()].concat();
    let beginning = prompt.content.lines().next().unwrap_or_default().to_owned();
    let edit_label = t!(locale, settings.prompt_edit, name = label.clone());
    let delete_label = t!(locale, settings.prompt_delete, name = label.clone());
    let edit = Callback::new(move |()| {
        held.edited.set(Some(prompt.clone()));
        held.editing.set(true);
    });
    let ask = Callback::new(move |()| {
        held.asked.set(Some(name.clone()));
        held.asking.set(true);
    });
    view! {
        <li class="inbox-row" data-testid="saved-prompt">
            <div class="flex flex-col flex-1 min-w-0 gap-0.5">
                <span class="font-medium font-mono break-words">{label}</span>
                <span class="text-13 text-muted truncate">{beginning}</span>
            </div>
            <IconButton glyph=Glyph::Pencil label=edit_label on_press=edit test_id="prompt-edit"/>
            <IconButton glyph=Glyph::Trash2 label=delete_label on_press=ask test_id="prompt-delete"/>
        </li>
    }
}

/// The form of a new one, or of one that is changed: its name stays then, since messages say it.
fn editor(held: Held, locale: Locale) -> impl IntoView {
    let dirty = RwSignal::new(false);
    let title = move || match held.edited.get() {
        Some(prompt) => ["@", prompt.name.as_str()].concat(),
        None => t!(locale, settings.prompt_new).to_owned(),
    };
    view! {
        <Dialog open=held.editing title=title frame=Frame::Wide dirty test_id="prompt-dialog">
            {form(held, dirty, locale)}
        </Dialog>
    }
}

fn form(held: Held, dirty: RwSignal<bool>, locale: Locale) -> impl IntoView + use<> {
    let before = held.edited.get_untracked();
    let is_new = before.is_none();
    let (name, content) = before.map_or_else(Default::default, |prompt| {
        (prompt.name.to_string(), prompt.content)
    });
    dirty.set(false);
    let name = RwSignal::new(name);
    let content = RwSignal::new(content);
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<String>);
    let toasts = use_toasts();
    let save = move || {
        if busy.get_untracked() {
            return;
        }
        let Ok(wanted) = name.with_untracked(|name| name.parse::<PromptName>()) else {
            return failure.set(Some(t!(locale, settings.prompt_name_bad).to_owned()));
        };
        let known = held
            .prompts
            .with_untracked(|prompts| prompts.iter().any(|prompt| prompt.name == wanted));
        if is_new && known {
            return failure.set(Some(t!(locale, settings.prompt_name_taken).to_owned()));
        }
        if content.with_untracked(|text| text.trim().is_empty()) {
            return failure.set(Some(t!(locale, settings.prompt_text_missing).to_owned()));
        }
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            match saved_prompt_put(wanted, content.get_untracked()).await {
                Ok(saved) => {
                    let label = ["@", saved.name.as_str()].concat();
                    held.prompts.try_update(|prompts| {
                        prompts.retain(|prompt| prompt.name != saved.name);
                        let at = prompts.partition_point(|prompt| prompt.name < saved.name);
                        prompts.insert(at, saved);
                    });
                    let _ = dirty.try_set(false);
                    let _ = held.editing.try_set(false);
                    toasts.done(t!(locale, settings.prompt_saved, name = label));
                }
                // What was typed stays in its fields.
                Err(error) => {
                    let _ = failure.try_set(Some(explain(locale, &error)));
                }
            }
            let _ = busy.try_set(false);
        });
    };
    let typed = move |field: RwSignal<String>, text: String| {
        field.set(text);
        dirty.set(true);
        failure.set(None);
    };
    view! {
        <form
            class="flex flex-col gap-3 p-4"
            on:submit=move |event| {
                event.prevent_default();
                save();
            }
        >
            <label class="flex flex-col gap-1 text-13 font-medium" hidden=!is_new>
                {t!(locale, settings.prompt_name)}
                <input
                    type="text"
                    class="field font-normal font-mono"
                    autocomplete="off"
                    autocapitalize="none"
                    spellcheck="false"
                    maxlength="61"
                    placeholder=t!(locale, settings.prompt_example)
                    disabled=!is_new
                    data-testid="prompt-name"
                    prop:value=move || name.get()
                    on:input=move |event| typed(name, event_target_value(&event))
                />
            </label>
            <label class="flex flex-col gap-1 text-13 font-medium">
                {t!(locale, settings.prompt_text)}
                <textarea
                    class="field font-normal"
                    rows="10"
                    data-testid="prompt-text"
                    prop:value=move || content.get()
                    on:input=move |event| typed(content, event_target_value(&event))
                ></textarea>
            </label>
            <p class="text-13 text-failed" role="alert">{move || failure.get()}</p>
            <footer class="flex justify-end gap-2">
                <Button on_press=Callback::new(move |()| held.editing.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Primary kind="submit" busy test_id="prompt-save">
                    {t!(locale, settings.prompt_save)}
                </Button>
            </footer>
        </form>
    }
}

/// The question before words are lost.
fn deletion(held: Held, locale: Locale) -> impl IntoView {
    let toasts = use_toasts();
    let label = Memo::new(move |_| {
        let asked = held.asked.get();
        asked.map_or_else(String::new, |name| ["@", name.as_str()].concat())
    });
    let delete = Callback::new(move |()| {
        held.asking.set(false);
        let Some(name) = held.asked.get_untracked() else {
            return;
        };
        spawn_local(async move {
            match saved_prompt_delete(name.clone()).await {
                Ok(_) => {
                    held.prompts
                        .try_update(|prompts| prompts.retain(|prompt| prompt.name != name));
                    let label = ["@", name.as_str()].concat();
                    toasts.done(t!(locale, settings.prompt_deleted, name = label));
                }
                Err(error) => toasts.failed(explain(locale, &error)),
            }
        });
    });
    view! {
        <Dialog open=held.asking title=t!(locale, settings.prompt_delete_heading) test_id="prompt-delete-dialog">
            <p class="p-4">{move || t!(locale, settings.prompt_delete_text, name = label.get())}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| held.asking.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="confirm-prompt-delete">
                    {t!(locale, settings.prompt_delete_now)}
                </Button>
            </footer>
        </Dialog>
    }
}
