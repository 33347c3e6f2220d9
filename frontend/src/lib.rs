//! The browser's entry: takes over the page that the server has rendered.

#![recursion_limit = "256"]

use wasm_bindgen::prelude::wasm_bindgen;

/// Called once by the script in the page, after the module is loaded.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}
