//! Dialogs and sheets: the browser's own `<dialog>`, which keeps focus inside, makes the rest inert, and gives focus back.
//!
//! What is added here: focus goes to the first field; Escape, the backdrop and the phone's back gesture ask first when typed text
//! would be lost; what is inside is made anew each time, so that a dialog begins empty.

use super::button::{Button, IconButton, Weight};
use super::glyph::Glyph;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, HtmlElement};

/// The shape of a dialog. All but the sheet fill the screen of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Frame {
    /// A question or a short form.
    #[default]
    Narrow,
    /// A form with room to write.
    Wide,
    /// From below on phones, from the side on anything wider.
    Sheet,
}

const fn frame_class(frame: Frame) -> &'static str {
    match frame {
        Frame::Narrow => "dialog",
        Frame::Wide => "dialog dialog-wide",
        Frame::Sheet => "dialog sheet",
    }
}

/// A modal dialog that is there while `open` is true.
#[component]
pub fn Dialog(
    /// Set it to open or to close. Closing this way never asks.
    open: RwSignal<bool>,
    /// The heading, and the dialog's name.
    #[prop(into)]
    title: TextProp,
    /// See [`Frame`].
    #[prop(optional)]
    frame: Frame,
    /// Whether closing would lose something typed.
    #[prop(optional, into)]
    dirty: Signal<bool>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
    /// What is inside, under the heading.
    children: ChildrenFn,
) -> impl IntoView {
    let locale = use_locale();
    let element = NodeRef::<leptos::html::Dialog>::new();
    let asking = RwSignal::new(false);
    let children = StoredValue::new(children);
    let title = StoredValue::new(title);

    let close = Callback::new(move |()| {
        if dirty.get_untracked() && !asking.get_untracked() {
            asking.set(true);
        } else {
            open.set(false);
        }
    });
    Effect::new(move |_| {
        let Some(dialog) = element.get() else { return };
        if open.get() {
            asking.set(false);
            // The content is put in by an effect of its own, maybe after this one; a task later it is there in any case.
            queue_microtask(move || show(&dialog));
        } else if dialog.open() {
            dialog.close();
        }
    });

    // A question that appears must be where focus is, or a screen reader passes it over.
    Effect::new(move |was_asking: Option<bool>| {
        let now_asking = asking.get();
        if was_asking.is_some_and(|was| was != now_asking)
            && open.get_untracked()
            && let Some(dialog) = element.get_untracked()
        {
            queue_microtask(move || {
                focus_first(
                    &dialog,
                    if now_asking {
                        ".dialog-ask button"
                    } else {
                        FIELDS
                    },
                );
            });
        }
        now_asking
    });

    view! {
        <dialog
            node_ref=element
            class=frame_class(frame)
            data-testid=test_id
            // The heading is made when the dialog opens, in the browser; its id could not be known to the server.
            aria-label=move || title.with_value(TextProp::get)
            on:keydown=move |event| {
                // One that a dialog within this one has taken is not for this one too.
                if event.key() == "Escape" && !event.default_prevented() {
                    event.prevent_default();
                    if asking.get_untracked() { asking.set(false) } else { close.run(()) }
                }
            }
            on:cancel=move |event: web_sys::Event| {
                event.prevent_default();
                close.run(());
            }
            on:close=move |_| open.set(false)
            on:click=move |event| {
                // A press on the dialog itself and not on what is in it is one on the backdrop.
                if event.target() == event.current_target() {
                    close.run(());
                }
            }
        >
            <Show when=move || open.get()>
                <div class="dialog-body">
                    <header class="dialog-head">
                        // Where focus goes when there is no field: not to the button that closes, which would show its tooltip.
                        <h2 tabindex="-1" autofocus=true class="flex-1 min-w-0 text-16 font-semibold truncate">
                            {move || title.with_value(TextProp::get)}
                        </h2>
                        <IconButton glyph=Glyph::X label=t!(locale, common.close) on_press=close/>
                    </header>
                    {
                        provide_context(DialogAround(element));
                        children.with_value(|children| children())
                    }
                    <Show when=move || asking.get()>
                        <div class="dialog-ask" role="alertdialog" aria-label=t!(locale, common.discard_question)>
                            <p class="flex-1 text-13">{t!(locale, common.discard_question)}</p>
                            <Button on_press=Callback::new(move |()| asking.set(false))>
                                {t!(locale, common.keep_editing)}
                            </Button>
                            <Button weight=Weight::Danger on_press=Callback::new(move |()| open.set(false))>
                                {t!(locale, common.discard)}
                            </Button>
                        </div>
                    </Show>
                </div>
            </Show>
        </dialog>
    }
    .into_any()
}

/// The dialog around some content, for content that comes late.
#[derive(Debug, Clone, Copy)]
pub struct DialogAround(NodeRef<leptos::html::Dialog>);

impl DialogAround {
    /// The content is about to be there: focus goes where typing begins, if it still waits at the heading.
    pub fn filled(self) {
        request_animation_frame(move || {
            let Some(dialog) = self.0.try_get_untracked().flatten() else {
                return;
            };
            let focused = document().active_element();
            if focused.is_some_and(|focused| focused.matches("h2[autofocus]").unwrap_or(false)) {
                focus_first(&dialog, FIELDS);
            }
        });
    }
}

/// What can be typed into or chosen from.
const FIELDS: &str = "input:not([type=hidden]), textarea, select";

/// Opens it and puts focus where typing begins.
fn show(dialog: &HtmlDialogElement) {
    if !dialog.open() {
        // Fails only when the dialog has just left the page.
        let _ = dialog.show_modal();
        super::toast::raise_above_dialogs();
    }
    focus_first(dialog, FIELDS);
}

fn focus_first(dialog: &HtmlDialogElement, selector: &str) {
    let first = dialog.query_selector(selector).ok().flatten();
    if let Some(element) = first.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        let _ = element.focus();
    }
}
