//! `/tasks`.

use super::extract::{Body, Caller, Id, Ids, Query, Reply, Wire};
use super::messages::Prompt;
use super::route::{Parameter, Route};
use crate::error::ApiError;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use board::Archived;
use domain::ids::TaskId;
use domain::params::{AddDependency, CreateTask, MoveTask, SpawnSession, UpdateTask};
use domain::view::{
    Dependencies, MessageOutcome, RelatedTasks, SessionView, SpawnedSession, TaskCreated,
    TaskMoved, TaskPageView, TaskView,
};
use http::StatusCode;
use serde::{Deserialize, Serialize};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/tasks", create)
            .says("Make a task, and start its agent when there is a prompt. 200 when external_id names one that exists.")
            .takes::<CreateTask>()
            .creates("TaskCreated"),
        Route::get("/tasks/{id}", get)
            .says("A task, archived or not.")
            .answers("Task"),
        Route::patch("/tasks/{id}", update)
            .says("Change a task, all or nothing. autopilot and external_id are fixed at creation: they are accepted and ignored.")
            .takes::<UpdateTask>()
            .answers("Task"),
        Route::delete("/tasks/{id}", delete)
            .says("Remove a task and its history for good; its subtasks become top-level tasks.")
            .answers("Done"),
        Route::post("/tasks/{id}/move", relocate)
            .says(
                "Put a card into a step. A step that auto-starts starts the agent, as entry_options say. While the card's agent is \
                 at work the move waits for the end of its turn: disposition is then deferred.",
            )
            .takes::<MoveTask>()
            .answers("TaskMoved"),
        Route::delete("/tasks/{id}/move", withdraw_move)
            .says("Take back a move that waits for the end of a turn.")
            .answers("Done"),
        Route::get("/tasks/{id}/dependencies", dependencies)
            .says("What a task waits for.")
            .answers("Dependencies"),
        Route::post("/tasks/{id}/dependencies", add_dependency)
            .says("Make a task wait for another of its workspace. Circles are refused with their path.")
            .takes::<AddDependency>()
            .answers("Dependencies"),
        Route::delete("/tasks/{id}/dependencies/{depends_on}", remove_dependency)
            .says("Let a task no longer wait for another. Nothing is started by it.")
            .answers("Dependencies"),
        Route::post("/tasks/{id}/archive", archive)
            .says("Stop a task's sessions and hide it. Nothing of its history goes.")
            .answers("TaskArchived"),
        Route::post("/tasks/{id}/unarchive", unarchive)
            .says("Show an archived task again.")
            .answers("Task"),
        Route::get("/tasks/{id}/page", page)
            .says("Everything that the task's page shows beside the transcript, of one moment.")
            .answers("TaskPage"),
        Route::get("/tasks/{id}/related", related)
            .says("Parent, subtasks and siblings of a task, what it depends on and what it blocks.")
            .asks(RELATED)
            .answers("RelatedTasks"),
        Route::get("/tasks/{id}/sessions", sessions)
            .says("The sessions of a task, newest first.")
            .answers("SessionList"),
        Route::post("/tasks/{id}/sessions", spawn_session)
            .says("Start another session on a task, with a prompt of its own. A name that cannot be used is left out.")
            .takes::<SpawnSession>()
            .creates("SpawnedSession"),
        Route::post("/tasks/{id}/sessions/ensure", ensure_session)
            .says("Make sure that a task has a session; no agent is started.")
            .answers("Session"),
        Route::post("/tasks/{id}/messages", prompt)
            .says("Prompt a task: its primary session, which is made and started when there is none.")
            .takes::<Prompt>()
            .answers("MessageOutcome"),
    ]
}

const RELATED: &[Parameter] = &[Parameter {
    name: "verbose",
    schema: r#"{"type":"boolean"}"#,
    description: "With descriptions.",
}];

impl Wire for CreateTask {
    const SCHEMA: &'static str = "CreateTask";
}

