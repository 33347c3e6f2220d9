//! What waits for a session: order, capacity, holding and letting go.

use crate::world::{World, prompted, refused};
use board::{Actor, Settings};
use domain::error::ErrorCode;
use domain::ids::PromptId;
use domain::session::SessionState;
use domain::task::TaskState;
use domain::view::DeliveryStatus;
use serde_json::json;

store::on_both_engines! {
    async fn one_prompt_a_turn_in_the_order_they_came(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        for text in ["one", "two", "three"] {
            assert_eq!(puppet.operator_says(text).await.status, DeliveryStatus::Queued);
        }
        for expected in ["one", "two", "three"] {
            puppet.end_turn().await;
            world.run().await;
            assert_eq!(puppet.last_heard().text, expected);
        }
        assert_eq!(puppet.card().await.state, TaskState::InProgress);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.card().await.state, TaskState::Review, "only when nothing is left");
        world.assert_heard_once();
    }

    // Task-domain 3.5: two rows of one sender become two turns; a merge would need to be asked for.
    async fn messages_are_not_merged(db: TestDb) {
        let world = World::new(db).await;
        let sender = world.working("Sender").await;
        let target = world.working("Target").await;
        let first = sender.tell(target.task, "one").await.unwrap().queue_entry_id;
        let second = sender.tell(target.task, "two").await.unwrap().queue_entry_id;
        assert_ne!(first, second);
        assert_eq!(target.waiting().await, ["one", "two"]);
    }

    async fn a_full_queue_says_what_is_in_it_without_the_words(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 2, ..Settings::default() }).await;
        let sender = world.working("Sender").await;
        let target = world.working("Target").await;
        let first = target.operator_says("secret words").await;
        let second = sender.tell(target.task, "more secret words").await.unwrap();
        let refusal = refused(sender.tell(target.task, "three").await, ErrorCode::QueueFull);
        let now = world.clock.now();
        assert_eq!(
            refusal.details,
            Some(json!({
                "error": "queue_full",
                "queue_size": 2,
                "max": 2,
                "retry_after": "next_turn",
                "queued_messages": [
                    {"id": first.queue_entry_id, "sender": null, "queued_at": now},
                    {"id": second.queue_entry_id, "sender": sender.task, "queued_at": now},
                ],
            }))
        );
        assert!(!format!("{refusal:?}").contains("secret"));
        assert_eq!(target.waiting().await.len(), 2);

        target.end_turn().await;
        world.run().await;
        target.operator_says("three").await;
    }

    async fn a_prompt_that_is_being_delivered_takes_no_place(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 1, ..Settings::default() }).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        refused(
            world.board().prompt_session(&Actor::Operator, puppet.session, "two", None).await,
            ErrorCode::QueueFull,
        );
        world.node().take(puppet.session).await;
        puppet.operator_says("two").await;
    }

    async fn a_capacity_of_zero_is_unlimited(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 0, ..Settings::default() }).await;
        let puppet = world.working("Task").await;
        for n in 0..25 {
            puppet.operator_says(&n.to_string()).await;
        }
        assert_eq!(puppet.waiting().await.len(), 25);
    }

    // D5, the other way round: questions and answers take no place from others.
    async fn questions_and_answers_take_no_place(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 1, ..Settings::default() }).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let other = world.child(&parent, "Other").await;
        child.ask("Which store?").await.unwrap();
        let question = other.ask("Which colour?").await.unwrap().question_id;
        parent.operator_says("fits").await;
        assert_eq!(parent.waiting().await.len(), 3);
        other.operator_says("supersedes, beyond the capacity").await;
        refused(world.board().prompt_session(&Actor::Operator, parent.session, "full", None).await, ErrorCode::QueueFull);
        assert_ne!(world.question_status(question).await, domain::question::QuestionStatus::Pending);
    }

    async fn a_cancel_with_prompts_waiting_holds_them(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.operator_says("held").await;
        assert!(world.board().session_cancel(&Actor::Operator, puppet.session).await.unwrap());
        world.run().await;
        assert!(!puppet.is_in_turn());
        assert!(!puppet.view().await.auto_run);
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert_eq!(puppet.card().await.state, TaskState::Review);
        assert_eq!(puppet.waiting().await, ["held"]);
        // What comes later is held too, and its sender is told so.
        assert_eq!(puppet.operator_says("also held").await.status, DeliveryStatus::Queued);
        world.run().await;
        assert_eq!(puppet.texts().len(), 1);

        world.board().session_auto_run(&Actor::Operator, puppet.session, true).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().text, "held");
    }

    async fn a_cancel_with_nothing_waiting_holds_nothing(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        world.board().session_cancel(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert!(puppet.view().await.auto_run);
        puppet.operator_says("goes").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "goes");
    }

    async fn a_held_queue_lets_the_present_turn_finish_and_answers_pass(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        world.board().session_auto_run(&Actor::Operator, child.session, false).await.unwrap();
        child.operator_says("held").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.", "an answer is not what was held");
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.waiting().await, ["held"]);
    }

    async fn a_waiting_prompt_can_be_taken_back(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let entry = puppet.operator_says("never mind").await.queue_entry_id.unwrap();
        refused(world.board().prompt_remove(&puppet.actor(), entry).await, ErrorCode::Forbidden);
        world.board().prompt_remove(&Actor::Operator, entry).await.unwrap();
        refused(world.board().prompt_remove(&Actor::Operator, entry).await, ErrorCode::NotFound);
        refused(world.board().prompt_remove(&Actor::Operator, PromptId::new()).await, ErrorCode::NotFound);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.texts().len(), 1);
        assert_eq!(puppet.step().await, "Review");
    }

    // The turn ended with something waiting, so the card stayed "in progress"; then the operator took it back.
    async fn a_card_whose_last_prompt_is_taken_back_comes_to_rest(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let entry = puppet.operator_says("never mind").await.queue_entry_id.unwrap();
        puppet.end_turn().await;
        world.board().prompt_remove(&Actor::Operator, entry).await.unwrap();
        world.run().await;
        assert_eq!(puppet.card().await.state, TaskState::Review);
    }

    async fn questions_answers_and_prompts_under_way_cannot_be_taken_back(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let other = world.child(&parent, "Other").await;
        child.ask("Which store?").await.unwrap();
        let answered = other.ask("Which colour?").await.unwrap().question_id;
        parent.reply(&other, answered, "Red.").await.unwrap();
        for puppet in [&parent, &other] {
            let session = puppet.session;
            let rows = world.read(async |db| store::queue::list(db, session).await).await;
            let refusal = refused(world.board().prompt_remove(&Actor::Operator, rows[0].id).await, ErrorCode::Conflict);
            assert!(refusal.message.contains("question"), "{refusal}");
        }
        let created = world.create(prompted("Task")).await.unwrap();
        let delivery = world.node().take(created.session_id.unwrap()).await;
        let refusal = refused(world.board().prompt_remove(&Actor::Operator, delivery.prompt).await, ErrorCode::Conflict);
        assert!(refusal.message.contains("delivered"), "{refusal}");
    }

    async fn archiving_empties_the_queues_and_resuming_later_finds_them_empty(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.operator_says("waits").await;
        world.board().task_archive(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(world.count("queued_messages").await, 0);
        refused(
            world.board().prompt_session(&Actor::Operator, puppet.session, "hello", None).await,
            ErrorCode::Conflict,
        );
        refused(world.board().prompt_task(&Actor::Operator, puppet.task, "hello", None).await, ErrorCode::Conflict);
    }

    async fn only_the_operator_prompts_directly(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        refused(world.board().prompt_session(&puppet.actor(), puppet.session, "hello", None).await, ErrorCode::Forbidden);
        refused(world.board().prompt_task(&puppet.actor(), puppet.task, "hello", None).await, ErrorCode::Forbidden);
        refused(world.board().session_auto_run(&puppet.actor(), puppet.session, false).await, ErrorCode::Forbidden);
        refused(world.board().prompt_session(&Actor::Operator, puppet.session, "  ", None).await, ErrorCode::Validation);
    }

    async fn a_prompt_to_a_task_that_was_never_started_starts_it(db: TestDb) {
        let world = World::new(db).await;
        let card = domain::params::CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        let outcome = world.board().prompt_task(&Actor::Operator, task, "Go.", None).await.unwrap();
        assert_eq!(outcome.status, DeliveryStatus::Started);
        world.run().await;
        assert_eq!(world.primary(task).await.texts(), ["Go."]);
    }

    async fn an_operators_prompt_that_is_sent_again_under_its_key_is_queued_once(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let board = world.board();
        let to_session = async |text: &str, key| board.prompt_session(&Actor::Operator, puppet.session, text, key).await;
        let to_task = async |text: &str, key| board.prompt_task(&Actor::Operator, puppet.task, text, key).await;
        let first = to_session("one", Some("k")).await.unwrap();
        assert!(!first.deduplicated);
        let again = to_session("one", Some(" k ")).await.unwrap();
        assert!(again.deduplicated);
        assert_eq!((again.queue_entry_id, again.status), (first.queue_entry_id, first.status));
        refused(to_session("other words", Some("k")).await, ErrorCode::Validation);
        refused(to_task("one", Some("k")).await, ErrorCode::Validation);
        let long = "k".repeat(201);
        refused(to_session("one", Some(&long)).await, ErrorCode::Validation);
        // Without a key, or under another one, the same words are said again.
        to_session("one", None).await.unwrap();
        to_session("one", Some("")).await.unwrap();
        let task_first = to_task("two", Some("t")).await.unwrap();
        assert_eq!(to_task("two", Some("t")).await.unwrap().queue_entry_id, task_first.queue_entry_id);
        assert_eq!(puppet.waiting().await, ["one", "one", "one", "two"]);

        // Whatever became of it, and of the session, meanwhile.
        board.session_stop(&Actor::Operator, puppet.session).await.unwrap();
        world.restart().await;
        let late = world.board().prompt_session(&Actor::Operator, puppet.session, "one", Some("k")).await.unwrap();
        assert_eq!((late.deduplicated, late.queue_entry_id), (true, first.queue_entry_id));
        assert_eq!(puppet.waiting().await.len(), 4);
    }

    async fn of_many_who_send_a_prompt_under_one_key_one_queues_it(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let sent: Vec<_> = (0..8)
            .map(|_| {
                let (board, session) = (world.board(), puppet.session);
                tokio::spawn(async move {
                    board.prompt_session(&Actor::Operator, session, "one", Some("k")).await.unwrap()
                })
            })
            .collect();
        let mut ids = std::collections::HashSet::new();
        let mut new = 0;
        for sent in sent {
            let outcome = sent.await.unwrap();
            new += usize::from(!outcome.deduplicated);
            ids.insert(outcome.queue_entry_id);
        }
        assert_eq!((new, ids.len()), (1, 1));
        assert_eq!(puppet.waiting().await, ["one"]);
    }
}
