//! Starting everything in order, and stopping it in order.

use crate::accounts::Accounts;
use crate::assistant::Answers;
use crate::config::Config;
use crate::data_dir::{self, Lock};
use crate::delivery::ByTarget;
use crate::feed::Feed;
use crate::http::router;
use crate::jobs::{Jobs, Scheduler, Seams};
use crate::mcp::{self, Mcp, Patience};
use crate::names::Names;
use crate::pages::Models;
use crate::providers::{Providers, Watcher};
use crate::public_url::PublicUrl;
use crate::runtime::{Runtime, RuntimeConfig};
use crate::state::{AppState, RuntimeHealth};
use crate::{known_agents, pages};
use anyhow::{Context, bail};
use axum::serve::ListenerExt;
use board::{Board, Clock};
use domain::error::Refusal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long requests may take to end once the server stops.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// How often the runtime's numbers are looked at.
const OBSERVE: Duration = Duration::from_secs(2);

/// What tests set otherwise than `flightdeck serve` does.
#[derive(Debug, Clone, Default)]
pub struct Variation {
    /// The time; the machine's when left out.
    pub clock: Option<Clock>,
    /// See [`Patience`].
    pub patience: Patience,
    /// What makes and delivers the answers of AI jobs; what the settings say when left out.
    pub seams: Option<Seams>,
    /// Do not start the runtime: no agent is started, and a test reports what one would.
    pub without_runtime: bool,
    /// What answers at the MCP route; the board's tools when left out.
    pub stand_in: Option<mcp::StandIn>,
    /// The executable that offers `agent-guard` and `demo-agent`; this one when left out.
    pub exe: Option<PathBuf>,
}

