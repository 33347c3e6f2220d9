//! Repositories of workspaces, and which tasks are about which.

use super::extract::{Body, Caller, Id, Ids, Reply, Wire};
use super::route::Route;
use super::tasks::Done;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::{RepositoryId, TaskId, WorkspaceId};
use domain::repository::{
    AttachRepository, CreateRepository, KnownHost, Repository, UpdateRepository,
};
use domain::view::TaskView;
use http::StatusCode;
use serde::Serialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/workspaces/{id}/repositories", list)
            .says("The repositories of a workspace, oldest first.")
            .answers("RepositoryList"),
        Route::post("/workspaces/{id}/repositories", create)
            .says("Add a repository to a workspace: by its address, by provider and path, or by its folder.")
            .takes::<CreateRepository>()
            .creates("Repository"),
        Route::get("/providers", providers)
            .says("The servers of GitHub and GitLab that are reached, and whether a token is set for each.")
            .answers("ProviderList"),
        Route::patch("/repositories/{id}", update)
            .says("Change what a repository is called and where it is on this machine. Where it is with its provider stays.")
            .takes::<UpdateRepository>()
            .answers("Repository"),
        Route::delete("/repositories/{id}", delete)
            .says("Remove a repository. Refused while a task on the board is about it.")
            .answers("Done"),
        Route::post("/tasks/{id}/repositories", attach)
            .says("Make a task be about a repository. Its provider decides about the tools of the task's sessions.")
            .takes::<AttachRepository>()
            .answers("Task"),
        Route::delete("/tasks/{id}/repositories/{repository_id}", detach)
            .says("Take a repository from a task; again changes nothing.")
            .answers("Task"),
    ]
}

impl Wire for CreateRepository {
    const SCHEMA: &'static str = "CreateRepository";
}

impl Wire for UpdateRepository {
    const SCHEMA: &'static str = "UpdateRepository";
}

impl Wire for AttachRepository {
    const SCHEMA: &'static str = "AttachRepository";
}

#[derive(Serialize)]
struct RepositoryList {
    total: usize,
    repositories: Vec<Repository>,
}

#[derive(Serialize)]
struct ProviderList {
    total: usize,
    providers: Vec<KnownHost>,
}

fn providers(
    State(app): State<AppState>,
    Caller(actor): Caller,
) -> std::future::Ready<Reply<ProviderList>> {
    let listed = app.board.provider_list(&actor).map(|providers| {
        Json(ProviderList {
            total: providers.len(),
            providers,
        })
    });
    std::future::ready(listed.map_err(ApiError::from))
}

async fn list(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
) -> Reply<RepositoryList> {
    let repositories = app.board.repository_list(&actor, workspace).await?;
    Ok(Json(RepositoryList {
        total: repositories.len(),
        repositories,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Body(params): Body<CreateRepository>,
) -> Result<(StatusCode, Json<Repository>), ApiError> {
    let made = app
        .board
        .repository_create(&actor, workspace, &params)
        .await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(repository): Id<RepositoryId>,
    Body(params): Body<UpdateRepository>,
) -> Reply<Repository> {
    Ok(Json(
        app.board
            .repository_update(&actor, repository, &params)
            .await?,
    ))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(repository): Id<RepositoryId>,
) -> Reply<Done> {
    app.board.repository_delete(&actor, repository).await?;
    Ok(Done::reply())
}

async fn attach(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<AttachRepository>,
) -> Reply<TaskView> {
    Ok(Json(
        app.board.repository_attach(&actor, task, &params).await?,
    ))
}

async fn detach(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, repository): Ids<TaskId, RepositoryId>,
) -> Reply<TaskView> {
    Ok(Json(
        app.board
            .repository_detach(&actor, task, repository)
            .await?,
    ))
}
