//! The outside contract: `run_task`, `check_task`, `get_task`, `list_tasks`, `cancel_task`.
//!
//! | Module | For |
//! |---|---|
//! | [`tools`] | how the tools are listed |
//! | [`args`] | reading arguments: what is not known is ignored, what is wrong is named |
//! | [`answers`] | carrying out a call |
//! | [`native`] | the same runs as MCP's own tasks |
//!
//! Only `check_task` waits, and a wait that runs out is no error: the client is told to ask again. A run never depends on the
//! call that started it or on one that waits for it.

mod answers;
mod args;
pub(super) mod native;
mod tools;

pub use native::NativeTasks;
pub(super) use tools::tools;
