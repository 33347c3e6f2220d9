//! How an answer reaches its user: where to, in which pieces, and what is known of each piece.

use super::id::JobId;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

words! {
    /// Ways to a user.
    TargetKind("type") {
        /// A direct message on Discord.
        DiscordDm = "discord_dm",
        /// A signed request to an address in the settings.
        Webhook = "webhook",
        /// The conversation on the board's own page.
        InApp = "in_app",
    }
}

/// Where the answer goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The way.
    #[serde(rename = "type")]
    pub kind: TargetKind,
    /// The user on that platform.
    pub user_id: String,
    /// Which gateway the message came by.
    pub source: String,
}

words! {
    /// What a piece is part of.
    DeliveryKind("kind") {
        /// The answer.
        Answer = "answer",
        /// The notice that the job was given up.
        FailureNotice = "failure_notice",
    }
}

words! {
    /// What is known of a piece.
    ChunkState("state") {
        /// Not sent, or sent and not known to have arrived: it is sent with the same nonce.
        Waiting = "waiting",
        /// The platform has it.
        Delivered = "delivered",
        /// It never will arrive.
        Abandoned = "abandoned",
    }
}

/// One piece of a message to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Of which job.
    pub job_id: JobId,
    /// Part of what.
    pub kind: DeliveryKind,
    /// Its place, from 0.
    pub chunk_no: i64,
    /// Its text.
    pub body: String,
    /// SHA-256 of the text.
    pub body_hash: String,
    /// What the platform tells a repeat by; the same for every try. At most 25 characters.
    pub nonce: String,
    /// What is known of it.
    pub state: ChunkState,
    /// How often it was tried.
    pub attempts: i64,
    /// The platform's id of it.
    pub platform_message_id: Option<String>,
    /// Not before this time.
    pub next_try_at: Timestamp,
}
