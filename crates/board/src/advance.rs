//! Moves that turns cause: cards advance when a turn begins and when it ends, as the steps of their workflow say.

use crate::transition::{Work, find_step, queue_and_gate};
use crate::{Actor, Result};
use domain::queue;
use domain::session::Session;
use domain::task::Task;
use domain::turn::{Turn, TurnState};
use domain::workflow::{MoveTrigger, Step, TurnMoment, step_after};

impl Work {
    /// `on_turn_start` of the card's step.
    pub(crate) async fn before_turn(&mut self, task: &mut Task, session: &Session) -> Result<()> {
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        // A turn begins already: a step that starts an agent on entry has nothing to start.
        self.move_by_workflow(task, TurnMoment::Start).await?;
        Ok(())
    }

    /// `on_turn_complete` of the card's step, unless a question is open, more waits to be delivered, a signal is missing, or
    /// the turn was cancelled where a cancel does not count. Gives the step that was entered.
    pub(crate) async fn after_turn(
        &mut self,
        task: &mut Task,
        session: &Session,
        turn: &Turn,
        by_operator: bool,
    ) -> Result<Option<Step>> {
        let (rows, gate) = queue_and_gate(&mut self.tx, task, session).await?;
        let bundles = self.active_bundles(session).await?;
        if gate.parent_question_pending || !bundles.is_empty() {
            store::workflows::clear_signals(&mut self.tx, session.id).await?;
            return Ok(None);
        }
        if gate.closed || !queue::is_at_rest(&rows, gate) {
            return Ok(None);
        }
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(step) = find_step(&steps, task.workflow_step_id) else {
            return Ok(None);
        };
        let counts = match turn.state {
            TurnState::Completed => true,
            TurnState::Cancelled => by_operator && step.cancel_triggers_turn_complete,
            TurnState::Failed
            | TurnState::Interrupted
            | TurnState::Dispatching
            | TurnState::Open => false,
        };
        if !counts {
            return Ok(None);
        }
        if step.auto_advance_requires_signal
            && !store::workflows::has_signal(&mut self.tx, session.id, step.id).await?
        {
            return Ok(None);
        }
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        self.move_by_workflow(task, TurnMoment::Complete).await
    }

    async fn move_by_workflow(
        &mut self,
        task: &mut Task,
        moment: TurnMoment,
    ) -> Result<Option<Step>> {
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(current) = find_step(&steps, task.workflow_step_id) else {
            return Ok(None);
        };
        let Some(target) = step_after(current, &steps, moment) else {
            return Ok(None);
        };
        let since = self.now.plus_millis(-60_000);
        let moves = store::workflows::automatic_moves_since(&mut self.tx, task.id, since).await?;
        if moves >= self.settings.max_automatic_moves {
            tracing::warn!(task = %task.id, moves, "the workflow moves this task in a loop: it stays where it is");
            return Ok(None);
        }
        let trigger = match moment {
            TurnMoment::Start => MoveTrigger::OnTurnStart,
            TurnMoment::Complete => MoveTrigger::AutoComplete,
        };
        let target = target.clone();
        self.place_in_step(task, &target, None, trigger, Actor::System)
            .await?;
        Ok(Some(target))
    }
}
