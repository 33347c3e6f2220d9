//! Runs of outside clients.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
#[cfg(feature = "ssr")]
use board::{RunError, RunQuery};
#[cfg(feature = "ssr")]
use domain::error::{ErrorCode, Refusal};
use domain::ids::RunId;
use domain::run::RunGroup;
#[cfg(feature = "ssr")]
use domain::run::ask::RunTarget;
#[cfg(feature = "ssr")]
use domain::run::refuse::RunErrorCode;
use domain::run::shown::{RunRows, RunShown};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// Which runs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsAsked {
    /// Only those that stand so.
    pub group: Option<RunGroup>,
    /// Only those with this in the name of the card, of the client or of the agent.
    pub text: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<RunId>,
    /// How many.
    pub limit: Option<i64>,
}

/// A run with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownRun {
    /// The run; its last words are in `html`.
    pub run: RunShown,
    /// The agent's last words as HTML that the server has made and sanitised.
    pub html: Option<String>,
}

/// A page of runs.
#[server(prefix = "/api/page", endpoint = "runs", input = Json)]
pub async fn runs_list(asked: RunsAsked) -> Result<RunRows, AppError> {
    let door = Door::open()?;
    let query = RunQuery {
        group: asked.group,
        text: asked.text,
        cursor: asked.cursor,
        limit: asked.limit,
    };
    door.answer(door.board.runs_page(&door.actor, &query).await)
}

/// A run; `None` when there is none of this id.
#[server(prefix = "/api/page", endpoint = "run", input = Json)]
pub async fn run_show(id: RunId) -> Result<Option<ShownRun>, AppError> {
    let door = Door::open()?;
    match door.board.run_show(&door.actor, id).await {
        Ok(mut run) => {
            let words = run.summary.take();
            let html = words.map(|words| crate::markdown::to_html(&words));
            Ok(Some(ShownRun { run, html }))
        }
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => door.answer(Err(error)),
    }
}

/// Stops a run; one that is over stays as it ended.
#[server(prefix = "/api/page", endpoint = "run/cancel", input = Json)]
pub async fn run_cancel(id: RunId) -> Result<(), AppError> {
    let door = Door::open()?;
    let target = RunTarget {
        task_id: Some(id.to_string()),
        ..RunTarget::default()
    };
    let stopped = door.board.run_cancel(&door.actor, &target).await;
    door.answer(stopped.map(drop).map_err(|error| match error {
        RunError::Board(error) => error,
        RunError::Refused(refusal) if refusal.code == RunErrorCode::NotFound => {
            Refusal::not_found("run").into()
        }
        RunError::Refused(refusal) => Refusal::conflict(refusal.message).into(),
    }))
}
