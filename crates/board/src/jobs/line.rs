//! Whoever enqueues, takes or completes jobs stands in line, and those who stand there together are served in one transaction,
//! with one statement for what they have in common.
//!
//! A durable commit costs a flush of the disk and each statement a way to the database and back, whether it is about one job or
//! fifty. Nobody waits for others to come: who finds the line empty is served at once, and a crowd forms only behind a
//! transaction that is under way. Everybody is told after the commit. When a transaction fails, each of those in it is served once
//! more alone, so that nobody fails for another's sake.

use super::outcome::{Accepted, Claimed, Held, New};
use crate::transition::Work;
use crate::{Board, BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use domain::job::{Delivery, Job};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::StoreError;
use tokio::sync::oneshot;

/// Served in one transaction at most, so that the first does not wait long for the last.
const TOGETHER: usize = 256;
/// Tries to take jobs when other nodes take some of the same users at the same moment.
const TRIES: usize = 5;

/// What somebody wants of the line.
#[derive(Debug)]
pub(super) enum Ask {
    /// A message is to become a job.
    Enqueue(Box<New>),
    /// A worker has free slots.
    Claim { worker: String, limit: i64 },
    /// A run has come to its end, with the arrival of this last piece if it had any.
    Complete {
        job: Box<Job>,
        arrived: Option<(Delivery, String)>,
    },
}

/// What it got; of the same kind as what was asked.
#[derive(Debug)]
pub(super) enum Got {
    Enqueued(Accepted),
    Claimed(Vec<Job>),
    Ended(Held),
}

/// Those who wait, and how many transactions are under way for them.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    asks: Vec<Place>,
    serving: usize,
}

#[derive(Debug)]
struct Place {
    ask: Ask,
    reply: oneshot::Sender<Result<Got>>,
}

impl Line {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds somebody, and says whether a transaction is to be begun for them.
    fn join(&self, place: Place, most: usize) -> bool {
        let mut waiting = self.waiting();
        waiting.asks.push(place);
        let begin = waiting.serving < most;
        if begin {
            waiting.serving += 1;
        }
        begin
    }

    /// Those who are served next; empty when nobody waits, and then the caller serves no longer.
    fn next(&self) -> Vec<Place> {
        let mut waiting = self.waiting();
        let together = waiting.asks.len().min(TOGETHER);
        if together == 0 {
            waiting.serving -= 1;
        }
        waiting.asks.drain(..together).collect()
    }
}

/// Serving that ends by a fault of ours must not leave those who come later without anybody.
struct Serving(Arc<Line>);

impl Drop for Serving {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.waiting().serving -= 1;
        }
    }
}

impl Board {
    /// Stands in line. What was asked is done also when the caller does not wait for it.
    pub(super) async fn ask(&self, ask: Ask) -> Result<Got> {
        let (reply, answer) = oneshot::channel();
        // On Postgres a second transaction works while the first one's commit is on its way to the disk.
        let most = if self.is_shared() { 2 } else { 1 };
        if self.line.join(Place { ask, reply }, most) {
            let board = self.clone();
            tokio::spawn(async move {
                let serving = Serving(board.line.clone());
                loop {
                    let places = serving.0.next();
                    if places.is_empty() {
                        return;
                    }
                    board.serve(places).await;
                }
            });
        }
        answer.await.unwrap_or_else(|_closed| {
            Err(Refusal::new(
                ErrorCode::Unavailable,
                "the server stops, or failed at this: look whether it was done, and try again",
            )
            .into())
        })
    }

