//! The loops: take what is due, tell users what was given up, sweep, tidy up.
//!
//! The scheduler sleeps until the earliest due time and is woken by whatever happens to jobs, here or on another node; since a word
//! from there may be lost, it looks once a second in any case. A retry of six seconds runs after six seconds, sweep or no sweep.

use super::Jobs;
use super::stop::Stop;
use board::{Notice, Topic};
use domain::job::view::Hint;
use rand::RngExt;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long the loop sleeps when nothing is due and no wake-up comes.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// The wait after the database did not answer.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// Notices taken at once.
const NOTICES: i64 = 10;
/// How often what is long over is emptied and removed.
const HOUSEKEEPING: Duration = Duration::from_secs(60 * 60);

/// The loops of a node.
#[derive(Debug)]
pub struct Scheduler {
    jobs: Jobs,
    stop: CancellationToken,
    loops: Vec<JoinHandle<()>>,
}

impl Scheduler {
    /// Starts the loops. What this node held before its restart is taken back first.
    pub async fn start(jobs: Jobs) -> board::Result<Self> {
        let recovered = jobs.board.job_recover_own(&jobs.worker).await?;
        if recovered.recovered + recovered.failed > 0 {
            tracing::info!(?recovered, "took back the jobs of the last run");
        }
        let stop = CancellationToken::new();
        let loops = vec![
            tokio::spawn(take(jobs.clone(), stop.clone())),
            tokio::spawn(watchdog(jobs.clone(), stop.clone())),
            tokio::spawn(housekeeping(jobs.clone(), stop.clone())),
        ];
        Ok(Self { jobs, stop, loops })
    }

    /// Takes nothing more, gives runs some time to end, and gives back those that do not: another node, or the next start, has
    /// them at once, and no attempt is charged.
    pub async fn stop(self) {
        self.stop.cancel();
        for task in self.loops {
            let _ = task.await;
        }
        let grace = self.jobs.settings.shutdown_grace;
        let slots = u32::try_from(self.jobs.settings.concurrency).unwrap_or(u32::MAX);
        let idle = self.jobs.slots.clone().acquire_many_owned(slots);
        if tokio::time::timeout(grace, idle).await.is_ok() {
            return;
        }
        self.jobs.running.stop_all(Stop::Shutdown);
        let idle = self.jobs.slots.clone().acquire_many_owned(slots);
        if tokio::time::timeout(grace, idle).await.is_err() {
            tracing::warn!("some jobs did not end in time; they are taken back at the next start");
        }
    }
}

/// Takes what is due while there are free slots.
async fn take(jobs: Jobs, stop: CancellationToken) {
    let mut wake = jobs.board.signals().subscribe(Topic::Jobs);
    while !stop.is_cancelled() {
        wake.mark_unchanged();
        match round(&jobs).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "jobs cannot be read"
                );
                tokio::select! {
                    () = tokio::time::sleep(AFTER_ERROR) => {}
                    () = stop.cancelled() => {}
                }
                continue;
            }
        }
        let due = sleep_until(next_look(&jobs).await);
        tokio::select! {
            _ = wake.changed() => {}
            () = due => {}
            () = jobs.freed.notified() => {}
            () = stop.cancelled() => {}
        }
    }
}

/// One look; true when there may be more at once. What is due comes first: it is what the wake-up was for, as a rule.
async fn round(jobs: &Jobs) -> board::Result<bool> {
    let more = jobs.settings.scheduler && take_due(jobs).await?;
    jobs.board.job_recover_expired().await?;
    if jobs.board.job_notices_due().await? {
        for notice in jobs.board.job_notices_take(NOTICES).await? {
            tokio::spawn(tell(jobs.clone(), notice));
        }
    }
    if jobs.running.count() > 0 {
        for job in jobs.board.job_cancels(&jobs.worker).await? {
            jobs.running.stop(job, Stop::Canceled);
        }
    }
    Ok(more)
}

async fn take_due(jobs: &Jobs) -> board::Result<bool> {
    // Slots first: a job that was claimed and has to wait for one would lose its lease.
    let slots: Vec<_> =
        std::iter::from_fn(|| jobs.slots.clone().try_acquire_owned().ok()).collect();
    if slots.is_empty() {
        return Ok(false);
    }
    let free = slots.len();
    let limit = i64::try_from(free).unwrap_or(i64::MAX);
    let claimed = jobs.board.job_claim_next(&jobs.worker, limit).await?;
    let taken = claimed.len();
    for (job, slot) in claimed.into_iter().zip(slots) {
        let jobs = jobs.clone();
        tokio::spawn(async move {
            jobs.run(job).await;
            drop(slot);
            jobs.freed.notify_one();
        });
    }
    Ok(taken > 0 && taken < free)
}

async fn next_look(jobs: &Jobs) -> Instant {
    let now = Instant::now();
    let wait = match jobs.board.job_next_due().await {
        Ok(Some(due)) => {
            let millis = due.since(jobs.board.clock().now()).max(0);
            Duration::from_millis(millis.unsigned_abs())
        }
        Ok(None) | Err(_) => LONGEST_SLEEP,
    };
    now + wait.min(LONGEST_SLEEP)
}

/// Sends a notice that a job was given up. Whatever becomes of it, the job stays as it is.
async fn tell(jobs: Jobs, notice: Notice) {
    let deliver = &jobs.seams.deliver;
    let sent = async {
        let channel = deliver.open(&notice.job.target).await?;
        deliver.send(&channel, &notice.piece).await
    };
    let noted = match sent.await {
        Ok(id) => jobs.board.job_notice_sent(&notice.piece, &id).await,
        Err(failure) => {
            tracing::info!(job = %notice.job.id, error = %failure.class, "a user could not be told that a job was given up");
            let jitter = rand::rng().random_range(-1.0..=1.0);
            jobs.board
                .job_notice_failed(&notice.piece, &failure, jitter)
                .await
        }
    };
    if let Err(error) = noted {
        // It is taken again later, with the same nonce.
        tracing::error!(error = &error as &dyn std::error::Error, job = %notice.job.id, "a notice's end was not stored");
    }
}

/// Each quarter of an hour: a sweep here, or a hint to sweep for the workers.
async fn watchdog(jobs: Jobs, stop: CancellationToken) {
    let every = jobs.settings.watchdog;
    let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        if jobs.settings.scheduler {
            match jobs.sweep().await {
                Ok(swept) => tracing::debug!(?swept, "swept"),
                Err(error) => tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "the sweep failed; the next one makes up for it"
                ),
            }
        } else if let Err(error) = jobs.hints.submit_sweep() {
            tracing::warn!(
                error,
                "the hint to sweep was refused; the next one makes up for it"
            );
        }
    }
}

async fn housekeeping(jobs: Jobs, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        match jobs.board.job_housekeeping().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "removed jobs that were long over"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "old jobs were not removed"
            ),
        }
    }
}

impl Jobs {
    /// One sweep. Where workers take the jobs, their hints are repeated; where this node does, there is nothing to repeat.
    pub async fn sweep(&self) -> board::Result<domain::job::view::Swept> {
        if self.settings.scheduler {
            return self.board.job_sweep(None).await;
        }
        let hints = self.hints.clone();
        let mut submit = move |hint: Hint| hints.submit(hint);
        self.board.job_sweep(Some(&mut submit)).await
    }
}
