//! `/permissions`: what agents ask to be allowed.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::PermissionId;
use domain::view::PermissionView;
use serde::Deserialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/permissions/{id}/respond", respond)
            .says("Choose one of the options that the agent offered. The first choice wins.")
            .takes::<Choice>()
            .answers("Permission"),
    ]
}

/// The option chosen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    option_id: String,
}

impl Wire for Choice {
    const SCHEMA: &'static str = "PermissionChoice";
}

async fn respond(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(permission): Id<PermissionId>,
    Body(choice): Body<Choice>,
) -> Reply<PermissionView> {
    Ok(Json(
        app.board
            .permission_respond(&actor, permission, &choice.option_id)
            .await?,
    ))
}
