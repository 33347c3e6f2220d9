//! The smallest world in which agents can work: a board over a database of its own, one node, a profile, the Kanban workflow.

use crate::checks::{self, Memory};
use crate::node::{Disk, Node};
use crate::puppet::Puppet;
use board::{Actor, Board, BoardError, Clock, Result, Settings};
use domain::error::{ErrorCode, Refusal};
use domain::ids::{ProfileId, QuestionId, SessionId, StepId, TaskId};
use domain::params::{CreateAgent, CreateProfile, CreateTask, MoveTask};
use domain::question::{ParentQuestion, QuestionStatus};
use domain::time::Timestamp;
use domain::view::{WorkflowView, WorkspaceView};
use domain::workflow::Step;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::testing::TestDb;
use store::{Snapshot, Store};

/// The name of the node that a world begins with.
pub(crate) const NODE: &str = "node-1";

/// A world. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct World(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    db: tokio::sync::Mutex<TestDb>,
    store: Mutex<Store>,
    node: Mutex<Arc<Node>>,
    disk: Arc<Disk>,
    settings: Settings,
    memory: tokio::sync::Mutex<Memory>,
    pub(crate) clock: Clock,
    pub(crate) profile: ProfileId,
    pub(crate) workspace: WorkspaceView,
    pub(crate) workflow: WorkflowView,
    pub(crate) steps: Vec<Step>,
}

impl std::ops::Deref for World {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl World {
    pub(crate) async fn new(db: TestDb) -> Self {
        Self::with(db, Settings::default()).await
    }

    pub(crate) async fn with(db: TestDb, settings: Settings) -> Self {
        let clock = Clock::stepped(Timestamp::from_millis(1_790_000_000_000));
        let store = db.store.clone();
        let board = Board::new(store.clone(), clock.clone(), settings.clone());
        let workspace = board.ensure_workspace().await.unwrap();
        let workflow = board
            .workflow_list(&Actor::Operator, workspace.id)
            .await
            .unwrap()
            .remove(0);
        let agent = CreateAgent {
            name: "Puppet".to_owned(),
            command: "puppet".to_owned(),
            ..CreateAgent::default()
        };
        let agent = board.agent_create(&Actor::Operator, agent).await.unwrap();
        board.recover(NODE).await.unwrap();
        let disk = Arc::new(Disk::default());
        Self(Arc::new(Inner {
            db: tokio::sync::Mutex::new(db),
            store: Mutex::new(store),
            node: Mutex::new(Arc::new(Node::new(NODE, board, disk.clone()))),
            disk,
            settings,
            memory: tokio::sync::Mutex::default(),
            clock,
            profile: agent.profiles[0].id,
            workspace,
            steps: workflow.steps.clone(),
            workflow,
        }))
    }

    pub(crate) fn board(&self) -> Board {
        self.node().board.clone()
    }

    pub(crate) fn node(&self) -> Arc<Node> {
        self.node.lock().unwrap().clone()
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    pub(crate) fn store(&self) -> Store {
        self.store.lock().unwrap().clone()
    }

    /// Works off what is due until nothing is, and checks what must always hold.
    pub(crate) async fn run(&self) {
        self.node().run().await;
        self.check().await;
    }

    /// Checks what must hold at every moment.
    pub(crate) async fn check(&self) {
        let mut memory = self.memory.lock().await;
        checks::check(&self.store(), &self.disk.heard(), &mut memory).await;
    }

    /// Checks it without relying on what was read before.
    pub(crate) async fn check_all(&self) {
        self.memory.lock().await.forget();
        self.check().await;
    }

    /// What the last check found.
    pub(crate) async fn memory(&self) -> tokio::sync::MutexGuard<'_, Memory> {
        self.memory.lock().await
    }

    /// The power goes and comes back: agents and memory are lost, the database is opened again, the node recovers.
    pub(crate) async fn restart(&self) -> board::Recovered {
        let mut db = self.db.lock().await;
        db.reopen().await;
        let board = Board::new(db.store.clone(), self.clock.clone(), self.settings.clone());
        *self.store.lock().unwrap() = db.store.clone();
        *self.node.lock().unwrap() = Arc::new(Node::new(NODE, board.clone(), self.disk.clone()));
        let recovered = board.recover(NODE).await.unwrap();
        self.check().await;
        recovered
    }

    /// Another process on the same database, with agents of its own that read the same disk.
    pub(crate) async fn second_node(&self, name: &'static str) -> Node {
        let store = self.db.lock().await.open_again().await;
        let board = Board::new(store, self.clock.clone(), self.settings.clone());
        board.recover(name).await.unwrap();
        Node::new(name, board, self.disk.clone())
    }

