//! The vocabulary and the rules of Flightdeck, without any input or output.
//!
//! Everything here compiles to WASM as well as natively, so that a page and the server judge by the same rule.
//! Rules are pure functions named `decide`: they take the present value, a command, and whatever facts the command needs, and
//! answer with a [`transition::Transition`] or a [`error::Refusal`]. They read no clock, make no ids and do no work; the
//! `board` crate loads the rows, calls them, and writes what they say in one transaction.
//!
//! Words that appear on the wire or in the database are defined once, by [`words!`], so that the database, the API and the
//! pages cannot spell them differently.

#[macro_use]
mod words;

pub mod agent;
pub mod change_request;
pub mod clarification;
pub mod context;
pub mod dependency;
pub mod digest;
pub mod document;
pub mod effect;
pub mod error;
pub mod event;
pub mod exchange;
pub mod executor;
pub mod guards;
pub mod ids;
pub mod job;
pub mod mcp_servers;
pub mod message;
pub mod moves;
pub mod name;
pub mod operator;
pub mod params;
pub mod permission;
pub mod place;
pub mod plan;
pub mod profile;
pub mod question;
pub mod queue;
pub mod receipt;
pub mod redact;
pub mod repository;
pub mod review;
pub mod rich;
pub mod run;
pub mod saved_prompt;
pub mod session;
pub mod steps;
pub mod task;
pub mod time;
pub mod transition;
pub mod turn;
pub mod view;
pub mod walkthrough;
pub mod wip;
pub mod workflow;
