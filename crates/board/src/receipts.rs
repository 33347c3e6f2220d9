//! What a sender was told about a message, and the guards that are counted from it (rulings 20).

use crate::Result;
use crate::messages::Route;
use crate::transition::Work;
use domain::guards::{self, hop, pair};
use domain::ids::SessionId;
use domain::receipt::{KEEP_MS, Key, Receipt};
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

    /// Refuses a message that would keep a conversation going without end; answers its number in its chain.
    pub(crate) async fn guard(&mut self, route: &Route, target: SessionId) -> Result<i64> {
        let turn = store::turns::latest(&mut self.tx, route.sender_session.id).await?;
        let came_of = match turn {
            Some(turn) => store::receipts::hops(&mut self.tx, turn.prompt_id).await?,
            None => None,
        };
        let hops = hop(came_of);
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
        let before = self.now.plus_millis(-KEEP_MS);
        store::receipts::forget(&mut self.tx, before).await?;
        Ok(())
    }
}

fn pair_of(route: &Route, target: SessionId) -> String {
    pair(
        (route.sender.id, route.sender_session.id),
        (route.target.id, target),
    )
}
