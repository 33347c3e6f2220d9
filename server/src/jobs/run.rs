//! One run of one job: generate, deliver, complete.
//!
//! A heartbeat renews the lease and sets the run's token when it is lost or the owner does not want the answer any more. Before
//! each thing that leaves, the lease is looked at once more. Whoever finds it lost says so on the timeline and does nothing else.

use super::Jobs;
use super::stop::{Stop, Stopper};
use board::{Held, Renewal};
use domain::job::retry::RetryDecision;
use domain::job::view::Executed;
use domain::job::{Answer, ErrorClass, Failure, Job, Phase};
use futures::FutureExt;
use rand::RngExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a generator that was told to stop may take to return.
const GRACE: Duration = Duration::from_secs(2);

/// How a run ended before it was over.
enum End {
    /// It failed.
    Failed(Failure, Option<i64>),
    /// It was stopped.
    Stopped(Stop),
    /// The database did not take a report.
    Storage(board::BoardError),
}

impl From<board::BoardError> for End {
    fn from(error: board::BoardError) -> Self {
        Self::Storage(error)
    }
}

impl Jobs {
    /// Runs a job that was claimed, to whatever end.
    pub(super) async fn run(&self, job: Job) -> Executed {
        let stopper = self.running.enter(job.id);
        let beat = tokio::spawn(heartbeat(self.clone(), job.clone(), stopper.clone()));
        let id = job.id;
        let executed = Box::pin(self.phases(job, &stopper)).await;
        beat.abort();
        self.running.leave(id, &stopper);
        executed
    }

    async fn phases(&self, mut job: Job, stopper: &Stopper) -> Executed {
        let end = match self.generate_and_deliver(&mut job, stopper).await {
            Ok(()) => return Executed::ended("completed", job.id, None),
            Err(end) => end,
        };
        let ended = match end {
            End::Failed(failure, chunk) => self.failed(&job, &failure, chunk).await,
            End::Stopped(stop) => self.stopped(&job, stop).await,
            End::Storage(error) => Err(error),
        };
        ended.unwrap_or_else(|error| {
            // The lease runs out, and the run is taken back.
            tracing::error!(error = &error as &dyn std::error::Error, job = %job.id, "a job's run was not stored");
            Executed::skipped("the run's end could not be stored; the job is taken back when its lease is over")
        })
    }

    async fn generate_and_deliver(&self, job: &mut Job, stopper: &Stopper) -> Result<(), End> {
        let limit = Duration::from_secs(job.timeout_seconds.unsigned_abs());
        let limit = limit.min(self.settings.longest_run);
        let end = Instant::now() + limit;
        if job.phase == Phase::Generate {
            self.admitted(job)?;
            let answer = self.generate(job, stopper, end).await?;
            stopper.check().map_err(End::Stopped)?;
            held(self.board.job_generated(job, answer).await?)?;
        }
        // What was on its way when the time was over is sent again with the same nonce.
        match tokio::time::timeout_at(end, self.deliver(job, stopper)).await {
            Ok(delivered) => delivered,
            Err(_) => Err(End::Failed(
                Failure::new(
                    ErrorClass::DeliveryTransient,
                    format!("the answer was not delivered when the run had taken {limit:?}"),
                ),
                None,
            )),
        }
    }

    /// Waiting is no failure: it is said by the snooze.
    fn admitted(&self, job: &Job) -> Result<(), End> {
        if job.attempt_count <= 1
            && let Err(wait) = self.limits.take(&job.user_id, Instant::now())
        {
            return Err(End::Stopped(Stop::Snooze("its user has asked a lot", wait)));
        }
        self.limits
            .admit(&chain(job), Instant::now())
            .map_err(|wait| {
                End::Stopped(Stop::Snooze(
                    "the provider does not answer at present",
                    wait,
                ))
            })
    }

