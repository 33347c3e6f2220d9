//! The conversation in the app. The page shows the pieces that are recorded, so what is left to do is to record them: a piece is
//! delivered by being noted as such, in the executor's own transaction, and every listener hears of it.

/// The adapter.
#[derive(Debug, Clone, Copy, Default)]
pub struct InApp;

impl InApp {
    /// The id of a piece: its nonce, which no other piece has.
    #[must_use]
    pub fn id_of(nonce: &str) -> String {
        format!("in_app-{nonce}")
    }
}
