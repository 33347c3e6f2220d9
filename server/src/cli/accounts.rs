//! `flightdeck token` and `flightdeck operator`.

use super::place::{Place, workspaces_named};
use super::tell;
use anyhow::{Context, bail};
use board::Actor;
use clap::{Args, Subcommand};
use domain::ids::TokenId;
use std::io::{BufRead, IsTerminal};

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
                    let within = if workspace.is_empty() {
                        None
                    } else {
                        Some(workspaces_named(board, &workspace).await?)
                    };
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
