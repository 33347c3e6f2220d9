//! Steps: setting them up, and `step_complete_kandev`, by which an agent says that the work of its step is whole.

use crate::reach::may_configure;
use crate::transition::{Work, find_step, load_session, load_task};
use crate::workflows::{check_profile, configurable};
use crate::{Actor, Board, BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use domain::ids::{StepId, WorkflowId};
use domain::params::{CreateStep, UpdateStep};
use domain::question::{MAX_CONTEXT, check_length};
use domain::steps::{MAX_STEPS, changed, check_empty, check_order, placed, without_ways_to};
use domain::time::Timestamp;
use domain::workflow::{Step, StepEvents, Workflow, blank};
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
    /// Makes a step, at the end of its workflow or at a position among the others.
    pub async fn step_create(&self, actor: &Actor, params: CreateStep) -> Result<Step> {
        let mut work = self.begin().await?;
        let workflow = configurable(&mut work.tx, actor, params.workflow_id).await?;
        let mut steps = store::workflows::steps(&mut work.tx, workflow.id).await?;
        if steps.len() >= MAX_STEPS {
            return Err(Refusal::conflict(format!(
                "a workflow has at most {MAX_STEPS} steps: delete one first"
            ))
            .into());
        }
        let mut step = blank(StepId::new(), workflow.id);
        step.position = i64::try_from(steps.len()).unwrap_or(i64::MAX);
        steps.push(step.clone());
        let step = work.change_step(&step, &params.step, &steps).await?;
        if step.is_start_step {
            store::workflows::clear_start(&mut work.tx, workflow.id).await?;
        }
        store::workflows::insert_step(&mut work.tx, &step).await?;
        let step = work
            .put_in_place(step, params.step.position, &steps)
            .await?;
        work.workflow_event(&workflow).await?;
        work.commit().await?;
        Ok(step)
    }

    /// Changes a step: its words, its events, its limit and feeder, its place. Cards that a higher limit lets in are promoted at
    /// once; a lower one sends nobody back.
    ///
    /// Refused: see [`changed`].
    pub async fn step_update(&self, actor: &Actor, id: StepId, params: UpdateStep) -> Result<Step> {
        let mut work = self.begin().await?;
        let (workflow, steps, step) = configurable_step(&mut work, actor, id).await?;
        let changed = work.change_step(&step, &params, &steps).await?;
        if changed.is_start_step && !step.is_start_step {
            store::workflows::clear_start(&mut work.tx, workflow.id).await?;
        }
        store::workflows::update_step(&mut work.tx, &changed).await?;
        let step = match params.position {
            Some(_) => work.put_in_place(changed, params.position, &steps).await?,
            None => changed,
        };
        work.workflow_event(&workflow).await?;
        work.due.place_freed(id);
        work.commit().await?;
        Ok(step)
    }

    /// Removes a step. What led to it goes with it: steps that it fed have no feeder then, and events that moved cards to it no
    /// longer do. Without the start step, work starts in the first one.
    ///
    /// Refused while cards are in it, archived ones too, or on their way to it.
    pub async fn step_delete(&self, actor: &Actor, id: StepId) -> Result<()> {
        let mut work = self.begin().await?;
        let (workflow, steps, step) = configurable_step(&mut work, actor, id).await?;
        let cards = store::workflows::cards_of_step(&mut work.tx, id).await?;
        check_empty(&step, cards)?;
        for other in without_ways_to(id, &steps) {
            store::workflows::update_step(&mut work.tx, &other).await?;
        }
        store::workflows::delete_step(&mut work.tx, id).await?;
        let order: Vec<StepId> = steps.iter().map(|s| s.id).filter(|s| *s != id).collect();
        store::workflows::place_steps(&mut work.tx, &order).await?;
        for fed in steps.iter().filter(|s| s.pull_from_step_id == Some(id)) {
            work.due.place_freed(fed.id);
        }
        work.workflow_event(&workflow).await?;
        tracing::info!(%id, actor = actor.word(), "workflow step deleted");
        work.commit().await
    }

    /// Puts the steps of a workflow into another order; each is named exactly once.
    pub async fn step_reorder(
        &self,
        actor: &Actor,
        workflow: WorkflowId,
        order: &[StepId],
    ) -> Result<Vec<Step>> {
        let mut work = self.begin().await?;
        let workflow = configurable(&mut work.tx, actor, workflow).await?;
        let steps = store::workflows::steps(&mut work.tx, workflow.id).await?;
        let known: Vec<StepId> = steps.iter().map(|step| step.id).collect();
        check_order("step", &known, order)?;
        store::workflows::place_steps(&mut work.tx, order).await?;
        work.workflow_event(&workflow).await?;
        let steps = store::workflows::steps(&mut work.tx, workflow.id).await?;
        work.commit().await?;
        Ok(steps)
    }

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
        if store::turns::open(&mut work.tx, session.id)
            .await?
            .is_none()
        {
            return Err(Refusal::conflict(
                "your turn is over: the signal belongs to the turn that did the work, and is given before it ends",
            )
            .into());
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

impl Work {
    /// A step as a change makes it, with what only the database knows checked too.
    pub(crate) async fn change_step(
        &mut self,
        step: &Step,
        change: &UpdateStep,
        steps: &[Step],
    ) -> Result<Step> {
        if let Some(prompt) = &change.prompt {
            crate::prompts::check_size(prompt)?;
        }
        check_profile(&mut self.tx, change.agent_profile_id.flatten()).await?;
        if let Some(events) = &change.events {
            self.check_actions(events).await?;
        }
        Ok(changed(step, change, steps)?)
    }

    /// Refuses events that name a profile which there is not, or that say too much.
    pub(crate) async fn check_actions(&mut self, events: &StepEvents) -> Result<()> {
        for beside in events.on_enter.iter().filter_map(|action| action.beside()) {
            check_profile(&mut self.tx, beside.agent_profile_id).await?;
            crate::prompts::check_size(beside.prompt.unwrap_or_default())?;
        }
        Ok(())
    }

    async fn put_in_place(
        &mut self,
        step: Step,
        position: Option<i64>,
        steps: &[Step],
    ) -> Result<Step> {
        let known: Vec<StepId> = steps.iter().map(|step| step.id).collect();
        let order = placed(&known, step.id, position);
        store::workflows::place_steps(&mut self.tx, &order).await?;
        let stored = store::workflows::find_step(&mut self.tx, step.id).await?;
        Ok(stored.unwrap_or(step))
    }
}

/// The step with its workflow and all its steps, when the actor may set it up.
async fn configurable_step(
    work: &mut Work,
    actor: &Actor,
    id: StepId,
) -> Result<(Workflow, Vec<Step>, Step)> {
    let found = store::workflows::find_step(&mut work.tx, id).await?;
    let unknown = || Refusal::not_found("workflow step");
    let Some(step) = found else {
        may_configure(&mut work.tx, actor).await?;
        return Err(unknown().into());
    };
    let workflow = match configurable(&mut work.tx, actor, step.workflow_id).await {
        // Whose it is nobody learns who may not touch it.
        Err(BoardError::Refused(refusal)) if refusal.code == ErrorCode::NotFound => {
            return Err(unknown().into());
        }
        other => other?,
    };
    let steps = store::workflows::steps(&mut work.tx, workflow.id).await?;
    Ok((workflow, steps, step))
}
