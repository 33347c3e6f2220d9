//! Leases: this node's own are kept alive, those of others are watched, and rows and agents are held against each other.
//!
//! Two things must not last: a session that the rows give to this node and that has no actor here (its end could not be stored, or
//! the actor broke down), which would run for ever without an agent; and an agent whose session another node has taken, whose
//! work nobody takes note of. Either may be seen for a moment while things are under way, so it counts when it is seen twice.

use super::RuntimeConfig;
use super::sessions::Sessions;
use board::{Board, Recovered};
use domain::ids::SessionId;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What did not fit together when it was looked at.
#[derive(Debug, Default)]
struct Mismatch {
    /// Held by this node, without an actor.
    deserted: HashSet<SessionId>,
    /// With an actor, not held by this node.
    taken: HashSet<SessionId>,
}

impl Mismatch {
    fn between(held: &HashSet<SessionId>, present: &HashSet<SessionId>) -> Self {
        Self {
            deserted: held - present,
            taken: present - held,
        }
    }

    /// What was seen before, too.
    fn again(&self, before: &Self) -> Self {
        Self {
            deserted: &self.deserted & &before.deserted,
            taken: &self.taken & &before.taken,
        }
    }
}

/// Looks after the leases until it is stopped.
pub(super) async fn run(
    board: Board,
    config: Arc<RuntimeConfig>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
) {
    let third = Duration::from_millis((board.settings().lease_ms / 3).max(1).unsigned_abs());
    let mut ticks = tokio::time::interval(third);
    let mut before = Mismatch::default();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        // Looked at first: an actor that comes up meanwhile is not missed, since it takes its lease before it has an agent.
        let present = sessions.present();
        let held: HashSet<SessionId> = match board.renew_leases(&config.node).await {
            Ok(held) => held.into_iter().collect(),
            Err(error) => {
                report(&error, "leases were not renewed");
                continue;
            }
        };
        let now = Mismatch::between(&held, &present);
        let lasting = now.again(&before);
        before = now;
        for session in &lasting.taken {
            tracing::warn!(%session, "another node has the session: its agent here is ended");
            sessions.lease_lost(*session);
        }
        if !lasting.deserted.is_empty() {
            let deserted: Vec<SessionId> = lasting.deserted.into_iter().collect();
            match board.recover_lost(&config.node, &deserted).await {
                Ok(recovered) => tell(
                    recovered,
                    "brought into order sessions that had lost their agent",
                ),
                Err(error) => report(&error, "lost sessions were not brought into order"),
            }
        }
        match board.recover_expired().await {
            Ok(recovered) => tell(recovered, "took over sessions whose node is gone"),
            Err(error) => report(&error, "lost sessions were not looked for"),
        }
    }
}

fn tell(recovered: Recovered, what: &str) {
    if recovered.sessions > 0 {
        tracing::warn!(sessions = recovered.sessions, "{what}");
    }
}

fn report(error: &board::BoardError, what: &str) {
    tracing::error!(error = error as &dyn std::error::Error, "{what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_fit_twice_in_a_row_counts() {
        let [fine, deserted, taken, starting] = [(); 4].map(|()| SessionId::new());
        let first = Mismatch::between(
            &HashSet::from([fine, deserted]),
            &HashSet::from([fine, taken, starting]),
        );
        let second = Mismatch::between(
            &HashSet::from([fine, deserted, starting]),
            &HashSet::from([fine, taken, starting]),
        );
        let lasting = second.again(&first);
        assert_eq!(lasting.deserted, HashSet::from([deserted]));
        assert_eq!(lasting.taken, HashSet::from([taken]));
    }
}
