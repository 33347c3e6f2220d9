//! The server, from outside.
//!
//! `journey` and `kill` run the real binary as a process of its own (`process`), with real agents, on both engines. Everything
//! else tests the doors of a real server in this process: its own data folder, a free port. Most of those tests run it without
//! the runtime and play the agent themselves (`support::agent`), so that each step is theirs to take.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, and says where"
)]

mod process;
mod support;

mod accounts;
mod answers;
mod assistant;
mod bad_input;
mod command_line;
mod configuration;
mod delivery;
mod doors;
mod engine_kill;
mod executors;
mod feed;
mod flow;
mod job_crashes;
mod job_kill;
mod jobs;
mod journey;
mod kill;
mod mcp_servers;
mod message_rules;
mod native_tasks;
mod negotiation;
mod openapi;
mod operators;
mod pages;
mod papers;
mod plans;
mod providers;
mod runs;
mod security;
mod several_sessions;
mod step_effects;
mod token_scope;
mod tool_asks;
mod tool_auth;
mod tool_calls;
mod tool_documents;
mod tool_lists;
mod tool_messages;
mod tool_questions;
mod tool_wire;
