//! The power goes at every step of a delivery, of an ask and of an answer. What was acknowledged is there afterwards, and no
//! agent is sent a prompt twice. Killed processes are tested with the server; here the rows are.

use crate::world::{NODE, World, prompted};
use board::{Next, TurnOutcome};
use domain::message::MessageType;
use domain::params::CreateTask;
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use serde_json::json;

store::on_both_engines! {
    // D18
    async fn a_question_that_was_stored_reaches_the_parent_once_after_a_crash(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let asked = child.ask("Which store?").await.unwrap();
        world.restart().await;
        world.run().await;
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
        assert_eq!(world.question_status(asked.question_id).await, QuestionStatus::Pending);
        assert_eq!(child.state().await, SessionState::WaitingForInput, "a child that waits is not resumed");
        assert_eq!(child.card().await.task_pending_action, Some(PendingAction::Clarification));

        world.restart().await;
        world.run().await;
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
        world.assert_heard_once();
    }

    // D18: the power goes in the middle of the ask: it is as if it was never made.
    async fn a_question_whose_transaction_was_lost_leaves_no_trace(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let tx = world.store().write().await.unwrap();
        let board = world.board();
        let (actor, ask) = (child.actor(), crate::puppet::question("Which store?"));
        let asking = tokio::spawn(async move { board.ask_parent(&actor, &ask, &json!({}), None).await });
        tokio::task::yield_now().await;
        asking.abort();
        assert!(asking.await.is_err());
        drop(tx);
        world.restart().await;
        world.run().await;
        assert_eq!(world.count("parent_questions").await, 0);
        assert_eq!(child.card().await.task_pending_action, None);
        assert!(!parent.texts().iter().any(|t| t.contains("Which store?")));
    }

    // D19
    async fn a_question_that_the_parent_has_is_not_repeated_and_the_indicator_is_back(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert!(parent.is_in_turn());
        let recovered = world.restart().await;
        assert_eq!(recovered.turns, 1);
        world.run().await;

        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
        assert_eq!(child.card().await.task_pending_action, Some(PendingAction::Clarification));
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert!(parent.card().await.interrupted);
        // The parent's conversation goes on where it was, and its answer counts.
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        world.assert_heard_once();
    }

    // D20
    async fn an_accepted_answer_gives_exactly_one_turn_after_a_crash(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.restart().await;
        world.run().await;
        assert_eq!(child.texts().iter().filter(|t| *t == "SQLite.").count(), 1);
        assert_eq!(world.question_status(question).await, QuestionStatus::Answered);
        assert!(child.is_in_turn());
        world.restart().await;
        world.run().await;
        assert_eq!(child.texts().iter().filter(|t| *t == "SQLite.").count(), 1);
        world.assert_heard_once();
    }

    // D20: within the delivery of the answer, before and after the agent had it.
    async fn an_answer_under_way_at_a_crash_arrives_exactly_once(db: TestDb) {
        let world = World::new(db).await;
        for agent_had_it in [false, true] {
            let (parent, child, question) = world.waiting_family().await;
            parent.reply(&child, question, "SQLite.").await.unwrap();
            let node = world.node();
            let delivery = node.take(child.session).await;
            if agent_had_it {
                node.hear(&delivery);
            }
            world.restart().await;
            world.run().await;
            assert_eq!(child.texts().iter().filter(|t| *t == "SQLite.").count(), 1, "agent had it: {agent_had_it}");
            assert_eq!(child.is_in_turn(), !agent_had_it);
            assert_eq!(child.card().await.interrupted, agent_had_it, "a turn that was under way is told to be broken off");
        }
        world.assert_heard_once();
    }

    // Rulings 16: every step of a delivery.
    async fn a_prompt_that_was_queued_is_delivered_after_a_crash(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        world.restart().await;
        world.run().await;
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        assert_eq!(puppet.texts(), ["Begin with Task."]);
        assert!(puppet.is_in_turn());
    }

    async fn a_launch_that_was_under_way_is_made_again(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        assert!(matches!(world.node().next(puppet.session).await.unwrap(), Next::Launch(_)));
        assert_eq!(puppet.state().await, SessionState::Starting);
        world.restart().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        world.run().await;
        assert_eq!(puppet.texts(), ["Begin with Task."]);
    }

    async fn a_prompt_that_was_attempted_and_not_seen_is_sent_once_in_the_same_turn(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        puppet.operator_says("Go on.").await;
        let first = world.node().take(puppet.session).await;
        assert!(!first.attempted_before);
        world.restart().await;
        let second = world.node().take(puppet.session).await;
        assert!(second.attempted_before);
        assert_eq!((first.prompt, first.turn), (second.prompt, second.turn));
        world.restart().await;
        world.run().await;

        let heard = puppet.last_heard();
        assert_eq!((heard.prompt, heard.turn), (first.prompt, first.turn));
        assert_eq!(puppet.texts().iter().filter(|t| *t == "Go on.").count(), 1);
        let told = puppet.messages_of(MessageType::Message).await;
        assert_eq!(told.iter().filter(|m| m.content == "Go on.").count(), 1, "one message, however often it was tried");
        assert_eq!(puppet.state().await, SessionState::Running);
        assert!(!puppet.card().await.interrupted);
    }

    async fn a_prompt_that_the_agent_has_in_its_history_is_not_sent_again(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        puppet.operator_says("Go on.").await;
        let node = world.node();
        let delivery = node.take(puppet.session).await;
        node.hear(&delivery);
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.texts().iter().filter(|t| *t == "Go on.").count(), 1);
        assert!(!puppet.is_in_turn());
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        let card = puppet.card().await;
        assert_eq!(card.state, TaskState::Review);
        assert!(card.interrupted, "somebody should know that it did not finish");
        assert_eq!(world.count("turns where state = 'interrupted'").await, 1);

        puppet.operator_says("Once more.").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Once more.");
        assert!(!puppet.card().await.interrupted, "cleared when it runs again");
        world.assert_heard_once();
    }

    async fn a_turn_that_ran_at_a_crash_is_interrupted_and_its_prompt_is_not_repeated(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let turn = world.node().turn(puppet.session).unwrap();
        let recovered = world.restart().await;
        assert_eq!((recovered.sessions, recovered.turns), (1, 1));
        world.run().await;
        assert_eq!(puppet.texts().len(), 1);
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert_eq!(puppet.card().await.state, TaskState::Review);
        assert!(puppet.card().await.interrupted);
        assert_eq!(puppet.step().await, "In Progress", "an interrupted turn moves no card");

        // Whoever still reports the old turn's end is not listened to.
        world.board().turn_ended(turn, NODE, &TurnOutcome::Stopped("end_turn".to_owned())).await.unwrap();
        assert_eq!(puppet.step().await, "In Progress");
        assert_eq!(world.count("turns where state = 'interrupted'").await, 1);
    }

    async fn what_waited_behind_the_interrupted_turn_goes_on(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.operator_says("And then this.").await;
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.texts(), ["Begin with Task.", "And then this."]);
        assert!(puppet.is_in_turn());
        assert!(!puppet.card().await.interrupted);
    }

    async fn a_finished_turn_stays_finished(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let recovered = world.restart().await;
        assert_eq!((recovered.sessions, recovered.turns), (1, 0), "its idle agent is gone, no work is");
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert!(!puppet.card().await.interrupted);
        assert!(!world.node().is_live(puppet.session), "nothing to say, nobody to start");
    }

    // Rulings 16: an agent that cannot load its conversation gets the prompt in a new one, with a note of what came before.
    async fn a_fresh_conversation_is_told_what_came_before(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        child.end_turn().await;
        world.run().await;
        world.disk().forget_conversations();
        world.restart().await;
        child.operator_says("Go on.").await;
        world.run().await;
        let heard = child.last_heard();
        assert!(heard.hidden().contains("new conversation"), "{}", heard.hidden());
        assert!(heard.hidden().contains("(1 turns)"), "{}", heard.hidden());
        assert!(heard.hidden().contains("the agent cannot load it"));
        assert!(heard.hidden().contains("autopilot mode"), "and its tools are explained again");
        child.end_turn().await;
        child.operator_says("And on.").await;
        world.run().await;
        assert!(!child.last_heard().hidden().contains("new conversation"), "said once");
    }

    // As before, with a prompt under way: it may have been heard, nobody can tell, so it is sent once more.
    async fn a_prompt_under_way_goes_into_the_fresh_conversation_with_a_note(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        puppet.operator_says("Go on.").await;
        let node = world.node();
        let delivery = node.take(puppet.session).await;
        node.hear(&delivery);
        world.disk().forget_conversations();
        world.restart().await;
        world.run().await;
        let heard = puppet.last_heard();
        assert_eq!((heard.prompt, heard.turn), (delivery.prompt, delivery.turn));
        assert!(heard.hidden().contains("(1 turns)"), "the turn under way is not an earlier one: {}", heard.hidden());
        assert_eq!(puppet.texts().iter().filter(|t| *t == "Go on.").count(), 2);
        let told = puppet.messages_of(MessageType::Message).await;
        assert_eq!(told.iter().filter(|m| m.content == "Go on.").count(), 1);
    }

    async fn a_conversation_that_had_no_turn_yet_needs_no_note(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        world.node().take(puppet.session).await;
        world.disk().forget_conversations();
        world.restart().await;
        world.run().await;
        let heard = puppet.last_heard();
        assert!(heard.hidden().contains("You work on the task"));
        assert!(!heard.hidden().contains("new conversation"), "{}", heard.hidden());
    }

    // A tool call proves that the agent had the prompt, even if its acceptance was never recorded.
    async fn a_prompt_whose_agent_asked_within_it_is_not_sent_again(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        let params = CreateTask { autopilot: true, ..prompted("Child") };
        let created = parent.create(params).await.unwrap();
        let child = world.puppet(created.task.id, created.session_id.unwrap());
        let node = world.node();
        let delivery = node.take(child.session).await;
        node.hear(&delivery);
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.disk().forget_conversations();
        world.restart().await;
        world.run().await;
        assert_eq!(child.texts().len(), 1);
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        assert_eq!(child.texts().len(), 2);
    }

    async fn repeated_reports_change_nothing(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let turn = world.node().turn(puppet.session).unwrap();
        let board = world.board();
        board.prompt_accepted(turn, NODE).await.unwrap();
        puppet.end_turn().await;
        world.run().await;
        let before = world.count("events").await;
        board.prompt_accepted(turn, NODE).await.unwrap();
        board.turn_ended(turn, NODE, &TurnOutcome::Cancelled).await.unwrap();
        board.question_grace_over(puppet.session).await.unwrap();
        assert_eq!(world.count("events").await, before);
        assert_eq!(world.count("turns where state = 'completed'").await, 1);
    }

    // Task-domain 4.8: what should not exist is put right at start.
    async fn an_orphaned_question_becomes_stale_at_start(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        // No operation leaves this behind; a broken one, or a hand in the database, might.
        world.execute(&format!("update tasks set archived_at = 1 where id = '{}'", parent.task)).await;
        world.execute(&format!("update sessions set state = 'CANCELLED', completed_at = 1, holder = null where id = '{}'", parent.session)).await;
        world.execute(&format!("update mcp_sessions set revoked_at = 1 where session_id = '{}'", parent.session)).await;
        let recovered = world.board().recover(NODE).await.unwrap();
        assert_eq!(recovered.questions, 1);
        assert_eq!(world.question_status(question).await, QuestionStatus::Stale);
        assert_eq!(child.card().await.task_pending_action, None);
        world.run().await;
    }

    async fn tokens_of_before_the_crash_open_no_door(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let old = world.node().token(puppet.session).unwrap();
        assert_eq!(world.board().authenticate(&old).await.unwrap(), Some(puppet.actor()));
        world.restart().await;
        puppet.operator_says("Go on.").await;
        world.run().await;
        let new = world.node().token(puppet.session).unwrap();
        assert_eq!(world.board().authenticate(&old).await.unwrap(), None);
        assert_eq!(world.board().authenticate(&new).await.unwrap(), Some(puppet.actor()));
    }

    // A resume that had nothing to say must not leave a card that claims to be starting.
    async fn a_resume_that_was_under_way_settles_after_a_crash(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        world.node().break_agent(puppet.session);
        world.run().await;
        assert_eq!(puppet.card().await.state, TaskState::Failed);
        let waiting = world.read(async |db| store::queue::list(db, puppet.session).await).await;
        world.board().prompt_remove(&board::Actor::Operator, waiting[0].id).await.unwrap();
        world.board().session_resume(&board::Actor::Operator, puppet.session).await.unwrap();
        assert!(matches!(world.node().next(puppet.session).await.unwrap(), Next::Launch(_)));
        assert_eq!(puppet.card().await.state, TaskState::Scheduling);
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert_eq!(puppet.card().await.state, TaskState::Review);
    }
}
