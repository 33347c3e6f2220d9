//! Pull and merge requests that tasks care for.

use super::extract::{Body, Caller, Id, Ids, Reply, Wire};
use super::route::Route;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use board::RequestTarget;
use domain::change_request::{ChangeRequestView, UpdateAutomation};
use domain::ids::{ChangeRequestId, RepositoryId, TaskId};
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks/{id}/change-requests", list)
            .says("The pull and merge requests that a task cares for, and what is done about them by itself.")
            .answers("ChangeRequestList"),
        Route::patch("/tasks/{id}/change-requests", automate)
            .says("Change what is done about a request by itself. The task cares for it from then on. What is left out stays.")
            .takes::<AutomateRequest>()
            .answers("ChangeRequestList"),
        Route::delete("/tasks/{id}/change-requests/{change_request_id}", forget)
            .says("Let a task no longer care for a request; again changes nothing.")
            .answers("ChangeRequestList"),
    ]
}

/// Which request, and what is to change.
#[derive(Debug, Deserialize)]
struct AutomateRequest {
    repository_id: RepositoryId,
    number: i64,
    #[serde(flatten)]
    change: UpdateAutomation,
}

impl Wire for AutomateRequest {
    const SCHEMA: &'static str = "AutomateRequest";
}

#[derive(Serialize)]
struct ChangeRequestList {
    task_id: TaskId,
    total: usize,
    requests: Vec<ChangeRequestView>,
}

fn reply(task_id: TaskId, requests: Vec<ChangeRequestView>) -> Json<ChangeRequestList> {
    Json(ChangeRequestList {
        task_id,
        total: requests.len(),
        requests,
    })
}

async fn list(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<ChangeRequestList> {
    let requests = app.board.change_requests(&actor, task, None).await?;
    Ok(reply(task, requests))
}

async fn automate(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(body): Body<AutomateRequest>,
) -> Reply<ChangeRequestList> {
    let target = RequestTarget::One {
        provider: None,
        repository: body.repository_id,
        project_path: None,
        number: body.number,
    };
    let requests = app
        .board
        .change_request_automate(&actor, task, target, &body.change)
        .await?;
    Ok(reply(task, requests))
}

async fn forget(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, request): Ids<TaskId, ChangeRequestId>,
) -> Reply<ChangeRequestList> {
    let requests = app
        .board
        .change_request_forget(&actor, task, request)
        .await?;
    Ok(reply(task, requests))
}
