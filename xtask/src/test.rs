//! `cargo xtask test`: everything that is checked, in stages from cheap to dear.
//!
//! A stage that fails does not hide the later ones where they can still run. The last line is the sum of all tests; a
//! stage that has no tests of its own counts as one, so "0 failed" and exit code zero always go together.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::build::{self, Bundle};
use crate::checks::{imports, wasm_tree};
use crate::count::Counts;
use crate::postgres::{self, Cluster, Durability};
use crate::test_clients::{self, Ahead};
use crate::{e2e, project, setup, stage};

const OURSELVES: [&str; 2] = ["--package", "xtask"];

struct Stage {
    name: &'static str,
    took: Duration,
    counts: Counts,
}

#[derive(Default)]
struct Run {
    stages: Vec<Stage>,
}

impl Run {
    /// Does one stage; an error counts as one failure. Tells whether nothing failed.
    fn stage(&mut self, name: &'static str, work: impl FnOnce() -> Result<Counts>) -> bool {
        let started = Instant::now();
        println!("\n== {name}");
        let counts = work().unwrap_or_else(|error| {
            println!("{error:#}");
            Counts::FAILED
        });
        println!("== {name}: {counts} in {}", stage::shown(started.elapsed()));
        self.stages.push(Stage {
            name,
            took: started.elapsed(),
            counts,
        });
        counts.failed == 0
    }

    /// A stage that cannot be done, which is a failure.
    fn not_run(&mut self, name: &'static str, why: &str) {
        println!("\n== {name}: cannot run {why}");
        self.stages.push(Stage {
            name,
            took: Duration::ZERO,
            counts: Counts::FAILED,
        });
    }

