//! Moving cards: at once, or when the turn of the card's agent has ended (task-domain section 7).

use crate::entry::{Entry, EntryMoment};
use crate::placement::Cause;
use crate::prompts::check_open;
use crate::reach::known_task;
use crate::settings::LOOP_WINDOW_MS;
use crate::transition::{Work, find_step, load_session, load_task};
use crate::{Actor, Board, BoardError, Result};
use domain::error::{ErrorCode, Refusal};
use domain::ids::{MoveId, SessionId, StepId, TaskId};
use domain::moves::{Disposition, EntryMarker, EntryOptions, PendingMove, normalise};
use domain::params::MoveTask;
use domain::question::{ParentQuestion, QuestionCommand};
use domain::session::Session;
use domain::task::Task;
use domain::view::TaskMoved;
use domain::workflow::{Mover, Step};
use serde_json::json;

/// Where a move leads.
#[derive(Debug)]
pub(crate) struct MoveTo {
    pub(crate) step: StepId,
    pub(crate) position: Option<i64>,
    pub(crate) options: Option<EntryOptions>,
}

impl Board {
    /// Puts a card into a step. While the primary session's agent is at work the move waits for the end of its turn
    /// (`deferred`); only one can wait. A card that is there already is left as it is, though an operator may give it another
    /// place within its step.
    ///
    /// Entering a step that auto-starts starts the agent, as `entry_options` say. While the card's child session waits for its
    /// parent, only the operator or that parent may move it: into a step that auto-starts this counts as explicit input and
    /// supersedes the question, elsewhere the question stays (rulings 11).
    pub async fn task_move(
        &self,
        actor: &Actor,
        id: TaskId,
        params: &MoveTask,
    ) -> Result<TaskMoved> {
        let options = normalise(params.prompt.as_deref(), params.entry_options.as_ref())?;
        let mut work = self.begin().await?;
        let mut task = known_task(&mut work.tx, actor, id).await?;
        check_open(&task)?;
        let step = work.check_target(&task, params).await?;
        let changes = step.id != task.workflow_step_id;
        check_options(options.as_ref(), &step, changes)?;
        if !changes {
            if params.position.is_some() && *actor == Actor::Operator {
                work.place_in_step(&mut task, &step, params.position, &Cause::by(*actor))
                    .await?;
            }
            let moved = moved(&mut work, id, Disposition::Applied, None, None).await?;
            work.commit().await?;
            return Ok(moved);
        }
        let waiting = store::questions::pending_of_child(&mut work.tx, id).await?;
        if !waiting.is_empty() && !may_move_waiting(&task, actor.mover(), actor.task()) {
            return Err(Refusal::conflict(
                "the task waits for an answer of its parent: only its operator or that parent may move it meanwhile",
            )
            .into());
        }
        work.check_no_other_move(&task).await?;
        if *actor != Actor::Operator {
            work.check_no_loop(&task).await?;
        }
        let sessions = store::sessions::list(&mut work.tx, id).await?;
        let target = MoveTo {
            step: step.id,
            position: params.position,
            options: options.clone(),
        };
        let moved = if let Some(busy) = work.at_work(&sessions).await? {
            let cause = Cause::by(*actor);
            let pending = work
                .defer_move_of(&task, busy.id, target, &cause, actor.task())
                .await?;
            moved(&mut work, id, Disposition::Deferred, Some(pending), options).await?
        } else {
            let move_id = options.as_ref().map(|_| MoveId::new());
            let cause = Cause {
                move_id,
                ..Cause::by(*actor)
            };
            work.carry_out_move(&mut task, &step, target, &cause, waiting)
                .await?;
            moved(&mut work, id, Disposition::Applied, move_id, options).await?
        };
        work.commit().await?;
        Ok(moved)
    }

    /// Takes back a move that waits for the end of a turn; answers whether there was one.
    pub async fn task_move_withdraw(&self, actor: &Actor, id: TaskId) -> Result<bool> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, id).await?;
        let withdrawn = store::moves::delete_pending(&mut work.tx, id).await?;
        if withdrawn {
            work.task_event(&task).await?;
            work.commit().await?;
        }
        Ok(withdrawn)
    }
}

