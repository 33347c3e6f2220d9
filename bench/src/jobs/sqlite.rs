//! SQLite: Flightdeck, raw statements and apalis-sqlite, each in a file of its own in the same folder.

use std::path::Path;

use anyhow::{Result, ensure};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, Executor, SqliteConnection};

use super::apalis::Apalis;
use super::figures::{Latency, Rounds, Verdicts, rate};
use super::ours::Ours;
use super::public::Public;
use super::{Plan, TEXT};
use crate::agent::now;

/// Jobs that wait in the measurement of a short queue.
pub(crate) const SHORT: usize = 1_000;

pub(crate) async fn measure(
    plan: &Plan,
    mut public: Option<&mut Public>,
    verdicts: &mut Verdicts,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    let ours = Ours::open(&file("ours.db")).await?;
    let long = Ours::open(&file("long.db")).await?;
    // Its tables are ours, made by opening it once.
    drop(Ours::open(&file("raw.db")).await?);
    let mut raw = Raw::open(&folder.path().join("raw.db")).await?;
    let mut apalis = Apalis::open(&folder.path().join("apalis.db"), 10).await?;
    let mut tuned = Apalis::open(&folder.path().join("tuned.db"), 100).await?;

    println!("SQLite, synchronous=FULL, {} rounds", plan.rounds);
    let (mut us, mut single, mut hundreds, mut theirs) = Default::default();
    for _ in 0..plan.rounds {
        add(&mut us, plan.jobs, ours.enqueue(plan.jobs).await?);
        ours.drain(plan.jobs / super::PRODUCERS * super::PRODUCERS)
            .await?;
        add(&mut single, plan.jobs, raw.enqueue(plan.jobs, 1).await?);
        add(&mut hundreds, plan.jobs, raw.enqueue(plan.jobs, 100).await?);
        raw.clear().await?;
        add(&mut theirs, plan.jobs, apalis.enqueue(plan.jobs).await?);
        apalis.drain(plan.jobs).await?;
    }
    println!("  durable enqueue, 16 producers, one job a call");
    println!("    Flightdeck                   {us}");
    println!("    raw, a commit a job          {single}");
    println!("    raw, commits of 100          {hundreds}");
    println!("    apalis-sqlite                {theirs}");
    verdicts.at_least(
        "SQLite enqueue to raw single commits",
        us.to(&single),
        2.0,
        f64::INFINITY,
    );
    verdicts.goal(
        "SQLite enqueue to raw commits of 100",
        us.to(&hundreds),
        0.5,
    );

    long.fill(plan.backlog).await?;
    let (mut us, mut far, mut tens, mut bare, mut theirs, mut large) = Default::default();
    for _ in 0..plan.rounds {
        ours.fill(SHORT).await?;
        add(&mut us, SHORT, ours.drain(SHORT).await?);
        add(&mut far, SHORT, long.drain(SHORT).await?);
        long.fill(SHORT).await?;
        raw.enqueue(2 * SHORT, 100).await?;
        add(&mut tens, SHORT, raw.drain(SHORT, true).await?);
        add(&mut bare, SHORT, raw.drain(SHORT, false).await?);
        raw.clear().await?;
        apalis.fill(SHORT).await?;
        add(&mut theirs, SHORT, apalis.drain(SHORT).await?);
        tuned.fill(SHORT).await?;
        add(&mut large, SHORT, tuned.drain(SHORT).await?);
    }
    println!("  drain: claim and complete, with fencing and timeline");
    println!("    Flightdeck, {SHORT:>6} queued    {us}");
    println!("    Flightdeck, {:>6} queued    {far}", plan.backlog);
    println!("    raw, batches of 10, same rows {tens}");
    println!("    raw, batches of 10, no timeline {bare}");
    println!("    apalis-sqlite                {theirs}");
    verdicts.at_least(
        "SQLite drain to apalis-sqlite",
        us.to(&theirs),
        10.0,
        f64::INFINITY,
    );
    verdicts.goal("SQLite drain to raw batches of 10", us.to(&tens), 0.5);
    verdicts.at_least(
        &format!("SQLite drain with {} queued to {SHORT}", plan.backlog),
        far.to(&us),
        0.8,
        0.95,
    );

    let per_round = plan.samples / plan.rounds;
    let (mut us, mut theirs) = (Latency::default(), Latency::default());
    let mut lost = 0;
    for _ in 0..plan.rounds {
        let pickup = ours.pickup(&ours, per_round).await?;
        lost += pickup.lost;
        us.add(&pickup);
        if let Some(public) = public.as_deref_mut() {
            theirs.add(&public.pickup("graphile", per_round).await?);
        }
    }
    println!("  pickup of an idle queue, from the call that enqueues to the worker");
    println!("    Flightdeck        {}", us.called);
    println!("      from its answer {}", us.accepted);
    if public.is_some() {
        println!("    graphile-worker   {}", theirs.called);
        verdicts.at_most(
            "SQLite pickup, p99 to graphile-worker's",
            us.ninety_ninth.to(&theirs.ninety_ninth),
            0.5,
        );
    }
    verdicts.count("SQLite wake-ups lost", lost);
    verdicts.count(
        "SQLite \"database is locked\"",
        ours.locked() + long.locked(),
    );
    Ok(())
}

