//! Where a card is: changing its step, and who gets the places of a step that has a limit.
//!
//! A card beyond the limit is in its step but not admitted to it: it has left the one before, and nothing is started for it.
//! Whatever frees a place says so to [`crate::settle`], and before the commit the next card is promoted in the same
//! transaction, so no place is lost and no card is promoted twice.

use crate::entry::{Entry, EntryMoment};
use crate::transition::{Work, load_task};
use crate::{Actor, Result};
use domain::effect::EffectKind;
use domain::event::{EventKind, NewEvent};
use domain::ids::{MoveId, SessionId, StepId};
use domain::moves::PendingMove;
use domain::task::Task;
use domain::wip::{Load, Placement, place_new};
use domain::workflow::{MoveTrigger, Mover, Step};
use store::workflows::StepTransition;

/// Why a card changes its step, and who wanted it.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    pub(crate) trigger: MoveTrigger,
    pub(crate) actor: Mover,
    pub(crate) session: Option<SessionId>,
    pub(crate) move_id: Option<MoveId>,
}

impl Cause {
    pub(crate) const fn by(actor: Actor) -> Self {
        Self {
            trigger: MoveTrigger::Manual,
            actor: actor.mover(),
            session: actor.session(),
            move_id: None,
        }
    }

    pub(crate) const fn system(trigger: MoveTrigger) -> Self {
        Self {
            trigger,
            actor: Mover::System,
            session: None,
            move_id: None,
        }
    }

    pub(crate) const fn of(pending: &PendingMove) -> Self {
        Self {
            trigger: pending.trigger,
            actor: pending.actor,
            session: pending.sender_session_id,
            move_id: Some(pending.id),
        }
    }
}

impl Work {
    /// Whether one more card may be admitted to a step.
    pub(crate) async fn has_room(&mut self, step: &Step) -> Result<bool> {
        if step.wip_limit <= 0 {
            return Ok(true);
        }
        let taken = store::tasks::taken(&mut self.tx, step.id).await?;
        Ok(Load { step, taken }.has_room())
    }

    /// Where a new card for a step goes.
    pub(crate) async fn place_new(&mut self, step: &Step, steps: &[Step]) -> Result<Placement> {
        if self.has_room(step).await? {
            return Ok(Placement::Admitted);
        }
        let taken = store::tasks::taken(&mut self.tx, step.id).await?;
        let feeder = steps.iter().find(|s| Some(s.id) == step.pull_from_step_id);
        let feeder = match feeder {
            Some(feeder) => Some(Load {
                step: feeder,
                taken: store::tasks::taken(&mut self.tx, feeder.id).await?,
            }),
            None => None,
        };
        Ok(place_new(Load { step, taken }, feeder)?)
    }

    /// Moves a task to a step, at the end of it or at `position`, and writes the history; answers whether the task is admitted
    /// to it. Within its step a task only changes its place.
    pub(crate) async fn place_in_step(
        &mut self,
        task: &mut Task,
        step: &Step,
        position: Option<i64>,
        cause: &Cause,
    ) -> Result<bool> {
        let from = task.workflow_step_id;
        let waited = task.waits_for_place();
        let end = store::tasks::next_position(&mut self.tx, step.id).await?;
        task.position = match position {
            Some(wanted) if wanted < end => {
                let wanted = wanted.max(0);
                store::tasks::shift(&mut self.tx, step.id, wanted).await?;
                wanted
            }
            Some(_) | None => end,
        };
        if from != step.id {
            self.leave(task).await?;
            task.wip_admitted = task.state.is_terminal() || self.has_room(step).await?;
            task.queued_at = (!task.wip_admitted).then_some(self.now);
            task.workflow_step_id = step.id;
            task.workflow_id = step.workflow_id;
        }
        self.save_task(task).await?;
        if from != step.id {
            let transition = StepTransition {
                task_id: task.id,
                from,
                to: step.id,
                trigger: cause.trigger,
                actor: cause.actor,
                session_id: cause.session,
                move_id: cause.move_id,
                at: self.now,
            };
            store::workflows::record_transition(&mut self.tx, &transition).await?;
        }
        self.event(
            NewEvent::new(EventKind::TaskUpdated)
                .workspace(task.workspace_id)
                .task(task.id),
        )
        .await?;
        if waited && !task.waits_for_place() {
            self.dispatch_what_waits(task).await?;
        }
        Ok(!task.waits_for_place())
    }

    /// The card has its place: what came for its sessions meanwhile may be delivered.
    async fn dispatch_what_waits(&mut self, task: &Task) -> Result<()> {
        for session in store::sessions::list(&mut self.tx, task.id).await? {
            let waits = store::queue::list(&mut self.tx, session.id).await?;
            if !waits.is_empty() && !session.state.is_terminal() {
                self.effect(EffectKind::Dispatch, &session, None).await?;
            }
        }
        Ok(())
    }