impl Work {
    async fn check_target(&mut self, task: &Task, params: &MoveTask) -> Result<Step> {
        let workflow = params.workflow_id.unwrap_or(task.workflow_id);
        let found = store::workflows::find(&mut self.tx, workflow)
            .await?
            .ok_or_else(|| Refusal::validation("workflow_id names no workflow"))?;
        if found.workspace_id != task.workspace_id {
            return Err(Refusal::validation("the workflow must be in the task's workspace").into());
        }
        let steps = store::workflows::steps(&mut self.tx, workflow).await?;
        let step = find_step(&steps, params.workflow_step_id).ok_or_else(|| {
            Refusal::validation("workflow_step_id must be a step of the workflow")
        })?;
        Ok(step.clone())
    }

    async fn check_no_other_move(&mut self, task: &Task) -> Result<()> {
        let pending = store::moves::pending_of_task(&mut self.tx, task.id).await?;
        if let Some(pending) = pending {
            let step = store::workflows::find_step(&mut self.tx, pending.step_id).await?;
            let name = step.map(|s| s.name).unwrap_or_default();
            return Err(Refusal::conflict(format!(
                "the task moves to \"{name}\" already when its present turn ends: wait for that, or let the operator take it back"
            ))
            .into());
        }
        Ok(())
    }

    async fn check_no_loop(&mut self, task: &Task) -> Result<()> {
        if self.moves_too_often(task.id).await? {
            return Err(Refusal::rate_limited(
                format!(
                    "this task was moved {} times within a minute, which looks like a loop: stop moving it, or wait a minute",
                    self.settings.max_automatic_moves
                ),
                json!({"retry_after_ms": LOOP_WINDOW_MS}),
            )
            .into());
        }
        Ok(())
    }

    /// The primary session, when its agent is at work: a turn runs, is being handed over, or the agent is being started.
    pub(crate) async fn at_work(&mut self, sessions: &[Session]) -> Result<Option<Session>> {
        let Some(primary) = sessions.iter().find(|s| s.is_primary) else {
            return Ok(None);
        };
        let open = store::turns::open(&mut self.tx, primary.id).await?;
        // A failed session may keep a turn of which nobody knows how it ended; nothing of it will end any more by itself.
        let works = primary.state.is_busy() || (open.is_some() && !primary.state.is_terminal());
        Ok(works.then(|| primary.clone()))
    }

    /// Stores a move that nobody but Flightdeck asked for.
    pub(crate) async fn defer_move(
        &mut self,
        task: &Task,
        session: SessionId,
        target: MoveTo,
        cause: &Cause,
    ) -> Result<MoveId> {
        self.defer_move_of(task, session, target, cause, None).await
    }

    async fn defer_move_of(
        &mut self,
        task: &Task,
        session: SessionId,
        target: MoveTo,
        cause: &Cause,
        sender_task: Option<TaskId>,
    ) -> Result<MoveId> {
        let pending = PendingMove {
            id: MoveId::new(),
            session_id: session,
            task_id: task.id,
            step_id: target.step,
            position: target.position,
            trigger: cause.trigger,
            actor: cause.actor,
            sender_task_id: sender_task,
            sender_session_id: cause.session,
            entry_options: target.options,
            created_at: self.now,
        };
        store::moves::insert_pending(&mut self.tx, &pending).await?;
        let stored = store::moves::pending_of_task(&mut self.tx, task.id).await?;
        if stored.as_ref().map(|stored| stored.id) != Some(pending.id) {
            return Err(BoardError::Refused(Refusal {
                code: ErrorCode::Internal,
                message: "the move was not stored: nothing has moved, try it again".to_owned(),
                details: None,
            }));
        }
        self.task_event(task).await?;
        Ok(pending.id)
    }

