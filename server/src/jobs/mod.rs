//! AI jobs at work: what answers a message, and what brings the answer to its user.
//!
//! | Module | Holds |
//! |---|---|
//! | [`seams`] | what the model loop and the platforms implement |
//! | [`run`] | one run of one job |
//! | [`scheduler`] | the loops of a node |
//! | [`hints`] | the queue for workers that are processes of their own |
//! | [`limits`] | who has to wait although the job is due |
//! | [`worker`] | such a process |
//!
//! Nothing here decides a status: every fact is reported to [`board::Board`], which does.

mod hints;
mod limits;
mod run;
mod scheduler;
mod seams;
mod settings;
mod stop;
pub mod worker;

pub use hints::Hints;
pub use scheduler::Scheduler;
pub use seams::{Assess, Channel, Deliver, Generate, Runner, Seams, Unconfigured};
pub use settings::{JobFile, JobOverrides, JobsConfig};

use board::{Accepted, Board, BoardError, Canceller, Claim};
use domain::error::{ErrorCode, Refusal};
use domain::job::event::source;
use domain::job::intake::{Intake, OPERATOR};
use domain::job::view::{Enqueued, Executed, Hint, HintKind, JobView};
use domain::job::{JobId, JobKey, JobStatus, TargetKind};
use limits::Limits;
use std::sync::Arc;
use std::time::Duration;
use stop::{Running, Stop};
use tokio::sync::{Notify, OnceCell, Semaphore};

/// How often a worker's wait looks into the database: jobs become due without a wake-up.
const LOOK: Duration = Duration::from_secs(1);

/// Hints from before the start that are given out again.
const MOST_RECALLED: i64 = 1_000;

/// The jobs of a node. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Jobs {
    board: Board,
    worker: Arc<str>,
    settings: Arc<JobsConfig>,
    seams: Arc<Seams>,
    hints: Arc<Hints>,
    recalled: Arc<OnceCell<()>>,
    limits: Arc<Limits>,
    running: Arc<Running>,
    slots: Arc<Semaphore>,
    freed: Arc<Notify>,
}

