//! The ledger of tools that act, and what watchers are told of tools.

use super::transition::by_executor;
use super::views::load;
use crate::{Board, Result};
use domain::error::Refusal;
use domain::job::effects::{self, Replay, ToolCall, ToolCallState};
use domain::job::{Job, JobEventType, JobId, JobKey};
use serde_json::{Value, json};
use store::Write;

impl Board {
    /// A tool that acts is about to run for a job. Says whether it is to: a rerun gets what an earlier run was answered.
    pub async fn job_tool_begin(&self, job: &Job, tool: &str, arguments: &Value) -> Result<Replay> {
        let hash = effects::args_hash(arguments);
        let mut work = self.begin_rows().await?;
        if work.held(job).await?.is_none() {
            return Err(lost().into());
        }
        let earlier = store::job_effects::last_call(&mut work.tx, job.id, tool, &hash).await?;
        if let Some(replay) = effects::replay(earlier.as_ref()) {
            return Ok(replay);
        }
        // The same for every try of the same call, also for one after a try that failed.
        let idempotency_key = format!("{}:{tool}:{hash}", job.correlation_id);
        let now = work.now;
        let seq = store::job_effects::begin_call(
            &mut work.tx,
            job.id,
            tool,
            &hash,
            &idempotency_key,
            now,
        )
        .await?;
        work.commit().await?;
        Ok(Replay::Run {
            seq,
            idempotency_key,
        })
    }

    /// The tool ran. `acted` is false only when it certainly did nothing. Also a run that lost its job may say so: it is the truth.
    pub async fn job_tool_end(
        &self,
        job: JobId,
        seq: i64,
        acted: bool,
        result: &Value,
    ) -> Result<()> {
        let state = if acted {
            ToolCallState::Finished
        } else {
            ToolCallState::Failed
        };
        let mut work = self.begin_rows().await?;
        let now = work.now;
        let _: Write =
            store::job_effects::end_call(&mut work.tx, job, seq, state, result, now).await?;
        work.commit().await
    }

    /// What tools did for a job.
    pub async fn job_tool_calls(&self, key: &JobKey) -> Result<Vec<ToolCall>> {
        let mut db = self.snapshot().await?;
        let job = load(&mut db, key).await?;
        Ok(store::job_effects::calls(&mut db, job.id).await?)
    }

    /// A tool is about to run for a job, for whoever watches.
    pub async fn job_tool_called(&self, job: &Job, tool: &str) -> Result<()> {
        let mut work = self.begin_rows().await?;
        if work.held(job).await?.is_none() {
            return Err(lost().into());
        }
        let entry = by_executor(JobEventType::ToolCalled).with(json!({"tool": tool}));
        work.job_event(job.id, entry).await?;
        work.commit().await
    }
}

pub(super) fn lost() -> Refusal {
    Refusal::conflict("this run has lost the job to another one: stop, and do nothing more")
}