/// A running server.
pub struct Server {
    addr: SocketAddr,
    board: Board,
    state: AppState,
    store: Store,
    runtime: Option<Arc<Runtime>>,
    scheduler: Scheduler,
    watcher: Watcher,
    serving: JoinHandle<std::io::Result<()>>,
    observing: JoinHandle<()>,
    joined: board::Joined,
    _lock: Lock,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Starts a server; when this returns it accepts connections.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        Self::start_with(config, Variation::default()).await
    }

    /// As [`Self::start`], with what a test wants otherwise.
    pub async fn start_with(config: Config, vary: Variation) -> anyhow::Result<Self> {
        let addr = address(&config.addr).await?;
        let exposed = !addr.ip().is_loopback();
        let lock = data_dir::lock(&config.data_dir)?;
        let node = data_dir::node_id(&config.data_dir)?;
        let exe = match vary.exe {
            Some(exe) => exe,
            None => std::env::current_exe().context("this program's own path cannot be found")?,
        };
        let locks = config.data_dir.join("locks");
        data_dir::create(&locks)?;
        let store = Store::open(&config.store_options())
            .await
            .context("the database cannot be opened")?;
        let clock = vary.clock.unwrap_or_else(Clock::system);
        let board = Board::new(store.clone(), clock.clone(), config.board_settings());
        if exposed && !board.has_operators().await.map_err(refused)? {
            bail!(
                "others than this machine can reach {addr}, and there is no operator's account yet: make one with \"flightdeck operator \
                 create --name NAME\" and start again, or listen on 127.0.0.1"
            );
        }
        // Before anything is read that another node may change.
        let joined = board.join_nodes().await.map_err(refused)?;
        prepare(&board, &node, &exe, &config).await?;

        let listener = TcpListener::bind(addr)
            .await
            .with_context(|| format!("the address {addr} cannot be listened on"))?;
        let addr = listener.local_addr()?;
        let shutdown = CancellationToken::new();
        let jobs = Jobs::new(
            board.clone(),
            &node,
            config.jobs.clone(),
            match vary.seams {
                Some(seams) => seams,
                None => seams(&config, &board, clock)?,
            },
        );
        let feed = Feed::start(board.clone(), shutdown.clone())
            .await
            .map_err(refused)?;
        let names = Arc::new(names(&config, exposed));
        let mut mcp = Mcp::new(
            board.clone(),
            names.clone(),
            &feed,
            config.run_waits(),
            config.native_tasks,
            vary.patience,
            &shutdown,
        );
        if let Some(stand_in) = &vary.stand_in {
            mcp = mcp.with(stand_in, vary.patience, &shutdown);
        }
        let state = AppState {
            jobs: jobs.clone(),
            models: Models::from(&config.models),
            mcp,
            feed,
            site: pages::site(config.site_dir.clone()),
            accounts: Arc::new(Accounts::new(board.clone(), exposed)),
            names,
            metrics: Arc::default(),
            runtime: Arc::new(RuntimeHealth::default()),
            shutdown: shutdown.clone(),
            board: board.clone(),
        };
        let serving = tokio::spawn(
            axum::serve(
                // A reply in one piece must not wait for the client to confirm the one before.
                listener.tap_io(|stream| {
                    let _ = stream.set_nodelay(true);
                }),
                router(state.clone()),
            )
            .with_graceful_shutdown(shutdown.clone().cancelled_owned())
            .into_future(),
        );
        let scheduler = Scheduler::start(jobs).await.map_err(refused)?;
        let providers = Providers::new(&config.providers)?;
        let watcher = Watcher::start(board.clone(), Arc::new(providers));
        let left = board.clone();
        tokio::spawn(async move { crate::assistant::finish_agreed(&left).await });
        // Agents reach the tools from the moment they are started, so they come after the door is open.
        let runtime = (!vary.without_runtime).then(|| {
            let tools = format!("http://{}{}", reached_from_here(addr), mcp::PATH);
            let mut runtime_config = RuntimeConfig::new(node, tools, exe, locks);
            runtime_config.cancel_grace = Duration::from_millis(config.cancel_grace_ms);
            Arc::new(Runtime::start(
                board.clone(),
                runtime_config,
                Arc::new(state.mcp.clone()),
            ))
        });
        state.runtime.set_running(true);
        let observing = tokio::spawn(observe(runtime.clone(), state.runtime.clone()));
        tracing::info!(%addr, data_dir = %config.data_dir.display(), "Flightdeck is running");
        Ok(Self {
            addr,
            board,
            state,
            store,
            runtime,
            scheduler,
            watcher,
            serving,
            observing,
            joined,
            _lock: lock,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The board behind it.
    #[must_use]
    pub const fn board(&self) -> &Board {
        &self.board
    }

    /// What its routes can reach.
    #[must_use]
    pub const fn state(&self) -> &AppState {
        &self.state
    }

    /// Runs until SIGTERM or SIGINT, then stops in good order; a second signal ends the process at once.
    pub async fn until_signal(self) -> anyhow::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        tokio::select! {
            () = self.stop() => Ok(()),
            _ = terminate.recv() => bail!("stopped at once, by a second signal"),
            _ = interrupt.recv() => bail!("stopped at once, by a second signal"),
        }
    }

    /// Takes no new connections, ends streams, ends the agents, waits for requests that are under way, and closes the database.
    pub async fn stop(self) {
        self.state.runtime.set_running(false);
        self.state.mcp.end_waits().await;
        self.state.shutdown.cancel();
        self.observing.abort();
        self.scheduler.stop().await;
        self.watcher.stop().await;
        // It holds the runtime; waiting for its end gives that back to us.
        let _ = self.observing.await;
        if let Some(runtime) = self.runtime.and_then(Arc::into_inner) {
            runtime.stop().await;
        }
        let mut serving = self.serving;
        match tokio::time::timeout(DRAIN_LIMIT, &mut serving).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::error!(%error, "the door did not close well"),
            Ok(Err(error)) => tracing::error!(%error, "the door did not close well"),
            Err(_) => {
                tracing::warn!("some requests did not end in time and were cut off");
                serving.abort();
            }
        }
        // What it hears with is one of the store's connections.
        drop(self.joined);
        self.store.close().await;
    }
}

