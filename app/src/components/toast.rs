//! Short notices: what an action did, or why it did not. Each is spoken by assistive technology as well as shown.
//!
//! Good news goes by itself; a failure stays until it is put away.

use super::button::{Button, IconButton, Weight};
use super::glyph::Glyph;
use super::icon::Icon;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

const STAY: Duration = Duration::from_secs(6);
const MOST: usize = 4;

/// What can be done about a notice: a word and the deed. A `Callback` would go with the view that it was made in, and a notice
/// outlives that: it is often about what has just been taken away.
type Action = (String, Arc<dyn Fn() + Send + Sync>);

#[derive(Clone)]
struct Toast {
    id: u32,
    text: String,
    failed: bool,
    action: Option<Action>,
}

/// The notices of the page.
#[derive(Debug, Clone, Copy)]
pub struct Toasts {
    shown: RwSignal<Vec<Toast>>,
    next: StoredValue<u32>,
}

impl Toasts {
    /// Puts them into the context of the app.
    pub fn provide() {
        provide_context(Self {
            shown: RwSignal::new(Vec::new()),
            next: StoredValue::new(0),
        });
    }

    /// Says what an action did.
    pub fn done(self, text: impl Into<String>) {
        let id = self.push(text.into(), false, None);
        set_timeout(move || self.dismiss(id), STAY);
    }

    /// Says what an action did, with a button for what may follow, such as taking it back. It stays a little longer.
    pub fn done_with(
        self,
        text: impl Into<String>,
        word: impl Into<String>,
        follow_up: impl Fn() + Send + Sync + 'static,
    ) {
        let action = (word.into(), Arc::new(follow_up) as Arc<_>);
        let id = self.push(text.into(), false, Some(action));
        set_timeout(move || self.dismiss(id), 2 * STAY);
    }

    /// Says what could not be done, and why.
    pub fn failed(self, text: impl Into<String>) {
        self.push(text.into(), true, None);
    }

    fn push(self, text: String, failed: bool, action: Option<Action>) -> u32 {
        let id = self.next.get_value();
        self.next.set_value(id.wrapping_add(1));
        self.shown.update(|shown| {
            shown.push(Toast {
                id,
                text,
                failed,
                action,
            });
            let surplus = shown.len().saturating_sub(MOST);
            shown.drain(..surplus);
        });
        id
    }

    fn dismiss(self, id: u32) {
        // The page may have been left in the meantime.
        let _ = self
            .shown
            .try_update(|shown| shown.retain(|toast| toast.id != id));
    }
}

/// The notices of this page.
///
/// # Panics
/// Outside of the app, where nobody has provided them.
#[must_use]
pub fn use_toasts() -> Toasts {
    expect_context()
}

/// Puts the notices that are there above whatever was opened since.
pub(super) fn raise_above_dialogs() {
    let place = document().query_selector(".toaster").ok().flatten();
    if let Some(place) = place.and_then(|place| place.dyn_into::<HtmlElement>().ok())
        && place.child_element_count() > 0
    {
        raise(&place);
    }
}

fn raise(place: &HtmlElement) {
    // Refused when it is not open, and when it has just left the page; both are as wished.
    let _ = place.hide_popover();
    let _ = place.show_popover();
}

/// Where the notices appear: once in the app.
#[component]
pub fn Toaster() -> impl IntoView {
    let locale = use_locale();
    let toasts = use_toasts();
    let place = NodeRef::<leptos::html::Div>::new();
    // In the browser's top layer, where what was opened last lies above: a notice about a dialog lies above the dialog.
    Effect::new(move |_| {
        if let (Some(place), false) = (place.get(), toasts.shown.with(Vec::is_empty)) {
            raise(&place);
        }
    });
    view! {
        <div node_ref=place class="toaster" popover="manual" role="status" aria-live="polite" aria-relevant="additions">
            <For each=move || toasts.shown.get() key=|toast| toast.id let:toast>
                <div class="toast">
                    {if toast.failed {
                        view! { <Icon glyph=Glyph::CircleAlert class="w-4 h-4 shrink-0 text-failed"/> }
                    } else {
                        view! { <Icon glyph=Glyph::Check class="w-4 h-4 shrink-0 text-done"/> }
                    }}
                    <span class="flex-1 min-w-0">{toast.text}</span>
                    {toast.action.map(|(word, follow_up)| {
                        let on_press = Callback::new(move |()| {
                            toasts.dismiss(toast.id);
                            follow_up();
                        });
                        view! { <Button weight=Weight::Quiet on_press>{word}</Button> }
                    })}
                    <IconButton
                        glyph=Glyph::X
                        label=t!(locale, common.dismiss)
                        on_press=Callback::new(move |()| toasts.dismiss(toast.id))
                    />
                </div>
            </For>
        </div>
    }
    .into_any()
}
