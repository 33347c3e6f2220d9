//! The board.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::ids::{StepId, WorkflowId, WorkspaceId};
use domain::params::BoardOf;
use domain::view::{BoardView, TaskCreated, TaskView, WorkbenchView, WorkspaceView};
use domain::workflow::{Step, last_step};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// As much of a board as its page shows. What steps do when they are entered, with all its types, stays on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Board {
    /// All workspaces, oldest first.
    pub workspaces: Vec<Named<WorkspaceId>>,
    /// The workspace shown.
    pub workspace: Named<WorkspaceId>,
    /// The workflow shown.
    pub workflow: Named<WorkflowId>,
    /// Its steps by position.
    pub steps: Vec<BoardStep>,
    /// The step that ends the workflow.
    pub last_step: Option<StepId>,
    /// All unarchived tasks of the workspace, by step and position.
    pub tasks: Vec<TaskView>,
    /// Position in the event log at which this was read.
    pub as_of: i64,
}

/// Something by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named<Id> {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
}

/// A column of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardStep {
    /// The step's id.
    pub id: StepId,
    /// Its name.
    pub name: String,
    /// A colour token.
    pub color: String,
    /// Greatest number of admitted tasks; 0 unlimited.
    pub wip_limit: i64,
    /// Operators may drag cards here.
    pub allow_manual_move: bool,
}

impl From<WorkspaceView> for Named<WorkspaceId> {
    fn from(workspace: WorkspaceView) -> Self {
        Self {
            id: workspace.id,
            name: workspace.name,
        }
    }
}

impl From<WorkbenchView> for Board {
    fn from(view: WorkbenchView) -> Self {
        let BoardView {
            workspace,
            workflow,
            tasks,
            as_of,
        } = view.board;
        Self {
            workspaces: view.workspaces.into_iter().map(Named::from).collect(),
            workspace: workspace.into(),
            last_step: last_step(&workflow.steps).map(|step| step.id),
            workflow: Named {
                id: workflow.workflow.id,
                name: workflow.workflow.name,
            },
            steps: workflow.steps.into_iter().map(BoardStep::from).collect(),
            tasks,
            as_of,
        }
    }
}

impl From<Step> for BoardStep {
    fn from(step: Step) -> Self {
        Self {
            id: step.id,
            name: step.name,
            color: step.color,
            wip_limit: step.wip_limit,
            allow_manual_move: step.allow_manual_move,
        }
    }
}

/// A board, with the workspaces beside its own.
#[server(prefix = "/api/page", endpoint = "board", input = Json)]
pub async fn board_page(of: BoardOf, workflow: Option<WorkflowId>) -> Result<Board, AppError> {
    let door = Door::open()?;
    let view = door.board.workbench_view(&door.actor, of, workflow).await;
    door.answer(view.map(Board::from))
}

/// Starts the demo: a task whose agent splits off an autopilot child.
#[server(prefix = "/api/page", endpoint = "demo", input = Json)]
pub async fn demo_start(workspace: Option<WorkspaceId>) -> Result<TaskCreated, AppError> {
    let door = Door::open()?;
    door.answer(door.board.demo_start(&door.actor, workspace).await)
}
