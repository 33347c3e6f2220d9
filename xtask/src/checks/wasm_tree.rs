//! The browser's half must stay free of the server's: no SQL, no threads.
//!
//! A feature switched on by mistake compiles and then weighs hundreds of kilobytes, or fails on a machine we do not
//! see. The dependency tree tells at once.

use anyhow::{Result, bail};

use crate::{project, stage};

/// Runtime features of tokio; its synchronisation primitives alone are harmless.
const RUNTIME_FEATURES: [&str; 5] = ["rt", "rt-multi-thread", "net", "process", "full"];

/// Checks the normal dependencies of `frontend` for WASM.
pub(crate) fn check() -> Result<()> {
    let mut cargo = project::cargo("tree");
    cargo.args([
        "--package",
        "frontend",
        "--target",
        "wasm32-unknown-unknown",
        "--edges",
        "normal",
    ]);
    cargo.args([
        "--prefix", "none", "--format", "{p}|{f}", "--color", "never",
    ]);
    let tree = stage::must("dependencies of the bundle", &mut cargo)?;
    let faults = faults(&tree);
    if !faults.is_empty() {
        bail!(
            "the bundle depends on what belongs to the server:\n  {}\nWhy: cargo tree -p frontend --target \
             wasm32-unknown-unknown -e features -i <crate>",
            faults.join("\n  ")
        );
    }
    Ok(())
}

fn faults(tree: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for line in tree.lines() {
        let (package, features) = line.split_once('|').unwrap_or((line, ""));
        let name = package.split(' ').next().unwrap_or_default();
        let features: Vec<_> = features.trim_end_matches(" (*)").split(',').collect();
        if name == "sqlx" || name.starts_with("sqlx-") {
            faults.push(package.to_owned());
        } else if name == "tokio"
            && let Some(feature) = RUNTIME_FEATURES
                .iter()
                .find(|feature| features.contains(feature))
        {
            faults.push(format!("{package} with the feature `{feature}`"));
        }
    }
    faults.sort();
    faults.dedup();
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_and_runtimes_are_found_and_primitives_allowed() {
        let tree = "frontend v0.1.0 (/x)|default\ntokio v1.48.0|default,sync\nsqlx-core v0.9.0|any (*)\n\
                    tokio v1.48.0|rt,sync (*)\nserde v1.0.0|rt";
        assert_eq!(
            faults(tree),
            ["sqlx-core v0.9.0", "tokio v1.48.0 with the feature `rt`"]
        );
        assert_eq!(faults("tokio v1.48.0|default,sync"), Vec::<String>::new());
    }
}
