//! `flightdeck token` and `flightdeck operator`. They work on the data itself, beside a running server too: whoever has it is the
//! operator already.

use super::say;
use crate::config::{Config, Overrides};
use crate::data_dir;
use anyhow::{Context, bail};
use board::{Actor, Board, BoardError, Clock};
use clap::{Args, Subcommand};
use domain::error::Refusal;
use domain::ids::{TokenId, WorkspaceId};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use store::Store;

/// What can be done with access tokens.
#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Make an access token and print it, alone on the last line; it cannot be shown again
    Create {
        /// Which client the token is for
        #[arg(long)]
        name: String,
        /// A workspace that it is to reach, by its id or its name; again for more of them. Without any it reaches all
        #[arg(long)]
        workspace: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// List the access tokens: id, when made, when last used, what it reaches, name
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Revoke an access token
    Revoke {
        /// Its id, as `list` shows it
        id: String,
        #[command(flatten)]
        place: Place,
    },
}

/// What can be done with accounts.
#[derive(Debug, Subcommand)]
pub(super) enum OperatorCommand {
    /// Make an account; its password is asked for, or read from the first line of standard input
    Create(Named),
    /// List the accounts: when made, when last signed in, name
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Give an account another password, which signs its browsers out
    Password(Named),
    /// Take an account away, which signs its browsers out
    Remove(Named),
}

/// Whose account.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The name to sign in with
    #[arg(long)]
    name: String,
    #[command(flatten)]
    place: Place,
}

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
    async fn with<T>(
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

pub(super) async fn token(command: TokenCommand) -> anyhow::Result<()> {
    let operator = &Actor::Operator;
    match command {
        TokenCommand::Create {
            name,
            workspace,
            place,
        } => {
            let made = place
                .with(async |board| {
                    let within = named(board, &workspace).await?;
                    board
                        .token_create_within(operator, &name, within.as_deref())
                        .await
                })
                .await?;
            tell(&format!(
                "Access token for \"{}\", to be sent as \"Authorization: Bearer …\". It is not shown again:\n{}",
                made.info.name, made.token
            ));
        }
        TokenCommand::List { place } => {
            let tokens = place
                .with(async |board| board.token_list(operator).await)
                .await?;
            for token in tokens {
                let state = match (token.revoked_at, token.last_used_at) {
                    (Some(at), _) => format!("revoked {at}"),
                    (None, Some(at)) => format!("used {at}"),
                    (None, None) => "never used".to_owned(),
                };
                let reach = match &token.workspaces {
                    None => "all workspaces".to_owned(),
                    Some(some) => {
                        let names: Vec<&str> = some.iter().map(|w| w.name.as_str()).collect();
                        format!("only {}", names.join(", "))
                    }
                };
                tell(&format!(
                    "{}  made {}  {state}  {reach}  {}",
                    token.id, token.created_at, token.name
                ));
            }
        }
        TokenCommand::Revoke { id, place } => {
            let id: TokenId = id.parse()?;
            place
                .with(async |board| board.token_revoke(operator, id).await)
                .await?;
            tell("Revoked: the next call with this token is refused.");
        }
    }
    Ok(())
}

/// The workspaces that were named by their ids or names; nothing named is no limit.
async fn named(board: &Board, wanted: &[String]) -> board::Result<Option<Vec<WorkspaceId>>> {
    if wanted.is_empty() {
        return Ok(None);
    }
    let known = board.workspace_list(&Actor::Operator).await?;
    let mut found = Vec::new();
    for wanted in wanted {
        let wanted = wanted.trim();
        let mut fitting = known
            .iter()
            .filter(|workspace| workspace.name == wanted || workspace.id.to_string() == wanted);
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => found.push(one.id),
            (Some(_), Some(_)) => {
                return Err(Refusal::validation(
                    "several workspaces have this name: name the one you mean by its id",
                )
                .into());
            }
            (None, _) => return Err(Refusal::not_found("workspace").into()),
        }
    }
    Ok(Some(found))
}

pub(super) async fn operator(command: OperatorCommand) -> anyhow::Result<()> {
    let operator = &Actor::Operator;
    match command {
        OperatorCommand::Create(Named { name, place }) => {
            let password = password()?;
            let made = place
                .with(async |board| board.operator_create(operator, &name, &password).await)
                .await?;
            tell(&format!(
                "\"{}\" can sign in now, and from now on everybody has to.",
                made.name
            ));
        }
        OperatorCommand::List { place } => {
            let operators = place
                .with(async |board| board.operator_list(operator).await)
                .await?;
            for one in operators {
                let seen = one.last_signed_in_at.map_or_else(
                    || "never signed in".to_owned(),
                    |at| format!("signed in {at}"),
                );
                tell(&format!("made {}  {seen}  {}", one.created_at, one.name));
            }
        }
        OperatorCommand::Password(Named { name, place }) => {
            let password = password()?;
            place
                .with(async |board| {
                    board
                        .operator_set_password(operator, &name, &password)
                        .await
                })
                .await?;
            tell(
                "The password is changed, and browsers that were signed in by the old one are not any more.",
            );
        }
        OperatorCommand::Remove(Named { name, place }) => {
            place
                .with(async |board| board.operator_remove(operator, &name).await)
                .await?;
            tell("The account is gone, and its browsers are signed out.");
        }
    }
    Ok(())
}

/// Asks a person twice, without showing what is typed, or reads a program's first line.
fn password() -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        let mut line = String::new();
        std::io::stdin()
            .lock()
            .read_line(&mut line)
            .context("the password could not be read from standard input")?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("Once more: ")? != password {
        bail!("the two are not the same: nothing was changed, try again");
    }
    Ok(password)
}

fn tell(line: &str) {
    say(std::io::stdout(), line);
}
