//! A Flightdeck whose MCP route offers what the public conformance suite asks for, instead of the tools of the board.
//!
//! The suite calls tools, prompts and resources of certain names that behave in certain ways. With them behind the door, it tests
//! everything that stands before the board's tools to its full length: transport, credentials, limits, both wires. Only tests
//! start this program; `cargo xtask test-clients` does.

#![expect(
    clippy::print_stdout,
    reason = "whoever started it reads where it listens"
)]

mod fixtures;

use anyhow::Context as _;
use server::config::Config;
use server::mcp::StandIn;
use server::serve::{Server, Variation};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .context("give the folder for its data")?;
    let vary = Variation {
        stand_in: Some(StandIn::new(fixtures::Fixtures::new()?)),
        without_runtime: true,
        ..Variation::default()
    };
    let server = Server::start_with(Config::for_data_dir(folder), vary).await?;
    println!("listening on {}", server.url());
    server.until_signal().await
}
