//! How pieces of an answer reach a user: by a direct message on Discord, by a signed request, or in the app itself.
//!
//! Each adapter knows one platform: its limits, its ways to tell a repeat, and what its refusals mean. What was sent, what is to be
//! sent, and when, is the executor's to know. Every failure is typed: `delivery_permanent` when the platform will never take the
//! message, `delivery_transient` with the platform's advice when to come back, `config` when an operator has to mend something.

mod by_target;
mod discord;
mod in_app;
mod settings;
mod webhook;
mod wire;

pub use by_target::ByTarget;
pub use discord::Discord;
pub use in_app::InApp;
pub use settings::{DeliverySettings, DiscordSettings, WebhookSettings};
pub use webhook::{SIGNATURE_HEADER, TIMESTAMP_HEADER, Webhook, signature};

use domain::job::{ErrorClass, Failure};

/// Nothing is set up for this way.
fn not_set_up(what: &str, variables: &str) -> Failure {
    Failure::new(
        ErrorClass::Config,
        format!("{what} is not set up: set {variables} and start again"),
    )
}
