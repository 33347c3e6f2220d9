//! `/access-tokens`: the tokens of outside clients.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::{TokenId, WorkspaceId};
use domain::operator::{NewToken, TokenView};
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/access-tokens", list)
            .says("The access tokens of outside clients, newest first, also those that were revoked. What they are is not shown again.")
            .answers("AccessTokenList"),
        Route::post("/access-tokens", create)
            .says("Makes an access token. The answer is the only place where it can be read.")
            .takes::<CreateToken>()
            .creates("NewAccessToken"),
        Route::delete("/access-tokens/{id}", revoke)
            .says("Revokes an access token: the next call with it is refused.")
            .answers_nothing(),
    ]
}

#[derive(Debug, Serialize)]
struct Tokens {
    total: usize,
    tokens: Vec<TokenView>,
}

/// Which client a token is for, and what it reaches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateToken {
    name: String,
    #[serde(default)]
    workspace_ids: Option<Vec<WorkspaceId>>,
}

impl Wire for CreateToken {
    const SCHEMA: &'static str = "CreateAccessToken";
}

async fn list(State(app): State<AppState>, Caller(actor): Caller) -> Reply<Tokens> {
    let tokens = app.board.token_list(&actor).await?;
    Ok(Json(Tokens {
        total: tokens.len(),
        tokens,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(create): Body<CreateToken>,
) -> Result<(StatusCode, Json<NewToken>), ApiError> {
    let within = create.workspace_ids.as_deref();
    let made = app
        .board
        .token_create_within(&actor, &create.name, within)
        .await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn revoke(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(id): Id<TokenId>,
) -> Result<StatusCode, ApiError> {
    app.board.token_revoke(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
