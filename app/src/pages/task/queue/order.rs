//! Putting what waits into another order: with the arrow keys on an entry's handle, or by dragging the handle.
//!
//! The wish shows at once. Wishes go out one after the other, the last one only; when one is refused, the server's order is back.

use super::ids_of;
use crate::api::queue::queue_reorder;
use crate::i18n::t;
use crate::pages::task::room::Room;
use domain::ids::{PromptId, SessionId};
use domain::view::QueueView;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, PointerEvent};

/// The order of one queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    room: Room,
    queue: Memo<Option<QueueView>>,
    /// The order wished for, until the server has it.
    wish: RwSignal<Option<Vec<PromptId>>>,
    busy: StoredValue<bool>,
    held: RwSignal<Option<PromptId>>,
    /// The entry before which the held one would be put; the end when `Some(None)`.
    target: RwSignal<Option<Option<PromptId>>>,
    said: RwSignal<String>,
}

impl Order {
    pub(super) fn new(room: Room, queue: Memo<Option<QueueView>>) -> Self {
        Self {
            room,
            queue,
            wish: RwSignal::new(None),
            busy: StoredValue::new(false),
            held: RwSignal::new(None),
            target: RwSignal::new(None),
            said: RwSignal::new(String::new()),
        }
    }

    /// These prompts in the order wished for. What came since the wish stands at the end.
    pub(super) fn applied(self, ids: Vec<PromptId>) -> Vec<PromptId> {
        self.wish.with(|wish| match wish {
            Some(wish) => sorted_by(ids, wish),
            None => ids,
        })
    }

    /// What a move came to, for assistive technology.
    pub(super) fn said(self) -> String {
        self.said.get()
    }

    /// Whether this one is being dragged.
    pub(super) fn is_held(self, id: PromptId) -> bool {
        self.held.get() == Some(id)
    }

