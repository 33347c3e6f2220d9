//! The actors by session: made when first needed, gone when their agent is.

use super::actor::{self, Command};
use super::{RuntimeConfig, Tools};
use board::Board;
use domain::effect::Effect;
use domain::ids::SessionId;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Commands that may wait for one actor; more make the worker wait.
const MAILBOX: usize = 64;

/// All actors of this process.
pub(super) struct Sessions {
    board: Board,
    config: Arc<RuntimeConfig>,
    tools: Arc<dyn Tools>,
    mailboxes: Mutex<HashMap<SessionId, mpsc::Sender<Command>>>,
    actors: Mutex<JoinSet<()>>,
    live: Arc<AtomicUsize>,
}

impl Sessions {
    pub(super) fn new(board: Board, config: Arc<RuntimeConfig>, tools: Arc<dyn Tools>) -> Self {
        Self {
            board,
            config,
            tools,
            mailboxes: Mutex::default(),
            actors: Mutex::default(),
            live: Arc::default(),
        }
    }

    pub(super) fn live_agents(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Hands a follow-up to its session's actor. The receiver tells whether it was carried out; it is closed without an answer
    /// when the actor went away, and the follow-up is then tried again.
    pub(super) async fn hand(&self, effect: &Effect) -> oneshot::Receiver<bool> {
        let (done, outcome) = oneshot::channel();
        let mut command = Command::Effect {
            effect: effect.clone(),
            done,
        };
        // An actor that is just ending refuses the command; a new one takes it.
        for _ in 0..3 {
            let mailbox = self.mailbox(effect.session_id);
            match mailbox.send(command).await {
                Ok(()) => break,
                Err(refused) => command = refused.0,
            }
        }
        outcome
    }

    /// The sessions that have an actor here.
    pub(super) fn present(&self) -> HashSet<SessionId> {
        self.mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter(|(_, mailbox)| !mailbox.is_closed())
            .map(|(session, _)| *session)
            .collect()
    }

    /// Has an agent ended whose session another node has.
    pub(super) fn lease_lost(&self, session: SessionId) {
        let mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mailbox) = mailboxes.get(&session) {
            // A full mailbox is asked again in the next round; a closed one has no agent any more.
            let _ = mailbox.try_send(Command::LeaseLost);
        }
    }

    fn mailbox(&self, session: SessionId) -> mpsc::Sender<Command> {
        let mut mailboxes = self
            .mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mailbox) = mailboxes
            .get(&session)
            .filter(|mailbox| !mailbox.is_closed())
        {
            return mailbox.clone();
        }
        let (sender, receiver) = mpsc::channel(MAILBOX);
        mailboxes.insert(session, sender.clone());
        // Ended actors are dropped here: as often as new ones are made.
        mailboxes.retain(|_, mailbox| !mailbox.is_closed());
        let mut actors = self.actors.lock().unwrap_or_else(PoisonError::into_inner);
        while actors.try_join_next().is_some() {}
        actors.spawn(actor::run(
            session,
            self.board.clone(),
            self.config.clone(),
            self.tools.clone(),
            receiver,
            self.live.clone(),
        ));
        sender
    }

    /// Ends all agents and waits for it.
    pub(super) async fn stop(&self) {
        let mailboxes: Vec<_> = {
            let mut mailboxes = self
                .mailboxes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            mailboxes.drain().map(|(_, mailbox)| mailbox).collect()
        };
        for mailbox in mailboxes {
            // A closed mailbox means that the actor is gone already.
            let _ = mailbox.send(Command::Shutdown).await;
        }
        let mut actors =
            std::mem::take(&mut *self.actors.lock().unwrap_or_else(PoisonError::into_inner));
        while actors.join_next().await.is_some() {}
    }
}
