//! Moves that turns and children cause: cards advance when a turn begins, when it ends, and when all parts of their task have
//! ended, as the steps of their workflow say.

use crate::Result;
use crate::entry::{Entry, EntryMoment};
use crate::moves::MoveTo;
use crate::placement::Cause;
use crate::settings::LOOP_WINDOW_MS;
use crate::standing::active_bundles;
use crate::transition::{Work, find_step, load_session, queue_and_gate};
use domain::context;
use domain::ids::{MoveId, SessionId, TaskId};
use domain::moves::EntryOptions;
use domain::queue::{self, QueuedPrompt};
use domain::session::{Session, SessionState};
use domain::task::{Task, TaskCommand, TaskState};
use domain::turn::{Turn, TurnState};
use domain::workflow::{MoveTrigger, Step, TurnMoment, step_after};

impl Work {
    /// `on_turn_start` of the card's step. The session may be another one afterwards than was read: what the step that is
    /// entered does to it is written. A prompt that may go to any session goes to the one that works in that step.
    pub(crate) async fn before_turn(
        &mut self,
        task: &mut Task,
        session: &Session,
        prompt: &QueuedPrompt,
    ) -> Result<()> {
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        let place = self.take_up_again(task).await?;
        let from = task.workflow_step_id;
        if let Some(step) = self
            .move_by_workflow(task, TurnMoment::Start, Some(session.id))
            .await?
        {
            if !prompt.pinned {
                self.session_for_step(task, &step).await?;
            }
            // A turn begins already: a step that starts an agent on entry has nothing to start.
            self.enter(task, &step, Entry::at(EntryMoment::TurnStart))
                .await?;
        }
        if task.workflow_step_id == from {
            self.wait_without(place, task).await?;
        }
        Ok(())
    }

    /// Somebody wants a card to be worked on that is over: it is not over any more, and takes a place from here on. Answers whether
    /// its step had one; a card that was not over has its own.
    pub(crate) async fn take_up_again(&mut self, task: &mut Task) -> Result<bool> {
        if !task.state.is_terminal() {
            return Ok(true);
        }
        let place = match self.step_of(task).await? {
            Some(step) => self.has_room(&step).await?,
            None => true,
        };
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        // As it would rest had it not been ended: a start that fails must not make a failure of work that was done.
        let rests = if sessions.iter().any(|session| session.generation > 0) {
            TaskState::Review
        } else {
            TaskState::Todo
        };
        self.task(task, TaskCommand::Set(rests)).await?;
        Ok(place)
    }

    /// A card without a place waits for one.
    pub(crate) async fn wait_without(&mut self, place: bool, task: &mut Task) -> Result<()> {
        if place || task.waits_for_place() {
            return Ok(());
        }
        task.wip_admitted = false;
        task.queued_at = Some(self.now);
        self.save_task(task).await?;
        self.task_event(task).await
    }

    /// Whether a turn that began now would have to wait: its step would send the card into one that is full, or the card is over
    /// and would need a place again.
    pub(crate) async fn turn_would_wait(&mut self, task: &Task) -> Result<bool> {
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(current) = find_step(&steps, task.workflow_step_id) else {
            return Ok(false);
        };
        match step_after(current, &steps, TurnMoment::Start) {
            Some(target) => Ok(!self.has_room(target).await?),
            None => Ok(task.state.is_terminal() && !self.has_room(current).await?),
        }
    }

