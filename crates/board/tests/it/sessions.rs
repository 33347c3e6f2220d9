//! Sessions: starting, failing, stopping, resuming; permissions, tokens and transcripts that hang on them.

use crate::world::{NODE, World, prompted, refused};
use board::{Actor, Output, Recorded, TurnOutcome};
use domain::error::ErrorCode;
use domain::ids::{MessageId, SessionId};
use domain::message::{MAX_MESSAGE_BYTES, MAX_TURN_BYTES, MessageType};
use domain::params::ConversationPage;
use domain::permission::PermissionOption;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use serde_json::{Map, json};

fn options() -> Vec<PermissionOption> {
    ["allow", "reject"]
        .map(|id| PermissionOption {
            option_id: id.to_owned(),
            name: id.to_owned(),
            kind: format!("{id}_once"),
        })
        .to_vec()
}

fn output(content: &str) -> Output {
    Output {
        id: MessageId::new(),
        message_type: MessageType::Message,
        content: content.to_owned(),
        metadata: Map::new(),
    }
}

store::on_both_engines! {
    async fn a_first_launch_that_fails_fails_the_task_and_keeps_the_prompt(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        world.node().break_agent(puppet.session);
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Failed);
        let card = puppet.card().await;
        assert_eq!(card.state, TaskState::Failed);
        assert_eq!(card.error_message.as_deref(), Some("no such program"));
        assert_eq!(puppet.messages_of(MessageType::Error).await.len(), 1);
        assert_eq!(puppet.waiting().await, ["Begin with Task."]);
        refused(world.board().prompt_session(&Actor::Operator, puppet.session, "hello", None).await, ErrorCode::Conflict);

        world.node().mend_agent(puppet.session);
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts(), ["Begin with Task."]);
        assert_eq!(puppet.card().await.state, TaskState::InProgress);
        assert_eq!(puppet.card().await.error_message, None);
    }

    async fn an_agent_that_dies_in_mid_turn_fails_its_session_and_can_be_resumed(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.operator_says("waits").await;
        world.node().die(puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::Failed);
        assert_eq!(puppet.card().await.state, TaskState::Review);
        assert_eq!(world.count("turns where state = 'failed'").await, 1);
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts(), ["Begin with Task.", "waits"], "the broken turn is not repeated");
        assert!(!puppet.last_heard().hidden().contains("new conversation"));
    }

    // Whether the agent had the prompt is found out at the resume.
    async fn a_prompt_under_way_when_the_agent_died_is_sent_once_after_the_resume(db: TestDb) {
        let world = World::new(db).await;
        for agent_had_it in [false, true] {
            let puppet = world.resting("Task").await;
            puppet.operator_says("Go on.").await;
            let node = world.node();
            let delivery = node.take(puppet.session).await;
            if agent_had_it {
                node.hear(&delivery);
            }
            world.board().session_failed(puppet.session, NODE, "it died").await.unwrap();
            world.run().await;
            assert_eq!(puppet.state().await, SessionState::Failed);
            world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
            world.run().await;
            assert_eq!(puppet.texts().iter().filter(|t| *t == "Go on.").count(), 1, "agent had it: {agent_had_it}");
            let told = puppet.messages_of(MessageType::Message).await;
            assert_eq!(told.iter().filter(|m| m.content == "Go on.").count(), 1);
            assert_eq!(puppet.is_in_turn(), !agent_had_it);
        }
        world.assert_heard_once();
    }

    // The row of an answer, or of a child's question, is all that there is of it.
    async fn a_cancel_after_the_agent_died_takes_nothing_back_that_somebody_waits_for(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        parent.operator_says("Think.").await;
        world.run().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.node().take(child.session).await;
        world.board().session_failed(child.session, NODE, "it died").await.unwrap();
        // A cancel that was asked for while the prompt was under way comes now.
        let turn = world.read(async |db| store::turns::open(db, child.session).await).await.unwrap();
        world.board().turn_ended(turn.id, NODE, &TurnOutcome::Cancelled).await.unwrap();
        world.board().session_resume(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        assert_eq!(child.texts().iter().filter(|text| *text == "SQLite.").count(), 1);
        world.assert_heard_once();
    }

    async fn what_an_earlier_process_asked_for_is_not_answered_to_its_successor(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.end_turn().await;
        let id = world.board().permission_request(puppet.session, NODE, "0", json!({}), options()).await.unwrap();
        world.node().die(puppet.session).await.unwrap();
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert!(puppet.is_in_turn());
        refused(
            world.board().permission_respond(&Actor::Operator, id, "yes").await,
            ErrorCode::Conflict,
        );
        assert_eq!(world.node().permissions(), []);
    }

    async fn output_of_a_session_that_is_gone_is_refused_for_good(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        world.board().task_delete(&Actor::Operator, puppet.task).await.unwrap();
        refused(
            world.board().record_output(puppet.session, NODE, None, vec![output("too late")]).await,
            ErrorCode::NotFound,
        );
    }

    async fn an_idle_agent_that_goes_away_fails_nothing(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        world.node().die(puppet.session).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Go on.");
    }

    async fn a_failed_turn_is_told_in_the_transcript_and_the_session_goes_on(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.end_turn_with(TurnOutcome::Failed("overloaded".to_owned())).await;
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert_eq!(puppet.messages_of(MessageType::Error).await[0].content, "overloaded");
        puppet.operator_says("Again.").await;
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Again.");
    }

    async fn a_stop_ends_process_turn_and_token_and_keeps_what_waits(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        puppet.operator_says("waits").await;
        let token = world.node().token(puppet.session).unwrap();
        refused(world.board().session_stop(&puppet.actor(), puppet.session).await, ErrorCode::Forbidden);
        assert!(world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap());
        assert!(!world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap());
        assert_eq!(world.board().authenticate(&token).await.unwrap(), None);
        refused(world.board().check_tool_call(&puppet.actor(), "list_tasks_kandev").await, ErrorCode::Unauthorized);
        world.run().await;
        assert!(!world.node().is_live(puppet.session));
        assert_eq!(puppet.card().await.state, TaskState::Review);
        assert_eq!(world.count("turns where state = 'cancelled'").await, 1);
        assert_eq!(puppet.waiting().await, ["waits"]);
        refused(world.board().prompt_session(&Actor::Operator, puppet.session, "hello", None).await, ErrorCode::Conflict);
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().text, "waits");
    }

    // The wish to deliver is older than the stop; the resume must not hand the prompt to the agent that is being ended.
    async fn a_stop_and_a_resume_in_one_breath_start_another_agent(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let old = world.node().token(puppet.session);
        puppet.operator_says("waits").await;
        world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap();
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        assert!(puppet.is_in_turn());
        assert_eq!(puppet.last_heard().text, "waits");
        let new = world.node().token(puppet.session);
        assert_ne!(new, old);
        assert_eq!(world.board().authenticate(&new.unwrap()).await.unwrap(), Some(puppet.actor()));
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
    }

    // As before, when both follow-ups were put back and come in the wrong order.
    async fn a_late_wish_to_end_an_agent_does_not_end_its_successor(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap();
        let stop = world.board().effect_claim("node-1", 1).await.unwrap().remove(0);
        world.node().die(puppet.session).await.unwrap();
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert!(puppet.is_in_turn());
        world.board().effect_retry(&stop, "node-1").await.unwrap();
        world.clock.advance(60_000);
        world.run().await;
        assert!(world.node().is_live(puppet.session));
        assert!(puppet.is_in_turn());
    }

    // Task-domain 3.9.
    async fn only_the_direct_parent_stops_a_child(db: TestDb) {
        let world = World::new(db).await;
        let root = world.working("Root").await;
        let middle = world.child(&root, "Middle").await;
        let leaf = world.child(&middle, "Leaf").await;
        let sibling = world.child(&middle, "Sibling").await;
        let board = world.board();
        for actor in [root.actor(), leaf.actor(), sibling.actor(), Actor::Operator] {
            refused(board.task_stop(&actor, leaf.task).await, ErrorCode::Forbidden);
        }
        assert!(leaf.is_in_turn());
        assert!(board.task_stop(&middle.actor(), leaf.task).await.unwrap());
        assert!(!board.task_stop(&middle.actor(), leaf.task).await.unwrap(), "not running, nothing changes");
        world.run().await;
        assert_eq!(leaf.state().await, SessionState::Cancelled);
        assert_eq!(leaf.card().await.state, TaskState::Review);
        refused(middle.tell(leaf.task, "hello").await, ErrorCode::Conflict);
    }

    async fn a_resume_with_nothing_to_say_brings_the_agent_up_and_waits(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap();
        world.run().await;
        world.board().session_resume(&Actor::Operator, puppet.session).await.unwrap();
        assert_eq!(puppet.state().await, SessionState::Starting);
        world.run().await;
        assert_eq!(puppet.state().await, SessionState::WaitingForInput);
        assert!(world.node().is_live(puppet.session));
        assert_eq!(puppet.card().await.state, TaskState::Review);
        refused(world.board().session_resume(&puppet.actor(), puppet.session).await, ErrorCode::Forbidden);
        refused(world.board().session_resume(&Actor::Operator, SessionId::new()).await, ErrorCode::NotFound);
    }

    async fn a_cancel_needs_a_turn(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        assert!(!world.board().session_cancel(&Actor::Operator, puppet.session).await.unwrap());
        refused(world.board().session_cancel(&puppet.actor(), puppet.session).await, ErrorCode::Forbidden);
        world.run().await;
        assert!(puppet.view().await.auto_run);
    }

    async fn a_permission_is_the_operators_and_the_first_choice_wins(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        let board = world.board();
        let call = json!({"title": "Run cargo test", "kind": "execute"});
        let id = board.permission_request(child.session, NODE, "7", call, options()).await.unwrap();
        world.check().await;
        let card = child.card().await;
        assert_eq!(card.task_pending_action, Some(PendingAction::Permission));
        assert!(card.needs_operator, "autopilot changes nothing about permissions");
        let page = board.task_page(&Actor::Operator, child.task).await.unwrap();
        assert_eq!(page.permissions[0].title, "Run cargo test");
        refused(board.permission_respond(&child.actor(), id, "allow").await, ErrorCode::Forbidden);
        refused(board.permission_respond(&Actor::Operator, id, "nonsense").await, ErrorCode::Validation);
        board.permission_respond(&Actor::Operator, id, "allow").await.unwrap();
        board.permission_respond(&Actor::Operator, id, "allow").await.unwrap();
        refused(board.permission_respond(&Actor::Operator, id, "reject").await, ErrorCode::Conflict);
        world.run().await;
        assert_eq!(world.node().permissions(), [("7".to_owned(), Some("allow".to_owned()))]);
        assert_eq!(child.card().await.task_pending_action, None);
        let shown = child.messages_of(MessageType::PermissionRequest).await.remove(0);
        assert_eq!((&shown.metadata["status"], shown.requests_input), (&json!("selected"), false));
        assert_eq!(shown.metadata["option_id"], json!("allow"));
    }

    async fn a_permission_ends_with_its_turn_its_session_or_its_agents_wish(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let ends: [(&str, bool); 3] = [("turn", true), ("session", false), ("withdrawn", false)];
        for (what, _) in ends {
            let puppet = world.working(what).await;
            let id = board.permission_request(puppet.session, NODE, what, json!({}), options()).await.unwrap();
            match what {
                "turn" => puppet.end_turn().await,
                "session" => {
                    board.session_stop(&Actor::Operator, puppet.session).await.unwrap();
                }
                _ => board.permission_withdrawn(puppet.session, what).await.unwrap(),
            }
            world.run().await;
            refused(board.permission_respond(&Actor::Operator, id, "allow").await, ErrorCode::Conflict);
            assert_eq!(puppet.card().await.task_pending_action, None, "{what}");
            let shown = puppet.messages_of(MessageType::PermissionRequest).await.remove(0);
            assert_eq!((&shown.metadata["status"], shown.requests_input), (&json!("cancelled"), false), "{what}");
        }
    }

    async fn calls_that_a_turn_leaves_unfinished_are_shown_as_stopped(db: TestDb) {
        let world = World::new(db).await;
        for how in ["cancelled", "stopped", "restarted", "completed"] {
            let puppet = world.working(how).await;
            let turn = world.node().turn(puppet.session);
            let call = |status: &str| Output {
                message_type: MessageType::ToolExecute,
                metadata: Map::from_iter([("status".to_owned(), json!(status))]),
                ..output("cargo test")
            };
            let calls = ["pending", "in_progress", "completed", "failed"].map(call).into();
            world.board().record_output(puppet.session, NODE, turn, calls).await.unwrap();
            match how {
                "cancelled" => puppet.end_turn_with(TurnOutcome::Cancelled).await,
                "stopped" => drop(world.board().session_stop(&Actor::Operator, puppet.session).await.unwrap()),
                "restarted" => drop(world.restart().await),
                _ => puppet.end_turn().await,
            }
            world.run().await;
            let shown = puppet.messages_of(MessageType::ToolExecute).await;
            let shown: Vec<_> = shown.iter().map(|m| m.metadata["status"].as_str().unwrap()).collect();
            assert_eq!(shown, ["stopped", "stopped", "completed", "failed"], "{how}");
        }
    }

    async fn a_growing_message_is_one_message(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let turn = world.node().turn(puppet.session);
        let mut growing = output("Hel");
        let record = async |outputs| world.board().record_output(puppet.session, NODE, turn, outputs).await.unwrap();
        assert_eq!(record(vec![growing.clone(), output("second")]).await, Recorded::Stored);
        growing.content = "Hello".to_owned();
        assert_eq!(record(vec![growing]).await, Recorded::Stored);
        let texts: Vec<_> = puppet.transcript().await.into_iter().map(|m| m.content).collect();
        assert_eq!(texts, ["Begin with Task.", "Hello", "second"]);
    }

    // Rulings 21.
    async fn output_beyond_the_limits_is_cut_and_says_so_once(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let turn = world.node().turn(puppet.session);
        let record = async |outputs| world.board().record_output(puppet.session, NODE, turn, outputs).await.unwrap();
        record(vec![output(&"x".repeat(MAX_MESSAGE_BYTES + 10))]).await;
        let cut = puppet.transcript().await.pop().unwrap();
        assert!(cut.content.ends_with("bytes were cut here]"));
        assert_eq!(cut.metadata["truncated"], json!(true));

        let flood = usize::try_from(MAX_TURN_BYTES).unwrap() / MAX_MESSAGE_BYTES;
        let many: Vec<_> = (0..flood).map(|_| output(&"y".repeat(MAX_MESSAGE_BYTES))).collect();
        assert_eq!(record(many).await, Recorded::Truncated);
        for _ in 0..3 {
            assert_eq!(record(vec![output("left out")]).await, Recorded::Truncated);
        }
        let notes = puppet.messages_of(MessageType::Log).await;
        assert_eq!(notes.len(), 1, "said once");
        assert_eq!(world.count("messages where content = 'left out'").await, 0);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review", "the turn went on");
    }

    async fn a_conversation_is_read_page_by_page(db: TestDb) {
        let world = World::new(db).await;
        let reader = world.working("Reader").await;
        let puppet = world.working("Task").await;
        let turn = world.node().turn(puppet.session);
        let outputs: Vec<_> = (0..25).map(|n| output(&n.to_string())).collect();
        world.board().record_output(puppet.session, NODE, turn, outputs).await.unwrap();
        let read = async |page| world.board().conversation(&reader.actor(), puppet.task, &page).await;
        let newest = read(ConversationPage::default()).await.unwrap();
        let texts = |c: &domain::view::Conversation| c.messages.iter().map(|m| m.content.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&newest), (15..25).map(|n| n.to_string()).collect::<Vec<_>>(), "rulings 27");
        assert!(newest.has_more);
        assert_eq!((newest.session_id, newest.cursor), (puppet.session, Some(newest.messages[9].id)));
        let older = ConversationPage { before: Some(newest.messages[0].id), limit: Some(100), ..ConversationPage::default() };
        let older = read(older).await.unwrap();
        assert_eq!((older.total, older.has_more), (16, false));
        let down = ConversationPage { sort: Some("desc".to_owned()), limit: Some(2), ..ConversationPage::default() };
        assert_eq!(texts(&read(down).await.unwrap()), ["24", "23"]);
        let typed = ConversationPage { message_types: vec![MessageType::ToolCall], ..ConversationPage::default() };
        assert_eq!(read(typed).await.unwrap().total, 0);
        for bad in [
            ConversationPage { limit: Some(-1), ..ConversationPage::default() },
            ConversationPage { sort: Some("up".to_owned()), ..ConversationPage::default() },
            ConversationPage { before: newest.cursor, after: newest.cursor, ..ConversationPage::default() },
            ConversationPage { session_id: Some(reader.session), ..ConversationPage::default() },
            ConversationPage { after: Some(MessageId::new()), ..ConversationPage::default() },
        ] {
            refused(read(bad).await, ErrorCode::Validation);
        }
    }

    async fn access_tokens_are_known_by_their_secret_alone(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let made = board.token_create(&Actor::Operator, "ChatGPT").await.unwrap();
        let (id, token) = (made.info.id, made.token);
        assert_eq!(board.authenticate(&token).await.unwrap(), Some(Actor::External { token: id }));
        for wrong in ["", "fd_", &token[..token.len() - 1], &token.to_uppercase(), "nonsense"] {
            assert_eq!(board.authenticate(wrong).await.unwrap(), None);
        }
        refused(board.token_create(&Actor::External { token: id }, "more").await, ErrorCode::Forbidden);
        refused(board.token_create(&Actor::Operator, " ").await, ErrorCode::Validation);
        assert_eq!(world.count(&format!("access_tokens where token_hash = '{token}'")).await, 0, "kept as a hash");
    }

    async fn a_revoked_access_token_is_known_no_more_and_its_use_is_noted(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let made = board.token_create(&Actor::Operator, " Codex ").await.unwrap();
        let other = board.token_create(&Actor::Operator, "Cursor").await.unwrap();
        let external = Actor::External { token: made.info.id };
        assert_eq!((made.info.name.as_str(), made.info.last_used_at), ("Codex", None));
        for _ in 0..2 {
            assert_eq!(board.authenticate(&made.token).await.unwrap(), Some(external));
        }
        let listed = board.token_list(&Actor::Operator).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.id).collect::<Vec<_>>(), [other.info.id, made.info.id]);
        assert!(listed[1].last_used_at.is_some() && listed[0].last_used_at.is_none());
        refused(board.token_list(&external).await, ErrorCode::Forbidden);
        refused(board.token_revoke(&external, other.info.id).await, ErrorCode::Forbidden);
        for _ in 0..2 {
            board.token_revoke(&Actor::Operator, made.info.id).await.unwrap();
        }
        assert_eq!(board.authenticate(&made.token).await.unwrap(), None);
        assert!(board.authenticate(&other.token).await.unwrap().is_some());
        refused(board.token_revoke(&Actor::Operator, domain::ids::TokenId::new()).await, ErrorCode::NotFound);
    }
}
