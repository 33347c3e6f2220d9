//! Documents of tasks, and decisions about their steps.

use super::extract::{Body, Caller, Id, Ids, Reply, Wire};
use super::route::Route;
use super::tasks::Deleted;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::document::{Document, DocumentEntry, DocumentKey, StepDecision, WriteDocument};
use domain::ids::TaskId;
use serde::Serialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks/{id}/documents", list)
            .says("The documents of a task by their keys, without their texts.")
            .answers("DocumentList"),
        Route::get("/tasks/{id}/documents/{document_key}", get)
            .says("A document of a task, whole.")
            .answers("Document"),
        Route::put("/tasks/{id}/documents/{document_key}", write)
            .says("Write a document in the place of what stood under its key.")
            .takes::<WriteDocument>()
            .answers("DocumentEntry"),
        Route::delete("/tasks/{id}/documents/{document_key}", delete)
            .says("Remove a document; again changes nothing.")
            .answers("DocumentDeleted"),
        Route::get("/tasks/{id}/step-decisions", decisions)
            .says("What agents decided about the task's steps, oldest first.")
            .answers("StepDecisionList"),
    ]
}

impl Wire for WriteDocument {
    const SCHEMA: &'static str = "WriteDocument";
}

#[derive(Serialize)]
struct DocumentList {
    task_id: TaskId,
    total: usize,
    documents: Vec<DocumentEntry>,
}

#[derive(Serialize)]
struct StepDecisionList {
    task_id: TaskId,
    total: usize,
    decisions: Vec<StepDecision>,
}

async fn list(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<DocumentList> {
    let documents = app.board.document_list(&actor, task).await?;
    Ok(Json(DocumentList {
        task_id: task,
        total: documents.len(),
        documents,
    }))
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, key): Ids<TaskId, DocumentKey>,
) -> Reply<Document> {
    Ok(Json(app.board.document_get(&actor, task, &key).await?))
}

async fn write(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, key): Ids<TaskId, DocumentKey>,
    Body(document): Body<WriteDocument>,
) -> Reply<DocumentEntry> {
    let written = app.board.document_write(&actor, task, &key, document);
    Ok(Json(written.await?))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Ids(task, key): Ids<TaskId, DocumentKey>,
) -> Reply<Deleted> {
    let deleted = app.board.document_delete(&actor, task, &key).await?;
    Ok(Deleted::reply(deleted))
}

async fn decisions(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<StepDecisionList> {
    let decisions = app.board.step_decisions(&actor, task).await?;
    Ok(Json(StepDecisionList {
        task_id: task,
        total: decisions.len(),
        decisions,
    }))
}
