//! What a sender was told about a message or a prompt, and the guards that are counted from it (rulings 20).

use crate::messages::Route;
use crate::transition::Work;
use crate::{Board, Result};
use domain::guards::{self, hop, pair};
use domain::ids::{SessionId, TaskId};
use domain::receipt::{KEEP_MS, Key, PromptReceipt, Receipt};
use domain::session::Session;
use domain::view::MessageOutcome;

impl Work {
    /// What became of the message that this session sent under this key, if it did.
    pub(crate) async fn earlier(
        &mut self,
        sender: &Session,
        key: Option<&Key>,
    ) -> Result<Option<MessageOutcome>> {
        let Some(key) = key else { return Ok(None) };
        let receipt = store::receipts::find(&mut self.tx, sender.id, &key.key).await?;
        Ok(receipt.map(|receipt| receipt.repeated(key)).transpose()?)
    }

    /// The number in its chain of what a session says now.
    pub(crate) async fn next_hop(&mut self, sender: SessionId) -> Result<i64> {
        let came_of = match store::turns::latest(&mut self.tx, sender).await? {
            Some(turn) => store::receipts::hops(&mut self.tx, turn.prompt_id).await?,
            None => None,
        };
        Ok(hop(came_of))
    }

    /// Refuses a message, or a session, that would keep a conversation going without end; answers its number in its chain.
    pub(crate) async fn guard(&mut self, route: &Route, target: SessionId) -> Result<i64> {
        let hops = self.next_hop(route.sender_session.id).await?;
        let limits = self.settings.guards;
        let since = self.now.plus_millis(-limits.pair_window_ms);
        let pair = pair_of(route, target);
        let traffic = store::receipts::traffic(&mut self.tx, &pair, since).await?;
        guards::check(&limits, hops, traffic, self.now)?;
        Ok(hops)
    }

    /// Remembers that a message was accepted, and forgets what nobody asks for any more.
    pub(crate) async fn keep_receipt(
        &mut self,
        route: &Route,
        outcome: &MessageOutcome,
        hops: i64,
        key: Option<Key>,
    ) -> Result<()> {
        let (Some(session), Some(prompt)) = (outcome.session_id, outcome.queue_entry_id) else {
            return Ok(());
        };
        let receipt = Receipt {
            sender_task_id: route.sender.id,
            sender_session_id: route.sender_session.id,
            target_task_id: route.target.id,
            target_session_id: session,
            prompt_id: prompt,
            pair: pair_of(route, session),
            hops,
            key,
            status: outcome.status,
            merged: outcome.merged,
            sent_at: self.now,
        };
        store::receipts::insert(&mut self.tx, &receipt).await?;
        self.forget_receipts().await
    }
}

impl Board {
    /// Gives a repeat the answer of the first. Nothing was written, and others must not wait for this transaction while its
    /// caller waits; what was read may be the work of a writer whose commit is still under way.
    pub(crate) async fn told_before(
        &self,
        work: Work,
        outcome: MessageOutcome,
    ) -> Result<MessageOutcome> {
        drop(work);
        self.settled().await?;
        Ok(outcome)
    }
}

impl Work {
    /// What became of the operator's prompt that this task was sent under this key, if it was.
    pub(crate) async fn earlier_prompt(
        &mut self,
        task: TaskId,
        key: Option<&Key>,
    ) -> Result<Option<MessageOutcome>> {
        let Some(key) = key else { return Ok(None) };
        let receipt = store::receipts::find_prompt(&mut self.tx, task, &key.key).await?;
        Ok(receipt.map(|receipt| receipt.repeated(key)).transpose()?)
    }

    /// Remembers that an operator's prompt was accepted under a key.
    pub(crate) async fn keep_prompt_receipt(
        &mut self,
        outcome: &MessageOutcome,
        key: Option<Key>,
    ) -> Result<()> {
        let (Some(key), Some(session), Some(prompt)) =
            (key, outcome.session_id, outcome.queue_entry_id)
        else {
            return Ok(());
        };
        let receipt = PromptReceipt {
            task_id: outcome.task_id,
            session_id: session,
            prompt_id: prompt,
            key,
            status: outcome.status,
            merged: outcome.merged,
            sent_at: self.now,
        };
        store::receipts::insert_prompt(&mut self.tx, &receipt).await?;
        self.forget_receipts().await
    }

    /// A question goes to a parent: it carries on the chain that its child's turn came of.
    pub(crate) async fn keep_question_receipt(
        &mut self,
        child: (TaskId, SessionId),
        outcome: &MessageOutcome,
    ) -> Result<()> {
        let (Some(session), Some(prompt)) = (outcome.session_id, outcome.queue_entry_id) else {
            return Ok(());
        };
        let receipt = Receipt {
            sender_task_id: child.0,
            sender_session_id: child.1,
            target_task_id: outcome.task_id,
            target_session_id: session,
            prompt_id: prompt,
            pair: pair(child, (outcome.task_id, session)),
            hops: self.next_hop(child.1).await?,
            key: None,
            status: outcome.status,
            merged: false,
            sent_at: self.now,
        };
        store::receipts::insert(&mut self.tx, &receipt).await?;
        Ok(())
    }

    async fn forget_receipts(&mut self) -> Result<()> {
        let before = self.now.plus_millis(-KEEP_MS);
        store::receipts::forget(&mut self.tx, before).await?;
        Ok(())
    }
}

fn pair_of(route: &Route, target: SessionId) -> String {
    // On its own task a spawner has a new correspondent each time: what counts is that it spawns.
    let target = if route.spawns {
        route.sender_session.id
    } else {
        target
    };
    pair(
        (route.sender.id, route.sender_session.id),
        (route.target.id, target),
    )
}
