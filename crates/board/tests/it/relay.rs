//! Three levels: the middle task asks on its own behalf and answers on its own behalf; nothing is forwarded.

use crate::world::{World, refused};
use domain::error::ErrorCode;
use domain::question::QuestionStatus;
use domain::session::SessionState;

store::on_both_engines! {
    // D23
    async fn a_question_is_relayed_in_two_hops_with_two_ids(db: TestDb) {
        let world = World::new(db).await;
        let root = world.resting("Root").await;
        let middle = world.child(&root, "Middle").await;
        let leaf = world.child(&middle, "Leaf").await;
        middle.end_turn().await;
        world.run().await;

        let lower = leaf.ask_and_wait("Which store?").await;
        world.run().await;
        assert!(middle.last_heard().text.contains("Which store?"));
        let upper = middle.ask_and_wait("My child asks me which store to use. Which?").await;
        world.run().await;
        assert_ne!(lower, upper);
        assert_eq!(world.question(upper).await.parent_task_id, root.task);
        // Neither can be answered past the middle, nor with the other's id.
        refused(root.reply(&leaf, lower, "SQLite.").await, ErrorCode::Validation);
        refused(root.reply(&middle, lower, "SQLite.").await, ErrorCode::Validation);
        refused(middle.reply(&leaf, upper, "SQLite.").await, ErrorCode::Validation);
        for (puppet, question) in [(&leaf, lower), (&middle, upper)] {
            assert_eq!(puppet.state().await, SessionState::WaitingForInput);
            assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        }

        root.reply(&middle, upper, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(upper).await, QuestionStatus::Answered);
        assert_eq!(world.question_status(lower).await, QuestionStatus::Pending, "the middle answers it, nobody else");
        assert_eq!(middle.last_heard().text, "SQLite.");
        middle.reply(&leaf, lower, "SQLite, says my parent.").await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(lower).await, QuestionStatus::Answered);
        assert_eq!(leaf.last_heard().text, "SQLite, says my parent.");
        world.assert_heard_once();
    }

    // Task-domain 4.6: a middle task that waits itself does not hear its child's question before its own answer.
    async fn a_question_to_a_task_that_waits_itself_is_held_behind_the_answer(db: TestDb) {
        let world = World::new(db).await;
        let root = world.resting("Root").await;
        let middle = world.child(&root, "Middle").await;
        let leaf = world.child(&middle, "Leaf").await;
        let upper = middle.ask_and_wait("Which plan?").await;
        world.run().await;
        let lower = leaf.ask_and_wait("Which store?").await;
        world.run().await;
        assert_eq!(middle.heard().len(), 1);
        assert_eq!(world.question_status(upper).await, QuestionStatus::Pending);

        root.reply(&middle, upper, "Plan B.").await.unwrap();
        world.run().await;
        assert_eq!(middle.last_heard().text, "Plan B.");
        middle.end_turn().await;
        world.run().await;
        assert!(middle.last_heard().text.contains("Which store?"));
        middle.reply(&leaf, lower, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(leaf.last_heard().text, "SQLite.");
    }
}