    /// Carries out the move that waits for a session, when its turn is over; answers whether the card was moved.
    ///
    /// Safe to repeat: the row goes with the move, and the history holds each move once. A card that waits for its parent's
    /// answer is moved by its operator or that parent only; anybody else's move goes on waiting.
    pub(crate) async fn apply_pending_move(&mut self, session: SessionId) -> Result<bool> {
        let Some(pending) = store::moves::pending_of_session(&mut self.tx, session).await? else {
            return Ok(false);
        };
        let session = load_session(&mut self.tx, session).await?;
        let open = store::turns::open(&mut self.tx, session.id).await?;
        if session.state.is_busy() || (open.is_some() && !session.state.is_terminal()) {
            return Ok(false);
        }
        let mut task = load_task(&mut self.tx, pending.task_id).await?;
        let waiting = store::questions::pending_of_child(&mut self.tx, task.id).await?;
        if !waiting.is_empty() && !may_move_waiting(&task, pending.actor, pending.sender_task_id) {
            return Ok(false);
        }
        store::moves::delete_pending(&mut self.tx, task.id).await?;
        let step = store::workflows::find_step(&mut self.tx, pending.step_id).await?;
        let done = store::workflows::was_done(&mut self.tx, pending.id).await?;
        let Some(step) = step.filter(|_| !done && task.archived_at.is_none()) else {
            self.task_event(&task).await?;
            return Ok(false);
        };
        let target = MoveTo {
            step: step.id,
            position: pending.position,
            options: pending.entry_options.clone(),
        };
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        self.carry_out_move(&mut task, &step, target, &Cause::of(&pending), waiting)
            .await?;
        Ok(true)
    }

    /// Changes the step, then enters it or leaves a note for the entry.
    async fn carry_out_move(
        &mut self,
        task: &mut Task,
        step: &Step,
        target: MoveTo,
        cause: &Cause,
        waiting: Vec<ParentQuestion>,
    ) -> Result<()> {
        let from = task.workflow_step_id;
        let admitted = self
            .place_in_step(task, step, target.position, cause)
            .await?;
        if !admitted {
            if let Some(move_id) = cause.move_id {
                self.leave_for_entry(task, from, move_id, target.options)
                    .await?;
            }
            return Ok(());
        }
        let mut superseded = false;
        if step.auto_starts() {
            for mut question in waiting {
                superseded |= self
                    .question(&mut question, QuestionCommand::Supersede, None)
                    .await?;
            }
        }
        let entry = Entry {
            moment: EntryMoment::Move,
            options: target.options,
            superseded,
            by_workflow: false,
        };
        self.enter(task, step, entry).await
    }
}

impl Work {
    /// Leaves a note for the entry of a card that waits for its place in its step.
    pub(crate) async fn leave_for_entry(
        &mut self,
        task: &Task,
        from: StepId,
        move_id: MoveId,
        options: Option<EntryOptions>,
    ) -> Result<()> {
        let Some(options) = options else {
            return Ok(());
        };
        let marker = EntryMarker {
            task_id: task.id,
            move_id,
            from_step_id: from,
            step_id: task.workflow_step_id,
            options,
            created_at: self.now,
        };
        store::moves::put_marker(&mut self.tx, &marker).await?;
        Ok(())
    }
}

/// Rulings 11.
fn may_move_waiting(task: &Task, mover: Mover, sender: Option<TaskId>) -> bool {
    match mover {
        Mover::Human => true,
        Mover::Agent => sender.is_some() && task.parent_id == sender,
        Mover::System => false,
    }
}

fn check_options(options: Option<&EntryOptions>, step: &Step, changes: bool) -> Result<()> {
    if options.is_none() {
        return Ok(());
    }
    if !changes {
        return Err(Refusal::validation(
            "entry_options are for entering a step, and the task is in this one already: write to it with message_task_kandev",
        )
        .into());
    }
    if !step.auto_starts() {
        return Err(Refusal::validation(format!(
            "\"{}\" starts no agent when a task enters it, so entry_options would do nothing: leave them out",
            step.name
        ))
        .into());
    }
    Ok(())
}

async fn moved(
    work: &mut Work,
    task: TaskId,
    disposition: Disposition,
    move_id: Option<MoveId>,
    entry_options: Option<EntryOptions>,
) -> Result<TaskMoved> {
    let stored = load_task(&mut work.tx, task).await?;
    let workflow_step = work
        .step_of(&stored)
        .await?
        .ok_or_else(|| Refusal::not_found("workflow step"))?;
    Ok(TaskMoved {
        task: crate::tasks::view(&mut work.tx, task).await?,
        workflow_step,
        disposition,
        move_id,
        entry_options,
    })
}
