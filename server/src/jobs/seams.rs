//! The seams of the executor. It alone knows leases, attempts and timelines; whoever stands behind a seam knows one model loop,
//! or one platform, and says in a [`Failure`] what kind of failure it met.

use domain::job::intake::Intake;
use domain::job::retry::{Proposal, RetryDecision};
use domain::job::{Answer, Delivery, ErrorClass, Failure, Job, Target};
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

/// A user's own machine, which has the first word on a message (ruling 38) and the last on a job that fails. Whether it may have
/// a job is judged by what the server knows of the owner, never by what a message says.
pub trait Runner: Send + Sync + 'static {
    /// Takes a message over before a job is made of it: what it calls its own job, or `None`.
    fn take<'a>(&'a self, intake: &'a Intake) -> BoxFuture<'a, Option<String>>;

    /// Takes a job whose run failed: the runner's name and what it calls its own job.
    fn fall_back<'a>(&'a self, job: &'a Job) -> BoxFuture<'a, Result<(String, String), Failure>>;
}

/// Chooses among what the rule allows (`domain::job::retry::constrain` holds it to that).
pub trait Assess: Send + Sync + 'static {
    /// What it would do. An error means that the rule's decision stands.
    fn propose<'a>(
        &'a self,
        job: &'a Job,
        failure: &'a Failure,
        bounded: &'a RetryDecision,
    ) -> BoxFuture<'a, Result<Proposal, Failure>>;
}

/// What stands behind the seams.
#[derive(Clone)]
pub struct Seams {
    /// The model loop.
    pub generate: std::sync::Arc<dyn Generate>,
    /// The platforms.
    pub deliver: std::sync::Arc<dyn Deliver>,
    /// Users' own machines; nobody's by default.
    pub runner: Option<std::sync::Arc<dyn Runner>>,
    /// Who chooses in the mode `llm`; the rule alone by default.
    pub assess: Option<std::sync::Arc<dyn Assess>>,
}

impl std::fmt::Debug for Seams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seams").finish_non_exhaustive()
    }
}

impl Default for Seams {
    fn default() -> Self {
        Self {
            generate: std::sync::Arc::new(Unconfigured),
            deliver: std::sync::Arc::new(Unconfigured),
            runner: None,
            assess: None,
        }
    }
}

/// Stands where nothing is configured, and says so.
#[derive(Debug, Clone, Copy)]
pub struct Unconfigured;

impl Generate for Unconfigured {
    fn answer<'a>(
        &'a self,
        _job: &'a Job,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(std::future::ready(Err(Failure::new(
            ErrorClass::Config,
            "no model provider is configured on this server",
        ))))
    }
}

impl Deliver for Unconfigured {
    fn open<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Channel, Failure>> {
        Box::pin(std::future::ready(Err(unknown_way(target))))
    }

    fn send<'a>(
        &'a self,
        channel: &'a Channel,
        _piece: &'a Delivery,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(std::future::ready(Err(unknown_way(&channel.target))))
    }
}

fn unknown_way(target: &Target) -> Failure {
    Failure::new(
        ErrorClass::Config,
        format!(
            "no delivery by {} is configured on this server",
            target.kind
        ),
    )
}
