//! The task's plan: reading it, writing it, and what it was.
//!
//! The panel may come and go (it is a sheet on a phone); what is typed lives in the [`Editor`], which stays as long as the page.

mod conflict;
mod editor;
mod history;
mod leaving;
mod line_ends;

use crate::api::papers::{plan_delete, plan_implement, plan_preview};
use crate::components::button::{Button, Weight};
use crate::components::dialog::Dialog;
use crate::components::dom_id::dom_id;
use crate::components::glyph::Glyph;
use crate::components::moment::Ago;
use crate::components::segments::{Segment, Segments};
use crate::components::states::EmptyState;
use crate::i18n::t;
use conflict::Conflict;
pub(super) use editor::Editor;
use editor::{Mode, Saving};
use history::History;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The panel.
#[component]
pub(super) fn PlanPanel(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let conflict = Memo::new(move |_| editor.saving.with(|saving| *saving == Saving::Conflict));
    let choose = move |mode| Callback::new(move |()| editor.mode.set(mode));
    let chosen = move |mode| Signal::derive(move || editor.mode.get() == mode);
    view! {
        <section class="plan" data-testid="plan-panel" aria-label=t!(locale, plan.plan)>
            <div class="flex flex-wrap items-center gap-2">
                <Segments label=t!(locale, plan.views)>
                    <Segment chosen=chosen(Mode::Read) on_press=choose(Mode::Read) test_id="plan-read">
                        {t!(locale, plan.read)}
                    </Segment>
                    <Segment chosen=chosen(Mode::Edit) on_press=choose(Mode::Edit) test_id="plan-edit">
                        {t!(locale, plan.edit)}
                    </Segment>
                    <Segment chosen=chosen(Mode::History) on_press=choose(Mode::History) test_id="plan-history">
                        {t!(locale, plan.history)}
                    </Segment>
                </Segments>
                <Status editor/>
            </div>
            <Show when=move || conflict.get()>
                <Conflict editor/>
            </Show>
            <PutAside editor/>
            {move || match editor.mode.get() {
                Mode::Read => view! { <Reader editor/> }.into_any(),
                Mode::Edit => view! { <Writer editor/> }.into_any(),
                Mode::History => view! { <History editor/> }.into_any(),
            }}
        </section>
    }
    .into_any()
}

/// How saving stands, in words that are spoken when they change.
#[component]
fn Status(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let exists = Memo::new(move |_| editor.base.with(Option::is_some));
    let words = move || match editor.saving.get() {
        Saving::Saved if exists.get() => t!(locale, plan.saved).to_owned(),
        Saving::Saved => String::new(),
        Saving::Typed => t!(locale, plan.typed).to_owned(),
        Saving::Sending => t!(locale, plan.saving).to_owned(),
        Saving::Empty => t!(locale, plan.cannot_be_empty).to_owned(),
        Saving::Conflict => t!(locale, plan.not_saved).to_owned(),
        Saving::Failed(reason) => reason,
    };
    let failed = Memo::new(move |_| matches!(editor.saving.get(), Saving::Failed(_)));
    view! {
        <span role="status" class="text-12 text-muted" data-testid="plan-status">{words}</span>
        <Show when=move || failed.get()>
            <Button glyph=Glyph::RotateCcw on_press=Callback::new(move |()| editor.save())>
                {t!(locale, common.retry)}
            </Button>
        </Show>
    }
}

/// The text that gave way to the other one can be had back.
#[component]
fn PutAside(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    view! {
        <Show when=move || editor.put_aside.with(Option::is_some)>
            <p class="flex flex-wrap items-center gap-2 text-13 text-muted" role="status">
                <span class="flex-1 min-w-0">{t!(locale, plan.put_aside)}</span>
                <Button on_press=Callback::new(move |()| editor.bring_back()) test_id="plan-bring-back">
                    {t!(locale, plan.bring_back)}
                </Button>
            </p>
        </Show>
    }
}

