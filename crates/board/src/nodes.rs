//! Wake-ups between nodes on one database, so that what one of them commits is looked at by all.
//!
//! Whoever commits only leaves a mark; one task a node says it to the others, and marks that are left meanwhile go together. A
//! transaction never waits for that. A wake-up that is lost costs time and nothing else: all look by the clock too.

use crate::random::random;
use crate::signals::{TOLD, letter};
use crate::{Board, Signals};
use domain::digest;
use std::sync::Arc;
use std::time::Duration;
use store::{Hearing, Store};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Between two words of a node: under load they are fewer than commits, and the first after a pause goes out at once.
const BETWEEN_WORDS: Duration = Duration::from_millis(5);
/// The wait after the database did not answer.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// Being one of several nodes; it ends when this is dropped.
#[derive(Debug)]
pub struct Joined(Vec<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

impl Board {
    /// Lets this board's wake-ups reach the other nodes on its database, and theirs this one. On SQLite there is nothing to do.
    /// Once it returns, nothing that another node says is missed.
    pub async fn join_nodes(&self) -> crate::Result<Joined> {
        let Some(hearing) = self.store.hear().await? else {
            return Ok(Joined(Vec::new()));
        };
        let name: Arc<str> = digest::hex(&random::<8>()?).into();
        let (signals, store) = (self.signals.clone(), self.store.clone());
        Ok(Joined(vec![
            tokio::spawn(say(store.clone(), signals.clone(), name.clone())),
            tokio::spawn(hear(store, signals, name, hearing)),
        ]))
    }
}

/// Tells the others what was marked.
async fn say(store: Store, signals: Signals, name: Arc<str>) {
    let marks = signals.marks();
    loop {
        marks.left().await;
        let topics = marks.take();
        if topics.is_empty() {
            continue;
        }
        let mut pause = BETWEEN_WORDS;
        if let Err(error) = store.say(&format!("{name} {topics}")).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "other nodes were not woken; they look by the clock"
            );
            pause = AFTER_ERROR;
        }
        sleep_until(Instant::now() + pause).await;
    }
}

/// Wakes who waits here for what others did.
async fn hear(store: Store, signals: Signals, name: Arc<str>, mut hearing: Hearing) {
    loop {
        match hearing.next().await {
            Ok(Some(word)) => {
                let Some((from, topics)) = word.split_once(' ') else {
                    continue;
                };
                if from != &*name {
                    for topic in TOLD.iter().filter(|told| topics.contains(letter(**told))) {
                        signals.wake(*topic);
                    }
                }
            }
            // Words may have been missed.
            Ok(None) => TOLD.iter().for_each(|topic| signals.wake(*topic)),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "other nodes cannot be heard; their work is looked for by the clock"
                );
                hearing = again(&store).await;
                TOLD.iter().for_each(|topic| signals.wake(*topic));
            }
        }
    }
}

async fn again(store: &Store) -> Hearing {
    loop {
        sleep_until(Instant::now() + AFTER_ERROR).await;
        if let Ok(Some(hearing)) = store.hear().await {
            return hearing;
        }
    }
}