    /// A stage that holds or does not.
    fn check(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> bool {
        self.stage(name, || work().map(|()| Counts::PASSED))
    }

    /// Prints what failed, the table of stages and the closing line.
    fn close(self) -> Result<()> {
        stage::say_what_failed();
        let mut sum = Counts::default();
        println!("\n{:<24} {:>8}", "stage", "minutes");
        for stage in &self.stages {
            println!(
                "{:<24} {:>8.1}  {}",
                stage.name,
                stage.took.as_secs_f64() / 60.0,
                stage.counts
            );
            sum += stage.counts;
        }
        let minutes: f64 = self
            .stages
            .iter()
            .map(|stage| stage.took.as_secs_f64() / 60.0)
            .sum();
        println!("{:<24} {minutes:>8.1}", "together");
        println!("\n{sum}");
        // The closing line is the last one, so the exit code goes without a word of its own.
        if sum.failed > 0 {
            std::process::exit(1);
        }
        Ok(())
    }
}

/// Everything. `long` also runs the long forms of the random and crash tests.
pub(crate) fn test(long: bool) -> Result<()> {
    let mut run = Run::default();
    run.check("set-up", || {
        setup::wasm_target()?;
        setup::install_missing(&[
            &setup::BROWSER,
            &postgres::TOOL,
            &setup::WASM_OPT,
            &test_clients::PYTHON,
        ])
    });
    let clients = Ahead::begin();
    house_rules(&mut run);
    let compiled = run.check("compile", || {
        for (name, selection) in [
            ("compile and lint server and tests", &project::NATIVE[..]),
            ("compile and lint xtask", &OURSELVES),
        ] {
            let mut cargo = linting(project::cargo("build"));
            stage::must(name, cargo.args(selection).arg("--all-targets"))?;
        }
        Ok(())
    });
    if compiled {
        // Lives until the tests are over.
        let cluster = database(&mut run);
        run.stage("tests", || {
            tests(
                "unit, conformance and capability tests",
                &project::NATIVE,
                cluster.as_ref(),
                long,
            )
        });
    }
    if compiled {
        run.stage("real clients", || test_clients::run(clients, &[]));
    } else {
        run.not_run("real clients", "without server");
    }
    run.stage("tests of xtask", || {
        tests("tests of xtask", &OURSELVES, None, long)
    });
    let bundled = run.check("bundle", || build::site(Bundle::Small));
    run.check("lints for the browser", lint_for_the_browser);
    if compiled && bundled {
        run.stage("end to end", || e2e::run(&[]));
    } else {
        run.not_run("end to end", "without server and bundle");
    }
    run.close()
}

/// Formatting, lints and the rules of the house.
pub(crate) fn check() -> Result<()> {
    setup::wasm_target()?;
    let mut run = Run::default();
    house_rules(&mut run);
    run.check("lints", || {
        let mut native = project::cargo("clippy");
        native.args(["--workspace", "--exclude", "frontend", "--all-targets"]);
        let native = stage::run("clippy", native.args(DENY))?;
        lint_for_the_browser()?;
        if !native.success {
            bail!("clippy found something");
        }
        Ok(())
    });
    run.close()
}

fn house_rules(run: &mut Run) {
    run.check("format", || {
        stage::must(
            "cargo fmt",
            project::cargo("fmt").args(["--all", "--check"]),
        )
        .map(drop)
    });
    run.check("imports", imports::check);
    run.check("bundle's dependencies", wasm_tree::check);
    run.check("styles", build::check_styles);
}

const DENY: [&str; 3] = ["--", "-D", "warnings"];

/// Our crates are compiled by Clippy's driver, which lints what it compiles: to check everything a second time for its
/// lints costs a quarter of a whole run. The bundle is linted apart ([`lint_for_the_browser`]), since the driver leaves
/// out optimisations that users get.
fn linting(mut cargo: Command) -> Command {
    cargo
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        // How `cargo clippy -- -D warnings` tells its driver.
        .env(
            "CLIPPY_ARGS",
            "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
        );
    cargo
}

fn lint_for_the_browser() -> Result<()> {
    let mut cargo = project::cargo("clippy");
    // The bundle's own profile, so that build scripts and macros are compiled once for both.
    cargo.args([
        "--package",
        "frontend",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "wasm-release",
    ]);
    stage::must("clippy for the browser", cargo.args(DENY)).map(drop)
}

/// An ephemeral server for the tests, when PostgreSQL is here. Its absence is a failure on a build machine.
fn database(run: &mut Run) -> Option<Cluster> {
    let mut cluster = None;
    run.stage("postgres", || match postgres::binaries() {
        Some(binaries) => {
            let log = project::root().join("target/xtask-logs/postgres.log");
            cluster = Some(stage::work("start PostgreSQL", || {
                Cluster::start(&binaries, &log, Durability::None)
            })?);
            Ok(Counts::PASSED)
        }
        None if project::is_ci() => bail!("{}", postgres::TOOL.advice()),
        None => {
            println!("{}", postgres::TOOL.advice());
            Ok(Counts::SKIPPED)
        }
    });
    cluster
}

/// Runs the tests of the packages that `selection` names. Documentation examples are not among them.
fn tests(name: &str, selection: &[&str], cluster: Option<&Cluster>, long: bool) -> Result<Counts> {
    let nextest = nextest();
    let mut cargo = match nextest {
        Some(_) => {
            let mut cargo = linting(project::cargo("nextest run"));
            cargo
                .args(selection)
                .args(["--no-fail-fast", "--no-tests", "pass"])
                .args(["--profile", if long { "long" } else { "default" }])
                .args(["--test-threads", &at_once().to_string()]);
            cargo
        }
        None => {
            let mut cargo = linting(project::cargo("test"));
            cargo
                .args(selection)
                .args(["--lib", "--bins", "--tests", "--no-fail-fast"]);
            cargo
        }
    };
    if let Some(cluster) = cluster {
        cargo.env("FLIGHTDECK_TEST_POSTGRES_URL", cluster.url());
        // Those that need the server are marked as ignored, so that without it they count as skipped.
        match nextest {
            Some(_) => cargo.args(["--run-ignored", "all"]),
            None => cargo.args(["--", "--include-ignored"]),
        };
    }
    if long {
        cargo.env("FLIGHTDECK_TEST_LONG", "1");
    }
    let ended = stage::run(name, &mut cargo)?;
    let counts = match nextest {
        Some(_) => Counts::of_nextest(&ended.text),
        None => Counts::of_cargo_test(&ended.text),
    };
    match counts {
        // The runner failed for another reason than a test.
        Some(counts) if !ended.success && counts.failed == 0 => {
            bail!("{name}: the test runner failed")
        }
        Some(counts) => Ok(counts),
        None if ended.success => Ok(Counts::default()),
        None => bail!("{name}: did not run"),
    }
}

/// Tests that run at once: more than there are processors, since most of a test is waiting for a database, an agent or a clock.
fn at_once() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    processors + processors.div_ceil(2)
}

fn nextest() -> Option<PathBuf> {
    project::program("cargo-nextest")
}
