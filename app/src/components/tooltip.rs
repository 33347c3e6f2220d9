//! A tooltip, by the rules of WCAG 1.4.13: after a moment of pointing, at once on keyboard focus, it stays while the pointer is on
//! it, Escape puts it away, and on touch a tap shows and hides it.
//!
//! The text is in the page from the start (as a closed popover), so `aria-describedby` works without any of this code. It is never
//! the only place of a fact.

use super::dom_id::dom_id;
use leptos::prelude::*;
use std::time::Duration;

/// Pointing for less is passing over.
const DWELL: Duration = Duration::from_millis(400);
/// Time to move the pointer from the host over the gap to the tooltip.
const LINGER: Duration = Duration::from_millis(120);

/// The one tooltip that is open on the page, if any.
#[derive(Debug, Clone, Copy)]
pub struct OpenTooltip(RwSignal<Option<String>>);

impl OpenTooltip {
    /// Puts it into the context of the app, and closes it on Escape and on scrolling.
    pub fn provide() {
        let open = Self(RwSignal::new(None));
        provide_context(open);
        Effect::new(move |_| browser::close_on_escape_and_scroll(open));
    }
}

/// Shows `text` about what is inside. The child gets the id for its `aria-describedby`:
///
/// ```ignore
/// <Tooltip text=t!(locale, task.autopilot) let:tip>
///     <button aria-describedby=tip>…</button>
/// </Tooltip>
/// ```
#[component]
pub fn Tooltip<C, V>(
    /// The whole of the text.
    #[prop(into)]
    text: TextProp,
    /// Pressing shows and hides it with any pointer, not only by touch: for info buttons, which do nothing else.
    #[prop(optional)]
    on_press: bool,
    /// What it is about.
    children: C,
) -> impl IntoView
where
    C: FnOnce(String) -> V,
    V: IntoView + 'static,
{
    let id = dom_id();
    let subject = children(id.clone()).into_any();
    host(id, text, on_press, subject)
}

/// A tooltip with its host. An element that is taken out of the page still loses focus, after everything of it is disposed of; so
/// nothing here takes for granted that its state is still there.
#[derive(Clone, Copy)]
struct Host {
    open: RwSignal<Option<String>>,
    state: StoredValue<State>,
}

struct State {
    id: String,
    timer: Option<TimeoutHandle>,
    /// The last press was by touch: it shows and hides the tooltip, since nothing else can.
    by_touch: bool,
    /// Focus that follows a press is not a request for help.
    pressing: bool,
}

impl Host {
    fn new(id: String) -> Self {
        let OpenTooltip(open) = expect_context();
        let host = Self {
            open,
            state: StoredValue::new(State {
                id,
                timer: None,
                by_touch: false,
                pressing: false,
            }),
        };
        on_cleanup(move || host.hide());
        host
    }

    fn id(self) -> Option<String> {
        self.state.try_with_value(|state| state.id.clone())
    }

    fn is_open(self) -> bool {
        self.open
            .try_get_untracked()
            .flatten()
            .is_some_and(|shown| self.id() == Some(shown))
    }

    fn show(self) {
        self.cancel();
        if let Some(id) = self.id() {
            self.open.set(Some(id));
        }
    }

    fn hide(self) {
        self.cancel();
        if self.is_open() {
            self.open.set(None);
        }
    }

    fn after(self, wait: Duration, then: impl FnOnce() + 'static) {
        self.cancel();
        self.update(|state| state.timer = set_timeout_with_handle(then, wait).ok());
    }

    fn cancel(self) {
        self.update(|state| {
            if let Some(timer) = state.timer.take() {
                timer.clear();
            }
        });
    }

    fn update(self, change: impl FnOnce(&mut State)) {
        let _ = self.state.try_update_value(change);
    }

    fn entered(self, by_touch: bool) {
        if by_touch || self.is_open() {
            self.cancel();
        } else {
            self.after(DWELL, move || self.show());
        }
    }

