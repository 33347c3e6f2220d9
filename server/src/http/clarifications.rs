//! `/clarification`: questions of agents to their operator.

use super::extract::{Body, Caller, Id, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::clarification::ClarificationAnswer;
use domain::ids::ClarificationId;
use domain::view::ClarificationOutcome;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/clarification/{id}/respond", respond)
            .says("Answer all questions of a bundle together, or skip it. The first answer wins; a later one gets claimed: false.")
            .takes::<ClarificationAnswer>()
            .answers("ClarificationOutcome"),
    ]
}

impl Wire for ClarificationAnswer {
    const SCHEMA: &'static str = "ClarificationAnswer";
}

async fn respond(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(bundle): Id<ClarificationId>,
    Body(answer): Body<ClarificationAnswer>,
) -> Reply<ClarificationOutcome> {
    Ok(Json(
        app.board
            .clarification_respond(&actor, bundle, &answer)
            .await?,
    ))
}