    async fn generate(&self, job: &Job, stopper: &Stopper, end: Instant) -> Result<Answer, End> {
        let cancel = CancellationToken::new();
        let begun = Instant::now();
        let mut answer =
            AssertUnwindSafe(self.seams.generate.answer(job, cancel.clone())).catch_unwind();
        let stop = tokio::select! {
            biased;
            answer = &mut answer => return self.judged(job, answer.unwrap_or_else(|_panic| {
                Err(Failure::new(ErrorClass::Unknown, "the answer could not be made because of a fault of ours"))
            })),
            stop = stopper.stopped() => Some(stop),
            () = tokio::time::sleep_until(end) => None,
        };
        cancel.cancel();
        // What it says now comes too late; it may only finish what it has begun.
        if stop != Some(Stop::Lost) {
            let _ = tokio::time::timeout(GRACE, &mut answer).await;
        }
        Err(match stop {
            Some(stop) => End::Stopped(stop),
            None => {
                self.limits.failed(&chain(job), Instant::now());
                End::Failed(
                    Failure::new(
                        ErrorClass::TransientTransport,
                        format!(
                            "the answer was not there after {} seconds",
                            end.duration_since(begun).as_secs()
                        ),
                    ),
                    None,
                )
            }
        })
    }

    fn judged(&self, job: &Job, answer: Result<Answer, Failure>) -> Result<Answer, End> {
        match answer {
            Ok(answer) if answer.text.trim().is_empty() => Err(End::Failed(
                Failure::new(ErrorClass::Unknown, "the model gave an empty answer"),
                None,
            )),
            Ok(answer) => {
                self.limits.succeeded(&chain(job));
                Ok(answer)
            }
            Err(failure) => {
                if failure.class == ErrorClass::TransientTransport {
                    self.limits.failed(&chain(job), Instant::now());
                }
                Err(End::Failed(failure, None))
            }
        }
    }

    async fn deliver(&self, job: &Job, stopper: &Stopper) -> Result<(), End> {
        let pieces = self.board.job_pieces(job).await?;
        if pieces.is_empty() {
            return held(self.board.job_complete(job).await?);
        }
        self.may_send(job, stopper).await?;
        let channel = self
            .seams
            .deliver
            .open(&job.target)
            .await
            .map_err(|failure| End::Failed(failure, None))?;
        let count = pieces.len();
        for (n, piece) in pieces.iter().enumerate() {
            self.may_send(job, stopper).await?;
            let id = self
                .seams
                .deliver
                .send(&channel, piece)
                .await
                .map_err(|failure| End::Failed(failure, Some(piece.chunk_no)))?;
            held(
                self.board
                    .job_piece_delivered(job, piece, &id, n + 1 == count)
                    .await?,
            )?;
        }
        Ok(())
    }

    /// The last look before something leaves: in memory, then in the row.
    async fn may_send(&self, job: &Job, stopper: &Stopper) -> Result<(), End> {
        stopper.check().map_err(End::Stopped)?;
        match self.board.job_check(job).await? {
            Renewal::Held => Ok(()),
            Renewal::Cancel => Err(End::Stopped(Stop::Canceled)),
            Renewal::Lost => Err(End::Stopped(Stop::Lost)),
        }
    }

    async fn failed(
        &self,
        job: &Job,
        failure: &Failure,
        chunk: Option<i64>,
    ) -> board::Result<Executed> {
        let jitter = rand::rng().random_range(-1.0..=1.0);
        let bounded = self.board.job_retry_decision(job, failure, jitter);
        let decision = self.assessed(job, failure, bounded).await;
        if decision.retry
            && job.phase == Phase::Generate
            && wants_runner(job, &decision)
            && let Some(executed) = self.fall_back(job, &decision).await?
        {
            return Ok(executed);
        }
        let failed = self.board.job_failed(job, failure, decision, chunk).await?;
        if failed.held == Held::Lost {
            return self.lost(job).await;
        }
        let status = if failed.decision.retry {
            "retry_scheduled"
        } else {
            "failed_terminal"
        };
        Ok(Executed::ended(status, job.id, Some(failed.decision)))
    }

