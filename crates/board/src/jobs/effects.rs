//! The ledger of tools that act, and consent to previews.

use super::views::load;
use crate::{Board, Result};
use domain::error::Refusal;
use domain::job::effects::{
    self, CONFIRMATION_MS, Confirmation, Consent, Replay, ToolCall, ToolCallState,
};
use domain::job::{Job, JobId, JobKey, PendingConfirmation};
use serde_json::Value;
use store::Write;

/// How many previews of the same are looked at for one that can be agreed to.
const PREVIEWS: i64 = 20;

impl Board {
    /// A tool that acts is about to run for a job. Says whether it is to: a rerun gets what an earlier run was answered.
    pub async fn job_tool_begin(&self, job: &Job, tool: &str, arguments: &Value) -> Result<Replay> {
        let hash = effects::args_hash(arguments);
        let mut work = self.begin().await?;
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
        let mut work = self.begin().await?;
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

    /// Keeps a preview that a tool made for a job, to be agreed to by the job's user in a later message.
    pub async fn confirmation_add(
        &self,
        job: &Job,
        preview: &PendingConfirmation,
    ) -> Result<Confirmation> {
        let Some(tool) = preview.confirmation_tool.clone() else {
            return Err(Refusal::validation(
                "the preview does not say which tool confirms it: nothing can be agreed to",
            )
            .into());
        };
        let mut work = self.begin().await?;
        if work.held(job).await?.is_none() {
            return Err(lost().into());
        }
        let now = work.now;
        let mut confirmation = Confirmation {
            id: 0,
            job_id: job.id,
            user_id: job.user_id.clone(),
            conversation: job.source.clone(),
            preview_tool: preview.preview_tool.clone(),
            confirmation_tool: tool,
            args_hash: effects::args_hash(&preview.arguments),
            arguments: preview.arguments.clone(),
            summary: preview.summary.clone(),
            expires_at: now.plus_millis(CONFIRMATION_MS),
            consumed_at: None,
            created_at: now,
        };
        confirmation.id =
            store::job_effects::insert_confirmation(&mut work.tx, &confirmation).await?;
        work.commit().await?;
        Ok(confirmation)
    }

    /// A `confirm_*` tool is called for a job: uses up the preview it confirms, or refuses. Two calls at once act once.
    pub async fn confirmation_consume(
        &self,
        job: &Job,
        tool: &str,
        arguments: &Value,
    ) -> Result<Confirmation> {
        let hash = effects::args_hash(arguments);
        let mut work = self.begin().await?;
        if work.held(job).await?.is_none() {
            return Err(lost().into());
        }
        let asked = Consent {
            user_id: &job.user_id,
            job_id: Some(job.id),
            tool,
            args_hash: &hash,
            now: work.now,
        };
        let previews = store::job_effects::confirmations_for(
            &mut work.tx,
            &job.user_id,
            tool,
            &hash,
            PREVIEWS,
        )
        .await?;
        let usable = previews
            .iter()
            .find(|preview| effects::consent(Some(preview), &asked).is_ok());
        // Without a usable one the newest says what is wrong.
        let preview = usable.or(previews.first());
        effects::consent(preview, &asked)?;
        let Some(mut preview) = preview.cloned() else {
            return Err(Refusal::conflict("there is no preview to confirm").into());
        };
        consumed(
            store::job_effects::consume_confirmation(&mut work.tx, preview.id, asked.now).await?,
        )?;
        preview.consumed_at = Some(asked.now);
        work.commit().await?;
        Ok(preview)
    }

    /// The user pressed the button of a preview: uses it up, and says what is to be carried out.
    pub async fn confirmation_confirm(&self, id: i64, user_id: &str) -> Result<Confirmation> {
        let mut work = self.begin().await?;
        let preview = store::job_effects::confirmation(&mut work.tx, id).await?;
        let (tool, hash) = preview
            .as_ref()
            .map(|preview| (preview.confirmation_tool.clone(), preview.args_hash.clone()))
            .unwrap_or_default();
        let asked = Consent {
            user_id,
            job_id: None,
            tool: &tool,
            args_hash: &hash,
            now: work.now,
        };
        effects::consent(preview.as_ref(), &asked)?;
        let Some(mut preview) = preview else {
            return Err(Refusal::missing("there is no such preview").into());
        };
        consumed(store::job_effects::consume_confirmation(&mut work.tx, id, asked.now).await?)?;
        preview.consumed_at = Some(asked.now);
        work.commit().await?;
        Ok(preview)
    }

    /// What a user can still agree to, the newest first.
    pub async fn confirmations_open(&self, user_id: &str) -> Result<Vec<Confirmation>> {
        let mut db = self.snapshot().await?;
        Ok(
            store::job_effects::open_confirmations(&mut db, user_id, self.clock.now(), PREVIEWS)
                .await?,
        )
    }
}

fn lost() -> Refusal {
    Refusal::conflict("this run has lost the job to another one: stop, and do nothing more")
}

fn consumed(write: Write) -> Result<()> {
    match write {
        Write::Changed => Ok(()),
        Write::Stale => Err(Refusal::conflict(
            "this preview was confirmed already: nothing is done a second time",
        )
        .into()),
    }
}
