//! Delivering prompts to agents, exactly once (rulings 16).
//!
//! The turn, and the message in the transcript, exist before the prompt is sent, and its queue row is marked `attempted`. The
//! row goes when the agent has accepted the prompt. After a crash an `attempted` row says that the agent may have it: then its
//! history is searched for the prompt's id, and the prompt is sent again only when it is not there.

use crate::launch::{LaunchPlan, profile_of};
use crate::transition::{Work, find_step, load_session, load_task, queue_and_gate};
use crate::{Actor, Board, Result};
use domain::context::{FirstTurn, fresh_conversation, header};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::ids::{MessageId, PromptId, SessionId, TaskId, TurnId};
use domain::message::{AuthorType, Message, MessageType};
use domain::profile::question_route;
use domain::queue::{self, QueuedBy, QueuedPrompt, QueuedState};
use domain::session::{Session, SessionCommand, SessionState};
use domain::task::{Task, TaskCommand};
use domain::turn::{Turn, TurnCommand, TurnState};
use domain::workflow::{MoveTrigger, Step, TurnMoment, step_after};
use serde_json::json;

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
        if session.holder.as_deref().is_some_and(|h| h != node)
            && session.lease_until >= Some(work.now)
        {
            return Ok(Next::Rest);
        }
        let (rows, gate) = queue_and_gate(&mut work.tx, &task, &session).await?;
        let head = queue::next(&rows, gate).ok().cloned();
        if !live && !gate.closed && (head.is_some() || session.state == SessionState::Starting) {
            let attempted = head.filter(|row| row.attempts > 0).map(|row| row.id);
            let plan = self
                .plan_launch(&mut work, &mut task, &mut session, attempted, node)
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
                work.deliver(&mut task, &mut session, row, fresh_because)
                    .await?
            }
        };
        work.commit().await?;
        Ok(Next::Deliver(Box::new(delivery)))
    }

    /// The agent has accepted the prompt: its row goes, turn and session run, the task is in progress, and what earlier turns
    /// asked the operator is history. Safe to repeat.
    pub async fn prompt_accepted(&self, turn: TurnId) -> Result<()> {
        let mut work = self.begin().await?;
        let mut turn = store::turns::find(&mut work.tx, turn)
            .await?
            .ok_or_else(|| Refusal::not_found("turn"))?;
        if turn.state != TurnState::Dispatching {
            return Ok(());
        }
        let mut session = load_session(&mut work.tx, turn.session_id).await?;
        let mut task = load_task(&mut work.tx, turn.task_id).await?;
        work.accepted(&mut turn, &mut session, &mut task).await?;
        work.commit().await
    }

    /// The agent's history shows that it had the prompt before the crash: its turn ends as interrupted and nothing is sent.
    pub async fn prompt_seen(&self, prompt: PromptId) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(row) = store::queue::find(&mut work.tx, prompt).await? else {
            return Ok(());
        };
        let mut session = load_session(&mut work.tx, row.session_id).await?;
        let mut task = load_task(&mut work.tx, row.task_id).await?;
        if let Some(question) = row.question_id {
            let now = work.now;
            store::questions::set_delivered(&mut work.tx, question, now).await?;
        }
        match row.turn_id {
            Some(turn) => {
                let mut turn = store::turns::find(&mut work.tx, turn)
                    .await?
                    .ok_or_else(|| Refusal::not_found("turn"))?;
                let reason = Some("interrupted".to_owned());
                work.turn(&mut turn, TurnCommand::Interrupt, reason).await?;
                work.mark_interrupted(&mut task).await?;
            }
            // Its turn ended with the session that was stopped meanwhile.
            None => {
                store::queue::delete(&mut work.tx, row.id).await?;
                work.queue_event(row.task_id, row.session_id).await?;
            }
        }
        work.effect(EffectKind::Dispatch, &session, None).await?;
        if session.state == SessionState::Running {
            work.session(&mut session, SessionCommand::Settle).await?;
        }
        work.commit().await
    }

    /// A turn ended. A turn that was ended before (by a stop, or by a restart) is left as it ended. Moves of the workflow, the
    /// task's state and the next delivery follow from it in the same transaction.
    pub async fn turn_ended(&self, turn: TurnId, outcome: &TurnOutcome) -> Result<()> {
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
        if !work.turn(&mut turn, command, reason).await? {
            return Ok(());
        }
        let mut session = load_session(&mut work.tx, turn.session_id).await?;
        let mut task = load_task(&mut work.tx, turn.task_id).await?;
        work.cancel_permissions(session.id).await?;
        work.detach_bundles(session.id).await?;
        if let TurnOutcome::Failed(message) = outcome {
            work.add_failure(&turn, message).await?;
        }

        work.session(&mut session, SessionCommand::Settle).await?;
        let by_operator = asked_to_stop.as_deref() == Some(crate::sessions::stop_reason::OPERATOR);
        let entered = work
            .after_turn(&mut task, &session, &turn, by_operator)
            .await?;
        if let Some(step) = entered.filter(Step::auto_starts) {
            work.auto_start(&task, &step, false).await?;
        }
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
        self.expire_bundles(session.id).await?;
        self.task(task, TaskCommand::PromptAccepted).await?;
        self.session(session, SessionCommand::PromptAccepted)
            .await?;
        self.task_event(task).await
    }

    /// Whether another session of the task than `except` is at work.
    async fn is_worked_on(&mut self, task: &Task, except: SessionId) -> Result<bool> {
        let sessions = store::sessions::list(&mut self.tx, task.id).await?;
        Ok(sessions
            .iter()
            .any(|session| session.id != except && session.state.is_busy()))
    }

    /// Makes turn and transcript message, marks the row, and moves the card if its step says so.
    async fn deliver(
        &mut self,
        task: &mut Task,
        session: &mut Session,
        mut row: QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Delivery> {
        if matches!(
            row.queued_by,
            QueuedBy::User | QueuedBy::Agent | QueuedBy::Server
        ) {
            self.before_turn(task, session).await?;
        }
        session.generation += 1;
        self.save_session(session).await?;
        let hidden = self
            .hidden_context(task, session, &row, fresh_because)
            .await?;
        let turn = Turn {
            id: TurnId::new(),
            session_id: session.id,
            task_id: task.id,
            state: TurnState::Dispatching,
            prompt_id: row.id,
            generation: session.generation,
            step_id_at_start: Some(task.workflow_step_id),
            stop_reason: None,
            stored_bytes: 0,
            started_at: self.now,
            completed_at: None,
        };
        store::turns::insert(&mut self.tx, &turn).await?;
        row.turn_id = Some(turn.id);
        store::queue::mark_attempted(&mut self.tx, &row).await?;
        let mut metadata = row.metadata.clone();
        metadata.insert("prompt_id".to_owned(), json!(row.id));
        self.add_message(&Message {
            id: MessageId::new(),
            session_id: session.id,
            task_id: task.id,
            turn_id: Some(turn.id),
            seq: 0,
            author_type: AuthorType::User,
            author_id: row.sender_session_id.map(|id| id.to_string()),
            content: row.content.clone(),
            hidden_context: hidden.clone(),
            message_type: MessageType::Message,
            metadata,
            requests_input: false,
            created_at: self.now,
            updated_at: self.now,
        })
        .await?;
        self.queue_event(task.id, session.id).await?;
        let attempted_before = row.attempts > 0;
        Ok(delivery(&row, turn.id, hidden, attempted_before))
    }

    /// Sends a prompt again that was attempted before and is not in the agent's history: same turn, same message.
    async fn redeliver(
        &mut self,
        task: &Task,
        session: &Session,
        row: &QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Delivery> {
        let turn = row
            .turn_id
            .ok_or_else(|| Refusal::conflict("an attempted prompt without a turn"))?;
        store::queue::mark_attempted(&mut self.tx, row).await?;
        let hidden = self
            .hidden_context(task, session, row, fresh_because)
            .await?;
        Ok(delivery(row, turn, hidden, true))
    }

    async fn hidden_context(
        &mut self,
        task: &Task,
        session: &Session,
        row: &QueuedPrompt,
        fresh_because: Option<&str>,
    ) -> Result<Option<String>> {
        if session.is_passthrough {
            return Ok(None);
        }
        let mut blocks = vec![header(row.id, task.id, session.id)];
        // A prompt that is sent again has its turn already, and that one is not an earlier one.
        let earlier =
            store::turns::count(&mut self.tx, session.id).await? - i64::from(row.turn_id.is_some());
        let first = session.generation <= 1;
        if first || fresh_because.is_some() {
            let parent = match task.parent_id {
                Some(id) => store::tasks::find(&mut self.tx, id).await?,
                None => None,
            };
            let steps = store::workflows::steps(&mut self.tx, task.workflow_id).await?;
            let needs_signal = find_step(&steps, task.workflow_step_id)
                .is_some_and(|step| step.auto_advance_requires_signal);
            blocks.push(
                FirstTurn {
                    title: &task.title,
                    parent: parent.as_ref().map(|p| (p.id, p.title.as_str())),
                    autopilot: task.autopilot,
                    route: question_route(
                        task.autopilot,
                        task.parent_id.is_some(),
                        session.is_passthrough,
                    ),
                    profile: &profile_of(task, session),
                    step_needs_signal: needs_signal,
                }
                .render(),
            );
        }
        if let Some(reason) = fresh_because
            && earlier > 0
        {
            blocks.push(fresh_conversation(reason, earlier));
        }
        blocks.extend(row.hidden_context.clone());
        Ok(Some(blocks.join("\n\n")))
    }

    /// `on_turn_start` of the card's step.
    async fn before_turn(&mut self, task: &mut Task, session: &Session) -> Result<()> {
        store::workflows::clear_signals(&mut self.tx, session.id).await?;
        // A turn begins already: a step that starts an agent on entry has nothing to start.
        self.move_by_workflow(task, TurnMoment::Start).await?;
        Ok(())
    }

    /// `on_turn_complete` of the card's step, unless a question is open, more waits to be delivered, a signal is missing, or
    /// the turn was cancelled where a cancel does not count. Gives the step that was entered.
    async fn after_turn(
        &mut self,
        task: &mut Task,
        session: &Session,
        turn: &Turn,
        by_operator: bool,
    ) -> Result<Option<Step>> {
        let (rows, gate) = queue_and_gate(&mut self.tx, task, session).await?;
        let bundles = store::clarifications::pending_of_session(&mut self.tx, session.id).await?;
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

fn delivery(
    row: &QueuedPrompt,
    turn: TurnId,
    hidden: Option<String>,
    attempted_before: bool,
) -> Delivery {
    Delivery {
        prompt: row.id,
        turn,
        session: row.session_id,
        task: row.task_id,
        hidden,
        text: row.content.clone(),
        attempted_before,
    }
}
