//! Runs: what outside clients ask for, wait for and read.
//!
//! | Module | For |
//! |---|---|
//! | [`start`] | a new run, or words for one that waits |
//! | [`read`] | snapshots and lists |
//! | [`operator`] | what operators read of the runs of all clients |
//! | [`finish`] | the end of a run, in the transaction that brings it about, and a cancel |
//!
//! A run is its client's: for every other token it does not exist; operators may read and stop all. Waiting is the server's part: the board says what a run is at
//! one moment, and events say when to look again.

mod finish;
mod operator;
mod read;
mod start;

pub use operator::RunQuery;
pub use read::{RunKey, RunList};
pub use start::Started;

use crate::{Actor, Board, BoardError, Result};
use domain::error::Refusal;
use domain::ids::{RunId, SessionId, TokenId};
use domain::run::ask::RunTarget;
use domain::run::refuse::RunRefusal;
use store::runs::Stored;
use store::{Snapshot, StoreError};

/// The result of an operation on runs.
pub type RunResult<T> = std::result::Result<T, RunError>;

/// Why an operation on a run did not happen: an answer in the contract's terms, or one in the board's.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// In the contract's terms.
    #[error("{}", .0.message)]
    Refused(Box<RunRefusal>),
    /// The board's own.
    #[error(transparent)]
    Board(#[from] BoardError),
}

impl From<RunRefusal> for RunError {
    fn from(refusal: RunRefusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Refusal> for RunError {
    fn from(refusal: Refusal) -> Self {
        Self::Board(refusal.into())
    }
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Board(error.into())
    }
}

/// Whose runs an actor may know of.
fn principal(actor: &Actor) -> RunResult<TokenId> {
    match actor {
        Actor::External { token } => Ok(*token),
        Actor::Operator | Actor::Agent { .. } | Actor::System => {
            Err(RunRefusal::forbidden().into())
        }
    }
}

/// The run that whoever calls means: a client one of its own, the operator any by its id.
async fn addressed(db: &mut Snapshot, actor: &Actor, target: &RunTarget) -> RunResult<Stored> {
    if *actor != Actor::Operator {
        return resolve(db, principal(actor)?, target).await;
    }
    let id = target.id()?.and_then(|id| id.trim().parse::<RunId>().ok());
    let found = match id {
        Some(id) => store::runs::of_id(db, id).await?,
        None => None,
    };
    found.ok_or_else(|| RunRefusal::no_run(None).into())
}

/// The run that a call means. One that is named and unknown is not replaced by the latest of its thread: its caller would read
/// somebody else's result as its own.
async fn resolve(db: &mut Snapshot, token: TokenId, target: &RunTarget) -> RunResult<Stored> {
    let named = target.id()?;
    if let Some(id) = named
        && let Ok(id) = id.trim().parse::<RunId>()
        && let Some(found) = store::runs::find(db, token, id).await?
    {
        return Ok(found);
    }
    let latest = match &target.session_key {
        Some(key) => thread(db, token, key).await?,
        None => None,
    };
    match (named, latest) {
        (None, Some(latest)) => Ok(latest),
        (_, latest) => Err(RunRefusal::no_run(latest.map(|(run, _)| run.id)).into()),
    }
}

/// The latest run of a thread of this client.
async fn thread(db: &mut Snapshot, token: TokenId, key: &str) -> RunResult<Option<Stored>> {
    match key.trim().parse::<SessionId>() {
        Ok(session) => Ok(store::runs::latest_of_thread(db, token, session).await?),
        Err(_) => Ok(None),
    }
}

impl Board {
    /// Gives up runs that wait for somebody who does not come, forgets those that ended long ago, and the words of others sooner;
    /// answers how many were given up or forgotten.
    pub async fn runs_tidy(&self) -> Result<u64> {
        let mut work = self.begin().await?;
        let kept = &self.settings.runs;
        let expired = work
            .expire_runs(work.now.plus_millis(-kept.patience_ms))
            .await?;
        let words = work.now.plus_millis(-kept.words_kept_ms);
        let redacted = store::runs::redact(&mut work.tx, words).await?;
        let before = work.now.plus_millis(-kept.kept_ms);
        let forgotten = store::runs::forget(&mut work.tx, before).await?;
        if expired + redacted + forgotten > 0 {
            work.commit().await?;
        }
        Ok(expired + forgotten)
    }
}
