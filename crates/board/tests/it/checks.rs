//! What must hold at every moment, whatever happened before: checked after each [`crate::world::World::run`] and after each
//! step of the model test.

use crate::node::Heard;
use domain::clarification::{Clarification, Standing, standing};
use domain::ids::{PermissionId, PromptId, QuestionId, SessionId, TaskId, TurnId};
use domain::message::{AuthorType, Message, MessageType};
use domain::question::{ParentQuestion, QuestionStatus};
use domain::queue::{self, Gate, Lane, QueuedPrompt, QueuedState};
use domain::session::{Session, SessionState};
use domain::task::{PendingAction, Task, TaskState};
use domain::turn::{Turn, TurnState};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use store::messages::Window;
use store::{Snapshot, Store};

/// What is known from one check to the next.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Tasks that were ever archived: their queues were emptied, accepted answers included.
    emptied: HashSet<TaskId>,
    /// Transcripts as of the session's last event: what a page shows changes with an event, so nothing else is read again.
    transcripts: HashMap<SessionId, (i64, Transcript)>,
    /// Questions that are over, which they are for good.
    over: HashMap<QuestionId, ParentQuestion>,
    /// Of what agents heard, so much was found in the transcripts.
    heard: usize,
    /// What waits, by session in the order of delivery.
    pub(crate) queues: HashMap<SessionId, Vec<QueuedPrompt>>,
}

impl Memory {
    /// The next check reads everything.
    pub(crate) fn forget(&mut self) {
        self.transcripts.clear();
        self.over.clear();
        self.heard = 0;
    }

    /// Whether a prompt stands in a transcript.
    pub(crate) fn was_told(&self, prompt: PromptId) -> bool {
        let mut transcripts = self.transcripts.values();
        transcripts.any(|(_, transcript)| transcript.prompts.contains(&prompt.to_string()))
    }
}

/// What of a transcript is looked for.
#[derive(Debug, Default)]
struct Transcript {
    /// Messages about something that is asked: what, whether they ask for input, and the status they show.
    asks: Vec<(Value, bool, Option<Value>)>,
    /// Questions that were put to this session.
    questions: HashSet<String>,
    /// Answers that this session was given: by question, the prompts that brought them.
    answers: HashMap<String, HashSet<String>>,
    /// Prompts that it was given.
    prompts: HashSet<String>,
}

impl Transcript {
    fn of(messages: &[Message]) -> Self {
        let mut transcript = Self::default();
        for message in messages {
            let word = |key: &str| message.metadata.get(key)?.as_str().map(str::to_owned);
            let subject = message.metadata.get("pending_id");
            if subject.is_some() || message.requests_input {
                transcript.asks.push((
                    subject.cloned().unwrap_or_default(),
                    message.requests_input,
                    message.metadata.get("status").cloned(),
                ));
            }
            let by_user = message.author_type == AuthorType::User;
            if by_user && message.metadata.get("parent_question") == Some(&json!(true)) {
                transcript.questions.extend(word("parent_question_id"));
            }
            if message.metadata.contains_key("parent_question_response")
                && message.message_type == MessageType::Message
                && let (Some(question), Some(prompt)) =
                    (word("parent_question_id"), word("prompt_id"))
            {
                transcript
                    .answers
                    .entry(question)
                    .or_default()
                    .insert(prompt);
            }
            transcript.prompts.extend(word("prompt_id"));
        }
        transcript
    }
}

/// Everything of one session but its transcript, read at one moment.
struct State {
    session: Session,
    task: Task,
    rows: Vec<QueuedPrompt>,
    turn: Option<Turn>,
    current: Option<TurnId>,
    question: Option<ParentQuestion>,
    bundles: Vec<Clarification>,
    permissions: Vec<PermissionId>,
    pending_action: Option<PendingAction>,
}

/// Rows of which it only counts whose they are.
struct Small {
    effects: HashMap<String, Vec<String>>,
    tokens: HashSet<String>,
    moves: HashMap<String, String>,
    events: HashMap<String, i64>,
}

