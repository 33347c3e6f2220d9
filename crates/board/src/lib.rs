//! Use cases: one public method of [`Board`] an operation, and the only place where transactions are opened.
//!
//! Page, API and tool call the same method. A method authorises the actor, loads what it needs, asks the rules of `domain`,
//! and writes rows, events and follow-ups in one transaction; only after the commit does it wake whoever waits. Nothing but
//! [`transition`] assigns a status. No process, network or sleep happens inside a transaction: what must happen outside is a
//! row in `effects`, safe to repeat, carried out by the server's runtime.

mod actor;
mod clock;
mod errand;
mod error;
mod settings;
mod signals;
mod transition;

mod advance;
mod agents;
mod beside;
mod change_requests;
mod clarification_answers;
mod clarifications;
mod conversation;
mod delivery;
mod demo;
mod dependencies;
mod diagnostics;
mod documents;
mod due;
mod effects;
mod entry;
mod events;
mod exchange;
mod executors;
mod folder;
mod inbox;
mod job_counts;
mod jobs;
mod launch;
mod launches;
mod mcp_configs;
mod messages;
mod moves;
mod nodes;
mod operators;
mod outgoing;
mod pages;
mod papers;
mod permissions;
mod placement;
mod plans;
mod preparations;
mod prompts;
mod questions;
mod queue;
mod random;
mod reach;
mod receipts;
mod recovery;
mod repositories;
mod runs;
mod saved_prompts;
mod sessions;
mod settle;
mod spawn;
mod standing;
mod stats;
mod steps;
mod tasks;
mod tokens;
mod transcript;
mod workflows;
mod workspaces;

pub use actor::Actor;
pub use change_requests::{RequestTarget, Watched};
pub use clock::Clock;
pub use delivery::{Delivery, Next, TurnOutcome};
pub use diagnostics::Facts;
pub use error::{BoardError, Result};
pub use job_counts::{JobCounts, JobStats};
pub use jobs::{
    Accepted, Canceller, Claim, Failed, Held, JobQuery, Notice, Renewal, TalkPart, Viewer,
};
pub use launch::{LaunchPlan, LaunchReport};
pub use nodes::Joined;
pub use preparations::{Cleanup, Prepare};
pub use recovery::Recovered;
pub use runs::{RunError, RunKey, RunList, RunQuery, RunResult, Started};
pub use settings::{JobSettings, RunSettings, Settings};
pub use signals::{Signals, Topic};
pub use stats::Stats;
pub use steps::StepCompleted;
pub use tasks::{AUTO_ARCHIVE_EVERY, Archived};
pub use transcript::{Output, Recorded};

use std::sync::{Arc, OnceLock};
use store::Store;

/// The board. Cheap to clone; all clones share one database and one set of signals.
#[derive(Debug, Clone)]
pub struct Board {
    store: Store,
    clock: Clock,
    settings: Arc<Settings>,
    signals: Signals,
    job_counts: Arc<JobCounts>,
    line: Arc<jobs::Line>,
    /// The name under which this process works, once it does.
    node: Arc<OnceLock<String>>,
}

impl Board {
    /// A board over an open store.
    #[must_use]
    pub fn new(store: Store, clock: Clock, settings: Settings) -> Self {
        Self {
            store,
            clock,
            settings: Arc::new(settings),
            signals: Signals::new(),
            job_counts: Arc::default(),
            line: Arc::default(),
            node: Arc::default(),
        }
    }

    /// What to wait on for changes.
    #[must_use]
    pub const fn signals(&self) -> &Signals {
        &self.signals
    }

    /// Whether other nodes may be on the same database.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.store.engine() == store::Engine::Postgres
    }

    /// The name under which this process works; empty before [`Self::recover`].
    pub(crate) fn node_name(&self) -> String {
        self.node.get().cloned().unwrap_or_default()
    }

    /// The limits in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The board's clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Waits until everything that an operation may have answered from is durable. An operation that changes something waits
    /// by itself; one that found that somebody else had done it already may be a moment ahead of the disk. Doors call this
    /// before an answer leaves.
    pub async fn settled(&self) -> Result<()> {
        Ok(self.store.settled().await?)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        Ok(self.store.ping().await?)
    }
}
