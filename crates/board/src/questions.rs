//! Questions of an autopilot child to its direct parent (task-domain section 4).
//!
//! Asking commits question, hidden message, gate and the parent's prompt in one transaction; the gate *is* the pending row, so
//! no crash can leave one without the other. Answering lives in `messages`, superseding and staling in `transition`.

use crate::messages::sender_metadata;
use crate::prompts::{NewPrompt, target_session};
use crate::sessions::stop_reason;
use crate::transition::{Work, load_session, load_task};
use crate::{Actor, Board, Result};
use domain::context::ChildQuestion;
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{MessageId, QuestionId, SessionId};
use domain::message::{AuthorType, Message, MessageType};
use domain::params::AskQuestions;
use domain::profile::{QuestionRoute, question_route};
use domain::question::{
    Audience, MAX_PROMPT, ParentQuestion, QuestionStatus, check_length, normalise,
    normalise_context, tool_call_key,
};
use domain::queue::QueuedBy;
use domain::session::{Session, SessionCommand};
use domain::task::{Task, TaskCommand};
use domain::turn::Turn;
use domain::view::ParentAsked;
use serde_json::{Map, Value, json};

impl Board {
    /// Asks the caller's direct parent. Answers at once: the answer arrives as the child's next prompt.
    ///
    /// Asking again within one wait or one turn, and so repeating the tool call too, gives the same question and reaches the
    /// parent once. Refused, with nothing stored: a task that is not in autopilot mode or has no
    /// parent, an archived parent, a session without a running turn, a malformed bundle.
    pub async fn ask_parent(
        &self,
        actor: &Actor,
        params: &AskQuestions,
        arguments: &Value,
        tool_use_id: Option<&str>,
    ) -> Result<ParentAsked> {
        let (task, session) = actor.require_agent()?;
        let questions = normalise(&params.questions, Audience::Parent)?;
        let context = normalise_context(params.context.as_deref(), &params.context_paragraphs)?;
        let blocked_effect = params
            .blocked_effect
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty());
        if let Some(text) = blocked_effect {
            check_length("blocked_effect", text, MAX_PROMPT)?;
        }

        let mut work = self.begin().await?;
        let mut child = load_task(&mut work.tx, task).await?;
        let mut session = load_session(&mut work.tx, session).await?;
        let parent = work.parent_to_ask(&child, &session).await?;
        if let Some(pending) =
            store::questions::pending_of_session(&mut work.tx, session.id).await?
        {
            return Ok(asked(&pending));
        }
        let mut turn = store::turns::open(&mut work.tx, session.id)
            .await?
            .ok_or_else(|| {
                Refusal::conflict(
                    "a question can only be asked within a turn: this session has none running",
                )
            })?;
        // One question a turn, also when it is over already: a quick answer must not be held up behind a second question.
        if let Some(earlier) = store::questions::of_turn(&mut work.tx, session.id, turn.id).await? {
            return Ok(asked(&earlier));
        }
        let key = tool_call_key(turn.id, arguments, tool_use_id);
        work.accepted(&mut turn, &mut session, &mut child).await?;

