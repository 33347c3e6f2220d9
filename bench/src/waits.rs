//! Waiting for runs that take long: what three ways of a client cost its model, and what many waiters cost the server.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::agent::WORK;
use crate::flightdeck::Flightdeck;
use crate::outside::Outside;
use crate::samples::Samples;

/// Between an answer and the next call: a model has to read it and to write the call.
const THOUGHT: Duration = Duration::from_secs(2);

/// The agent that runs are given, as clients name it.
const AGENT: &str = "reporter";

/// How a client learns that its run is over.
#[derive(Clone, Copy)]
enum Way {
    /// `check_task` as it comes.
    Wait,
    /// Short waits that news of the run ends as well.
    Poll,
    /// `get_task`, again and again.
    Snapshot,
}

const WAYS: [(Way, &str); 3] = [
    (Way::Wait, "check_task, 45 s"),
    (Way::Poll, "check_task, 10 s or news"),
    (Way::Snapshot, "get_task, at once"),
];

/// What a client has seen until its run was over.
#[derive(Default)]
struct Seen {
    calls: usize,
    bytes: usize,
    /// From the end of the run to the answer that told of it, in nanoseconds.
    late: Samples,
    duplicates: usize,
}

pub(crate) async fn run(binary: &Path, seconds: u64, rounds: usize, waiters: usize) -> Result<()> {
    many(binary, waiters).await?;
    ways(binary, seconds, rounds).await
}

