//! A child asks its parent: what is stored, what the parent is told, what the child may do meanwhile.

use crate::puppet::{choice, question};
use crate::world::{NODE, World, prompted, refused};
use board::{Actor, Settings};
use domain::error::ErrorCode;
use domain::message::MessageType;
use domain::params::{CreateProfile, CreateTask, UpdateTask};
use domain::question::{OptionInput, QuestionInput, QuestionStatus};
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use domain::view::DeliveryStatus;
use serde_json::json;

store::on_both_engines! {
    // D1
    async fn asking_stores_one_question_and_one_prompt_for_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let before = parent.texts().len();

        let asked = child.ask("Which store?").await.unwrap();
        assert_eq!(asked.status, "waiting_for_parent");
        assert_eq!(asked.parent_task_id, parent.task);
        assert_eq!(world.count("parent_questions").await, 1);
        assert_eq!(parent.waiting().await.len(), 1);

        child.end_turn().await;
        world.run().await;
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        let card = child.card().await;
        assert_eq!(card.state, TaskState::Review);
        assert_eq!(card.task_pending_action, Some(PendingAction::Clarification));
        assert!(!card.needs_operator, "it waits for its parent, not for the operator");
        assert_eq!(parent.texts().len(), before + 1);
        assert_eq!(world.count("parent_questions").await, 1);
    }

    // D1: the record and the hidden message (task-domain 4.6, 1.9).
    async fn a_question_is_recorded_with_everything_it_was_asked_with(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let mut ask = choice("Which store?");
        ask.context_paragraphs = vec!["Needed before".to_owned(), "the migration.".to_owned()];
        ask.context = Some("replaced by the paragraphs".to_owned());
        ask.blocked_effect = Some("The migration waits.".to_owned());
        let turn = world.node().turn(child.session).unwrap();
        let asked = world.board().ask_parent(&child.actor(), &ask, &json!({}), None).await.unwrap();

        let question = world.question(asked.question_id).await;
        assert_eq!(question.child_task_id, child.task);
        assert_eq!(question.child_session_id, child.session);
        assert_eq!(question.child_turn_id, Some(turn));
        assert_eq!(question.parent_task_id, parent.task);
        assert_eq!(question.context.as_deref(), Some("Needed before\n\nthe migration."));
        assert_eq!(question.blocked_effect.as_deref(), Some("The migration waits."));
        assert_eq!(question.status, QuestionStatus::Pending);
        assert_eq!(question.questions[0].options[1].label, "Postgres");

        let message = child.messages_of(MessageType::ClarificationRequest).await.remove(0);
        assert!(message.requests_input);
        assert_eq!(message.turn_id, Some(turn));
        assert_eq!(message.metadata["parent_question"], json!(true));
        assert_eq!(message.metadata["parent_question_id"], json!(asked.question_id));
        assert_eq!(message.metadata["parent_question_status"], json!("pending"));
        assert_eq!(message.metadata["child_task_id"], json!(child.task));
        assert_eq!(message.metadata["parent_task_id"], json!(parent.task));
    }

    // Task-domain 4.4.
    async fn the_parent_is_told_everything_it_needs_to_answer(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let mut ask = choice("Which store?");
        ask.questions.push(QuestionInput {
            id: Some("when".to_owned()),
            title: None,
            prompt: "And by when?".to_owned(),
            options: None,
            allow_custom_text: None,
        });
        ask.context = Some("The schema depends on it.".to_owned());
        let asked = world.board().ask_parent(&child.actor(), &ask, &json!({}), None).await.unwrap();
        world.run().await;

        let heard = parent.last_heard();
        let id = asked.question_id.to_string();
        assert_eq!(heard.field("prompt_id"), Some(heard.prompt.to_string().as_str()));
        assert_eq!(heard.field("question_id"), Some(id.as_str()));
        assert_eq!(heard.field("child_task_id"), Some(child.task.to_string().as_str()));
        assert_eq!(heard.field("child_task_title"), Some("\"Child\""));
        assert_eq!(heard.field("child_session_id"), Some(child.session.to_string().as_str()));
        assert!(heard.hidden().contains("AUTOPILOT CHILD QUESTION"));
        assert!(heard.hidden().contains("do not turn it into a question to the operator"));
        let call = heard.hidden().lines().find(|line| line.starts_with('{')).unwrap();
        let call: serde_json::Value = serde_json::from_str(call).unwrap();
        assert_eq!(call["task_id"], json!(child.task));
        assert_eq!(call["reply_to_question_id"], json!(id));
        for words in ["Which store?", "- SQLite", "And by when?", "The schema depends on it.", "does not advance"] {
            assert!(heard.text.contains(words), "{words} is missing in {}", heard.text);
        }

        let message = parent.messages_of(MessageType::Message).await.pop().unwrap();
        for (key, value) in [
            ("sender_task_id", json!(child.task)),
            ("sender_task_title", json!("Child")),
            ("sender_session_id", json!(child.session)),
            ("parent_question", json!(true)),
            ("parent_question_id", json!(id)),
            ("parent_task_id", json!(parent.task)),
            ("child_task_id", json!(child.task)),
        ] {
            assert_eq!(message.metadata.get(key), Some(&value), "{key}");
        }
    }

    // D2
    async fn the_same_tool_call_asks_once(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let by_id = child.ask_as("Which store?", Some("toolu_1")).await.unwrap();
        let again = child.ask_as("Which store?", Some("toolu_1")).await.unwrap();
        let by_arguments = child.ask_as("Which store?", None).await.unwrap();
        assert_eq!(by_id, again);
        assert_eq!(by_id, by_arguments);
        world.run().await;
        assert_eq!(world.count("parent_questions").await, 1);
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
    }

    // D3
    async fn another_question_while_one_is_pending_is_that_one(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let first = child.ask("Which store?").await.unwrap();
        let second = child.ask("Which colour?").await.unwrap();
        assert_eq!(first, second);
        world.run().await;
        assert!(!parent.texts().iter().any(|t| t.contains("Which colour?")));
    }

    // Rulings 7: one question a turn. The answer of a quick parent must not be held behind a second question.
    async fn a_turn_that_was_answered_before_it_ended_cannot_ask_again(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let first = child.ask("Which store?").await.unwrap();
        parent.reply(&child, first.question_id, "SQLite.").await.unwrap();
        let second = child.ask("Which colour?").await.unwrap();
        assert_eq!(second.question_id, first.question_id);
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        assert_eq!(world.count("parent_questions").await, 1);

        // The next turn may ask anew.
        let third = child.ask("Which colour?").await.unwrap();
        assert_ne!(third.question_id, first.question_id);
    }

    // D4: idle.
    async fn an_idle_parent_starts_a_turn_with_the_question(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        assert!(!parent.is_in_turn());
        child.ask("Which store?").await.unwrap();
        world.run().await;
        assert!(parent.is_in_turn());
        assert!(parent.last_heard().text.contains("Which store?"));
    }

    // D4: busy.
    async fn a_busy_parent_gets_the_question_after_its_turn(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        child.ask("Which store?").await.unwrap();
        world.run().await;
        assert_eq!(parent.texts().len(), 1);
        assert_eq!(parent.waiting().await.len(), 1);
        parent.end_turn().await;
        world.run().await;
        assert!(parent.last_heard().text.contains("Which store?"));
    }

    // D4: never started.
    async fn a_parent_that_was_never_started_is_started_with_the_question(db: TestDb) {
        let world = World::new(db).await;
        let card = CreateTask { start_agent: Some(false), ..prompted("Parent") };
        let parent = world.create(card).await.unwrap().task.id;
        let child = CreateTask { parent_id: Some(parent), autopilot: true, ..prompted("Child") };
        let child = world.start(child).await;
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;

        let parent = world.primary(parent).await;
        assert!(parent.is_in_turn());
        assert_eq!(parent.texts().len(), 1);
        assert!(parent.last_heard().text.contains("Which store?"));
        assert!(world.question(question).await.delivered_at.is_some());
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    async fn a_parent_that_ends_its_turn_without_an_answer_is_said_to_rest(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let rests = async || {
            let page = world.board().task_page(&Actor::Operator, child.task).await.unwrap();
            page.parent_question.unwrap().parent_rests
        };
        let question = child.ask_and_wait("Which store?").await;
        assert!(!rests().await, "it is about to be asked");
        world.run().await;
        assert!(!rests().await, "it thinks");
        parent.end_turn().await;
        world.run().await;
        assert!(rests().await);
        // The way out: the operator asks for the answer.
        parent.operator_says("Answer your child.").await;
        assert!(!rests().await);
        world.run().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    // D4: terminal, and rulings 4.
    async fn a_parent_without_a_live_session_leaves_the_question_pending_and_the_page_says_so(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let operator = Actor::Operator;
        world.board().session_stop(&operator, parent.session).await.unwrap();
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;

        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        let page = world.board().task_page(&operator, child.task).await.unwrap();
        let shown = page.parent_question.unwrap();
        assert!(shown.parent_cannot_answer);
        assert_eq!(shown.parent_title, "Parent");
        assert_eq!(shown.questions[0].prompt, "Which store?");

        // The way out: the operator gives the parent a live session.
        world.board().session_resume(&operator, parent.session).await.unwrap();
        world.run().await;
        assert!(parent.last_heard().text.contains("Which store?"));
        let page = world.board().task_page(&operator, child.task).await.unwrap();
        assert!(!page.parent_question.unwrap().parent_cannot_answer);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        world.assert_heard_once();
    }

    // D4: it was queued at a parent that then ended.
    async fn a_question_waits_in_the_queue_of_a_parent_that_ends_and_is_told_once_when_it_is_back(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        let question = child.ask_and_wait("Which store?").await;
        world.board().session_stop(&Actor::Operator, parent.session).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        world.board().session_resume(&Actor::Operator, parent.session).await.unwrap();
        world.run().await;
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
    }

    // D4: the parent is stopped in the instant between the attempt and the agent's acceptance.
    async fn a_question_under_way_to_a_parent_that_is_stopped_is_not_lost(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask_and_wait("Which store?").await;
        world.node().take(parent.session).await;
        world.board().session_stop(&Actor::Operator, parent.session).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);

        world.board().session_resume(&Actor::Operator, parent.session).await.unwrap();
        world.run().await;
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    // D5
    async fn a_full_queue_of_the_parent_does_not_keep_a_question_out(db: TestDb) {
        let settings = Settings { queue_capacity: 2, ..Settings::default() };
        let world = World::with(db, settings).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        parent.operator_says("one").await;
        parent.operator_says("two").await;
        refused(
            world.board().prompt_session(&Actor::Operator, parent.session, "three", None).await,
            ErrorCode::QueueFull,
        );
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(parent.waiting().await.len(), 3);

        for _ in 0..3 {
            parent.end_turn().await;
            world.run().await;
        }
        assert!(parent.last_heard().text.contains("Which store?"));
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    // D21
    async fn a_root_or_a_normal_task_with_a_stale_tool_list_asks_in_vain_and_stores_nothing(db: TestDb) {
        let world = World::new(db).await;
        let root = world.start(CreateTask { autopilot: true, ..prompted("Root") }).await;
        let normal = world.working("Normal").await;
        let created = normal.create(prompted("Normal child")).await.unwrap();
        world.run().await;
        let normal_child = world.puppet(created.task.id, created.session_id.unwrap());

        let refusal = refused(root.ask("Which store?").await, ErrorCode::Validation);
        assert!(refusal.message.contains("no parent"), "{refusal}");
        for puppet in [&normal, &normal_child] {
            let refusal = refused(puppet.ask("Which store?").await, ErrorCode::Validation);
            assert!(refusal.message.contains("ask_user_question_kandev"), "{refusal}");
        }
        assert_eq!(world.count("parent_questions").await, 0);
        assert_eq!(world.count("messages where message_type = 'clarification_request'").await, 0);
        assert_eq!(world.count("queued_messages").await, 0);
        for puppet in [&root, &normal, &normal_child] {
            assert_eq!(puppet.state().await, SessionState::Running);
            assert_eq!(puppet.card().await.task_pending_action, None);
        }
    }

    // D21: nobody but an agent has a session to ask from.
    async fn the_operator_and_outside_clients_have_no_question_tool(db: TestDb) {
        let world = World::new(db).await;
        world.family().await;
        let token = world.board().token_create(&Actor::Operator, "client").await.unwrap().info.id;
        for actor in [Actor::Operator, Actor::External { token }, Actor::System] {
            refused(
                world.board().ask_parent(&actor, &question("?"), &json!({}), None).await,
                ErrorCode::Forbidden,
            );
        }
    }

    // D22 is refused by the schema of the tool; here the identity is the actor's and nothing else.
    async fn fields_that_name_another_session_change_nothing(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let stranger = world.working("Stranger").await;
        let forged = json!({"task_id": stranger.task, "session_id": stranger.session, "parent_task_id": stranger.task});
        let asked = world.board().ask_parent(&child.actor(), &question("?"), &forged, None).await.unwrap();
        let question = world.question(asked.question_id).await;
        assert_eq!(question.child_session_id, child.session);
        assert_eq!(question.parent_task_id, parent.task);
    }

    async fn a_bundle_out_of_bounds_stores_nothing_and_leaves_the_turn_free(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        let mut one_option = question("Which?");
        one_option.questions[0].options = Some(vec![OptionInput::Label("only".to_owned())]);
        let mut long_effect = question("Which?");
        long_effect.blocked_effect = Some("x".repeat(4_001));
        let mut long_context = question("Which?");
        long_context.context = Some("x".repeat(16_001));
        let mut none = question("Which?");
        none.questions.clear();
        for bad in [one_option, long_effect, long_context, none, question("  ")] {
            refused(
                world.board().ask_parent(&child.actor(), &bad, &json!({}), None).await,
                ErrorCode::Validation,
            );
        }
        assert_eq!(world.count("parent_questions").await, 0);
        world.board().check_tool_call(&child.actor(), "list_tasks_kandev").await.unwrap();
    }

    async fn a_question_needs_a_running_turn(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        child.end_turn().await;
        world.run().await;
        refused(child.ask("Which store?").await, ErrorCode::Conflict);
        assert_eq!(world.count("parent_questions").await, 0);
    }

    async fn an_archived_parent_cannot_be_asked(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        world.board().task_archive(&Actor::Operator, parent.task).await.unwrap();
        let refusal = refused(child.ask("Which store?").await, ErrorCode::Validation);
        assert!(refusal.message.contains("archived"), "{refusal}");
        assert_eq!(world.count("parent_questions").await, 0);
    }

    // Task-domain 4.1: reparenting acts at the next launch for the tool list, but at once for who may ask whom.
    async fn a_child_that_lost_its_parent_fails_closed(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        let params = UpdateTask { parent_id: Some(None), ..UpdateTask::default() };
        world.board().task_update(&Actor::Operator, child.task, params).await.unwrap();
        refused(child.ask("Which store?").await, ErrorCode::Validation);
    }

    // Rulings 7.
    async fn after_asking_every_other_tool_is_refused_until_the_turn_ends(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let board = world.board();
        board.check_tool_call(&child.actor(), "create_task_kandev").await.unwrap();
        let question = child.ask("Which store?").await.unwrap().question_id;
        assert_eq!(child.state().await, SessionState::Running, "until its turn ends it runs, gated");
        for tool in ["create_task_kandev", "message_task_kandev", "step_complete_kandev"] {
            let refusal = refused(board.check_tool_call(&child.actor(), tool).await, ErrorCode::Conflict);
            assert!(refusal.message.contains("end your turn"), "{refusal}");
        }
        board.check_tool_call(&child.actor(), "ask_parent_question_kandev").await.unwrap();
        // Also when the answer is there already: it comes as a prompt.
        parent.reply(&child, question, "SQLite.").await.unwrap();
        refused(board.check_tool_call(&child.actor(), "create_task_kandev").await, ErrorCode::Conflict);
        child.end_turn().await;
        world.run().await;
        board.check_tool_call(&child.actor(), "create_task_kandev").await.unwrap();
    }

    // Rulings 7: the grace.
    async fn a_turn_that_goes_on_after_asking_is_ended_when_the_grace_is_over(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.run().await;
        world.clock.advance(9_999);
        world.run().await;
        assert!(child.is_in_turn());
        assert_eq!(child.state().await, SessionState::Running);

        world.clock.advance(1);
        world.run().await;
        assert!(!child.is_in_turn());
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert_eq!(child.card().await.state, TaskState::Review);
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(world.count("turns where state = 'cancelled'").await, 0, "it ended as it was told to");
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    async fn the_grace_of_an_earlier_turn_does_not_touch_a_later_one(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert!(child.is_in_turn());
        world.clock.advance(60_000);
        world.run().await;
        assert!(child.is_in_turn());
        assert_eq!(child.state().await, SessionState::Running);
    }

    async fn a_second_question_soon_after_the_first_has_a_grace_of_its_own(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, first) = world.waiting_family().await;
        world.clock.advance(4_000);
        parent.reply(&child, first, "SQLite.").await.unwrap();
        world.run().await;
        child.ask("Which colour?").await.unwrap();
        world.run().await;
        world.clock.advance(9_999);
        world.run().await;
        assert!(child.is_in_turn());
        world.clock.advance(1);
        world.run().await;
        assert!(!child.is_in_turn());
    }

    // A tool call may be faster than the report that the prompt was accepted; that the agent calls proves that it has it.
    async fn a_question_asked_before_the_prompt_was_known_to_be_accepted_counts(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.resting("Parent").await;
        let params = CreateTask { autopilot: true, ..prompted("Child") };
        let created = parent.create(params).await.unwrap();
        let child = world.puppet(created.task.id, created.session_id.unwrap());
        let node = world.node();
        let delivery = node.take(child.session).await;
        node.hear(&delivery);
        let question = child.ask("Which store?").await.unwrap().question_id;
        world.check().await;
        world.board().prompt_accepted(delivery.turn, NODE).await.unwrap();
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert_eq!(child.card().await.state, TaskState::Review);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
        world.assert_heard_once();
    }

    async fn a_passthrough_session_has_nobody_to_ask(db: TestDb) {
        let world = World::new(db).await;
        let operator = Actor::Operator;
        let agent = world.board().agent_list(&operator).await.unwrap()[0].id;
        let terminal = CreateProfile {
            agent_id: agent,
            name: "Terminal".to_owned(),
            model: None,
            mode: None,
            passthrough: true,
            auto_approve: false,
        };
        let terminal = world.board().profile_create(&operator, terminal).await.unwrap().id;
        let parent = world.resting("Parent").await;
        let params = CreateTask { agent_profile_id: Some(terminal), parent_id: Some(parent.task), ..prompted("Raw") };
        let raw = world.start(params).await;
        assert_eq!(raw.last_heard().hidden, None, "a terminal would print it");
        assert_eq!(world.node().token(raw.session), None);
        refused(raw.ask("?").await, ErrorCode::Validation);
        refused(
            world.board().ask_operator(&raw.actor(), &choice("?"), &json!({})).await,
            ErrorCode::Validation,
        );
    }

    async fn what_others_send_to_a_parent_that_answers_is_not_merged_with_a_question(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let first = world.child(&parent, "First").await;
        let second = world.child(&parent, "Second").await;
        first.tell(parent.task, "by the way").await.unwrap();
        first.ask("Which store?").await.unwrap();
        second.ask("Which colour?").await.unwrap();
        let status = second.tell(parent.task, "and another thing").await.unwrap().status;
        assert_eq!(status, DeliveryStatus::Queued);
        assert_eq!(parent.waiting().await.len(), 4);
        for expected in ["by the way", "Which store?", "Which colour?", "and another thing"] {
            parent.end_turn().await;
            world.run().await;
            assert!(parent.last_heard().text.contains(expected));
        }
    }
}
