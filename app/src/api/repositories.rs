//! Repositories of workspaces, what tasks are about, and the pull and merge requests that they care for.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
#[cfg(feature = "ssr")]
use board::RequestTarget;
use domain::change_request::{ChangeRequestView, UpdateAutomation};
use domain::ids::{ChangeRequestId, RepositoryId, TaskId, WorkspaceId};
use domain::repository::{
    AttachRepository, CreateRepository, KnownHost, Repository, RepositoryUse, UpdateRepository,
};
use domain::view::TaskView;
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// What there is to know beside the task itself of the code that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCode {
    /// The repositories of its workspace, oldest first.
    pub known: Vec<Repository>,
    /// The requests that it cares for, oldest first.
    pub requests: Vec<ChangeRequestView>,
    /// The servers of providers that are reached.
    pub providers: Vec<KnownHost>,
}

/// See [`TaskCode`].
#[server(prefix = "/api/page", endpoint = "task/code", input = Json)]
pub async fn code_of_task(task: TaskId, workspace: WorkspaceId) -> Result<TaskCode, AppError> {
    let door = Door::open()?;
    Ok(TaskCode {
        known: door.answer(door.board.repository_list(&door.actor, workspace).await)?,
        requests: door.answer(door.board.change_requests(&door.actor, task, None).await)?,
        providers: door.answer(door.board.provider_list(&door.actor))?,
    })
}

/// Makes a task be about a repository.
#[server(prefix = "/api/page", endpoint = "task/repository/attach", input = Json)]
pub async fn repository_attach(
    task: TaskId,
    params: AttachRepository,
) -> Result<TaskView, AppError> {
    let door = Door::open()?;
    let attached = door.board.repository_attach(&door.actor, task, &params);
    door.answer(attached.await)
}

/// Takes a repository from a task.
#[server(prefix = "/api/page", endpoint = "task/repository/detach", input = Json)]
pub async fn repository_detach(
    task: TaskId,
    repository: RepositoryId,
) -> Result<TaskView, AppError> {
    let door = Door::open()?;
    let detached = door.board.repository_detach(&door.actor, task, repository);
    door.answer(detached.await)
}

/// Changes what is done by itself about a request, for which the task cares from then on.
#[server(prefix = "/api/page", endpoint = "task/request", input = Json)]
pub async fn change_request_automate(
    task: TaskId,
    repository: RepositoryId,
    number: i64,
    change: UpdateAutomation,
) -> Result<Vec<ChangeRequestView>, AppError> {
    let door = Door::open()?;
    let target = RequestTarget::One {
        provider: None,
        repository,
        project_path: None,
        number,
    };
    let changed = door
        .board
        .change_request_automate(&door.actor, task, target, &change);
    door.answer(changed.await)
}

/// Lets a task no longer care for a request.
#[server(prefix = "/api/page", endpoint = "task/request/forget", input = Json)]
pub async fn change_request_forget(
    task: TaskId,
    request: ChangeRequestId,
) -> Result<Vec<ChangeRequestView>, AppError> {
    let door = Door::open()?;
    let left = door
        .board
        .change_request_forget(&door.actor, task, request)
        .await;
    door.answer(left)
}

/// The repositories of a workspace, oldest first.
#[server(prefix = "/api/page", endpoint = "repositories", input = Json)]
pub async fn repository_list(workspace: WorkspaceId) -> Result<Vec<Repository>, AppError> {
    let door = Door::open()?;
    door.answer(door.board.repository_list(&door.actor, workspace).await)
}

/// Adds a repository to a workspace.
#[server(prefix = "/api/page", endpoint = "repositories/create", input = Json)]
pub async fn repository_create(
    workspace: WorkspaceId,
    params: CreateRepository,
) -> Result<Repository, AppError> {
    let door = Door::open()?;
    let made = door
        .board
        .repository_create(&door.actor, workspace, &params)
        .await;
    door.answer(made)
}

/// Changes a repository.
#[server(prefix = "/api/page", endpoint = "repositories/update", input = Json)]
pub async fn repository_update(
    id: RepositoryId,
    params: UpdateRepository,
) -> Result<Repository, AppError> {
    let door = Door::open()?;
    let changed = door.board.repository_update(&door.actor, id, &params).await;
    door.answer(changed)
}

/// The tasks that stand in the way of removing a repository.
#[server(prefix = "/api/page", endpoint = "repositories/uses", input = Json)]
pub async fn repository_uses(id: RepositoryId) -> Result<RepositoryUse, AppError> {
    let door = Door::open()?;
    door.answer(door.board.repository_uses(&door.actor, id).await)
}

/// Removes a repository that no task on the board is about.
#[server(prefix = "/api/page", endpoint = "repositories/delete", input = Json)]
pub async fn repository_delete(id: RepositoryId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.repository_delete(&door.actor, id).await)
}
