//! Whether the screen is narrow, for the few things that style alone cannot decide.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

/// Below the width at which the sidebar has its place beside the page.
const NARROW: &str = "(width < 64rem)";

/// The width of the screen, as far as it matters.
#[derive(Debug, Clone, Copy)]
pub struct Viewport(RwSignal<bool>);

impl Viewport {
    /// Puts it into the context of the app. The server does not know, so the first frame is left to style.
    pub fn provide() {
        let viewport = Self(RwSignal::new(false));
        provide_context(viewport);
        Effect::new(move |_| {
            let Ok(Some(query)) = window().match_media(NARROW) else {
                return;
            };
            viewport.0.set(query.matches());
            let changed = Closure::<dyn Fn()>::new({
                let query = query.clone();
                move || viewport.0.set(query.matches())
            });
            query.set_onchange(Some(changed.as_ref().unchecked_ref()));
            // It listens as long as the page lives.
            changed.forget();
        });
    }

    /// The same at this moment, for an event handler.
    #[must_use]
    pub fn is_narrow_now(self) -> bool {
        self.0.get_untracked()
    }

    /// Whether the sidebar has no place of its own.
    #[must_use]
    pub fn is_narrow(self) -> bool {
        self.0.get()
    }
}
