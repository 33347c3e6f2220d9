//! Wake-ups: they say "look again" and carry nothing else. The database is the truth.
//!
//! A waiter takes its receiver before it asks the database, so that nothing that commits in between is missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;
use tokio::sync::watch;

/// What one may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Anything was appended to the event log.
    Events,
    /// A follow-up became due, or another time may be the next.
    Effects,
    /// A question to the operator changed.
    Clarifications,
    /// A prompt was accepted by an agent, or a turn ended.
    Turns,
    /// Something happened to an AI job.
    Jobs,
    /// A client waited for a run, or read of one.
    Runs,
    /// Something was switched on about a request, or it is to be looked at now.
    Requests,
    /// A folder may be cleaned up.
    Folders,
}

/// What other nodes are told of. They learn of the rest from the event log.
pub(crate) const TOLD: [Topic; 5] = [
    Topic::Events,
    Topic::Jobs,
    Topic::Runs,
    Topic::Requests,
    Topic::Folders,
];

/// What the other nodes are still to be told.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    left: [AtomicBool; TOLD.len()],
    some: Notify,
}

impl Marks {
    pub(crate) fn leave(&self, topic: Topic) {
        if let Some(place) = TOLD.iter().position(|told| *told == topic) {
            self.left[place].store(true, Ordering::Release);
            self.some.notify_one();
        }
    }

    /// Until a mark is left.
    pub(crate) async fn left(&self) {
        self.some.notified().await;
    }

    /// The topics that were marked, as a letter each.
    pub(crate) fn take(&self) -> String {
        TOLD.iter()
            .zip(&self.left)
            .filter(|(_, left)| left.swap(false, Ordering::AcqRel))
            .map(|(topic, _)| letter(*topic))
            .collect()
    }
}

/// By which a topic is named among nodes.
pub(crate) const fn letter(topic: Topic) -> char {
    match topic {
        Topic::Events => 'e',
        Topic::Effects => 'f',
        Topic::Clarifications => 'c',
        Topic::Turns => 't',
        Topic::Jobs => 'j',
        Topic::Runs => 'r',
        Topic::Requests => 'q',
        Topic::Folders => 'd',
    }
}

/// The wake-ups of one process.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Senders>);

#[derive(Debug)]
struct Senders {
    events: watch::Sender<u64>,
    effects: watch::Sender<u64>,
    clarifications: watch::Sender<u64>,
    turns: watch::Sender<u64>,
    jobs: watch::Sender<u64>,
    runs: watch::Sender<u64>,
    requests: watch::Sender<u64>,
    folders: watch::Sender<u64>,
    /// What other nodes are to be told.
    marks: Marks,
}

impl Signals {
    pub(crate) fn new() -> Self {
        let sender = || watch::channel(0).0;
        Self(Arc::new(Senders {
            events: sender(),
            effects: sender(),
            clarifications: sender(),
            turns: sender(),
            jobs: sender(),
            runs: sender(),
            requests: sender(),
            folders: sender(),
            marks: Marks::default(),
        }))
    }

    fn sender(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Events => &self.0.events,
            Topic::Effects => &self.0.effects,
            Topic::Clarifications => &self.0.clarifications,
            Topic::Turns => &self.0.turns,
            Topic::Jobs => &self.0.jobs,
            Topic::Runs => &self.0.runs,
            Topic::Requests => &self.0.requests,
            Topic::Folders => &self.0.folders,
        }
    }

    /// A receiver that has seen everything up to now.
    #[must_use]
    pub fn subscribe(&self, topic: Topic) -> watch::Receiver<u64> {
        self.sender(topic).subscribe()
    }

    pub(crate) fn marks(&self) -> &Marks {
        &self.0.marks
    }

    /// Wakes the waiters of a topic after a commit, on other nodes too if they are told of it.
    pub(crate) fn committed(&self, topic: Topic) {
        self.wake(topic);
        self.0.marks.leave(topic);
    }

    /// Wakes the waiters of a topic in this process.
    pub fn wake(&self, topic: Topic) {
        self.sender(topic).send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Wakes those who wait for what other nodes may have written, as the event log just showed. Follow-ups are looked for by
    /// the clock in any case.
    pub fn wake_for_other_nodes(&self) {
        for topic in [Topic::Clarifications, Topic::Turns] {
            self.wake(topic);
        }
    }
}