impl Jobs {
    /// The jobs of the node `worker`, whose name stays the same over restarts on the same data.
    #[must_use]
    pub fn new(board: Board, worker: &str, settings: JobsConfig, seams: Seams) -> Self {
        Self {
            limits: Arc::new(Limits::new(settings.user_per_minute)),
            slots: Arc::new(Semaphore::new(settings.concurrency)),
            board,
            worker: worker.into(),
            settings: Arc::new(settings),
            seams: Arc::new(seams),
            hints: Arc::default(),
            recalled: Arc::default(),
            running: Arc::default(),
            freed: Arc::default(),
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &JobsConfig {
        &self.settings
    }

    /// The queue for workers.
    #[must_use]
    pub fn hints(&self) -> &Hints {
        &self.hints
    }

    /// How many runs are under way here, and how many providers are left alone.
    #[must_use]
    pub fn gauges(&self) -> (usize, usize) {
        (
            self.running.count(),
            self.limits.open_breakers(tokio::time::Instant::now()),
        )
    }

    /// Makes a job of a message, unless the user's own machine takes the message over. `Err` names the machine's job.
    pub async fn enqueue(&self, intake: Intake) -> board::Result<Result<Enqueued, String>> {
        if let Some(runner) = &self.seams.runner
            && let Some(taken) = runner.take(&intake).await
        {
            return Ok(Err(taken));
        }
        let place = self.place();
        let accepted = self.board.job_enqueue(intake, place.clone()).await?;
        Ok(Ok(self.hinted(accepted, place)))
    }

    /// Makes a job of what the operator says in the app. `key` is the message's own: a repeat is the same job. It stays here whatever
    /// runner there is, since the conversation is made of these jobs.
    pub async fn say(&self, content: &str, key: &str) -> board::Result<Enqueued> {
        if !self.settings.assistant {
            return Err(Refusal::forbidden(
                "the assistant is switched off: set FLIGHTDECK_ASSISTANT_ENABLED to true and start the server again",
            )
            .into());
        }
        let intake = Intake::direct_message(TargetKind::InApp, source::IN_APP, OPERATOR, content)?;
        let intake = Intake {
            message_id: Some(key.to_owned()).filter(|key| !key.is_empty()),
            ..intake
        };
        let place = self.place();
        let accepted = self.board.job_enqueue(intake, place.clone()).await?;
        Ok(self.hinted(accepted, place))
    }

    /// An operator has a job done again, as a new one.
    pub async fn retry(&self, key: &JobKey) -> board::Result<Enqueued> {
        let place = self.place();
        let accepted = self.board.job_retry(key, place.clone()).await?;
        Ok(self.hinted(accepted, place))
    }

    /// Whether a hint would be taken. Where this node takes the jobs itself, its wake-up is the hint.
    fn place(&self) -> Result<(), String> {
        if self.settings.scheduler {
            return Ok(());
        }
        self.hints.has_room()
    }

    fn hinted(&self, accepted: Accepted, place: Result<(), String>) -> Enqueued {
        let queue_error = if accepted.duplicate {
            None
        } else {
            place.err()
        };
        if queue_error.is_none() && !accepted.duplicate && !self.settings.scheduler {
            let hint = Hint {
                kind: HintKind::JobCreated,
                job_id: Some(accepted.job_id),
                correlation_id: Some(accepted.correlation_id.clone()),
                dispatch: None,
            };
            // The place may have gone meanwhile; the row is found all the same.
            if let Err(error) = self.hints.submit(hint) {
                tracing::warn!(error, job = %accepted.job_id, "a hint was refused");
            }
        }
        Enqueued {
            queued: true,
            job_id: accepted.job_id,
            correlation_id: accepted.correlation_id,
            queue_accepted: queue_error.is_none(),
            queue_error,
            duplicate: accepted.duplicate,
        }
    }

    /// Runs a named job now, if it is to be had. The run goes on when the caller does not wait for its end.
    pub async fn execute(&self, id: JobId, dispatch: Option<i64>) -> board::Result<Executed> {
        let Ok(slot) = self.slots.clone().acquire_owned().await else {
            return Ok(Executed::skipped("the server stops"));
        };
        let job = match Box::pin(self.board.job_claim(id, dispatch, &self.worker)).await? {
            Claim::Taken(job) => *job,
            Claim::Skipped(reason) => return Ok(Executed::skipped(reason)),
        };
        let jobs = self.clone();
        let run = tokio::spawn(async move {
            let executed = jobs.run(job).await;
            drop(slot);
            jobs.freed.notify_one();
            executed
        });
        run.await.map_err(|_error| {
            BoardError::Refused(Refusal::new(
                ErrorCode::Internal,
                "the run broke down; the job is taken back when its lease is over",
            ))
        })
    }

    /// What a worker is to look at, waited for. While no hint is there, what is due by the database serves: hints may be lost.
    pub async fn next_hints(&self, wait: Duration) -> board::Result<Vec<Hint>> {
        let until = tokio::time::Instant::now() + wait;
        self.recall_hints().await?;
        let mut wake = self.board.signals().subscribe(board::Topic::Jobs);
        loop {
            let changed = self.hints.changed();
            wake.mark_unchanged();
            let mut hints = self.hints.take();
            if hints.is_empty() && !self.settings.scheduler {
                let due = self.board.jobs_due(50).await?;
                hints = self.hints.take_due(due);
            }
            let now = tokio::time::Instant::now();
            if !hints.is_empty() || now >= until {
                return Ok(hints);
            }
            let look = until.min(now + LOOK);
            tokio::select! {
                () = changed => {}
                _ = wake.changed(), if !self.settings.scheduler => {}
                () = tokio::time::sleep_until(look) => {}
            }
        }
    }

    /// Before the first hint is given out: those that a process before this one gave out or lost with its memory. A repeated hint
    /// puts its job off for minutes, and nobody should wait for so long because a process was ended.
    async fn recall_hints(&self) -> board::Result<()> {
        self.recalled
            .get_or_try_init(async || {
                for hint in self.board.jobs_dispatched(MOST_RECALLED).await? {
                    if let Err(error) = self.hints.submit(hint) {
                        tracing::warn!(%error, "hints from before the start wait for their time");
                        break;
                    }
                }
                board::Result::Ok(())
            })
            .await?;
        Ok(())
    }

    /// Ends a job; one that runs here is told at once.
    pub async fn cancel(&self, key: &JobKey, by: Canceller<'_>) -> board::Result<JobView> {
        let job = self.board.job_cancel(key, by).await?;
        if job.status == JobStatus::Running {
            self.running.stop(job.id, Stop::Canceled);
        }
        Ok(job)
    }
}
