//! What Flightdeck remembers: all SQL, for SQLite and Postgres.
//!
//! One text with `$n` serves both engines where both accept it; where they differ, the two stand side by side in the function
//! that runs them. Every statement is executed on both engines by the conformance suite in `tests/it`.
//!
//! Two kinds of handle: a [`Snapshot`] reads, a [`Tx`] also writes. Functions take the lesser one they need; a `Tx` lends
//! itself as a `Snapshot`. Only `board` opens and commits.
//!
//! Nothing here decides anything: statuses arrive from `domain`'s rules, and the schema holds the invariants a second time.

mod connection;
mod engine;
mod error;
mod group;
mod migrations;
mod row;
mod rows;
mod wakeups;

pub mod agents;
pub mod change_requests;
pub mod clarifications;
pub mod dependencies;
pub mod documents;
pub mod effects;
pub mod events;
pub mod executors;
pub mod job_attempts;
pub mod job_deliveries;
pub mod job_effects;
pub mod job_events;
pub mod job_views;
pub mod jobs;
pub mod launches;
pub mod mcp_configs;
pub mod messages;
pub mod moves;
pub mod operators;
pub mod permissions;
pub mod plans;
pub mod preparations;
pub mod questions;
pub mod queue;
pub mod receipts;
pub mod repositories;
pub mod reviews;
pub mod run_calls;
pub mod runs;
pub mod saved_prompts;
pub mod sessions;
pub mod stats;
pub mod tasks;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tokens;
pub mod turns;
pub mod views;
pub mod walkthroughs;
pub mod web_sessions;
pub mod workflows;
pub mod workspaces;

pub use connection::{Options, Snapshot, Store, Tx};
pub use engine::Engine;
pub use error::{StoreError, Write};
pub use wakeups::Hearing;

/// The result of every statement.
pub type Result<T> = std::result::Result<T, StoreError>;
