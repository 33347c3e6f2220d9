//! AI jobs: every operation on them, each in one transaction.
//!
//! | Module | Holds |
//! |---|---|
//! | [`intake`] | a message becomes a job, once |
//! | [`claim`] | taking, holding and losing a job |
//! | [`run`] | what a run reports: generated, delivered, failed, snoozed |
//! | [`cancel`] | ending a job, or having it done again, by a person |
//! | [`sweep`] | lost runs, repeated hints, retention |
//! | [`notices`] | telling the user that a job was given up |
//! | [`effects`] | the ledger of tools, and consent |
//! | [`views`] | what pages and API read |
//! | [`counts`] | numbers for metrics |
//! | [`transition`] | the only writer of a job's status |
//!
//! What a run reports names the run's lease. When the lease is lost, the report is [`Held::Lost`]: nothing was written, and the
//! run stops without a further effect.

mod cancel;
mod claim;
mod counts;
mod effects;
mod intake;
mod notices;
mod run;
mod sweep;
mod transition;
mod views;

pub use cancel::Canceller;
pub use claim::{Claim, Renewal};
pub use counts::{JobCounts, JobStats};
pub use intake::Accepted;
pub use notices::Notice;
pub use run::{Failed, Held};
pub use views::{JobQuery, Viewer};

pub(crate) use transition::Notes;

/// Limits of AI jobs that an installation may change.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// How long a lease holds without renewal, in milliseconds.
    pub lease_ms: i64,
    /// A job that waits this long moves up by one priority, in milliseconds.
    pub age_ms: i64,
    /// A job whose workers vanished this often is given up, attempts left or not.
    pub max_stale: i64,
    /// What users wrote and got is kept this long after a job's end, in milliseconds.
    pub text_kept_ms: i64,
    /// Completed and canceled jobs are kept this long, in milliseconds.
    pub completed_kept_ms: i64,
    /// Jobs that were given up are kept this long, in milliseconds.
    pub failed_kept_ms: i64,
}

impl Default for JobSettings {
    fn default() -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        Self {
            lease_ms: 60_000,
            age_ms: 5 * 60 * 1_000,
            max_stale: 5,
            text_kept_ms: 7 * DAY,
            completed_kept_ms: 14 * DAY,
            failed_kept_ms: 30 * DAY,
        }
    }
}
