//! What a rule answers when a command applies.

use crate::effect::EffectKind;
use crate::event::EventKind;

/// The outcome of a `decide`: the next value, the fact to publish, and the follow-ups to enqueue.
///
/// `changed` is false when the command is already satisfied ("already done" is a success for stop and cancel): then nothing
/// is written, published or enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition<S> {
    /// The value after the transition.
    pub next: S,
    /// Whether anything is to be written.
    pub changed: bool,
    /// The fact to append to the event log when something changed.
    pub event: Option<EventKind>,
    /// Follow-ups to enqueue in the same transaction.
    pub effects: Vec<EffectKind>,
}

impl<S> Transition<S> {
    /// A change that publishes `event`.
    pub fn to(next: S, event: EventKind) -> Self {
        Self {
            next,
            changed: true,
            event: Some(event),
            effects: Vec::new(),
        }
    }

    /// Nothing to do: the command is already satisfied.
    pub fn stay(current: S) -> Self {
        Self {
            next: current,
            changed: false,
            event: None,
            effects: Vec::new(),
        }
    }

    /// Adds a follow-up.
    #[must_use]
    pub fn then(mut self, effect: EffectKind) -> Self {
        self.effects.push(effect);
        self
    }
}
