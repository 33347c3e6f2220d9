//! Questions to the operator: live, detached, skipped, expired.

use crate::puppet::{Puppet, choice};
use crate::world::{NODE, World, prompted, refused, soon};
use board::{Actor, TurnOutcome};
use domain::clarification::{AnswerItem, ClarificationAnswer, ClarificationStatus};
use domain::error::ErrorCode;
use domain::ids::ClarificationId;
use domain::message::MessageType;
use domain::params::CreateTask;
use domain::question::MAX_FREE_TEXT;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use domain::view::{ClarificationOutcome, DeliveryStatus};
use serde_json::{Value, json};

async fn ask(puppet: &Puppet, prompt: &str) -> ClarificationId {
    puppet
        .world
        .board()
        .ask_operator(&puppet.actor(), &choice(prompt), &json!({"prompt": prompt}))
        .await
        .unwrap()
}

fn option(id: &str) -> ClarificationAnswer {
    ClarificationAnswer {
        answers: vec![AnswerItem {
            question_id: "q1".to_owned(),
            selected_options: vec![id.to_owned()],
            custom_text: None,
        }],
        ..ClarificationAnswer::default()
    }
}

fn skip(reason: &str) -> ClarificationAnswer {
    ClarificationAnswer {
        rejected: true,
        reject_reason: Some(reason.to_owned()),
        ..ClarificationAnswer::default()
    }
}

async fn respond(
    world: &World,
    id: ClarificationId,
    answer: &ClarificationAnswer,
) -> board::Result<ClarificationOutcome> {
    world
        .board()
        .clarification_respond(&Actor::Operator, id, answer)
        .await
}

async fn status(world: &World, id: ClarificationId) -> ClarificationStatus {
    world
        .read(async |db| store::clarifications::find(db, id).await)
        .await
        .unwrap()
        .status
}

