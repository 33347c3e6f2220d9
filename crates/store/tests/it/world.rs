//! The smallest world a row can live in, and short ways to write and read.

use domain::agent::{Agent, AgentProfile};
use domain::clarification::{Clarification, ClarificationStatus};
use domain::ids::{
    AgentId, ClarificationId, MessageId, PermissionId, ProfileId, PromptId, QuestionId, SessionId,
    TaskId, TurnId, WorkflowId, WorkspaceId,
};
use domain::message::{AuthorType, Message, MessageType};
use domain::permission::{Permission, PermissionOption, PermissionStatus};
use domain::question::{ParentQuestion, Question, QuestionOption, QuestionStatus};
use domain::queue::{Lane, QueuedBy, QueuedPrompt, QueuedState};
use domain::receipt::Receipt;
use domain::session::{FreshStart, Session, SessionState};
use domain::task::{Origin, Purpose, Task, TaskState, TitleMode};
use domain::time::Timestamp;
use domain::turn::{Turn, TurnState};
use domain::view::{DeliveryStatus, WorkspaceView};
use domain::workflow::{Step, Workflow, kanban_steps};
use serde_json::Map;
use std::collections::BTreeMap;
use store::testing::TestDb;
use store::{Result, Snapshot, Store, StoreError, Tx};

/// Text that loses something in an encoding that is not UTF-8, or in a comparison that folds.
pub(crate) const UNICODE: &str = "Ünïcødé 🛫👩‍👩‍👧 'quoted' \"twice\" \\ $1 % \u{202e}\n\ttab";

/// The instant `millis` after a fixed one, far from zero and beyond 32 bits.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000).plus_millis(millis)
}

/// Does one thing in a transaction of its own.
pub(crate) async fn write<T>(
    store: &Store,
    work: impl AsyncFnOnce(&mut Tx) -> Result<T>,
) -> Result<T> {
    let mut tx = store.write().await?;
    let value = work(&mut tx).await?;
    tx.commit().await?;
    Ok(value)
}

/// Reads in a snapshot of its own.
pub(crate) async fn read<T>(
    store: &Store,
    work: impl AsyncFnOnce(&mut Snapshot) -> Result<T>,
) -> T {
    work(&mut store.read().await.unwrap()).await.unwrap()
}

/// Executes a statement that the crate does not have.
pub(crate) async fn execute(store: &Store, sql: &str) -> Result<u64> {
    write(store, async |tx| tx.execute_raw(sql).await).await
}

/// Rows of a query, absent values as `-`.
pub(crate) async fn rows(store: &Store, sql: &str) -> Vec<Vec<String>> {
    let rows = read(store, async |db| db.fetch_raw(sql).await).await;
    rows.into_iter()
        .map(|row| {
            row.into_iter()
                .map(|cell| cell.unwrap_or_else(|| "-".to_owned()))
                .collect()
        })
        .collect()
}

/// Number of rows of a table.
pub(crate) async fn count(store: &Store, table: &str) -> i64 {
    let rows = read(store, async |db| {
        db.fetch_raw(&format!("select count(*) from {table}")).await
    })
    .await;
    rows[0][0].as_deref().unwrap().parse().unwrap()
}

