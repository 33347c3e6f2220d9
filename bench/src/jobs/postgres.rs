//! Postgres: Flightdeck on one node and on two, raw inserts, graphile-worker and pg-boss, each in a database of its own in the
//! same server.

use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context, Result};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokio::task::JoinSet;

use super::figures::{Latency, Rounds, Verdicts};
use super::ours::Ours;
use super::public::Public;
use super::sqlite::{SHORT, add};
use super::{PRODUCERS, Plan, TEXT};
use crate::agent::now;

/// Makes a database, over an old one of the same name, and gives its URL.
pub(crate) async fn database(server: &str, name: &str) -> Result<String> {
    let mut connection = PgConnection::connect(server).await?;
    for statement in ["drop database if exists", "create database"] {
        connection
            .execute(AssertSqlSafe(format!("{statement} bench_{name}")))
            .await?;
    }
    connection.close().await?;
    let (front, _) = server
        .rsplit_once('/')
        .context("the server's URL names a database")?;
    Ok(format!("{front}/bench_{name}"))
}

pub(crate) async fn measure(
    plan: &Plan,
    server: &str,
    public: Option<&mut Public>,
    verdicts: &mut Verdicts,
) -> Result<()> {
    let url = database(server, "ours").await?;
    let ours = Ours::open(&url).await?;
    let other = Ours::open(&url).await?;
    let long = Ours::open(&database(server, "long").await?).await?;
    let raw = database(server, "raw").await?;
    drop(Ours::open(&raw).await?);
    let raw = Raw::open(&raw).await?;
    let public = public.context("the public queues, which Postgres is measured beside")?;

    println!(
        "Postgres, fsync and synchronous_commit on, {} rounds",
        plan.rounds
    );
    let (mut us, mut bare, mut graphile, mut boss) = (
        Rounds::default(),
        Rounds::default(),
        Rounds::default(),
        Rounds::default(),
    );
    for _ in 0..plan.rounds {
        add(&mut us, plan.jobs, ours.enqueue(plan.jobs).await?);
        ours.drain(plan.jobs / PRODUCERS * PRODUCERS).await?;
        add(&mut bare, plan.jobs, raw.enqueue(plan.jobs).await?);
        for (queue, rounds) in [("graphile", &mut graphile), ("pg-boss", &mut boss)] {
            rounds.add(public.rate(queue, "enqueue", plan.jobs).await?);
            public.rate(queue, "clear", 1).await?;
        }
    }
    println!("  durable enqueue, 16 producers, one job a call");
    println!("    Flightdeck                      {us}");
    println!("    raw insert of the same rows     {bare}");
    println!("    graphile-worker                 {graphile}");
    println!("    pg-boss                         {boss}");
    verdicts.at_least(
        "Postgres enqueue to graphile-worker",
        us.to(&graphile),
        3.0,
        f64::INFINITY,
    );
    verdicts.goal("Postgres enqueue to raw insert", us.to(&bare), 0.5);

    long.fill(plan.backlog).await?;
    let (mut us, mut far, mut one, mut batched, mut boss) = Default::default();
    for _ in 0..plan.rounds {
        ours.fill(SHORT).await?;
        add(&mut us, SHORT, ours.drain(SHORT).await?);
        add(&mut far, SHORT, long.drain(SHORT).await?);
        long.fill(SHORT).await?;
        for (queue, rounds) in [
            ("graphile", &mut one),
            ("graphile-batched", &mut batched),
            ("pg-boss", &mut boss),
        ] {
            let rounds: &mut Rounds = rounds;
            public.rate(queue, "fill", SHORT).await?;
            rounds.add(public.rate(queue, "drain", SHORT).await?);
            public.rate(queue, "clear", 1).await?;
        }
    }
    println!("  drain: claim and complete, with fencing and timeline");
    println!("    Flightdeck, {SHORT:>6} queued       {us}");
    println!("    Flightdeck, {:>6} queued       {far}", plan.backlog);
    println!("    graphile-worker, one a call     {one}");
    println!("    graphile-worker, batched        {batched}");
    println!("    pg-boss                         {boss}");
    verdicts.at_least(
        "Postgres drain to graphile-worker",
        us.to(&one),
        2.0,
        f64::INFINITY,
    );
    verdicts.goal(
        "Postgres drain to graphile-worker's batched mode",
        us.to(&batched),
        1.0,
    );
    verdicts.at_least(
        &format!("Postgres drain with {} queued to {SHORT}", plan.backlog),
        far.to(&us),
        0.8,
        0.95,
    );

    let per_round = plan.samples / plan.rounds;
    let (mut us, mut two, mut graphile) =
        (Latency::default(), Latency::default(), Latency::default());
    let mut lost = 0;
    for _ in 0..plan.rounds {
        for (worker, latency) in [(&ours, &mut us), (&other, &mut two)] {
            let pickup = ours.pickup(worker, per_round).await?;
            lost += pickup.lost;
            latency.add(&pickup);
        }
        graphile.add(&public.pickup("graphile", per_round).await?);
    }
    println!("  pickup of an idle queue, from the call that enqueues to the worker");
    println!("    Flightdeck, same node   {}", us.called);
    println!("      from its answer       {}", us.accepted);
    println!("    Flightdeck, other node  {}", two.called);
    println!("      from its answer       {}", two.accepted);
    println!("    graphile-worker         {}", graphile.called);
    verdicts.at_most(
        "Postgres pickup, p99 to graphile-worker's",
        us.ninety_ninth.to(&graphile.ninety_ninth),
        0.5,
    );
    verdicts.at_most(
        "Postgres pickup on another node, p99 to graphile-worker's",
        two.ninety_ninth.to(&graphile.ninety_ninth),
        0.5,
    );
    verdicts.count("Postgres wake-ups lost", lost);
    Ok(())
}

/// Sixteen connections that insert the same rows, one job a statement and a commit a statement.
struct Raw(PgPool, AtomicI64);

impl Raw {
    async fn open(url: &str) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(u32::try_from(PRODUCERS)?)
            .connect(url)
            .await?;
        Ok(Self(pool, AtomicI64::new(0)))
    }

    async fn enqueue(&self, jobs: usize) -> Result<i64> {
        let begun = now();
        let mut producers = JoinSet::new();
        for _ in 0..PRODUCERS {
            let pool = self.0.clone();
            let first = self.1.fetch_add(i64::try_from(jobs)?, Ordering::Relaxed);
            producers.spawn(async move {
                let mut connection = pool.acquire().await?;
                for n in first..first + i64::try_from(jobs / PRODUCERS)? {
                    let at = 1_790_000_000_000 + n;
                    sqlx::query(
                        "with job as (insert into ai_jobs (correlation_id, source, user_id, request_text, response_target_json, \
                         metadata_json, queue, priority, timeout_seconds, max_attempts, next_retry_at, deadline_at, created_at, updated_at) \
                         values ($1, 'gateway_dm', $2, $3, '{\"type\":\"discord_dm\"}', '{}', 'direct', 1, 330, 6, $4, $5, $4, $4) \
                         returning id) \
                         insert into ai_job_events (job_id, event_type, source, step, metadata_json, created_at) \
                         select id, word, 'gateway_dm', 'queued', '{}', $4 from job, (values ('job.queued'), ('job.enqueued')) words (word)",
                    )
                    .bind(format!("aij_{n}"))
                    .bind(format!("u{n}"))
                    .bind(TEXT)
                    .bind(at)
                    .bind(at + 86_400_000)
                    .execute(&mut *connection)
                    .await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = producers.join_next().await {
            done??;
        }
        Ok(now() - begun)
    }
}
