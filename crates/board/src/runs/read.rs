//! Reading runs. Nothing here waits and nothing changes but counters.

use super::{RunResult, addressed, principal, resolve, thread};
use crate::{Actor, Board, Result};
use domain::clarification::ClarificationStatus;
use domain::error::Refusal;
use domain::ids::{RunId, SessionId, TaskId};
use domain::run::RunStatus;
use domain::run::ask::{ListRuns, RunTarget};
use domain::run::refuse::RunRefusal;
use domain::run::view::{Artifacts, Parts, Pending, Row, RunView};
use std::collections::BTreeMap;
use store::Snapshot;
use store::runs::{RunFilter, Stored};

/// Runs that one list shows, and at most.
const USUAL_LIST: i64 = 50;
const MAX_LIST: i64 = 200;

/// What a waiter holds on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunKey {
    /// The run.
    pub id: RunId,
    /// Its thread.
    pub session: SessionId,
    /// Its card: what events name.
    pub task: TaskId,
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunList {
    /// Newest first.
    pub tasks: Vec<Row>,
    /// Gives the page after this one.
    pub next_cursor: Option<RunId>,
    /// How many runs of the client stand how, on all pages.
    pub counts: BTreeMap<RunStatus, i64>,
}

impl Board {
    /// A run as it stands, with the parts that are wanted; the log goes on after `after`.
    pub async fn run_get(
        &self,
        actor: &Actor,
        target: &RunTarget,
        parts: Parts,
        after: Option<i64>,
    ) -> RunResult<RunView> {
        let mut db = self.snapshot().await?;
        let found = addressed(&mut db, actor, target).await?;
        Ok(self.run_view(&mut db, found, parts, after).await?)
    }

    /// Which run a call means.
    pub async fn run_key(&self, actor: &Actor, target: &RunTarget) -> RunResult<RunKey> {
        let token = principal(actor)?;
        let (run, _) = resolve(&mut self.snapshot().await?, token, target).await?;
        Ok(RunKey {
            id: run.id,
            session: run.session_id,
            task: run.task_id,
        })
    }

    /// As [`Self::run_get`], of a run that was resolved before.
    pub async fn run_of_key(&self, actor: &Actor, key: RunKey, parts: Parts) -> RunResult<RunView> {
        let token = principal(actor)?;
        let mut db = self.snapshot().await?;
        let found = store::runs::find(&mut db, token, key.id)
            .await?
            .ok_or_else(|| RunRefusal::no_run(None))?;
        Ok(self.run_view(&mut db, found, parts, None).await?)
    }

    /// Counts a wait for a run.
    pub async fn run_polled(&self, key: RunKey) -> Result<i64> {
        let mut work = self.begin().await?;
        let now = work.now;
        let count = store::runs::polled(&mut work.tx, key.id, now).await?;
        work.wake_runs();
        work.commit().await?;
        Ok(count)
    }

    /// Notes that the outcome of a run was handed out; answers whether that was the first time.
    pub async fn run_retrieved(&self, id: RunId) -> Result<bool> {
        let mut work = self.begin().await?;
        let now = work.now;
        let first = store::runs::retrieved(&mut work.tx, id, now).await?;
        if first {
            work.wake_runs();
            work.commit().await?;
        }
        Ok(first)
    }

    /// A client's runs: executions, not threads, so that none is hidden by a later one.
    pub async fn run_list(&self, actor: &Actor, params: &ListRuns) -> RunResult<RunList> {
        let token = principal(actor)?;
        let limit = params.limit.unwrap_or(USUAL_LIST).clamp(1, MAX_LIST);
        let before = match &params.cursor {
            None => None,
            Some(cursor) => Some(cursor.trim().parse::<RunId>().map_err(|_| {
                RunRefusal::invalid(
                    "cursor",
                    "cursor must be the nextCursor of an earlier page.",
                )
            })?),
        };
        let mut db = self.snapshot().await?;
        let session = match &params.session_key {
            None => None,
            Some(key) => match thread(&mut db, token, key).await? {
                Some((run, _)) => Some(run.session_id),
                None => return Err(RunRefusal::no_thread().into()),
            },
        };
        let filter = RunFilter {
            live: !params.all,
            session,
            agent: params.agent.clone(),
            before,
            limit: limit + 1,
        };
        let now = self.clock.now();
        let row =
            |(run, seen): &Stored| RunView::new(run, seen, now, self.settings.lease_ms).into_row();
        let mut found = store::runs::list(&mut db, token, &filter).await?;
        let has_more = i64::try_from(found.len()).is_ok_and(|n| n > limit);
        if has_more {
            found.pop();
        }
        let next_cursor = found.last().filter(|_| has_more).map(|(run, _)| run.id);
        let mut counts: BTreeMap<RunStatus, i64> = store::runs::outcomes(&mut db, token)
            .await?
            .into_iter()
            .collect();
        let all_live = RunFilter {
            live: true,
            limit: i64::from(i32::MAX),
            ..RunFilter::default()
        };
        for live in store::runs::list(&mut db, token, &all_live).await? {
            *counts.entry(row(&live).status()).or_default() += 1;
        }
        Ok(RunList {
            tasks: found.iter().map(row).collect(),
            next_cursor,
            counts,
        })
    }

    /// A run with the parts that are wanted.
    pub(super) async fn run_view(
        &self,
        db: &mut Snapshot,
        (run, seen): Stored,
        parts: Parts,
        after: Option<i64>,
    ) -> Result<RunView> {
        let mut view = RunView::new(&run, &seen, self.clock.now(), self.settings.lease_ms);
        if view.status == RunStatus::NeedsHuman {
            view.pending = pending(db, run.session_id).await?;
        }
        if parts.artifacts {
            let mut artifacts = store::runs::artifacts(db, &run).await?;
            artifacts.needs_human_decision = Artifacts::asks(view.summary.as_deref());
            view.add_artifacts(artifacts);
        }
        if parts.logs {
            let (entries, count) = store::runs::log(db, &run, after).await?;
            view.add_logs(entries, count);
        }
        if parts.prompt {
            let asked = store::runs::asked(db, run.id).await?;
            view.prompt = Some(
                asked
                    .ok_or_else(|| {
                        Refusal::missing("what was asked of this task is no longer kept")
                    })?
                    .into(),
            );
        }
        Ok(view.keep(parts).fit())
    }
}

/// The questions that a session's operator is asked, all together.
async fn pending(db: &mut Snapshot, session: SessionId) -> Result<Option<Pending>> {
    let mut open = store::clarifications::open_of_session(db, session).await?;
    open.retain(|bundle| bundle.status == ClarificationStatus::Pending);
    // The oldest is what an answer goes to.
    Ok(open.into_iter().next().map(|bundle| Pending {
        id: bundle.id,
        questions: bundle.questions,
        context: bundle.context,
    }))
}
