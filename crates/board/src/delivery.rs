//! Delivering prompts to agents, exactly once (rulings 16).
//!
//! The turn, and the message in the transcript, exist before the prompt is sent, and its queue row is marked `attempted`. The
//! row goes when the agent has accepted the prompt. After a crash an `attempted` row says that the agent may have it: then its
//! history is searched for the prompt's id, and the prompt is sent again only when it is not there.

use crate::launch::{LaunchPlan, Start};
use crate::preparations::Ground;
use crate::transition::{Work, load_session, load_task, queue_and_gate};
use crate::{Board, Result};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::ids::{MessageId, PromptId, SessionId, TaskId, TurnId};
use domain::message::{AuthorType, Message, MessageType};
use domain::queue::{self, QueuedBy, QueuedState};
use domain::session::{FreshStart, Session, SessionCommand, SessionState};
use domain::task::{Task, TaskCommand};
use domain::turn::{Turn, TurnCommand, TurnState};

/// A prompt on its way to an agent.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Its id; also the first line of `hidden`.
    pub prompt: PromptId,
    /// The turn it makes.
    pub turn: TurnId,
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Text for the agent only, a block of its own; `None` for a raw terminal.
    pub hidden: Option<String>,
    /// The words.
    pub text: String,
    /// The mode that the agent is to be in for it; `None` leaves it to the agent.
    pub mode: Option<String>,
    /// The model that the agent is to use for it; `None` leaves it to the agent.
    pub model: Option<String>,
    /// It may have reached the agent before.
    pub attempted_before: bool,
}

/// What the runtime is to do next for a session.
#[derive(Debug)]
pub enum Next {
    /// Nothing at present.
    Rest,
    /// Start or resume the agent, then ask again.
    Launch(Box<LaunchPlan>),
    /// End the agent, then ask again: what comes next begins a new conversation.
    Restart,
    /// Send this prompt, then report its acceptance and the turn's end.
    Deliver(Box<Delivery>),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// The agent stopped; with its own word for why.
    Stopped(String),
    /// The agent confirmed a cancel.
    Cancelled,
    /// The agent refused the prompt, or its provider failed, and is still there.
    Failed(String),
}

impl Board {
    /// What to do next for a session whose agent is (or is not) live on `node`. Safe to repeat.
    ///
    /// A session that another node holds is left to it.
    pub async fn delivery_next(
        &self,
        id: SessionId,
        node: &str,
        live: bool,
        fresh_because: Option<&str>,
    ) -> Result<Next> {
        let mut work = self.begin().await?;
        let Some(mut session) = store::sessions::find(&mut work.tx, id).await? else {
            return Ok(Next::Rest);
        };
        let Some(mut task) = store::tasks::find(&mut work.tx, session.task_id).await? else {
            return Ok(Next::Rest);
        };
        // Also a node that has an agent, but whose lease ran out and was taken meanwhile, is given nothing more.
        if session.is_held_by_other(node) && session.lease_until >= Some(work.now) {
            return Ok(Next::Rest);
        }
        let (rows, gate) = queue_and_gate(&mut work.tx, &task, &session).await?;
        let head = queue::next(&rows, gate).ok().cloned();
        if !live
            && let Some(row) = &head
            && row.state == QueuedState::Queued
            && row.queued_by != QueuedBy::Workflow
            && work.turn_would_wait(&task).await?
        {
            // The step in which the turn would begin is full: no agent is started for a card that only waits there.
            Box::pin(work.before_turn(&mut task, &session, row)).await?;
            if task.waits_for_place() {
                work.commit().await?;
                return Box::pin(self.delivery_next(id, node, live, fresh_because)).await;
            }
            session = load_session(&mut work.tx, id).await?;
        }
        if !live && !gate.closed && (head.is_some() || session.state == SessionState::Starting) {
            // Not the head alone: a question that was put back may stand behind an express prompt.
            let attempted = rows.iter().find(|row| row.attempts > 0).map(|row| row.id);
            let working_directory = self.folder_of(&task, &session);
            let Ground::Ready { prepare, policy } =
                work.ground(&session, &working_directory, node).await?
            else {
                work.commit().await?;
                return Ok(Next::Rest);
            };
            let start = Start {
                working_directory,
                prepare,
                policy,
                attempted,
            };
            let plan = self
                .plan_launch(&mut work, &mut task, &mut session, start, node)
                .await?;
            work.commit().await?;
            return Ok(Next::Launch(Box::new(plan)));
        }
        let Some(row) = head else {
            // Resumed with nothing to say: the agent is up and waits. Or what was to be delivered was taken back: then the card
            // must not go on saying that it is worked on.
            let comes_to_rest = match session.state {
                SessionState::Starting => live,
                SessionState::WaitingForInput => !gate.turn_open,
                SessionState::Created
                | SessionState::Running
                | SessionState::Idle
                | SessionState::Completed
                | SessionState::Failed
                | SessionState::Cancelled => false,
            };
            if comes_to_rest {
                let mut changed = work.session(&mut session, SessionCommand::Settle).await?;
                if !work.is_worked_on(&task, session.id).await? {
                    changed |= work.task(&mut task, TaskCommand::Settle).await?;
                }
                if changed {
                    work.commit().await?;
                }
            }
            return Ok(Next::Rest);
        };
        if !live {
            return Ok(Next::Rest);
        }
        if session.holder.as_deref() != Some(node) {
            // The lease ran out unnoticed and nobody took the session: the agent is still here.
            session.holder = Some(node.to_owned());
            session.lease_until = Some(work.now.plus_millis(self.settings.lease_ms));
            work.save_session(&mut session).await?;
        }
        let delivery = match row.state {
            QueuedState::Attempted => work.redeliver(&task, &session, &row, fresh_because).await?,
            QueuedState::Queued => {
                if row.queued_by != QueuedBy::Workflow {
                    Box::pin(work.before_turn(&mut task, &session, &row)).await?;
                    session = load_session(&mut work.tx, id).await?;
                    let stays = store::queue::find(&mut work.tx, row.id)
                        .await?
                        .is_some_and(|row| row.session_id == id);
                    if task.waits_for_place() || !stays {
                        // The step that the turn was to begin in is full, and the prompt waits with its card; or another
                        // session works in it, which has the prompt now. What is left here is looked at afresh.
                        work.commit().await?;
                        let again = self.delivery_next(id, node, live, fresh_because);
                        return Box::pin(again).await;
                    }
                }
                if session.fresh_start == FreshStart::Wanted {
                    work.commit().await?;
                    return Ok(Next::Restart);
                }
                work.deliver(&task, &mut session, row, fresh_because)
                    .await?
            }
        };
        work.commit().await?;
        Ok(Next::Deliver(Box::new(delivery)))
    }

