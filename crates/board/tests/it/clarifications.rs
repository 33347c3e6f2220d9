//! Questions to the operator: live, detached, skipped, expired.

use crate::puppet::{Puppet, choice};
use crate::world::{NODE, World, prompted, refused, soon};
use board::{Actor, Settings, Topic, TurnOutcome};
use domain::clarification::{AnswerItem, ClarificationAnswer, ClarificationStatus};
use domain::error::ErrorCode;
use domain::ids::ClarificationId;
use domain::message::MessageType;
use domain::params::CreateTask;
use domain::question::MAX_FREE_TEXT;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use domain::view::{ClarificationOutcome, DeliveryStatus, InboxAsk};
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

/// Answers a question whose agent no longer waits, in a world that goes on meanwhile.
async fn bring(
    world: &World,
    id: ClarificationId,
    answer: &ClarificationAnswer,
) -> board::Result<ClarificationOutcome> {
    let mut answering = under_way(world, id, answer).await;
    world.run().await;
    soon(&mut answering).await.unwrap()
}

/// As [`bring`], up to the moment in which the answer is claimed and the agent has heard nothing yet.
async fn under_way(
    world: &World,
    id: ClarificationId,
    answer: &ClarificationAnswer,
) -> tokio::task::JoinHandle<board::Result<ClarificationOutcome>> {
    let mut changes = world.board().signals().subscribe(Topic::Clarifications);
    let (board, answer) = (world.board(), answer.clone());
    let answering = tokio::spawn(async move {
        board
            .clarification_respond(&Actor::Operator, id, &answer)
            .await
    });
    soon(async {
        while status(world, id).await != ClarificationStatus::Responding {
            changes.changed().await.unwrap();
        }
    })
    .await;
    answering
}