    fn left(self, by_touch: bool) {
        if !by_touch {
            self.after(LINGER, move || self.hide());
        }
    }

    fn pressed(self, by_touch: bool) {
        self.update(|state| (state.by_touch, state.pressing) = (by_touch, true));
    }

    fn clicked(self, toggles: bool) {
        let by_touch = self.state.try_with_value(|state| state.by_touch) == Some(true);
        self.update(|state| (state.by_touch, state.pressing) = (false, false));
        if (toggles || by_touch) && !self.is_open() {
            self.show();
        } else {
            self.hide();
        }
    }

    fn focused(self, visibly: bool) {
        if visibly && self.state.try_with_value(|state| state.pressing) == Some(false) {
            self.show();
        }
    }

    fn unfocused(self) {
        self.update(|state| state.pressing = false);
        self.hide();
    }
}

/// Not generic, so that the machinery is compiled once.
fn host(id: String, text: TextProp, on_press: bool, subject: AnyView) -> impl IntoView {
    let tip = NodeRef::<leptos::html::Span>::new();
    let anchor = NodeRef::<leptos::html::Span>::new();
    let host = Host::new(id.clone());
    let shown_id = id.clone();
    let shown = Memo::new(move |_| host.open.with(|open| open.as_ref() == Some(&shown_id)));
    Effect::new(move |_| browser::reflect(shown.get(), tip, anchor));

    view! {
        <span
            node_ref=anchor
            class="tooltip-host"
            on:pointerenter=move |event| host.entered(event.pointer_type() == "touch")
            on:pointerleave=move |event| host.left(event.pointer_type() == "touch")
            on:pointerdown=move |event| host.pressed(event.pointer_type() == "touch")
            on:click=move |_| host.clicked(on_press)
            on:focusin=move |event| host.focused(browser::has_visible_focus(&event))
            on:focusout=move |_| host.unfocused()
        >
            {subject}
            <span node_ref=tip id=id role="tooltip" popover="manual" class="tooltip">
                {move || text.get()}
            </span>
        </span>
    }
    .into_any()
}

mod browser {
    use super::OpenTooltip;
    use crate::components::placement::{Align, float_beside};
    use leptos::html::Span;
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;

    /// Shows or hides the popover and puts it in its place. Both calls fail only when it is so already.
    pub(super) fn reflect(open: bool, tip: NodeRef<Span>, anchor: NodeRef<Span>) {
        let (Some(tip), Some(anchor)) = (tip.get(), anchor.get()) else {
            return;
        };
        if open {
            let _ = tip.show_popover();
            float_beside(&tip, &anchor, Align::Middle);
        } else {
            let _ = tip.hide_popover();
        }
    }

    /// Focus that came by keyboard, or by a script after the keyboard was used.
    pub(super) fn has_visible_focus(event: &web_sys::FocusEvent) -> bool {
        event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
            .is_some_and(|element| element.matches(":focus-visible").unwrap_or(false))
    }

    /// In the capturing phase: Escape must put the tooltip away and nothing else, not the dialog around it.
    pub(super) fn close_on_escape_and_scroll(OpenTooltip(open): OpenTooltip) {
        let escape =
            Closure::<dyn Fn(web_sys::KeyboardEvent)>::new(move |event: web_sys::KeyboardEvent| {
                if event.key() == "Escape" && open.get_untracked().is_some() {
                    event.prevent_default();
                    event.stop_propagation();
                    open.set(None);
                }
            });
        let scrolled = Closure::<dyn Fn()>::new(move || {
            if open.get_untracked().is_some() {
                open.set(None);
            }
        });
        let window = window();
        // Known event names; cannot fail.
        let _ = window.add_event_listener_with_callback_and_bool(
            "keydown",
            escape.as_ref().unchecked_ref(),
            true,
        );
        let _ = window.add_event_listener_with_callback_and_bool(
            "scroll",
            scrolled.as_ref().unchecked_ref(),
            true,
        );
        // They live as long as the page.
        escape.forget();
        scrolled.forget();
    }
}
