//! Explicit input of the operator or the direct parent withdraws a question; everybody else's words wait behind it.

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::params::MoveTask;
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::view::DeliveryStatus;

store::on_both_engines! {
    // D11
    async fn an_operators_message_supersedes_the_question_and_runs(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let outcome = child.operator_says("Use SQLite and go on.").await;
        assert_eq!(outcome.status, DeliveryStatus::Sent);
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert_eq!(child.card().await.task_pending_action, None);
        world.run().await;
        assert_eq!(child.last_heard().text, "Use SQLite and go on.");

        let refusal = refused(parent.reply(&child, question, "Postgres.").await, ErrorCode::Validation);
        assert!(refusal.message.contains("superseded"), "{refusal}");
        world.run().await;
        assert_eq!(child.last_heard().text, "Use SQLite and go on.");
    }

    // D11: to the task rather than to its session.
    async fn an_operators_prompt_to_the_task_supersedes_too(db: TestDb) {
        let world = World::new(db).await;
        let (_, child, question) = world.waiting_family().await;
        world.board().prompt_task(&Actor::Operator, child.task, "Go on.", None).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert_eq!(child.last_heard().text, "Go on.");
    }

    // D11: the question is still in the parent's queue.
    async fn a_superseded_question_no_longer_reaches_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        child.operator_says("Go on.").await;
        assert!(parent.waiting().await.is_empty());
        parent.end_turn().await;
        world.run().await;
        assert_eq!(parent.texts().len(), 1);
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
    }

    // D12
    async fn a_parents_other_message_supersedes_and_runs(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let outcome = parent.tell(child.task, "Forget that, do the tests first.").await.unwrap();
        assert_eq!(outcome.status, DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert_eq!(child.last_heard().text, "Forget that, do the tests first.");
        refused(parent.reply(&child, question, "SQLite.").await, ErrorCode::Validation);
    }

    // D12: interrupt, of a child that waits and of one that is still in its asking turn.
    async fn a_parents_interrupt_supersedes_and_runs(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let outcome = parent.interrupt(child.task, "Stop, new goal.").await.unwrap();
        assert_eq!(outcome.status, DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert_eq!(child.last_heard().text, "Stop, new goal.");

        let second = child.ask("And now?").await.unwrap().question_id;
        let node = world.node();
        let interrupt = tokio::spawn({
            let (parent, task) = (parent.clone(), child.task);
            async move { parent.interrupt(task, "Yet another goal.").await.unwrap().status }
        });
        while !interrupt.is_finished() {
            node.step(1).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(interrupt.await.unwrap(), DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(world.question_status(second).await, QuestionStatus::Superseded);
        assert_eq!(child.last_heard().text, "Yet another goal.");
    }

    // D12: the message that supersedes goes before what was held.
    async fn the_superseding_message_goes_before_what_was_held(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, _) = world.waiting_family().await;
        let sibling = world.child(&parent, "Sibling").await;
        sibling.tell(child.task, "held").await.unwrap();
        child.operator_says("first").await;
        world.run().await;
        assert_eq!(child.last_heard().text, "first");
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.last_heard().text, "held");
    }

    // D13
    async fn messages_of_siblings_children_and_strangers_are_held_and_run_after_the_answer(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        let child = world.child(&parent, "Child").await;
        let grandchild = world.child(&child, "Grandchild").await;
        let sibling = world.child(&parent, "Sibling").await;
        let stranger = world.working("Stranger").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;

        for (sender, text) in [(&sibling, "from a sibling"), (&grandchild, "from a child"), (&stranger, "from afar")] {
            let outcome = sender.tell(child.task, text).await.unwrap();
            assert_eq!(outcome.status, DeliveryStatus::Queued);
        }
        // A grandchild's question is no exception.
        grandchild.ask_and_wait("Which name?").await;
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(child.heard().len(), 1);
        assert_eq!(child.state().await, SessionState::WaitingForInput);

        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        for expected in ["SQLite.", "from a sibling", "from a child", "from afar", "Which name?"] {
            assert!(child.last_heard().text.contains(expected), "{}", child.last_heard().text);
            child.end_turn().await;
            world.run().await;
        }
    }

    // Rulings 11.
    async fn a_move_into_a_step_that_starts_supersedes_and_the_child_goes_on(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let to = |step: &str| MoveTask::to(world.step(step));
        world.board().task_move(&Actor::Operator, child.task, &to("Backlog")).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending, "a step without a start leaves it");
        assert_eq!(child.card().await.task_pending_action, Some(domain::task::PendingAction::Clarification));

        world.board().task_move(&Actor::Operator, child.task, &to("In Progress")).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert!(child.is_in_turn());
        assert!(child.last_heard().text.contains("In Progress"), "{}", child.last_heard().text);
        refused(parent.reply(&child, question, "SQLite.").await, ErrorCode::Validation);
    }

    // Rulings 11.
    async fn only_the_operator_and_the_direct_parent_move_a_waiting_child(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let sibling = world.child(&parent, "Sibling").await;
        let token = world.board().token_create(&Actor::Operator, "client").await.unwrap().info.id;
        let to = |step: &str| MoveTask::to(world.step(step));
        for actor in [sibling.actor(), child.actor(), Actor::System, Actor::External { token }] {
            refused(world.board().task_move(&actor, child.task, &to("Done")).await, ErrorCode::Conflict);
        }
        assert_eq!(child.step().await, "In Progress");
        world.board().task_move(&parent.actor(), child.task, &to("Done")).await.unwrap();
        assert_eq!(child.step().await, "Done");
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        world.board().task_move(&parent.actor(), child.task, &to("In Progress")).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert!(child.is_in_turn());
    }

    // Task-domain 4.6: a resume without words is no input.
    async fn a_resume_without_words_leaves_the_question_pending(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().session_resume(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }
}
