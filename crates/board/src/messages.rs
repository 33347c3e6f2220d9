//! Messages between tasks (task-domain section 3), and the replies to questions among them (4.5).

use crate::prompts::{NewPrompt, check_content, target_session};
use crate::sessions::stop_reason;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result, Topic};
use domain::context::{Peer, parent_answer};
use domain::error::Refusal;
use domain::ids::{QuestionId, SessionId, TaskId};
use domain::params::{DeliveryMode, MessageTask};
use domain::question::{QuestionCommand, QuestionStatus, check_answerer};
use domain::queue::{Lane, QueuedBy};
use domain::receipt::Key;
use domain::session::{Session, SessionState};
use domain::task::{Task, TaskState};
use domain::view::{DeliveryStatus, MessageOutcome};
use serde_json::{Map, json};

/// What was found out about sender and target before anything is written.
pub(crate) struct Route {
    pub(crate) sender: Task,
    pub(crate) sender_session: Session,
    pub(crate) target: Task,
    /// The words begin a session of their own.
    pub(crate) spawns: bool,
}

impl Board {
    /// Writes to another task as an agent. With `reply_to_question_id` it answers that child's question instead: then exactly
    /// one answer is ever accepted, and a repeat gets the outcome of the first. So does a repeat under one `idempotency_key`,
    /// whatever became of message and target meanwhile.
    ///
    /// The order of the checks is that of task-domain 3.2; a refused message leaves no trace.
    pub async fn message_task(&self, actor: &Actor, params: MessageTask) -> Result<MessageOutcome> {
        let (sender_task, sender_session) = actor.require_agent()?;
        check_content(&params.prompt)?;
        if params.task_id == sender_task && params.session_id.is_none() {
            return Err(Refusal::validation(
                "that is your own task: to write to another session of it, name its session_id",
            )
            .into());
        }
        if params.session_id == Some(sender_session) {
            return Err(Refusal::validation(
                "that is your own session: nothing is gained by writing to it",
            )
            .into());
        }
        let key = Key::of(&params)?;
        let interrupts = params.delivery_mode == DeliveryMode::Interrupt;
        let turns = self.signals().subscribe(Topic::Turns);
        let mut work = self.begin().await?;
        let sender = load_task(&mut work.tx, sender_task).await?;
        let sender_session = load_session(&mut work.tx, sender_session).await?;
        let outcome = match work.earlier(&sender_session, key.as_ref()).await? {
            Some(outcome) => self.told_before(work, outcome).await?,
            None => {
                let route = Route {
                    target: load_task(&mut work.tx, params.task_id).await?,
                    sender,
                    sender_session,
                    spawns: false,
                };
                let outcome = work.send(&route, params, key).await?;
                work.commit().await?;
                outcome
            }
        };
        if interrupts {
            // Whoever repeats an interrupt waits for the first one's delivery as its sender did.
            return self.await_delivery(outcome, turns).await;
        }
        Ok(outcome)
    }
}

impl Work {
    /// Everything about a new message, once its sender is known.
    async fn send(
        &mut self,
        route: &Route,
        params: MessageTask,
        key: Option<Key>,
    ) -> Result<MessageOutcome> {
        // A blank one is refused like any other that is no id: taken for a plain message it would withdraw the question.
        if let Some(question) = params.reply_to_question_id.as_deref() {
            let question = QuestionId::parse(question)?;
            let outcome = self.reply(route, question, &params).await?;
            if outcome.status != DeliveryStatus::AlreadyAnswered {
                // Counted, and never refused: see `domain::guards`.
                let hops = self.next_hop(route.sender_session.id).await?;
                self.keep_receipt(route, &outcome, hops, key).await?;
            }
            return Ok(outcome);
        }
        check_target_task(&route.target)?;
        let (mut session, pinned) = self
            .resolve_target(&route.target, params.session_id)
            .await?;
        let is_parent = route.target.parent_id == Some(route.sender.id);
        let interrupts = params.delivery_mode == DeliveryMode::Interrupt;
        if interrupts && !is_parent {
            return Err(Refusal::forbidden(
                "only the direct parent may interrupt a task: send it with delivery_mode \"queued\"",
            )
            .into());
        }
        let hops = self.guard(route, session.id).await?;
        let outcome = self
            .peer_prompt(
                route,
                &mut session,
                (params.prompt, pinned),
                is_parent,
                interrupts,
            )
            .await?;
        self.keep_receipt(route, &outcome, hops, key).await?;
        Ok(outcome)
    }

    /// The session a message goes to, and whether it stays there: one that was named, or that stands in for a primary that is
    /// over, is never redirected; a live primary may be changed by the step in which the turn begins (task-domain 3.3).
    async fn resolve_target(
        &mut self,
        target: &Task,
        explicit: Option<SessionId>,
    ) -> Result<(Session, bool)> {
        if let Some(id) = explicit {
            let session = load_session(&mut self.tx, id).await?;
            if session.task_id != target.id {
                return Err(Refusal::validation("session_id is not a session of task_id").into());
            }
            if session.state.is_terminal() {
                return Err(ended(session.state).into());
            }
            return Ok((session, true));
        }
        let sessions = store::sessions::list(&mut self.tx, target.id).await?;
        if let Some(session) = target_session(&sessions) {
            let stands_in = !session.is_primary;
            return Ok((session.clone(), stands_in));
        }
        Err(match sessions.iter().find(|s| s.is_primary).or(sessions.first()) {
            Some(session) => ended(session.state),
            None => Refusal::missing(
                "the task has no session yet: it was never started. Give it one with spawn_session_kandev, or make a task that \
                 starts with create_task_kandev",
            ),
        }
        .into())
    }

