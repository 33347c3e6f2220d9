//! After a crash: what the rows say that nobody does any more is brought into order (task-domain 4.8, 13.2).
//!
//! Everything here is derived from durable rows and safe to repeat. Nothing is sent from here; sessions with something to
//! deliver get a follow-up, and delivery decides about prompts that were under way.

use crate::transition::{Work, load_session, load_task, queue_and_gate};
use crate::{Board, Result};
use domain::effect::EffectKind;
use domain::ids::SessionId;
use domain::question::QuestionCommand;
use domain::queue;
use domain::session::{Session, SessionCommand, SessionState};
use domain::task::TaskCommand;
use domain::turn::{TurnCommand, TurnState};

/// What was brought into order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Sessions whose agent was gone.
    pub sessions: usize,
    /// Turns that ended as interrupted.
    pub turns: usize,
    /// Questions that became stale because one of the two tasks is gone.
    pub questions: usize,
}

impl Board {
    /// At the start of `node`: it has no agents, so whatever it held is orphaned; so is what others held with a lease that is
    /// over.
    pub async fn recover(&self, node: &str) -> Result<Recovered> {
        // Once said, it stays: a process is one node.
        let _ = self.node.set(node.to_owned());
        let mut work = self.begin().await?;
        store::effects::release_all(&mut work.tx, node).await?;
        let mut recovered = work.recover_sessions(Some(node)).await?;
        recovered.questions = work.stale_orphans().await?;
        work.settle_abandoned_claims(Some(node)).await?;
        for pending in store::moves::all_pending(&mut work.tx).await? {
            work.due.at_rest(pending.session_id);
        }
        // Runs end in the transactions that end them; this is the second wall.
        let live = store::runs::live_sessions(&mut work.tx).await?;
        work.due.runs.extend(live);
        for session in store::sessions::with_queued_prompts(&mut work.tx).await? {
            work.effect(EffectKind::Dispatch, &session, None).await?;
        }
        work.commit().await?;
        Ok(recovered)
    }

    /// While running: sessions of other nodes whose lease is over.
    pub async fn recover_expired(&self) -> Result<Recovered> {
        let now = self.clock.now();
        let mut db = self.snapshot().await?;
        if store::sessions::orphaned(&mut db, None, now)
            .await?
            .is_empty()
            && store::clarifications::abandoned(&mut db, None, now)
                .await?
                .is_empty()
        {
            return Ok(Recovered::default());
        }
        drop(db);
        let mut work = self.begin().await?;
        let recovered = work.recover_sessions(None).await?;
        work.settle_abandoned_claims(None).await?;
        work.commit().await?;
        Ok(recovered)
    }

    /// Sessions that `node` holds although it has no agent of theirs any more: as after a crash, but while it runs.
    pub async fn recover_lost(&self, node: &str, sessions: &[SessionId]) -> Result<Recovered> {
        let mut work = self.begin().await?;
        let mut lost = Vec::new();
        for id in sessions {
            let session = store::sessions::find(&mut work.tx, *id).await?;
            lost.extend(session.filter(|session| session.holder.as_deref() == Some(node)));
        }
        let recovered = work.recover_each(lost).await?;
        work.commit().await?;
        Ok(recovered)
    }

    /// Prolongs the leases of the sessions that `node` holds, and says which they are.
    pub async fn renew_leases(&self, node: &str) -> Result<Vec<SessionId>> {
        let mut work = self.begin().await?;
        let until = work.now.plus_millis(self.settings.lease_ms);
        let renewed = store::sessions::renew_leases(&mut work.tx, node, until).await?;
        work.commit().await?;
        Ok(renewed)
    }
}

impl Work {
    async fn recover_sessions(&mut self, node: Option<&str>) -> Result<Recovered> {
        let now = self.now;
        let orphaned = store::sessions::orphaned(&mut self.tx, node, now).await?;
        self.recover_each(orphaned).await
    }

    /// Brings all of them to rest, and only then looks which cards go on: a card that moves changes its other sessions too.
    async fn recover_each(&mut self, sessions: Vec<Session>) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        let mut rest = Vec::new();
        for mut session in sessions {
            recovered.sessions += 1;
            let was_in_turn = self.recover_session(&mut session).await?;
            recovered.turns += usize::from(was_in_turn);
            if was_in_turn {
                rest.push(session.id);
            }
        }
        for id in rest {
            let session = load_session(&mut self.tx, id).await?;
            let mut task = load_task(&mut self.tx, session.task_id).await?;
            let (rows, gate) = queue_and_gate(&mut self.tx, &task, &session).await?;
            if queue::is_at_rest(&rows, gate) {
                Box::pin(self.work_left_done(&mut task, &session)).await?;
            }
        }
        Ok(recovered)
    }

    async fn recover_session(&mut self, session: &mut Session) -> Result<bool> {
        let mut task = load_task(&mut self.tx, session.task_id).await?;
        session.holder = None;
        session.lease_until = None;
        self.save_session(session).await?;
        self.cancel_permissions(session.id).await?;
        self.detach_bundles(session.id).await?;
        let mut interrupted = false;
        if let Some(mut turn) = store::turns::open(&mut self.tx, session.id).await? {
            // A turn that is still dispatching keeps its row: delivery finds out whether the agent has the prompt.
            if turn.state == TurnState::Open {
                interrupted = self
                    .turn(
                        &mut turn,
                        TurnCommand::Interrupt,
                        Some("interrupted".to_owned()),
                    )
                    .await?;
            }
        }
        let was_at_work = session.state == SessionState::Running || interrupted;
        if self.session(session, SessionCommand::Interrupt).await? && !was_at_work {
            // It was coming up. With nothing to deliver nobody starts it again, so the card must not say that it starts.
            let (rows, gate) = queue_and_gate(&mut self.tx, &task, session).await?;
            if queue::is_at_rest(&rows, gate) {
                self.task(&mut task, TaskCommand::Settle).await?;
            }
        }
        if was_at_work {
            self.mark_interrupted(&mut task).await?;
        }
        self.effect(EffectKind::Dispatch, session, None).await?;
        Ok(interrupted)
    }

    /// Answers that were on their way and whose operator's call is gone: back to open, or given if the agent may have them.
    async fn settle_abandoned_claims(&mut self, node: Option<&str>) -> Result<()> {
        let now = self.now;
        for mut bundle in store::clarifications::abandoned(&mut self.tx, node, now).await? {
            self.settle_claim(&mut bundle).await?;
        }
        Ok(())
    }

    /// Questions whose child or parent is gone, archived, or no longer child and parent. None should exist, since each of these
    /// ends its questions in its own transaction; this is the second wall.
    async fn stale_orphans(&mut self) -> Result<usize> {
        let mut count = 0;
        for mut question in store::questions::pending(&mut self.tx).await? {
            let child = store::tasks::find(&mut self.tx, question.child_task_id).await?;
            let parent = store::tasks::find(&mut self.tx, question.parent_task_id).await?;
            let related = match (child, parent) {
                (Some(child), Some(parent)) => {
                    child.parent_id == Some(parent.id)
                        && child.archived_at.is_none()
                        && parent.archived_at.is_none()
                }
                (None, _) | (_, None) => false,
            };
            if !related {
                count += usize::from(
                    self.question(&mut question, QuestionCommand::MakeStale, None)
                        .await?,
                );
            }
        }
        Ok(count)
    }
}
