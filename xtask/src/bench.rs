//! `cargo xtask bench`: figures beside baselines, from one run. Not for CI.

use anyhow::{Context, Result, bail};

use crate::{build, project, stage};

/// Builds what users run and what it is measured with, and measures. `args` are those of the measuring program.
pub(crate) fn bench(args: &[String]) -> Result<()> {
    build::server(true)?;
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
    bench
        .args(args)
        .arg("--server")
        .arg(project::server("release"));
    // Its output is what was asked for, so none of it is kept back.
    let status = bench.status().context("starting the measurements")?;
    if !status.success() {
        bail!("a measurement failed");
    }
    Ok(())
}
