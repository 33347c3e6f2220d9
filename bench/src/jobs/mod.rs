//! AI jobs: how many are taken in and worked off, and how soon an idle queue has one, beside raw statements and public queues.
//!
//! What is measured of ours are the board's own methods, which pages, API and workers call. Baselines write the same: raw
//! statements the same rows into the same tables, public queues one job of the same text in their own. All commits are durable
//! (SQLite `synchronous=FULL`, Postgres with `fsync` and `synchronous_commit`). Rounds alternate between all that is compared,
//! and a ratio is the median of the rounds' ratios.

mod apalis;
mod figures;
mod ours;
mod postgres;
mod public;
mod sqlite;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use figures::Verdicts;
use public::Public;

/// Producers of a measurement of enqueueing.
const PRODUCERS: usize = 16;
/// What a message says: the length of a usual one.
const TEXT: &str = "Please set up the weekly planning meeting for the release team on Thursday afternoon and tell everyone who is \
                    concerned; if Thursday is taken, look for the next free slot and say which one you took.";

/// How much is measured.
#[derive(Args)]
pub(crate) struct Plan {
    /// A Postgres server in which databases may be made, with durable commits. Without it its part is left out.
    #[arg(long)]
    postgres: Option<String>,
    /// The folder of the public queues for Postgres, with its packages installed.
    #[arg(long)]
    queues: Option<PathBuf>,
    /// Rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Jobs enqueued, and worked off, in a round.
    #[arg(long, default_value_t = 2_000)]
    jobs: usize,
    /// Jobs that wait in the measurement of a long queue.
    #[arg(long, default_value_t = 100_000)]
    backlog: usize,
    /// Samples of the pickup latency, over all rounds.
    #[arg(long, default_value_t = 10_000)]
    samples: usize,
    /// Only this: `sqlite` or `postgres`.
    #[arg(long)]
    only: Option<String>,
}

pub(crate) async fn run(plan: Plan) -> Result<()> {
    let wanted = |name: &str| plan.only.as_deref().is_none_or(|only| only == name);
    let mut verdicts = Verdicts::default();
    let mut public = match (&plan.queues, &plan.postgres) {
        (Some(folder), Some(server)) => Some(Public::start(folder, server).await?),
        _ => None,
    };
    if wanted("sqlite") {
        sqlite::measure(&plan, public.as_mut(), &mut verdicts).await?;
    }
    match &plan.postgres {
        Some(server) if wanted("postgres") => {
            postgres::measure(&plan, server, public.as_mut(), &mut verdicts).await?;
        }
        Some(_) => {}
        None => println!("Postgres: left out, since its programs were not found"),
    }
    if let Some(public) = public {
        public.stop().await?;
    }
    println!("\n{verdicts}");
    if !verdicts.faults.is_empty() {
        bail!("{} of what must never happen did", verdicts.faults.len());
    }
    Ok(())
}
