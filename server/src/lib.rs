//! The `flightdeck` binary: the doors to the board, and what runs behind them.
//!
//! | Module | For |
//! |---|---|
//! | [`config`], `environment`, [`public_url`], [`cli`] | what may be set, and the subcommands |
//! | [`names`] | the names under which the server answers |
//! | [`serve`] | starting everything in order and stopping it in order |
//! | [`http`] | the JSON API, health, and what guards everything that is reached over HTTP |
//! | [`accounts`] | who is signed in, and whether anybody has to be |
//! | [`feed`], [`metrics`], [`state`] | the event feed that all listeners share, what is counted, and what routes can reach |
//! | [`mcp`] | the tools of agents and chat clients |
//! | [`pages`] | the web app and its files |
//! | [`runtime`] | the live agents |
//! | [`assistant`] | the assistant's tools over the board, and its answers to AI jobs |
//! | [`delivery`] | how an answer of the assistant reaches its user |
//! | [`providers`] | looking at the pull and merge requests that tasks care for |
//! | [`log`], [`diagnostics`] | the log, and its last lines for agents |
//! | [`error`] | how a refusal leaves through each door |
//!
//! Every door calls [`board::Board`] and nothing else. A door authenticates who calls, reads what was sent, and shows what the
//! board answers; it decides nothing.

pub mod accounts;
pub mod assistant;
mod buckets;
pub mod cli;
pub mod config;
pub mod data_dir;
pub mod delivery;
pub mod diagnostics;
mod environment;
pub mod error;
pub mod feed;
pub mod http;
pub mod jobs;
pub mod known_agents;
pub mod log;
pub mod mcp;
pub mod metrics;
pub mod names;
pub mod pages;
pub mod providers;
pub mod public_url;
pub mod runtime;
pub mod schema;
pub mod serve;
pub mod state;
