//! One page a file, in a folder a noun.

pub mod asks;
pub mod board;
pub mod inbox;
pub mod not_found;
pub mod task;
pub mod workbench;
