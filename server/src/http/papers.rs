//! Walkthroughs and review findings of tasks.

use super::extract::{Caller, Id, Reply};
use super::route::Route;
use super::tasks::Deleted;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::error::Refusal;
use domain::ids::{FindingId, TaskId};
use domain::review::{Finding, FindingStatus};
use domain::walkthrough::Walkthrough;
use serde::Serialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks/{id}/walkthrough", walkthrough)
            .says("The walkthrough that a task shows. 404 when it shows none.")
            .answers("Walkthrough"),
        Route::delete("/tasks/{id}/walkthrough", delete)
            .says("Remove a task's walkthrough.")
            .answers("WalkthroughDeleted"),
        Route::get("/tasks/{id}/review-findings", findings)
            .says("What reviews of a task found, oldest first, resolved ones too.")
            .answers("FindingList"),
        Route::post("/review-findings/{id}/resolve", resolve)
            .says("Say that a finding is dealt with. Again changes nothing.")
            .answers("Finding"),
        Route::post("/review-findings/{id}/reopen", reopen)
            .says("Say that a finding is not dealt with after all.")
            .answers("Finding"),
    ]
}

#[derive(Serialize)]
struct FindingList {
    task_id: TaskId,
    total: usize,
    open: usize,
    findings: Vec<Finding>,
}

async fn walkthrough(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Walkthrough> {
    let found = app.board.walkthrough_find(&actor, task).await?;
    Ok(Json(found.ok_or_else(|| {
        Refusal::missing("the task shows no walkthrough: its agent can show one")
    })?))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Deleted> {
    let deleted = app.board.walkthrough_delete(&actor, task).await?;
    Ok(Deleted::reply(deleted))
}

async fn findings(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<FindingList> {
    let findings = app.board.findings_list(&actor, task).await?;
    Ok(Json(FindingList {
        task_id: task,
        total: findings.len(),
        open: findings
            .iter()
            .filter(|finding| finding.status == FindingStatus::Open)
            .count(),
        findings,
    }))
}

async fn resolve(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(finding): Id<FindingId>,
) -> Reply<Finding> {
    let resolved = FindingStatus::Resolved;
    Ok(Json(
        app.board
            .finding_set_status(&actor, finding, resolved)
            .await?,
    ))
}

async fn reopen(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(finding): Id<FindingId>,
) -> Reply<Finding> {
    let open = FindingStatus::Open;
    Ok(Json(
        app.board.finding_set_status(&actor, finding, open).await?,
    ))
}
