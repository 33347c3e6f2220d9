//! The list of tools of each session, with its schemas, swapped as one.
//!
//! A list is made of the session's profile, once, and replaced when the profile changes while the agent is live. Names,
//! handlers and compiled schemas are one value behind one lock, so a call never meets a new handler with an old schema. Each
//! effective change is told once to every client of the session; an equal profile is told to nobody.

use super::tool::Ready;
use super::{all_tools, contract_tools};
use board::{Actor, Board};
use domain::ids::SessionId;
use domain::profile::{McpProfile, external, tools};
use rmcp::service::{Peer, RoleServer, SubscriptionSink};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A client that does not take a notice within this has lost it; it lists again when it next connects.
const NOTICE_LIMIT: Duration = Duration::from_secs(5);

/// All tools with their compiled schemas.
static READY: LazyLock<Vec<Arc<Ready>>> = LazyLock::new(|| {
    all_tools()
        .into_iter()
        .map(Ready::new)
        .chain(contract_tools().into_iter().map(Ready::contract))
        .map(Arc::new)
        .collect()
});

/// The tools of one profile.
#[derive(Debug)]
pub(super) struct Listing {
    profile: McpProfile,
    pub(super) tools: Vec<Arc<Ready>>,
}

impl Listing {
    fn of(profile: McpProfile) -> Arc<Self> {
        let tools = tools(&profile)
            .into_iter()
            .filter_map(|name| READY.iter().find(|tool| tool.name == name).cloned())
            .collect();
        Arc::new(Self { profile, tools })
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arc<Ready>> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// A client to be told when its list changed.
#[derive(Debug, Clone)]
pub(super) enum Client {
    /// Of the revisions with sessions.
    Connected(Peer<RoleServer>),
    /// Of the revision with subscriptions.
    Subscribed(SubscriptionSink),
}

impl Client {
    fn is_gone(&self) -> bool {
        match self {
            Self::Connected(peer) => peer.is_transport_closed(),
            // Found out when it is told the next time.
            Self::Subscribed(_) => false,
        }
    }

    /// Answers whether the client is still there.
    async fn tell(&self) -> bool {
        let told = async {
            match self {
                Self::Connected(peer) => peer.notify_tool_list_changed().await.is_ok(),
                Self::Subscribed(sink) => sink.notify_tool_list_changed().await.is_ok(),
            }
        };
        tokio::time::timeout(NOTICE_LIMIT, told)
            .await
            .unwrap_or(true)
    }
}

/// The lists of all sessions with clients. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lists {
    pub(super) board: Board,
    sessions: Arc<Mutex<HashMap<SessionId, Arc<SessionList>>>>,
    external: Arc<Listing>,
    /// How many clients have joined; tells them apart.
    joined: Arc<AtomicU64>,
}

#[derive(Debug)]
struct SessionList {
    current: Mutex<Arc<Listing>>,
    clients: Mutex<Vec<(u64, Client)>>,
    /// Held from reading the profile to telling the clients, so that an older profile cannot overtake a newer one.
    refreshing: tokio::sync::Mutex<()>,
}

impl Lists {
    pub(super) fn new(board: Board) -> Self {
        Self {
            board,
            sessions: Arc::default(),
            external: Listing::of(external()),
            joined: Arc::default(),
        }
    }

    /// The present list of a caller.
    pub(super) async fn of(&self, actor: Actor) -> board::Result<Arc<Listing>> {
        match actor.session() {
            Some(session) => Ok(held(&self.session(session).await?.current).clone()),
            None => Ok(self.external.clone()),
        }
    }

    /// A client of `actor` wants to hear of changes. Its first list is made afresh: a launch or a resume is the moment at which
    /// whatever changed meanwhile takes effect.
    pub(super) async fn join(&self, actor: Actor, client: Client) -> board::Result<()> {
        let Some(id) = actor.session() else {
            return Ok(());
        };
        self.refresh(id).await;
        let list = self.session(id).await?;
        let number = self.joined.fetch_add(1, Ordering::Relaxed);
        let mut clients = held(&list.clients);
        clients.retain(|(_, client)| !client.is_gone());
        clients.push((number, client));
        Ok(())
    }

    /// Makes a session's list afresh from its profile and tells its clients when it changed.
    pub async fn refresh(&self, id: SessionId) {
        // A session without clients has no list; its first will be right.
        let Some(list) = held(&self.sessions).get(&id).cloned() else {
            return;
        };
        let _turn = list.refreshing.lock().await;
        let profile = match self.board.mcp_profile(id).await {
            Ok(profile) => profile,
            Err(error) => {
                // The session may be gone. The old list stays: every call is judged by the board anyway.
                tracing::debug!(%id, error = %crate::error::refusal_of(error), "no profile");
                return;
            }
        };
        if held(&list.current).profile == profile {
            return;
        }
        *held(&list.current) = Listing::of(profile);
        let clients = held(&list.clients).clone();
        for (number, client) in clients {
            if !client.tell().await {
                held(&list.clients).retain(|(other, _)| *other != number);
            }
        }
    }

    async fn session(&self, id: SessionId) -> board::Result<Arc<SessionList>> {
        if let Some(list) = held(&self.sessions).get(&id) {
            return Ok(list.clone());
        }
        let profile = self.board.mcp_profile(id).await?;
        let mut sessions = held(&self.sessions);
        // What nobody uses any more goes when something new comes.
        sessions.retain(|_, list| {
            Arc::strong_count(list) > 1
                || held(&list.clients)
                    .iter()
                    .any(|(_, client)| !client.is_gone())
        });
        let list = sessions.entry(id).or_insert_with(|| {
            Arc::new(SessionList {
                current: Mutex::new(Listing::of(profile)),
                clients: Mutex::default(),
                refreshing: tokio::sync::Mutex::default(),
            })
        });
        Ok(list.clone())
    }
}

/// Nothing is left half done while these are held, so a panic elsewhere does no harm to what is inside.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
