//! Tests that Node's own runner runs, in a folder that brings the Node they need: the one that is installed may be older.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::count::Counts;
use crate::{files, project, stage};

/// Runs `tests` of `folder`; `name` says what they are about, `args` go to the runner, `set` adds what they need to know.
pub(crate) fn run(
    folder: &Path,
    name: &str,
    tests: &[&str],
    args: &[String],
    set: impl FnOnce(&mut Command),
) -> Result<Counts> {
    let slug = name.replace(' ', "-");
    let report = project::root().join(format!("target/xtask-logs/{slug}.tap"));
    files::write_if_changed(&report, b"")?;
    let mut node = project::command(folder.join("node_modules/node/bin/node"));
    node.current_dir(folder)
        .args([
            "--experimental-transform-types",
            "--disable-warning=ExperimentalWarning",
            "--test",
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
            "--test-reporter=tap",
        ])
        .arg(format!(
            "--test-reporter-destination={}",
            report.to_string_lossy()
        ))
        .args(args)
        .args(tests);
    set(&mut node);
    let ended = stage::run(&format!("tests with {name}"), &mut node)?;
    let mut counts = Counts::of_node_test(&files::read(&report)?).with_context(|| {
        format!("Node ended without a report; see target/xtask-logs/tests-with-{slug}.log")
    })?;
    if !ended.success && counts.failed == 0 {
        counts += Counts::FAILED;
    }
    Ok(counts)
}
