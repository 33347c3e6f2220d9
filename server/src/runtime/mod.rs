//! The runtime: carries out what transitions asked for, and owns the live agents.
//!
//! One worker takes due follow-ups from the database; one actor per session carries them out in order. The actor is the guard
//! of its session: it alone starts, prompts, cancels and ends that session's agent, so two wishes can never race for one
//! process. Nothing here decides a status; every fact is reported to [`board::Board`], which does. Whatever is in memory may
//! be lost at any moment: after a restart the rows say what was under way.
//!
//! ```text
//! effects (rows) ──claim──▶ worker ──▶ actor of the session ──▶ agent process
//!       ▲                                  │      ▲
//!       └────────── Board ◀── reports ─────┘      └── events
//! ```

mod actor;
mod choices;
mod leases;
mod live;
mod patience;
mod scripts;
mod sessions;
mod transcript;
mod worker;

use board::Board;
use domain::ids::SessionId;
use futures::future::BoxFuture;
use sessions::Sessions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Secrets of this process that no agent and no script needs. Keys of models are left to agents: they may ask the same models.
const SECRETS: &[&str] = &[
    "DISCORD_BOT_TOKEN",
    "AI_AUTOPILOT_INTERNAL_KEY",
    "AI_AUTOPILOT_INTERNAL_KEY_PREVIOUS",
    "AI_WEBHOOK_SECRET",
];

/// What the runtime needs to know of its surroundings.
#[derive(Debug, Clone)]
pub struct RuntimeConfig {
    /// Name of this node; holds leases. Must be the same after a restart on the same data.
    pub node: String,
    /// Where agents reach the tools.
    pub mcp_url: String,
    /// The executable that offers `agent-guard`.
    pub guard_exe: PathBuf,
    /// An existing folder for the locks of conversations; one file a session.
    pub locks_dir: PathBuf,
    /// An agent that waits for input is ended after this long, when its conversation can be loaded again.
    pub idle_timeout: Duration,
    /// An agent that does not end its turn within this after a cancel is ended by force.
    pub cancel_grace: Duration,
    /// How long the start of an agent may take.
    pub start_timeout: Duration,
}

impl RuntimeConfig {
    /// The usual patience for a node.
    #[must_use]
    pub fn new(
        node: impl Into<String>,
        mcp_url: impl Into<String>,
        guard_exe: impl Into<PathBuf>,
        locks_dir: impl Into<PathBuf>,
    ) -> Self {
        Self {
            node: node.into(),
            mcp_url: mcp_url.into(),
            guard_exe: guard_exe.into(),
            locks_dir: locks_dir.into(),
            idle_timeout: Duration::from_secs(30 * 60),
            cancel_grace: Duration::from_secs(10),
            start_timeout: Duration::from_secs(5 * 60),
        }
    }
}

/// The seam to the MCP route: the tools of a session changed while its agent is live.
pub trait Tools: Send + Sync + 'static {
    /// Rebuilds the session's profile and tells its clients when it changed.
    fn refresh(&self, session: SessionId) -> BoxFuture<'static, ()>;
}

/// The running runtime.
pub struct Runtime {
    sessions: Arc<Sessions>,
    stop: CancellationToken,
    loops: Vec<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the loops. Call [`Board::recover`] for the node first.
    #[must_use]
    pub fn start(board: Board, config: RuntimeConfig, tools: Arc<dyn Tools>) -> Self {
        let stop = CancellationToken::new();
        let config = Arc::new(config);
        let sessions = Arc::new(Sessions::new(board.clone(), config.clone(), tools));
        let loops = vec![
            tokio::spawn(worker::effects(
                board.clone(),
                config.clone(),
                sessions.clone(),
                stop.clone(),
            )),
            tokio::spawn(scripts::cleaning(
                board.clone(),
                config.clone(),
                stop.clone(),
            )),
            tokio::spawn(leases::run(
                board.clone(),
                config,
                sessions.clone(),
                stop.clone(),
            )),
            tokio::spawn(worker::archiving(board.clone(), stop.clone())),
            tokio::spawn(worker::housekeeping(board, stop.clone())),
        ];
        Self {
            sessions,
            stop,
            loops,
        }
    }

    /// How many agents are live.
    #[must_use]
    pub fn live_agents(&self) -> usize {
        self.sessions.live_agents()
    }

    /// Ends all agents and waits until they are gone. Their sessions are found interrupted at the next start.
    pub async fn stop(self) {
        self.stop.cancel();
        for task in self.loops {
            // A loop that panicked has nothing left to stop.
            let _ = task.await;
        }
        self.sessions.stop().await;
    }
}
