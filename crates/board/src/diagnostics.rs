//! What an agent may know of the board as a whole, to find out why something of it went wrong.

use crate::transition::load_session;
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::session::SessionState;
use serde::Serialize;
use std::collections::BTreeMap;
use store::Engine;

/// How much there is, without saying what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Which database it is.
    pub database: &'static str,
    /// How the caller's own session stands.
    pub session_state: SessionState,
    /// Unarchived tasks by state.
    pub tasks: BTreeMap<String, i64>,
    /// Sessions by state.
    pub sessions: BTreeMap<String, i64>,
    /// Follow-ups that are due and not being carried out.
    pub follow_ups_due: i64,
}

impl Board {
    /// The facts, for an agent whose session is live.
    pub async fn diagnostics(&self, actor: &Actor) -> Result<Facts> {
        let (_, session) = actor.require_agent()?;
        let session = load_session(&mut self.snapshot().await?, session).await?;
        if session.state.is_terminal() {
            return Err(Refusal::unauthorized(
                "this session is over: its tools are no longer available",
            )
            .into());
        }
        let stats = self.stats().await?;
        Ok(Facts {
            database: match self.store.engine() {
                Engine::Sqlite => "sqlite",
                Engine::Postgres => "postgres",
            },
            session_state: session.state,
            tasks: counted(stats.tasks),
            sessions: counted(stats.sessions),
            follow_ups_due: stats.effects_due,
        })
    }
}

fn counted<T: ToString>(numbers: Vec<(T, i64)>) -> BTreeMap<String, i64> {
    numbers
        .into_iter()
        .map(|(state, number)| (state.to_string(), number))
        .collect()
}