/// Brings the database to where a node may begin: a workspace, the agents of this machine, and order after a crash.
async fn prepare(
    board: &Board,
    node: &str,
    exe: &std::path::Path,
    config: &Config,
) -> anyhow::Result<()> {
    board.ensure_workspace().await.map_err(refused)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let demo = known_agents::demo(exe, &config.data_dir);
    for problem in &config.models.problems {
        tracing::warn!("{problem}");
    }
    let assistant = known_agents::assistant(exe, &config.data_dir, &config.models);
    let offers = std::iter::once(demo)
        .chain(assistant)
        .chain(known_agents::found_on(&path));
    for offer in offers {
        board
            .agent_ensure(offer.agent, offer.mode)
            .await
            .map_err(refused)?;
    }
    let recovered = board.recover(node).await.map_err(refused)?;
    if recovered != board::Recovered::default() {
        tracing::info!(
            sessions = recovered.sessions,
            turns = recovered.turns,
            questions = recovered.questions,
            "brought into order what the last run left"
        );
    }
    Ok(())
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn signalled() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// What the settings say of models and of ways to users.
fn seams(config: &Config, board: &Board, clock: Clock) -> anyhow::Result<Seams> {
    let chain = ::assistant::Chain::new(&config.models)?;
    Ok(Seams {
        generate: Arc::new(Answers::new(board.clone(), chain)),
        deliver: Arc::new(ByTarget::new(config.delivery.clone(), clock)?),
        ..Seams::default()
    })
}

fn refused(error: board::BoardError) -> Refusal {
    crate::error::refusal_of(error)
}

/// Lets the routes know how many agents are live.
async fn observe(runtime: Option<Arc<Runtime>>, health: Arc<RuntimeHealth>) {
    let Some(runtime) = runtime else { return };
    let mut ticks = tokio::time::interval(OBSERVE);
    loop {
        ticks.tick().await;
        health.set_live_agents(runtime.live_agents());
    }
}

/// The address to listen on. A name that leads to this machine's loopback and elsewhere too is refused: which of them it will be
/// must not be left to chance.
async fn address(addr: &str) -> anyhow::Result<SocketAddr> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host(addr)
        .await
        .with_context(|| format!("the address \"{addr}\" cannot be understood: give HOST:PORT, such as 127.0.0.1:3000"))?
        .collect();
    let Some(first) = found.first() else {
        bail!("the address \"{addr}\" leads nowhere");
    };
    let loopback = first.ip().is_loopback();
    if found.iter().any(|addr| addr.ip().is_loopback() != loopback) {
        bail!(
            "the name in \"{addr}\" leads to this machine's loopback and to others: give an IP address"
        );
    }
    Ok(*first)
}

/// The address by which processes of this machine reach what listens on `addr`.
fn reached_from_here(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, addr.port())
}

fn names(config: &Config, exposed: bool) -> Names {
    let public = config.public_url.as_ref();
    Names {
        any: exposed,
        public: public.map(|url| url.authority().clone()),
        public_over_tls: public.is_some_and(PublicUrl::is_tls),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_a_host_and_a_port() {
        for good in ["127.0.0.1:0", "[::1]:3000", "localhost:0"] {
            assert!(address(good).await.unwrap().ip().is_loopback(), "{good}");
        }
        for exposed in ["0.0.0.0:3000", "[::]:0", "192.0.2.1:80"] {
            assert!(
                !address(exposed).await.unwrap().ip().is_loopback(),
                "{exposed}"
            );
        }
        assert!(address("3000").await.is_err());
    }

    #[test]
    fn agents_reach_a_server_that_listens_everywhere_by_loopback() {
        for (addr, here) in [
            ("0.0.0.0:3000", "127.0.0.1:3000"),
            ("[::]:3000", "[::1]:3000"),
            ("192.0.2.1:3000", "192.0.2.1:3000"),
            ("127.0.0.1:3000", "127.0.0.1:3000"),
        ] {
            assert_eq!(reached_from_here(addr.parse().unwrap()).to_string(), here);
        }
    }
}
