//! Questions of an agent to its operator (task-domain section 5).
//!
//! The tool call stays open while the operator thinks. The first to end a bundle wins, whoever it is. When nobody waits any
//! more the bundle is detached: it can still be answered, and the answer goes to the agent as its next prompt
//! ([`crate::clarification_answers`]).
//!
//! Which bundles still count is decided by [`domain::clarification::standing`] alone. Every transaction that makes one history (a
//! newer turn is taken, a session ends) expires it through [`Work::expire_history`], so that an open row always counts.

use crate::standing::active_bundles;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result, Topic};
use domain::clarification::{
    Clarification, ClarificationCommand, ClarificationStatus, Standing, standing, unanswered,
};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{ClarificationId, MessageId, SessionId};
use domain::message::{AuthorType, Message, MessageType};
use domain::params::AskQuestions;
use domain::profile::{QuestionRoute, question_route};
use domain::question::{Audience, Question, normalise, normalise_context, tool_call_key};
use domain::session::{Session, SessionCommand};
use domain::task::TaskCommand;
use domain::view::ClarificationView;
use serde_json::{Map, Value, json};
use std::time::Duration;

impl Board {
    /// Puts questions to the operator and answers with the bundle's id; wait for it with [`Self::clarification_wait`]. An
    /// identical bundle of the same turn that is pending is used again, since clients repeat calls.
    pub async fn ask_operator(
        &self,
        actor: &Actor,
        params: &AskQuestions,
        arguments: &Value,
    ) -> Result<ClarificationId> {
        let (task, session) = actor.require_agent()?;
        let questions = normalise(&params.questions, Audience::Operator)?;
        let context = normalise_context(params.context.as_deref(), &params.context_paragraphs)?;
        let mut work = self.begin().await?;
        let mut task = load_task(&mut work.tx, task).await?;
        let mut session = load_session(&mut work.tx, session).await?;
        if question_route(
            task.autopilot,
            task.parent_id.is_some(),
            session.is_passthrough,
        ) != QuestionRoute::Operator
        {
            return Err(Refusal::validation(
                "this task is in autopilot mode and never asks the operator: decide by your best judgement, or ask the parent \
                 when there is one",
            )
            .into());
        }
        let mut turn = store::turns::open(&mut work.tx, session.id)
            .await?
            .ok_or_else(|| {
                Refusal::conflict(
                    "a question can only be asked within a turn: this session has none running",
                )
            })?;
        work.accepted(&mut turn, &mut session, &mut task).await?;
        let key = tool_call_key(turn.id, arguments, None);
        let known = store::clarifications::open_of_session(&mut work.tx, session.id).await?;
        if let Some(mut bundle) = known.into_iter().find(|bundle| bundle.request_key == key) {
            if store::clarifications::set_disconnected(&mut work.tx, bundle.id, false).await? {
                bundle.agent_disconnected = false;
                work.show_bundle(&bundle).await?;
                work.bundle_event(&bundle).await?;
                work.commit().await?;
            } else {
                // The caller goes on to wait for it, and must not find it missing because its own commit is still under way.
                drop(work);
                self.settled().await?;
            }
            return Ok(bundle.id);
        }
        let bundle = Clarification {
            id: ClarificationId::new(),
            task_id: task.id,
            session_id: session.id,
            turn_id: Some(turn.id),
            request_key: key,
            questions,
            context,
            status: ClarificationStatus::Pending,
            agent_disconnected: false,
            response: None,
            claim: None,
            created_at: work.now,
            resolved_at: None,
        };
        store::clarifications::insert(&mut work.tx, &bundle).await?;
        for question in &bundle.questions {
            work.add_message(&question_message(&bundle, question))
                .await?;
        }
        work.task(&mut task, TaskCommand::Settle).await?;
        work.task_event(&task).await?;
        work.session(&mut session, SessionCommand::Settle).await?;
        work.bundle_event(&bundle).await?;
        work.commit().await?;
        Ok(bundle.id)
    }

    /// Waits until a bundle is over and gives the tool's result. Has no deadline of its own: the caller sets one, and calls
    /// [`Self::clarification_detach`] when it stops waiting.
    pub async fn clarification_wait(&self, id: ClarificationId) -> Result<Value> {
        let mut changes = self.signals().subscribe(Topic::Clarifications);
        loop {
            let bundle = store::clarifications::find(&mut self.snapshot().await?, id)
                .await?
                .ok_or_else(|| Refusal::not_found("question"))?;
            if !bundle.status.is_open() {
                return Ok(bundle
                    .response
                    .unwrap_or_else(|| unanswered(&bundle.questions)));
            }
            if changes.changed().await.is_err() {
                return Err(
                    Refusal::unavailable("the server is shutting down: ask again later").into(),
                );
            }
        }
    }