/// Checks everything.
pub(crate) async fn check(store: &Store, heard: &[Heard], memory: &mut Memory) {
    let mut db = store.read().await.unwrap();
    let small = small(&mut db).await;
    let mut tasks = Vec::new();
    let mut sessions = Vec::new();
    for id in ids::<TaskId>(&mut db, "select id from tasks order by id").await {
        let task = store::tasks::find(&mut db, id).await.unwrap().unwrap();
        sessions.extend(states(&mut db, &task).await);
        tasks.push(task);
    }
    for state in &sessions {
        let id = state.session.id;
        let last = small.events.get(&id.to_string()).copied().unwrap_or(0);
        if memory
            .transcripts
            .get(&id)
            .is_none_or(|(read, _)| *read != last)
        {
            let page = store::messages::page(&mut db, id, Window::Newest, &[], 100_000);
            let transcript = Transcript::of(&page.await.unwrap().0);
            memory.transcripts.insert(id, (last, transcript));
        }
        check_session(state, &small, &memory.transcripts[&id].1);
    }
    memory
        .transcripts
        .retain(|id, _| sessions.iter().any(|s| s.session.id == *id));
    let archived = sessions.iter().filter(|s| s.task.archived_at.is_some());
    memory.emptied.extend(archived.map(|s| s.task.id));
    check_questions(&mut db, &sessions, memory).await;
    for task in &tasks {
        check_task(task, &sessions, &small);
    }
    check_heard(heard, memory);
    memory.queues = sessions
        .into_iter()
        .map(|s| (s.session.id, s.rows))
        .collect();
}

async fn small(db: &mut Snapshot) -> Small {
    let mut pairs = async |sql: &str| -> Vec<(String, String)> {
        let rows = db.fetch_raw(sql).await.unwrap();
        let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
        rows.iter()
            .map(|row| (text(&row[0]), text(&row[1])))
            .collect()
    };
    let mut effects: HashMap<String, Vec<String>> = HashMap::new();
    for (session, kind) in pairs("select session_id, kind from effects").await {
        effects.entry(session).or_default().push(kind);
    }
    let tokens =
        pairs("select session_id, session_id from mcp_sessions where revoked_at is null").await;
    let moves = pairs("select task_id, session_id from pending_moves").await;
    let events = pairs(
        "select session_id, max(id) from events where session_id is not null group by session_id",
    )
    .await;
    Small {
        effects,
        tokens: tokens.into_iter().map(|(session, _)| session).collect(),
        moves: moves.into_iter().collect(),
        events: events
            .into_iter()
            .map(|(session, id)| (session, id.parse().unwrap()))
            .collect(),
    }
}

async fn states(db: &mut Snapshot, task: &Task) -> Vec<State> {
    let views = store::views::sessions(db, task.id).await.unwrap();
    let mut states = Vec::new();
    for session in store::sessions::list(db, task.id).await.unwrap() {
        let id = session.id;
        let permissions = store::permissions::pending_of_session(db, id)
            .await
            .unwrap();
        states.push(State {
            task: task.clone(),
            rows: store::queue::list(db, id).await.unwrap(),
            turn: store::turns::open(db, id).await.unwrap(),
            current: store::turns::current(db, id).await.unwrap(),
            question: store::questions::pending_of_session(db, id).await.unwrap(),
            bundles: store::clarifications::open_of_session(db, id)
                .await
                .unwrap(),
            permissions: permissions.iter().map(|request| request.id).collect(),
            pending_action: views.iter().find(|v| v.id == id).unwrap().pending_action,
            session,
        });
    }
    states
}

