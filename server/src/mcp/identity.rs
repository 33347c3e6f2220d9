//! Who calls, as a verified credential says.

use board::Actor;
use tokio_util::sync::CancellationToken;

/// What a call finds in its request's extensions.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// Who calls.
    pub(super) actor: Actor,
    /// Cancelled when the client is cut off before it has the answer.
    pub(super) gone: CancellationToken,
}
