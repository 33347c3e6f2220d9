//! The MCP route: the tools of agents and of outside chat clients.
//!
//! | Module | For |
//! |---|---|
//! | [`auth`] | whose bearer token it is |
//! | [`transport`] | streamable HTTP by the official SDK; which connection belongs to whom |
//! | [`connection`] | what one client may ask: its list of tools, a call |
//! | [`lists`] | the list of each session with its schemas, swapped as one |
//! | [`tool`] | a tool as data, and a call to it |
//! | [`runs`] | the outside contract: starting runs, waiting for them, reading them |
//! | [`waiting`] | who waits for a run, and what is told of it |
//! | the nouns | the tools themselves: [`workspaces`], [`tasks`], [`moves`], [`dependencies`], [`agents`], [`sessions`], [`messages`], [`questions`], [`asks`], [`steps`], [`plans`], [`papers`], [`diagnostics`], [`workflows`], [`documents`], [`repositories`], [`change_requests`] |
//!
//! Who calls is known from the token alone; nothing in a call names its sender, and nothing an agent sends chooses its tools.
//! That a tool is listed says nothing about what it may do: the board decides about each call again.

mod agents;
mod asks;
mod auth;
mod change_requests;
mod connection;
mod dependencies;
mod diagnostics;
mod documents;
mod executors;
mod identity;
mod lists;
mod messages;
mod moves;
mod papers;
mod plans;
mod questions;
mod repositories;
mod runs;
mod sessions;
mod steps;
mod tasks;
mod tool;
mod transport;
mod waiting;
mod workflows;
mod workspaces;

pub use lists::Lists;
pub use runs::NativeTasks;
pub use tool::{Call, ContractTool, Hints, Tool};
pub use waiting::{RunMetrics, RunWaits, WaitLimits};

use crate::feed::Feed;
use crate::names::Names;
use crate::runtime;
use axum::extract::{Request, State};
use axum::response::Response;
use board::Board;
use connection::Connection;
use domain::ids::SessionId;
use futures::future::BoxFuture;
use rmcp::ServerHandler;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use transport::Door;
use waiting::Runs;

/// Where the tools are.
pub const PATH: &str = "/mcp";

/// How patient the route is.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a question to the operator keeps its call open.
    pub question: Duration,
    /// How often a waiting call tells its client that it still waits.
    pub progress: Duration,
    /// How often a call that waits for a run tells so.
    pub run_progress: Duration,
    /// By how much waits for runs are shortened, to prove things about minutes in seconds.
    pub run_wait_divisor: u32,
    /// When a connection of an agent that nobody uses is forgotten; it may wait for its operator for a day.
    pub agent_idle: Duration,
    /// When a connection of an outside client that nobody uses is forgotten.
    pub external_idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            question: Duration::from_secs(2 * 60 * 60),
            progress: Duration::from_secs(20),
            run_progress: Duration::from_secs(12),
            run_wait_divisor: 1,
            agent_idle: Duration::from_secs(24 * 60 * 60),
            external_idle: Duration::from_secs(30 * 60),
        }
    }
}

/// What answers at the route instead of the board's tools, for tests of everything that stands before them: transport,
/// credentials, limits.
#[derive(Clone)]
pub struct StandIn(Arc<MakeDoor>);

type MakeDoor = dyn Fn(Patience, &CancellationToken) -> Arc<dyn Door> + Send + Sync;

impl StandIn {
    /// `handler` answers, a clone of it on each connection.
    #[must_use]
    pub fn new<H: ServerHandler + Clone>(handler: H) -> Self {
        Self(Arc::new(move |patience, shutdown| {
            transport::door(handler.clone(), handler.clone(), patience, shutdown)
        }))
    }
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StandIn").finish_non_exhaustive()
    }
}

/// The route. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mcp {
    lists: Lists,
    runs: Runs,
    door: Arc<dyn Door>,
    names: Arc<Names>,
}

impl Mcp {
    /// A route over a board, under `names`; waits for runs are woken by the feed, and `shutdown` ends connections.
    #[must_use]
    pub fn new(
        board: Board,
        names: Arc<Names>,
        feed: &Feed,
        waits: RunWaits,
        native: NativeTasks,
        patience: Patience,
        shutdown: &CancellationToken,
    ) -> Self {
        let runs = Runs::start(board.clone(), feed, waits, shutdown.clone());
        let lists = Lists::new(board);
        let connection = |native| {
            let shutdown = shutdown.clone();
            Connection::new(lists.clone(), runs.clone(), native, patience, shutdown)
        };
        let door = transport::door(
            connection(NativeTasks::Off),
            connection(native),
            patience,
            shutdown,
        );
        Self {
            lists,
            runs,
            door,
            names,
        }
    }

    /// With something else behind the door.
    #[must_use]
    pub fn with(
        mut self,
        stand_in: &StandIn,
        patience: Patience,
        shutdown: &CancellationToken,
    ) -> Self {
        self.door = stand_in.0(patience, shutdown);
        self
    }

    /// What is counted of runs.
    #[must_use]
    pub fn run_metrics(&self) -> &RunMetrics {
        self.runs.metrics()
    }

    /// Answers every call that waits for a run, before connections are ended: its client is told to ask again.
    pub async fn end_waits(&self) {
        self.runs.end_waits().await;
    }
}

impl runtime::Tools for Mcp {
    fn refresh(&self, session: SessionId) -> BoxFuture<'static, ()> {
        let lists = self.lists.clone();
        Box::pin(async move { lists.refresh(session).await })
    }
}

/// Every tool there is, in the order of the groups. Which of them a caller sees is `domain::profile`'s to say.
#[must_use]
pub fn all_tools() -> Vec<Tool> {
    [
        workspaces::tools(),
        workflows::tools(),
        repositories::tools(),
        change_requests::tools(),
        tasks::tools(),
        moves::tools(),
        dependencies::tools(),
        agents::tools(),
        executors::tools(),
        messages::tools(),
        sessions::tools(),
        steps::tools(),
        plans::tools(),
        papers::tools(),
        diagnostics::tools(),
        documents::tools(),
        questions::tools(),
        asks::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The tools of the outside contract. They are `external` clients' alone.
#[must_use]
pub fn contract_tools() -> Vec<ContractTool> {
    runs::tools()
}

/// Answers at [`PATH`].
pub(crate) async fn serve(State(mcp): State<Mcp>, request: Request) -> Response {
    match auth::identify(&mcp.lists.board, &mcp.names, request.headers()).await {
        Ok(actor) => mcp.door.serve(actor, request).await,
        Err(refused) => refused,
    }
}
