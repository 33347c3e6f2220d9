//! What is typed into the plan while its tab is hidden or closed.
//!
//! A tab that is closed runs nothing after that, and the browser gives up the requests of its page. So what is not saved yet is
//! handed to the browser itself, which sends it whatever becomes of the page: to the same save as ever, with the version it was
//! made from. A page that lives on hears of it as of anybody's write.
//!
//! What the browser would not take, since it is too long or since somebody has to choose first, is not let go in silence: the
//! browser asks whether the page is to be left.

use crate::api::papers::PlanSave;
use domain::ids::TaskId;
use domain::plan::WritePlan;
use leptos::leptos_dom::helpers::window_event_listener_untyped;
use leptos::prelude::*;
use leptos::server_fn::ServerFn;

/// What the browser sends for a page that is gone, at most, less what stands around the text.
const HANDED_OVER_MOST: usize = 60 * 1_024;

/// Whether a text is short enough for [`hand_over`], however much of it has to be escaped.
pub(super) fn fits(text: &str) -> bool {
    text.len() <= HANDED_OVER_MOST
        && serde_json::to_string(text).is_ok_and(|text| text.len() <= HANDED_OVER_MOST)
}

/// Calls `hide` whenever the page is hidden or left, and `come_back` when it is seen again. While `loses` holds, the browser asks
/// before the page is left. Call it in the browser.
pub(super) fn watch(
    hide: impl Fn() + Copy + 'static,
    come_back: impl Fn() + 'static,
    loses: impl Fn() -> bool + 'static,
) {
    let leaving = window_event_listener_untyped("beforeunload", move |event| {
        if loses() {
            event.prevent_default();
        }
    });
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
        leaving.remove();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_measured_as_it_is_sent() {
        assert!(fits(&"a".repeat(60_000)));
        assert!(!fits(&"a".repeat(64 * 1_024)));
        // Each becomes two.
        assert!(!fits(&"\n".repeat(40_000)));
        assert!(!fits(&"😀".repeat(20_000)));
    }
}
