//! `cargo xtask test-agents`: the autopilot contract with agents that others wrote, and models of our own behind them.
//!
//! Not part of `cargo xtask test`: the agents weigh a gigabyte and change every week.

use anyhow::Result;

use crate::count::Counts;
use crate::{build, e2e, node_tests, project};

/// Installs the agents, builds the server and runs the tests; `args` go to Node's test runner.
pub(crate) fn test_agents(args: &[String]) -> Result<Counts> {
    let folder = project::root().join("end2end/real-agents");
    e2e::install_packages(&folder)?;
    build::server(false)?;
    node_tests::run(
        &folder,
        "real agents",
        &["journeys.test.ts"],
        args,
        |node| {
            node.env("FLIGHTDECK_BIN", project::server("debug"));
        },
    )
}