fn check_session(state: &State, small: &Small, transcript: &Transcript) {
    let State { session, turn, .. } = state;
    let id = session.id;
    let what = session.state;

    // An open turn belongs to a session that is at work or waits within it; a failed one may keep a turn of which nobody knows
    // yet whether the agent had the prompt.
    if let Some(turn) = turn {
        let undecided = what == SessionState::Failed && turn.state == TurnState::Dispatching;
        assert!(
            !what.is_terminal() || undecided,
            "session {id} is {what} with a turn that is {}",
            turn.state
        );
        assert_ne!(
            what,
            SessionState::Created,
            "a turn of a session that was never started"
        );
    }
    if what == SessionState::Running {
        assert!(turn.is_some(), "session {id} runs without a turn");
    }

    // A prompt is attempted exactly as long as its turn is dispatching.
    let attempted: Vec<_> = state
        .rows
        .iter()
        .filter(|row| row.state == QueuedState::Attempted)
        .collect();
    match turn {
        Some(turn) if turn.state == TurnState::Dispatching => {
            assert_eq!(attempted.len(), 1, "a dispatching turn without its prompt");
            assert_eq!(attempted[0].id, turn.prompt_id);
            assert_eq!(attempted[0].turn_id, Some(turn.id));
        }
        Some(_) | None => assert!(attempted.is_empty(), "attempted without a dispatching turn"),
    }

    // What has ended waits for nobody, and nobody calls tools as it.
    if what.is_terminal() {
        assert!(
            state.question.is_none(),
            "a {what} session waits for its parent"
        );
        assert!(
            state.bundles.is_empty(),
            "a {what} session waits for its operator"
        );
        assert!(
            state.permissions.is_empty(),
            "a {what} session asks for permission"
        );
        assert!(
            !small.tokens.contains(&id.to_string()),
            "a {what} session has a token"
        );
    }

    // An open bundle is one that counts; the rule and the rows never differ.
    for bundle in &state.bundles {
        assert_ne!(
            standing(bundle, state.current, what),
            Standing::Over,
            "session {id} keeps a bundle that is history"
        );
    }

    // No wake-up is lost: what can be delivered, or is being started, has a follow-up that will see to it.
    let gate = gate(state);
    let follow_ups = small.effects.get(&id.to_string());
    let promised = follow_ups.is_some_and(|kinds| kinds.iter().any(|kind| kind == "dispatch"));
    let deliverable =
        queue::next(&state.rows, gate).is_ok_and(|row| row.state == QueuedState::Queued);
    if deliverable {
        assert!(
            promised,
            "session {id} has a prompt that nobody will deliver"
        );
    }
    if what == SessionState::Starting && turn.is_none() && session.holder.is_none() {
        assert!(promised, "session {id} is STARTING and nobody starts it");
    }

    // Who looks at the session sees that it waits, exactly as long as it does.
    let expected = if !state.permissions.is_empty() {
        Some(PendingAction::Permission)
    } else if state.question.is_some() || !state.bundles.is_empty() {
        Some(PendingAction::Clarification)
    } else {
        None
    };
    assert_eq!(state.pending_action, expected);

    // A message asks for input exactly as long as what it shows is pending.
    let mut pending: Vec<Value> = state.bundles.iter().map(|b| json!(b.id)).collect();
    pending.extend(state.question.iter().map(|q| json!(q.id)));
    pending.extend(state.permissions.iter().map(|id| json!(id)));
    for (subject, requests_input, status) in &transcript.asks {
        let open = pending.contains(subject);
        assert_eq!(
            *requests_input, open,
            "a message about {subject} of session {id}"
        );
        if let Some(status) = status {
            assert_eq!(
                *status == json!("pending"),
                open,
                "a message about {subject}"
            );
        }
    }
}

async fn check_questions(db: &mut Snapshot, sessions: &[State], memory: &mut Memory) {
    let all = ids::<QuestionId>(db, "select id from parent_questions order by id").await;
    for id in all {
        let question = match memory.over.get(&id) {
            Some(question) => question.clone(),
            None => store::questions::find(db, id).await.unwrap().unwrap(),
        };
        if question.status != QuestionStatus::Pending {
            memory.over.insert(id, question.clone());
        }
        let child = sessions
            .iter()
            .find(|s| s.session.id == question.child_session_id)
            .unwrap();
        let row = sessions
            .iter()
            .flat_map(|s| &s.rows)
            .find(|row| row.question_id == Some(id));
        let word = id.to_string();
        let mut transcripts = memory.transcripts.values();
        let told = transcripts.any(|(_, transcript)| transcript.questions.contains(&word));

        if question.status == QuestionStatus::Pending {
            assert_eq!(question.resolved_at, None);
            assert_eq!(
                child.task.parent_id,
                Some(question.parent_task_id),
                "pending with somebody who is not the parent"
            );
            assert!(child.task.archived_at.is_none());
            let parent = store::tasks::find(db, question.parent_task_id)
                .await
                .unwrap()
                .expect("pending with a parent that is gone");
            assert!(
                parent.archived_at.is_none(),
                "pending with an archived parent"
            );
            let can_be_told = sessions
                .iter()
                .filter(|s| s.session.task_id == parent.id)
                .any(|s| !s.session.state.is_terminal());
            assert!(
                row.is_some() || told || !can_be_told,
                "a question that its parent will never hear of"
            );
            continue;
        }
        assert!(
            question.resolved_at.is_some(),
            "{} without a time",
            question.status
        );
        if let Some(row) = row {
            assert_eq!(
                row.state,
                QueuedState::Attempted,
                "a question that is {} still waits at its parent",
                question.status
            );
        }
        if question.status == QuestionStatus::Answered {
            let waits = child
                .rows
                .iter()
                .filter(|row| row.answer_for_question_id == Some(id))
                .count();
            let given = &memory.transcripts[&child.session.id].1.answers;
            let delivered = given.get(&word).map_or(0, HashSet::len);
            if !memory.emptied.contains(&child.task.id) {
                assert!(waits + delivered >= 1, "an accepted answer is lost");
            }
            assert!(waits <= 1 && delivered <= 1, "two answers to one question");
        }
    }
}

