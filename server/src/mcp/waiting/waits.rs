//! Who waits for a run, and what wakes them.
//!
//! One listener to the event feed serves all waiters of the process: it looks at each event once and wakes those who wait for
//! the card that it names. The feed's reader looks at the log now and then although nobody woke it, since other nodes write there
//! too; that one look is the safety poll of everybody. While nothing happens a waiter is an entry in a table: it holds no query
//! and no timer but its call's deadline.
//!
//! A waiter enters before it reads the run. What is committed later is told by an event that comes after its entry.

use crate::feed::{Feed, Told};
use domain::ids::{TaskId, TokenId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many calls may wait at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// Of one client.
    pub per_client: usize,
    /// Of all clients.
    pub in_all: usize,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self {
            per_client: 100,
            in_all: 20_000,
        }
    }
}

/// How long the server waits at its end until its waiters have answered.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a waiter wants to be woken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mcp) enum WakeBy {
    /// What may change where the run stands.
    Standing,
    /// Anything that the agent says or does.
    Anything,
}

/// The table of waiters. Cheap to clone.
#[derive(Debug, Clone)]
pub(in crate::mcp) struct Waits(Arc<Table>);

#[derive(Debug)]
struct Table {
    limits: WaitLimits,
    entries: Mutex<Entries>,
    /// Counts who is in the table.
    number: watch::Sender<usize>,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct Entries {
    cards: HashMap<TaskId, Bells>,
    clients: HashMap<TokenId, usize>,
    in_all: usize,
}

/// The bells of one card, rung by what happens to it.
#[derive(Debug)]
struct Bells {
    standing: watch::Sender<()>,
    anything: watch::Sender<()>,
    waiters: usize,
}

impl Bells {
    fn new() -> Self {
        Self {
            standing: watch::Sender::new(()),
            anything: watch::Sender::new(()),
            waiters: 0,
        }
    }

    fn ring(&self, standing: bool) {
        // Nobody of that kind waiting is fine.
        let _ = self.anything.send(());
        if standing {
            let _ = self.standing.send(());
        }
    }
}

impl Waits {
    pub(in crate::mcp) fn start(
        feed: &Feed,
        limits: WaitLimits,
        shutdown: CancellationToken,
    ) -> Self {
        let waits = Self(Arc::new(Table {
            limits,
            entries: Mutex::default(),
            number: watch::Sender::new(0),
            closing: shutdown.child_token(),
        }));
        let mut listener = feed.listen_for_the_server();
        let own = waits.clone();
        tokio::spawn(async move {
            loop {
                let told = tokio::select! {
                    told = listener.next() => told,
                    () = shutdown.cancelled() => None,
                };
                match told {
                    Some(Told::Event(shared)) => {
                        if let Some(card) = shared.event.task_id {
                            own.ring(card, domain::run::may_end_by(shared.event.kind));
                        }
                    }
                    // No run follows from an AI job, and how others wait ends no wait.
                    Some(Told::Jobs | Told::Runs) => {}
                    // Something was missed: everybody looks.
                    Some(Told::Reset(_)) => own.ring_all(),
                    None => return,
                }
            }
        });
        waits
    }

    /// Enters the table; `None` when there is no room.
    pub(in crate::mcp) fn enter(
        &self,
        client: TokenId,
        card: TaskId,
        by: WakeBy,
    ) -> Option<Waiter> {
        let mut entries = self.entries();
        let own = entries.clients.get(&client).copied().unwrap_or_default();
        if self.is_closing()
            || own >= self.0.limits.per_client
            || entries.in_all >= self.0.limits.in_all
        {
            return None;
        }
        entries.clients.insert(client, own + 1);
        entries.in_all += 1;
        let bells = entries.cards.entry(card).or_insert_with(Bells::new);
        bells.waiters += 1;
        let bell = match by {
            WakeBy::Standing => bells.standing.subscribe(),
            WakeBy::Anything => bells.anything.subscribe(),
        };
        self.0.number.send_replace(entries.in_all);
        drop(entries);
        Some(Waiter {
            waits: self.clone(),
            client,
            card,
            bell,
        })
    }

