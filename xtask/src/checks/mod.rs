//! Rules of the house that no compiler holds.

pub(crate) mod imports;
mod paths;
pub(crate) mod wasm_tree;