        let mut question = ParentQuestion {
            id: QuestionId::new(),
            child_task_id: child.id,
            child_session_id: session.id,
            child_turn_id: Some(turn.id),
            parent_task_id: parent.id,
            tool_call_key: key,
            questions,
            context,
            blocked_effect: blocked_effect.map(str::to_owned),
            status: QuestionStatus::Pending,
            message_id: MessageId::new(),
            prompt_id: None,
            delivered_at: None,
            response: None,
            answered_by_session_id: None,
            created_at: work.now,
            resolved_at: None,
        };
        store::questions::insert(&mut work.tx, &question).await?;
        work.add_question_message(&question, &turn).await?;
        work.task_event(&child).await?;
        work.event(
            NewEvent::new(EventKind::ParentQuestionChanged)
                .workspace(child.workspace_id)
                .task(child.id)
                .session(session.id)
                .subject(question.id),
        )
        .await?;
        work.put_to_parent(&mut question, &child, &session, &parent)
            .await?;
        // One a turn: the wish of an earlier turn that was quickly answered would come too early for this one.
        work.effect_after(
            EffectKind::SettleQuestion,
            &session,
            Some(&turn.id.to_string()),
            self.settings().question_grace_ms,
        )
        .await?;
        work.commit().await?;
        Ok(asked(&question))
    }

    /// Whether an agent may call `tool` now. A session that is over may call nothing; within a turn that has asked the parent,
    /// only the question itself may be repeated (rulings 7).
    pub async fn check_tool_call(&self, actor: &Actor, tool: &str) -> Result<()> {
        let Actor::Agent { session, .. } = actor else {
            return Ok(());
        };
        let mut db = self.snapshot().await?;
        let session = load_session(&mut db, *session).await?;
        if session.state.is_terminal() {
            return Err(Refusal::unauthorized(
                "this session is over: its tools are no longer available",
            )
            .into());
        }
        if tool == "ask_parent_question_kandev" {
            return Ok(());
        }
        let Some(turn) = store::turns::open(&mut db, session.id).await? else {
            return Ok(());
        };
        if store::questions::of_turn(&mut db, session.id, turn.id)
            .await?
            .is_some()
        {
            return Err(Refusal::conflict(
                "you have asked your parent: end your turn now; the answer arrives as your next prompt",
            )
            .into());
        }
        Ok(())
    }

    /// The grace after a question is over: the child's session settles, and a turn that still runs is asked to end. Safe to
    /// repeat; nothing happens when the turn ended by itself, nor when the present turn asked less than the grace ago.
    pub async fn question_grace_over(&self, session: SessionId) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut session) = store::sessions::find(&mut work.tx, session).await? else {
            return Ok(());
        };
        let Some(turn) = store::turns::open(&mut work.tx, session.id).await? else {
            return Ok(());
        };
        let asked = store::questions::of_turn(&mut work.tx, session.id, turn.id).await?;
        let over = work.now.plus_millis(-self.settings().question_grace_ms);
        if asked.is_none_or(|question| question.created_at > over) {
            return Ok(());
        }
        let mut task = load_task(&mut work.tx, session.task_id).await?;
        if store::questions::pending_of_session(&mut work.tx, session.id)
            .await?
            .is_some()
        {
            work.task(&mut task, TaskCommand::Settle).await?;
            work.session(&mut session, SessionCommand::Settle).await?;
        }
        work.request_cancel(&session, turn, stop_reason::QUESTION)
            .await?;
        work.commit().await
    }
}

fn asked(question: &ParentQuestion) -> ParentAsked {
    ParentAsked {
        question_id: question.id,
        parent_task_id: question.parent_task_id,
        status: "waiting_for_parent".to_owned(),
    }
}

impl Work {
    /// The parent that this session may ask. Fails closed for a client that holds a stale tool list.
    async fn parent_to_ask(&mut self, child: &Task, session: &Session) -> Result<Task> {
        match question_route(
            child.autopilot,
            child.parent_id.is_some(),
            session.is_passthrough,
        ) {
            QuestionRoute::Parent => {}
            QuestionRoute::Operator => {
                return Err(Refusal::validation(
                    "this task is not in autopilot mode: ask its operator with ask_user_question_kandev",
                )
                .into());
            }
            QuestionRoute::Nobody => {
                return Err(Refusal::validation(
                    "this task has no parent to ask: decide by your best judgement and state the assumptions you make",
                )
                .into());
            }
        }
        if session.state.is_terminal() {
            return Err(Refusal::conflict("this session is over and cannot ask any more").into());
        }
        let parent = match child.parent_id {
            Some(id) => store::tasks::find(&mut self.tx, id).await?,
            None => None,
        };
        let parent =
            parent.ok_or_else(|| Refusal::validation("the parent task no longer exists"))?;
        if parent.archived_at.is_some() {
            return Err(Refusal::validation(
                "the parent task is archived and cannot answer: decide by your best judgement and state your assumptions",
            )
            .into());
        }
        Ok(parent)
    }

