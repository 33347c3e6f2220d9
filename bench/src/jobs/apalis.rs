//! apalis-sqlite, but durable: its own set-up switches `synchronous` off.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use apalis::prelude::*;
use apalis_sqlite::{Config, SqlitePool, SqlitePoolOptions, SqliteStorage};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use tokio::task::JoinSet;

use super::{PRODUCERS, TEXT};
use crate::agent::now;

pub(crate) struct Apalis {
    pool: SqlitePool,
    storage: SqliteStorage<String>,
    workers: usize,
}

/// What a worker's handler counts.
#[derive(Debug, Clone, Default)]
struct Progress {
    first: Arc<AtomicI64>,
    left: Arc<AtomicUsize>,
}

impl Apalis {
    /// `batch` is what it fetches at once; its default is 10.
    pub(crate) async fn open(file: &Path, batch: usize) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(60));
        let pool = SqlitePoolOptions::new()
            .max_connections(u32::try_from(PRODUCERS)?)
            .connect_with(options)
            .await?;
        SqliteStorage::migrations().run(&pool).await?;
        let config = Config::default().queue("bench").batch_size(batch);
        let storage = SqliteStorage::new(&pool).with_config(config);
        Ok(Self {
            pool,
            storage,
            workers: 0,
        })
    }

    pub(crate) async fn enqueue(&self, jobs: usize) -> Result<i64> {
        let begun = now();
        let mut producers = JoinSet::new();
        for _ in 0..PRODUCERS {
            let mut storage = self.storage.clone();
            producers.spawn(async move {
                for _ in 0..jobs / PRODUCERS {
                    storage
                        .push(TEXT.to_owned())
                        .await
                        .map_err(|error| anyhow!("apalis: {error}"))?;
                }
                Ok(())
            });
        }
        while let Some(done) = producers.join_next().await {
            let done: Result<()> = done?;
            done?;
        }
        Ok(now() - begun)
    }

    /// Makes jobs without measuring.
    pub(crate) async fn fill(&mut self, jobs: usize) -> Result<()> {
        let texts = vec![TEXT.to_owned(); jobs];
        self.storage
            .push_bulk(texts)
            .await
            .map_err(|error| anyhow!("apalis: {error}"))
    }

    /// From the first job's start until the worker, told to stop by the last, has stored all ends.
    pub(crate) async fn drain(&mut self, jobs: usize) -> Result<i64> {
        let jobs = jobs.min(self.waiting().await?);
        self.workers += 1;
        let progress = Progress::default();
        progress.left.store(jobs, Ordering::SeqCst);
        let worker = WorkerBuilder::new(format!("bench-{}", self.workers))
            .backend(self.storage.clone())
            .data(progress.clone())
            .build(work);
        worker
            .run()
            .await
            .map_err(|error| anyhow!("apalis: {error}"))?;
        let took = now() - progress.first.load(Ordering::SeqCst);
        anyhow::ensure!(self.waiting().await? == 0, "apalis left jobs behind");
        Ok(took)
    }

    async fn waiting(&self) -> Result<usize> {
        let waiting: i64 = sqlx::query_scalar("select count(*) from Jobs where status <> 'Done'")
            .fetch_one(&self.pool)
            .await?;
        Ok(usize::try_from(waiting)?)
    }
}

async fn work(
    _text: String,
    progress: Data<Progress>,
    worker: WorkerContext,
) -> Result<(), BoxDynError> {
    let _ = progress
        .first
        .compare_exchange(0, now(), Ordering::SeqCst, Ordering::SeqCst);
    if progress.left.fetch_sub(1, Ordering::SeqCst) == 1 {
        worker.stop()?;
    }
    Ok(())
}
