//! `/clarification`: questions of agents to their operator.

use super::extract::{Body, Caller, Id, Query, Reply, Wire};
use super::route::{Parameter, Route};
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::clarification::ClarificationAnswer;
use domain::ids::ClarificationId;
use domain::view::{ClarificationOutcome, ClarificationView, MessageOutcome};
use serde::Deserialize;
use std::time::Duration;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/clarification/{id}", get)
            .says("A bundle of questions, open or over, with the recorded result.")
            .answers("Clarification"),
        Route::get("/clarification/{id}/wait", wait)
            .says("As above, once the bundle is over or the time given is, whichever comes first.")
            .asks(WAIT)
            .answers("Clarification"),
        Route::post("/clarification/{id}/cancel", cancel)
            .says("Withdraw a bundle: a call that waits for it returns with nothing answered.")
            .answers("Clarification"),
        Route::post("/clarification/{id}/say", say)
            .says("Say the answer to a bundle that has expired as an ordinary message to its session.")
            .takes::<ClarificationAnswer>()
            .answers("MessageOutcome"),
        Route::post("/clarification/{id}/respond", respond)
            .says(
                "Answer all questions of a bundle together, or skip it. The first answer wins; a later one gets claimed: false. \
                 When no call waits for it, it answers once the agent has taken the answer.",
            )
            .takes::<ClarificationAnswer>()
            .answers("ClarificationOutcome"),
    ]
}

const WAIT: &[Parameter] = &[Parameter {
    name: "timeout_ms",
    schema: r#"{"type":"integer","minimum":0,"maximum":60000}"#,
    description: "How long to wait at most; 30,000 when left out.",
}];

/// How long a wait is when nothing is said, and at most: proxies give quiet requests up.
const USUAL_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WaitQuery {
    timeout_ms: Option<u64>,
}

impl Wire for ClarificationAnswer {
    const SCHEMA: &'static str = "ClarificationAnswer";
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(bundle): Id<ClarificationId>,
) -> Reply<ClarificationView> {
    Ok(Json(app.board.clarification_get(&actor, bundle).await?))
}

async fn wait(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(bundle): Id<ClarificationId>,
    Query(query): Query<WaitQuery>,
) -> Reply<ClarificationView> {
    let patience = query
        .timeout_ms
        .map_or(USUAL_WAIT, Duration::from_millis)
        .min(LONGEST_WAIT);
    Ok(Json(
        app.board
            .clarification_await(&actor, bundle, patience)
            .await?,
    ))
}

async fn cancel(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(bundle): Id<ClarificationId>,
) -> Reply<ClarificationView> {
    Ok(Json(app.board.clarification_cancel(&actor, bundle).await?))
}

async fn say(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(bundle): Id<ClarificationId>,
    Body(answer): Body<ClarificationAnswer>,
) -> Reply<MessageOutcome> {
    Ok(Json(
        app.board.clarification_say(&actor, bundle, &answer).await?,
    ))
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
