//! One commit for all writers that wait: group commit on SQLite (rulings 42).
//!
//! A commit with `synchronous=full` costs a flush of the disk, and SQLite has one writer. So a writer that is done does not
//! commit at once: it goes to the end of the queue of writers. Whoever stood there before it joins the same transaction, each
//! behind a savepoint of its own; the first that gets its turn again commits for all, and only then is anybody told that its
//! work is done. Without other writers the queue is empty and the commit follows at once.
//!
//! A writer that gives up takes back its own part only. When the transaction itself is lost (a full disk may end it), all who
//! share it learn that nothing was kept.
//!
//! Within the transaction a writer sees what those before it wrote and what is not durable yet. One that only looks, and answers
//! without a commit of its own, must not answer before: [`Writers::settled`].

use crate::{Result, StoreError};
use sqlx::{Any, AnyConnection, AnyPool, Executor, Transaction};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use tokio::sync::{Mutex, OwnedMutexGuard, SetOnce};

/// Writers that share a commit at most, so that the first of them does not wait for a crowd.
const MEMBERS: usize = 32;

/// The writing side of a SQLite database.
#[derive(Debug, Clone)]
pub(crate) struct Writers {
    pool: AnyPool,
    batch: Arc<Mutex<Batch>>,
    pending: Pending,
}

/// The outcome of a transaction in which finished work is not durable yet.
type Pending = Arc<StdMutex<Option<Outcome>>>;

/// The transaction that writers share, and what will become of it.
#[derive(Debug, Default)]
struct Batch {
    tx: Option<Transaction<'static, Any>>,
    members: usize,
    outcome: Outcome,
    pending: Pending,
}

type Outcome = Arc<SetOnce<std::result::Result<(), Failure>>>;

/// Why a shared transaction was not kept; told to everybody in it.
#[derive(Debug, Clone)]
struct Failure {
    full: bool,
    text: String,
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let text = error.to_string();
        Self {
            full: matches!(StoreError::from(error), StoreError::Full(_)),
            text,
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        let source = sqlx::Error::Protocol(failure.text);
        if failure.full {
            Self::Full(source)
        } else {
            Self::Unavailable(source)
        }
    }
}

/// A writer's turn: the connection, for as long as it holds this.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Taken when the turn is over.
    batch: Option<OwnedMutexGuard<Batch>>,
    writers: Writers,
    /// Somebody else's work is in the transaction already.
    joined: bool,
}

impl Writers {
    /// `pool` has one connection.
    pub(crate) fn new(pool: AnyPool) -> Self {
        let batch = Batch::default();
        Self {
            pool,
            pending: batch.pending.clone(),
            batch: Arc::new(Mutex::new(batch)),
        }
    }

    /// Waits until all work that was finished before this call is durable. At once when there is none.
    pub(crate) async fn settled(&self) -> Result<()> {
        let pending = self.pending().clone();
        match pending {
            Some(outcome) => Ok(outcome.wait().await.clone()?),
            None => Ok(()),
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Option<Outcome>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn and begins, or joins, a transaction.
    pub(crate) async fn begin(&self) -> Result<Turn> {
        let mut batch = self.batch.clone().lock_owned().await;
        let joined = batch.tx.is_some();
        match &mut batch.tx {
            Some(tx) => {
                if let Err(error) = tx.execute("savepoint member").await {
                    let failure = batch.lose(error.into());
                    return Err(failure.into());
                }
            }
            None => batch.tx = Some(self.pool.begin_with("begin immediate").await?),
        }
        batch.members += 1;
        Ok(Turn {
            batch: Some(batch),
            writers: self.clone(),
            joined,
        })
    }

    /// Closes the pool. Nobody may be writing.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

impl Turn {
    /// The connection.
    #[expect(
        clippy::expect_used,
        reason = "both are there from `begin` on and are taken only by `commit` and `drop`, after which nobody has the turn"
    )]
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        let batch = self.batch.as_mut().expect("a turn that is not over");
        batch
            .tx
            .as_mut()
            .expect("a transaction, since there is a turn")
    }

    /// Makes what was written durable, together with what others wrote meanwhile.
    pub(crate) async fn commit(mut self) -> Result<()> {
        let Some(mut batch) = self.batch.take() else {
            return Ok(());
        };
        if self.joined
            && let Some(tx) = &mut batch.tx
            && let Err(error) = tx.execute("release member").await
        {
            return Err(batch.lose(error.into()).into());
        }
        let writers = self.writers.batch.clone();
        // In a task of its own: others may depend on it, so it must go on when our caller does not.
        let committed = tokio::spawn(async move {
            if batch.members >= MEMBERS {
                return batch.commit().await;
            }
            let outcome = batch.outcome.clone();
            batch.set_pending(Some(outcome.clone()));
            // Everybody who waits now joins before we come to our turn again.
            drop(batch);
            tokio::select! {
                biased;
                outcome = outcome.wait() => outcome.clone(),
                mut batch = writers.lock_owned() => match outcome.get() {
                    Some(outcome) => outcome.clone(),
                    None => batch.commit().await,
                },
            }
        });
        match committed.await {
            Ok(outcome) => Ok(outcome?),
            // The runtime is ending; whether it was kept is not known.
            Err(_cancelled) => Err(StoreError::Unavailable(sqlx::Error::WorkerCrashed)),
        }
    }
}

impl Drop for Turn {
    /// Takes back what this writer did, and nobody else's work.
    fn drop(&mut self) {
        let Some(mut batch) = self.batch.take() else {
            return;
        };
        batch.members = batch.members.saturating_sub(1);
        if !self.joined {
            // Alone in it: the driver rolls back before it uses the connection again.
            batch.tx = None;
            return;
        }
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move {
                    let Some(tx) = &mut batch.tx else { return };
                    if let Err(error) = tx.execute("rollback to member; release member").await {
                        batch.lose(error.into());
                    }
                });
            }
            Err(_no_runtime) => {
                batch.lose(Failure {
                    full: false,
                    text: "the program is ending".to_owned(),
                });
            }
        }
    }
}

impl Batch {
    /// Commits for everybody in it and tells them.
    async fn commit(&mut self) -> std::result::Result<(), Failure> {
        let result = match self.tx.take() {
            Some(tx) => tx.commit().await.map_err(Failure::from),
            None => Ok(()),
        };
        self.end(result.clone());
        result
    }

    /// Gives the transaction up for everybody in it, and tells them.
    fn lose(&mut self, failure: Failure) -> Failure {
        self.tx = None;
        self.end(Err(failure.clone()));
        failure
    }

    fn set_pending(&self, outcome: Option<Outcome>) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }

    fn end(&mut self, result: std::result::Result<(), Failure>) {
        self.members = 0;
        self.set_pending(None);
        // Each outcome is set once: the next transaction gets another.
        let _ = std::mem::take(&mut self.outcome).set(result);
    }
}
