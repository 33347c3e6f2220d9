//! The queue as its operator steers it (task-domain 3.5): edit, merge, reorder, send now, clear, and what is out of reach.

use crate::puppet::{Puppet, choice};
use crate::world::{World, refused, soon};
use board::{Actor, Board, Settings};
use domain::error::ErrorCode;
use domain::ids::PromptId;
use domain::message::MAX_MESSAGE_BYTES;
use domain::question::QuestionStatus;
use domain::queue::merge::AutoMerge;
use domain::queue::{Lane, QueuedBy};
use domain::session::SessionState;
use domain::task::TaskState;
use domain::view::{DeliveryStatus, MessageOutcome, QueueView};
use serde_json::json;

const OPERATOR: Actor = Actor::Operator;

async fn queue(puppet: &Puppet) -> QueueView {
    let board = puppet.world.board();
    board.queue_get(&OPERATOR, puppet.session).await.unwrap()
}

/// Says all of this while the agent is busy; the ids of what waits.
async fn waits(puppet: &Puppet, texts: &[&str]) -> Vec<PromptId> {
    let mut ids = Vec::new();
    for text in texts {
        ids.push(puppet.operator_says(text).await.queue_entry_id.unwrap());
    }
    ids
}

/// Sends a prompt now while the node goes on.
async fn send_now(world: &World, prompt: PromptId) -> board::Result<MessageOutcome> {
    let board: Board = world.board();
    let sending = tokio::spawn(async move { board.prompt_send_now(&OPERATOR, prompt).await });
    soon(Box::pin(async {
        while !sending.is_finished() {
            world.node().step(1).await;
            tokio::task::yield_now().await;
        }
    }))
    .await;
    let outcome = sending.await.unwrap();
    world.run().await;
    outcome
}

