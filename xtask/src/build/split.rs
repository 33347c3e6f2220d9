//! Takes the parts of the app that `#[wasm_split]` marks out of the module, so that a first page does not wait for them.
//!
//! [`wasm_split_cli_support`] follows the relocations that `frontend/build.rs` has the linker keep. Out come the main module, one
//! for each part, one for what several parts share, and a script that loads them on demand: the *link*, which imports the glue
//! and is imported by it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use wasm_split_cli_support::{Options, transform};

/// Which modules each part needs, by their names without an ending.
pub(crate) type Parts = BTreeMap<String, Vec<String>>;

/// The file of the main module, which `wasm-bindgen` is for.
pub(crate) const MAIN: &str = "main.wasm";
/// The file of the link.
pub(crate) const LINK: &str = "link.js";

/// Splits the module `wasm` into files in `folder`. The link will import the glue from `glue`.
pub(crate) fn split(wasm: &[u8], folder: &Path, glue: &str) -> Result<Parts> {
    let (main, link) = (folder.join(MAIN), format!("./{LINK}"));
    let mut options = Options::new(wasm);
    options.output_dir = folder;
    options.main_out_path = &main;
    options.link_name = &link;
    options.main_module = glue;
    let made = transform(options).map_err(|report| anyhow!("{report:?}"))?;
    Ok(made.prefetch_map.into_iter().collect())
}

/// The modules beside the main one that lie in `folder`, by name.
pub(crate) fn modules(folder: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let mut found = Vec::new();
    for path in crate::files::below(folder, "wasm")? {
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let name = name.context("a module without a name")?.to_owned();
        if !path.ends_with(MAIN) {
            found.push((name, path));
        }
    }
    Ok(found)
}

#[test]
fn the_main_module_is_not_among_the_others() {
    let folder = tempfile::tempdir().unwrap();
    for file in [MAIN, LINK, "split_task.wasm"] {
        std::fs::write(folder.path().join(file), "").unwrap();
    }
    let found = modules(folder.path()).unwrap();
    assert_eq!(
        found,
        [(
            "split_task".to_owned(),
            folder.path().join("split_task.wasm")
        )]
    );
}

#[test]
fn what_cannot_be_split_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    split(b"no module", folder.path(), "./glue.js").unwrap_err();
}
