//! `/workspaces`.

use super::extract::{Body, Caller, Id, Query, Reply, Wire, id};
use super::route::{Parameter, Route};
use super::workflows::WorkflowList;
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::ids::{TaskId, WorkspaceId};
use domain::params::ListTasks;
use domain::view::{BoardView, TaskView, WorkspaceView};
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/workspaces", list)
            .says("All workspaces, oldest first.")
            .answers("WorkspaceList"),
        Route::post("/workspaces", create)
            .says("Make a workspace with the Kanban workflow.")
            .takes::<CreateWorkspace>()
            .creates("Workspace"),
        Route::get("/workspaces/{id}/workflows", workflows)
            .says("The workflows of a workspace with their steps.")
            .answers("WorkflowList"),
        Route::get("/workspaces/{id}/tasks", tasks)
            .says("The tasks of a workspace in board order, or by age when paged.")
            .asks(TASKS)
            .answers("TaskList"),
        Route::get("/workspaces/{id}/board", board)
            .says("Everything that the board page shows, of one moment.")
            .asks(BOARD)
            .answers("Board"),
    ]
}

const TASKS: &[Parameter] = &[
    Parameter {
        name: "workflow_id",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Only tasks of this workflow.",
    },
    Parameter {
        name: "workflow_step_id",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Only tasks in this step.",
    },
    Parameter {
        name: "parent_id",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Only subtasks of this task.",
    },
    Parameter {
        name: "state",
        schema: r#"{"type":"string"}"#,
        description: "Only tasks in this state.",
    },
    Parameter {
        name: "include_archived",
        schema: r#"{"type":"boolean"}"#,
        description: "Archived tasks too.",
    },
    Parameter {
        name: "limit",
        schema: r#"{"type":"integer","minimum":1,"maximum":1000}"#,
        description: "At most so many tasks, by age.",
    },
    Parameter {
        name: "cursor",
        schema: r#"{"type":"string","format":"uuid"}"#,
        description: "Id of the last task of the page before.",
    },
];

const BOARD: &[Parameter] = &[Parameter {
    name: "workflow_id",
    schema: r#"{"type":"string","format":"uuid"}"#,
    description: "The workflow to show; the first one when left out.",
}];

/// The body that makes a workspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateWorkspace {
    name: String,
    #[serde(default)]
    description: String,
}

impl Wire for CreateWorkspace {
    const SCHEMA: &'static str = "CreateWorkspace";
}

#[derive(Serialize)]
struct WorkspaceList {
    total: usize,
    workspaces: Vec<WorkspaceView>,
}

#[derive(Serialize)]
struct TaskList {
    total: usize,
    tasks: Vec<TaskView>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TaskQuery {
    workflow_id: Option<String>,
    workflow_step_id: Option<String>,
    parent_id: Option<String>,
    state: Option<String>,
    include_archived: bool,
    limit: Option<i64>,
    cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct BoardQuery {
    workflow_id: Option<String>,
}

async fn list(State(app): State<AppState>, Caller(actor): Caller) -> Reply<WorkspaceList> {
    let workspaces = app.board.workspace_list(&actor).await?;
    Ok(Json(WorkspaceList {
        total: workspaces.len(),
        workspaces,
    }))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(body): Body<CreateWorkspace>,
) -> Result<(StatusCode, Json<WorkspaceView>), ApiError> {
    let made = app
        .board
        .workspace_create(&actor, &body.name, &body.description)
        .await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn workflows(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
) -> Reply<WorkflowList> {
    let workflows = app.board.workflow_list(&actor, workspace).await?;
    Ok(Json(WorkflowList::of(workflows)))
}

async fn tasks(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Query(query): Query<TaskQuery>,
) -> Reply<TaskList> {
    let params = ListTasks {
        workspace_id: Some(workspace),
        workflow_id: id("workflow_id", query.workflow_id.as_deref())?,
        workflow_step_id: id("workflow_step_id", query.workflow_step_id.as_deref())?,
        parent_id: id("parent_id", query.parent_id.as_deref())?,
        state: query.state,
        include_archived: query.include_archived,
        limit: query.limit,
        cursor: id::<TaskId>("cursor", query.cursor.as_deref())?,
    };
    let tasks = app.board.task_list(&actor, &params).await?;
    Ok(Json(TaskList {
        total: tasks.len(),
        tasks,
    }))
}

async fn board(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(workspace): Id<WorkspaceId>,
    Query(query): Query<BoardQuery>,
) -> Reply<BoardView> {
    let workflow = id("workflow_id", query.workflow_id.as_deref())?;
    Ok(Json(
        app.board
            .board_view(&actor, Some(workspace), workflow)
            .await?,
    ))
}
