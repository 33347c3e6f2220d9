//! What keeps agents from talking without end (rulings 20), and the key that makes sending again harmless.

use crate::puppet::{Puppet, note};
use crate::world::{World, refused};
use board::{Actor, Settings};
use domain::error::ErrorCode;
use domain::guards::Guards;
use domain::ids::{MessageId, TaskId};
use domain::params::{DeliveryMode, MessageTask, SpawnSession};
use domain::queue::merge::AutoMerge;
use domain::view::{DeliveryStatus, MessageOutcome};
use serde_json::{Value, json};

fn guarded(change: impl FnOnce(&mut Guards)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings.guards);
    settings
}

fn keyed(to: TaskId, prompt: &str, key: &str) -> MessageTask {
    MessageTask {
        idempotency_key: Some(key.to_owned()),
        ..note(to, prompt)
    }
}

/// The details of a refusal by a guard.
#[track_caller]
fn limited(outcome: board::Result<MessageOutcome>) -> Value {
    let details = refused(outcome, ErrorCode::RateLimited).details.unwrap();
    assert!(details["retry_after_ms"].as_i64().unwrap() > 0, "{details}");
    details
}

/// Ends the turns of both until `puppet` was given what waits for it.
async fn hears(world: &World, puppet: &Puppet, text: &str) {
    world.run().await;
    if puppet.is_in_turn() && puppet.last_heard().text != text {
        puppet.end_turn().await;
        world.run().await;
    }
    assert_eq!(puppet.last_heard().text, text);
}

