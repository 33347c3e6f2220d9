//! The adapter to agents that speak the Agent Client Protocol (version 1) on stdio.
//!
//! [`launch()`] starts a process, shakes hands and gives back a [`Launched`]: the handle to talk to it and what the
//! agent said about itself. Everything the agent says afterwards arrives as [`AgentEvent`](crate::AgentEvent)s on the
//! channel that was handed in.
//!
//! # Why the wire is ours
//!
//! The official crate gives the message types we send, and the demo agent is built on its connection. Our own side of
//! the wire is not: it must read lines of a bounded length, take junk, unknown kinds, missing fields and ids of any
//! type as facts rather than errors, and hold the agent back when nobody keeps up with its output. Its connection
//! reads whole lines, parses into strict types and queues without bound.
//!
//! # Back-pressure
//!
//! Events go through the caller's bounded channel, and nothing else is buffered. When the channel is full the adapter
//! stops reading, the pipe fills and the agent blocks. Two rules follow for callers: whoever waits for [`launch()`] or a
//! turn must drain events meanwhile, and the capacity should be small (64 is plenty), since a single event may hold
//! [`LINE_LIMIT`] bytes.

mod connection;
mod error;
mod handle;
mod launch;
mod lines;
mod normalise;
pub(crate) mod process;
mod replay;
mod servers;
mod session;
mod spec;
mod vendors;

pub use error::{AgentError, AuthMethod, LaunchError};
pub use handle::{AgentHandle, PermissionOutcome, Prompt, PromptInFlight};
pub use launch::{AgentInfo, Capabilities, Conversation, FreshReason, Launched, launch};
pub use normalise::normalise;
pub use replay::Replay;
pub use servers::LeftOut;
pub use session::{Chosen, Mode, Offer, Subject};
pub use spec::{Address, LaunchSpec, McpEndpoint, OtherServer, Reached};

#[cfg(test)]
pub(crate) use connection::permission_request;

/// The longest line read from an agent, in bytes. Longer ones are skipped and reported.
pub const LINE_LIMIT: usize = 1024 * 1024;