store::on_both_engines! {
    async fn a_waiting_call_gets_the_operators_answer_in_the_same_turn(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.check().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        let card = puppet.card().await;
        assert_eq!((card.state, card.task_pending_action), (TaskState::Review, Some(PendingAction::Clarification)));
        assert!(card.needs_operator);
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert!(shown.requests_input);
        assert_eq!(shown.metadata["pending_id"], json!(id));

        let waiting = tokio::spawn({
            let board = world.board();
            async move { board.clarification_wait(id).await.unwrap() }
        });
        let outcome = respond(&world, id, &option("q1_opt2")).await.unwrap();
        assert!(outcome.success && outcome.claimed);
        assert_eq!(outcome.status, ClarificationStatus::Answered);
        let result = soon(waiting).await.unwrap();
        assert_eq!(result, json!({"q1": {"selected_option": {"id": "q1_opt2", "label": "Postgres"}}}));
        assert_eq!(outcome.response, Some(result));
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Running);
        assert_eq!(puppet.card().await.state, TaskState::InProgress);
        assert_eq!(puppet.texts().len(), 1, "no new prompt: the call returned");
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert!(!shown.requests_input);
        assert_eq!(shown.metadata["response"]["selected_option"]["label"], json!("Postgres"));
    }

    async fn a_bundle_of_several_questions_is_shown_and_answered_as_one(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let mut bundle = choice("Which store?");
        bundle.questions.extend(choice("Which host?").questions);
        let id = world.board().ask_operator(&puppet.actor(), &bundle, &json!({})).await.unwrap();
        assert_eq!(puppet.messages_of(MessageType::ClarificationRequest).await.len(), 2);
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Validation);
        assert_eq!(status(&world, id).await, ClarificationStatus::Pending);
        let mut both = option("q1_opt1");
        both.answers.push(AnswerItem {
            question_id: "q2".to_owned(),
            selected_options: vec!["q2_opt2".to_owned()],
            custom_text: Some(" and cheap ".to_owned()),
        });
        let response = respond(&world, id, &both).await.unwrap().response.unwrap();
        assert_eq!(response["q2"]["custom_text"], json!("and cheap"));
        world.check().await;
    }

    async fn an_answer_out_of_bounds_changes_nothing(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        let mut long = option("q1_opt1");
        long.answers[0].custom_text = Some("é".repeat(MAX_FREE_TEXT + 1));
        let long_reason = skip(&"é".repeat(MAX_FREE_TEXT + 1));
        for bad in [option("nonsense"), ClarificationAnswer::default(), long.clone(), long_reason] {
            refused(respond(&world, id, &bad).await, ErrorCode::Validation);
        }
        refused(respond(&world, ClarificationId::new(), &option("q1_opt1")).await, ErrorCode::NotFound);
        refused(
            world.board().clarification_respond(&puppet.actor(), id, &option("q1_opt1")).await,
            ErrorCode::Forbidden,
        );
        assert_eq!(status(&world, id).await, ClarificationStatus::Pending);
        long.answers[0].custom_text = Some("é".repeat(MAX_FREE_TEXT));
        assert!(respond(&world, id, &long).await.unwrap().claimed);
    }

    async fn a_skip_reaches_the_waiting_call_and_the_turn_goes_on(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        let outcome = respond(&world, id, &skip("Decide yourself.")).await.unwrap();
        assert_eq!(outcome.status, ClarificationStatus::Rejected);
        let result = soon(world.board().clarification_wait(id)).await.unwrap();
        assert_eq!(
            result,
            json!({"q1": {"answered": false, "rejected": true}, "rejected": true, "reject_reason": "Decide yourself."})
        );
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Running);
        assert_eq!(puppet.texts().len(), 1);
    }

    async fn a_repeated_call_waits_for_the_same_bundle(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let first = ask(&puppet, "Which store?").await;
        world.board().clarification_detach(first).await.unwrap();
        assert_eq!(ask(&puppet, "Which store?").await, first);
        let page = world.board().task_page(&Actor::Operator, puppet.task).await.unwrap();
        assert_eq!(page.clarifications.len(), 1);
        assert!(!page.clarifications[0].agent_disconnected, "somebody waits again");
        assert_ne!(ask(&puppet, "Which host?").await, first);
    }

    async fn the_turn_goes_on_when_the_last_of_its_bundles_is_answered(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let first = ask(&puppet, "Which store?").await;
        let second = ask(&puppet, "Which host?").await;
        respond(&world, first, &option("q1_opt1")).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        respond(&world, second, &option("q1_opt1")).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::Running);
    }

    // Task-domain 5.5 and 5.6.
    async fn a_detached_bundle_is_answered_by_a_prompt_in_words(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress", "an open question holds the card");
        let page = world.board().task_page(&Actor::Operator, puppet.task).await.unwrap();
        assert!(page.clarifications[0].agent_disconnected);
        assert_eq!(puppet.card().await.task_pending_action, Some(PendingAction::Clarification));

        let mut answer = option("q1_opt1");
        answer.answers[0].custom_text = Some("the embedded one".to_owned());
        assert!(respond(&world, id, &answer).await.unwrap().claimed);
        assert!(!respond(&world, id, &option("q1_opt2")).await.unwrap().claimed);
        world.run().await;
        let text = puppet.last_heard().text;
        assert!(text.contains("Which store?") && text.contains("SQLite; the embedded one"), "{text}");
        assert_eq!(puppet.texts().len(), 2);
        assert_eq!(puppet.card().await.task_pending_action, None);
    }

    async fn the_answer_to_a_detached_bundle_goes_before_what_waits(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.board().session_auto_run(&Actor::Operator, puppet.session, false).await.unwrap();
        puppet.operator_says("held").await;
        puppet.end_turn().await;
        world.run().await;
        respond(&world, id, &option("q1_opt1")).await.unwrap();
        world.run().await;
        assert!(puppet.last_heard().text.contains("Which store?"));
        assert_eq!(puppet.waiting().await, ["held"]);
    }

    async fn skipping_a_detached_bundle_is_stored_and_wakes_nobody(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        puppet.end_turn().await;
        world.run().await;
        respond(&world, id, &skip("Never mind.")).await.unwrap();
        world.run().await;
        assert_eq!(status(&world, id).await, ClarificationStatus::Rejected);
        assert_eq!(puppet.texts().len(), 1);
        assert_eq!(puppet.card().await.task_pending_action, None);
    }

    // Task-domain 3.5: drain blockers.
    async fn a_live_bundle_holds_the_queue_and_a_detached_one_does_not(db: TestDb) {
        let world = World::new(db).await;
        let sender = world.working("Sender").await;
        let puppet = world.working("Task").await;
        ask(&puppet, "Which store?").await;
        assert_eq!(sender.tell(puppet.task, "hello").await.unwrap().status, DeliveryStatus::Queued);
        world.run().await;
        assert_eq!(puppet.texts().len(), 1);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "hello");
    }

    // Task-domain 5.5: a newer accepted turn makes older bundles history.
    async fn a_newer_turn_expires_what_earlier_ones_asked(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        puppet.end_turn().await;
        puppet.operator_says("Something else.").await;
        world.run().await;
        assert_eq!(status(&world, id).await, ClarificationStatus::Expired);
        assert_eq!(puppet.card().await.task_pending_action, None);
        let refusal = refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        assert!(refusal.message.contains("new message"), "{refusal}");
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!((&shown.metadata["status"], shown.requests_input), (&json!("expired"), false));
        let result = soon(world.board().clarification_wait(id)).await.unwrap();
        assert_eq!(result, json!({"q1": {"answered": false}}));
    }

    // As before, when the newer turn asks so fast that its acceptance is not recorded yet.
    async fn a_fast_question_of_a_newer_turn_expires_the_older_ones_too(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let old = ask(&puppet, "Which store?").await;
        puppet.end_turn().await;
        puppet.operator_says("Something else.").await;
        let node = world.node();
        let delivery = node.take(puppet.session).await;
        node.hear(&delivery);
        let new = ask(&puppet, "Which host?").await;
        world.board().prompt_accepted(delivery.turn, NODE).await.unwrap();
        world.run().await;
        assert_eq!(status(&world, old).await, ClarificationStatus::Expired);
        assert_eq!(status(&world, new).await, ClarificationStatus::Pending);
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        respond(&world, new, &option("q1_opt1")).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::Running);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review", "nothing is open any more");
    }

    // A child's question that reaches a parent whose agent asks its operator at once counts as delivered.
    async fn a_parent_that_asks_its_operator_at_once_has_the_childs_question(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask_and_wait("Which store?").await;
        let node = world.node();
        let delivery = node.take(parent.session).await;
        node.hear(&delivery);
        ask(&parent, "My child asks which store.").await;
        world.board().prompt_accepted(delivery.turn, NODE).await.unwrap();
        assert!(world.question(question).await.delivered_at.is_some());
        world.check().await;
    }

    async fn a_session_that_ends_expires_its_bundles_and_the_waiting_call_returns(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        let waiting = tokio::spawn({
            let board = world.board();
            async move { board.clarification_wait(id).await.unwrap() }
        });
        world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap();
        let result: Value = soon(waiting).await.unwrap();
        assert_eq!(result, json!({"q1": {"answered": false}}));
        world.run().await;
        assert_eq!(status(&world, id).await, ClarificationStatus::Expired);
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
    }

    // Task-domain 5.7.
    async fn a_stop_wins_over_the_answer(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let created = parent.create(prompted("Normal child")).await.unwrap();
        world.run().await;
        let child = world.puppet(created.task.id, created.session_id.unwrap());
        let id = ask(&child, "Which store?").await;
        assert!(world.board().task_stop(&parent.actor(), child.task).await.unwrap());
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        world.run().await;
        assert_eq!(child.state().await, SessionState::Cancelled);
    }

    async fn a_restart_detaches_what_was_asked_and_it_can_still_be_answered(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.card().await.task_pending_action, Some(PendingAction::Clarification));
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        respond(&world, id, &option("q1_opt1")).await.unwrap();
        world.run().await;
        assert!(puppet.last_heard().text.contains("SQLite"));
        world.assert_heard_once();
    }

    async fn an_answer_accepted_before_a_crash_arrives_once(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        puppet.end_turn().await;
        world.run().await;
        respond(&world, id, &option("q1_opt1")).await.unwrap();
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.texts().len(), 2);
        world.restart().await;
        world.run().await;
        assert_eq!(puppet.texts().len(), 2);
    }

    async fn only_a_normal_task_within_a_turn_asks_the_operator(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        let root = world.start(CreateTask { autopilot: true, ..prompted("Root") }).await;
        let resting = world.resting("Resting").await;
        let board = world.board();
        for puppet in [&child, &root] {
            refused(board.ask_operator(&puppet.actor(), &choice("?"), &json!({})).await, ErrorCode::Validation);
        }
        refused(board.ask_operator(&resting.actor(), &choice("?"), &json!({})).await, ErrorCode::Conflict);
        refused(board.ask_operator(&Actor::Operator, &choice("?"), &json!({})).await, ErrorCode::Forbidden);
        let open = crate::puppet::question("No choices?");
        let asker = world.working("Asker").await;
        refused(board.ask_operator(&asker.actor(), &open, &json!({})).await, ErrorCode::Validation);
        assert_eq!(world.count("operator_questions").await, 0);
    }

    async fn a_cancelled_turn_leaves_its_bundle_answerable(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        puppet.end_turn_with(TurnOutcome::Cancelled).await;
        world.run().await;
        assert!(respond(&world, id, &option("q1_opt1")).await.unwrap().claimed);
        world.run().await;
        assert!(puppet.last_heard().text.contains("SQLite"));
    }

    async fn an_archived_tasks_bundle_cannot_be_answered(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.board().task_archive(&Actor::Operator, puppet.task).await.unwrap();
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        world.run().await;
    }
}
