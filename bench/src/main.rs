//! `cargo xtask bench`: what Flightdeck does, beside the least that anything could do in its place.
//!
//! Absolute figures mean little on a shared machine, so every measurement runs in rounds that alternate with its baseline, and
//! what is printed is the ratio beside the figures.

mod agent;
mod bare;
mod flightdeck;
mod jobs;
mod messages;
mod outside;
mod raw;
mod samples;
mod waits;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Messages between tasks: latency to an idle session, and a burst.
    Messages {
        /// The server's binary.
        #[arg(long)]
        server: PathBuf,
        /// Messages a round.
        #[arg(long, default_value_t = 60)]
        samples: usize,
        /// Rounds.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// Waiting for long runs: three ways of a client, and many waiters at once.
    Waits {
        /// The server's binary.
        #[arg(long)]
        server: PathBuf,
        /// How long the long run takes.
        #[arg(long, default_value_t = 190)]
        seconds: u64,
        /// Runs of each way.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Clients that wait at once.
        #[arg(long, default_value_t = 2_000)]
        waiters: usize,
    },
    /// A bare axum server whose answers wait until they are let go. What waiters are measured beside.
    Bare,
    /// AI jobs: enqueueing, drain and pickup.
    Jobs(jobs::Plan),
    /// The agent that measurements talk to: speaks ACP on stdio and says when it was prompted. Started by Flightdeck.
    Agent {
        /// Datagram socket to report to.
        #[arg(long)]
        report: PathBuf,
    },
}

fn main() -> Result<()> {
    match Args::parse().what {
        What::Agent { report } => agent::run(&report),
        What::Jobs(plan) => tokio::runtime::Runtime::new()?.block_on(jobs::run(plan)),
        What::Messages {
            server,
            samples,
            rounds,
        } => tokio::runtime::Runtime::new()?.block_on(messages::run(&server, samples, rounds)),
        What::Waits {
            server,
            seconds,
            rounds,
            waiters,
        } => {
            tokio::runtime::Runtime::new()?.block_on(waits::run(&server, seconds, rounds, waiters))
        }
        What::Bare => tokio::runtime::Runtime::new()?.block_on(bare::serve()),
    }
}
