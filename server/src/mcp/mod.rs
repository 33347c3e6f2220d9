//! The MCP route: the tools of agents and of outside chat clients.
//!
//! | Module | For |
//! |---|---|
//! | [`auth`] | whose bearer token it is |
//! | [`transport`] | streamable HTTP by the official SDK; which connection belongs to whom |
//! | [`connection`] | what one client may ask: its list of tools, a call |
//! | [`lists`] | the list of each session with its schemas, swapped as one |
//! | [`tool`] | a tool as data, and a call to it |
//! | the nouns | the tools themselves: [`workspaces`], [`tasks`], [`moves`], [`dependencies`], [`agents`], [`sessions`], [`messages`], [`questions`], [`steps`], [`plans`], [`papers`], [`diagnostics`] |
//!
//! Who calls is known from the token alone; nothing in a call names its sender, and nothing an agent sends chooses its tools.
//! That a tool is listed says nothing about what it may do: the board decides about each call again.

mod agents;
mod auth;
mod connection;
mod dependencies;
mod diagnostics;
mod identity;
mod lists;
mod messages;
mod moves;
mod papers;
mod plans;
mod questions;
mod sessions;
mod steps;
mod tasks;
mod tool;
mod transport;
mod workspaces;

pub use lists::Lists;
pub use tool::{Call, Hints, Tool};

use crate::http::metadata_address;
use crate::runtime;
use crate::state::AppState;
use axum::extract::{Request, State};
use axum::response::Response;
use board::Board;
use domain::ids::SessionId;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use transport::Transport;

/// Where the tools are.
pub const PATH: &str = "/mcp";

/// How patient the route is.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// How long a question to the operator keeps its call open.
    pub question: Duration,
    /// How often a waiting call tells its client that it still waits.
    pub progress: Duration,
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
            agent_idle: Duration::from_secs(24 * 60 * 60),
            external_idle: Duration::from_secs(30 * 60),
        }
    }
}

/// The route. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mcp {
    lists: Lists,
    transport: Arc<Transport>,
}

impl Mcp {
    /// A route over a board; `shutdown` ends its connections.
    #[must_use]
    pub fn new(board: Board, patience: Patience, shutdown: &CancellationToken) -> Self {
        let lists = Lists::new(board);
        let transport = Arc::new(Transport::new(&lists, patience, shutdown));
        Self { lists, transport }
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
        tasks::tools(),
        moves::tools(),
        dependencies::tools(),
        agents::tools(),
        messages::tools(),
        sessions::tools(),
        steps::tools(),
        plans::tools(),
        papers::tools(),
        diagnostics::tools(),
        questions::tools(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Answers at [`PATH`].
pub(crate) async fn serve(State(app): State<AppState>, request: Request) -> Response {
    let mcp = &app.mcp;
    let metadata = metadata_address(&app.names, request.headers());
    match auth::identify(&mcp.lists.board, request.headers(), &metadata).await {
        Ok(actor) => mcp.transport.serve(actor, request).await,
        Err(refused) => refused,
    }
}
