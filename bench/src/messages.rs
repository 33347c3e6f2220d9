//! Messages between tasks: how soon the target's agent has one, and how a burst drains.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, ensure};

use crate::agent::now;
use crate::flightdeck::{Flightdeck, Tools, Worker};
use crate::raw::Raw;
use crate::samples::{Samples, milliseconds};

/// Sessions of the burst, each of which writes to ten others.
const SESSIONS: usize = 100;
/// Messages of the burst; every pair of sender and target is another one.
const BURST: usize = 1_000;

pub(crate) async fn run(binary: &Path, samples: usize, rounds: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deck = Flightdeck::start(binary, folder.path()).await?;
    latency(
        &deck,
        &mut Raw::start(folder.path()).await?,
        samples,
        rounds,
    )
    .await?;
    burst(&deck).await
}

/// One message after the other to a session that rests, in rounds that alternate with the baseline.
async fn latency(deck: &Flightdeck, raw: &mut Raw, samples: usize, rounds: usize) -> Result<()> {
    let mut senders = Vec::new();
    let target = deck.worker("Target").await?;
    let (mut called, mut accepted) = (Samples::default(), Samples::default());
    let (mut raw_called, mut raw_accepted) = (Samples::default(), Samples::default());
    for round in 0..rounds {
        for sample in 0..samples {
            // A pair of tasks may exchange only so many messages in a while.
            if sample % 20 == 0 {
                let worker = deck.worker(&format!("Sender {round}.{sample}")).await?;
                senders.push(Tools::of(&worker).await?);
            }
            let sender = &senders[senders.len() - 1];
            let begun = now();
            sender.message(&target, "Hello.").await?;
            let answered = now();
            let report = deck.report().await?;
            called.add(report.at - begun);
            accepted.add((report.at - answered).max(0));
            deck.until_idle(&target).await?;
        }
        for _ in 0..samples {
            let (from_begin, from_commit) = raw.deliver().await?;
            raw_called.add(from_begin);
            raw_accepted.add(from_commit);
        }
    }
    println!("message to an idle session (SQLite, synchronous=FULL, {rounds} rounds)");
    println!("  tool called   → agent prompted   {called}");
    println!("  tool answered → agent prompted   {accepted}");
    println!("  baseline: commit and write       {raw_called}");
    println!("  baseline: write alone            {raw_accepted}");
    println!(
        "  ratio of medians, called → prompted to commit and write: {:.1}",
        called.at(0.5) / raw_called.at(0.5)
    );
    Ok(())
}

/// A thousand messages at once, no pair twice; all must arrive, each once.
async fn burst(deck: &Flightdeck) -> Result<()> {
    let mut workers = Vec::new();
    for number in 0..SESSIONS {
        workers.push(deck.worker(&format!("Burst {number}")).await?);
    }
    let workers: Arc<Vec<Worker>> = Arc::new(workers);
    let begun = now();
    let mut calls = tokio::task::JoinSet::new();
    for from in 0..SESSIONS {
        let workers = workers.clone();
        calls.spawn(async move {
            let tools = Tools::of(&workers[from]).await?;
            let mut sent = 0;
            for step in 1..=BURST / SESSIONS {
                tools
                    .message(&workers[(from + step) % SESSIONS], "Hello.")
                    .await?;
                sent += 1;
            }
            anyhow::Ok(sent)
        });
    }
    let mut prompts: HashMap<String, usize> = HashMap::new();
    let mut last = begun;
    let mut sent = 0;
    while prompts.len() < BURST {
        tokio::select! {
            Some(done) = calls.join_next() => sent += done??,
            report = deck.report() => {
                let report = report?;
                last = last.max(report.at);
                *prompts.entry(report.prompt).or_default() += 1;
            }
        }
    }
    while let Some(done) = calls.join_next().await {
        sent += done??;
    }
    ensure!(sent == BURST, "only {sent} of {BURST} messages were taken");
    ensure!(
        prompts.values().all(|times| *times == 1),
        "a message was delivered more than once"
    );
    let took = milliseconds(last - begun);
    println!("burst of {BURST} messages over {SESSIONS} sessions from distinct pairs");
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let rate = BURST as f64 / took * 1e3;
    println!(
        "  none lost, none twice; the last agent was prompted after {took:.0} ms ({rate:.0} messages/s)"
    );
    Ok(())
}
