//! Dragging a card with the mouse or a pen.
//!
//! All of it happens on the board's own element: cards come and go while one is held. A finger scrolls instead; it has the card's
//! menu. What is dropped shows in its new place at once (see `workbench::state`).

use crate::pages::workbench::Workbench;
use crate::pages::workbench::changes::Slot;
use domain::ids::{StepId, TaskId};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, PointerEvent};

/// A press that moves less is a click.
const SLACK: i32 = 6;
/// Near an edge of the board, it scrolls.
const EDGE: f64 = 48.0;
const NUDGE: i32 = 14;

/// A card in the air.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    task: TaskId,
    x: i32,
    y: i32,
}

#[derive(Debug, Clone, Copy)]
struct Press {
    task: TaskId,
    x: i32,
    y: i32,
}

/// The dragging of one board.
#[derive(Debug, Clone, Copy)]
pub struct Drag {
    workbench: Workbench,
    press: StoredValue<Option<Press>>,
    held: RwSignal<Option<Held>>,
    target: RwSignal<Option<Slot>>,
    /// The click that the browser makes of the release is none.
    swallow_click: StoredValue<bool>,
}

impl Drag {
    /// Nothing is held yet.
    #[must_use]
    pub fn new(workbench: Workbench) -> Self {
        Self {
            workbench,
            press: StoredValue::new(None),
            held: RwSignal::new(None),
            target: RwSignal::new(None),
            swallow_click: StoredValue::new(false),
        }
    }

    /// The card in the air.
    #[must_use]
    pub fn held(self) -> Option<Held> {
        self.held.get()
    }

    /// The card in the air.
    #[must_use]
    pub fn held_task(self) -> Option<TaskId> {
        self.held.with(|held| held.as_ref().map(|held| held.task))
    }

    /// Where it would be put down.
    #[must_use]
    pub fn target(self) -> Option<Slot> {
        self.target.get()
    }

    /// Maybe the beginning of a drag.
    pub fn pressed(self, event: &PointerEvent) {
        self.swallow_click.set_value(false);
        let is_pointer = event.button() == 0 && event.pointer_type() != "touch";
        let target = event
            .target()
            .and_then(|target| target.dyn_into::<Element>().ok());
        let card = target
            .filter(|_| is_pointer)
            .filter(|target| matches!(target.closest("button, [popover]"), Ok(None)))
            .and_then(|target| target.closest("[data-task]").ok()?);
        let task = card.and_then(|card| card.get_attribute("data-task")?.parse().ok());
        self.press.set_value(task.map(|task| Press {
            task,
            x: event.client_x(),
            y: event.client_y(),
        }));
    }

    /// The pointer moved; past the slack, a pressed card is picked up.
    pub fn moved(self, event: &PointerEvent) {
        let Some(press) = self.press.get_value() else {
            return;
        };
        let (x, y) = (event.client_x(), event.client_y());
        let is_held = self.held.with_untracked(Option::is_some);
        if !is_held && (x - press.x).abs() < SLACK && (y - press.y).abs() < SLACK {
            return;
        }
        let Some(board) = event
            .current_target()
            .and_then(|target| target.dyn_into::<HtmlElement>().ok())
        else {
            return;
        };
        if !is_held {
            // Refused only when the pointer is already gone.
            let _ = board.set_pointer_capture(event.pointer_id());
        }
        self.held.set(Some(Held {
            task: press.task,
            x,
            y,
        }));
        scroll_near_edge(&board, x);
        let target = slot_under(x, y).filter(|slot| self.is_allowed(press.task, *slot));
        if self.target.get_untracked() != target {
            self.target.set(target);
        }
    }

    /// Puts the card down where it would go.
    pub fn released(self) {
        let held = self.held.get_untracked();
        let target = self.target.get_untracked();
        self.cancel();
        if let Some(held) = held {
            self.swallow_click.set_value(true);
            if let Some(slot) = target {
                self.workbench.move_task(held.task, slot);
            }
        }
    }

    /// Puts the card back. Also what happens after a release, when there is nothing left to put back.
    pub fn cancel(self) {
        self.press.set_value(None);
        if self.held.with_untracked(Option::is_some) {
            self.held.set(None);
            self.target.set(None);
        }
    }

    /// Whether the click that is just happening is the end of a drag.
    pub fn take_click(self) -> bool {
        let swallow = self.swallow_click.get_value();
        self.swallow_click.set_value(false);
        swallow
    }

    fn is_allowed(self, task: TaskId, slot: Slot) -> bool {
        let within = self
            .workbench
            .by_id
            .with_untracked(|tasks| tasks.get(&task).map(|task| task.workflow_step_id));
        within == Some(slot.step)
            || self.workbench.steps.with_untracked(|steps| {
                steps
                    .iter()
                    .any(|step| step.id == slot.step && step.allow_manual_move)
            })
    }
}

/// The card as it follows the pointer.
#[component]
pub fn Ghost(
    /// The drag.
    drag: Drag,
) -> impl IntoView {
    let element = NodeRef::<leptos::html::Div>::new();
    Effect::new(move |_| {
        let (Some(element), Some(held)) = (element.get(), drag.held()) else {
            return;
        };
        // Through the object model, which the content security policy allows.
        let place = format!("translate({}px, {}px)", held.x + 8, held.y + 8);
        let _ = HtmlElement::style(&element).set_property("transform", &place);
    });
    let title = move || {
        let task = drag.held_task()?;
        Some(drag.workbench.title(task))
    };
    view! {
        <div node_ref=element class="board-ghost" hidden=move || drag.held_task().is_none() aria-hidden="true">
            {title}
        </div>
    }
}

/// The place under a point: the column it is over, before the first card whose middle is below it.
fn slot_under(x: i32, y: i32) -> Option<Slot> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a coordinate on a screen is far below 2^24"
    )]
    let under = document().element_from_point(x as f32, y as f32)?;
    let column = under.closest("[data-step]").ok()??;
    let step: StepId = column.get_attribute("data-step")?.parse().ok()?;
    let cards = column.query_selector_all("[data-task]").ok()?;
    let before = (0..cards.length())
        .filter_map(|at| cards.get(at)?.dyn_into::<Element>().ok())
        .find(|card| {
            let area = card.get_bounding_client_rect();
            f64::from(y) < area.y() + area.height() / 2.0
        })
        .and_then(|card| card.get_attribute("data-task")?.parse().ok());
    Some(Slot { step, before })
}

fn scroll_near_edge(board: &HtmlElement, x: i32) {
    let area = board.get_bounding_client_rect();
    let x = f64::from(x);
    if x < area.x() + EDGE {
        board.set_scroll_left(board.scroll_left() - NUDGE);
    } else if x > area.x() + area.width() - EDGE {
        board.set_scroll_left(board.scroll_left() + NUDGE);
    }
}