    /// In the mode `llm` somebody may choose within the rule's bounds; whatever goes wrong with that, the rule stands.
    async fn assessed(
        &self,
        job: &Job,
        failure: &Failure,
        bounded: RetryDecision,
    ) -> RetryDecision {
        let Some(assess) = self.seams.assess.as_ref().filter(|_| {
            bounded.retry && self.settings.assessor == domain::job::retry::AssessorMode::Llm
        }) else {
            return bounded;
        };
        let asked = assess.propose(job, failure, &bounded);
        match tokio::time::timeout(GRACE * 5, asked).await {
            Ok(Ok(proposal)) => {
                domain::job::retry::constrain(&bounded, failure.retry_after_ms, proposal)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, job = %job.id, "the assessor failed; the rule decides");
                bounded
            }
            Err(_) => {
                tracing::warn!(job = %job.id, "the assessor took too long; the rule decides");
                bounded
            }
        }
    }

    /// The owner's own machine takes the job, or the usual retry follows.
    async fn fall_back(
        &self,
        job: &Job,
        decision: &RetryDecision,
    ) -> board::Result<Option<Executed>> {
        let Some(runner) = &self.seams.runner else {
            return Ok(None);
        };
        match runner.fall_back(job).await {
            Ok((name, runner_job)) => {
                let held = self
                    .board
                    .job_handed_to_runner(job, &name, &runner_job, decision)
                    .await?;
                if held == Held::Lost {
                    return self.lost(job).await.map(Some);
                }
                let mut executed = Executed::ended("completed", job.id, Some(decision.clone()));
                executed.runner_fallback = true;
                executed.runner_job_id = Some(runner_job);
                Ok(Some(executed))
            }
            Err(failure) => {
                let _: Held = self.board.job_runner_failed(job, &failure.message).await?;
                Ok(None)
            }
        }
    }

    async fn stopped(&self, job: &Job, stop: Stop) -> board::Result<Executed> {
        let (held, status) = match stop {
            Stop::Lost => return self.lost(job).await,
            Stop::Canceled => (self.board.job_canceled(job).await?, "canceled"),
            Stop::Shutdown => (self.board.job_release(job).await?, "snoozed"),
            Stop::Snooze(why, wait) => {
                let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                let until = self
                    .board
                    .clock()
                    .now()
                    .plus_millis(millis.saturating_add(1));
                (self.board.job_snooze(job, until, why).await?, "snoozed")
            }
        };
        if held == Held::Lost {
            return self.lost(job).await;
        }
        Ok(Executed::ended(status, job.id, None))
    }

    async fn lost(&self, job: &Job) -> board::Result<Executed> {
        tracing::warn!(job = %job.id, "a run lost its job and stopped");
        self.board.job_claim_lost(job).await?;
        Ok(Executed::skipped("this run lost the job to another one"))
    }
}

fn held(held: Held) -> Result<(), End> {
    match held {
        Held::Yes => Ok(()),
        Held::Lost => Err(End::Stopped(Stop::Lost)),
    }
}

/// What a breaker is known by: the providers of the job, or the usual ones.
fn chain(job: &Job) -> String {
    job.provider_chain.join(",")
}

fn wants_runner(job: &Job, decision: &RetryDecision) -> bool {
    job.provider_chain.iter().any(|name| name == "runner")
        || decision
            .provider_switch_hint
            .as_ref()
            .is_some_and(|hint| hint.to == "runner")
}

/// Keeps the lease alive, and stops the run when that fails. Ends with the run.
async fn heartbeat(jobs: Jobs, job: Job, stopper: Stopper) {
    let lease = Duration::from_millis(jobs.board.settings().jobs.lease_ms.unsigned_abs());
    let mut held_since = Instant::now();
    loop {
        tokio::time::sleep(lease / 3).await;
        let asked = Instant::now();
        match jobs.board.job_renew(&job).await {
            Ok(Renewal::Held) => held_since = asked,
            Ok(Renewal::Cancel) => {
                held_since = asked;
                stopper.stop(Stop::Canceled);
            }
            Ok(Renewal::Lost) => return stopper.stop(Stop::Lost),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, job = %job.id, "a lease was not renewed");
                // Somebody else may have it by now, and cannot be asked.
                if held_since.elapsed() >= lease {
                    return stopper.stop(Stop::Lost);
                }
            }
        }
    }
}
