//! Coding agents as child processes.
//!
//! The crate knows how to start an agent, speak its protocol and end it again, and nothing about tasks, databases or
//! pages: whoever launches an agent gets a stream of [`AgentEvent`]s in our own vocabulary and a handle to talk back.
//!
//! | Module | For |
//! |---|---|
//! | [`acp`] | the adapter to every agent that speaks the Agent Client Protocol on stdio |
//! | [`event`] | what agents say, free of any protocol's types |
//! | [`permission`] | which permission requests need no person |
//! | [`guard`] | the small process between us and an agent, which leaves no orphans |
//! | [`script`] | shell scripts, behind the same guard |
//! | [`serve`] | being an agent: the other side of the protocol, for agents that are our own program |
//! | [`demo`] | a scripted agent that needs no model: for the demo and for tests |
//!
//! What it promises: an agent never outlives its host, however the host ends; nothing an agent prints can break the
//! connection or grow memory without bound; no tool call is lost between two processes without a typed error.
//!
//! There is no `Agent` trait. The protocol is the seam: another kind of agent is another command line, and an adapter
//! to another protocol would offer the same few concrete types.

pub mod acp;
pub mod demo;
pub mod event;
pub mod guard;
pub mod permission;
pub mod script;
pub mod serve;
mod stdio;

pub use event::AgentEvent;
