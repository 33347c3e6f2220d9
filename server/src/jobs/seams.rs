//! The two seams of the executor. It alone knows leases, attempts and timelines; whoever stands behind a seam knows one model
//! loop, or one platform, and says in a [`Failure`] what kind of failure it met.

use domain::job::{Answer, Delivery, Failure, Job, Target};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// Makes the answer to a job's message.
pub trait Generate: Send + Sync + 'static {
    /// Runs the model and its tools. When `cancel` is set, the lease is lost, the time is over or the owner does not want the
    /// answer any more: begin nothing new, and return soon. Tools that act go through the job's ledger of tool calls.
    fn answer<'a>(
        &'a self,
        job: &'a Job,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Failure>>;
}

/// Where pieces are sent, once it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Whom it leads to.
    pub target: Target,
    /// What the platform calls it.
    pub address: String,
}

/// Brings pieces of text to a user.
pub trait Deliver: Send + Sync + 'static {
    /// Opens the way to the user, or finds the one that is open. Safe to repeat.
    fn open<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Channel, Failure>>;

    /// Sends one piece and gives the platform's id of it. A repeat carries the same nonce and must not show a second time where
    /// the platform can tell. Failures are of a class `delivery_*`; pings of people and groups are off.
    fn send<'a>(
        &'a self,
        channel: &'a Channel,
        piece: &'a Delivery,
    ) -> BoxFuture<'a, Result<String, Failure>>;
}
