//! What goes wrong in a page, told to the server's log: an operator seldom looks into a browser's console, and an agent cannot.

use crate::api::setup::fault_report;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;

/// Reports of one page; a page that fails in a circle must not fill the log.
const MOST: u32 = 20;

/// Watches the page for errors that nobody caught.
pub fn watch() {
    let left = StoredValue::new(MOST);
    Effect::new(move |_| {
        for name in ["error", "unhandledrejection"] {
            let handle = window_event_listener_untyped(name, move |event| {
                let allowed = left.try_update_value(|left| {
                    let allowed = *left > 0;
                    *left = left.saturating_sub(1);
                    allowed
                });
                if allowed == Some(true) {
                    report(&event);
                }
            });
            on_cleanup(move || handle.remove());
        }
    });
}

fn report(event: &web_sys::Event) {
    let text = describe(event);
    spawn_local(async move {
        // Whoever cannot reach the server cannot tell it so.
        let _ = fault_report(text).await;
    });
}

fn describe(event: &JsValue) -> String {
    let field = |of: &JsValue, name: &str| js_sys::Reflect::get(of, &name.into()).ok();
    let text = |of: &JsValue, name: &str| field(of, name).and_then(|value| value.as_string());
    let reason = field(event, "reason").filter(|reason| !reason.is_undefined());
    let what = text(event, "message")
        .or_else(|| {
            let reason = reason.as_ref()?;
            text(reason, "message").or_else(|| reason.as_string())
        })
        .unwrap_or_else(|| "an error without words".to_owned());
    let place = text(event, "filename").unwrap_or_default();
    let line = field(event, "lineno")
        .and_then(|line| line.as_f64())
        // A whole number, which takes far less code to print than any other.
        .map_or(0, |line| line as u32);
    format!("{what} ({place}:{line})")
}