    /// Reads in a snapshot of its own.
    pub(crate) async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut Snapshot) -> store::Result<T>,
    ) -> T {
        let mut db = self.store().read().await.unwrap();
        work(&mut db).await.unwrap()
    }

    /// Executes a statement that no operation makes: to build workflows that have no tool yet.
    pub(crate) async fn execute(&self, sql: &str) {
        let mut tx = self.store().write().await.unwrap();
        tx.execute_raw(sql).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Number of rows that a condition holds for.
    pub(crate) async fn count(&self, rows: &str) -> i64 {
        let sql = format!("select count(*) from {rows}");
        let found = self.read(async |db| db.fetch_raw(&sql).await).await;
        found[0][0].as_deref().unwrap().parse().unwrap()
    }

    pub(crate) async fn question(&self, id: QuestionId) -> ParentQuestion {
        let found = self
            .read(async |db| store::questions::find(db, id).await)
            .await;
        found.expect("the question is there")
    }

    pub(crate) async fn question_status(&self, id: QuestionId) -> QuestionStatus {
        self.question(id).await.status
    }

    /// Makes a task as the operator does.
    pub(crate) async fn create(&self, params: CreateTask) -> Result<domain::view::TaskCreated> {
        self.board().task_create(&Actor::Operator, params).await
    }

    /// Makes and starts a task; its agent is in its first turn.
    pub(crate) async fn start(&self, params: CreateTask) -> Puppet {
        let created = self.create(params).await.unwrap();
        let puppet = self.puppet(created.task.id, created.session_id.unwrap());
        self.run().await;
        puppet
    }

    pub(crate) fn puppet(&self, task: TaskId, session: SessionId) -> Puppet {
        Puppet {
            world: self.clone(),
            task,
            session,
        }
    }

    /// The agent of a task's primary session.
    pub(crate) async fn primary(&self, task: TaskId) -> Puppet {
        let card = self.board().task_get(&Actor::Operator, task).await.unwrap();
        self.puppet(task, card.primary_session_id.unwrap())
    }

    /// A normal task whose agent is in its first turn.
    pub(crate) async fn working(&self, title: &str) -> Puppet {
        self.start(prompted(title)).await
    }

    /// A normal task whose agent has ended its first turn.
    pub(crate) async fn resting(&self, title: &str) -> Puppet {
        let puppet = self.working(title).await;
        puppet.end_turn().await;
        self.run().await;
        puppet
    }

    /// A subtask in autopilot mode, made by its parent's agent, in its first turn.
    pub(crate) async fn child(&self, parent: &Puppet, title: &str) -> Puppet {
        let params = CreateTask {
            autopilot: true,
            ..prompted(title)
        };
        let created = parent.create(params).await.unwrap();
        self.run().await;
        self.puppet(created.task.id, created.session_id.unwrap())
    }

    /// A parent that rests, and its autopilot child in its first turn.
    pub(crate) async fn family(&self) -> (Puppet, Puppet) {
        let parent = self.working("Parent").await;
        let child = self.child(&parent, "Child").await;
        parent.end_turn().await;
        self.run().await;
        (parent, child)
    }

    /// A parent that was given its autopilot child's question and has ended that turn, and the child that waits for it.
    pub(crate) async fn waiting_family(&self) -> (Puppet, Puppet, QuestionId) {
        let (parent, child) = self.family().await;
        let question = child.ask_and_wait("Which store?").await;
        self.run().await;
        parent.end_turn().await;
        self.run().await;
        (parent, child, question)
    }

    /// A second profile of the world's agent.
    pub(crate) async fn another_profile(&self) -> ProfileId {
        let agents = self.board().agent_list(&Actor::Operator).await.unwrap();
        let params = CreateProfile {
            agent_id: agents[0].id,
            name: "Other".to_owned(),
            model: None,
            mode: None,
            passthrough: false,
            auto_approve: false,
        };
        let board = self.board();
        board
            .profile_create(&Actor::Operator, params)
            .await
            .unwrap()
            .id
    }

    /// The id of the Kanban step of this name.
    pub(crate) fn step(&self, name: &str) -> StepId {
        self.steps.iter().find(|s| s.name == name).unwrap().id
    }

    /// The operator moves a card to the step of this name, and what follows from that is done.
    pub(crate) async fn to(&self, task: TaskId, step: &str) {
        self.board()
            .task_move(&Actor::Operator, task, &MoveTask::to(self.step(step)))
            .await
            .unwrap();
        self.run().await;
    }

    /// No agent was sent the same prompt twice.
    pub(crate) fn assert_heard_once(&self) {
        let mut seen = HashSet::new();
        for heard in self.disk.heard() {
            assert!(
                seen.insert(heard.prompt),
                "\"{}\" was heard twice",
                heard.text
            );
        }
    }
}

/// What is to happen soon; a test that would wait for ever has failed.
pub(crate) fn soon<T>(what: impl Future<Output = T>) -> impl Future<Output = T> {
    // On the heap: whole operations of the board are large to hand around.
    let what = Box::pin(what);
    async move {
        tokio::time::timeout(Duration::from_secs(20), what)
            .await
            .expect("it happens within the deadline")
    }
}

/// A task with a title and a first prompt.
pub(crate) fn prompted(title: &str) -> CreateTask {
    CreateTask {
        title: title.to_owned(),
        description: format!("Begin with {title}."),
        ..CreateTask::default()
    }
}

/// The refusal of an operation that must have been refused with this code.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T>, code: ErrorCode) -> Refusal {
    match outcome {
        Err(BoardError::Refused(refusal)) if refusal.code == code => refusal,
        other => panic!("expected a refusal with {code}, got {other:?}"),
    }
}
