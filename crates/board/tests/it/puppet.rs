//! An agent as a test plays it: what it asks, says and hears.

use crate::node::Heard;
use crate::world::World;
use board::{Actor, Result, TurnOutcome};
use domain::ids::{QuestionId, SessionId, TaskId};
use domain::message::MessageType;
use domain::params::{AskQuestions, ConversationPage, CreateTask, DeliveryMode, MessageTask};
use domain::question::QuestionInput;
use domain::session::{Session, SessionState};
use domain::view::{MessageOutcome, MessageView, ParentAsked, SessionView, TaskCreated, TaskView};
use serde_json::json;

/// A session's agent.
#[derive(Debug, Clone)]
pub(crate) struct Puppet {
    pub(crate) world: World,
    pub(crate) task: TaskId,
    pub(crate) session: SessionId,
}

/// A question in one sentence.
pub(crate) fn question(prompt: &str) -> AskQuestions {
    AskQuestions {
        questions: vec![QuestionInput {
            id: None,
            title: None,
            prompt: prompt.to_owned(),
            options: None,
            allow_custom_text: None,
        }],
        context: None,
        context_paragraphs: Vec::new(),
        blocked_effect: None,
    }
}

/// A question with two choices, as the operator needs them.
pub(crate) fn choice(prompt: &str) -> AskQuestions {
    let mut ask = question(prompt);
    ask.questions[0].options = serde_json::from_value(json!(["SQLite", "Postgres"])).unwrap();
    ask
}

/// A message to a task, nothing special about it.
pub(crate) fn note(to: TaskId, prompt: &str) -> MessageTask {
    MessageTask {
        task_id: to,
        prompt: prompt.to_owned(),
        session_id: None,
        delivery_mode: DeliveryMode::Queued,
        reply_to_question_id: None,
        idempotency_key: None,
    }
}

impl Puppet {
    pub(crate) fn actor(&self) -> Actor {
        Actor::Agent {
            task: self.task,
            session: self.session,
        }
    }

    /// Asks the parent, as a tool call of its own.
    pub(crate) async fn ask(&self, prompt: &str) -> Result<ParentAsked> {
        self.ask_as(prompt, None).await
    }

    /// Asks the parent in the tool call of this id.
    pub(crate) async fn ask_as(
        &self,
        prompt: &str,
        tool_use_id: Option<&str>,
    ) -> Result<ParentAsked> {
        let arguments = json!({"questions": [{"prompt": prompt}]});
        self.world
            .board()
            .ask_parent(&self.actor(), &question(prompt), &arguments, tool_use_id)
            .await
    }

    /// Asks the parent and ends the turn, as it is told to.
    pub(crate) async fn ask_and_wait(&self, prompt: &str) -> QuestionId {
        let asked = self.ask(prompt).await.unwrap();
        self.end_turn().await;
        asked.question_id
    }

    /// Answers a question of `child`.
    pub(crate) async fn reply(
        &self,
        child: &Self,
        question: QuestionId,
        answer: &str,
    ) -> Result<MessageOutcome> {
        let mut message = note(child.task, answer);
        message.reply_to_question_id = Some(question.to_string());
        self.send(message).await
    }

    /// Writes to a task.
    pub(crate) async fn tell(&self, to: TaskId, prompt: &str) -> Result<MessageOutcome> {
        self.send(note(to, prompt)).await
    }

    /// Interrupts a task.
    pub(crate) async fn interrupt(&self, to: TaskId, prompt: &str) -> Result<MessageOutcome> {
        let mut message = note(to, prompt);
        message.delivery_mode = DeliveryMode::Interrupt;
        self.send(message).await
    }

    pub(crate) async fn send(&self, message: MessageTask) -> Result<MessageOutcome> {
        self.world
            .board()
            .message_task(&self.actor(), message)
            .await
    }

    /// Stops of its own accord. The caller runs the world when it wants to see what follows.
    pub(crate) async fn end_turn(&self) {
        self.end_turn_with(TurnOutcome::Stopped("end_turn".to_owned()))
            .await;
    }

