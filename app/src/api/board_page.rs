//! The board.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::{WorkflowId, WorkspaceId};
use domain::view::{BoardView, TaskCreated};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;

/// The board of a workspace, or of the first one.
#[server(prefix = "/api/page", endpoint = "board", input = Json)]
pub async fn board_page(
    workspace: Option<WorkspaceId>,
    workflow: Option<WorkflowId>,
) -> Result<BoardView, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .board_view(&door.actor, workspace, workflow)
            .await,
    )
}

/// Starts the demo: a task whose agent splits off an autopilot child.
#[server(prefix = "/api/page", endpoint = "demo", input = Json)]
pub async fn demo_start(workspace: Option<WorkspaceId>) -> Result<TaskCreated, AppError> {
    let door = Door::open()?;
    door.answer(door.board.demo_start(&door.actor, workspace).await)
}
