//! What is typed into the plan while its tab is hidden or closed.
//!
//! A tab that is closed runs nothing after that, and the browser gives up the requests of its page. So what is not saved yet is
//! handed to the browser itself, which sends it whatever becomes of the page: to the same save as ever, with the version it was
//! made from. A page that lives on hears of it as of anybody's write.

use crate::api::papers::PlanSave;
use domain::ids::TaskId;
use domain::plan::WritePlan;
use leptos::leptos_dom::helpers::window_event_listener_untyped;
use leptos::prelude::*;
use leptos::server_fn::ServerFn;

/// Calls `hide` whenever the page is hidden or left, and `come_back` when it is seen again. Call it in the browser.
pub(super) fn watch(hide: impl Fn() + Copy + 'static, come_back: impl Fn() + 'static) {
    let hidden = window_event_listener_untyped("pagehide", move |_| hide());
    // Of the document; it rises to the window. It comes before a tab is closed, and on phones it may be the last that comes.
    let changed = window_event_listener_untyped("visibilitychange", move |_| {
        if document().hidden() {
            hide();
        } else {
            come_back();
        }
    });
    on_cleanup(move || {
        hidden.remove();
        changed.remove();
    });
}

/// Hands a save to the browser; answers whether it took it. It takes 64 KiB at most.
pub(super) fn hand_over(task: TaskId, params: WritePlan) -> bool {
    let Ok(body) = serde_json::to_string(&PlanSave { task, params }) else {
        return false;
    };
    let kind = web_sys::BlobPropertyBag::new();
    kind.set_type("application/json");
    let parts = js_sys::Array::of1(&body.into());
    let Ok(blob) = web_sys::Blob::new_with_str_sequence_and_options(&parts, &kind) else {
        return false;
    };
    let navigator = window().navigator();
    navigator
        .send_beacon_with_opt_blob(PlanSave::PATH, Some(&blob))
        .unwrap_or(false)
}
