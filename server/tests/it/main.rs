//! The doors, from outside: a real server in this process, its own data folder, a free port.
//!
//! Most tests run it without the runtime and play the agent themselves (`support::agent`), so that each step is theirs to take.

mod support;

mod answers;
mod bad_input;
mod command_line;
mod doors;
mod feed;
mod openapi;
mod operators;
mod pages;
mod security;
mod tool_auth;
mod tool_calls;
mod tool_lists;
mod tool_questions;
mod tool_wire;
