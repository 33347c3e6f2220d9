//! Settings: the tokens of outside clients, and who may sign in.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::TokenId;
use domain::operator::{NewToken, OperatorView, TokenView};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// What the page of settings shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// The tokens that count, newest first, and after them those that were revoked.
    pub tokens: Vec<TokenView>,
    /// Who may sign in; nobody, as long as the person at the machine is the operator.
    pub operators: Vec<OperatorView>,
}

/// What the page begins with.
#[server(prefix = "/api/page", endpoint = "settings", input = Json)]
pub async fn settings_open() -> Result<SettingsView, AppError> {
    let door = Door::open()?;
    let mut tokens = door.answer(door.board.token_list(&door.actor).await)?;
    tokens.sort_by_key(|token| token.revoked_at.is_some());
    Ok(SettingsView {
        tokens,
        operators: door.answer(door.board.operator_list(&door.actor).await)?,
    })
}

/// Makes an access token; it cannot be read again.
#[server(prefix = "/api/page", endpoint = "tokens/create", input = Json)]
pub async fn token_create(name: String) -> Result<NewToken, AppError> {
    let door = Door::open()?;
    door.answer(door.board.token_create(&door.actor, &name).await)
}

/// Revokes an access token.
#[server(prefix = "/api/page", endpoint = "tokens/revoke", input = Json)]
pub async fn token_revoke(id: TokenId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.token_revoke(&door.actor, id).await)
}
