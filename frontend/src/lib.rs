//! The browser's entry: takes over the page that the server has rendered.

#![recursion_limit = "256"]

use leptos::prelude::document;
use wasm_bindgen::prelude::wasm_bindgen;

/// Called once by the script in the page, after the module is loaded.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
    // From here on a press does something; the end-to-end tests wait for this mark.
    if let Some(html) = document().document_element() {
        // Refused only for a name that is no attribute's.
        let _ = html.set_attribute("data-hydrated", "");
    }
}
