//! One page a file, in a folder a noun.

pub mod home;
pub mod not_found;
