//! Rules of the house that no compiler holds.

pub(crate) mod imports;
pub(crate) mod wasm_tree;
