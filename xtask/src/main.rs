//! The commands people need: `cargo xtask serve | test | dev | build | check | e2e | test-clients | test-agents | bench | fmt | docs`.
//!
//! Each does its own set-up and needs nothing installed beyond rustup, Node and a C compiler.

#![expect(
    clippy::print_stdout,
    reason = "this is a command-line program: its output is for the person who runs it"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "it starts other programs and waits for them; the rules are for the product"
)]

mod bench;
mod build;
mod checks;
mod count;
mod dev;
mod e2e;
mod files;
mod node_tests;
mod postgres;
mod project;
mod serve;
mod setup;
mod stage;
mod test;
mod test_agents;
mod test_clients;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Build, run and test Flightdeck")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build for users and start Flightdeck on http://127.0.0.1:3000
    Serve {
        /// Arguments for `flightdeck serve`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build quickly, run, and start again on every change
    Dev {
        /// Arguments for `flightdeck serve`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build the site and the server
    Build {
        /// Build the server as users run it
        #[arg(long)]
        release: bool,
    },
    /// Run every check and test; the last line counts them
    Test {
        /// Also the long forms of random and crash tests
        #[arg(long)]
        long: bool,
    },
    /// Formatting, lints and house rules only
    Check,
    /// End-to-end tests only
    E2e {
        /// Arguments for Playwright
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The conformance suite of MCP, and clients that others wrote, against a real server
    TestClients {
        /// Arguments for Node's test runner, such as --test-name-pattern=Python
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Tests with agents that others wrote: installs them (1 GB) and needs no key and no network
    TestAgents {
        /// Arguments for Node's test runner, such as --test-name-pattern=Claude
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Measure against baselines, in one run: `messages` or `jobs`; further arguments with `--help`
    Bench {
        /// What to measure, and how long
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        args: Vec<String>,
    },
    /// Format all Rust code
    Fmt,
    /// Build our documentation; a broken link is an error
    Docs,
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Serve { args } => serve::serve(&args),
        Command::Dev { args } => dev::dev(&args),
        Command::Build { release } => build::all(release),
        Command::Test { long } => test::test(long),
        Command::Check => test::check(),
        Command::E2e { args } => e2e::build_and_run(&args).map(close),
        Command::TestClients { args } => test_clients::test_clients(&args).map(close),
        Command::TestAgents { args } => test_agents::test_agents(&args).map(close),
        Command::Bench { args } => bench::bench(&args),
        Command::Fmt => stage::must("cargo fmt", project::cargo("fmt").arg("--all")).map(drop),
        Command::Docs => {
            let mut cargo = project::cargo("doc");
            cargo.args([
                "--workspace",
                "--exclude",
                "frontend",
                "--no-deps",
                "--document-private-items",
            ]);
            stage::must("cargo doc", cargo.env("RUSTDOCFLAGS", "-D warnings")).map(drop)
        }
    }
}

/// The closing line of a command that counts tests.
fn close(counts: count::Counts) {
    println!("\n{counts}");
    if counts.failed > 0 {
        std::process::exit(1);
    }
}
