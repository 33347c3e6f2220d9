//! What pages do with AI jobs, by the same calls as the API.

use crate::assistant;
use crate::jobs::Jobs;
use app::api::assistant::Readiness;
use app::api::desk::{Desk, Doing};
use board::{Board, Canceller};
use domain::job::JobKey;
use domain::job::view::{ConsentView, Enqueued, JobView};

/// The desk of this node.
#[derive(Debug, Clone)]
pub struct NodeDesk {
    /// The board.
    pub board: Board,
    /// The jobs of this node.
    pub jobs: Jobs,
    /// Which models there are.
    pub models: Models,
}

/// What pages say of the models.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// There is one to ask.
    pub any: bool,
    /// What was set and cannot be used.
    pub problems: Vec<String>,
}

impl From<&::assistant::Settings> for Models {
    fn from(settings: &::assistant::Settings) -> Self {
        Self {
            any: !settings.endpoints.is_empty(),
            problems: settings.problems.clone(),
        }
    }
}

impl Desk for NodeDesk {
    fn readiness(&self) -> Readiness {
        Readiness {
            enabled: self.jobs.settings().assistant,
            has_model: self.models.any,
            problems: self.models.problems.clone(),
        }
    }

    fn say(&self, content: String, key: String) -> Doing<Enqueued> {
        let jobs = self.jobs.clone();
        Box::pin(async move { jobs.say(&content, &key).await })
    }

    fn cancel(&self, job: JobKey) -> Doing<JobView> {
        let jobs = self.jobs.clone();
        Box::pin(async move { jobs.cancel(&job, Canceller::Operator).await })
    }

    fn retry(&self, job: JobKey) -> Doing<Enqueued> {
        let jobs = self.jobs.clone();
        Box::pin(async move { jobs.retry(&job).await })
    }

    fn confirm(&self, job: JobKey, confirmation: i64) -> Doing<ConsentView> {
        let board = self.board.clone();
        Box::pin(async move {
            assistant::confirm(&board, &job, Some(confirmation), Canceller::Operator).await
        })
    }
}
