//! What must hold at every moment, whatever happened before: checked after each [`crate::world::World::run`] and after each
//! step of the model test.

use crate::node::Heard;
use domain::clarification::{Standing, standing};
use domain::ids::{SessionId, TaskId};
use domain::message::{Message, MessageType};
use domain::question::QuestionStatus;
use domain::queue::{self, Gate, QueuedState};
use domain::session::{Session, SessionState};
use domain::task::{PendingAction, Task, TaskState};
use domain::turn::{Turn, TurnState};
use serde_json::{Value, json};
use std::collections::HashSet;
use store::messages::Window;
use store::{Snapshot, Store};

/// Everything of one session, read at one moment.
struct State {
    session: Session,
    task: Task,
    rows: Vec<queue::QueuedPrompt>,
    turn: Option<Turn>,
    question: Option<domain::question::ParentQuestion>,
    bundles: Vec<domain::clarification::Clarification>,
    permissions: usize,
    messages: Vec<Message>,
}

/// Checks everything. `emptied` remembers, from one check to the next, the tasks that were ever archived: their queues were
/// emptied, accepted answers included.
pub(crate) async fn check(store: &Store, heard: &[Heard], emptied: &mut HashSet<TaskId>) {
    let mut db = store.read().await.unwrap();
    let mut sessions = Vec::new();
    for id in ids::<SessionId>(&mut db, "select id from sessions order by id").await {
        sessions.push(state(&mut db, id).await);
    }
    for state in &sessions {
        check_session(&mut db, state).await;
    }
    let archived = sessions.iter().filter(|s| s.task.archived_at.is_some());
    emptied.extend(archived.map(|s| s.task.id));
    check_questions(&mut db, &sessions, emptied).await;
    check_tasks(&mut db, &sessions).await;
    check_heard(&sessions, heard);
}

async fn state(db: &mut Snapshot, id: SessionId) -> State {
    let session = store::sessions::find(db, id).await.unwrap().unwrap();
    State {
        task: store::tasks::find(db, session.task_id)
            .await
            .unwrap()
            .unwrap(),
        rows: store::queue::list(db, id).await.unwrap(),
        turn: store::turns::open(db, id).await.unwrap(),
        question: store::questions::pending_of_session(db, id).await.unwrap(),
        bundles: store::clarifications::open_of_session(db, id)
            .await
            .unwrap(),
        permissions: store::permissions::pending_of_session(db, id)
            .await
            .unwrap()
            .len(),
        messages: store::messages::page(db, id, Window::Newest, &[], 10_000)
            .await
            .unwrap()
            .0,
        session,
    }
}

async fn check_session(db: &mut Snapshot, state: &State) {
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
        assert_eq!(state.permissions, 0, "a {what} session asks for permission");
        let tokens = format!("mcp_sessions where session_id = '{id}' and revoked_at is null");
        assert_eq!(count(db, &tokens).await, 0, "a {what} session has a token");
    }

    // An open bundle is one that counts; the rule and the rows never differ.
    let current = store::turns::current(db, id).await.unwrap();
    for bundle in &state.bundles {
        assert_ne!(
            standing(bundle, current, what),
            Standing::Over,
            "session {id} keeps a bundle that is history"
        );
    }

    // No wake-up is lost: what can be delivered, or is being started, has a follow-up that will see to it.
    let gate = gate(state);
    let promised = format!("effects where session_id = '{id}' and kind = 'dispatch'");
    let deliverable =
        queue::next(&state.rows, gate).is_ok_and(|row| row.state == QueuedState::Queued);
    if deliverable {
        assert!(
            count(db, &promised).await > 0,
            "session {id} has a prompt that nobody will deliver"
        );
    }
    if what == SessionState::Starting && turn.is_none() && session.holder.is_none() {
        assert!(
            count(db, &promised).await > 0,
            "session {id} is STARTING and nobody starts it"
        );
    }

    // Who looks at the session sees that it waits, exactly as long as it does.
    let views = store::views::sessions(db, session.task_id).await.unwrap();
    let view = views.iter().find(|v| v.id == id).unwrap();
    let expected = if state.permissions > 0 {
        Some(PendingAction::Permission)
    } else if state.question.is_some() || !state.bundles.is_empty() {
        Some(PendingAction::Clarification)
    } else {
        None
    };
    assert_eq!(view.pending_action, expected);

    // A message asks for input exactly as long as what it shows is pending.
    let mut pending: Vec<Value> = state.bundles.iter().map(|b| json!(b.id)).collect();
    pending.extend(state.question.iter().map(|q| json!(q.id)));
    for request in store::permissions::pending_of_session(db, id)
        .await
        .unwrap()
    {
        pending.push(json!(request.id));
    }
    for message in &state.messages {
        let subject = message.metadata.get("pending_id");
        let open = subject.is_some_and(|id| pending.contains(id));
        assert_eq!(
            message.requests_input, open,
            "message {:?} of session {id}",
            message.metadata
        );
        if let Some(status) = message.metadata.get("status")
            && subject.is_some()
        {
            assert_eq!(*status == json!("pending"), open, "{:?}", message.metadata);
        }
    }
}

