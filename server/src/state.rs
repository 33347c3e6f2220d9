//! What every route can reach.

use crate::accounts::Accounts;
use crate::feed::Feed;
use crate::jobs::Jobs;
use crate::mcp::Mcp;
use crate::metrics::Metrics;
use crate::names::Names;
use crate::pages::{Models, Site};
use axum::extract::FromRef;
use board::Board;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;

/// What every route can reach. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AppState {
    /// The only thing that doors call.
    pub board: Board,
    /// The event feed.
    pub feed: Feed,
    /// AI jobs.
    pub jobs: Jobs,
    /// What is known of the models.
    pub models: Models,
    /// The tools.
    pub mcp: Mcp,
    /// The web app's files.
    pub site: Arc<Site>,
    /// Who is signed in.
    pub accounts: Arc<Accounts>,
    /// Under which names the server answers.
    pub names: Arc<Names>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How the runtime does.
    pub runtime: Arc<RuntimeHealth>,
    /// Ends what would never end by itself.
    pub shutdown: CancellationToken,
}

impl FromRef<AppState> for Mcp {
    fn from_ref(app: &AppState) -> Self {
        app.mcp.clone()
    }
}

/// What the runtime lets others know of itself.
#[derive(Debug, Default)]
pub struct RuntimeHealth {
    running: AtomicBool,
    live_agents: AtomicUsize,
}

impl RuntimeHealth {
    /// The runtime was started, or is being stopped.
    pub fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Relaxed);
    }

    /// Whether follow-ups are carried out.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    /// Notes how many agents are live.
    pub fn set_live_agents(&self, count: usize) {
        self.live_agents.store(count, Ordering::Relaxed);
    }

    /// How many agents were live when last noted.
    #[must_use]
    pub fn live_agents(&self) -> usize {
        self.live_agents.load(Ordering::Relaxed)
    }
}
