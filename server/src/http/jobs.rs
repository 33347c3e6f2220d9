//! The endpoints of AI jobs: for gateways, for workers, for owners. Their errors are `{"error": "…"}`.
//!
//! Who calls is looked at before anything else, then the database, then the body. Services show a key; the person at this machine
//! is known by a browser's own word that the request comes from our page, so that a program that forgot its key is told so.

mod auth;
mod live;

use super::route::{Parameter, Route};
use crate::error::{refusal_of, status_of};
use crate::state::AppState;
use auth::{Party, Service};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use board::{BoardError, Canceller, JobQuery, Viewer};
use bytes::Bytes;
use domain::error::{ErrorCode, Refusal};
use domain::job::event::source;
use domain::job::intake::{Intake, job_number};
use domain::job::{JobId, JobKey, JobStatus, TargetKind};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest wait for hints.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/api/gateway/dm-autopilot", hand_in)
            .says("A chat platform's gateway hands in a direct message. queued: true is success, whatever queueAccepted says.")
            .takes_as("DmAutopilot")
            .answers("JobEnqueued")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/execute", execute)
            .says("Runs a job now, if it is to be had; answers when the run is over. 200 also for a job that failed.")
            .takes_as("ExecuteJob")
            .answers("JobExecuted")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/sweep", sweep)
            .says("Takes back runs whose worker is gone, and repeats hints of what is due.")
            .answers("JobsSwept")
            .fails_with("JobError"),
        Route::get("/api/ai/jobs/hints", hints)
            .says("What a worker is to look at; waits until there is something.")
            .asks(HINTS)
            .answers("JobHints")
            .fails_with("JobError"),
        Route::get("/api/ai/jobs", list)
            .says("Jobs: what runs or waits first, the longest due before the others, then the rest, newest first.")
            .asks(LIST)
            .answers("JobPage")
            .fails_with("JobError"),
        Route::get("/api/ai/jobs/{job_id}", show)
            .says("A job and the newest entries of its timeline.")
            .asks(SHOW)
            .answers("JobTimeline")
            .fails_with("JobError"),
        Route::get("/api/ai/jobs/{job_id}/events", live::listen)
            .says("A job's timeline as it grows, as server-sent events; the last one is named end.")
            .asks(LIVE)
            .writes("text/event-stream")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/{job_id}/cancel", cancel)
            .says("Ends a job: at once while it waits, at its next checkpoint while it runs. A job that is over stays as it is.")
            .answers("Job")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/{job_id}/retry", retry)
            .says("Has a job that was given up or canceled done again, as a new job that names it.")
            .answers("JobEnqueued")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/{job_id}/confirm", confirm)
            .says("Agrees to what a job previewed: it is carried out, once.")
            .takes_as("JobConsent")
            .answers("JobConfirmation")
            .fails_with("JobError"),
        Route::post("/api/ai/jobs/{job_id}/decline", decline)
            .says("Declines what a job previewed: nothing is done, and nothing can come of it any more.")
            .takes_as("JobConsent")
            .answers("JobConfirmation")
            .fails_with("JobError"),
    ]
}

const HINTS: &[Parameter] = &[Parameter {
    name: "wait",
    schema: r#"{"type":"integer","minimum":0,"maximum":30}"#,
    description: "Seconds to wait for a hint; 20 when left out.",
}];

const LIST: &[Parameter] = &[
    Parameter {
        name: "status",
        schema: r#"{"type":"string","enum":["pending","running","completed","failed_terminal","canceled"]}"#,
        description: "Only jobs that stand there.",
    },
    Parameter {
        name: "userId",
        schema: r#"{"type":"string"}"#,
        description: "Only this user's jobs.",
    },
    Parameter {
        name: "youngerThan",
        schema: r#"{"type":"integer","minimum":0}"#,
        description: "Only jobs made within so many seconds.",
    },
    Parameter {
        name: "olderThan",
        schema: r#"{"type":"integer","minimum":0}"#,
        description: "Only jobs made longer than so many seconds ago.",
    },
    Parameter {
        name: "limit",
        schema: r#"{"type":"integer","minimum":1,"maximum":200}"#,
        description: "Jobs on a page; 50 when left out.",
    },
    Parameter {
        name: "cursor",
        schema: r#"{"type":"string"}"#,
        description: "nextCursor of the page before.",
    },
];