/// The text as it reads. What is typed and not saved yet is rendered by the server on the way.
#[component]
fn Reader(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let shown = editor.shown();
    let preview = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        let stored = shown.with(|shown| shown.as_ref().map(|shown| shown.plan.content.clone()));
        if !editor.is_unsaved() {
            preview.set(None);
            return;
        }
        let mine = editor.mine();
        if stored.as_deref() == Some(mine.as_str()) {
            return;
        }
        spawn_local(async move {
            match plan_preview(mine).await {
                Ok(html) => {
                    let _ = preview.try_set(Some(html));
                }
                Err(error) => editor.room.failed(&error),
            }
        });
    });
    let html = Memo::new(move |_| {
        preview
            .get()
            .or_else(|| shown.with(|shown| shown.as_ref().map(|shown| shown.html.clone())))
    });
    let updated = Memo::new(move |_| shown.with(|shown| shown.as_ref().map(|s| s.plan.updated_at)));
    let carried_out = Memo::new(move |_| {
        shown.with(|shown| {
            let plan = &shown.as_ref()?.plan;
            plan.implementation_started_at
        })
    });
    view! {
        <Show
            when=move || html.with(Option::is_some)
            fallback=move || {
                view! {
                    <EmptyState text=t!(locale, plan.empty)>
                        <Button
                            glyph=Glyph::Pencil
                            on_press=Callback::new(move |()| editor.mode.set(Mode::Edit))
                            test_id="plan-begin"
                        >
                            {t!(locale, plan.begin)}
                        </Button>
                    </EmptyState>
                }
            }
        >
            <div class="prose" data-testid="plan-text" inner_html=move || html.get().unwrap_or_default()></div>
            <Implement editor/>
            {move || {
                updated
                    .get()
                    .map(|at| {
                        view! {
                            <p class="text-12 text-muted">{t!(locale, plan.updated)} " " <Ago at/></p>
                        }
                    })
            }}
            {move || {
                carried_out
                    .get()
                    .map(|at| {
                        view! {
                            <p class="text-12 text-muted" data-testid="plan-carried-out">
                                {t!(locale, plan.implemented)} " " <Ago at/>
                            </p>
                        }
                    })
            }}
        </Show>
    }
    .into_any()
}

/// Tells the agent to carry the plan out. What is not saved yet is saved first, by whoever typed it: the agent reads what is stored.
#[component]
fn Implement(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let busy = RwSignal::new(false);
    let unsaved = Memo::new(move |_| editor.saving.with(|saving| *saving != Saving::Saved));
    let implement = Callback::new(move |()| {
        if busy.get_untracked() {
            return;
        }
        if editor.is_unsaved() {
            editor.save();
            return editor
                .room
                .toasts
                .failed(t!(locale, plan.implement_unsaved).to_owned());
        }
        busy.set(true);
        spawn_local(async move {
            let sent = plan_implement(editor.room.id).await;
            let _ = busy.try_set(false);
            match sent {
                Ok(_) => editor
                    .room
                    .toasts
                    .done(t!(locale, plan.implementing).to_owned()),
                Err(error) => editor.room.failed(&error),
            }
            editor.room.reread();
        });
    });
    view! {
        <div class="flex flex-wrap items-center gap-2">
            <Button weight=Weight::Primary glyph=Glyph::Play busy on_press=implement test_id="plan-implement">
                {t!(locale, plan.implement)}
            </Button>
            <Show when=move || unsaved.get()>
                <span class="text-12 text-muted">{t!(locale, plan.implement_unsaved)}</span>
            </Show>
        </div>
    }
    .into_any()
}

/// The text as it is written.
#[component]
fn Writer(editor: Editor) -> impl IntoView {
    let locale = editor.room.locale;
    let field = dom_id();
    let exists = Memo::new(move |_| editor.base.with(Option::is_some));
    let asking = RwSignal::new(false);
    view! {
        <label for=field.clone() class="sr-only">{t!(locale, plan.text)}</label>
        <textarea
            id=field
            class="plan-field"
            spellcheck="true"
            data-testid="plan-input"
            placeholder=t!(locale, plan.placeholder)
            prop:value=move || editor.text.get()
            on:input:target=move |event| editor.typed(event.target().value())
        ></textarea>
        <p class="text-12 text-muted">{t!(locale, plan.help)}</p>
        <Show when=move || exists.get()>
            <div>
                <Button
                    weight=Weight::Danger
                    glyph=Glyph::Trash2
                    on_press=Callback::new(move |()| asking.set(true))
                    test_id="plan-delete"
                >
                    {t!(locale, plan.delete)}
                </Button>
            </div>
        </Show>
        <DeletePlan editor open=asking/>
    }
    .into_any()
}

#[component]
fn DeletePlan(editor: Editor, open: RwSignal<bool>) -> impl IntoView {
    let locale = editor.room.locale;
    let delete = Callback::new(move |()| {
        open.set(false);
        let version = editor
            .base
            .with_untracked(|base| base.as_ref().map(|plan| plan.version.to_string()));
        spawn_local(async move {
            match plan_delete(editor.room.id, version).await {
                Ok(_) => {
                    let _ = editor.mode.try_set(Mode::Read);
                    editor.discard();
                }
                Err(error) => editor.room.failed(&error),
            }
            editor.reread();
        });
    });
    view! {
        <Dialog open title=t!(locale, plan.delete_heading) test_id="plan-delete-dialog">
            <p class="p-4">{t!(locale, plan.delete_text)}</p>
            <footer class="dialog-foot">
                <Button on_press=Callback::new(move |()| open.set(false))>{t!(locale, board.cancel)}</Button>
                <Button weight=Weight::Danger glyph=Glyph::Trash2 on_press=delete test_id="plan-delete-confirm">
                    {t!(locale, plan.delete_now)}
                </Button>
            </footer>
        </Dialog>
    }
}
