//! AI jobs: every operation on them, each in one transaction.
//!
//! | Module | Holds |
//! |---|---|
//! | [`intake`] | a message becomes a job, once |
//! | [`line`] | those who enqueue, take or complete at once share a transaction |
//! | [`claim`] | taking, holding and losing a job |
//! | [`run`] | what a run reports: generated, delivered, failed, snoozed |
//! | [`cancel`] | ending a job, or having it done again, by a person |
//! | [`sweep`] | lost runs, repeated hints, retention |
//! | [`notices`] | telling the user that a job was given up |
//! | [`effects`] | the ledger of tools |
//! | [`consent`] | consent to what was previewed |
//! | [`talk`] | a conversation: messages with their answers |
//! | [`views`] | what pages and API read |
//! | [`transition`] | the only writer of a job's status |
//!
//! What a run reports names the run's lease. When the lease is lost, the report is [`Held::Lost`]: nothing was written, and the
//! run stops without a further effect.

mod cancel;
mod claim;
mod consent;
mod effects;
mod intake;
mod line;
mod notices;
mod outcome;
mod run;
mod sweep;
mod talk;
mod transition;
mod views;

pub use cancel::Canceller;
pub use claim::{Claim, Renewal};
pub(crate) use line::Line;
pub use notices::Notice;
pub use outcome::{Accepted, Held};
pub use run::Failed;
pub use talk::TalkPart;
pub use views::{JobQuery, Viewer};
