//! Moving a card with the keyboard: Space picks it up, the arrow keys move it, Space or Enter puts it down, Escape puts it back.
//!
//! While it is carried the board shows it in its new place, as a preview; the server hears of it when it is put down.

use crate::api::board_page::BoardStep;
use crate::i18n::{Locale, t};
use crate::pages::workbench::Workbench;
use crate::pages::workbench::changes::{Change, Slot};
use domain::ids::{StepId, TaskId};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

/// The carrying of one board.
#[derive(Debug, Clone, Copy)]
pub struct Carry {
    workbench: Workbench,
    locale: Locale,
    carried: RwSignal<Option<TaskId>>,
    said: RwSignal<String>,
}

impl Carry {
    /// Nothing is carried yet.
    #[must_use]
    pub fn new(workbench: Workbench, locale: Locale) -> Self {
        let carry = Self {
            workbench,
            locale,
            carried: RwSignal::new(None),
            said: RwSignal::new(String::new()),
        };
        on_cleanup(move || {
            let _ = workbench.preview.try_set(None);
        });
        carry
    }

    /// Whether a card is carried.
    #[must_use]
    pub fn is_carrying(self) -> bool {
        self.carried.with(Option::is_some)
    }

    /// Whether it is this one.
    #[must_use]
    pub fn is_carried(self, id: TaskId) -> bool {
        self.carried.get() == Some(id)
    }

    /// What happened last, for assistive technology and, while a card is carried, for the eye.
    #[must_use]
    pub fn said(self) -> String {
        self.said.get()
    }

    /// Answers whether the key meant something.
    pub fn on_key(self, event: &KeyboardEvent) -> bool {
        let key = event.key();
        let Some(task) = self.carried.get_untracked() else {
            let Some(task) = card_of(event).filter(|_| key == " ") else {
                return false;
            };
            self.pick_up(task);
            return true;
        };
        match key.as_str() {
            " " | "Enter" => self.put_down(task),
            "Escape" => self.put_back(task),
            "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight" => {
                if let Some(slot) = untrack(|| self.neighbour(task, &key)) {
                    self.workbench
                        .preview
                        .set(Some(Change::Moved { task, slot }));
                    self.say_place(task);
                    refocus(task);
                }
            }
            // The focus stays with the card until it is put down.
            "Tab" => {}
            _ => return false,
        }
        true
    }

    fn pick_up(self, task: TaskId) {
        self.carried.set(Some(task));
        let title = untrack(|| self.workbench.title(task));
        self.said
            .set(t!(self.locale, board.picked_up, title = title));
    }

    fn put_down(self, task: TaskId) {
        self.carried.set(None);
        let slot = untrack(|| self.workbench.slot_of(task));
        self.workbench.preview.set(None);
        if let Some(slot) = slot {
            self.workbench.move_task(task, slot);
        }
        self.say_place(task);
        refocus(task);
    }

    fn put_back(self, task: TaskId) {
        self.carried.set(None);
        self.workbench.preview.set(None);
        let title = untrack(|| self.workbench.title(task));
        self.said
            .set(t!(self.locale, board.put_back, title = title));
        refocus(task);
    }

    fn neighbour(self, task: TaskId, key: &str) -> Option<Slot> {
        let here = self.workbench.slot_of(task)?;
        let column = self.workbench.cards(here.step);
        let at = column.iter().position(|card| *card == task)?;
        let within = |before| Slot {
            step: here.step,
            before,
        };
        match key {
            "ArrowUp" => Some(within(Some(*column.get(at.checked_sub(1)?)?))),
            "ArrowDown" if at + 1 < column.len() => Some(within(column.get(at + 2).copied())),
            "ArrowLeft" | "ArrowRight" => {
                let step = self.next_step(here.step, key == "ArrowRight")?;
                // At the same height, as far as the column goes.
                let before = self.workbench.cards(step).get(at).copied();
                Some(Slot { step, before })
            }
            _ => None,
        }
    }

    /// The next column that cards may be moved to by hand.
    fn next_step(self, from: StepId, right: bool) -> Option<StepId> {
        self.workbench.steps.with(|steps| {
            let at = steps.iter().position(|step| step.id == from)?;
            let allowed = |step: &&BoardStep| step.allow_manual_move;
            let next = if right {
                steps.iter().skip(at + 1).find(allowed)
            } else {
                steps.iter().take(at).rev().find(allowed)
            };
            next.map(|step| step.id)
        })
    }

    fn say_place(self, task: TaskId) {
        let place = untrack(|| {
            let slot = self.workbench.slot_of(task)?;
            let column = self.workbench.cards(slot.step);
            let at = column.iter().position(|card| *card == task)?;
            let step = self.workbench.steps.with(|steps| {
                let step = steps.iter().find(|step| step.id == slot.step);
                step.map(|step| step.name.clone())
            })?;
            Some((step, at + 1, column.len()))
        });
        let Some((step, n, of)) = place else { return };
        self.said
            .set(if self.carried.with_untracked(Option::is_some) {
                t!(self.locale, board.place_now, step = step, n = n, of = of)
            } else {
                let title = untrack(|| self.workbench.title(task));
                t!(
                    self.locale,
                    board.put_down,
                    title = title,
                    step = step,
                    n = n,
                    of = of
                )
            });
    }
}

/// The card whose link has the focus.
fn card_of(event: &KeyboardEvent) -> Option<TaskId> {
    let target = event.target()?.dyn_into::<Element>().ok()?;
    if !target.matches(".task-card-link").unwrap_or(false) {
        return None;
    }
    let card = target.closest("[data-task]").ok()??;
    card.get_attribute("data-task")?.parse().ok()
}

/// A card that is moved in the page loses the focus; a frame later it is in its new place.
fn refocus(task: TaskId) {
    request_animation_frame(move || {
        let selector = format!(".board [data-task=\"{task}\"] .task-card-link");
        let link = document().query_selector(&selector).ok().flatten();
        if let Some(link) = link.and_then(|link| link.dyn_into::<HtmlElement>().ok()) {
            let _ = link.focus();
        }
    });
}
