//! The subcommands of `flightdeck`.

mod accounts;
mod exchange;
mod place;

use crate::config::{Config, LogFormat, Overrides};
use crate::jobs::worker::{Worker, WorkerConfig};
use crate::{assistant, log, serve};
use accounts::{OperatorCommand, TokenCommand};
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A self-hosted board on which operators delegate work to coding agents.
#[derive(Debug, Parser)]
#[command(
    name = "flightdeck",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server: web app, JSON API, MCP route and the agents
    Serve(Box<ServeArgs>),
    /// Be the demo agent: a scripted coding agent that speaks ACP on standard input and output
    DemoAgent(DemoArgs),
    /// Have a server's AI jobs run: needs its address and the internal key, keeps nothing, may be killed at any moment
    Worker(WorkerArgs),
    /// Be the assistant: an agent that speaks ACP on standard input and output and asks the models of the environment
    AssistantAgent(AssistantArgs),
    /// Manage access tokens of outside MCP clients
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Manage the accounts of operators; without any, the person at the machine is the operator
    Operator {
        #[command(subcommand)]
        command: OperatorCommand,
    },
    /// Write workflows out as a document that another Flightdeck imports
    Export(exchange::ExportArgs),
    /// Make the workflows of a document
    Import(exchange::ImportArgs),
    /// Run an agent so that it ends together with whoever started it
    #[command(hide = true)]
    AgentGuard {
        /// The command and its arguments, after `--`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
struct ServeArgs {
    #[command(flatten)]
    settings: Overrides,
    /// Print the settings in force, as a flightdeck.toml, and end
    #[arg(long)]
    print_config: bool,
}

#[derive(Debug, Args)]
struct WorkerArgs {
    /// Address of the server, such as http://127.0.0.1:3000
    #[arg(long, value_name = "URL", env = "SPACEBOT_API_BASE")]
    api_base: Option<String>,
    /// The server's internal key
    #[arg(
        long,
        value_name = "KEY",
        env = "AI_AUTOPILOT_INTERNAL_KEY",
        hide_env_values = true
    )]
    key: Option<String>,
    /// Jobs asked for at once [default: 4]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_JOBS_CONCURRENCY")]
    concurrency: Option<u16>,
    /// How log lines look; RUST_LOG chooses which are written
    #[arg(long, value_name = "FORMAT", env = "FLIGHTDECK_LOG_FORMAT")]
    log_format: Option<LogFormat>,
}

#[derive(Debug, Args)]
struct DemoArgs {
    /// Folder in which conversations are kept, so that they can be resumed
    #[arg(long, value_name = "DIR")]
    history_dir: Option<PathBuf>,
    /// Milliseconds to wait before a child's question is answered
    #[arg(long, value_name = "MS")]
    answer_delay_ms: Option<u64>,
    /// Milliseconds to wait before each step of a script
    #[arg(long, value_name = "MS")]
    step_delay_ms: Option<u64>,
    /// Say that MCP servers over HTTP cannot be used
    #[arg(long)]
    no_http_mcp: bool,
    /// Say that conversations cannot be loaded again
    #[arg(long)]
    no_load_session: bool,
    /// Ask for a login instead of opening a conversation
    #[arg(long)]
    auth_required: bool,
}

#[derive(Debug, Args)]
struct AssistantArgs {
    /// Folder in which conversations are kept, so that they can be resumed
    #[arg(long, value_name = "DIR")]
    history_dir: Option<PathBuf>,
}

/// Reads the command line and does what it says.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => run_serve(*args),
        Command::Worker(args) => run_worker(args),
        Command::Token { command } => block_on(accounts::token(command)),
        Command::Operator { command } => block_on(accounts::operator(command)),
        Command::Export(args) => block_on(exchange::export(args)),
        Command::Import(args) => block_on(exchange::import(args)),
        // All of these read standard input from a thread that nothing can end: hence the exit.
        Command::DemoAgent(args) => match block_on(agents::demo::run(demo_options(args))) {
            Ok(()) => std::process::exit(0),
            Err(error) => Err(error),
        },
        Command::AssistantAgent(args) => match run_assistant(args) {
            Ok(()) => std::process::exit(0),
            Err(error) => Err(error),
        },
        Command::AgentGuard { command } => {
            match block_on(async { Ok(agents::guard::run(command).await) }) {
                Ok(code) => std::process::exit(code),
                Err(error) => Err(error),
            }
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(std::io::stderr(), &format!("flightdeck: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run_serve(args: ServeArgs) -> anyhow::Result<()> {
    let config = Config::load(args.settings)?;
    if args.print_config {
        say(std::io::stdout(), config.to_toml()?.trim_end());
        return Ok(());
    }
    log::init(config.log_format)?;
    block_on(async {
        let server = serve::Server::start(config).await?;
        say(std::io::stdout(), &format!("listening on {}", server.url()));
        server.until_signal().await
    })
}

fn run_worker(args: WorkerArgs) -> anyhow::Result<()> {
    log::init(args.log_format.unwrap_or_default())?;
    let worker = Worker::new(WorkerConfig {
        api_base: args.api_base.unwrap_or_default(),
        key: args.key.unwrap_or_default(),
        concurrency: usize::from(args.concurrency.unwrap_or(4).max(1)),
    })?;
    block_on(async {
        let stop = CancellationToken::new();
        let running = worker.run(stop.clone());
        tokio::pin!(running);
        tokio::select! {
            () = &mut running => return Ok(()),
            signal = serve::signalled() => signal?,
        }
        stop.cancel();
        tokio::select! {
            () = running => {}
            // The runs go on at the server.
            signal = serve::signalled() => signal?,
        }
        Ok(())
    })
}

fn run_assistant(args: AssistantArgs) -> anyhow::Result<()> {
    log::init(LogFormat::default())?;
    block_on(assistant::agent::run(args.history_dir))
}

fn demo_options(args: DemoArgs) -> agents::demo::Options {
    let usual = agents::demo::Options::default();
    agents::demo::Options {
        history_dir: args.history_dir,
        answer_delay: args
            .answer_delay_ms
            .map_or(usual.answer_delay, Duration::from_millis),
        step_delay: args
            .step_delay_ms
            .map_or(usual.step_delay, Duration::from_millis),
        http_mcp: !args.no_http_mcp,
        load_session: !args.no_load_session,
        auth_required: args.auth_required,
    }
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

/// A line for whoever started us. That nobody reads it is no reason to fail.
pub(crate) fn say(mut out: impl Write, line: &str) {
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A line of what a command gives.
fn tell(line: &str) {
    say(std::io::stdout(), line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn the_guard_passes_on_flags_that_look_like_ours() {
        let parsed = Cli::parse_from(["flightdeck", "agent-guard", "--", "agent", "--version"]);
        let Command::AgentGuard { command } = parsed.command else {
            panic!("not the guard");
        };
        assert_eq!(command, ["agent", "--version"]);
    }
}