    /// Where the dragged one would go, as seen from this one.
    pub(super) fn mark_at(self, id: PromptId) -> Option<&'static str> {
        match self.target.get()? {
            Some(before) => (before == id).then_some("before"),
            None => (self.shown().last() == Some(&id)).then_some("after"),
        }
    }

    /// Moves an entry by a key on its handle; answers whether the key meant something.
    pub(super) fn on_key(self, id: PromptId, key: &str) -> bool {
        let ids = untrack(|| self.shown());
        let Some(at) = ids.iter().position(|other| *other == id) else {
            return false;
        };
        let last = ids.len().saturating_sub(1);
        let to = match key {
            "ArrowUp" => at.saturating_sub(1),
            "ArrowDown" => (at + 1).min(last),
            "Home" => 0,
            "End" => last,
            _ => return false,
        };
        if to != at {
            self.put(ids, at, to);
        }
        true
    }

    /// Maybe the beginning of a drag.
    pub(super) fn pressed(self, event: &PointerEvent) {
        let target = event
            .target()
            .and_then(|target| target.dyn_into::<Element>().ok());
        let handle = target
            .filter(|_| event.button() == 0)
            .and_then(|target| target.closest("[data-queue-handle]").ok()?);
        let id = handle.and_then(|handle| handle.get_attribute("data-queue-handle")?.parse().ok());
        self.held.set(id);
    }

    /// The pointer moved with an entry held.
    pub(super) fn moved(self, event: &PointerEvent) {
        if self.held.with_untracked(Option::is_none) {
            return;
        }
        let Some(list) = event
            .current_target()
            .and_then(|list| list.dyn_into::<Element>().ok())
        else {
            return;
        };
        // Refused only when the pointer is already gone.
        let _ = list.set_pointer_capture(event.pointer_id());
        let target = Some(entry_below(&list, f64::from(event.client_y())));
        if self.target.get_untracked() != target {
            self.target.set(target);
        }
    }

    /// Puts the held entry down.
    pub(super) fn released(self) {
        let (held, target) = (self.held.get_untracked(), self.target.get_untracked());
        self.cancel();
        let (Some(held), Some(before)) = (held, target) else {
            return;
        };
        let ids = untrack(|| self.shown());
        let Some(at) = ids.iter().position(|id| *id == held) else {
            return;
        };
        let end = ids.len();
        let to = before
            .and_then(|before| ids.iter().position(|id| *id == before))
            .unwrap_or(end);
        // Counted without the held one.
        let to = if to > at { to - 1 } else { to };
        if to != at {
            self.put(ids, at, to);
        }
    }

    /// Leaves everything where it is.
    pub(super) fn cancel(self) {
        if self.held.with_untracked(Option::is_some) {
            self.held.set(None);
            self.target.set(None);
        }
    }

    fn shown(self) -> Vec<PromptId> {
        self.applied(self.queue.with(|queue| ids_of(queue.as_ref())))
    }

    fn put(self, mut ids: Vec<PromptId>, from: usize, to: usize) {
        let Some(session) = self.room.shown.get_untracked() else {
            return;
        };
        let id = ids.remove(from);
        ids.insert(to, id);
        let (n, all) = (to + 1, ids.len());
        self.said
            .set(t!(self.room.locale, queue.moved, n = n, all = all));
        self.wish.set(Some(ids));
        refocus(id);
        self.send(session);
    }

    fn send(self, session: SessionId) {
        let Some(Some(ids)) = self.wish.try_get_untracked() else {
            return;
        };
        if self.busy.try_get_value() != Some(false) {
            return;
        }
        self.busy.set_value(true);
        spawn_local(async move {
            let sent = queue_reorder(session, ids.clone()).await;
            let _ = self.busy.try_set_value(false);
            let is_last = self
                .wish
                .try_with_untracked(|wish| wish.as_ref() == Some(&ids));
            match sent {
                Ok(_) if is_last == Some(false) => return self.send(session),
                Ok(queue) => {
                    let _ = self.room.view.try_update(|view| {
                        let queues = view.queues.iter_mut();
                        queues
                            .filter(|known| known.session_id == session)
                            .for_each(|known| known.clone_from(&queue));
                    });
                }
                Err(error) => self.room.failed(&error),
            }
            let _ = self.wish.try_set(None);
            self.room.reread();
        });
    }
}

/// `ids` in the order of `wish`; what it does not name comes last.
fn sorted_by(mut ids: Vec<PromptId>, wish: &[PromptId]) -> Vec<PromptId> {
    ids.sort_by_key(|id| {
        let place = wish.iter().position(|wished| wished == id);
        place.unwrap_or(wish.len())
    });
    ids
}

/// The first entry of the list whose middle is below `y`.
fn entry_below(list: &Element, y: f64) -> Option<PromptId> {
    let entries = list.query_selector_all("[data-queue-id]").ok()?;
    (0..entries.length())
        .filter_map(|at| entries.get(at)?.dyn_into::<Element>().ok())
        .find(|entry| {
            let area = entry.get_bounding_client_rect();
            y < area.y() + area.height() / 2.0
        })
        .and_then(|entry| entry.get_attribute("data-queue-id")?.parse().ok())
}

/// An element that is moved loses focus; its handle gets it back once the list is in order.
fn refocus(id: PromptId) {
    request_animation_frame(move || {
        let selector = format!("[data-queue-handle='{id}']");
        let handle = document().query_selector(&selector).ok().flatten();
        if let Some(handle) = handle.and_then(|handle| handle.dyn_into::<HtmlElement>().ok()) {
            let _ = handle.focus();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_the_wish_stands_at_the_end() {
        let ids: Vec<PromptId> = (0..4).map(|_| PromptId::new()).collect();
        let wish = [ids[2], ids[0], PromptId::new(), ids[1]];
        assert_eq!(
            sorted_by(ids.clone(), &wish),
            [ids[2], ids[0], ids[1], ids[3]]
        );
        assert_eq!(sorted_by(ids.clone(), &[]), ids);
    }
}
