//! Questions of an agent to its operator (task-domain section 5).
//!
//! The tool call stays open while the operator thinks. The first to end a bundle wins, whoever it is. When nobody waits any
//! more the bundle is detached: it can still be answered, and the answer goes to the agent as its next prompt.

use crate::prompts::{NewPrompt, check_open};
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result, Topic};
use domain::clarification::{
    Clarification, ClarificationAnswer, ClarificationCommand, ClarificationStatus, response,
    unanswered,
};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{ClarificationId, MessageId};
use domain::message::{AuthorType, Message, MessageType};
use domain::params::AskQuestions;
use domain::profile::{QuestionRoute, question_route};
use domain::question::{Audience, Question, normalise, normalise_context, tool_call_key};
use domain::queue::{Lane, QueuedBy};
use domain::session::SessionCommand;
use domain::task::TaskCommand;
use domain::view::{ClarificationOutcome, ClarificationView};
use serde_json::{Map, Value, json};

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
        let known = store::clarifications::pending_of_session(&mut work.tx, session.id).await?;
        if let Some(bundle) = known.into_iter().find(|bundle| bundle.request_key == key) {
            if store::clarifications::set_disconnected(&mut work.tx, bundle.id, false).await? {
                work.bundle_event(&bundle).await?;
                work.commit().await?;
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
            if bundle.status != ClarificationStatus::Pending {
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

    /// Nobody waits for the bundle any more. It stays answerable; the queue is no longer held by it.
    pub async fn clarification_detach(&self, id: ClarificationId) -> Result<()> {
        let mut work = self.begin().await?;
        if let Some(bundle) = store::clarifications::find(&mut work.tx, id).await?
            && store::clarifications::set_disconnected(&mut work.tx, id, true).await?
        {
            work.bundle_event(&bundle).await?;
            let session = load_session(&mut work.tx, bundle.session_id).await?;
            work.effect(domain::effect::EffectKind::Dispatch, &session, None)
                .await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// The operator's answer, or skip. The first one wins; a later one gets `claimed: false` and what was recorded.
    pub async fn clarification_respond(
        &self,
        actor: &Actor,
        id: ClarificationId,
        answer: &ClarificationAnswer,
    ) -> Result<ClarificationOutcome> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let mut bundle = store::clarifications::find(&mut work.tx, id)
            .await?
            .ok_or_else(|| Refusal::not_found("question"))?;
        match bundle.status {
            ClarificationStatus::Pending => {}
            ClarificationStatus::Answered | ClarificationStatus::Rejected => {
                return Ok(outcome(&bundle, false));
            }
            ClarificationStatus::Expired | ClarificationStatus::Cancelled => {
                return Err(Refusal::conflict(format!(
                    "the question is {}: its agent has moved on; send what you want to say as a new message",
                    bundle.status
                ))
                .into());
            }
        }
        let result = response(&bundle.questions, answer)?;
        let command = if answer.rejected {
            ClarificationCommand::Reject
        } else {
            ClarificationCommand::Answer
        };
        let detached = bundle.agent_disconnected;
        if !work
            .clarification(&mut bundle, command, Some(result))
            .await?
        {
            return Ok(outcome(&bundle, false));
        }
        work.update_question_messages(&bundle).await?;
        let mut task = load_task(&mut work.tx, bundle.task_id).await?;
        let mut session = load_session(&mut work.tx, bundle.session_id).await?;
        work.task_event(&task).await?;
        if detached {
            // A skip of a detached bundle is stored and wakes nobody.
            if command == ClarificationCommand::Answer {
                check_open(&task)?;
                let mut prompt = NewPrompt::plain(answer_as_message(&bundle), QueuedBy::User);
                prompt.lane = Lane::Express;
                prompt.dedupe_key = Some(format!("clarification:{}", bundle.id));
                work.admit(&task, &mut session, prompt).await?;
            }
        } else if store::clarifications::pending_of_session(&mut work.tx, session.id)
            .await?
            .is_empty()
            && store::turns::open(&mut work.tx, session.id)
                .await?
                .is_some()
        {
            // The waiting call returns and its turn goes on.
            work.task(&mut task, TaskCommand::PromptAccepted).await?;
            work.session(&mut session, SessionCommand::PromptAccepted)
                .await?;
        }
        work.commit().await?;
        Ok(outcome(&bundle, true))
    }
}

impl Work {
    async fn bundle_event(&mut self, bundle: &Clarification) -> Result<()> {
        self.event(
            NewEvent::new(EventKind::ClarificationChanged)
                .task(bundle.task_id)
                .session(bundle.session_id)
                .subject(bundle.id),
        )
        .await
    }

    /// Shows in the transcript how each question ended.
    async fn update_question_messages(&mut self, bundle: &Clarification) -> Result<()> {
        let page = store::messages::page(
            &mut self.tx,
            bundle.session_id,
            store::messages::Window::Newest,
            &[MessageType::ClarificationRequest],
            100,
        )
        .await?;
        let id = json!(bundle.id);
        for mut message in page
            .0
            .into_iter()
            .filter(|m| m.metadata.get("pending_id") == Some(&id))
        {
            let question = message
                .metadata
                .get("question_id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            message
                .metadata
                .insert("status".to_owned(), json!(bundle.status));
            let answer = bundle
                .response
                .as_ref()
                .and_then(|r| r.get(&question))
                .cloned();
            message
                .metadata
                .insert("response".to_owned(), answer.unwrap_or(Value::Null));
            message.requests_input = false;
            message.updated_at = self.now;
            store::messages::update(&mut self.tx, &message).await?;
            self.event(
                NewEvent::new(EventKind::MessageUpdated)
                    .task(bundle.task_id)
                    .session(bundle.session_id)
                    .subject(message.id),
            )
            .await?;
        }
        Ok(())
    }

    /// The turn of the session's bundles is over: nobody waits for them any more.
    pub(crate) async fn detach_bundles(&mut self, session: domain::ids::SessionId) -> Result<()> {
        for bundle in store::clarifications::pending_of_session(&mut self.tx, session).await? {
            if store::clarifications::set_disconnected(&mut self.tx, bundle.id, true).await? {
                self.bundle_event(&bundle).await?;
            }
        }
        Ok(())
    }

    /// A newer turn was accepted: what earlier ones asked is history.
    pub(crate) async fn expire_bundles(&mut self, session: domain::ids::SessionId) -> Result<()> {
        for mut bundle in store::clarifications::pending_of_session(&mut self.tx, session).await? {
            self.clarification(&mut bundle, ClarificationCommand::Expire, None)
                .await?;
            self.update_question_messages(&bundle).await?;
        }
        Ok(())
    }
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
        created_at: bundle.created_at,
    }
}

fn outcome(bundle: &Clarification, claimed: bool) -> ClarificationOutcome {
    ClarificationOutcome {
        success: true,
        claimed,
        status: bundle.status,
        response: bundle.response.clone(),
    }
}

fn question_message(bundle: &Clarification, question: &Question) -> Message {
    let mut metadata = Map::new();
    metadata.insert("pending_id".to_owned(), json!(bundle.id));
    metadata.insert("question_id".to_owned(), json!(question.id));
    metadata.insert("question".to_owned(), json!(question));
    metadata.insert("context".to_owned(), json!(bundle.context));
    metadata.insert("status".to_owned(), json!(bundle.status));
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

/// Question and answer in words, for an agent that no longer waits for the tool's result.
fn answer_as_message(bundle: &Clarification) -> String {
    let mut text = String::from("You asked earlier:\n");
    for question in &bundle.questions {
        let answer = bundle.response.as_ref().and_then(|r| r.get(&question.id));
        let option = answer
            .and_then(|a| a.pointer("/selected_option/label"))
            .and_then(Value::as_str);
        let custom = answer
            .and_then(|a| a.get("custom_text"))
            .and_then(Value::as_str);
        let words: Vec<&str> = option.into_iter().chain(custom).collect();
        text.push_str(&format!(
            "\n{}\nAnswer: {}\n",
            question.prompt,
            words.join("; ")
        ));
    }
    text
}