const SHOW: &[Parameter] = &[
    Parameter {
        name: "after",
        schema: r#"{"type":"integer","minimum":0}"#,
        description: "Only entries after this one.",
    },
    Parameter {
        name: "limit",
        schema: r#"{"type":"integer","minimum":1,"maximum":500}"#,
        description: "The newest so many; 500 when left out.",
    },
];

const LIVE: &[Parameter] = &[Parameter {
    name: "after",
    schema: r#"{"type":"integer","minimum":0}"#,
    description: "Only entries after this one; Last-Event-ID goes before it.",
}];

/// Why an endpoint did not do it.
#[derive(Debug)]
struct JobError(StatusCode, Value);

type Reply = Result<Response, JobError>;

impl From<Refusal> for JobError {
    fn from(refusal: Refusal) -> Self {
        let message = if refusal.code == ErrorCode::Unavailable {
            "Database not available"
        } else {
            refusal.message.as_str()
        };
        Self(status_of(&refusal), json!({"error": message}))
    }
}

impl From<BoardError> for JobError {
    fn from(error: BoardError) -> Self {
        refusal_of(error).into()
    }
}

impl IntoResponse for JobError {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

/// The answer to somebody who may not come in.
pub(super) fn unauthorized() -> Response {
    auth::unauthorized().into_response()
}

/// Whether the database answers: looked at after who asks and before what is asked.
async fn available(app: &AppState) -> Result<(), JobError> {
    app.board.ping().await.map_err(|error| {
        refusal_of(error);
        JobError(
            StatusCode::SERVICE_UNAVAILABLE,
            json!({"error": "Database not available"}),
        )
    })
}

fn read(body: &Bytes) -> Result<Value, JobError> {
    serde_json::from_slice(body)
        .map_err(|_error| JobError(StatusCode::BAD_REQUEST, json!({"error": "Invalid JSON"})))
}

async fn hand_in(State(app): State<AppState>, headers: HeaderMap, body: Bytes) -> Reply {
    Service::of(&app, &headers)?;
    if !app.jobs.settings().dm_enabled {
        return Err(JobError(
            StatusCode::SERVICE_UNAVAILABLE,
            json!({"queued": false, "error": "DM autopilot is off: set DM_AUTOPILOT_ENABLED to true"}),
        ));
    }
    available(&app).await?;
    let intake = Intake::from_gateway(&read(&body)?, TargetKind::DiscordDm, source::GATEWAY)?;
    match app.jobs.enqueue(intake).await {
        Ok(Ok(enqueued)) => Ok(Json(enqueued).into_response()),
        Ok(Err(runner_job)) => Ok(Json(json!({
            "queued": false, "takenByRunner": true, "runnerJobId": runner_job,
        }))
        .into_response()),
        Err(error) => {
            let refusal = refusal_of(error);
            Err(JobError(
                StatusCode::INTERNAL_SERVER_ERROR,
                json!({"queued": false, "error": refusal.message}),
            ))
        }
    }
}

async fn execute(State(app): State<AppState>, headers: HeaderMap, body: Bytes) -> Reply {
    Service::of(&app, &headers)?;
    available(&app).await?;
    let body = read(&body)?;
    let id = job_number(&body)?;
    let dispatch = body.get("dispatch").and_then(Value::as_i64);
    let executed = app.jobs.execute(JobId(id), dispatch).await?;
    Ok(Json(executed).into_response())
}

async fn sweep(State(app): State<AppState>, headers: HeaderMap) -> Reply {
    Service::of(&app, &headers)?;
    available(&app).await?;
    Ok(Json(app.jobs.sweep().await?).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Wait {
    wait: Option<u64>,
}

async fn hints(
    State(app): State<AppState>,
    headers: HeaderMap,
    query: Result<Query<Wait>, axum::extract::rejection::QueryRejection>,
) -> Reply {
    Service::of(&app, &headers)?;
    available(&app).await?;
    let Query(Wait { wait }) = query.map_err(|_error| bad("wait must be a number of seconds"))?;
    let wait = Duration::from_secs(wait.unwrap_or(20)).min(LONGEST_WAIT);
    let hints = tokio::select! {
        hints = app.jobs.next_hints(wait) => hints?,
        () = app.shutdown.cancelled() => Vec::new(),
    };
    Ok(Json(json!({"hints": hints})).into_response())
}

fn bad(message: &str) -> JobError {
    JobError(StatusCode::BAD_REQUEST, json!({"error": message}))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListQuery {
    status: Option<String>,
    user_id: Option<String>,
    younger_than: Option<i64>,
    older_than: Option<i64>,
    limit: Option<i64>,
    cursor: Option<String>,
}

async fn list(
    State(app): State<AppState>,
    headers: HeaderMap,
    query: Result<Query<ListQuery>, axum::extract::rejection::QueryRejection>,
) -> Reply {
    Party::of(&app, &headers)?;
    available(&app).await?;
    let Query(query) = query.map_err(|error| bad(&error.body_text()))?;
    let millis = |seconds: Option<i64>| seconds.map(|seconds| seconds.saturating_mul(1_000));
    let page = app
        .board
        .jobs(&JobQuery {
            status: query.status.as_deref().map(JobStatus::parse).transpose()?,
            user_id: query.user_id,
            younger_than_ms: millis(query.younger_than),
            older_than_ms: millis(query.older_than),
            cursor: query.cursor,
            limit: query.limit,
        })
        .await?;
    Ok(Json(page).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShowQuery {
    after: Option<i64>,
    limit: Option<i64>,
}

async fn show(
    State(app): State<AppState>,
    headers: HeaderMap,
    Path(key): Path<String>,
    query: Result<Query<ShowQuery>, axum::extract::rejection::QueryRejection>,
) -> Reply {
    let party = Party::of(&app, &headers)?;
    available(&app).await?;
    let Query(query) = query.map_err(|error| bad(&error.body_text()))?;
    let timeline = app
        .board
        .job_timeline(
            &JobKey::parse(&key)?,
            party.viewer(),
            query.after.unwrap_or_default(),
            query.limit,
        )
        .await?;
    Ok(Json(timeline).into_response())
}

async fn cancel(State(app): State<AppState>, headers: HeaderMap, Path(key): Path<String>) -> Reply {
    let party = Party::of(&app, &headers)?;
    available(&app).await?;
    Ok(Json(
        app.jobs
            .cancel(&JobKey::parse(&key)?, party.canceller())
            .await?,
    )
    .into_response())
}

async fn retry(State(app): State<AppState>, headers: HeaderMap, Path(key): Path<String>) -> Reply {
    Party::of(&app, &headers)?;
    available(&app).await?;
    Ok(Json(app.jobs.retry(&JobKey::parse(&key)?).await?).into_response())
}

async fn confirm(
    State(app): State<AppState>,
    headers: HeaderMap,
    Path(key): Path<String>,
    body: Bytes,
) -> Reply {
    let party = Party::of(&app, &headers)?;
    available(&app).await?;
    let (key, named) = (JobKey::parse(&key)?, named(&body)?);
    let done = crate::assistant::confirm(&app.board, &key, named, party.canceller()).await?;
    Ok(Json(done).into_response())
}

async fn decline(
    State(app): State<AppState>,
    headers: HeaderMap,
    Path(key): Path<String>,
    body: Bytes,
) -> Reply {
    let party = Party::of(&app, &headers)?;
    available(&app).await?;
    let (key, named) = (JobKey::parse(&key)?, named(&body)?);
    let done = app
        .board
        .consent_decline(&key, named, party.canceller())
        .await?;
    Ok(Json(done).into_response())
}

/// The preview that was shown to whoever presses: without a body, the job's own.
fn named(body: &Bytes) -> Result<Option<i64>, JobError> {
    if body.is_empty() {
        return Ok(None);
    }
    let body = read(body)?;
    match body.get("confirmationId") {
        None | Some(Value::Null) => Ok(None),
        Some(id) => id
            .as_i64()
            .map(Some)
            .ok_or_else(|| bad("confirmationId must be a whole number")),
    }
}

impl Party {
    /// What stands on the timeline.
    fn canceller(self) -> Canceller<'static> {
        match self {
            Self::Service => Canceller::Internal,
            Self::Operator => Canceller::Operator,
        }
    }

    /// Whose errors are shown.
    fn viewer(self) -> Viewer<'static> {
        Viewer::Operator
    }
}
