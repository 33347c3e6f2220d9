//! The assistant on this board: its tools are board operations, and its answers those of AI jobs.
//!
//! | Module | For |
//! |---|---|
//! | [`tools`] | the tools: what they are called, what they take, what they do |
//! | [`toolbox`] | the tools of one job, with its ledger: what acted once does not act again |
//! | [`answers`] | from a job to its answer |
//! | [`consent`] | a user's consent by a button |
//! | [`agent`] | the assistant as an agent on standard streams, which knows nothing of this server |

pub mod agent;
mod answers;
mod consent;
mod toolbox;
mod tools;

pub use answers::Answers;
pub use consent::{confirm, finish_agreed};
pub use toolbox::JobToolbox;
pub use tools::catalogue;
