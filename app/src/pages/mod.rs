//! One page a file, in a folder a noun.

pub mod asks;
pub mod assistant;
pub mod board;
pub mod desk;
pub mod inbox;
pub mod jobs;
mod listing;
pub mod not_found;
pub mod runs;
pub mod settings;
pub mod task;
pub mod workbench;