pub(crate) fn add(rounds: &mut Rounds, jobs: usize, nanoseconds: i64) {
    rounds.add(rate(jobs, nanoseconds));
}

/// The same rows in the same tables, by one connection and as little as can be.
struct Raw(SqliteConnection, i64);

impl Raw {
    async fn open(file: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        connection
            .execute("pragma temp_store = memory; pragma cache_size = -16000")
            .await?;
        Ok(Self(connection, 0))
    }

    async fn enqueue(&mut self, jobs: usize, commit_every: usize) -> Result<i64> {
        let begun = now();
        for _ in 0..jobs.div_ceil(commit_every) {
            let mut tx = self.0.begin_with("begin immediate").await?;
            for _ in 0..commit_every {
                self.1 += 1;
                let at = 1_790_000_000_000 + self.1;
                let id: i64 = sqlx::query_scalar(
                    "insert into ai_jobs (correlation_id, source, user_id, request_text, response_target_json, metadata_json, queue, \
                     priority, timeout_seconds, max_attempts, next_retry_at, deadline_at, created_at, updated_at) \
                     values ($1, 'gateway_dm', $2, $3, '{\"type\":\"discord_dm\"}', '{}', 'direct', 1, 330, 6, $4, $5, $4, $4) returning id",
                )
                .bind(format!("aij_{}", self.1))
                .bind(format!("u{}", self.1))
                .bind(TEXT)
                .bind(at)
                .bind(at + 86_400_000)
                .fetch_one(&mut *tx)
                .await?;
                for word in ["job.queued", "job.enqueued"] {
                    sqlx::query(
                        "insert into ai_job_events (job_id, event_type, source, step, metadata_json, created_at) \
                         values ($1, $2, 'gateway_dm', 'queued', '{}', $3)",
                    )
                    .bind(id)
                    .bind(word)
                    .bind(at)
                    .execute(&mut *tx)
                    .await?;
                }
            }
            tx.commit().await?;
        }
        Ok(now() - begun)
    }

    /// Claims and completes in batches of ten, each batch two transactions.
    async fn drain(&mut self, jobs: usize, timeline: bool) -> Result<i64> {
        let begun = now();
        for _ in 0..jobs / 10 {
            let mut tx = self.0.begin_with("begin immediate").await?;
            let ids: Vec<i64> = sqlx::query_scalar(
                "update ai_jobs set status = 'running', attempt_count = attempt_count + 1, lease_token = 'a token of this batch', \
                 lease_expires_at = $1 where id in (select id from ai_jobs where status = 'pending' and priority = 1 \
                 and next_retry_at <= $1 order by next_retry_at, id limit 10) returning id",
            )
            .bind(i64::MAX)
            .fetch_all(&mut *tx)
            .await?;
            ensure!(ids.len() == 10, "the raw queue is empty");
            if timeline {
                for id in &ids {
                    sqlx::query("insert into ai_job_attempts (job_id, run, attempt, worker_id, started_at) values ($1, 1, 1, 'w', 1)")
                        .bind(id)
                        .execute(&mut *tx)
                        .await?;
                    said(&mut tx, *id, &["job.running", "job.executing"]).await?;
                }
            }
            tx.commit().await?;
            let mut tx = self.0.begin_with("begin immediate").await?;
            for id in &ids {
                sqlx::query(
                    "update ai_jobs set status = 'completed', lease_token = null, lease_expires_at = null, completed_at = 1 \
                     where id = $1 and status = 'running' and lease_token = 'a token of this batch'",
                )
                .bind(id)
                .execute(&mut *tx)
                .await?;
                if timeline {
                    sqlx::query("update ai_job_attempts set ended_at = 1, outcome = 'completed' where job_id = $1 and ended_at is null")
                        .bind(id)
                        .execute(&mut *tx)
                        .await?;
                    said(&mut tx, *id, &["job.completed"]).await?;
                }
            }
            tx.commit().await?;
        }
        Ok(now() - begun)
    }

    async fn clear(&mut self) -> Result<()> {
        self.0.execute("delete from ai_jobs").await?;
        self.0.execute("delete from ai_job_events").await?;
        Ok(())
    }
}

async fn said(connection: &mut SqliteConnection, job: i64, words: &[&str]) -> Result<()> {
    for word in words {
        sqlx::query(
            "insert into ai_job_events (job_id, event_type, source, step, metadata_json, created_at) values ($1, $2, 'x', 'y', '{}', 1)",
        )
        .bind(job)
        .bind(word)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
