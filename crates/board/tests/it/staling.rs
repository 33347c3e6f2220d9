//! What ends a child, or parts it from its parent, makes its question stale; a late answer is refused.

use crate::puppet::Puppet;
use crate::world::{NODE, World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::QuestionId;
use domain::message::MessageType;
use domain::params::{CreateTask, UpdateTask};
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::TaskState;
use serde_json::json;

/// The question is stale, nothing shows that the child waits, and the answer comes too late.
async fn assert_stale(world: &World, parent: &Puppet, child: &Puppet, question: QuestionId) {
    world.run().await;
    assert_eq!(world.question_status(question).await, QuestionStatus::Stale);
    assert_eq!(child.card().await.task_pending_action, None);
    let heard = child.heard().len();
    refused(
        parent.reply(child, question, "SQLite.").await,
        ErrorCode::Validation,
    );
    world.run().await;
    assert_eq!(child.heard().len(), heard);
    let asked = child
        .messages_of(MessageType::ClarificationRequest)
        .await
        .remove(0);
    assert_eq!(asked.metadata["status"], json!("stale"));
}

fn new_parent(parent: Option<&Puppet>) -> UpdateTask {
    UpdateTask {
        parent_id: Some(parent.map(|p| p.task)),
        ..UpdateTask::default()
    }
}

store::on_both_engines! {
    // D14: archive.
    async fn archiving_the_child_makes_its_question_stale(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().task_archive(&Actor::Operator, child.task).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
    }

    // D14: stop by the operator.
    async fn stopping_the_childs_session_makes_its_question_stale(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().session_stop(&Actor::Operator, child.session).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
        assert_eq!(child.state().await, SessionState::Cancelled);
    }

    // D14: stop by the parent, which wins over everything that the question would still write.
    async fn a_parents_stop_makes_the_question_stale(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.run().await;
        assert!(world.board().task_stop(&parent.actor(), child.task).await.unwrap());
        world.board().question_grace_over(child.session).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
        assert_eq!(child.state().await, SessionState::Cancelled);
        assert_eq!(child.card().await.state, TaskState::Review);
    }

    // D14: cancel, by the operator, of a child that waits.
    async fn an_operators_cancel_ends_the_wait(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        assert!(world.board().session_cancel(&Actor::Operator, child.session).await.unwrap());
        assert_stale(&world, &parent, &child, question).await;
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert!(!world.board().session_cancel(&Actor::Operator, child.session).await.unwrap(), "nothing is left to cancel");
    }

    // D14: cancel within the asking turn.
    async fn an_operators_cancel_of_the_asking_turn_ends_turn_and_wait(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        assert!(world.board().session_cancel(&Actor::Operator, child.session).await.unwrap());
        assert_stale(&world, &parent, &child, question).await;
        assert!(!child.is_in_turn());
        assert!(parent.waiting().await.is_empty());
    }

    // D14: the child's task is closed by hand.
    async fn a_child_that_is_marked_as_finished_waits_for_nothing(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        for state in ["done", "failed", "cancelled"] {
            let params = CreateTask { parent_id: Some(parent.task), autopilot: true, ..prompted("Child") };
            let child = world.start(params).await;
            let question = child.ask_and_wait("Which store?").await;
            world.run().await;
            parent.end_turn().await;
            let params = UpdateTask { state: Some(state.to_owned()), ..UpdateTask::default() };
            world.board().task_update(&Actor::Operator, child.task, params).await.unwrap();
            assert_stale(&world, &parent, &child, question).await;
        }
    }

    // D14: the child's agent dies.
    async fn a_session_that_fails_makes_its_question_stale(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.node().die(child.session).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
        assert_eq!(child.state().await, SessionState::Failed);
    }

    // D14: delete.
    async fn deleting_the_child_takes_its_question_with_it(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        world.board().task_delete(&Actor::Operator, child.task).await.unwrap();
        world.run().await;
        assert!(parent.waiting().await.is_empty(), "nobody asks any more");
        refused(parent.reply(&child, question, "SQLite.").await, ErrorCode::NotFound);
        parent.end_turn().await;
        world.run().await;
        assert_eq!(parent.texts().len(), 1);
    }

    // Rulings 11: the parent is archived.
    async fn archiving_the_parent_makes_the_question_stale_and_frees_the_child(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let stranger = world.working("Stranger").await;
        stranger.tell(child.task, "held").await.unwrap();
        world.run().await;
        world.board().task_archive(&Actor::Operator, parent.task).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
        assert_eq!(child.last_heard().text, "held", "the gate is open again");
    }

    // Rulings 11: the parent is deleted; its children become top-level tasks.
    async fn deleting_the_parent_makes_the_question_stale_and_the_child_a_root(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().task_delete(&Actor::Operator, parent.task).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Stale);
        let card = child.card().await;
        assert_eq!(card.parent_id, None);
        assert_eq!(card.task_pending_action, None);
        assert!(card.autopilot, "it stays what it was made as");
        child.operator_says("Go on.").await;
        world.run().await;
        let refusal = refused(child.ask("Which store?").await, ErrorCode::Validation);
        assert!(refusal.message.contains("no parent"), "{refusal}");
    }

    // D15
    async fn after_reparenting_neither_the_old_nor_the_new_parent_answers(db: TestDb) {
        let world = World::new(db).await;
        let (old, child, question) = world.waiting_family().await;
        let new = world.resting("New parent").await;
        world.board().task_update(&Actor::Operator, child.task, new_parent(Some(&new))).await.unwrap();
        assert_stale(&world, &old, &child, question).await;
        let refusal = refused(new.reply(&child, question, "SQLite.").await, ErrorCode::Validation);
        assert!(refusal.message.contains("that was asked"), "{refusal}");

        // The next question goes to the new parent.
        child.operator_says("Go on.").await;
        world.run().await;
        let asked = child.ask("Which store?").await.unwrap();
        assert_eq!(asked.parent_task_id, new.task);
    }

    // D15: back again, the old question stays as it ended.
    async fn a_stale_question_does_not_come_back_with_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        for parent in [None, Some(&parent)] {
            world.board().task_update(&Actor::Operator, child.task, new_parent(parent)).await.unwrap();
        }
        assert_stale(&world, &parent, &child, question).await;
    }

    async fn reparenting_to_the_same_parent_changes_nothing(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        world.board().task_update(&Actor::Operator, child.task, new_parent(Some(&parent))).await.unwrap();
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
    }

    async fn a_stale_question_no_longer_reaches_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let question = child.ask_and_wait("Which store?").await;
        world.board().session_stop(&Actor::Operator, child.session).await.unwrap();
        assert!(parent.waiting().await.is_empty());
        parent.end_turn().await;
        world.run().await;
        assert_eq!(parent.texts().len(), 1);
        assert_eq!(world.question_status(question).await, QuestionStatus::Stale);
    }

    // Only what hangs on the relation ends: the questions of its own children are none of a child's new parent's business.
    async fn reparenting_a_child_leaves_the_questions_of_its_own_children(db: TestDb) {
        let world = World::new(db).await;
        let root = world.resting("Root").await;
        let middle = world.child(&root, "Middle").await;
        let leaf = world.child(&middle, "Leaf").await;
        let question = leaf.ask_and_wait("Which store?").await;
        world.run().await;
        world.board().task_update(&Actor::Operator, middle.task, new_parent(None)).await.unwrap();
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        middle.end_turn().await;
        world.run().await;
        middle.reply(&leaf, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(leaf.last_heard().text, "SQLite.");
    }

    async fn an_archived_and_unarchived_child_starts_afresh(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let operator = Actor::Operator;
        world.board().task_archive(&operator, child.task).await.unwrap();
        world.board().task_unarchive(&operator, child.task).await.unwrap();
        assert_stale(&world, &parent, &child, question).await;
        world.board().session_resume(&operator, child.session).await.unwrap();
        child.operator_says("Go on.").await;
        world.run().await;
        assert_eq!(child.last_heard().text, "Go on.");
    }

    // A failed launch keeps a prompt that was under way; archiving must not leave its turn open for ever.
    async fn a_task_archived_with_an_undecided_prompt_can_be_brought_back(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(CreateTask { ..prompted("Task") }).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        world.node().take(puppet.session).await;
        world.board().session_failed(puppet.session, NODE, "it died").await.unwrap();
        world.check().await;
        let operator = Actor::Operator;
        world.board().task_archive(&operator, puppet.task).await.unwrap();
        world.run().await;
        world.board().task_unarchive(&operator, puppet.task).await.unwrap();
        world.board().session_resume(&operator, puppet.session).await.unwrap();
        world.run().await;
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Go on.");
    }
}