#[track_caller]
pub(crate) fn assert_unique<T: std::fmt::Debug>(outcome: Result<T>) {
    match outcome {
        Err(StoreError::Unique(_)) => {}
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_invariant<T: std::fmt::Debug>(outcome: Result<T>) {
    match outcome {
        Err(StoreError::Invariant(_)) => {}
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// A workspace with the Kanban workflow, and an agent with a profile.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceView,
    pub(crate) workflow: Workflow,
    pub(crate) steps: Vec<Step>,
    pub(crate) agent: Agent,
    pub(crate) profile: AgentProfile,
}

impl World {
    pub(crate) async fn new(db: &TestDb) -> Self {
        Self::beside(db, "Demo").await
    }

    /// A second world in the same database; agents have unique names.
    pub(crate) async fn beside(db: &TestDb, agent_name: &str) -> Self {
        let workspace = workspace("Home");
        let workflow = workflow(workspace.id, "Kanban");
        let steps = kanban_steps(workflow.id);
        let agent = agent(agent_name);
        let profile = profile(agent.id, "default");
        write(&db.store, async |tx| {
            store::workspaces::insert(tx, &workspace).await?;
            store::agents::insert(tx, &agent).await?;
            store::agents::insert_profile(tx, &profile).await?;
            store::workflows::insert(tx, &workflow).await?;
            for step in &steps {
                store::workflows::insert_step(tx, step).await?;
            }
            Ok(())
        })
        .await
        .unwrap();
        Self {
            store: db.store.clone(),
            workspace,
            workflow,
            steps,
            agent,
            profile,
        }
    }

    /// A task in the first step, with everything absent that may be. Not stored yet.
    pub(crate) fn task(&self) -> Task {
        Task {
            id: TaskId::new(),
            workspace_id: self.workspace.id,
            workflow_id: self.workflow.id,
            workflow_step_id: self.steps[0].id,
            title: "A task".to_owned(),
            description: String::new(),
            state: TaskState::Created,
            priority: None,
            position: 0,
            wip_admitted: true,
            queued_for_step_id: None,
            queued_at: None,
            parent_id: None,
            autopilot: false,
            purpose: Purpose::Work,
            origin: Origin::Manual,
            external_id: None,
            title_mode: TitleMode::Settled,
            title_owner_session_id: None,
            agent_profile_id: None,
            executor_profile_id: None,
            working_directory: None,
            interrupted_at: None,
            archived_at: None,
            created_at: at(0),
            updated_at: at(0),
            version: 0,
        }
    }

    /// A session of the task, neither primary nor started. Not stored yet.
    pub(crate) fn session(&self, task: &Task) -> Session {
        Session {
            id: SessionId::new(),
            task_id: task.id,
            name: None,
            made_for: None,
            state: SessionState::Created,
            is_primary: false,
            is_passthrough: false,
            agent_profile_id: self.profile.id,
            executor_profile_id: None,
            provider_session_id: None,
            workspace_path: None,
            error_message: None,
            generation: 0,
            auto_run: true,
            plan_mode: false,
            session_mode: None,
            session_model: None,
            fresh_start: FreshStart::None,
            holder: None,
            lease_until: None,
            started_at: None,
            completed_at: None,
            created_at: at(0),
            updated_at: at(0),
            version: 0,
        }
    }

    pub(crate) async fn add_task(&self) -> Task {
        self.put_task(self.task()).await
    }

    pub(crate) async fn put_task(&self, task: Task) -> Task {
        write(&self.store, async |tx| {
            store::tasks::insert(tx, &task).await
        })
        .await
        .unwrap();
        task
    }

    pub(crate) async fn add_child(&self, parent: &Task) -> Task {
        self.put_task(Task {
            parent_id: Some(parent.id),
            ..self.task()
        })
        .await
    }

    pub(crate) async fn add_session(&self, task: &Task) -> Session {
        self.put_session(self.session(task)).await
    }

    pub(crate) async fn put_session(&self, session: Session) -> Session {
        write(&self.store, async |tx| {
            store::sessions::insert(tx, &session).await
        })
        .await
        .unwrap();
        session
    }

    /// A task with one session.
    pub(crate) async fn add_conversation(&self) -> (Task, Session) {
        let task = self.add_task().await;
        let session = self.add_session(&task).await;
        (task, session)
    }

    pub(crate) async fn put_turn(&self, turn: Turn) -> Turn {
        write(&self.store, async |tx| {
            store::turns::insert(tx, &turn).await
        })
        .await
        .unwrap();
        turn
    }

    pub(crate) async fn put_prompt(&self, prompt: QueuedPrompt) -> QueuedPrompt {
        write(&self.store, async |tx| {
            store::queue::insert(tx, &prompt).await
        })
        .await
        .unwrap();
        prompt
    }

    pub(crate) async fn put_question(&self, question: ParentQuestion) -> ParentQuestion {
        write(&self.store, async |tx| {
            store::questions::insert(tx, &question).await
        })
        .await
        .unwrap();
        question
    }

    pub(crate) async fn put_bundle(&self, bundle: Clarification) -> Clarification {
        write(&self.store, async |tx| {
            store::clarifications::insert(tx, &bundle).await
        })
        .await
        .unwrap();
        bundle
    }

    pub(crate) async fn put_permission(&self, permission: Permission) -> Permission {
        write(&self.store, async |tx| {
            store::permissions::insert(tx, &permission).await
        })
        .await
        .unwrap();
        permission
    }

    /// Adds a message and gives it with its place.
    pub(crate) async fn put_message(&self, mut message: Message) -> Message {
        message.seq = write(&self.store, async |tx| {
            store::messages::append(tx, &message).await
        })
        .await
        .unwrap();
        message
    }
}

pub(crate) fn workspace(name: &str) -> WorkspaceView {
    WorkspaceView {
        id: WorkspaceId::new(),
        name: name.to_owned(),
        description: String::new(),
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn workflow(workspace: WorkspaceId, name: &str) -> Workflow {
    Workflow {
        id: WorkflowId::new(),
        workspace_id: workspace,
        name: name.to_owned(),
        description: String::new(),
        prompt: String::new(),
        agent_profile_id: None,
        sort_order: 0,
        hidden: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn agent(name: &str) -> Agent {
    Agent {
        id: AgentId::new(),
        name: name.to_owned(),
        command: "agent".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        supports_mcp: None,
        supports_mcp_override: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn profile(agent: AgentId, name: &str) -> AgentProfile {
    AgentProfile {
        id: ProfileId::new(),
        agent_id: agent,
        name: name.to_owned(),
        model: None,
        mode: None,
        passthrough: false,
        auto_approve: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// An open turn of the session.
pub(crate) fn turn(session: &Session) -> Turn {
    Turn {
        id: TurnId::new(),
        session_id: session.id,
        task_id: session.task_id,
        state: TurnState::Open,
        prompt_id: PromptId::new(),
        generation: 1,
        step_id_at_start: None,
        stop_reason: None,
        stored_bytes: 0,
        started_at: at(0),
        completed_at: None,
    }
}

/// A plain message of the agent.
pub(crate) fn message(session: &Session, content: &str) -> Message {
    Message {
        id: MessageId::new(),
        session_id: session.id,
        task_id: session.task_id,
        turn_id: None,
        seq: 0,
        author_type: AuthorType::Agent,
        author_id: None,
        content: content.to_owned(),
        hidden_context: None,
        message_type: MessageType::Message,
        metadata: Map::new(),
        requests_input: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A waiting prompt of a person.
pub(crate) fn prompt(session: &Session, lane: Lane) -> QueuedPrompt {
    QueuedPrompt {
        id: PromptId::new(),
        session_id: session.id,
        task_id: session.task_id,
        position: 0,
        lane,
        content: "Go on".to_owned(),
        hidden_context: None,
        metadata: Map::new(),
        queued_by: QueuedBy::User,
        sender_task_id: None,
        sender_session_id: None,
        question_id: None,
        answer_for_question_id: None,
        dedupe_key: None,
        pinned: true,
        state: QueuedState::Queued,
        turn_id: None,
        attempts: 0,
        queued_at: at(0),
    }
}

/// A message of the session to somebody.
pub(crate) fn receipt(sender: &Session, sent_at: i64) -> Receipt {
    Receipt {
        sender_task_id: sender.task_id,
        sender_session_id: sender.id,
        target_task_id: TaskId::new(),
        target_session_id: SessionId::new(),
        prompt_id: PromptId::new(),
        pair: "a b".to_owned(),
        hops: 1,
        key: None,
        status: DeliveryStatus::Queued,
        merged: false,
        sent_at: at(sent_at),
    }
}

pub(crate) fn asked() -> Vec<Question> {
    vec![
        Question {
            id: "q1".to_owned(),
            title: None,
            prompt: "Which one?".to_owned(),
            options: Vec::new(),
            allow_custom_text: true,
        },
        Question {
            id: "q2".to_owned(),
            title: Some(UNICODE.to_owned()),
            prompt: UNICODE.to_owned(),
            options: vec![QuestionOption {
                id: "q2_opt1".to_owned(),
                label: UNICODE.to_owned(),
                description: String::new(),
            }],
            allow_custom_text: false,
        },
    ]
}

/// A pending question of the session to the task `parent`.
pub(crate) fn question(session: &Session, parent: TaskId) -> ParentQuestion {
    let id = QuestionId::new();
    ParentQuestion {
        id,
        child_task_id: session.task_id,
        child_session_id: session.id,
        child_turn_id: None,
        parent_task_id: parent,
        tool_call_key: id.to_string(),
        questions: asked(),
        context: None,
        blocked_effect: None,
        status: QuestionStatus::Pending,
        message_id: MessageId::new(),
        prompt_id: None,
        delivered_at: None,
        response: None,
        answered_by_session_id: None,
        created_at: at(0),
        resolved_at: None,
    }
}

/// A pending bundle of the session to the operator.
pub(crate) fn bundle(session: &Session, key: &str) -> Clarification {
    Clarification {
        id: ClarificationId::new(),
        task_id: session.task_id,
        session_id: session.id,
        turn_id: None,
        request_key: key.to_owned(),
        questions: asked(),
        context: None,
        status: ClarificationStatus::Pending,
        agent_disconnected: false,
        response: None,
        claim: None,
        created_at: at(0),
        resolved_at: None,
    }
}

/// A pending request of the session.
pub(crate) fn permission(session: &Session) -> Permission {
    Permission {
        id: PermissionId::new(),
        task_id: session.task_id,
        session_id: session.id,
        turn_id: None,
        request_id: "7".to_owned(),
        tool_call: serde_json::json!({"kind": "execute", "title": UNICODE}),
        options: vec![PermissionOption {
            option_id: "allow".to_owned(),
            name: UNICODE.to_owned(),
            kind: "allow_once".to_owned(),
        }],
        status: PermissionStatus::Pending,
        option_id: None,
        created_at: at(0),
        resolved_at: None,
    }
}