    /// A bundle, open or over, for the operator and for the agent that asked; nobody else learns that it exists.
    pub async fn clarification_get(
        &self,
        actor: &Actor,
        id: ClarificationId,
    ) -> Result<ClarificationView> {
        let found = store::clarifications::find(&mut self.snapshot().await?, id).await?;
        Ok(view(owned(actor, found)?))
    }

    /// As [`Self::clarification_get`], once the bundle is over or after `patience`, whichever comes first.
    pub async fn clarification_await(
        &self,
        actor: &Actor,
        id: ClarificationId,
        patience: Duration,
    ) -> Result<ClarificationView> {
        self.clarification_get(actor, id).await?;
        match tokio::time::timeout(patience, self.clarification_wait(id)).await {
            Ok(waited) => waited.map(drop)?,
            Err(_) => tracing::debug!(%id, "still open"),
        }
        self.clarification_get(actor, id).await
    }

    /// Nobody waits for the bundle any more. It stays answerable; the queue is no longer held by it.
    pub async fn clarification_detach(&self, id: ClarificationId) -> Result<()> {
        let mut work = self.begin().await?;
        if let Some(mut bundle) = store::clarifications::find(&mut work.tx, id).await?
            && store::clarifications::set_disconnected(&mut work.tx, id, true).await?
        {
            bundle.agent_disconnected = true;
            work.show_bundle(&bundle).await?;
            work.bundle_event(&bundle).await?;
            let session = load_session(&mut work.tx, bundle.session_id).await?;
            work.effect(domain::effect::EffectKind::Dispatch, &session, None)
                .await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// The call has waited as long as it may: the bundle is history, and the turn goes on without an answer. One that was
    /// answered in the same moment stays answered.
    pub async fn clarification_expire(&self, id: ClarificationId) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut bundle) = store::clarifications::find(&mut work.tx, id).await? else {
            return Ok(());
        };
        if work
            .end_bundle(&mut bundle, ClarificationCommand::Expire, None)
            .await?
        {
            work.commit().await?;
        }
        Ok(())
    }

    /// Withdraws a bundle: a call that waits for it returns with nothing answered. Doing it again changes nothing.
    pub async fn clarification_cancel(
        &self,
        actor: &Actor,
        id: ClarificationId,
    ) -> Result<ClarificationView> {
        let mut work = self.begin().await?;
        let found = store::clarifications::find(&mut work.tx, id).await?;
        let mut bundle = owned(actor, found)?;
        if bundle.status == ClarificationStatus::Responding {
            return Err(Refusal::conflict(
                "an answer to this question is on its way to the agent: look again in a moment",
            )
            .into());
        }
        if work
            .end_bundle(&mut bundle, ClarificationCommand::Cancel, None)
            .await?
        {
            work.commit().await?;
        }
        Ok(view(bundle))
    }
}

