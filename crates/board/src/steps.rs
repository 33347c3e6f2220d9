//! Steps: changing one, and `step_complete_kandev`, by which an agent says that the work of its step is whole.

use crate::transition::{find_step, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::StepId;
use domain::params::UpdateStep;
use domain::question::{MAX_CONTEXT, check_length};
use domain::time::Timestamp;
use domain::wip::check_feeder;
use domain::workflow::{CompleteAction, MoveAction, Step, StepEvents};
use serde::{Deserialize, Serialize};
use store::workflows::StepSignal;

/// Longest name of a step, in code points.
const MAX_NAME: usize = 60;

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
    /// Changes a step: its prompt, its events, its limit and feeder. Cards that a higher limit lets in are promoted at once; a
    /// lower one sends nobody back.
    ///
    /// Refused: a negative limit, a feeder of another workflow or in a circle, an event that leads to another workflow's step.
    pub async fn step_update(&self, actor: &Actor, id: StepId, params: UpdateStep) -> Result<Step> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut step = store::workflows::find_step(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("workflow step"))?;
        let steps = store::workflows::steps(&mut work.tx, step.workflow_id).await?;
        if let Some(name) = params.name {
            let name = name.trim();
            if name.is_empty() {
                return Err(
                    Refusal::validation("name is required: call the step something").into(),
                );
            }
            check_length("name", name, MAX_NAME)?;
            step.name = name.to_owned();
        }
        if let Some(prompt) = params.prompt {
            crate::prompts::check_size(&prompt)?;
            step.prompt = prompt;
        }
        if let Some(events) = params.events {
            check_events(&events, &steps)?;
            step.events = events;
        }
        if let Some(limit) = params.wip_limit {
            if limit < 0 {
                return Err(
                    Refusal::validation("wip_limit must be 0, for no limit, or more").into(),
                );
            }
            step.wip_limit = limit;
        }
        if let Some(feeder) = params.pull_from_step_id {
            if let Some(feeder) = feeder {
                check_feeder(id, feeder, &steps)?;
            }
            step.pull_from_step_id = feeder;
        }
        if let Some(hours) = params.auto_archive_after_hours {
            if hours < 0 {
                return Err(Refusal::validation(
                    "auto_archive_after_hours must be 0, for never, or more",
                )
                .into());
            }
            step.auto_archive_after_hours = hours;
        }
        if let Some(profile) = params.agent_profile_id {
            if let Some(profile) = profile
                && store::agents::find_profile(&mut work.tx, profile)
                    .await?
                    .is_none()
            {
                return Err(Refusal::validation("agent_profile_id names no agent profile").into());
            }
            step.agent_profile_id = profile;
        }
        if step.agent_profile_id.is_some() && step.configures_sessions() {
            return Err(Refusal::validation(
                "a step either pins an agent profile or configures the session: take one of the two out",
            )
            .into());
        }
        step.allow_manual_move = params.allow_manual_move.unwrap_or(step.allow_manual_move);
        step.auto_advance_requires_signal = params
            .auto_advance_requires_signal
            .unwrap_or(step.auto_advance_requires_signal);
        step.cancel_triggers_turn_complete = params
            .cancel_triggers_turn_complete
            .unwrap_or(step.cancel_triggers_turn_complete);
        store::workflows::update_step(&mut work.tx, &step).await?;
        if let Some(workflow) = store::workflows::find(&mut work.tx, step.workflow_id).await? {
            work.event(
                NewEvent::new(EventKind::WorkflowUpdated)
                    .workspace(workflow.workspace_id)
                    .subject(workflow.id),
            )
            .await?;
        }
        work.due.place_freed(id);
        work.commit().await?;
        Ok(step)
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

/// Refuses events that lead to a step of another workflow: they would be ignored when their moment comes.
fn check_events(events: &StepEvents, steps: &[Step]) -> Result<()> {
    let on_complete = events
        .on_turn_complete
        .iter()
        .filter_map(|action| match action {
            CompleteAction::Move(action) => Some(action),
            CompleteAction::Plan(_) => None,
        });
    for action in events
        .on_turn_start
        .iter()
        .chain(on_complete)
        .chain(&events.on_children_completed)
    {
        if let MoveAction::MoveToStep { step_id } = action
            && find_step(steps, *step_id).is_none()
        {
            return Err(Refusal::validation(
                "events: move_to_step must name a step of the same workflow",
            )
            .into());
        }
    }
    Ok(())
}
