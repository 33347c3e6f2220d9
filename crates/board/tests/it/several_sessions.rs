//! Several sessions on one task: starting another, naming, choosing the primary one, removing (task-domain 9.3, 1.7).

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::{SessionId, TaskId};
use domain::message::MessageType;
use domain::params::{CreateProfile, CreateTask, SpawnSession, UpdateTask};
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::TaskState;
use domain::view::SpawnedSession;
use serde_json::json;

fn begin(prompt: &str) -> SpawnSession {
    SpawnSession {
        prompt: prompt.to_owned(),
        ..SpawnSession::default()
    }
}

async fn spawn(puppet: &Puppet, task: Option<TaskId>, params: SpawnSession) -> SpawnedSession {
    let board = puppet.world.board();
    board
        .session_spawn(&puppet.actor(), task, &params)
        .await
        .unwrap()
}

/// Another profile of the world's agent.
async fn profile(world: &World, name: &str) -> domain::ids::ProfileId {
    let board = world.board();
    let agents = board.agent_list(&Actor::Operator).await.unwrap();
    let params = CreateProfile {
        agent_id: agents[0].id,
        name: name.to_owned(),
        model: None,
        mode: None,
        passthrough: false,
        auto_approve: false,
    };
    board
        .profile_create(&Actor::Operator, params)
        .await
        .unwrap()
        .id
}

async fn primary(world: &World, task: TaskId) -> Option<SessionId> {
    let card = world
        .board()
        .task_get(&Actor::Operator, task)
        .await
        .unwrap();
    card.primary_session_id
}

