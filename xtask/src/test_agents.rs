//! `cargo xtask test-agents`: the autopilot contract with agents that others wrote, and models of our own behind them.
//!
//! Not part of `cargo xtask test`: the agents weigh a gigabyte and change every week.

use anyhow::{Context, Result};

use crate::count::Counts;
use crate::{build, e2e, files, project, stage};

/// Installs the agents, builds the server and runs the tests; `args` go to Node's test runner.
pub(crate) fn test_agents(args: &[String]) -> Result<Counts> {
    let folder = project::root().join("end2end/real-agents");
    e2e::install_packages(&folder)?;
    build::server(false)?;
    let report = project::root().join("target/xtask-logs/real-agents.tap");
    files::write_if_changed(&report, b"")?;
    // The agents' own requirement: the Node that is installed may be older.
    let mut node = project::command(folder.join("node_modules/node/bin/node"));
    node.current_dir(&folder)
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
        .arg("journeys.test.ts")
        .env("FLIGHTDECK_BIN", project::server("debug"));
    let ended = stage::run("tests with real agents", &mut node)?;
    let mut counts = Counts::of_node_test(&files::read(&report)?)
        .context("Node ended without a report; see target/xtask-logs/tests-with-real-agents.log")?;
    if !ended.success && counts.failed == 0 {
        counts += Counts::FAILED;
    }
    Ok(counts)
}
