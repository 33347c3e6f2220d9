//! The board's own methods, as the gateway's endpoint and the scheduler call them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use board::{Board, Clock, Held, Joined, Settings, Topic};
use domain::job::TargetKind;
use domain::job::intake::Intake;
use store::{Options, Store};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{PRODUCERS, TEXT};
use crate::agent::now;
use crate::samples::Samples;

/// Slots of the worker that drains.
const SLOTS: usize = 256;
/// A job that is not picked up by then has lost its wake-up.
const LOST: Duration = Duration::from_secs(5);
/// Between two samples of the pickup.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// A board on a database of its own.
pub(crate) struct Ours {
    board: Board,
    _joined: Joined,
    /// Every job is another user's: of one user only one runs at a time.
    users: AtomicUsize,
    locked: AtomicUsize,
}

/// What came of measuring the pickup.
#[derive(Default)]
pub(crate) struct Pickup {
    /// From the call that enqueues to the worker having the job.
    pub(crate) called: Samples,
    /// From its answer.
    pub(crate) accepted: Samples,
    pub(crate) lost: usize,
}

impl Ours {
    pub(crate) async fn open(url: &str) -> Result<Arc<Self>> {
        let store = Store::open(&Options::new(url)).await?;
        let board = Board::new(store, Clock::system(), Settings::default());
        Ok(Arc::new(Self {
            _joined: board.join_nodes().await?,
            board,
            users: AtomicUsize::new(0),
            locked: AtomicUsize::new(0),
        }))
    }

    fn intake(&self) -> Result<Intake> {
        let user = self.users.fetch_add(1, Ordering::Relaxed);
        let user = format!("{}.{user}", std::process::id());
        Ok(Intake::direct_message(
            TargetKind::DiscordDm,
            "gateway_dm",
            &user,
            TEXT,
        )?)
    }

    /// "database is locked", of which there must be none.
    pub(crate) fn locked(&self) -> usize {
        self.locked.load(Ordering::Relaxed)
    }

    fn noted<T>(&self, outcome: board::Result<T>) -> Result<T> {
        outcome.map_err(|error| {
            let error = anyhow::Error::from(error);
            if format!("{error:#}").contains("database is locked") {
                self.locked.fetch_add(1, Ordering::Relaxed);
            }
            error
        })
    }

    /// Lets the producers enqueue `jobs` jobs, one a call; the nanoseconds it took.
    pub(crate) async fn enqueue(self: &Arc<Self>, jobs: usize) -> Result<i64> {
        let begun = now();
        let mut producers = JoinSet::new();
        for _ in 0..PRODUCERS {
            let ours = self.clone();
            producers.spawn(async move {
                for _ in 0..jobs / PRODUCERS {
                    let accepted = ours.board.job_enqueue(ours.intake()?, Ok(())).await;
                    ensure!(
                        !ours.noted(accepted)?.duplicate,
                        "a job was taken for another"
                    );
                }
                Ok(())
            });
        }
        while let Some(done) = producers.join_next().await {
            done??;
        }
        Ok(now() - begun)
    }

    /// Makes `jobs` jobs without measuring.
    pub(crate) async fn fill(&self, jobs: usize) -> Result<()> {
        let mut left = jobs;
        while left > 0 {
            let some = left.min(1_000);
            let intakes = (0..some).map(|_| self.intake()).collect::<Result<_>>()?;
            self.noted(self.board.jobs_enqueue(intakes).await)?;
            left -= some;
        }
        Ok(())
    }

    /// Takes and completes `jobs` jobs as a scheduler does: it claims for the slots that are free, and each run reports by
    /// itself. The nanoseconds it took.
    pub(crate) async fn drain(self: &Arc<Self>, jobs: usize) -> Result<i64> {
        let begun = now();
        let mut runs = JoinSet::new();
        let (mut taken, mut done) = (0, 0);
        while done < jobs {
            let free = (SLOTS - runs.len()).min(jobs - taken);
            if free > 0 && (runs.len() <= SLOTS / 2) {
                let limit = i64::try_from(free)?;
                let claimed = self.noted(self.board.job_claim_next("bench", limit).await)?;
                ensure!(
                    !claimed.is_empty() || !runs.is_empty(),
                    "nothing is to be had, though {} jobs wait",
                    jobs - taken
                );
                taken += claimed.len();
                for job in claimed {
                    let ours = self.clone();
                    runs.spawn(async move { ours.noted(ours.board.job_complete(&job).await) });
                }
            }
            let Some(first) = runs.join_next().await else {
                continue;
            };
            let mut ended = Some(first);
            while let Some(run) = ended {
                ensure!(run?? == Held::Yes, "a lease was lost");
                done += 1;
                ended = runs.try_join_next();
            }
        }
        Ok(now() - begun)
    }

    /// One job after the other into the idle queue of `worker`, which waits for nothing but a wake-up.
    pub(crate) async fn pickup(
        self: &Arc<Self>,
        worker: &Arc<Self>,
        samples: usize,
    ) -> Result<Pickup> {
        let (picked, mut picks) = mpsc::unbounded_channel();
        let waits = worker.clone();
        let waiter = tokio::spawn(async move {
            let mut wake = waits.board.signals().subscribe(Topic::Jobs);
            loop {
                wake.mark_unchanged();
                for job in waits.noted(waits.board.job_claim_next("bench", 1).await)? {
                    let at = now();
                    let held = waits.noted(waits.board.job_complete(&job).await)?;
                    ensure!(held == Held::Yes, "a lease was lost");
                    picked.send((at, job.id))?;
                }
                wake.changed().await?;
            }
        });
        let mut pickup = Pickup::default();
        for _ in 0..samples {
            // What the job before set off is over by then: the queue is idle.
            tokio::time::sleep(PAUSE).await;
            let intake = self.intake()?;
            let called = now();
            let accepted = self.noted(self.board.job_enqueue(intake, Ok(())).await)?;
            let answered = now();
            let (at, job) = match timeout(LOST, picks.recv()).await {
                Ok(Some(pick)) => pick,
                Ok(None) => break,
                Err(_) => {
                    pickup.lost += 1;
                    // Woken by hand, so that what follows is measured on an idle queue again.
                    worker.board.signals().wake(Topic::Jobs);
                    let Some(_) = timeout(LOST, picks.recv()).await? else {
                        break;
                    };
                    continue;
                }
            };
            ensure!(
                job == accepted.job_id,
                "another job than the one enqueued was picked up"
            );
            pickup.called.add(at - called);
            pickup.accepted.add((at - answered).max(0));
        }
        if waiter.is_finished() {
            let ended: Result<()> = waiter.await?;
            ended?;
            bail!("the worker ended");
        }
        waiter.abort();
        Ok(pickup)
    }
}
