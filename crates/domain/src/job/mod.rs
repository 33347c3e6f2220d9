//! AI jobs: a message that became a durable piece of work, and the rules for what may become of it.
//!
//! The row is the truth and every hint about it may be lost, doubled or late; so each rule here is total: it says for every
//! status what a command does, and a command that comes too late is a refusal that changes nothing.
//!
//! | Module | Holds |
//! |---|---|
//! | [`status`] | the machine |
//! | [`event`] | the words of the timeline |
//! | [`row`] | the job as stored |
//! | [`intake`] | what a gateway hands in, its clamps, correlation ids |
//! | [`failure`], [`retry`] | what went wrong, and whether it is tried again |
//! | [`requeue`] | how often and how long a hint is repeated |
//! | [`answer`], [`delivery`], [`chunk`] | what was generated and how it reaches the user |
//! | [`effects`] | the ledger of tools, and consent to a preview |
//! | [`reply`] | what the user is told, without what must not leave |
//! | [`view`] | the wire |

pub mod answer;
pub mod chunk;
pub mod delivery;
pub mod effects;
pub mod event;
pub mod failure;
pub mod id;
pub mod intake;
pub mod reply;
pub mod requeue;
pub mod retry;
pub mod row;
pub mod status;
pub mod view;

pub use answer::{Answer, PendingConfirmation, Usage};
pub use delivery::{ChunkState, Delivery, DeliveryKind, Target, TargetKind};
pub use event::{JobEvent, JobEventType, NewJobEvent};
pub use failure::{ErrorClass, Failure};
pub use id::JobId;
pub use intake::{CorrelationId, JobKey};
pub use row::{HistoryTurn, Job, Phase};
pub use status::{JobCommand, JobStatus};
