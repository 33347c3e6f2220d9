//! A task's plan: `/tasks/{id}/plan`. A save says which version it was made from, as a tool's does.

use super::extract::{Body, Caller, Id, Query, Reply, Wire};
use super::route::{Parameter, Route};
use super::tasks::Deleted;
use crate::state::AppState;
use axum::Json;
use axum::extract::State;
use domain::error::Refusal;
use domain::ids::TaskId;
use domain::plan::{
    PlanChange, PlanRevisionView, PlanRevisions, PlanView, PlanWritten, RestorePlan, WritePlan,
};
use domain::view::MessageOutcome;
use serde::Deserialize;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks/{id}/plan", get)
            .says("A task's plan with its exact text. 404 when it has none.")
            .answers("Plan"),
        Route::post("/tasks/{id}/plan", create)
            .says("Make a task's plan, or replace it when expected_version is the present one.")
            .takes::<CreatePlan>()
            .answers("PlanWritten"),
        Route::patch("/tasks/{id}/plan", update)
            .says("Replace a task's plan, append to it, or edit one exact piece of it.")
            .takes::<UpdatePlan>()
            .answers("PlanWritten"),
        Route::delete("/tasks/{id}/plan", delete)
            .says("Remove a task's plan; its revisions stay.")
            .asks(DELETE)
            .answers("PlanDeleted"),
        Route::get("/tasks/{id}/plan/revisions", revisions)
            .says("The history of a task's plan, newest first, without the texts.")
            .asks(REVISIONS)
            .answers("PlanRevisions"),
        Route::get("/tasks/{id}/plan/revision", revision)
            .says("One revision with its exact text.")
            .asks(REVISION)
            .answers("PlanRevision"),
        Route::post("/tasks/{id}/plan/implement", implement)
            .says("Tell the task's agent to carry out its plan; planning is over. 404 when it has none.")
            .answers("MessageOutcome"),
        Route::post("/tasks/{id}/plan/restore", restore)
            .says("Make a task's plan what it was at one revision; it becomes a new revision.")
            .takes::<RestorePlan>()
            .answers("PlanWritten"),
    ]
}

const DELETE: &[Parameter] = &[Parameter {
    name: "expected_version",
    schema: r#"{"type":"string","minLength":1}"#,
    description: "Only when this is the present version.",
}];

const REVISIONS: &[Parameter] = &[
    Parameter {
        name: "cursor",
        schema: r#"{"type":"integer","minimum":1}"#,
        description: "next_cursor of the page before.",
    },
    Parameter {
        name: "limit",
        schema: r#"{"type":"integer","minimum":1,"maximum":100}"#,
        description: "At most so many revisions; 20 when left out.",
    },
];

const REVISION: &[Parameter] = &[Parameter {
    name: "revision_id",
    schema: r#"{"type":"string","format":"uuid"}"#,
    description: "Which one; always needed.",
}];

/// Makes a plan, or replaces it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreatePlan {
    content: String,
    title: Option<String>,
    expected_version: Option<String>,
    #[serde(default)]
    allow_truncation: bool,
}

impl Wire for CreatePlan {
    const SCHEMA: &'static str = "CreatePlan";
}

/// Changes a plan: `content` with a mode, or `old_text` and `new_text`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum UpdatePlan {
    Edit {
        old_text: String,
        new_text: String,
        expected_version: Option<String>,
        #[serde(default)]
        allow_truncation: bool,
    },
    Text {
        content: String,
        title: Option<String>,
        mode: Option<Mode>,
        expected_version: Option<String>,
        #[serde(default)]
        allow_truncation: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Append,
}

impl Wire for UpdatePlan {
    const SCHEMA: &'static str = "UpdatePlan";
}

impl Wire for RestorePlan {
    const SCHEMA: &'static str = "RestorePlan";
}

impl From<UpdatePlan> for WritePlan {
    fn from(update: UpdatePlan) -> Self {
        match update {
            UpdatePlan::Edit {
                old_text,
                new_text,
                expected_version,
                allow_truncation,
            } => Self {
                change: PlanChange::Edit { old_text, new_text },
                expected_version,
                allow_truncation,
            },
            UpdatePlan::Text {
                content,
                title,
                mode,
                expected_version,
                allow_truncation,
            } => Self {
                change: match mode.unwrap_or(Mode::Replace) {
                    Mode::Replace => PlanChange::Replace { title, content },
                    Mode::Append => PlanChange::Append {
                        title,
                        fragment: content,
                    },
                },
                expected_version,
                allow_truncation,
            },
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeleteQuery {
    expected_version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RevisionsQuery {
    cursor: Option<i64>,
    limit: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RevisionQuery {
    revision_id: Option<String>,
}

async fn get(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<PlanView> {
    let plan = app.board.plan_find(&actor, task).await?;
    Ok(Json(plan.ok_or_else(|| {
        Refusal::missing("the task has no plan: POST one to this address")
    })?))
}

async fn create(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(plan): Body<CreatePlan>,
) -> Reply<PlanWritten> {
    let params = WritePlan {
        change: PlanChange::Create {
            title: plan.title,
            content: plan.content,
        },
        expected_version: plan.expected_version,
        allow_truncation: plan.allow_truncation,
    };
    Ok(Json(app.board.plan_write(&actor, task, &params).await?))
}

async fn update(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(update): Body<UpdatePlan>,
) -> Reply<PlanWritten> {
    Ok(Json(
        app.board.plan_write(&actor, task, &update.into()).await?,
    ))
}

async fn delete(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Query(query): Query<DeleteQuery>,
) -> Reply<Deleted> {
    let deleted = app
        .board
        .plan_delete(&actor, task, query.expected_version.as_deref())
        .await?;
    Ok(Deleted::reply(deleted))
}

async fn revisions(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Query(query): Query<RevisionsQuery>,
) -> Reply<PlanRevisions> {
    let page = app
        .board
        .plan_revisions(&actor, task, query.cursor, query.limit)
        .await?;
    Ok(Json(page))
}

async fn revision(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Query(query): Query<RevisionQuery>,
) -> Reply<PlanRevisionView> {
    let id = super::extract::id("revision_id", query.revision_id.as_deref())?
        .ok_or_else(|| Refusal::validation("revision_id is missing"))?;
    Ok(Json(app.board.plan_revision(&actor, task, id).await?))
}

async fn implement(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
) -> Reply<MessageOutcome> {
    Ok(Json(app.board.plan_implement(&actor, task).await?))
}

async fn restore(
    State(app): State<AppState>,
    Caller(actor): Caller,
    Id(task): Id<TaskId>,
    Body(params): Body<RestorePlan>,
) -> Reply<PlanWritten> {
    Ok(Json(app.board.plan_restore(&actor, task, &params).await?))
}