impl Work {
    pub(crate) async fn bundle_event(&mut self, bundle: &Clarification) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::ClarificationChanged)
                .task(bundle.task_id)
                .session(bundle.session_id)
                .subject(bundle.id),
        )
        .await
    }

    /// Ends a bundle and shows how; when its call was waiting, the turn that asked goes on. Answers whether this call did it.
    pub(crate) async fn end_bundle(
        &mut self,
        bundle: &mut Clarification,
        command: ClarificationCommand,
        response: Option<Value>,
    ) -> Result<bool> {
        let was_live = !bundle.agent_disconnected;
        if !self.clarification(bundle, command, response).await? {
            return Ok(false);
        }
        let mut task = load_task(&mut self.tx, bundle.task_id).await?;
        self.task_event(&task).await?;
        let mut session = load_session(&mut self.tx, bundle.session_id).await?;
        if was_live
            && !session.state.is_terminal()
            && active_bundles(&mut self.tx, &session).await?.is_empty()
            && store::turns::open(&mut self.tx, session.id)
                .await?
                .is_some()
        {
            self.task(&mut task, TaskCommand::PromptAccepted).await?;
            self.session(&mut session, SessionCommand::PromptAccepted)
                .await?;
        }
        Ok(true)
    }

    /// Shows in the transcript where each question of a bundle stands.
    pub(crate) async fn show_bundle(&mut self, bundle: &Clarification) -> Result<()> {
        let Some(turn) = bundle.turn_id else {
            return Ok(());
        };
        let id = json!(bundle.id);
        let asked = store::messages::of_turn(
            &mut self.tx,
            bundle.session_id,
            turn,
            MessageType::ClarificationRequest,
        )
        .await?;
        for mut message in asked
            .into_iter()
            .filter(|message| message.metadata.get("pending_id") == Some(&id))
        {
            let question = message
                .metadata
                .get("question_id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            message.metadata.extend(particulars(bundle, &question));
            message.requests_input = bundle.status.is_open();
            message.updated_at = self.now;
            store::messages::update(&mut self.tx, &message).await?;
            self.message_updated(&message).await?;
        }
        Ok(())
    }

    /// The session's turn is over: nobody waits any more for what it asked.
    pub(crate) async fn detach_bundles(&mut self, session: SessionId) -> Result<()> {
        let Some(turn) = store::turns::current(&mut self.tx, session).await? else {
            return Ok(());
        };
        for id in store::clarifications::detach(&mut self.tx, session, turn).await? {
            if let Some(bundle) = store::clarifications::find(&mut self.tx, id).await? {
                self.show_bundle(&bundle).await?;
                self.bundle_event(&bundle).await?;
            }
        }
        Ok(())
    }

    /// Expires what the rule no longer counts: a newer turn was taken, or the session is over. An answer that was on its way goes
    /// with its question, unless the agent may have it already; then it stays given.
    pub(crate) async fn expire_history(&mut self, session: &Session) -> Result<()> {
        let current = store::turns::current(&mut self.tx, session.id).await?;
        for mut bundle in store::clarifications::open_of_session(&mut self.tx, session.id).await? {
            if standing(&bundle, current, session.state) != Standing::Over {
                continue;
            }
            if self.recall_answer(&bundle).await? {
                self.clarification(&mut bundle, ClarificationCommand::Expire, None)
                    .await?;
            } else {
                self.answer_given(&mut bundle).await?;
            }
        }
        Ok(())
    }
}

/// A bundle that the actor may know of: the operator every one, an agent its own. Everybody else is told that there is none.
pub(crate) fn owned(actor: &Actor, found: Option<Clarification>) -> Result<Clarification> {
    let may_know = |bundle: &Clarification| match actor {
        Actor::Operator | Actor::System => true,
        Actor::Agent { session, .. } => bundle.session_id == *session,
        Actor::External { .. } => false,
    };
    Ok(found
        .filter(may_know)
        .ok_or_else(|| Refusal::not_found("question"))?)
}

/// A bundle as pages show it.
pub(crate) fn view(bundle: Clarification) -> ClarificationView {
    ClarificationView {
        pending_id: bundle.id,
        task_id: bundle.task_id,
        session_id: bundle.session_id,
        questions: bundle.questions,
        context: bundle.context,
        agent_disconnected: bundle.agent_disconnected,
        status: bundle.status,
        response: bundle.response,
        created_at: bundle.created_at,
        resolved_at: bundle.resolved_at,
    }
}

fn question_message(bundle: &Clarification, question: &Question) -> Message {
    let mut metadata = Map::new();
    metadata.insert("pending_id".to_owned(), json!(bundle.id));
    metadata.insert("question_id".to_owned(), json!(question.id));
    metadata.insert("question".to_owned(), json!(question));
    metadata.insert("context".to_owned(), json!(bundle.context));
    metadata.extend(particulars(bundle, &question.id));
    Message {
        id: MessageId::new(),
        session_id: bundle.session_id,
        task_id: bundle.task_id,
        turn_id: bundle.turn_id,
        seq: 0,
        author_type: AuthorType::Agent,
        author_id: None,
        content: question.prompt.clone(),
        hidden_context: None,
        message_type: MessageType::ClarificationRequest,
        metadata,
        requests_input: true,
        created_at: bundle.created_at,
        updated_at: bundle.created_at,
    }
}

/// What the message of a question says of where its bundle stands. One whose answer is on its way is pending still.
fn particulars(bundle: &Clarification, question: &str) -> Map<String, Value> {
    let status = match bundle.status {
        ClarificationStatus::Responding => ClarificationStatus::Pending,
        ClarificationStatus::Pending
        | ClarificationStatus::Answered
        | ClarificationStatus::Rejected
        | ClarificationStatus::Expired
        | ClarificationStatus::Cancelled => bundle.status,
    };
    let response = bundle.response.as_ref().and_then(|r| r.get(question));
    let mut metadata = Map::new();
    metadata.insert("status".to_owned(), json!(status));
    metadata.insert("response".to_owned(), json!(response));
    metadata.insert(
        "agent_disconnected".to_owned(),
        json!(bundle.agent_disconnected),
    );
    metadata.insert(
        "response_delivery_pending".to_owned(),
        json!(bundle.status == ClarificationStatus::Responding),
    );
    metadata
}
