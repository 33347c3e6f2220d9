//! What the commands that look after data have in common. They work on the data itself, beside a running server too: whoever has
//! it is the operator already.

use crate::config::{Config, Overrides};
use crate::data_dir;
use board::{Actor, Board, BoardError, Clock};
use clap::Args;
use domain::error::Refusal;
use domain::ids::WorkspaceId;
use std::path::PathBuf;
use store::Store;

/// Which data.
#[derive(Debug, Args)]
pub(super) struct Place {
    /// Folder of the server's data
    #[arg(long, value_name = "DIR", env = "FLIGHTDECK_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// The server's database, when it is not the one in its data folder
    #[arg(
        long,
        value_name = "URL",
        env = "FLIGHTDECK_DATABASE_URL",
        hide_env_values = true
    )]
    database_url: Option<String>,
    /// Settings file; flightdeck.toml in the current folder when there is one
    #[arg(long, value_name = "FILE", env = "FLIGHTDECK_CONFIG")]
    config: Option<PathBuf>,
}

impl Place {
    /// Does something with the board there. Without the server's lock: it may be running.
    pub(super) async fn with<T>(
        self,
        work: impl AsyncFnOnce(&Board) -> board::Result<T>,
    ) -> anyhow::Result<T> {
        let config = Config::load(Overrides {
            data_dir: self.data_dir,
            database_url: self.database_url,
            config: self.config,
            ..Overrides::default()
        })?;
        data_dir::create(&config.data_dir)?;
        let store = Store::open(&config.store_options()).await?;
        let board = Board::new(store.clone(), Clock::system(), config.board_settings());
        let done = work(&board).await;
        store.close().await;
        Ok(done.map_err(BoardError::into_refusal)?)
    }
}

/// The workspaces that were named by their ids or names.
pub(super) async fn workspaces_named(
    board: &Board,
    wanted: &[String],
) -> board::Result<Vec<WorkspaceId>> {
    let known = board.workspace_list(&Actor::Operator).await?;
    let known: Vec<_> = known
        .iter()
        .map(|one| (one.id, one.name.as_str()))
        .collect();
    let found = wanted
        .iter()
        .map(|wanted| one_named(&known, "workspace", wanted));
    Ok(found.collect::<Result<_, _>>()?)
}

/// The one of `known` that goes by this id or name; `noun` is what it is.
pub(super) fn one_named<Id: Copy + std::fmt::Display>(
    known: &[(Id, &str)],
    noun: &str,
    wanted: &str,
) -> Result<Id, Refusal> {
    let wanted = wanted.trim();
    let mut fitting = known
        .iter()
        .filter(|(id, name)| *name == wanted || id.to_string() == wanted);
    match (fitting.next(), fitting.next()) {
        (Some((id, _)), None) => Ok(*id),
        (Some(_), Some(_)) => Err(Refusal::validation(format!(
            "several {noun}s have this name: name the one you mean by its id"
        ))),
        (None, _) => Err(Refusal::not_found(noun)),
    }
}