    /// The agent has accepted the prompt: its row goes, turn and session run, the task is in progress, and what earlier turns
    /// asked the operator is history. Safe to repeat. From a node that another has taken the session from, it changes nothing.
    pub async fn prompt_accepted(&self, turn: TurnId, node: &str) -> Result<()> {
        let mut work = self.begin().await?;
        let mut turn = store::turns::find(&mut work.tx, turn)
            .await?
            .ok_or_else(|| Refusal::not_found("turn"))?;
        if turn.state != TurnState::Dispatching {
            return Ok(());
        }
        let mut session = load_session(&mut work.tx, turn.session_id).await?;
        if session.is_held_by_other(node) {
            return Ok(());
        }
        let mut task = load_task(&mut work.tx, turn.task_id).await?;
        work.accepted(&mut turn, &mut session, &mut task).await?;
        work.commit().await
    }

    /// A turn ended. A turn that was ended before (by a stop, or by a restart) is left as it ended, and so is one of a session that
    /// another node has taken. Moves of the workflow, the task's state and the next delivery follow from it in the same
    /// transaction.
    pub async fn turn_ended(&self, turn: TurnId, node: &str, outcome: &TurnOutcome) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut turn) = store::turns::find(&mut work.tx, turn).await? else {
            return Ok(());
        };
        let asked_to_stop = turn.stop_reason.clone();
        let (command, reason) = match outcome {
            TurnOutcome::Stopped(_)
                if asked_to_stop.as_deref() == Some(crate::sessions::stop_reason::QUESTION) =>
            {
                (TurnCommand::Complete, None)
            }
            TurnOutcome::Stopped(reason) => (TurnCommand::Complete, Some(reason.clone())),
            // The grace of a question cut the turn off: for the board it ended as the child was told to end it.
            TurnOutcome::Cancelled
                if asked_to_stop.as_deref() == Some(crate::sessions::stop_reason::QUESTION) =>
            {
                (TurnCommand::Complete, None)
            }
            TurnOutcome::Cancelled => (TurnCommand::Cancel, None),
            TurnOutcome::Failed(_) => (TurnCommand::Fail, Some("failed".to_owned())),
        };
        let mut session = load_session(&mut work.tx, turn.session_id).await?;
        if session.is_held_by_other(node) {
            return Ok(());
        }
        let mut task = load_task(&mut work.tx, turn.task_id).await?;
        match outcome {
            // An agent that came to an end of its own has had the prompt, whether or not its acceptance was heard of.
            TurnOutcome::Stopped(_) | TurnOutcome::Failed(_) => {
                work.accepted(&mut turn, &mut session, &mut task).await?;
            }
            TurnOutcome::Cancelled => work.keep_what_was_not_accepted(&turn).await?,
        }
        if !work.turn(&mut turn, command, reason).await? {
            return work.commit().await;
        }
        work.cancel_permissions(session.id).await?;
        work.detach_bundles(session.id).await?;
        if let TurnOutcome::Failed(message) = outcome {
            work.add_failure(&turn, message).await?;
            session.error_message = Some(message.clone());
        }

        work.session(&mut session, SessionCommand::Settle).await?;
        let by_operator = asked_to_stop.as_deref() == Some(crate::sessions::stop_reason::OPERATOR);
        if work.apply_pending_move(session.id).await? {
            task = load_task(&mut work.tx, task.id).await?;
        } else {
            work.after_turn(&mut task, &session, &turn, by_operator)
                .await?;
        }
        session = load_session(&mut work.tx, session.id).await?;
        let (rows, gate) = queue_and_gate(&mut work.tx, &task, &session).await?;
        if queue::is_at_rest(&rows, gate) && !work.is_worked_on(&task, session.id).await? {
            work.task(&mut task, TaskCommand::Settle).await?;
        }
        work.effect(EffectKind::Dispatch, &session, None).await?;
        work.task_event(&task).await?;
        work.commit().await
    }
}

