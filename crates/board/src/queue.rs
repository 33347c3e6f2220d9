//! What waits for a session, as its operator sees and steers it (task-domain 3.5).
//!
//! Questions between tasks, their answers, and what is being sent at the moment are out of the operator's hands: they are not
//! shown and cannot be touched. Everything here is one transaction, and so is each reservation of a prompt for delivery:
//! whoever comes second finds the row as the first one left it.

use crate::prompts::{check_content, check_not_over, check_open, never_started};
use crate::sessions::stop_reason;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result, Settings, Topic};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::ids::{PromptId, SessionId};
use domain::question::QuestionCommand;
use domain::queue::merge::merge;
use domain::queue::order::reorder;
use domain::queue::{Lane, QueuedBy, QueuedPrompt};
use domain::session::{SessionCommand, SessionState};
use domain::view::{DeliveryStatus, MessageOutcome, QueueView, QueuedView};
use std::time::Duration;
use tokio::sync::watch;

impl Board {
    /// What waits for a session.
    pub async fn queue_get(&self, actor: &Actor, id: SessionId) -> Result<QueueView> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        let session = load_session(&mut db, id).await?;
        let rows = store::queue::list(&mut db, id).await?;
        Ok(view(&self.settings, id, session.auto_run, &rows))
    }

    /// Gives an operator's prompt that waits other words. With `replaces`, only if it still has those: words that somebody added
    /// meanwhile are not lost.
    pub async fn prompt_edit(
        &self,
        actor: &Actor,
        id: PromptId,
        content: &str,
        replaces: Option<&str>,
    ) -> Result<QueueView> {
        actor.require_operator()?;
        check_content(content)?;
        let mut work = self.begin().await?;
        let row = work.waiting(id).await?;
        row.check_editable()?;
        if replaces.is_some_and(|words| words != row.content) {
            return Err(Refusal::conflict(
                "this prompt has other words by now: read it again before you change it",
            )
            .into());
        }
        if content == row.content {
            return work.queue_of(row.session_id).await;
        }
        store::queue::set_content(&mut work.tx, id, content).await?;
        work.queue_changed(row).await
    }

    /// Takes a prompt back that still waits.
    pub async fn prompt_remove(&self, actor: &Actor, id: PromptId) -> Result<QueueView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let row = work.waiting(id).await?;
        row.check_visible()?;
        store::queue::delete(&mut work.tx, id).await?;
        work.launch_is_over(&row).await?;
        work.may_be_at_rest(row.session_id).await?;
        work.queue_changed(row).await
    }

    /// Joins a prompt to the one above it, whose id stays.
    pub async fn prompt_merge(&self, actor: &Actor, id: PromptId) -> Result<QueueView> {
        actor.require_operator()?;
        if !self.settings.queue_manual_merge {
            return Err(Refusal::conflict("merging is switched off in the settings").into());
        }
        let mut work = self.begin().await?;
        let row = work.waiting(id).await?;
        row.check_visible()?;
        let rows = store::queue::list(&mut work.tx, row.session_id).await?;
        let above = above(&rows, id).ok_or_else(|| {
            Refusal::conflict("there is nothing above this prompt that it could be merged into")
        })?;
        let words = merge(above, &row)?;
        store::queue::set_content(&mut work.tx, above.id, &words).await?;
        store::queue::delete(&mut work.tx, id).await?;
        store::receipts::moved(&mut work.tx, id, above.id).await?;
        work.queue_changed(row).await
    }

    /// Takes everything back that waits for a session and is visible.
    pub async fn queue_clear(&self, actor: &Actor, id: SessionId) -> Result<QueueView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let session = load_session(&mut work.tx, id).await?;
        if store::queue::clear(&mut work.tx, id).await? > 0 {
            work.queue_event(session.task_id, id).await?;
            work.may_be_at_rest(id).await?;
        }
        let view = work.queue_of(id).await?;
        work.commit().await?;
        Ok(view)
    }

    /// Puts everything that waits and is visible into this order, or nothing.
    pub async fn queue_reorder(
        &self,
        actor: &Actor,
        id: SessionId,
        wanted: &[PromptId],
    ) -> Result<QueueView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let session = load_session(&mut work.tx, id).await?;
        let rows = store::queue::list(&mut work.tx, id).await?;
        let mut moved = false;
        for place in reorder(&rows, wanted)? {
            let stays = rows.iter().any(|row| {
                row.id == place.id && row.lane == place.lane && row.position == place.position
            });
            if !stays {
                store::queue::set_place(&mut work.tx, place).await?;
                moved = true;
            }
        }
        if moved {
            work.queue_event(session.task_id, id).await?;
        }
        let view = work.queue_of(id).await?;
        work.commit().await?;
        Ok(view)
    }

    /// Delivers a prompt that waits before all others, now: the turn that runs at this moment is cancelled, which completes
    /// nothing in the workflow, and a later turn is left alone. What else waits goes on afterwards. As explicit input of the
    /// operator it supersedes a question to the parent.
    ///
    /// Answers `queued` when the turn did not end in time: then it is delivered as soon as that is over.
    pub async fn prompt_send_now(&self, actor: &Actor, id: PromptId) -> Result<MessageOutcome> {
        actor.require_operator()?;
        let turns = self.signals().subscribe(Topic::Turns);
        let mut work = self.begin().await?;
        let row = work.waiting(id).await?;
        row.check_visible()?;
        let mut session = load_session(&mut work.tx, row.session_id).await?;
        let task = load_task(&mut work.tx, row.task_id).await?;
        check_open(&task)?;
        check_not_over(&session)?;
        work.end_questions_of_session(&session, QuestionCommand::Supersede)
            .await?;
        store::workflows::clear_signals(&mut work.tx, session.id).await?;
        store::queue::put_first(&mut work.tx, session.id, id).await?;
        if !session.auto_run {
            session.auto_run = true;
            work.save_session(&mut session).await?;
        }
        let running = store::turns::open(&mut work.tx, session.id).await?;
        let status = match (
            running.is_some() || session.state.is_busy(),
            never_started(&session),
        ) {
            (true, _) => DeliveryStatus::Queued,
            (false, true) => DeliveryStatus::Started,
            (false, false) => DeliveryStatus::Sent,
        };
        if session.state == SessionState::Completed {
            work.session(&mut session, SessionCommand::Resume).await?;
        }
        if let Some(turn) = running {
            work.request_cancel(&session, turn, stop_reason::SEND_NOW)
                .await?;
        }
        work.effect(EffectKind::Dispatch, &session, None).await?;
        work.queue_event(task.id, session.id).await?;
        work.commit().await?;
        let outcome = MessageOutcome::of_prompt(task.id, session.id, status, id);
        self.await_delivery(outcome, turns).await
    }

    /// Waits until a prompt that was queued to be the next one has gone to its agent, but not for long: it is stored in any
    /// case, so its sender is told `queued` and never an error, which would make it send the prompt a second time.
    pub(crate) async fn await_delivery(
        &self,
        outcome: MessageOutcome,
        turns: watch::Receiver<u64>,
    ) -> Result<MessageOutcome> {
        let (DeliveryStatus::Queued, Some(session), Some(prompt)) =
            (outcome.status, outcome.session_id, outcome.queue_entry_id)
        else {
            return Ok(outcome);
        };
        let patience = Duration::from_millis(self.settings.interrupt_wait_ms);
        let sent = tokio::time::timeout(patience, self.was_sent(session, prompt, turns)).await;
        Ok(MessageOutcome {
            status: if sent.unwrap_or(false) {
                DeliveryStatus::Sent
            } else {
                DeliveryStatus::Queued
            },
            ..outcome
        })
    }

    async fn was_sent(
        &self,
        session: SessionId,
        prompt: PromptId,
        mut turns: watch::Receiver<u64>,
    ) -> bool {
        loop {
            match self.fate(session, prompt).await {
                Ok(Some(sent)) => return sent,
                Ok(None) => {}
                Err(_) => return false,
            }
            if turns.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Whether a prompt became a turn; `None` while that may still happen. One that was taken back, or whose session ended
    /// first, did not.
    async fn fate(&self, session: SessionId, prompt: PromptId) -> Result<Option<bool>> {
        let mut db = self.snapshot().await?;
        if store::queue::find(&mut db, prompt).await?.is_none() {
            return Ok(Some(store::turns::came_of(&mut db, session, prompt).await?));
        }
        let session = store::sessions::find(&mut db, session).await?;
        Ok(session
            .is_none_or(|session| session.state.is_terminal())
            .then_some(false))
    }
}

impl Work {
    /// Something was taken back. It may have been what took a question's place, and so the turn that a move waited for.
    async fn may_be_at_rest(&mut self, session: SessionId) -> Result<()> {
        let rows = store::queue::list(&mut self.tx, session).await?;
        if rows.iter().all(|row| row.lane == Lane::Normal) {
            self.due.at_rest(session);
        }
        Ok(())
    }

    /// A prompt that waits or is being sent.
    async fn waiting(&mut self, id: PromptId) -> Result<QueuedPrompt> {
        Ok(store::queue::find(&mut self.tx, id).await?.ok_or_else(|| {
            Refusal::missing("this prompt no longer waits: it was delivered or removed")
        })?)
    }

    /// The queue as this transaction leaves it.
    async fn queue_of(&mut self, id: SessionId) -> Result<QueueView> {
        let session = load_session(&mut self.tx, id).await?;
        let rows = store::queue::list(&mut self.tx, id).await?;
        Ok(view(&self.settings, id, session.auto_run, &rows))
    }

    async fn queue_changed(mut self, row: QueuedPrompt) -> Result<QueueView> {
        self.queue_event(row.task_id, row.session_id).await?;
        let view = self.queue_of(row.session_id).await?;
        self.commit().await?;
        Ok(view)
    }
}

/// The visible prompt before this one.
fn above(rows: &[QueuedPrompt], id: PromptId) -> Option<&QueuedPrompt> {
    rows.iter()
        .take_while(|row| row.id != id)
        .filter(|row| row.is_visible())
        .last()
}

/// The visible part of a session's `rows`, which are in delivery order.
pub(crate) fn view(
    settings: &Settings,
    session: SessionId,
    auto_run: bool,
    rows: &[QueuedPrompt],
) -> QueueView {
    let visible: Vec<&QueuedPrompt> = rows.iter().filter(|row| row.is_visible()).collect();
    let entries: Vec<QueuedView> = visible
        .iter()
        .enumerate()
        .map(|(n, row)| {
            let above = n.checked_sub(1).and_then(|n| visible.get(n));
            let mergeable =
                settings.queue_manual_merge && above.is_some_and(|above| merge(above, row).is_ok());
            entry(row, mergeable)
        })
        .collect();
    QueueView {
        session_id: session,
        count: entries.len(),
        entries,
        max: settings.queue_capacity,
        auto_run,
        merge_enabled: settings.queue_manual_merge,
    }
}

fn entry(row: &QueuedPrompt, mergeable: bool) -> QueuedView {
    let word = |key: &str| Some(row.metadata.get(key)?.as_str()?.to_owned());
    QueuedView {
        id: row.id,
        session_id: row.session_id,
        content: row.content.clone(),
        queued_by: row.queued_by,
        lane: row.lane,
        sender_task_id: row.sender_task_id,
        sender_task_title: word("sender_task_title"),
        sender_session_id: row.sender_session_id,
        sender_session_name: word("sender_session_name"),
        editable: row.queued_by == QueuedBy::User,
        mergeable,
        queued_at: row.queued_at,
    }
}