    /// The hidden message that shows the question in the child's transcript.
    async fn add_question_message(&mut self, question: &ParentQuestion, turn: &Turn) -> Result<()> {
        let mut metadata = Map::new();
        let mut set = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
        set("parent_question", json!(true));
        set("parent_question_id", json!(question.id));
        set("pending_id", json!(question.id));
        set("parent_task_id", json!(question.parent_task_id));
        set("child_task_id", json!(question.child_task_id));
        set("questions", json!(question.questions));
        set("context", json!(question.context));
        set("blocked_effect", json!(question.blocked_effect));
        set("status", json!(question.status));
        set("parent_question_status", json!(question.status));
        let prompts: Vec<&str> = question
            .questions
            .iter()
            .map(|q| q.prompt.as_str())
            .collect();
        let message = Message {
            id: question.message_id,
            session_id: question.child_session_id,
            task_id: question.child_task_id,
            turn_id: Some(turn.id),
            seq: 0,
            author_type: AuthorType::Agent,
            author_id: None,
            content: prompts.join("\n\n"),
            hidden_context: None,
            message_type: MessageType::ClarificationRequest,
            metadata,
            requests_input: true,
            created_at: self.now,
            updated_at: self.now,
        };
        self.add_message(&message).await
    }

    /// Puts the question into the queue of the parent's session. A parent that was never started is started; one whose sessions
    /// have all failed or been stopped leaves the question pending until the operator gives it a live one (rulings 4).
    async fn put_to_parent(
        &mut self,
        question: &mut ParentQuestion,
        child: &Task,
        child_session: &Session,
        parent: &Task,
    ) -> Result<()> {
        let sessions = store::sessions::list(&mut self.tx, parent.id).await?;
        let session = match target_session(&sessions) {
            Some(session) => Some(session.clone()),
            None if sessions.is_empty() && parent.agent_profile_id.is_some() => {
                // Making the session delivers what waits for the parent, this question included.
                self.ensure_session(parent).await?;
                question.prompt_id = store::questions::find(&mut self.tx, question.id)
                    .await?
                    .and_then(|stored| stored.prompt_id);
                None
            }
            None => None,
        };
        if let Some(mut session) = session {
            self.queue_question(question, (child, child_session), parent, &mut session)
                .await?;
        }
        Ok(())
    }

    async fn queue_question(
        &mut self,
        question: &mut ParentQuestion,
        (child, child_session): (&Task, &Session),
        parent: &Task,
        session: &mut Session,
    ) -> Result<()> {
        let text = ChildQuestion {
            question: question.id,
            child_task: child.id,
            child_title: &child.title,
            child_session: question.child_session_id,
            questions: &question.questions,
            context: question.context.as_deref(),
            blocked_effect: question.blocked_effect.as_deref(),
        };
        let mut prompt = NewPrompt::plain(text.content(), QueuedBy::Server);
        prompt.hidden_context = Some(text.hidden());
        prompt.sender = Some((child.id, question.child_session_id));
        prompt.question_id = Some(question.id);
        prompt.metadata = sender_metadata(child, child_session);
        prompt
            .metadata
            .insert("parent_question".to_owned(), json!(true));
        prompt
            .metadata
            .insert("parent_question_id".to_owned(), json!(question.id));
        prompt
            .metadata
            .insert("parent_task_id".to_owned(), json!(question.parent_task_id));
        prompt
            .metadata
            .insert("child_task_id".to_owned(), json!(question.child_task_id));
        prompt
            .metadata
            .insert("questions".to_owned(), json!(question.questions));
        prompt.pinned = false;
        let outcome = self.admit(parent, session, prompt).await?;
        self.keep_question_receipt((child.id, question.child_session_id), &outcome)
            .await?;
        if let Some(prompt) = outcome.queue_entry_id {
            question.prompt_id = Some(prompt);
            store::questions::set_prompt(&mut self.tx, question.id, prompt).await?;
        }
        Ok(())
    }

    /// Delivers the questions that wait for this task and found no session that could take them.
    pub(crate) async fn deliver_waiting_questions(
        &mut self,
        parent: &Task,
        session: &Session,
    ) -> Result<()> {
        let waiting = store::questions::pending_of_parent(&mut self.tx, parent.id).await?;
        let mut session = session.clone();
        for mut question in waiting.into_iter().filter(|q| q.prompt_id.is_none()) {
            let child = load_task(&mut self.tx, question.child_task_id).await?;
            let child_session = load_session(&mut self.tx, question.child_session_id).await?;
            self.queue_question(
                &mut question,
                (&child, &child_session),
                parent,
                &mut session,
            )
            .await?;
        }
        Ok(())
    }
}