impl Work {
    /// The agent's history shows that it had the prompt before the crash: its turn ends as interrupted and nothing is sent.
    pub(crate) async fn prompt_seen(&mut self, prompt: PromptId) -> Result<()> {
        let Some(row) = store::queue::find(&mut self.tx, prompt).await? else {
            return Ok(());
        };
        let mut session = load_session(&mut self.tx, row.session_id).await?;
        let mut task = load_task(&mut self.tx, row.task_id).await?;
        self.launch_is_over(&row).await?;
        if let Some(question) = row.question_id {
            store::questions::set_delivered(&mut self.tx, question, self.now).await?;
        }
        self.answer_taken(row.id).await?;
        match row.turn_id {
            Some(turn) => {
                let mut turn = store::turns::find(&mut self.tx, turn)
                    .await?
                    .ok_or_else(|| Refusal::not_found("turn"))?;
                let reason = Some("interrupted".to_owned());
                self.turn(&mut turn, TurnCommand::Interrupt, reason).await?;
                self.expire_history(&session).await?;
                self.mark_interrupted(&mut task).await?;
            }
            // Its turn ended with the session that was stopped meanwhile.
            None => {
                store::queue::delete(&mut self.tx, row.id).await?;
                self.queue_event(row.task_id, row.session_id).await?;
            }
        }
        self.effect(EffectKind::Dispatch, &session, None).await?;
        if session.state == SessionState::Running {
            self.session(&mut session, SessionCommand::Settle).await?;
        }
        Ok(())
    }

    /// The agent has the prompt: it said so, or it called a tool within the turn. From here on the prompt is never sent again.
    pub(crate) async fn accepted(
        &mut self,
        turn: &mut Turn,
        session: &mut Session,
        task: &mut Task,
    ) -> Result<()> {
        if turn.state != TurnState::Dispatching {
            return Ok(());
        }
        let row = store::queue::find(&mut self.tx, turn.prompt_id).await?;
        if let Some(row) = &row {
            self.launch_is_over(row).await?;
        }
        if let Some(question) = row.and_then(|row| row.question_id) {
            store::questions::set_delivered(&mut self.tx, question, self.now).await?;
        }
        if session.state.is_terminal() {
            // The session failed before this was known: so did the turn.
            self.turn(turn, TurnCommand::Fail, None).await?;
            return self.task_event(task).await;
        }
        self.turn(turn, TurnCommand::Accept, None).await?;
        if task.interrupted_at.take().is_some() {
            self.save_task(task).await?;
        }
        self.answer_taken(turn.prompt_id).await?;
        self.expire_history(session).await?;
        if session.fresh_start == FreshStart::Begun {
            session.fresh_start = FreshStart::None;
            self.save_session(session).await?;
        }
        self.task(task, TaskCommand::PromptAccepted).await?;
        self.session(session, SessionCommand::PromptAccepted)
            .await?;
        self.task_event(task).await
    }

    /// Whether another session of the task than `except` is at work.
    pub(crate) async fn is_worked_on(&mut self, task: &Task, except: SessionId) -> Result<bool> {
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        Ok(sessions
            .iter()
            .any(|session| session.id != except && session.state.is_busy()))
    }

    /// Notes on the task that the host went away while its agent was at work.
    pub(crate) async fn mark_interrupted(&mut self, task: &mut Task) -> Result<()> {
        if task.archived_at.is_none() {
            task.interrupted_at = Some(self.now);
            self.save_task(task).await?;
        }
        self.task(task, TaskCommand::Settle).await?;
        self.task_event(task).await
    }

    async fn add_failure(&mut self, turn: &Turn, message: &str) -> Result<()> {
        self.add_message(&Message {
            id: MessageId::new(),
            session_id: turn.session_id,
            task_id: turn.task_id,
            turn_id: Some(turn.id),
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content: message.to_owned(),
            hidden_context: None,
            message_type: MessageType::Error,
            metadata: serde_json::Map::new(),
            requests_input: false,
            created_at: self.now,
            updated_at: self.now,
        })
        .await
    }
}