store::on_both_engines! {
    async fn a_queue_is_shown_as_it_will_be_delivered(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let own = target.operator_says("mine").await.queue_entry_id.unwrap();
        let peer = sender.tell(target.task, "theirs").await.unwrap().queue_entry_id.unwrap();
        let seen = queue(&target).await;
        assert_eq!((seen.session_id, seen.count, seen.max), (target.session, 2, 10));
        assert!(seen.auto_run && seen.merge_enabled);
        assert_eq!(seen.entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [own, peer]);
        let [mine, theirs] = &seen.entries[..] else { panic!("two") };
        assert_eq!((mine.queued_by, mine.editable, mine.mergeable), (QueuedBy::User, true, false));
        assert_eq!((theirs.queued_by, theirs.editable, theirs.mergeable), (QueuedBy::Agent, false, false));
        assert_eq!(theirs.sender_task_title.as_deref(), Some("Sender"));
        assert_eq!(theirs.sender_session_id, Some(sender.session));
        // The page reads the same.
        let page = world.board().task_page(&OPERATOR, target.task).await.unwrap();
        assert_eq!(page.queues, [seen]);
        assert_eq!(target.view().await.queued_prompt_count, 2);
    }

    async fn questions_and_answers_and_what_is_being_sent_are_not_shown(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        child.ask("Which store?").await.unwrap();
        assert_eq!(parent.waiting().await.len(), 1);
        assert_eq!(queue(&parent).await.count, 0);
        assert_eq!(parent.view().await.queued_prompt_count, 0);
        let ids = waits(&parent, &["one", "two"]).await;
        let question = world.read(async |db| store::queue::list(db, parent.session).await).await[0].id;

        // Nor can they be touched, whoever knows their ids.
        let board = world.board();
        refused(board.prompt_edit(&OPERATOR, question, "x", None).await, ErrorCode::Conflict);
        refused(board.prompt_merge(&OPERATOR, question).await, ErrorCode::Conflict);
        refused(board.prompt_send_now(&OPERATOR, question).await, ErrorCode::Conflict);
        refused(board.queue_reorder(&OPERATOR, parent.session, &[ids[0], question, ids[1]]).await, ErrorCode::Conflict);
        board.queue_clear(&OPERATOR, parent.session).await.unwrap();
        assert_eq!(parent.waiting().await.len(), 1, "the question");
        parent.end_turn().await;
        world.run().await;
        assert!(parent.last_heard().text.contains("Which store?"));

        parent.operator_says("three").await;
        parent.end_turn().await;
        let sent = world.node().take(parent.session).await;
        for outcome in [
            board.prompt_edit(&OPERATOR, sent.prompt, "x", None).await.map(|_| ()),
            board.prompt_merge(&OPERATOR, sent.prompt).await.map(|_| ()),
            board.prompt_send_now(&OPERATOR, sent.prompt).await.map(|_| ()),
            board.prompt_remove(&OPERATOR, sent.prompt).await.map(|_| ()),
        ] {
            let refusal = refused(outcome, ErrorCode::Conflict);
            assert!(refusal.message.contains("delivered"), "{refusal}");
        }
        assert_eq!(board.queue_clear(&OPERATOR, parent.session).await.unwrap().count, 0);
        assert_eq!(parent.waiting().await, ["three"]);
        assert_eq!(queue(&parent).await.count, 0);
    }

    async fn only_the_operator_steers(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two"]).await;
        let (board, agent) = (world.board(), puppet.actor());
        refused(board.queue_get(&agent, puppet.session).await, ErrorCode::Forbidden);
        refused(board.prompt_edit(&agent, ids[0], "x", None).await, ErrorCode::Forbidden);
        refused(board.prompt_remove(&agent, ids[0]).await, ErrorCode::Forbidden);
        refused(board.prompt_merge(&agent, ids[1]).await, ErrorCode::Forbidden);
        refused(board.prompt_send_now(&agent, ids[0]).await, ErrorCode::Forbidden);
        refused(board.queue_clear(&agent, puppet.session).await, ErrorCode::Forbidden);
        refused(board.queue_reorder(&agent, puppet.session, &ids).await, ErrorCode::Forbidden);
        assert_eq!(puppet.waiting().await, ["one", "two"]);
    }

    async fn an_operator_edits_its_own_words_and_nobody_elses(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let own = waits(&target, &["frist"]).await[0];
        let peer = sender.tell(target.task, "theirs").await.unwrap().queue_entry_id.unwrap();
        let board = world.board();
        let seen = board.prompt_edit(&OPERATOR, own, "first", Some("frist")).await.unwrap();
        assert_eq!(seen.entries[0].content, "first");
        refused(board.prompt_edit(&OPERATOR, peer, "mine now", None).await, ErrorCode::Forbidden);
        refused(board.prompt_edit(&OPERATOR, own, " ", None).await, ErrorCode::Validation);
        refused(board.prompt_edit(&OPERATOR, own, &"x".repeat(MAX_MESSAGE_BYTES + 1), None).await, ErrorCode::Validation);
        let refusal = refused(board.prompt_edit(&OPERATOR, own, "second", Some("frist")).await, ErrorCode::Conflict);
        assert!(refusal.message.contains("other words"), "{refusal}");
        target.end_turn().await;
        world.run().await;
        assert_eq!(target.last_heard().text, "first");
        assert_eq!(target.last_heard().prompt, own, "its id stays");
        refused(board.prompt_edit(&OPERATOR, own, "too late", None).await, ErrorCode::NotFound);
    }

    async fn an_order_is_taken_as_a_whole_or_not_at_all(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let mut ids = waits(&target, &["one", "two"]).await;
        ids.push(sender.tell(target.task, "theirs").await.unwrap().queue_entry_id.unwrap());
        let board = world.board();
        for wanted in [vec![ids[0], ids[1]], vec![ids[0], ids[1], ids[1]], vec![ids[2], ids[1], ids[0], PromptId::new()]] {
            refused(board.queue_reorder(&OPERATOR, target.session, &wanted).await, ErrorCode::Conflict);
        }
        assert_eq!(target.waiting().await, ["one", "two", "theirs"]);
        let seen = board.queue_reorder(&OPERATOR, target.session, &[ids[2], ids[1], ids[0]]).await.unwrap();
        assert_eq!(seen.entries.iter().map(|entry| entry.id).collect::<Vec<_>>(), [ids[2], ids[1], ids[0]]);
        for expected in ["theirs", "two", "one"] {
            target.end_turn().await;
            world.run().await;
            assert_eq!(target.last_heard().text, expected);
        }
        world.assert_heard_once();
    }

    async fn what_is_put_behind_a_held_prompt_is_held_with_it(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let held = waits(&child, &["held"]).await[0];
        child.ask("Which store?").await.unwrap();
        // It supersedes the question, so it goes before everything.
        let urgent = child.operator_says("urgent").await.queue_entry_id.unwrap();
        world.board().session_auto_run(&OPERATOR, child.session, false).await.unwrap();
        assert_eq!(queue(&child).await.entries[0].lane, Lane::Express);
        world.board().queue_reorder(&OPERATOR, child.session, &[held, urgent]).await.unwrap();
        child.end_turn().await;
        world.run().await;
        assert!(!child.is_in_turn());
        assert_eq!(child.waiting().await, ["held", "urgent"]);
        assert!(!parent.is_in_turn());
    }

    async fn one_is_merged_into_the_one_above(db: TestDb) {
        let world = World::new(db).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let ids = waits(&target, &["one", "two"]).await;
        let theirs = [
            sender.tell(target.task, "a").await.unwrap().queue_entry_id.unwrap(),
            sender.tell(target.task, "b").await.unwrap().queue_entry_id.unwrap(),
        ];
        let board = world.board();
        let mergeable: Vec<bool> = queue(&target).await.entries.iter().map(|entry| entry.mergeable).collect();
        assert_eq!(mergeable, [false, true, false, true]);
        refused(board.prompt_merge(&OPERATOR, ids[0]).await, ErrorCode::Conflict);
        refused(board.prompt_merge(&OPERATOR, theirs[0]).await, ErrorCode::Conflict);
        board.prompt_merge(&OPERATOR, ids[1]).await.unwrap();
        let seen = board.prompt_merge(&OPERATOR, theirs[1]).await.unwrap();
        let left: Vec<_> = seen.entries.iter().map(|entry| (entry.id, entry.content.as_str())).collect();
        assert_eq!(left, [(ids[0], "one\n\ntwo"), (theirs[0], "a\n\nb")]);
        refused(board.prompt_merge(&OPERATOR, ids[1]).await, ErrorCode::NotFound);
        target.end_turn().await;
        world.run().await;
        assert_eq!(target.last_heard().text, "one\n\ntwo");
        target.end_turn().await;
        world.run().await;
        assert_eq!(target.last_heard().text, "a\n\nb");
        assert!(target.last_heard().hidden().contains(&format!("sender_task_id: {}", sender.task)));
    }

    async fn merging_can_be_switched_off(db: TestDb) {
        let world = World::with(db, Settings { queue_manual_merge: false, ..Settings::default() }).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two"]).await;
        let seen = queue(&puppet).await;
        assert!(!seen.merge_enabled && !seen.entries[1].mergeable);
        refused(world.board().prompt_merge(&OPERATOR, ids[1]).await, ErrorCode::Conflict);
    }

    // Rulings 19: nothing is joined unless the settings say so; then the id that stays is what its sender is told.
    async fn prompts_are_joined_as_they_come_only_where_it_was_asked_for(db: TestDb) {
        let world = World::with(db, Settings { queue_auto_merge: AutoMerge::Own, queue_capacity: 2, ..Settings::default() }).await;
        let (sender, target) = (world.working("Sender").await, world.working("Target").await);
        let first = target.operator_says("one").await;
        assert!(!first.merged);
        let second = target.operator_says("two").await;
        assert_eq!(second, MessageOutcome { merged: true, ..first.clone() });
        let theirs = sender.tell(target.task, "theirs").await.unwrap();
        assert!(!theirs.merged);
        // The queue is full, and what is not of the last one's source is refused.
        refused(world.board().prompt_session(&OPERATOR, target.session, "three", None).await, ErrorCode::QueueFull);
        world.board().queue_reorder(&OPERATOR, target.session, &[theirs.queue_entry_id.unwrap(), first.queue_entry_id.unwrap()]).await.unwrap();
        assert!(target.operator_says("three").await.merged, "beyond the capacity, since it takes no place");
        assert_eq!(target.waiting().await, ["theirs", "one\n\ntwo\n\nthree"]);
        world.run().await;
        target.end_turn().await;
        world.run().await;
        assert_eq!(target.last_heard().text, "theirs");
    }

    async fn questions_between_tasks_are_never_joined_with_anything(db: TestDb) {
        let world = World::with(db, Settings { queue_auto_merge: AutoMerge::All, ..Settings::default() }).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        child.tell(parent.task, "halfway").await.unwrap();
        child.ask("Which store?").await.unwrap();
        let rows = world.read(async |db| store::queue::list(db, parent.session).await).await;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].content, "halfway");
        child.operator_says("supersedes").await;
        child.tell(parent.task, "and more").await.unwrap();
        assert_eq!(parent.waiting().await, ["halfway\n\nand more"], "the question was withdrawn");
    }

    async fn sending_now_cancels_the_turn_and_the_rest_goes_on(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two", "three"]).await;
        world.board().session_auto_run(&OPERATOR, puppet.session, false).await.unwrap();
        let outcome = send_now(&world, ids[1]).await.unwrap();
        assert_eq!((outcome.status, outcome.queue_entry_id), (DeliveryStatus::Sent, Some(ids[1])));
        assert_eq!(puppet.last_heard().text, "two");
        assert_eq!(world.count("turns where state = 'cancelled'").await, 1);
        assert_eq!((puppet.step().await.as_str(), puppet.card().await.state), ("In Progress", TaskState::InProgress), "no step was completed");
        assert!(puppet.view().await.auto_run, "the rest goes on");
        for expected in ["one", "three"] {
            puppet.end_turn().await;
            world.run().await;
            assert_eq!(puppet.last_heard().text, expected);
        }
        world.assert_heard_once();
    }

    async fn sending_now_to_an_idle_session_releases_its_queue(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        world.board().session_auto_run(&OPERATOR, puppet.session, false).await.unwrap();
        let ids = waits(&puppet, &["one", "two"]).await;
        world.run().await;
        assert!(!puppet.is_in_turn());
        assert_eq!(send_now(&world, ids[1]).await.unwrap().status, DeliveryStatus::Sent);
        assert_eq!(puppet.last_heard().text, "two");
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "one");
    }

    async fn sending_now_supersedes_a_question_to_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let sibling = world.child(&parent, "Sibling").await;
        let held = sibling.tell(child.task, "held").await.unwrap().queue_entry_id.unwrap();
        world.run().await;
        assert!(!child.is_in_turn());
        assert_eq!(send_now(&world, held).await.unwrap().status, DeliveryStatus::Sent);
        assert_eq!(child.last_heard().text, "held");
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        refused(parent.reply(&child, question, "too late").await, ErrorCode::Validation);
    }

    async fn sending_now_ends_a_wait_for_the_operator_and_the_question_stays_to_be_answered(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let bundle = world.board().ask_operator(&puppet.actor(), &choice("Which?"), &json!({})).await.unwrap();
        let held = waits(&puppet, &["go on"]).await[0];
        assert_eq!(send_now(&world, held).await.unwrap().status, DeliveryStatus::Sent);
        assert_eq!(puppet.last_heard().text, "go on");
        assert_eq!(world.count(&format!("operator_questions where id = '{bundle}' and agent_disconnected = 0")).await, 0);
    }

    async fn sending_now_that_does_not_get_through_in_time_is_queued(db: TestDb) {
        let world = World::with(db, Settings { interrupt_wait_ms: 20, ..Settings::default() }).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two"]).await;
        let outcome = world.board().prompt_send_now(&OPERATOR, ids[1]).await.unwrap();
        assert_eq!(outcome.status, DeliveryStatus::Queued);
        assert_eq!(puppet.waiting().await, ["two", "one"]);
        world.run().await;
        assert_eq!(puppet.last_heard().text, "two");
    }

    async fn a_session_that_is_over_is_resumed_first_and_an_archived_task_has_no_queue(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two"]).await;
        let board = world.board();
        board.session_stop(&OPERATOR, puppet.session).await.unwrap();
        world.run().await;
        let refusal = refused(board.prompt_send_now(&OPERATOR, ids[0]).await, ErrorCode::Conflict);
        assert!(refusal.message.contains("resume"), "{refusal}");
        // What waits can still be put in order meanwhile.
        board.queue_reorder(&OPERATOR, puppet.session, &[ids[1], ids[0]]).await.unwrap();
        board.session_resume(&OPERATOR, puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().text, "two");
        board.task_archive(&OPERATOR, puppet.task).await.unwrap();
        refused(board.prompt_send_now(&OPERATOR, ids[0]).await, ErrorCode::NotFound);
        assert_eq!(queue(&puppet).await.count, 0);
    }

    async fn a_deleted_task_takes_its_queue_with_it(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one"]).await;
        world.board().task_delete(&OPERATOR, puppet.task).await.unwrap();
        refused(world.board().prompt_send_now(&OPERATOR, ids[0]).await, ErrorCode::NotFound);
        refused(world.board().queue_get(&OPERATOR, puppet.session).await, ErrorCode::NotFound);
        refused(world.board().queue_clear(&OPERATOR, puppet.session).await, ErrorCode::NotFound);
    }

    // Nothing that was steered is lost with the power.
    async fn order_words_and_hold_outlive_a_crash(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let ids = waits(&puppet, &["one", "two", "three"]).await;
        let board = world.board();
        board.prompt_edit(&OPERATOR, ids[1], "TWO", None).await.unwrap();
        board.queue_reorder(&OPERATOR, puppet.session, &[ids[2], ids[1], ids[0]]).await.unwrap();
        board.session_auto_run(&OPERATOR, puppet.session, false).await.unwrap();
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert_eq!(puppet.waiting().await, ["three", "TWO", "one"]);
        assert!(!queue(&puppet).await.auto_run);
        world.board().session_auto_run(&OPERATOR, puppet.session, true).await.unwrap();
        for expected in ["three", "TWO", "one"] {
            world.run().await;
            assert_eq!(puppet.last_heard().text, expected);
            puppet.end_turn().await;
        }
    }
}
