//! Tasks.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::TaskId;
use domain::params::{CreateTask, MoveTask, UpdateTask};
use domain::view::{RelatedTasks, TaskCreated, TaskMoved, TaskPageView, TaskView};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;

/// Everything the page of a task needs, without the transcript.
#[server(prefix = "/api/page", endpoint = "task", input = Json)]
pub async fn task_page(id: TaskId) -> Result<TaskPageView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_page(&door.actor, id).await)
}

/// The relations of a task.
#[server(prefix = "/api/page", endpoint = "task/related", input = Json)]
pub async fn task_related(id: TaskId) -> Result<RelatedTasks, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_related(&door.actor, id, false).await)
}

/// Makes a task, and starts an agent when there is a prompt.
#[server(prefix = "/api/page", endpoint = "task/create", input = Json)]
pub async fn task_create(params: CreateTask) -> Result<TaskCreated, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_create(&door.actor, params).await)
}

/// Changes a task.
#[server(prefix = "/api/page", endpoint = "task/update", input = Json)]
pub async fn task_update(id: TaskId, params: UpdateTask) -> Result<TaskView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_update(&door.actor, id, params).await)
}

/// Moves a card, now or when the turn of its agent has ended.
#[server(prefix = "/api/page", endpoint = "task/move", input = Json)]
pub async fn task_move(id: TaskId, params: MoveTask) -> Result<TaskMoved, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_move(&door.actor, id, &params).await)
}

/// Takes back a move that waits for the end of a turn.
#[server(prefix = "/api/page", endpoint = "task/move/withdraw", input = Json)]
pub async fn task_move_withdraw(id: TaskId) -> Result<(), AppError> {
    let door = Door::open()?;
    let withdrawn = door.board.task_move_withdraw(&door.actor, id).await;
    door.answer(withdrawn.map(drop))
}

/// Hides a task and stops its sessions. Doing it again changes nothing.
#[server(prefix = "/api/page", endpoint = "task/archive", input = Json)]
pub async fn task_archive(id: TaskId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_archive(&door.actor, id).await.map(drop))
}

/// Shows an archived task again.
#[server(prefix = "/api/page", endpoint = "task/unarchive", input = Json)]
pub async fn task_unarchive(id: TaskId) -> Result<TaskView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_unarchive(&door.actor, id).await)
}

/// Deletes a task for good. Its subtasks become tasks of their own.
#[server(prefix = "/api/page", endpoint = "task/delete", input = Json)]
pub async fn task_delete(id: TaskId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.task_delete(&door.actor, id).await)
}
