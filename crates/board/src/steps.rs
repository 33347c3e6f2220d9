//! `step_complete_kandev`: an agent says that the work of the step is whole.

use crate::transition::{find_step, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::StepId;
use domain::question::{MAX_CONTEXT, check_length};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use store::workflows::StepSignal;

/// The answer to a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCompleted {
    /// False when the session had signalled before.
    pub accepted: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The step meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_id: Option<StepId>,
    /// When the signal was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled_at: Option<Timestamp>,
}

impl Board {
    /// Stores the signal for the session's present step unless there is one. The card moves when the turn ends; a message that
    /// comes before cancels the signal.
    pub async fn step_complete(
        &self,
        actor: &Actor,
        summary: &str,
        handoff: Option<&str>,
        blockers: Option<&str>,
    ) -> Result<StepCompleted> {
        let (task, session) = actor.require_agent()?;
        let summary = summary.trim();
        if summary.is_empty() {
            return Err(Refusal::validation(
                "summary is required: say in a sentence what was done",
            )
            .into());
        }
        check_length("summary", summary, MAX_CONTEXT)?;
        let optional = |field: &str, text: Option<&str>| -> Result<Option<String>> {
            let text = text.map(str::trim).filter(|t| !t.is_empty());
            if let Some(text) = text {
                check_length(field, text, MAX_CONTEXT)?;
            }
            Ok(text.map(str::to_owned))
        };
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        let session = load_session(&mut work.tx, session).await?;
        if session.state.is_terminal() {
            return Err(Refusal::conflict("this session is over").into());
        }
        let steps = store::workflows::steps(&mut work.tx, task.workflow_id).await?;
        let step = find_step(&steps, task.workflow_step_id)
            .ok_or_else(|| Refusal::conflict("the task is in a step that no longer exists"))?;
        let signal = StepSignal {
            summary: summary.to_owned(),
            handoff: optional("handoff", handoff)?,
            blockers: optional("blockers", blockers)?,
            signaled_at: work.now,
        };
        let stored =
            store::workflows::insert_signal(&mut work.tx, session.id, step.id, &signal).await?;
        work.task_event(&task).await?;
        work.commit().await?;
        Ok(if stored {
            StepCompleted {
                accepted: true,
                reason: None,
                step_id: Some(step.id),
                signaled_at: Some(signal.signaled_at),
            }
        } else {
            StepCompleted {
                accepted: false,
                reason: Some("already_signaled".to_owned()),
                step_id: None,
                signaled_at: None,
            }
        })
    }
}