store::on_both_engines! {
    async fn an_agent_starts_a_second_one_beside_it_and_can_be_answered(db: TestDb) {
        let world = World::new(db).await;
        let first = world.working("Task").await;
        let spawned = spawn(&first, None, SpawnSession { name: Some(" Review ".to_owned()), ..begin("Look at it.") }).await;
        assert_eq!((spawned.task_id, spawned.state), (first.task, SessionState::Created));
        assert_eq!(spawned.agent_profile_id, world.profile);
        world.run().await;
        let second = world.puppet(first.task, spawned.session_id);
        assert_eq!(second.view().await.name.as_deref(), Some("Review"));
        let heard = second.last_heard();
        assert_eq!(heard.text, "Look at it.");
        assert!(heard.hidden().contains(&first.session.to_string()), "the way to reply: {}", heard.hidden());
        let told = second.messages_of(MessageType::Message).await.remove(0);
        assert_eq!(told.metadata["sender_session_id"], json!(first.session));
        assert!(!told.metadata.contains_key("sender_task_id"), "it crossed no task");
        assert_eq!(primary(&world, first.task).await, Some(first.session), "the first stays the main one");
    }

    async fn the_first_prompt_says_which_task_it_came_from(db: TestDb) {
        let world = World::new(db).await;
        let (a, b) = (world.working("A").await, world.working("B").await);
        let spawned = spawn(&a, Some(b.task), begin("Help B.")).await;
        world.run().await;
        let second = world.puppet(b.task, spawned.session_id);
        let told = second.messages_of(MessageType::Message).await.remove(0);
        assert_eq!(told.metadata["sender_task_id"], json!(a.task));
        assert!(second.last_heard().hidden().contains(&format!("task_id {}", a.task)));
    }

    // A token of a session that is not of its task cannot be made; a forged actor gets no attribution all the same.
    async fn a_sender_that_is_not_what_it_says_is_not_named(db: TestDb) {
        let world = World::new(db).await;
        let (a, b) = (world.working("A").await, world.working("B").await);
        let forged = Actor::Agent { task: a.task, session: b.session };
        let spawned = world.board().session_spawn(&forged, None, &begin("Hello.")).await.unwrap();
        world.run().await;
        let told = world.puppet(a.task, spawned.session_id).messages_of(MessageType::Message).await.remove(0);
        assert!(!told.metadata.contains_key("sender_session_id") && !told.metadata.contains_key("sender_task_id"));
    }

    // Rulings 18: what is over takes no words of agents, whichever tool carries them.
    async fn an_agent_starts_nothing_on_a_task_that_is_over_or_waits_for_another(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, other) = (world.working("Task").await, world.resting("Other").await);
        let board = world.board();
        for state in ["failed", "cancelled"] {
            let params = UpdateTask { state: Some(state.to_owned()), ..UpdateTask::default() };
            board.task_update(&Actor::Operator, other.task, params).await.unwrap();
            let refusal = refused(board.session_spawn(&puppet.actor(), Some(other.task), &begin("Go on.")).await, ErrorCode::Conflict);
            assert!(refusal.message.contains("create_task_kandev"), "{refusal}");
        }
        let params = CreateTask { blocked_by: vec![puppet.task], ..prompted("Blocked") };
        let blocked = world.create(params).await.unwrap().task.id;
        refused(board.session_spawn(&puppet.actor(), Some(blocked), &begin("Begin.")).await, ErrorCode::Conflict);
        world.run().await;
        assert_eq!(world.count("deferred_launches").await, 1, "it still starts when it may");
        // Its operator may: that is a start by hand, and the only one.
        board.session_spawn(&Actor::Operator, Some(blocked), &begin("Begin.")).await.unwrap();
        world.run().await;
        assert_eq!(world.count("deferred_launches").await, 0);
        assert_eq!(world.primary(blocked).await.texts(), ["Begin."]);
    }

    async fn another_workspace_is_out_of_reach(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let elsewhere = world.board().workspace_create(&Actor::Operator, "Elsewhere", "").await.unwrap();
        let there = world.create(CreateTask { workspace_id: Some(elsewhere.id), ..prompted("There") }).await.unwrap();
        let board = world.board();
        refused(board.session_spawn(&puppet.actor(), Some(there.task.id), &begin("Hello.")).await, ErrorCode::Forbidden);
        refused(board.session_spawn(&puppet.actor(), Some(TaskId::new()), &begin("Hello.")).await, ErrorCode::NotFound);
        refused(board.session_spawn(&puppet.actor(), None, &begin("  ")).await, ErrorCode::Validation);
        refused(board.session_spawn(&Actor::Operator, None, &begin("Hello.")).await, ErrorCode::Validation);
        assert_eq!(world.count("sessions").await, 2);
    }

    async fn a_name_that_cannot_be_used_does_not_stop_the_work(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        for name in ["x".repeat(121), "two\nlines".to_owned(), "  ".to_owned()] {
            let spawned = spawn(&puppet, None, SpawnSession { name: Some(name), ..begin("Go.") }).await;
            assert_eq!(world.puppet(puppet.task, spawned.session_id).view().await.name, None);
        }
    }

    async fn the_profile_is_chosen_by_precedence(db: TestDb) {
        let world = World::new(db).await;
        let (own, other, pinned) =
            (profile(&world, "own").await, profile(&world, "other").await, profile(&world, "pinned").await);
        let mine = world.start(CreateTask { agent_profile_id: Some(own), ..prompted("Mine") }).await;
        let theirs = world.start(CreateTask { agent_profile_id: Some(other), ..prompted("Theirs") }).await;
        let chosen = async |task, given| {
            spawn(&mine, task, SpawnSession { agent_profile_id: given, ..begin("Go.") }).await.agent_profile_id
        };
        assert_eq!(chosen(None, None).await, own, "its own on its own task");
        assert_eq!(chosen(Some(theirs.task), None).await, other, "the primary session's elsewhere");
        assert_eq!(chosen(None, Some(other)).await, other, "the one asked for");
        world.execute(&format!("update workflows set agent_profile_id = '{pinned}'")).await;
        assert_eq!(chosen(None, Some(other)).await, pinned, "the workflow decides over all");
        let unknown = SpawnSession { agent_profile_id: Some(domain::ids::ProfileId::new()), ..begin("Go.") };
        refused(world.board().session_spawn(&mine.actor(), None, &unknown).await, ErrorCode::NotFound);
    }

    async fn an_operator_starts_names_and_promotes_a_session(db: TestDb) {
        let world = World::new(db).await;
        let first = world.working("Task").await;
        let board = world.board();
        let spawned = board.session_spawn(&Actor::Operator, Some(first.task), &begin("Second.")).await.unwrap();
        world.run().await;
        let second = world.puppet(first.task, spawned.session_id);
        let told = second.messages_of(MessageType::Message).await.remove(0);
        assert_eq!(told.content, "Second.");
        assert!(!told.metadata.contains_key("sender_session_id"));
        let named = board.session_rename(&Actor::Operator, second.session, Some(" Tests ")).await.unwrap();
        assert_eq!(named.name.as_deref(), Some("Tests"));
        refused(board.session_rename(&Actor::Operator, second.session, Some(&"x".repeat(121))).await, ErrorCode::Validation);
        assert_eq!(board.session_rename(&Actor::Operator, second.session, None).await.unwrap().name, None);

        assert!(board.session_set_primary(&Actor::Operator, second.session).await.unwrap().is_primary);
        assert!(!first.view().await.is_primary);
        assert_eq!(primary(&world, first.task).await, Some(second.session));
        world.check().await;
        for refusal in [
            board.session_rename(&first.actor(), second.session, Some("mine")).await.map(drop),
            board.session_set_primary(&first.actor(), first.session).await.map(drop),
            board.session_delete(&first.actor(), second.session).await,
        ] {
            refused(refusal, ErrorCode::Forbidden);
        }
    }

    async fn when_the_primary_session_goes_another_takes_its_place(db: TestDb) {
        let world = World::new(db).await;
        let first = world.working("Task").await;
        let old = spawn(&first, None, begin("Old.")).await.session_id;
        world.run().await;
        let new = spawn(&first, None, begin("New.")).await.session_id;
        world.run().await;
        let board = world.board();
        board.session_stop(&Actor::Operator, new).await.unwrap();
        board.session_delete(&Actor::Operator, first.session).await.unwrap();
        world.run().await;
        assert_eq!(primary(&world, first.task).await, Some(old), "one that can still be talked to");
        assert!(!world.node().is_live(first.session));
        refused(board.session_get(&Actor::Operator, first.session).await, ErrorCode::NotFound);
        board.session_delete(&Actor::Operator, old).await.unwrap();
        assert_eq!(primary(&world, first.task).await, Some(new), "or else the newest");
        board.session_delete(&Actor::Operator, new).await.unwrap();
        world.run().await;
        assert_eq!(primary(&world, first.task).await, None);
        assert_eq!(first.card().await.state, TaskState::Review);
    }

    async fn a_running_session_that_is_removed_leaves_its_sibling_at_work(db: TestDb) {
        let world = World::new(db).await;
        let first = world.working("Task").await;
        let second = spawn(&first, None, begin("Second.")).await.session_id;
        world.run().await;
        let board = world.board();
        board.session_delete(&Actor::Operator, second).await.unwrap();
        world.run().await;
        assert_eq!(first.card().await.state, TaskState::InProgress);
        let third = spawn(&first, None, begin("Third.")).await.session_id;
        world.run().await;
        assert!(board.session_stop(&Actor::Operator, third).await.unwrap());
        assert_eq!(first.card().await.state, TaskState::InProgress, "somebody is at work");
    }

    async fn a_childs_question_survives_the_session_it_waited_at(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let second = spawn(&parent, None, begin("Second.")).await.session_id;
        world.run().await;
        world.puppet(parent.task, second).end_turn().await;
        world.run().await;
        let board = world.board();
        board.session_auto_run(&Actor::Operator, parent.session, false).await.unwrap();
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert_eq!(parent.waiting().await.len(), 1, "it is held");
        board.session_delete(&Actor::Operator, parent.session).await.unwrap();
        world.run().await;
        let second = world.puppet(parent.task, second);
        assert!(second.last_heard().text.contains("Which store?"));
        second.reply(&child, question, "SQLite.").await.unwrap();
        assert_eq!(world.question_status(question).await, QuestionStatus::Answered);
    }

    async fn a_child_whose_session_goes_asks_nothing_any_more(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().session_delete(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(world.count(&format!("parent_questions where id = '{question}'")).await, 0);
        refused(parent.reply(&child, question, "SQLite.").await, ErrorCode::Validation);
        assert_eq!(child.card().await.task_pending_action, None);
    }
}
