//! A workbench: every component in every state, with made-up data, to look at and to test against.
//!
//! Only with the feature `gallery`, which no product build has. `app/examples/gallery.rs` serves it.

pub mod board;
pub mod parts;
mod sample;
pub mod task;

pub use board::*;
pub use parts::*;
pub use task::*;