    /// What leaving a step does: its `on_exit`, at once; what waited for an entry that is not made any more goes.
    async fn leave(&mut self, task: &mut Task) -> Result<()> {
        if task.takes_place() {
            self.due.place_freed(task.workflow_step_id);
        }
        task.queued_for_step_id = None;
        store::moves::take_marker(&mut self.tx, task.id).await?;
        store::tasks::set_notice(&mut self.tx, task.id, None).await?;
        let step = store::workflows::find_step(&mut self.tx, task.workflow_step_id).await?;
        if step.is_some_and(|step| step.ends_plan_on_exit()) {
            for session in store::sessions::list(&mut self.tx, task.id).await? {
                if session.plan_mode {
                    self.end_planning(session.id).await?;
                }
            }
        }
        Ok(())
    }

    /// Gives the free places of a step to the cards that wait for them, in their order.
    pub(crate) async fn promote(&mut self, step: StepId) -> Result<()> {
        // A step may be gone with its workflow.
        let Some(step) = store::workflows::find_step(&mut self.tx, step).await? else {
            return Ok(());
        };
        // A step without a limit is never full: it takes whoever waits for it, and drains no feeder.
        let feeder = step.pull_from_step_id.filter(|_| step.wip_limit > 0);
        while self.has_room(&step).await? {
            let Some(mut task) =
                store::tasks::next_for_step(&mut self.tx, step.id, feeder, &self.due.promoted)
                    .await?
            else {
                return Ok(());
            };
            self.due.promoted.push(task.id);
            if task.workflow_step_id == step.id {
                task.wip_admitted = true;
                task.queued_at = None;
                self.save_task(&mut task).await?;
                self.task_event(&task).await?;
            } else {
                let cause = Cause::system(MoveTrigger::QueuePromotion);
                self.place_in_step(&mut task, &step, None, &cause).await?;
            }
            self.begin_work(&mut task, &step).await?;
        }
        Ok(())
    }

    /// What a promoted card was waiting to do: its entry into the step, the start that was asked for, the prompts that came.
    async fn begin_work(&mut self, task: &mut Task, step: &Step) -> Result<()> {
        let marker = store::moves::take_marker(&mut self.tx, task.id).await?;
        let options = marker
            .filter(|m| m.step_id == step.id && step.auto_starts())
            .map(|m| m.options);
        let entry = Entry {
            options,
            ..Entry::at(EntryMoment::Promotion)
        };
        self.enter(task, step, entry).await?;
        self.start_if_ready(task.id).await?;
        self.dispatch_what_waits(task).await
    }

    /// A card comes back to its step: it is admitted when there is room, or when it is over and needs none.
    pub(crate) async fn readmit(&mut self, task: &mut Task, is_over: bool) -> Result<()> {
        if let Some(step) = store::workflows::find_step(&mut self.tx, task.workflow_step_id).await?
        {
            task.wip_admitted = is_over || self.has_room(&step).await?;
            task.queued_at = (!task.wip_admitted || task.queued_for_step_id.is_some())
                .then_some(task.queued_at.unwrap_or(self.now));
            self.due
                .place_freed(task.queued_for_step_id.unwrap_or(task.workflow_step_id));
        }
        Ok(())
    }

    /// A card that is over waits for no place, and what its step asked for meanwhile is not done any more. Words of people and
    /// peers stay: whoever sent them wants an answer.
    pub(crate) async fn give_up_waiting(&mut self, task: &mut Task) -> Result<()> {
        if task.waits_for_place() {
            task.wip_admitted = true;
            task.queued_for_step_id = None;
            task.queued_at = None;
            self.save_task(task).await?;
            self.task_event(task).await?;
            self.dispatch_what_waits(task).await?;
        }
        self.forget_entry(task).await?;
        for session in store::queue::drop_workflow(&mut self.tx, task.id).await? {
            self.queue_event(task.id, session).await?;
        }
        Ok(())
    }

    /// A card no longer takes its place.
    pub(crate) fn free_place(&mut self, task: &Task) {
        if task.takes_place() {
            self.due.place_freed(task.workflow_step_id);
        }
    }

    /// Looks at the dependants of a task again: some may be free now, and all of them show what is the matter with it.
    pub(crate) async fn release_dependants(&mut self, task: domain::ids::TaskId) -> Result<()> {
        for id in store::dependencies::dependants(&mut self.tx, task).await? {
            let dependant = load_task(&mut self.tx, id).await?;
            self.task_event(&dependant).await?;
            if dependant.waits_for_place() {
                self.due.place_freed(
                    dependant
                        .queued_for_step_id
                        .unwrap_or(dependant.workflow_step_id),
                );
            } else {
                self.start_if_ready(id).await?;
            }
        }
        Ok(())
    }
}
