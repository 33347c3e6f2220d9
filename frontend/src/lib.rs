//! The browser's entry: takes over the page that the server has rendered.

#![recursion_limit = "256"]

use leptos::prelude::{document, set_timeout, window};
use std::time::Duration;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen_futures::spawn_local;

/// After an attempt to fetch the part that the page is made by. Until it comes the page can be read, as it can without a script.
const AGAIN: Duration = Duration::from_secs(3);

/// Called once by the script in the page, after the module is loaded.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    arrive();
}

fn arrive() {
    let path = window().location().pathname().unwrap_or_default();
    spawn_local(async move {
        match app::parts::arrive(&path).await {
            Ok(()) => take_over(),
            Err(_) => set_timeout(arrive, AGAIN),
        }
    });
}

fn take_over() {
    leptos::mount::hydrate_body(app::App);
    // From here on a press does something; the end-to-end tests wait for this mark.
    if let Some(html) = document().document_element() {
        // Refused only for a name that is no attribute's.
        let _ = html.set_attribute("data-hydrated", "");
    }
}
