//! The log, on standard error. `RUST_LOG` chooses what is written.

use crate::config::LogFormat;
use anyhow::anyhow;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// Ours in full measure, the libraries only when something is amiss. The MCP library takes each client that hangs up for an
/// error of its own; what matters of that we log ourselves.
const USUAL: &str = "warn,rmcp=off,server=info,board=info,store=info,agents=info,app=info";

/// Starts logging for the whole process; once.
pub fn init(format: LogFormat) -> anyhow::Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(text) if !text.trim().is_empty() => {
            EnvFilter::try_new(&text).map_err(|error| anyhow!("RUST_LOG is not right: {error}"))?
        }
        Ok(_) | Err(_) => EnvFilter::new(USUAL),
    };
    let lines = fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().try_init(),
    }
    .map_err(|error| anyhow!("logging cannot be started: {error}"))
}