store::on_both_engines! {
    // Two polite agents come to an end, and it is the one whose message would be too many that is told to stop.
    async fn a_chain_of_replies_ends_and_a_person_begins_a_new_one(db: TestDb) {
        let world = World::with(db, guarded(|guards| guards.max_hops = 4)).await;
        let (one, two) = (world.resting("One").await, world.resting("Two").await);
        one.operator_says("Talk to each other.").await;
        world.run().await;
        for n in 0..2 {
            let text = format!("thanks {n}");
            one.tell(two.task, &text).await.unwrap();
            hears(&world, &two, &text).await;
            let text = format!("thanks too {n}");
            two.tell(one.task, &text).await.unwrap();
            hears(&world, &one, &text).await;
        }
        let details = limited(one.tell(two.task, "thanks again").await);
        assert_eq!((&details["guard"], &details["hops"], &details["max"]), (&json!("hops"), &json!(5), &json!(4)));
        assert!(two.waiting().await.is_empty(), "a refused message leaves no trace");
        // It is the chain that is too long, whoever it would go to.
        let third = world.resting("Third").await;
        limited(one.tell(third.task, "pass it on").await);

        one.end_turn().await;
        one.operator_says("Ask Two for the contract.").await;
        world.run().await;
        one.tell(two.task, "the contract, please").await.unwrap();
    }

    // Questions are bounded by the child that waits: an answer is never refused, and begins a chain of its own.
    async fn an_answer_is_never_held_up_by_a_guard(db: TestDb) {
        let world = World::with(db, guarded(|guards| {
            guards.max_hops = 1;
            guards.pair_limit = 1;
        })).await;
        let (parent, child) = world.family().await;
        child.tell(parent.task, "halfway").await.unwrap();
        world.run().await;
        limited(parent.tell(child.task, "go on").await);
        let question = child.ask_and_wait("Which store?").await;
        let answer = parent.reply(&child, question, "SQLite.").await.unwrap();
        assert_eq!(answer.status, DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    async fn a_pair_may_write_so_often_and_others_are_not_counted(db: TestDb) {
        let world = World::with(db, guarded(|guards| {
            guards.pair_limit = 3;
            guards.share_percent = 0;
        })).await;
        let (one, two, three) = (world.working("One").await, world.working("Two").await, world.working("Three").await);
        one.tell(two.task, "1").await.unwrap();
        world.clock.advance(60_000);
        two.tell(one.task, "2").await.unwrap();
        one.tell(two.task, "3").await.unwrap();
        for (sender, to) in [(&one, &two), (&two, &one)] {
            let details = limited(sender.tell(to.task, "4").await);
            assert_eq!(details["guard"], "pair");
            assert_eq!(details["retry_after_ms"], 9 * 60_000, "when the first has left the window");
        }
        one.tell(three.task, "another pair").await.unwrap();
        world.clock.advance(9 * 60_000);
        one.tell(two.task, "4").await.unwrap();
    }

    async fn siblings_on_one_task_are_a_pair_of_sessions(db: TestDb) {
        let world = World::with(db, guarded(|guards| guards.pair_limit = 1)).await;
        let first = world.working("Task").await;
        let second = first.sibling().await;
        let third = first.sibling().await;
        let to = |session| MessageTask { session_id: Some(session), ..note(first.task, "hello") };
        first.send(to(second.session)).await.unwrap();
        limited(second.send(to(first.session)).await);
        first.send(to(third.session)).await.unwrap();
    }

    async fn one_sender_holds_at_most_half_of_a_queue(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 4, ..Settings::default() }).await;
        let (one, two, target) = (world.working("One").await, world.working("Two").await, world.working("Target").await);
        one.tell(target.task, "1").await.unwrap();
        one.tell(target.task, "2").await.unwrap();
        let details = limited(one.tell(target.task, "3").await);
        assert_eq!(details["guard"], "queue_share");
        assert_eq!((&details["held"], &details["share"], &details["max"]), (&json!(2), &json!(2), &json!(4)));
        two.tell(target.task, "room for others").await.unwrap();
        target.operator_says("and for the operator").await;
        // Full is full, and that is what is said then.
        refused(one.tell(target.task, "3").await, ErrorCode::QueueFull);
        target.end_turn().await;
        world.run().await;
        one.tell(target.task, "3").await.unwrap();
    }

    // Rulings 8: only questions and answers go around the queue's capacity.
    async fn an_interrupt_that_finds_no_place_is_refused_and_cancels_nothing(db: TestDb) {
        let world = World::with(db, Settings { queue_capacity: 1, interrupt_wait_ms: 20, ..Settings::default() }).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        parent.tell(child.task, "later").await.unwrap();
        refused(parent.interrupt(child.task, "now").await, ErrorCode::QueueFull);
        world.run().await;
        assert!(child.is_in_turn());
        assert_eq!(child.waiting().await, ["later"]);
    }

    // A session that is spawned is begun by a message; another tool is no way around the limits.
    async fn spawning_counts_like_writing(db: TestDb) {
        let world = World::with(db, guarded(|guards| guards.pair_limit = 2)).await;
        let (one, two) = (world.working("One").await, world.working("Two").await);
        let spawn = async |from: &Puppet, on: TaskId| {
            let params = SpawnSession { prompt: "Help.".to_owned(), ..SpawnSession::default() };
            world.board().session_spawn(&from.actor(), Some(on), &params).await
        };
        one.tell(two.task, "1").await.unwrap();
        spawn(&one, two.task).await.unwrap();
        let sessions = world.count("sessions").await;
        let refusal = refused(spawn(&one, two.task).await, ErrorCode::RateLimited);
        assert_eq!(refusal.details.unwrap()["guard"], "pair");
        limited(one.tell(two.task, "3").await);
        // On its own task a spawner meets a new session each time.
        spawn(&one, one.task).await.unwrap();
        spawn(&one, one.task).await.unwrap();
        refused(spawn(&one, one.task).await, ErrorCode::RateLimited);
        assert_eq!(world.count("sessions").await, sessions + 2, "what was refused left nothing");
    }

    async fn a_chain_goes_on_through_a_session_that_is_spawned(db: TestDb) {
        let world = World::with(db, guarded(|guards| guards.max_hops = 1)).await;
        let (one, two) = (world.working("One").await, world.resting("Two").await);
        let params = SpawnSession { prompt: "Tell Two.".to_owned(), ..SpawnSession::default() };
        let spawned = world.board().session_spawn(&one.actor(), None, &params).await.unwrap();
        world.run().await;
        let helper = world.puppet(one.task, spawned.session_id);
        assert_eq!(limited(helper.tell(two.task, "Hello.").await)["guard"], "hops");
    }

    // Task-domain 14.16.
    async fn a_message_that_is_sent_again_is_sent_once(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let message = keyed(target.task, "hello", "k1");
        let first = sender.send(message.clone()).await.unwrap();
        assert_eq!((first.status, first.deduplicated), (DeliveryStatus::Queued, false));
        let again = sender.send(message.clone()).await.unwrap();
        assert_eq!(again, MessageOutcome { deduplicated: true, ..first.clone() });
        assert_eq!(target.waiting().await, ["hello"]);

        target.end_turn().await;
        world.run().await;
        assert_eq!(target.last_heard().text, "hello");
        assert_eq!(sender.send(message.clone()).await.unwrap(), again, "also when it was delivered meanwhile");

        world.restart().await;
        assert_eq!(sender.send(message.clone()).await.unwrap(), again, "and after a restart");
        world.board().task_archive(&Actor::Operator, target.task).await.unwrap();
        assert_eq!(sender.send(message.clone()).await.unwrap(), again, "and when the target takes no messages any more");
        world.board().task_delete(&Actor::Operator, target.task).await.unwrap();
        assert_eq!(sender.send(message).await.unwrap(), again, "and when it is gone");
    }

    async fn a_key_stands_for_one_message_of_one_session(db: TestDb) {
        let world = World::new(db).await;
        let (sender, other, target) = (world.working("Sender").await, world.working("Other").await, world.working("Target").await);
        sender.send(keyed(target.task, "hello", "k1")).await.unwrap();
        let refusal = refused(sender.send(keyed(target.task, "something else", "k1")).await, ErrorCode::Validation);
        assert!(refusal.message.contains("idempotency_key"), "{refusal}");
        assert!(!other.send(keyed(target.task, "hello", "k1")).await.unwrap().deduplicated);
        assert!(!sender.send(keyed(target.task, "hello", "k2")).await.unwrap().deduplicated);
        assert_eq!(target.waiting().await.len(), 3);
        refused(sender.send(keyed(target.task, "hello", &"k".repeat(201))).await, ErrorCode::Validation);
        // A message that was refused used up nothing.
        refused(sender.send(keyed(TaskId::new(), "hello", "k3")).await, ErrorCode::NotFound);
        assert!(!sender.send(keyed(target.task, "hello", "k3")).await.unwrap().deduplicated);
    }

    async fn an_answer_under_a_key_is_told_as_it_was(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let mut answer = keyed(child.task, "SQLite.", "answer");
        answer.reply_to_question_id = Some(question.to_string());
        let first = parent.send(answer.clone()).await.unwrap();
        assert_eq!(first.status, DeliveryStatus::Sent);
        let again = parent.send(answer.clone()).await.unwrap();
        assert_eq!(again, MessageOutcome { deduplicated: true, ..first });
        answer.idempotency_key = None;
        assert_eq!(parent.send(answer).await.unwrap().status, DeliveryStatus::AlreadyAnswered);
    }

    // The first call was lost while it waited; the second waits for the same delivery.
    async fn an_interrupt_that_is_sent_again_interrupts_once(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let message = MessageTask { delivery_mode: DeliveryMode::Interrupt, ..keyed(child.task, "stop that", "i") };
        let mut calls = Vec::new();
        for _ in 0..2 {
            let (parent, message) = (parent.clone(), message.clone());
            calls.push(tokio::spawn(async move { parent.send(message).await.unwrap() }));
        }
        while !calls.iter().all(tokio::task::JoinHandle::is_finished) {
            world.node().step(1).await;
            tokio::task::yield_now().await;
        }
        let mut deduplicated = Vec::new();
        for call in calls {
            let outcome = call.await.unwrap();
            assert_eq!(outcome.status, DeliveryStatus::Sent);
            deduplicated.push(outcome.deduplicated);
        }
        deduplicated.sort_unstable();
        assert_eq!(deduplicated, [false, true]);
        world.run().await;
        assert_eq!(child.texts().iter().filter(|text| *text == "stop that").count(), 1);
        assert!(child.is_in_turn());
    }

    // Task-domain 14.20.
    async fn the_receipt_names_the_message_it_becomes(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.resting("Target").await);
        let sent = sender.tell(target.task, "hello").await.unwrap();
        let message = sent.message_id.unwrap();
        assert_eq!(message, MessageId::of_prompt(sent.queue_entry_id.unwrap()));
        refused(world.board().message_get(&Actor::Operator, message).await, ErrorCode::NotFound);
        world.run().await;
        let found = world.board().message_get(&Actor::Operator, message).await.unwrap();
        assert_eq!((found.content.as_str(), found.session_id), ("hello", target.session));
    }

    async fn a_merged_message_answers_with_the_one_that_stays_and_its_chain_goes_on(db: TestDb) {
        let world = World::with(db, Settings {
            queue_auto_merge: AutoMerge::All,
            ..guarded(|guards| guards.max_hops = 2)
        }).await;
        let (sender, target) = (world.resting("Sender").await, world.working("Target").await);
        let starter = world.working("Starter").await;
        starter.tell(sender.task, "begin").await.unwrap();
        world.run().await;
        let first = sender.tell(target.task, "one").await.unwrap();
        let second = sender.send(keyed(target.task, "two", "k")).await.unwrap();
        assert_eq!(second, MessageOutcome { merged: true, ..first.clone() });
        assert_eq!(target.waiting().await, ["one\n\ntwo"]);
        let again = sender.send(keyed(target.task, "two", "k")).await.unwrap();
        assert_eq!(again, MessageOutcome { deduplicated: true, ..second });
        hears(&world, &target, "one\n\ntwo").await;
        let details = limited(target.tell(starter.task, "too long a chain").await);
        assert_eq!(details["hops"], 3);
    }

    // A message that crosses with the end of its target is told what became of it: nothing, or the prompt.
    async fn a_target_that_is_deleted_before_delivery_gets_nothing(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        assert_eq!(sender.tell(target.task, "hello").await.unwrap().status, DeliveryStatus::Queued);
        world.board().task_delete(&Actor::Operator, target.task).await.unwrap();
        world.run().await;
        assert_eq!(world.count("queued_messages").await, 0);
        refused(sender.tell(target.task, "hello").await, ErrorCode::NotFound);
        assert_eq!(target.texts().len(), 1);
    }

    // Rulings 20: a question does not begin a chain anew, nor does its answer; neither is ever refused.
    async fn a_chain_goes_on_through_questions_and_answers(db: TestDb) {
        let world = World::with(db, guarded(|guards| guards.max_hops = 3)).await;
        let (parent, child) = world.family().await;
        let other = world.working("Other").await;
        other.tell(child.task, "1").await.unwrap();
        child.end_turn().await;
        world.run().await;
        hears(&world, &child, "1").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert!(parent.is_in_turn(), "it is asked: 2 of the chain");
        parent.reply(&child, question, "SQLite").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite");
        let refused = limited(child.tell(other.task, "4").await);
        assert_eq!((&refused["guard"], &refused["hops"]), (&json!("hops"), &json!(4)));
        // Asking and answering goes on all the same.
        parent.end_turn().await;
        let question = child.ask_and_wait("And which table?").await;
        world.run().await;
        parent.reply(&child, question, "All of them").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "All of them");
        // What the parent says of itself after that is refused too, until a person speaks.
        limited(parent.tell(other.task, "5").await);
        parent.operator_says("Tell them.").await;
        parent.end_turn().await;
        world.run().await;
        parent.tell(other.task, "6").await.unwrap();
    }
}
