//! What pages do with AI jobs beyond the board: a node carries jobs out, knows which models it has, and has hands for what users agree
//! to. The server puts a [`Desk`] over its own into the context of every request; its API calls the same.

use super::assistant::Readiness;
use domain::job::JobKey;
use domain::job::view::{ConsentView, Enqueued, JobView};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Something that is being done.
pub type Doing<T> = Pin<Box<dyn Future<Output = board::Result<T>> + Send>>;

/// The deeds. All are the operator's.
pub trait Desk: Send + Sync + 'static {
    /// Whether the assistant can be talked to.
    fn readiness(&self) -> Readiness;
    /// Takes a message in. A repeat under the same key is the same job.
    fn say(&self, content: String, key: String) -> Doing<Enqueued>;
    /// Ends a job.
    fn cancel(&self, job: JobKey) -> Doing<JobView>;
    /// Has a job done again, as a new one.
    fn retry(&self, job: JobKey) -> Doing<Enqueued>;
    /// Carries out what a job previewed.
    fn confirm(&self, job: JobKey, confirmation: i64) -> Doing<ConsentView>;
}

/// The desk of this node.
#[derive(Clone)]
pub struct AnyDesk(pub Arc<dyn Desk>);

impl fmt::Debug for AnyDesk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyDesk")
    }
}
