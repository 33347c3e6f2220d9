//! The conformance suite: every public function of `store`, on SQLite and on Postgres, with one body for both.
//!
//! `sqlite::*` runs always. `postgres::*` is ignored unless asked for, and needs `FLIGHTDECK_TEST_POSTGRES_URL`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

mod agents;
mod change_requests;
mod clarifications;
mod coverage;
mod dependencies;
mod documents;
mod effects;
mod events;
mod executors;
mod full_disk;
mod group;
mod job_attempts;
mod job_deliveries;
mod job_effects;
mod job_events;
mod job_views;
mod jobs;
mod launches;
mod mcp_configs;
mod messages;
mod moves;
mod opening;
mod operators;
mod permissions;
mod plans;
mod preparations;
mod questions;
mod queue;
mod receipts;
mod repositories;
mod reviews;
mod run_calls;
mod runs;
mod saved_prompts;
mod schema;
mod sessions;
mod shape;
mod stats;
mod tasks;
mod tokens;
mod transactions;
mod turns;
mod views;
mod walkthroughs;
mod web_sessions;
mod workflows;
mod workspaces;