/// A task whose agent has asked and ended its turn without waiting.
async fn detached(world: &World) -> (Puppet, ClarificationId) {
    let puppet = world.working("Task").await;
    let id = ask(&puppet, "Which store?").await;
    puppet.end_turn().await;
    world.run().await;
    (puppet, id)
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
        assert!(bring(&world, id, &answer).await.unwrap().claimed);
        assert!(!respond(&world, id, &option("q1_opt2")).await.unwrap().claimed);
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
        bring(&world, id, &option("q1_opt1")).await.unwrap();
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
        bring(&world, id, &option("q1_opt1")).await.unwrap();
        world.run().await;
        assert!(puppet.last_heard().text.contains("SQLite"));
        world.assert_heard_once();
    }

    async fn an_answer_accepted_before_a_crash_arrives_once(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.board().clarification_detach(id).await.unwrap();
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
        assert!(bring(&world, id, &option("q1_opt1")).await.unwrap().claimed);
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

    // Task-domain 5.6: the operator's call succeeds when the agent has taken the answer, and not before.
    async fn an_answer_is_recorded_when_the_agent_has_taken_it(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        let answering = under_way(&world, id, &option("q1_opt1")).await;
        world.check().await;
        assert!(!answering.is_finished());
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!(shown.metadata["response_delivery_pending"], json!(true));
        world.run().await;
        let outcome = soon(answering).await.unwrap().unwrap();
        assert_eq!((outcome.claimed, outcome.status), (true, ClarificationStatus::Answered));
        assert_eq!(puppet.texts().len(), 2);
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!(shown.metadata["status"], json!("answered"));
        assert_eq!(shown.metadata["response_delivery_pending"], json!(false));
    }

    async fn of_many_answers_to_a_detached_bundle_one_is_delivered(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        let first = under_way(&world, id, &option("q1_opt1")).await;
        let late: Vec<_> = ["q1_opt1", "q1_opt2"]
            .map(|choice| {
                let world = world.clone();
                tokio::spawn(async move { respond(&world, id, &option(choice)).await })
            })
            .into();
        refused(world.board().clarification_cancel(&Actor::Operator, id).await, ErrorCode::Conflict);
        world.run().await;
        let won = soon(first).await.unwrap().unwrap();
        assert!(won.claimed);
        for late in late {
            let lost = soon(late).await.unwrap().unwrap();
            assert!(!lost.claimed);
            assert_eq!((lost.status, &lost.response), (won.status, &won.response));
        }
        assert_eq!(puppet.texts().len(), 2);
    }

    // Whoever loses may have read the winner's claim before it was committed.
    async fn answers_given_at_one_moment_to_a_detached_bundle_end_alike(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..5 {
            let (puppet, id) = detached(&world).await;
            let mut changes = world.board().signals().subscribe(Topic::Clarifications);
            let answers: Vec<_> = ["q1_opt1", "q1_opt2", "q1_opt1", "q1_opt2"]
                .map(|choice| {
                    let world = world.clone();
                    tokio::spawn(async move { respond(&world, id, &option(choice)).await })
                })
                .into();
            soon(async {
                while status(&world, id).await != ClarificationStatus::Responding {
                    changes.changed().await.unwrap();
                }
            })
            .await;
            world.run().await;
            let mut ends = Vec::new();
            for answer in answers {
                ends.push(soon(answer).await.unwrap().unwrap());
            }
            assert_eq!(ends.iter().filter(|end| end.claimed).count(), 1);
            assert!(ends.iter().all(|end| end.status == ClarificationStatus::Answered && end.response == ends[0].response));
            assert_eq!(puppet.texts().len(), 2);
        }
    }

    async fn an_answer_that_finds_no_agent_leaves_the_question_open(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        world.node().die(puppet.session).await.unwrap();
        world.node().break_agent(puppet.session);
        let refusal = refused(bring(&world, id, &option("q1_opt1")).await, ErrorCode::Unavailable);
        assert!(refusal.message.contains("no such program") && refusal.message.contains("open again"), "{refusal}");
        assert_eq!(status(&world, id).await, ClarificationStatus::Pending);
        assert_eq!(puppet.state().await, SessionState::WaitingForInput, "as it was");
        assert_eq!(puppet.card().await.task_pending_action, Some(PendingAction::Clarification));
        assert!(puppet.waiting().await.is_empty());

        world.node().mend_agent(puppet.session);
        assert!(bring(&world, id, &option("q1_opt2")).await.unwrap().claimed);
        assert!(puppet.last_heard().text.contains("Postgres"));
        assert_eq!(puppet.texts().len(), 2);
    }

    async fn an_agent_that_does_not_come_up_in_time_gives_the_claim_back(db: TestDb) {
        let world = World::with(db, Settings { answer_wait_ms: 1, ..Settings::default() }).await;
        let (puppet, id) = detached(&world).await;
        // Nobody works off follow-ups.
        let refusal = refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Unavailable);
        assert!(refusal.message.contains("in time"), "{refusal}");
        assert_eq!(status(&world, id).await, ClarificationStatus::Pending);
        assert!(puppet.waiting().await.is_empty());
        world.run().await;
        assert_eq!(puppet.texts().len(), 1);
    }

    async fn an_answer_that_was_not_attempted_is_taken_back_by_a_restart(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        under_way(&world, id, &option("q1_opt1")).await.abort();
        world.restart().await;
        assert_eq!(status(&world, id).await, ClarificationStatus::Pending);
        world.run().await;
        assert_eq!(puppet.texts().len(), 1, "what nobody was told of is not delivered");
        assert!(bring(&world, id, &option("q1_opt2")).await.unwrap().claimed);
        assert!(puppet.last_heard().text.contains("Postgres"));
        world.assert_heard_once();
    }

    async fn an_answer_that_was_attempted_stays_given_after_a_restart(db: TestDb) {
        let world = World::new(db).await;
        for agent_had_it in [false, true] {
            let (puppet, id) = detached(&world).await;
            let answering = under_way(&world, id, &option("q1_opt1")).await;
            let node = world.node();
            let delivery = node.take(puppet.session).await;
            if agent_had_it {
                node.hear(&delivery);
            }
            answering.abort();
            world.restart().await;
            assert_eq!(status(&world, id).await, ClarificationStatus::Answered, "agent had it: {agent_had_it}");
            world.run().await;
            assert_eq!(puppet.texts().len(), 2, "agent had it: {agent_had_it}");
            refused(world.board().clarification_say(&Actor::Operator, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        }
        world.assert_heard_once();
    }

    async fn an_agent_that_dies_with_the_answer_under_way_does_not_open_the_question_again(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        let answering = under_way(&world, id, &option("q1_opt1")).await;
        world.node().take(puppet.session).await;
        world.board().session_failed(puppet.session, NODE, "it died").await.unwrap();
        assert!(soon(answering).await.unwrap().unwrap().claimed);
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts().len(), 2);
        world.assert_heard_once();
    }

    // Task-domain 5.7.
    async fn a_stop_wins_over_an_answer_under_way(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, id) = detached(&world).await;
        let answering = under_way(&world, id, &option("q1_opt1")).await;
        assert!(world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap());
        refused(soon(answering).await.unwrap(), ErrorCode::Conflict);
        assert_eq!(status(&world, id).await, ClarificationStatus::Expired);
        assert!(puppet.waiting().await.is_empty());
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Cancelled);
        assert_eq!(puppet.texts().len(), 1);
    }

    async fn an_answer_in_mid_turn_waits_for_its_end_and_is_accepted_at_once(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        world.board().clarification_detach(id).await.unwrap();
        world.run().await;
        assert!(respond(&world, id, &option("q1_opt1")).await.unwrap().claimed);
        assert_eq!(puppet.texts().len(), 1);
        puppet.end_turn().await;
        world.run().await;
        assert!(puppet.last_heard().text.contains("SQLite"));
    }

    async fn detaching_again_changes_nothing_and_tells_nobody(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        let events = async || world.count("events").await;
        let before = events().await;
        world.board().clarification_detach(id).await.unwrap();
        let after = events().await;
        assert!(after > before);
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!(shown.metadata["agent_disconnected"], json!(true));
        world.board().clarification_detach(id).await.unwrap();
        assert_eq!(events().await, after);
    }

    async fn a_question_that_waited_too_long_is_answered_by_a_message(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let id = ask(&puppet, "Which store?").await;
        let board = world.board();
        refused(board.clarification_say(&Actor::Operator, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        board.clarification_expire(id).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::Running, "the call returns, its turn goes on");
        assert_eq!(soon(board.clarification_wait(id)).await.unwrap(), json!({"q1": {"answered": false}}));
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        refused(board.clarification_say(&Actor::Operator, id, &option("nonsense")).await, ErrorCode::Validation);
        refused(board.clarification_say(&Actor::Operator, id, &skip("")).await, ErrorCode::Validation);
        refused(board.clarification_say(&puppet.actor(), id, &option("q1_opt1")).await, ErrorCode::Forbidden);
        puppet.end_turn().await;
        world.run().await;
        board.clarification_say(&Actor::Operator, id, &option("q1_opt1")).await.unwrap();
        world.run().await;
        let text = puppet.last_heard().text;
        assert!(text.contains("Which store?") && text.contains("SQLite"), "{text}");
        let shown = puppet.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert_eq!((&shown.metadata["status"], &shown.metadata["said_later"]), (&json!("expired"), &json!(true)));
    }

    async fn a_bundle_is_read_and_withdrawn_by_its_owners_alone(db: TestDb) {
        let world = World::new(db).await;
        let (puppet, stranger) = (world.working("Task").await, world.working("Stranger").await);
        let id = ask(&puppet, "Which store?").await;
        let board = world.board();
        refused(board.clarification_get(&stranger.actor(), id).await, ErrorCode::NotFound);
        refused(board.clarification_cancel(&stranger.actor(), id).await, ErrorCode::NotFound);
        refused(board.clarification_get(&Actor::Operator, ClarificationId::new()).await, ErrorCode::NotFound);
        for owner in [Actor::Operator, puppet.actor()] {
            assert_eq!(board.clarification_get(&owner, id).await.unwrap().status, ClarificationStatus::Pending);
        }
        let short = std::time::Duration::from_millis(1);
        assert_eq!(board.clarification_await(&Actor::Operator, id, short).await.unwrap().status, ClarificationStatus::Pending);
        let waiting = tokio::spawn({
            let board = board.clone();
            async move { board.clarification_await(&Actor::Operator, id, std::time::Duration::from_secs(60)).await }
        });
        for _ in 0..2 {
            let cancelled = board.clarification_cancel(&Actor::Operator, id).await.unwrap();
            assert_eq!(cancelled.status, ClarificationStatus::Cancelled);
        }
        assert_eq!(soon(waiting).await.unwrap().unwrap().status, ClarificationStatus::Cancelled);
        assert_eq!(puppet.state().await, SessionState::Running);
        refused(respond(&world, id, &option("q1_opt1")).await, ErrorCode::Conflict);
        world.check().await;
    }

    async fn a_question_without_own_words_takes_an_option_alone(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let mut bundle = choice("Which store?");
        bundle.questions[0].allow_custom_text = Some(false);
        let id = world.board().ask_operator(&puppet.actor(), &bundle, &json!({})).await.unwrap();
        let mut answer = option("q1_opt1");
        answer.answers[0].custom_text = Some("but fast".to_owned());
        refused(respond(&world, id, &answer).await, ErrorCode::Validation);
        assert!(respond(&world, id, &option("q1_opt1")).await.unwrap().claimed);
    }

    async fn everything_that_waits_is_in_the_inbox_oldest_first(db: TestDb) {
        let world = World::new(db).await;
        let (asks, wants) = (world.working("Asks").await, world.working("Wants").await);
        let board = world.board();
        assert!(board.inbox(&Actor::Operator).await.unwrap().items.is_empty());
        let question = ask(&asks, "Which store?").await;
        world.clock.advance(1_000);
        let permission = board.permission_request(wants.session, NODE, "7", json!({"title": "Run it"}), Vec::new()).await.unwrap();
        world.clock.advance(1_000);
        let later = ask(&wants, "Which host?").await;
        let items = board.inbox(&Actor::Operator).await.unwrap().items;
        let ids: Vec<Value> = items
            .iter()
            .map(|item| match &item.ask {
                InboxAsk::Clarification { clarification } => json!(clarification.pending_id),
                InboxAsk::Permission { permission } => json!(permission.id),
            })
            .collect();
        assert_eq!(ids, [json!(question), json!(permission), json!(later)]);
        assert_eq!((items[0].task_id, items[0].task_title.as_str()), (asks.task, "Asks"));
        refused(board.inbox(&asks.actor()).await, ErrorCode::Forbidden);
        respond(&world, question, &option("q1_opt1")).await.unwrap();
        board.session_stop(&Actor::Operator, wants.session).await.unwrap();
        assert!(board.inbox(&Actor::Operator).await.unwrap().items.is_empty());
    }
}