    async fn serve(&self, places: Vec<Place>) {
        let (asks, replies): (Vec<Ask>, Vec<_>) = places
            .into_iter()
            .map(|place| (place.ask, place.reply))
            .unzip();
        match self.together(&asks).await {
            Ok(gots) => {
                for (reply, got) in replies.into_iter().zip(gots) {
                    // Whoever does not wait any more has it all the same.
                    let _ = reply.send(Ok(got));
                }
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    asked = asks.len(),
                    "a shared transaction failed: each is tried alone"
                );
                for (reply, ask) in replies.into_iter().zip(&asks) {
                    let _ = reply.send(self.alone(ask).await);
                }
            }
        }
    }

    async fn alone(&self, ask: &Ask) -> Result<Got> {
        for tried in 1..=TRIES {
            match self.together(std::slice::from_ref(ask)).await {
                // Another node took another job of the same user between our look and our claim: look again.
                Err(BoardError::Store(StoreError::Unique(_)))
                    if matches!(ask, Ask::Claim { .. }) => {}
                // Two nodes took jobs of the same two users, each in its own order.
                Err(BoardError::Store(StoreError::Raced(_)))
                    if matches!(ask, Ask::Claim { .. }) || tried < TRIES => {}
                outcome => return Ok(outcome?.remove(0)),
            }
        }
        Ok(Got::Claimed(Vec::new()))
    }

    /// One transaction for all: ends first, since they free users, then what is new, then claims.
    async fn together(&self, asks: &[Ask]) -> Result<Vec<Got>> {
        // A claim that is lost with the machine leaves a job that waits, as it did: its run can have done nothing that lasts, since
        // what a run does is durable only together with the claim before it.
        let only_claims = asks.iter().all(|ask| matches!(ask, Ask::Claim { .. }));
        let mut work = if only_claims {
            self.begin_rows_lightly().await?
        } else {
            self.begin_rows().await?
        };
        let (mut ends, mut arrivals, mut news) = (Vec::new(), Vec::new(), Vec::new());
        for ask in asks {
            match ask {
                Ask::Enqueue(new) => news.push((**new).clone()),
                Ask::Complete { job, arrived } => {
                    ends.push(&**job);
                    arrivals.extend(arrived.as_ref());
                }
                Ask::Claim { .. } => {}
            }
        }
        let ended = work.complete_each(&ends).await?;
        let mut held = ended.iter();
        work.arrived_all(&arrivals).await?;
        let mut accepted = work.enqueue_all(news).await?.into_iter();
        let mut gots = Vec::with_capacity(asks.len());
        for ask in asks {
            gots.push(match ask {
                Ask::Enqueue(_) => Got::Enqueued(accepted.next().ok_or_else(lost)?),
                Ask::Complete { .. } => Got::Ended(match held.next() {
                    Some(true) => Held::Yes,
                    Some(false) | None => Held::Lost,
                }),
                Ask::Claim { worker, limit } => {
                    let Claimed(jobs) = work.claim_next(worker, *limit).await?;
                    Got::Claimed(jobs)
                }
            });
        }
        work.commit().await?;
        for (job, _) in ends.iter().zip(&ended).filter(|(_, held)| **held) {
            self.job_counts.completed(job, self.clock.now());
        }
        for got in &gots {
            if let Got::Claimed(jobs) = got {
                for job in jobs {
                    self.job_counts.claimed(job);
                }
            }
        }
        Ok(gots)
    }
}

impl Work {
    /// Completes runs and says of each whether its lease held. Of runs of the same job, which only one can hold, one at a time.
    async fn complete_each(&mut self, runs: &[&Job]) -> Result<Vec<bool>> {
        let mut ended = vec![false; runs.len()];
        let mut left: Vec<usize> = (0..runs.len()).collect();
        while !left.is_empty() {
            let mut seen = HashSet::new();
            let (now, later): (Vec<usize>, Vec<usize>) = left
                .into_iter()
                .partition(|place| seen.insert(runs[*place].id));
            let jobs: Vec<&Job> = now.iter().map(|place| runs[*place]).collect();
            let held = self.complete_all(&jobs).await?;
            for place in now {
                ended[place] = held.contains(&runs[place].id);
            }
            left = later;
        }
        Ok(ended)
    }
}

/// An answer that is missing, or of another kind than what was asked: a fault of ours.
pub(super) fn lost() -> BoardError {
    Refusal::new(
        ErrorCode::Internal,
        "the answer of a transaction was lost: look whether it was done, and try again",
    )
    .into()
}