    /// `on_turn_complete` of the card's step, unless a question is open, more waits to be delivered, a signal is missing, the turn
    /// was cancelled where a cancel does not count, or another session of the task is at work: then the last one's end counts.
    /// The primary session's signal says that the step's work is whole, whoever else is at work. A turn
    /// counts for the step that it began in.
    pub(crate) async fn after_turn(
        &mut self,
        task: &mut Task,
        session: &Session,
        turn: &Turn,
        by_operator: bool,
    ) -> Result<()> {
        let (rows, gate) = queue_and_gate(&mut self.tx, task, session).await?;
        let bundles = active_bundles(&mut self.tx, session).await?;
        if gate.parent_question_pending || !bundles.is_empty() {
            store::workflows::clear_signals(&mut self.tx, session.id).await?;
            return Ok(());
        }
        if gate.closed || !queue::is_at_rest(&rows, gate) {
            return Ok(());
        }
        if turn.step_id_at_start != Some(task.workflow_step_id) {
            // The card was moved beside it: its work was another step's.
            return Ok(());
        }
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(step) = find_step(&steps, task.workflow_step_id) else {
            return Ok(());
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
            return Box::pin(self.work_left_done(task, session)).await;
        }
        let mut handoff = None;
        if step.auto_advance_requires_signal {
            let signal = store::workflows::signal(&mut self.tx, session.id, step.id).await?;
            let Some(signal) = signal else { return Ok(()) };
            if !session.is_primary && self.is_worked_on(task, session.id).await? {
                // A helper does not know how far the others are.
                return Ok(());
            }
            handoff = signal
                .handoff
                .map(|words| context::handed_over(&step.name, &words));
        } else if self.works_or_will(task, session.id).await? {
            return Ok(());
        }
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        let options = handoff.map(EntryOptions::handing_over);
        self.complete_step(task, step, session.id, options).await
    }

    /// What the end of a step's work leads to, as a session brought it about; `options` are what it hands over.
    async fn complete_step(
        &mut self,
        task: &mut Task,
        step: &Step,
        by: SessionId,
        options: Option<EntryOptions>,
    ) -> Result<()> {
        if step.ends_plan_on_complete() {
            self.end_planning(by).await?;
        }
        let from = task.workflow_step_id;
        let entered = self
            .move_by_workflow(task, TurnMoment::Complete, Some(by))
            .await?;
        match entered {
            Some(step) => {
                let entry = Entry {
                    options: options.filter(|_| step.auto_starts()),
                    ..Entry::by_workflow()
                };
                self.enter(task, &step, entry).await
            }
            // The card waits for its place in the next step, and what is handed over with it.
            None if task.workflow_step_id != from => {
                self.leave_for_entry(task, from, MoveId::new(), options)
                    .await
            }
            None => Ok(()),
        }
    }

    /// A session that was at work beside the primary one has come to rest without an end that counts. What the others completed in
    /// this step moves the card now, if it waited for that session alone. When the primary one ends so, its work is not done.
    pub(crate) async fn work_left_done(&mut self, task: &mut Task, rests: &Session) -> Result<()> {
        if rests.is_primary {
            return Ok(());
        }
        let Some(step) = self.step_of(task).await? else {
            return Ok(());
        };
        let waits = store::questions::pending_of_child(&mut self.tx, task.id).await?;
        if step.auto_advance_requires_signal
            || task.archived_at.is_some()
            || task.waits_for_place()
            || !waits.is_empty()
            || self.works_or_will(task, rests.id).await?
        {
            return Ok(());
        }
        let entered = store::workflows::last_moved_at(&mut self.tx, task.id).await?;
        let mut done = None;
        for session in store::sessions::list(&mut self.tx, task.id).await? {
            if session.id == rests.id || session.state.is_terminal() {
                continue;
            }
            let last = store::turns::latest(&mut self.tx, session.id).await?;
            let counts = last.is_some_and(|turn| {
                turn.state == TurnState::Completed
                    && turn.step_id_at_start == Some(step.id)
                    && turn.completed_at > entered
            });
            if counts && active_bundles(&mut self.tx, &session).await?.is_empty() {
                done = Some(session.id);
            }
        }
        match done {
            Some(done) => self.complete_step(task, &step, done, None).await,
            None => Ok(()),
        }
    }

