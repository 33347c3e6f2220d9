//! Follow-ups as the runtime works them off: claim, finish, release; each its own short transaction.

use crate::{Board, Result};
use domain::effect::{Effect, EffectKind};
use domain::time::Timestamp;
use store::Write;

/// How long a claim holds, in milliseconds: longer than starting a slow agent takes.
const CLAIM_MS: i64 = 330_000;
/// The longest wait between tries of a follow-up that fails, in milliseconds.
const MAX_BACKOFF_MS: i64 = 30_000;

impl Board {
    /// Takes due follow-ups for `node`, at most `limit`; those of sessions whose agent another node has are left to it.
    pub async fn effect_claim(&self, node: &str, limit: i64) -> Result<Vec<Effect>> {
        // Most wake-ups find nothing; a look costs less than a turn to write.
        if self
            .effect_next_due()
            .await?
            .is_none_or(|due| due > self.clock.now())
        {
            return Ok(Vec::new());
        }
        let mut work = self.begin().await?;
        let now = work.now;
        let claimed =
            store::effects::claim(&mut work.tx, node, now, now.plus_millis(CLAIM_MS), limit)
                .await?;
        work.commit().await?;
        Ok(claimed)
    }

    /// When the next follow-up is due; `None` when there is none at all. After [`Board::recover`] it is this node's next: what
    /// belongs to agents of another node is due here when that one's lease is over.
    pub async fn effect_next_due(&self) -> Result<Option<Timestamp>> {
        let mut db = self.snapshot().await?;
        Ok(match self.node.get() {
            Some(node) => store::effects::next_due_for(&mut db, node).await?,
            None => store::effects::next_due(&mut db).await?,
        })
    }

    /// A follow-up was carried out. A holder whose claim ran out meanwhile learns that it was too late, and changes nothing.
    pub async fn effect_finish(&self, effect: &Effect, node: &str) -> Result<bool> {
        let mut work = self.begin().await?;
        let done = store::effects::finish_if_held(&mut work.tx, effect, node).await?;
        work.commit().await?;
        if effect.kind == EffectKind::StopProcess {
            self.agent_ended();
        }
        Ok(done == Write::Changed)
    }

    /// A follow-up failed and is to be tried again, after a wait that grows with the tries.
    pub async fn effect_retry(&self, effect: &Effect, node: &str) -> Result<()> {
        let wait = (200i64 << effect.attempt.clamp(0, 8)).min(MAX_BACKOFF_MS);
        let mut work = self.begin().await?;
        let later = work.now.plus_millis(wait);
        let _ = store::effects::release_if_held(&mut work.tx, effect, node, later).await?;
        work.commit().await?;
        self.signals.wake(crate::Topic::Effects);
        Ok(())
    }
}
