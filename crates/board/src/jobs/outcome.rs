//! What is asked and answered about jobs, whether alone or together with others in [`super::line`].

use domain::job::intake::Intake;
use domain::job::{Job, JobId};

/// A job that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Its number.
    pub job_id: JobId,
    /// What the user is told.
    pub correlation_id: String,
    /// The message had a job already; this is it.
    pub duplicate: bool,
}

/// A message that is to become a job.
#[derive(Debug, Clone)]
pub(super) struct New {
    pub(super) intake: Intake,
    /// Whether a place for the hint was had.
    pub(super) hint: Result<(), String>,
    /// The job that is done again as this one.
    pub(super) retry_of: Option<JobId>,
}

/// Jobs that a worker took together.
#[derive(Debug)]
pub(super) struct Claimed(pub(super) Vec<Job>);

/// Whether a report was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Held {
    /// It is written.
    Yes,
    /// The lease is lost: nothing was written, and nothing more is to be done.
    Lost,
}