    /// Whether another session of the task than `except` is at work, or has something to do as soon as its agent is asked.
    async fn works_or_will(&mut self, task: &Task, except: SessionId) -> Result<bool> {
        for session in store::sessions::list(&mut self.tx, task.id).await? {
            if session.id == except || session.state.is_terminal() {
                continue;
            }
            if session.state.is_busy() {
                return Ok(true);
            }
            let (rows, gate) = queue_and_gate(&mut self.tx, task, &session).await?;
            if !queue::is_at_rest(&rows, gate) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `on_children_completed` of the card's step: at once, or when its agent's turn has ended.
    pub(crate) async fn children_completed(&mut self, parent: TaskId) -> Result<()> {
        let Some(mut task) = store::tasks::find(&mut self.tx, parent).await? else {
            return Ok(());
        };
        if task.archived_at.is_some() {
            return Ok(());
        }
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(target) = find_step(&steps, task.workflow_step_id)
            .and_then(|current| step_after(current, &steps, TurnMoment::ChildrenCompleted))
        else {
            return Ok(());
        };
        let mut children = store::tasks::children(&mut self.tx, parent).await?;
        children.retain(|child| child.archived_at.is_none());
        let all_over = children.iter().all(|child| child.state.is_terminal());
        let sessions = store::sessions::list(&mut self.tx, parent).await?;
        let is_worked_on = sessions.iter().any(|session| match session.state {
            SessionState::Created
            | SessionState::Starting
            | SessionState::Running
            | SessionState::WaitingForInput => true,
            SessionState::Idle
            | SessionState::Completed
            | SessionState::Failed
            | SessionState::Cancelled => false,
        });
        if children.is_empty() || !all_over || !is_worked_on {
            return Ok(());
        }
        let trigger = MoveTrigger::OnChildrenCompleted;
        let waits = store::questions::pending_of_child(&mut self.tx, parent).await?;
        if let Some(busy) = self
            .at_work(&sessions)
            .await?
            .or(waits.first().and_then(|q| {
                sessions
                    .iter()
                    .find(|s| s.id == q.child_session_id)
                    .cloned()
            }))
        {
            let pending = store::moves::pending_of_task(&mut self.tx, parent).await?;
            if pending.is_none() {
                let target = MoveTo {
                    step: target.id,
                    position: None,
                    options: None,
                };
                self.defer_move(&task, busy.id, target, &Cause::system(trigger))
                    .await?;
            }
            return Ok(());
        }
        if let Some(step) = self
            .move_by_workflow(&mut task, TurnMoment::ChildrenCompleted, None)
            .await?
        {
            self.enter(&mut task, &step, Entry::by_workflow()).await?;
        }
        Ok(())
    }

    /// Planning is over: the agent may work.
    pub(crate) async fn end_planning(&mut self, session: SessionId) -> Result<()> {
        let mut session = load_session(&mut self.tx, session).await?;
        if std::mem::replace(&mut session.plan_mode, false) {
            self.save_session(&mut session).await?;
        }
        Ok(())
    }

    /// Moves a card as its step says for this moment; gives the step when the card moved and was admitted to it. A card that
    /// the workflow keeps moving stays where it is, and says so.
    async fn move_by_workflow(
        &mut self,
        task: &mut Task,
        moment: TurnMoment,
        session: Option<SessionId>,
    ) -> Result<Option<Step>> {
        let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
        let Some(current) = find_step(&steps, task.workflow_step_id) else {
            return Ok(None);
        };
        let Some(target) = step_after(current, &steps, moment) else {
            return Ok(None);
        };
        if self.moves_too_often(task.id).await? {
            tracing::warn!(task = %task.id, "the workflow moves this task in a loop: it stays where it is");
            let notice = format!(
                "The workflow moved this card {} times within a minute and was about to move it to \"{}\" again, so it was \
                 stopped. Move the card by hand to go on, and look at the steps that send it to one another.",
                self.settings.max_automatic_moves, target.name
            );
            store::tasks::set_notice(&mut self.tx, task.id, Some(&notice)).await?;
            self.task_event(task).await?;
            return Ok(None);
        }
        let cause = Cause {
            session,
            ..Cause::system(moment.trigger())
        };
        let target = target.clone();
        let admitted = self.place_in_step(task, &target, None, &cause).await?;
        Ok(admitted.then_some(target))
    }

    /// Whether a card has been moved so often of late, by the workflow or by agents, that it must be a loop.
    pub(crate) async fn moves_too_often(&mut self, task: TaskId) -> Result<bool> {
        let since = self.now.plus_millis(-LOOP_WINDOW_MS);
        let moves = store::workflows::automatic_moves_since(&mut self.tx, task, since).await?;
        Ok(moves >= self.settings.max_automatic_moves)
    }
}