fn check_task(task: &Task, sessions: &[State], small: &Small) {
    let id = task.id;
    let own: Vec<&State> = sessions.iter().filter(|s| s.task.id == id).collect();
    let primaries = own.iter().filter(|s| s.session.is_primary).count();
    assert_eq!(
        primaries,
        usize::from(!own.is_empty()),
        "one primary session a task"
    );
    if task.archived_at.is_some() {
        assert!(
            own.iter().all(|s| s.session.state.is_terminal()),
            "an archived task works"
        );
        assert!(
            own.iter().all(|s| s.rows.is_empty()),
            "an archived task has prompts"
        );
        assert!(
            own.iter().all(|s| s.turn.is_none()),
            "an archived task has a turn"
        );
    }
    // A card without a place has no agent at work. (A second session may have been at work when the card moved.)
    if task.waits_for_place() {
        let primary = own.iter().find(|s| s.session.is_primary);
        assert!(
            primary.is_none_or(|s| !s.session.state.is_busy() && s.turn.is_none()),
            "task {id} is worked on and has no place"
        );
    }
    // A move waits only as long as a turn, a question that the mover cannot decide, or what ended that question.
    if let Some(mover) = small.moves.get(&id.to_string()) {
        let session = own.iter().find(|s| s.session.id.to_string() == *mover);
        let waits = session.is_some_and(|s| {
            s.session.state.is_busy()
                || s.turn.is_some()
                || s.question.is_some()
                || s.rows.iter().any(|row| row.lane == Lane::Express)
        });
        assert!(waits, "a move of task {id} waits for nothing");
        assert!(task.archived_at.is_none(), "a move of an archived task");
    }
    // A card does not claim work that nobody does.
    if matches!(task.state, TaskState::Scheduling | TaskState::InProgress) {
        let busy = own
            .iter()
            .any(|s| s.session.state.is_busy() || s.turn.is_some());
        let promised = own
            .iter()
            .any(|s| small.effects.contains_key(&s.session.id.to_string()));
        assert!(
            busy || promised,
            "task {id} is {} and nothing is under way",
            task.state
        );
    }
}

/// A prompt that an agent got has its message in its transcript, hidden context apart.
fn check_heard(heard: &[Heard], memory: &mut Memory) {
    for heard in &heard[memory.heard..] {
        if let Some((_, transcript)) = memory.transcripts.get(&heard.session) {
            let told = transcript.prompts.contains(&heard.prompt.to_string());
            assert!(told, "\"{}\" is not in the transcript", heard.text);
        }
    }
    memory.heard = heard.len();
}

fn gate(state: &State) -> Gate {
    Gate {
        turn_open: state.turn.is_some(),
        parent_question_pending: state.question.is_some(),
        clarification_live: state.bundles.iter().any(|b| !b.agent_disconnected),
        auto_run_off: !state.session.auto_run,
        waits_for_place: state.task.waits_for_place(),
        closed: state.session.state.is_terminal() || state.task.archived_at.is_some(),
    }
}

async fn ids<T: std::str::FromStr<Err: std::fmt::Debug>>(db: &mut Snapshot, sql: &str) -> Vec<T> {
    let rows = db.fetch_raw(sql).await.unwrap();
    rows.iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect()
}
