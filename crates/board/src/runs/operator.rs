//! Runs as operators see them: of all clients, with the names by which a person knows them.

use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::RunId;
use domain::run::call::RunCall;
use domain::run::shown::{RunRow, RunRows, RunShown};
use domain::run::view::{Parts, stands};
use domain::run::{RunGroup, RunStatus};
use std::collections::BTreeSet;
use store::runs::{Names, PageFilter, Stored};

/// Runs that one page shows, and at most.
const USUAL_PAGE: i64 = 50;
const MAX_PAGE: i64 = 200;
/// Runs that are read at once where only the rule can tell which of them are wanted, and how often that is done for a page.
const BATCH: i64 = 200;
const MAX_BATCHES: usize = 10;
/// Calls that are shown of a run.
const SHOWN_CALLS: i64 = 20;

/// Which runs an operator asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only those that stand so.
    pub group: Option<RunGroup>,
    /// Only those with this in the name of the card, of the token or of the agent.
    pub text: Option<String>,
    /// Where the page before ended.
    pub cursor: Option<RunId>,
    /// How many.
    pub limit: Option<i64>,
}

impl Board {
    /// A page of the runs of all clients, newest first.
    ///
    /// Of those that go on, storage does not know which of them wait for somebody: so many are read as it takes, within a bound, and
    /// a page that ends there says where the next one begins.
    pub async fn runs_page(&self, actor: &Actor, query: &RunQuery) -> Result<RunRows> {
        actor.require_operator()?;
        let limit = query.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
        let text = query.text.as_deref().map(str::trim);
        let mut filter = PageFilter {
            text: text.filter(|text| !text.is_empty()).map(str::to_owned),
            before: query.cursor,
            limit: limit + 1,
            ..PageFilter::default()
        };
        // What goes on is put into groups by a rule that storage does not know.
        let derived = query.group.is_some_and(|group| outcomes(group).is_empty());
        if derived {
            filter.live = Some(true);
            filter.limit = BATCH;
        } else if let Some(group) = query.group {
            filter.outcomes = outcomes(group);
        }
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let batch = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        let mut db = self.snapshot().await?;
        let mut rows = Vec::new();
        for _ in 0..MAX_BATCHES {
            let found = store::runs::page(&mut db, &filter).await?;
            let is_last = found.len() < batch;
            for (stored, names) in found {
                if rows.len() == wanted {
                    return Ok(page(rows, filter.before));
                }
                filter.before = Some(stored.0.id);
                let row = row(&stored, names);
                if query.group.is_none_or(|group| row.status.group() == group) {
                    rows.push(row);
                }
            }
            if is_last || !derived {
                return Ok(page(rows, None));
            }
        }
        Ok(page(rows, filter.before))
    }

    /// A run with all that is known of it, whoever's it is.
    pub async fn run_show(&self, actor: &Actor, id: RunId) -> Result<RunShown> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        let filter = PageFilter {
            only: Some(id),
            limit: 1,
            ..PageFilter::default()
        };
        let found = store::runs::page(&mut db, &filter).await?;
        let (stored, names) = found
            .into_iter()
            .next()
            .ok_or_else(|| Refusal::not_found("run"))?;
        let calls = store::run_calls::newest(&mut db, id, SHOWN_CALLS).await?;
        let row = row(&stored, names);
        let end = stored.0.end.clone();
        let retrieved_at = stored.0.retrieved_at;
        let parts = Parts {
            logs: true,
            ..Parts::OUTCOME
        };
        let view = self.run_view(&mut db, stored, parts, None).await?;
        Ok(RunShown {
            row,
            reason: end.as_ref().map(|end| end.reason),
            fault: end.and_then(|end| end.fault),
            summary: view.summary,
            timeline: view.timeline.unwrap_or_default(),
            log_count: view.log_event_count.unwrap_or_default(),
            artifacts: view.artifacts.unwrap_or_default(),
            liveness: view.liveness.map(|liveness| liveness.state),
            retrieved_at,
            calls,
        })
    }

    /// Keeps what is told of calls about runs; of each run the newest.
    pub async fn run_calls_note(&self, calls: &[RunCall]) -> Result<()> {
        let mut work = self.begin().await?;
        for call in calls {
            store::run_calls::insert(&mut work.tx, call).await?;
        }
        let runs: BTreeSet<RunId> = calls.iter().map(|call| call.run_id).collect();
        for run in runs {
            store::run_calls::prune(&mut work.tx, run).await?;
        }
        work.wake_runs();
        work.commit().await
    }
}

/// The ends that a group shows.
fn outcomes(group: RunGroup) -> Vec<RunStatus> {
    let ends = RunStatus::ALL.iter().filter(|status| status.is_final());
    ends.filter(|status| status.group() == group)
        .copied()
        .collect()
}

const fn page(rows: Vec<RunRow>, next_cursor: Option<RunId>) -> RunRows {
    RunRows { rows, next_cursor }
}

fn row((run, seen): &Stored, names: Names) -> RunRow {
    let (status, phase) = stands(run, &seen.facts);
    let end = run.end.as_ref();
    let fault = end.and_then(|end| end.fault.as_ref());
    RunRow {
        id: run.id,
        task_id: run.task_id,
        session_id: run.session_id,
        title: names.title,
        client: names.client,
        agent: run.agent.clone(),
        status,
        phase,
        created_at: run.created_at,
        started_at: end.map_or(seen.facts.started_at, |end| end.started_at),
        ended_at: end.map(|end| end.ended_at),
        latest: seen.latest.clone(),
        error: fault.map(|fault| fault.message.clone()),
        poll_count: run.poll_count,
        last_polled_at: run.last_polled_at,
    }
}