    /// Resolves when the server is about to end.
    pub(in crate::mcp) async fn closing(&self) {
        self.0.closing.cancelled().await;
    }

    pub(in crate::mcp) fn is_closing(&self) -> bool {
        self.0.closing.is_cancelled()
    }

    /// How many wait.
    pub(in crate::mcp) fn waiting(&self) -> usize {
        self.entries().in_all
    }

    /// Sends everybody home, and waits until they have gone, but not for ever.
    pub(in crate::mcp) async fn end(&self) {
        self.0.closing.cancel();
        let mut number = self.0.number.subscribe();
        let empty = number.wait_for(|number| *number == 0);
        if tokio::time::timeout(FAREWELL, empty).await.is_err() {
            tracing::warn!("some waits for tasks did not end in time");
        }
    }

    fn ring(&self, card: TaskId, standing: bool) {
        if let Some(bells) = self.entries().cards.get(&card) {
            bells.ring(standing);
        }
    }

    fn ring_all(&self) {
        for bells in self.entries().cards.values() {
            bells.ring(true);
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing is left half done while it is held, so a panic elsewhere does no harm to what is inside.
        self.0
            .entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the table, given back when it is dropped, however its call ends.
#[derive(Debug)]
pub(in crate::mcp) struct Waiter {
    waits: Waits,
    client: TokenId,
    card: TaskId,
    bell: watch::Receiver<()>,
}

impl Waiter {
    /// Resolves when something happened since the entry, or since this resolved the last time.
    pub(in crate::mcp) async fn woken(&mut self) {
        if self.bell.changed().await.is_err() {
            // The table outlives its waiters, and a card's bells their last one.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut entries = self.waits.entries();
        entries.in_all -= 1;
        if let Some(own) = entries.clients.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                entries.clients.remove(&self.client);
            }
        }
        if let Some(bells) = entries.cards.get_mut(&self.card) {
            bells.waiters -= 1;
            if bells.waiters == 0 {
                entries.cards.remove(&self.card);
            }
        }
        self.waits.0.number.send_replace(entries.in_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(per_client: usize, in_all: usize) -> Waits {
        Waits(Arc::new(Table {
            limits: WaitLimits { per_client, in_all },
            entries: Mutex::default(),
            number: watch::Sender::new(0),
            closing: CancellationToken::new(),
        }))
    }

    #[tokio::test]
    async fn a_waiter_is_woken_by_its_card_and_by_what_it_asked_for() {
        let waits = table(10, 10);
        let (client, card) = (TokenId::new(), TaskId::new());
        let mut standing = waits.enter(client, card, WakeBy::Standing).unwrap();
        let mut anything = waits.enter(client, card, WakeBy::Anything).unwrap();
        let mut other = waits
            .enter(client, TaskId::new(), WakeBy::Anything)
            .unwrap();
        waits.ring(card, false);
        anything.woken().await;
        assert!(!standing.bell.has_changed().unwrap());
        // Rung before anybody listens: it is not lost.
        waits.ring(card, true);
        standing.woken().await;
        anything.woken().await;
        assert!(!other.bell.has_changed().unwrap());
        waits.ring_all();
        other.woken().await;
    }

    #[tokio::test]
    async fn places_are_counted_and_given_back() {
        let waits = table(2, 3);
        let (one, two, card) = (TokenId::new(), TokenId::new(), TaskId::new());
        let enter = |client| waits.enter(client, card, WakeBy::Standing);
        let first = enter(one).unwrap();
        let second = enter(one).unwrap();
        assert!(enter(one).is_none());
        let third = enter(two).unwrap();
        assert!(enter(two).is_none());
        drop(first);
        drop(enter(two).unwrap());
        drop((second, third));
        assert_eq!(waits.waiting(), 0);
        assert!(waits.entries().cards.is_empty() && waits.entries().clients.is_empty());
        waits.end().await;
        assert!(enter(one).is_none());
    }
}