    async fn peer_prompt(
        &mut self,
        route: &Route,
        session: &mut Session,
        (text, pinned): (String, bool),
        is_parent: bool,
        interrupts: bool,
    ) -> Result<MessageOutcome> {
        // Explicit new input of the direct parent withdraws the question; everybody else's message is held behind it.
        let superseded = is_parent
            && self
                .end_questions_of_session(session, QuestionCommand::Supersede)
                .await?;
        let running = store::turns::open(&mut self.tx, session.id).await?;
        let mut prompt = attributed(&route.sender, &route.sender_session, route.target.id, text);
        prompt.pinned = pinned;
        if superseded || interrupts {
            prompt.lane = Lane::Express;
            // What its parent interrupts for is what the child does next, whatever else is urgent.
            prompt.first = interrupts;
        }
        let outcome = self.admit(&route.target, session, prompt).await?;
        if interrupts && let Some(turn) = running {
            self.request_cancel(session, turn, stop_reason::INTERRUPT)
                .await?;
        }
        Ok(outcome)
    }

    /// Answers a child's question: the question and the child's next prompt change in one transaction, so that neither can be
    /// without the other.
    async fn reply(
        &mut self,
        route: &Route,
        id: QuestionId,
        params: &MessageTask,
    ) -> Result<MessageOutcome> {
        let mut question = store::questions::find(&mut self.tx, id).await?.ok_or_else(|| {
            Refusal::validation("reply_to_question_id is not a question of this child: give the full id from its message")
        })?;
        check_answerer(
            &question,
            route.target.id,
            params.session_id,
            route.sender.id,
            route.target.parent_id,
        )?;
        if !self
            .question(
                &mut question,
                QuestionCommand::Answer,
                Some((&params.prompt, route.sender_session.id)),
            )
            .await?
        {
            return Ok(MessageOutcome {
                task_id: route.target.id,
                session_id: Some(question.child_session_id),
                status: DeliveryStatus::AlreadyAnswered,
                queue_entry_id: None,
                message_id: None,
                merged: false,
                deduplicated: false,
                reply_to_question_id: Some(id),
                answered_at: question.resolved_at,
            });
        }
        debug_assert_eq!(question.status, QuestionStatus::Answered);
        let mut session = load_session(&mut self.tx, question.child_session_id).await?;
        let mut prompt = NewPrompt::plain(params.prompt.clone(), QueuedBy::Server);
        prompt.lane = Lane::Express;
        prompt.sender = Some((route.sender.id, route.sender_session.id));
        prompt.answer_for_question_id = Some(id);
        prompt.hidden_context = Some(parent_answer(id, route.sender.id, &route.sender.title));
        prompt.metadata = sender_metadata(&route.sender, &route.sender_session);
        prompt
            .metadata
            .insert("parent_question_id".to_owned(), json!(id));
        prompt
            .metadata
            .insert("parent_question_response".to_owned(), json!(params.prompt));
        let outcome = self.admit(&route.target, &mut session, prompt).await?;
        // The answer is accepted whatever the child's turn is doing: for its sender it is sent.
        Ok(MessageOutcome {
            status: DeliveryStatus::Sent,
            ..outcome
        })
    }
}

/// A prompt of an agent to a session of `target` that says whose words it is and how to reply. Made of the sender's own rows;
/// nothing that the sender says about itself is in it.
pub(crate) fn attributed(
    sender: &Task,
    session: &Session,
    target: TaskId,
    text: String,
) -> NewPrompt {
    let same_task = sender.id == target;
    let mut prompt = NewPrompt::plain(text, QueuedBy::Agent);
    prompt.sender = Some((sender.id, session.id));
    prompt.metadata = sender_metadata(sender, session);
    if same_task {
        // That a message crossed tasks is told by these keys alone (task-domain 1.9).
        prompt.metadata.remove("sender_task_id");
        prompt.metadata.remove("sender_task_title");
    }
    prompt.hidden_context = Some(
        Peer {
            task: sender.id,
            title: &sender.title,
            session: session.id,
            session_name: session.name.as_deref(),
            same_task,
        }
        .render(),
    );
    prompt
}

/// Who sent a prompt, as the transcript shows it.
pub(crate) fn sender_metadata(task: &Task, session: &Session) -> Map<String, serde_json::Value> {
    let mut metadata = Map::new();
    metadata.insert("sender_task_id".to_owned(), json!(task.id));
    metadata.insert("sender_task_title".to_owned(), json!(task.title));
    metadata.insert("sender_session_id".to_owned(), json!(session.id));
    if let Some(name) = &session.name {
        metadata.insert("sender_session_name".to_owned(), json!(name));
    }
    metadata
}

/// Refuses words for a task that is over (rulings 18).
pub(crate) fn check_target_task(target: &Task) -> Result<()> {
    let over = match (target.archived_at, target.state) {
        (Some(_), _) => Some("archived"),
        (None, TaskState::Failed) => Some("FAILED"),
        (None, TaskState::Cancelled) => Some("CANCELLED"),
        (
            None,
            TaskState::Todo
            | TaskState::Created
            | TaskState::Scheduling
            | TaskState::InProgress
            | TaskState::Review
            | TaskState::Blocked
            | TaskState::WaitingForInput
            | TaskState::Completed,
        ) => None,
    };
    match over {
        Some(state) => Err(Refusal::conflict(format!(
            "the task is {state} and takes no messages: make a new one with create_task_kandev"
        ))
        .into()),
        None => Ok(()),
    }
}

fn ended(state: SessionState) -> Refusal {
    Refusal::conflict(format!(
        "the session is {state} and takes no messages: find another one with list_task_sessions_kandev, start one with \
         spawn_session_kandev, or make a new task with create_task_kandev"
    ))
}