async fn check_questions(db: &mut Snapshot, sessions: &[State], emptied: &HashSet<TaskId>) {
    let all =
        ids::<domain::ids::QuestionId>(db, "select id from parent_questions order by id").await;
    for id in all {
        let question = store::questions::find(db, id).await.unwrap().unwrap();
        let child = sessions
            .iter()
            .find(|s| s.session.id == question.child_session_id)
            .unwrap();
        let row = sessions
            .iter()
            .flat_map(|s| &s.rows)
            .find(|row| row.question_id == Some(id));
        let told = sessions.iter().flat_map(|s| &s.messages).any(|message| {
            message.author_type == domain::message::AuthorType::User
                && message.metadata.get("parent_question") == Some(&json!(true))
                && message.metadata.get("parent_question_id") == Some(&json!(id))
        });

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
            let delivered: HashSet<&Value> = child
                .messages
                .iter()
                .filter(|message| {
                    message.metadata.contains_key("parent_question_response")
                        && message.message_type == MessageType::Message
                        && message.metadata.get("parent_question_id") == Some(&json!(id))
                })
                .filter_map(|message| message.metadata.get("prompt_id"))
                .collect();
            if !emptied.contains(&child.task.id) {
                assert!(waits + delivered.len() >= 1, "an accepted answer is lost");
            }
            assert!(
                waits <= 1 && delivered.len() <= 1,
                "two answers to one question"
            );
        }
    }
}

async fn check_tasks(db: &mut Snapshot, sessions: &[State]) {
    for id in ids::<TaskId>(db, "select id from tasks order by id").await {
        let task = store::tasks::find(db, id).await.unwrap().unwrap();
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
        // A move waits only as long as a turn, or a question that the mover cannot decide.
        if let Some(pending) = store::moves::pending_of_task(db, id).await.unwrap() {
            let session = own.iter().find(|s| s.session.id == pending.session_id);
            let waits = session.is_some_and(|s| {
                s.session.state.is_busy() || s.turn.is_some() || s.question.is_some()
            });
            assert!(waits, "a move of task {id} waits for nothing");
            assert!(task.archived_at.is_none(), "a move of an archived task");
        }
        // A card does not claim work that nobody does.
        if matches!(task.state, TaskState::Scheduling | TaskState::InProgress) {
            let busy = own
                .iter()
                .any(|s| s.session.state.is_busy() || s.turn.is_some());
            let mut promised = false;
            for state in &own {
                let effects = format!("effects where session_id = '{}'", state.session.id);
                promised |= count(db, &effects).await > 0;
            }
            assert!(
                busy || promised,
                "task {id} is {} and nothing is under way",
                task.state
            );
        }
    }
}

fn check_heard(sessions: &[State], heard: &[Heard]) {
    // A prompt that an agent got has its message in the transcript, exactly once, hidden context apart.
    for heard in heard {
        let Some(state) = sessions.iter().find(|s| s.session.id == heard.session) else {
            continue;
        };
        let told = state
            .messages
            .iter()
            .filter(|m| m.metadata.get("prompt_id") == Some(&json!(heard.prompt)))
            .count();
        assert!(told >= 1, "\"{}\" is not in the transcript", heard.text);
    }
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

async fn count(db: &mut Snapshot, rows: &str) -> i64 {
    let found = db
        .fetch_raw(&format!("select count(*) from {rows}"))
        .await
        .unwrap();
    found[0][0].as_deref().unwrap().parse().unwrap()
}

async fn ids<T: std::str::FromStr<Err: std::fmt::Debug>>(db: &mut Snapshot, sql: &str) -> Vec<T> {
    let rows = db.fetch_raw(sql).await.unwrap();
    rows.iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect()
}
