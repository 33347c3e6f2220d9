//! `cargo xtask bench`: figures beside baselines, from one run. Not for CI.

use anyhow::{Context, Result, bail};

use crate::postgres::{self, Cluster, Durability};
use crate::{build, e2e, project, stage};

/// Builds what users run and what it is measured with, and measures. `args` are those of the measuring program.
pub(crate) fn bench(args: &[String]) -> Result<()> {
    // Jobs are measured without a server around them.
    let jobs = args.first().is_some_and(|what| what == "jobs");
    if !jobs {
        build::server(true)?;
    }
    let target = project::target().join("bench");
    let mut cargo = project::cargo("build");
    cargo
        .args([
            "--release",
            "--manifest-path",
            "bench/Cargo.toml",
            "--target-dir",
        ])
        .arg(&target);
    stage::must("compile the measurements", &mut cargo)?;
    let mut bench = project::command(target.join("release/bench"));
    bench.args(args);
    // Lives as long as the measurement.
    let mut cluster = None;
    if jobs {
        if let Some(binaries) = postgres::binaries() {
            let queues = project::root().join("bench/queues");
            e2e::install_packages(&queues)?;
            let log = project::root().join("target/xtask-logs/bench-postgres.log");
            let server = cluster.insert(Cluster::start(&binaries, &log, Durability::Full)?);
            bench
                .args(["--postgres", server.url()])
                .arg("--queues")
                .arg(queues);
        }
    } else {
        bench.arg("--server").arg(project::server("release"));
    }
    // Its output is what was asked for, so none of it is kept back.
    let status = bench.status().context("starting the measurements")?;
    if !status.success() {
        bail!("a measurement failed");
    }
    Ok(())
}