impl Wire for UpdateTask {
    const SCHEMA: &'static str = "UpdateTask";
}

impl Wire for SpawnSession {
    const SCHEMA: &'static str = "SpawnSession";
}

impl Wire for AddDependency {
    const SCHEMA: &'static str = "AddDependency";
}

impl Wire for MoveTask {
    const SCHEMA: &'static str = "MoveTask";
}

/// A success that has nothing else to say.
#[derive(Serialize)]
pub(super) struct Done {
    success: bool,
}

impl Done {
    pub(super) const fn reply() -> Json<Self> {
        Json(Self { success: true })
    }
}

/// The answer to a deletion of what may not have been there.
#[derive(Serialize)]
pub(super) struct Deleted {
    success: bool,
    deleted: bool,
}

impl Deleted {
    pub(super) const fn reply(deleted: bool) -> Json<Self> {
        Json(Self {
            success: true,
            deleted,
        })
    }
}

#[derive(Serialize)]
struct SessionList {
    task_id: TaskId,
    total: usize,
    sessions: Vec<SessionView>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RelatedQuery {
    verbose: bool,
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Body(params): Body<CreateTask>,
) -> Result<(StatusCode, Json<TaskCreated>), ApiError> {
    let made = app.board.task_create(&actor, params).await?;
    let status = if made.deduplicated {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(made)))
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<TaskView> {
    Ok(Json(app.board.task_get(&actor, task).await?))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<UpdateTask>,
) -> Reply<TaskView> {
    Ok(Json(app.board.task_update(&actor, task, params).await?))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Done> {
    app.board.task_delete(&actor, task).await?;
    Ok(Done::reply())
}

async fn relocate(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<MoveTask>,
) -> Reply<TaskMoved> {
    Ok(Json(app.board.task_move(&actor, task, &params).await?))
}

async fn withdraw_move(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Done> {
    app.board.task_move_withdraw(&actor, task).await?;
    Ok(Done::reply())
}

async fn dependencies(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Dependencies> {
    Ok(Json(app.board.dependency_list(&actor, task).await?))
}

async fn add_dependency(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<AddDependency>,
) -> Reply<Dependencies> {
    Ok(Json(
        app.board
            .dependency_add(&actor, task, params.depends_on_task_id)
            .await?,
    ))
}

async fn remove_dependency(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, depends_on): Ids<TaskId, TaskId>,
) -> Reply<Dependencies> {
    Ok(Json(
        app.board
            .dependency_remove(&actor, task, depends_on)
            .await?,
    ))
}

async fn archive(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<Archived> {
    Ok(Json(app.board.task_archive(&actor, task).await?))
}

async fn unarchive(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<TaskView> {
    Ok(Json(app.board.task_unarchive(&actor, task).await?))
}

async fn page(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<TaskPageView> {
    Ok(Json(app.board.task_page(&actor, task).await?))
}

async fn related(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Query(query): Query<RelatedQuery>,
) -> Reply<RelatedTasks> {
    Ok(Json(
        app.board.task_related(&actor, task, query.verbose).await?,
    ))
}

async fn sessions(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<SessionList> {
    let sessions = app.board.session_list(&actor, task).await?;
    Ok(Json(SessionList {
        task_id: task,
        total: sessions.len(),
        sessions,
    }))
}

async fn spawn_session(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<SpawnSession>,
) -> Result<(StatusCode, Json<SpawnedSession>), ApiError> {
    let spawned = app.board.session_spawn(&actor, Some(task), &params).await?;
    Ok((StatusCode::CREATED, Json(spawned)))
}

async fn ensure_session(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<SessionView> {
    Ok(Json(app.board.session_ensure(&actor, task).await?))
}

async fn prompt(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(prompt): Body<Prompt>,
) -> Reply<MessageOutcome> {
    Ok(Json(
        app.board
            .prompt_task(
                &actor,
                task,
                &prompt.content,
                prompt.idempotency_key.as_deref(),
            )
            .await?,
    ))
}
