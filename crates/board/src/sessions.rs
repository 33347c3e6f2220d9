//! Sessions: listing, naming, cancelling a turn, stopping, resuming, removing.

use crate::prompts::target_session;
use crate::reach::known_task;
use crate::transition::{load_session, load_task};
use crate::{Actor, Board, Result};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{SessionId, TaskId};
use domain::question::QuestionCommand;
use domain::session::{Session, SessionCommand, check_name, successor};
use domain::task::{TaskCommand, TitleMode};
use domain::turn::Turn;
use domain::view::SessionView;

/// Why a turn was asked to end, kept as its stop reason while it still runs.
pub(crate) mod stop_reason {
    /// The operator pressed Cancel.
    pub(crate) const OPERATOR: &str = "cancelled_by_operator";
    /// The direct parent interrupted.
    pub(crate) const INTERRUPT: &str = "interrupted_by_parent";
    /// The operator sent a prompt that waited.
    pub(crate) const SEND_NOW: &str = "replaced_by_operator";
    /// An outside client cancelled its run.
    pub(crate) const CLIENT: &str = "cancelled_by_client";
    /// The grace after a parent question was over.
    pub(crate) const QUESTION: &str = "waits_for_parent";
}

impl Board {
    /// The sessions of a task, newest first.
    pub async fn session_list(&self, actor: &Actor, task: TaskId) -> Result<Vec<SessionView>> {
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, task).await?;
        Ok(store::views::sessions(&mut db, task).await?)
    }

    /// One session.
    pub async fn session_get(&self, actor: &Actor, id: SessionId) -> Result<SessionView> {
        let task = load_session(&mut self.snapshot().await?, id).await?.task_id;
        let sessions = self.session_list(actor, task).await?;
        Ok(sessions
            .into_iter()
            .find(|s| s.id == id)
            .ok_or_else(|| Refusal::not_found("session"))?)
    }

    /// Asks the agent to end its present turn, and ends its wait for its parent; answers whether there was either. What waits in
    /// the queue is then held until the operator lets it go on, so that a cancel does not start the next thing at once.
    pub async fn session_cancel(&self, actor: &Actor, id: SessionId) -> Result<bool> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let turn = store::turns::open(&mut work.tx, id).await?;
        let waited = work
            .end_questions_of_session(&session, QuestionCommand::MakeStale)
            .await?;
        if turn.is_none() && !waited {
            return Ok(false);
        }
        let waits = store::queue::list(&mut work.tx, id)
            .await?
            .iter()
            .any(domain::queue::QueuedPrompt::is_visible);
        if waits && session.auto_run {
            session.auto_run = false;
            work.save_session(&mut session).await?;
            work.queue_event(session.task_id, id).await?;
        }
        if let Some(turn) = turn {
            work.request_cancel(&session, turn, stop_reason::OPERATOR)
                .await?;
        }
        work.commit().await?;
        Ok(true)
    }

    /// Holds or releases a session's queue.
    pub async fn session_auto_run(&self, actor: &Actor, id: SessionId, on: bool) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        if session.auto_run != on {
            session.auto_run = on;
            work.save_session(&mut session).await?;
            work.queue_event(session.task_id, id).await?;
            work.effect(EffectKind::Dispatch, &session, None).await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// Ends a session for good; answers whether it was still going. Its question becomes stale, what waits stays.
    pub async fn session_stop(&self, actor: &Actor, id: SessionId) -> Result<bool> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let mut task = load_task(&mut work.tx, session.task_id).await?;
        let stopped = work.session(&mut session, SessionCommand::Stop).await?;
        if stopped {
            if !work.is_worked_on(&task, id).await? {
                work.task(&mut task, TaskCommand::ParentStop).await?;
            }
            Box::pin(work.work_left_done(&mut task, &session)).await?;
            work.commit().await?;
        }
        Ok(stopped)
    }

    /// Gives a session a name, or takes it away.
    pub async fn session_rename(
        &self,
        actor: &Actor,
        id: SessionId,
        name: Option<&str>,
    ) -> Result<SessionView> {
        actor.require_operator()?;
        let name = name.map(check_name).transpose()?.flatten();
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        if session.name != name {
            session.name = name;
            work.save_session(&mut session).await?;
            work.session_info_event(&session).await?;
            work.commit().await?;
        }
        self.session_get(actor, id).await
    }

    /// Makes a session the one that unaddressed messages go to. The one that was gives it up in the same transaction.
    pub async fn session_set_primary(&self, actor: &Actor, id: SessionId) -> Result<SessionView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        if !session.is_primary {
            let task = load_task(&mut work.tx, session.task_id).await?;
            if let Some(before) = work.make_primary(&mut session).await? {
                work.session_info_event(&before).await?;
            }
            work.session_info_event(&session).await?;
            work.task_event(&task).await?;
            work.commit().await?;
        }
        self.session_get(actor, id).await
    }

    /// Removes a session with its transcript for good. One that is still going is stopped first; when it was the primary one,
    /// another takes its place in the same transaction, and what waited for the task goes to that one; questions of children go to the
    /// session that messages to the task go to now.
    pub async fn session_delete(&self, actor: &Actor, id: SessionId) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let mut task = load_task(&mut work.tx, session.task_id).await?;
        let stopped = work.session(&mut session, SessionCommand::Stop).await?;
        let mut left = store::sessions::list(&mut work.tx, task.id).await?;
        left.retain(|other| other.id != id);
        let next = successor(&left).filter(|_| session.is_primary).cloned();
        if let Some(next) = next.as_ref().filter(|next| !next.state.is_terminal()) {
            work.hand_over(&session, next).await?;
        }
        for row in store::queue::list(&mut work.tx, id).await? {
            if let Some(question) = row.question_id {
                store::questions::clear_prompt(&mut work.tx, question).await?;
            }
        }
        store::sessions::delete(&mut work.tx, id).await?;
        if task.title_mode == TitleMode::Claimed && task.title_owner_session_id == Some(id) {
            // Whoever starts next may choose the title.
            task.title_mode = TitleMode::Pending;
            task.title_owner_session_id = None;
            work.save_task(&mut task).await?;
        }
        if let Some(mut next) = next {
            work.make_primary(&mut next).await?;
            work.session_info_event(&next).await?;
            work.task_event(&task).await?;
        }
        let left = store::sessions::list(&mut work.tx, task.id).await?;
        if let Some(target) = target_session(&left) {
            work.deliver_waiting_questions(&task, target).await?;
        }
        if !work.is_worked_on(&task, id).await? {
            work.task(&mut task, TaskCommand::ParentStop).await?;
        }
        if stopped {
            Box::pin(work.work_left_done(&mut task, &session)).await?;
        }
        work.event(
            NewEvent::new(EventKind::SessionStateChanged)
                .workspace(task.workspace_id)
                .task(task.id)
                .session(id),
        )
        .await?;
        work.task_event(&task).await?;
        tracing::info!(session = %id, task = %task.id, "session deleted");
        work.commit().await
    }

    /// Brings a session back: its agent is started and its conversation loaded. What waits in its queue goes on, and questions
    /// that found nobody to answer them are delivered. A pending question of the session itself stays pending.
    pub async fn session_resume(&self, actor: &Actor, id: SessionId) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut session = load_session(&mut work.tx, id).await?;
        let task = load_task(&mut work.tx, session.task_id).await?;
        crate::prompts::check_open(&task)?;
        if task.waits_for_place() {
            return Err(Refusal::conflict(
                "the task waits for a place in its step, so nothing is started for it: finish or move another task there first",
            )
            .into());
        }
        if work.session(&mut session, SessionCommand::Resume).await? {
            work.deliver_waiting_questions(&task, &session).await?;
            work.effect(EffectKind::Dispatch, &session, None).await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// Makes sure that a task has a session; an agent is not started.
    pub async fn session_ensure(&self, actor: &Actor, task: TaskId) -> Result<SessionView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        crate::prompts::check_open(&task)?;
        let session = work.ensure_session(&task).await?;
        work.commit().await?;
        self.session_get(actor, session.id).await
    }

    /// Stops a child as its direct parent; answers whether any session of it was still going. Its worktree, its queued messages
    /// and its own children stay.
    pub async fn task_stop(&self, actor: &Actor, child: TaskId) -> Result<bool> {
        let (parent, _) = actor.require_agent()?;
        let mut work = self.begin().await?;
        let mut task = load_task(&mut work.tx, child).await?;
        let own_workspace = load_task(&mut work.tx, parent).await?.workspace_id;
        if task.parent_id != Some(parent) || task.workspace_id != own_workspace {
            return Err(Refusal::forbidden("only the direct parent may stop a task").into());
        }
        let stopped = work.stop_task_sessions(&task).await?;
        if stopped {
            if task.archived_at.is_none() {
                work.task(&mut task, TaskCommand::ParentStop).await?;
            }
            work.commit().await?;
        }
        Ok(stopped)
    }
}

impl crate::transition::Work {
    /// Makes a session the primary one of its task, and gives the one that was, if there was another.
    pub(crate) async fn make_primary(&mut self, session: &mut Session) -> Result<Option<Session>> {
        let sessions = store::sessions::list(&mut self.tx, session.task_id).await?;
        let mut before = sessions.into_iter().find(|s| s.is_primary);
        if let Some(before) = &mut before {
            before.is_primary = false;
            self.save_session(before).await?;
        }
        session.is_primary = true;
        self.save_session(session).await?;
        Ok(before)
    }

    async fn session_info_event(&mut self, session: &Session) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::SessionInfoUpdated)
                .task(session.task_id)
                .session(session.id),
        )
        .await
    }

    /// Notes why the turn is to end and asks the agent to end it.
    pub(crate) async fn request_cancel(
        &mut self,
        session: &Session,
        mut turn: Turn,
        reason: &str,
    ) -> Result<()> {
        turn.stop_reason = Some(reason.to_owned());
        // An open turn that is written as it is, but for the reason: never stale within this transaction.
        let _ = store::turns::update_if_open(&mut self.tx, &turn).await?;
        self.effect(EffectKind::CancelTurn, session, Some(&turn.id.to_string()))
            .await
    }
}