/// All rounds of all ways at once: they wait, and disturb one another little. Their runs differ in length, so that the ends fall
/// anywhere between two calls.
async fn ways(binary: &Path, seconds: u64, rounds: usize) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deck = Flightdeck::start(binary, folder.path()).await?;
    let mut clients = JoinSet::new();
    for (number, (way, _)) in WAYS.into_iter().enumerate() {
        for round in 0..rounds {
            let token = deck.token(&format!("way {number}.{round}")).await?;
            let client = Outside::connect(deck.url(), token).await?;
            let length = seconds + 11 * round as u64;
            clients.spawn(async move { anyhow::Ok((number, follow(&client, way, length).await?)) });
        }
    }
    let mut seen: [Seen; 3] = Default::default();
    while let Some(done) = clients.join_next().await {
        let (number, one) = done??;
        let all = &mut seen[number];
        all.calls += one.calls;
        all.bytes += one.bytes;
        all.duplicates += one.duplicates;
        all.late.extend(&one.late);
    }
    println!(
        "one run of {seconds} s and more, {THOUGHT:?} between an answer and the next call ({rounds} runs a way, means a run)"
    );
    for ((_, name), seen) in WAYS.iter().zip(&seen) {
        println!(
            "  {name:<26} {:>6.1} calls  {:>8.0} bytes shown  noticed after {:>5.2} s (median; max {:>5.2})  {} duplicates",
            mean(seen.calls, rounds),
            mean(seen.bytes, rounds),
            seen.late.at(0.5) / 1e3,
            seen.late.at(1.0) / 1e3,
            seen.duplicates,
        );
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn mean(sum: usize, of: usize) -> f64 {
    sum as f64 / of as f64
}

/// Starts a run and follows it to its end.
async fn follow(client: &Outside, way: Way, seconds: u64) -> Result<Seen> {
    let mut seen = Seen::default();
    let task = format!("Read all parts.\n{WORK}{seconds}");
    let started = client
        .call("run_task", &json!({"task": task, "agent": AGENT}))
        .await?;
    let id = started.value["taskId"].clone();
    let mut cursor = Value::Null;
    loop {
        let (tool, mut arguments) = match way {
            Way::Wait => ("check_task", json!({"taskId": id})),
            Way::Poll => (
                "check_task",
                json!({"taskId": id, "mode": "poll", "waitMs": 10_000}),
            ),
            Way::Snapshot => ("get_task", json!({"taskId": id})),
        };
        if !cursor.is_null() {
            arguments["logCursor"] = cursor.take();
        }
        let answer = client.call(tool, &arguments).await?;
        seen.calls += 1;
        seen.bytes += answer.bytes;
        if matches!(way, Way::Poll) {
            cursor = answer.value["logCursor"].clone();
        }
        if answer.value["continuePolling"] == false {
            ensure!(answer.value["status"] == "completed", "{}", answer.value);
            seen.late.add(since(&answer.value)?);
            break;
        }
        tokio::time::sleep(THOUGHT).await;
    }
    let all = client.call("list_tasks", &json!({"view": "all"})).await?;
    let runs = all.value["tasks"].as_array().map_or(0, Vec::len);
    seen.duplicates = runs.saturating_sub(1);
    Ok(seen)
}

/// Waiters of one run: a client may have only so many.
const CROWD: usize = 100;

/// Many clients wait at once, a crowd for each run; beside them as many requests that a bare server holds.
async fn many(binary: &Path, waiters: usize) -> Result<()> {
    let bare = bare(waiters).await?;
    let folder = tempfile::tempdir()?;
    let limit = waiters.to_string();
    let settings = [
        ["--run-waiters-per-client", &limit],
        ["--run-waiters", &limit],
        ["--run-wait-ms", "120000"],
        ["--run-max-wait-ms", "120000"],
        ["--cancel-grace-ms", "100"],
    ];
    let settings: Vec<String> = settings
        .iter()
        .flatten()
        .map(|word| (*word).to_owned())
        .collect();
    let deck = Flightdeck::start_with(binary, folder.path(), &settings).await?;
    let pid = deck.pid().context("the server runs")?;
    let client = Arc::new(Outside::connect(deck.url(), deck.token("many").await?).await?);
    let mut runs = Vec::new();
    for number in 0..waiters.div_ceil(CROWD) {
        let task = format!("Task {number}.\n{WORK}100000");
        let task = json!({"task": task, "agent": AGENT});
        runs.push(client.call("run_task", &task).await?.value["taskId"].clone());
        deck.report().await?;
    }
    let before = resident(pid)?;
    let mut waits = JoinSet::new();
    for number in 0..waiters {
        let (client, run) = (client.clone(), runs[number / CROWD].clone());
        waits.spawn(async move {
            let answer = client
                .call("check_task", &json!({"taskId": run}))
                .await?
                .value;
            ensure!(answer["status"] == "cancelled", "{answer}");
            since(&answer)
        });
    }
    tokio::select! {
        all = until_waiting(&deck, waiters) => all?,
        Some(early) = waits.join_next() => {
            early??;
            bail!("a wait was over before its run");
        }
    }
    let held = resident(pid)?.saturating_sub(before);
    for run in &runs {
        client.call("cancel_task", &json!({"taskId": run})).await?;
    }
    let mut told = Samples::default();
    while let Some(done) = waits.join_next().await {
        told.add(done??);
    }
    println!("{waiters} clients in check_task, {CROWD} for each run");
    println!("  end of a run → its waiters have the answer  {told}");
    println!(
        "  memory a waiter                     {:>6.1} kB",
        mean(held, waiters)
    );
    println!(
        "  baseline: a request that axum holds {:>6.1} kB",
        mean(bare, waiters)
    );
    println!("  ratio {:.2} (first gate 1.25)", mean(held, bare.max(1)));
    Ok(())
}

/// From the end of a run to now, in nanoseconds; ends are stored to the millisecond.
fn since(run: &Value) -> Result<i64> {
    let at = time::OffsetDateTime::now_utc();
    let ended = run["completedAt"].as_str().context("completedAt")?;
    let ended = time::OffsetDateTime::parse(ended, &time::format_description::well_known::Rfc3339)?;
    Ok(i64::try_from((at - ended).whole_nanoseconds().max(0))?)
}

/// Memory that a bare server takes for so many requests that wait, in kB.
async fn bare(waiters: usize) -> Result<usize> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("bare")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pid = child.id().context("the bare server runs")?;
    let mut lines = BufReader::new(child.stdout.take().context("standard output")?).lines();
    let url = lines
        .next_line()
        .await?
        .context("it says where it listens")?;
    let http = reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .build()?;
    let before = resident(pid)?;
    let mut waits = JoinSet::new();
    for _ in 0..waiters {
        // As long as the call of a tool.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "check_task", "arguments": {"taskId": "00000000-0000-0000-0000-000000000000"}}});
        let request = http.post(format!("{url}/wait")).body(body.to_string());
        waits.spawn(async move { request.send().await?.error_for_status() });
    }
    // It has no count of its waiters; its connections are one.
    until(|| async { Ok(connections(&url)? >= waiters) }).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let held = resident(pid)?.saturating_sub(before);
    http.post(format!("{url}/go")).send().await?;
    while let Some(done) = waits.join_next().await {
        done??;
    }
    Ok(held)
}

/// Until so many callers wait, by the server's own count.
async fn until_waiting(deck: &Flightdeck, waiters: usize) -> Result<()> {
    let http = reqwest::Client::new();
    until(|| async {
        let page = http
            .get(format!("{}/metrics", deck.url()))
            .send()
            .await?
            .text()
            .await?;
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix("flightdeck_run_waiters "))
            .context("the metrics count waiters")?;
        Ok(line.trim() == waiters.to_string())
    })
    .await
}

async fn until<F: Future<Output = Result<bool>>>(holds: impl Fn() -> F) -> Result<()> {
    tokio::time::timeout(Duration::from_secs(100), async {
        while !holds().await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    })
    .await
    .context("it did not come to hold in 100 s")?
}

/// Memory of a process, in kB.
fn resident(pid: u32) -> Result<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("VmRSS")?.parse()?)
}

/// Established connections of the server at this address.
fn connections(url: &str) -> Result<usize> {
    let port: u16 = url.rsplit(':').next().context("a port")?.parse()?;
    let local = format!(":{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp")?;
    Ok(table
        .lines()
        .filter(|line| {
            let mut fields = line.split_whitespace().skip(1);
            fields
                .next()
                .is_some_and(|address| address.ends_with(&local))
                && fields.nth(1) == Some("01")
        })
        .count())
}