    pub(crate) async fn end_turn_with(&self, outcome: TurnOutcome) {
        self.world
            .node()
            .end_turn(self.session, &outcome)
            .await
            .unwrap();
    }

    /// Stops of its own accord, unless its turn was ended meanwhile.
    pub(crate) async fn end_turn_if_open(&self) {
        let node = self.world.node();
        if let Some(turn) = node.turn(self.session) {
            let outcome = TurnOutcome::Stopped("end_turn".to_owned());
            node.end_this_turn(self.session, turn, &outcome)
                .await
                .unwrap();
        }
    }

    /// Splits off a subtask.
    pub(crate) async fn create(&self, params: CreateTask) -> Result<TaskCreated> {
        let params = CreateTask {
            parent_id: Some(self.task),
            ..params
        };
        self.world.board().task_create(&self.actor(), params).await
    }

    /// Another session of the same task, which waits for its first prompt.
    pub(crate) async fn sibling(&self) -> Self {
        let mut tx = self.world.store().write().await.unwrap();
        let first = store::sessions::find(&mut tx, self.session)
            .await
            .unwrap()
            .unwrap();
        let sibling = Session {
            id: SessionId::new(),
            state: SessionState::Created,
            is_primary: false,
            made_for: None,
            provider_session_id: None,
            generation: 0,
            holder: None,
            lease_until: None,
            started_at: None,
            completed_at: None,
            ..first
        };
        store::sessions::insert(&mut tx, &sibling).await.unwrap();
        tx.commit().await.unwrap();
        self.world.puppet(self.task, sibling.id)
    }

    /// Everything that this session's agent was sent.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        let mut heard = self.world.disk().heard();
        heard.retain(|h| h.session == self.session);
        heard
    }

    /// The words it was sent.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.heard().into_iter().map(|h| h.text).collect()
    }

    /// The last thing it was sent.
    pub(crate) fn last_heard(&self) -> Heard {
        self.heard().pop().expect("the agent heard something")
    }

    pub(crate) fn is_in_turn(&self) -> bool {
        self.world.node().turn(self.session).is_some()
    }

    pub(crate) async fn view(&self) -> SessionView {
        let board = self.world.board();
        board
            .session_get(&Actor::Operator, self.session)
            .await
            .unwrap()
    }

    pub(crate) async fn state(&self) -> SessionState {
        self.view().await.state
    }

    pub(crate) async fn card(&self) -> TaskView {
        let board = self.world.board();
        board.task_get(&Actor::Operator, self.task).await.unwrap()
    }

    /// The name of the step that the card is in.
    pub(crate) async fn step(&self) -> String {
        let step = self.card().await.workflow_step_id;
        let steps = &self.world.steps;
        let found = steps.iter().find(|s| s.id == step);
        found.expect("a step of the world's workflow").name.clone()
    }

    /// The prompts that wait for it, in order.
    pub(crate) async fn waiting(&self) -> Vec<String> {
        let session = self.session;
        let rows = self
            .world
            .read(async |db| store::queue::list(db, session).await)
            .await;
        rows.into_iter().map(|row| row.content).collect()
    }

    /// The transcript, oldest first.
    pub(crate) async fn transcript(&self) -> Vec<MessageView> {
        let page = ConversationPage {
            limit: Some(100),
            ..ConversationPage::default()
        };
        let board = self.world.board();
        let page = board
            .session_messages(&Actor::Operator, self.session, &page)
            .await
            .unwrap();
        page.messages
    }

    /// The transcript's messages of one type.
    pub(crate) async fn messages_of(&self, kind: MessageType) -> Vec<MessageView> {
        let mut messages = self.transcript().await;
        messages.retain(|m| m.message_type == kind);
        messages
    }

    /// What the operator says to this session.
    pub(crate) async fn operator_says(&self, text: &str) -> MessageOutcome {
        let board = self.world.board();
        board
            .prompt_session(&Actor::Operator, self.session, text, None)
            .await
            .unwrap()
    }
}
