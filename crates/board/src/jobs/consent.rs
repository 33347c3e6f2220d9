//! Consent to previews: by a user's later message, which a model carries out, or by a button, which needs no model.
//!
//! A button's consent is kept first, what was previewed is carried out then under [`Confirmation::key`], and its end is noted last.
//! A process that dies in between leaves a row that was agreed to and has no end: whoever comes next, another press or the next
//! start, carries it out under the same key, so that it is done once and not forgotten.

use super::effects::lost;
use super::views::load;
use crate::transition::Work;
use crate::{Board, Canceller, Result};
use domain::error::Refusal;
use domain::job::effects::{self, CONFIRMATION_MS, Confirmation, Consent, ConsentOutcome};
use domain::job::event::NewJobEvent;
use domain::job::view::ConsentView;
use domain::job::{Job, JobEventType, JobKey, PendingConfirmation};
use domain::time::Timestamp;
use serde_json::{Value, json};
use store::Write;

/// How many previews of the same are looked at for one that can be agreed to.
const PREVIEWS: i64 = 20;

impl Board {
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
        let mut confirmation = new_confirmation(job, preview, tool, now);
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
            job_id: job.id,
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
        preview.outcome = Some(ConsentOutcome::Confirmed);
        work.wake_jobs();
        work.commit().await?;
        Ok(preview)
    }

    /// A button was pressed: keeps that the job's preview was agreed to, and says what is to be carried out. `named` is the preview
    /// that was shown, for whoever wants to be sure.
    pub async fn consent_agree(&self, key: &JobKey, named: Option<i64>) -> Result<Confirmation> {
        let mut work = self.begin().await?;
        let mut preview = work.preview_of(key, named).await?;
        effects::agree(&preview, work.now)?;
        if preview.agreed_at.is_none() {
            preview.agreed_at = Some(work.now);
            let _: Write =
                store::job_effects::set_agreed(&mut work.tx, preview.id, preview.agreed_at).await?;
            work.wake_jobs();
        }
        work.commit().await?;
        Ok(preview)
    }

    /// What was agreed to was carried out. A second one to say so is refused: its act was the first one's.
    pub async fn consent_carried_out(
        &self,
        preview: &Confirmation,
        result: &Value,
        by: Canceller<'_>,
    ) -> Result<ConsentView> {
        self.consent_ended(preview, ConsentOutcome::Confirmed, Some(result), by)
            .await
    }

    /// What was agreed to was refused and changed nothing: it can be agreed to again for as long as it would have been.
    pub async fn consent_came_to_nothing(&self, preview: &Confirmation) -> Result<()> {
        let mut work = self.begin().await?;
        let _: Write = store::job_effects::set_agreed(&mut work.tx, preview.id, None).await?;
        work.wake_jobs();
        work.commit().await
    }

    /// A button was pressed: the job's preview is not wanted. A second press changes nothing.
    pub async fn consent_decline(
        &self,
        key: &JobKey,
        named: Option<i64>,
        by: Canceller<'_>,
    ) -> Result<ConsentView> {
        let mut work = self.begin().await?;
        let preview = work.preview_of(key, named).await?;
        if !effects::decline(&preview, work.now)? {
            return Ok(ConsentView::of(preview, work.now));
        }
        work.end_consent(preview, ConsentOutcome::Declined, None, by)
            .await
    }

    async fn consent_ended(
        &self,
        preview: &Confirmation,
        outcome: ConsentOutcome,
        result: Option<&Value>,
        by: Canceller<'_>,
    ) -> Result<ConsentView> {
        let work = self.begin().await?;
        work.end_consent(preview.clone(), outcome, result, by).await
    }

    /// What was agreed to and not carried out, since whoever was about to was interrupted.
    pub async fn consents_unfinished(&self) -> Result<Vec<Confirmation>> {
        let mut db = self.snapshot().await?;
        Ok(store::job_effects::agreed_confirmations(&mut db, UNFINISHED).await?)
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

/// What one start carries out of what an earlier one left; a user's every press leaves one at most.
const UNFINISHED: i64 = 1_000;

impl Work {
    /// The preview that a job made. Of a number that is another job's nothing is known here.
    async fn preview_of(&mut self, key: &JobKey, named: Option<i64>) -> Result<Confirmation> {
        let job = load(&mut self.tx, key).await?;
        let preview = match named {
            Some(id) => store::job_effects::confirmation(&mut self.tx, id).await?,
            None => store::job_effects::confirmation_of(&mut self.tx, job.id).await?,
        };
        Ok(preview
            .filter(|preview| preview.job_id == job.id)
            .ok_or_else(|| Refusal::missing("this job has no such preview"))?)
    }

    async fn end_consent(
        mut self,
        mut preview: Confirmation,
        outcome: ConsentOutcome,
        result: Option<&Value>,
        by: Canceller<'_>,
    ) -> Result<ConsentView> {
        let now = self.now;
        consumed(
            store::job_effects::end_confirmation(&mut self.tx, preview.id, outcome, result, now)
                .await?,
        )?;
        let event_type = match outcome {
            ConsentOutcome::Confirmed => JobEventType::Confirmed,
            ConsentOutcome::Declined => JobEventType::Declined,
        };
        let entry = NewJobEvent::new(event_type, by.source()).with(json!({
            "confirmationId": preview.id, "tool": preview.confirmation_tool,
        }));
        self.job_event(preview.job_id, entry).await?;
        self.commit().await?;
        preview.consumed_at = Some(now);
        preview.outcome = Some(outcome);
        preview.result = result.cloned();
        Ok(ConsentView::of(preview, now))
    }
}

/// A preview of this job, not stored yet.
pub(super) fn new_confirmation(
    job: &Job,
    preview: &PendingConfirmation,
    confirmation_tool: String,
    now: Timestamp,
) -> Confirmation {
    Confirmation {
        id: 0,
        job_id: job.id,
        user_id: job.user_id.clone(),
        conversation: job.source.clone(),
        preview_tool: preview.preview_tool.clone(),
        confirmation_tool,
        args_hash: effects::args_hash(&preview.arguments),
        arguments: preview.arguments.clone(),
        summary: preview.summary.clone(),
        expires_at: now.plus_millis(CONFIRMATION_MS),
        agreed_at: None,
        consumed_at: None,
        outcome: None,
        result: None,
        created_at: now,
    }
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
