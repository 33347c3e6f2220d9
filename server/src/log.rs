//! The log, on standard error. `RUST_LOG` chooses what is written.

use crate::config::LogFormat;
use crate::diagnostics::Recorder;
use anyhow::anyhow;
use std::io::IsTerminal;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Ours in full measure, the libraries only when something is amiss. The MCP library takes each client that hangs up for an
/// error of its own; what matters of that we log ourselves.
const USUAL: &str =
    "warn,rmcp=off,server=info,board=info,store=info,agents=info,app=info,assistant=info";

/// Starts logging for the whole process; once.
pub fn init(format: LogFormat) -> anyhow::Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.trim().is_empty() => {
            EnvFilter::try_new(&text).map_err(|error| anyhow!("RUST_LOG is not right: {error}"))?
        }
        Ok(_) | Err(_) => EnvFilter::new(USUAL),
    };
    let lines = fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(Recorder::of_process())
        .try_init()
        .map_err(|error| anyhow!("logging cannot be started: {error}"))
}
