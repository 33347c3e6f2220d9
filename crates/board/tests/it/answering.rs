//! A parent answers: exactly one answer is accepted, and it reaches the child as one prompt ahead of everything that waits.

use crate::puppet::note;
use crate::world::{World, refused};
use board::Actor;
use domain::clarification::{AnswerItem, ClarificationAnswer};
use domain::error::ErrorCode;
use domain::ids::{ClarificationId, QuestionId, SessionId};
use domain::message::MessageType;
use domain::params::DeliveryMode;
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::TaskState;
use domain::view::DeliveryStatus;
use serde_json::json;

store::on_both_engines! {
    // D6
    async fn an_answer_gives_the_child_one_turn_and_clears_the_indicator(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let turns = child.heard().len();

        let outcome = parent.reply(&child, question, "SQLite.").await.unwrap();
        assert_eq!(outcome.status, DeliveryStatus::Sent);
        assert_eq!(outcome.session_id, Some(child.session));
        assert!(outcome.queue_entry_id.is_some());
        // Cleared by the acceptance; the card goes on when the agent has the prompt (rulings 10).
        assert_eq!(child.card().await.task_pending_action, None);
        assert_eq!(child.card().await.state, TaskState::Review);

        world.run().await;
        assert_eq!(child.heard().len(), turns + 1);
        assert_eq!(child.last_heard().text, "SQLite.");
        assert_eq!(child.state().await, SessionState::Running);
        assert_eq!(child.card().await.state, TaskState::InProgress);
        let stored = world.question(question).await;
        assert_eq!(stored.status, QuestionStatus::Answered);
        assert_eq!(stored.response.as_deref(), Some("SQLite."));
        assert_eq!(stored.answered_by_session_id, Some(parent.session));
    }

    async fn the_answer_says_whose_it_is_and_what_it_answers(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        let heard = child.last_heard();
        assert_eq!(heard.field("answered_question_id"), Some(question.to_string().as_str()));
        assert!(heard.hidden().contains(&parent.task.to_string()));
        let message = child.messages_of(MessageType::Message).await.pop().unwrap();
        assert_eq!(message.metadata["sender_task_id"], json!(parent.task));
        assert_eq!(message.metadata["parent_question_id"], json!(question));
        assert_eq!(message.metadata["parent_question_response"], json!("SQLite."));
        let asked = child.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!(asked.metadata["parent_question_status"], json!("answered"));
        assert_eq!(asked.metadata["parent_question_response"], json!("SQLite."));
        assert!(asked.metadata["parent_question_answered_at"].is_string());
        assert!(!asked.requests_input, "nobody is expected to answer it any more");
        // Where it was put it is shown how it ended, too.
        let put = parent.messages_of(MessageType::Message).await;
        let put = put.iter().find(|m| m.metadata.get("parent_question_id") == Some(&json!(question))).unwrap();
        assert_eq!(put.metadata["parent_question_status"], json!("answered"));
        assert_eq!(put.metadata["parent_question_response"], json!("SQLite."));
    }

    async fn the_parents_transcript_shows_that_a_question_was_withdrawn(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        child.operator_says("Never mind.").await;
        let put = parent.messages_of(MessageType::Message).await;
        let put = put.iter().find(|m| m.metadata.get("parent_question_id") == Some(&json!(question))).unwrap();
        assert_eq!(put.metadata["parent_question_status"], json!("superseded"));
        assert!(!put.metadata.contains_key("parent_question_response"));
    }

    // D7
    async fn a_repeated_answer_gets_the_first_outcome_and_starts_nothing(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        let turns = child.heard().len();

        for text in ["SQLite.", "Postgres after all."] {
            let again = parent.reply(&child, question, text).await.unwrap();
            assert_eq!(again.status, DeliveryStatus::AlreadyAnswered);
            assert_eq!(again.reply_to_question_id, Some(question));
            assert_eq!(again.session_id, Some(child.session));
            assert_eq!(again.answered_at, world.question(question).await.resolved_at);
            assert_eq!(again.queue_entry_id, None);
        }
        world.run().await;
        assert_eq!(child.heard().len(), turns);
        assert_eq!(world.question(question).await.response.as_deref(), Some("SQLite."));
    }

    // D9
    async fn strangers_siblings_and_grandparents_cannot_answer(db: TestDb) {
        let world = World::new(db).await;
        let grandparent = world.resting("Grandparent").await;
        let parent = world.child(&grandparent, "Parent").await;
        let child = world.child(&parent, "Child").await;
        let sibling = world.child(&parent, "Sibling").await;
        let stranger = world.working("Stranger").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;

        for puppet in [&grandparent, &sibling, &stranger] {
            let refusal = refused(puppet.reply(&child, question, "Postgres.").await, ErrorCode::Validation);
            assert!(refusal.message.contains("direct parent"), "{refusal}");
        }
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(child.waiting().await.len(), 0);
        assert_eq!(child.state().await, SessionState::WaitingForInput);
    }

    // D9: the child itself.
    async fn a_child_cannot_answer_itself_from_a_sibling_session(db: TestDb) {
        let world = World::new(db).await;
        let (_, child, question) = world.waiting_family().await;
        let mut message = note(child.task, "SQLite, I say.");
        message.session_id = Some(child.session);
        message.reply_to_question_id = Some(question.to_string());
        let other = world.puppet(child.task, SessionId::new());
        refused(other.send(message.clone()).await, ErrorCode::NotFound);
        refused(child.send(message).await, ErrorCode::Validation);
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
    }

    // D9: the operator's answer endpoint does not know parent questions.
    async fn the_operator_cannot_answer_in_the_parents_place(db: TestDb) {
        let world = World::new(db).await;
        let (_, child, question) = world.waiting_family().await;
        let as_bundle = ClarificationId::parse(&question.to_string()).unwrap();
        let answer = ClarificationAnswer {
            answers: vec![AnswerItem {
                question_id: "q1".to_owned(),
                custom_text: Some("SQLite.".to_owned()),
                ..AnswerItem::default()
            }],
            ..ClarificationAnswer::default()
        };
        refused(
            world.board().clarification_respond(&Actor::Operator, as_bundle, &answer).await,
            ErrorCode::NotFound,
        );
        let page = world.board().task_page(&Actor::Operator, child.task).await.unwrap();
        assert!(page.clarifications.is_empty(), "it is not listed among the operator's questions");
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
    }

    // D10
    async fn an_answer_to_another_session_is_refused(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let mut message = note(child.task, "SQLite.");
        message.reply_to_question_id = Some(question.to_string());
        message.session_id = Some(SessionId::new());
        refused(parent.send(message.clone()).await, ErrorCode::Validation);
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);

        message.session_id = Some(child.session);
        assert_eq!(parent.send(message).await.unwrap().status, DeliveryStatus::Sent);
    }

    async fn an_answer_with_a_wrong_unknown_or_shortened_id_is_refused(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let other = world.child(&parent, "Other").await;
        refused(parent.reply(&other, question, "SQLite.").await, ErrorCode::Validation);
        refused(parent.reply(&child, QuestionId::new(), "SQLite.").await, ErrorCode::Validation);
        let mut short = note(child.task, "SQLite.");
        short.reply_to_question_id = Some(question.to_string()[..8].to_owned());
        let refusal = refused(parent.send(short).await, ErrorCode::Validation);
        assert!(refusal.message.contains("shortened"), "{refusal}");
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert!(child.waiting().await.is_empty());
    }

    // Task-domain 4.5: delivery_mode has no meaning for an answer.
    async fn an_answer_that_interrupts_is_an_answer(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let mut message = note(child.task, "SQLite.");
        message.reply_to_question_id = Some(question.to_string());
        message.delivery_mode = DeliveryMode::Interrupt;
        assert_eq!(parent.send(message).await.unwrap().status, DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Answered);
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    // D17
    async fn the_answer_goes_before_everything_that_waited_longer(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let sibling = world.child(&parent, "Sibling").await;
        sibling.tell(child.task, "held before asking").await.unwrap();
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        sibling.tell(child.task, "held while waiting").await.unwrap();
        world.run().await;
        assert_eq!(child.heard().len(), 1, "everything is held while the question is pending");

        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        for expected in ["SQLite.", "held before asking", "held while waiting"] {
            assert_eq!(child.last_heard().text, expected);
            child.end_turn().await;
            world.run().await;
        }
    }

    // A parent that reads its child's conversation may answer before the question reached it.
    async fn an_answer_before_the_question_was_delivered_takes_the_question_out_of_the_queue(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert_eq!(parent.waiting().await.len(), 1);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        assert!(parent.waiting().await.is_empty());
        parent.end_turn().await;
        world.run().await;
        assert_eq!(parent.texts().len(), 1, "nobody asks what was answered");
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    async fn an_answer_that_comes_before_the_asking_turn_ended_is_delivered_after_it(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.run().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.heard().len(), 1);
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        assert_eq!(child.step().await, "In Progress", "the answer was still to come");
    }

    // Task-domain 4.7: an accepted answer survives the failure of the agent it is for.
    async fn an_answer_to_a_child_whose_agent_cannot_start_waits_until_it_can(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let node = world.node();
        node.die(child.session).await.unwrap();
        node.break_agent(child.session);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.state().await, SessionState::Failed);
        assert_eq!(child.card().await.state, TaskState::Review, "a failed resume leaves the card where it was");
        assert_eq!(child.waiting().await, ["SQLite."]);

        node.mend_agent(child.session);
        world.board().session_resume(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        world.assert_heard_once();
    }

    async fn an_answer_under_way_to_a_child_that_is_stopped_waits_for_its_resume(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.node().take(child.session).await;
        world.board().session_stop(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(child.waiting().await, ["SQLite."]);
        world.board().session_resume(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        world.assert_heard_once();
    }

    // As before, but the agent had the prompt when it was stopped: it is not sent again.
    async fn an_answer_that_a_stopped_child_has_in_its_history_is_not_sent_again(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        let node = world.node();
        let delivery = node.take(child.session).await;
        node.hear(&delivery);
        world.board().session_stop(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        world.board().session_resume(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert!(child.waiting().await.is_empty());
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        world.assert_heard_once();
    }
}
