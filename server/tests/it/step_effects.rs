//! What steps do, through the doors: agents call tools, operators the API (task-domain 1.5, 1.14).

use crate::flow::Steps;
use crate::support::agent::{Agent, NODE};
use crate::support::{TestApp, id};
use board::{Clock, Next};
use domain::ids::{SessionId, TaskId};
use domain::time::Timestamp;
use serde_json::{Value, json};
use server::serve::Variation;

async fn session(app: &TestApp, id: SessionId) -> Value {
    app.get(&format!("/task-sessions/{id}")).await.json
}

async fn to(app: &TestApp, card: TaskId, step: &Value) -> Value {
    let path = format!("/tasks/{card}/move");
    let moved = app.post(&path, json!({"workflow_step_id": step})).await;
    assert_eq!(moved.status, 200, "{}", moved.json);
    moved.json
}

store::on_both_engines! {
    async fn entering_a_step_sets_mode_and_planning_and_leaving_it_ends_planning(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let events = json!({
            "on_enter": [{"type": "set_session_mode", "config": {"mode": "careful"}}, {"type": "enable_plan_mode"}],
            "on_exit": [{"type": "disable_plan_mode"}],
        });
        steps.change(&app, "Review", json!({"events": events})).await;
        let agent = Agent::resting(&app, "Rests").await;
        let entered = session(&app, agent.session).await;
        assert_eq!((&entered["session_mode"], &entered["plan_mode"]), (&json!("careful"), &json!(true)));
        to(&app, agent.task, &steps.id("Done")).await;
        let left = session(&app, agent.session).await;
        assert_eq!((&left["session_mode"], &left["plan_mode"]), (&json!("careful"), &json!(false)));
    }

    async fn a_step_that_resets_begins_a_conversation_in_which_the_old_one_is_not_loaded(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let events = json!({"on_enter": [{"type": "reset_agent_context"}, {"type": "auto_start_agent"}]});
        steps.change(&app, "Review", json!({"events": events, "prompt": "Review it."})).await;
        let agent = Agent::resting(&app, "Rests").await;
        let board = app.board();
        let next = board.delivery_next(agent.session, NODE, true, None).await.unwrap();
        assert!(matches!(next, Next::Restart), "{next:?}");
        board.session_released(agent.session, NODE).await.unwrap();
        let agent = Agent::launch_session(&app, agent.task, agent.session).await;
        let client = agent.connect(&app).await;
        let talk = client.call("get_task_conversation_kandev", json!({"task_id": "self"})).await;
        let words: Vec<&Value> = talk["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
        assert!(words.contains(&&json!("Do it.")) && words.contains(&&json!("Review it.")), "the transcript is whole: {talk}");
    }

    async fn a_cancel_advances_only_where_the_step_says_so(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        for (counts, step) in [(false, "In Progress"), (true, "Review")] {
            steps.change(&app, "In Progress", json!({"cancel_triggers_turn_complete": counts})).await;
            let agent = Agent::launch(&app, app.started_task("Cancelled").await).await;
            app.post(&format!("/task-sessions/{}/cancel", agent.session), json!({})).await;
            agent.cancelled().await;
            assert_eq!(app.card(agent.task).await["workflow_step_id"], steps.id(step), "counts: {counts}");
        }
    }

    async fn the_end_of_all_parts_moves_their_parent(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let events = json!({"on_children_completed": [{"type": "move_to_step", "config": {"step_id": steps.id("Done")}}]});
        steps.change(&app, "Review", json!({"events": events})).await;
        let parent = Agent::launch(&app, app.started_task("Parent").await).await;
        let client = parent.connect(&app).await;
        let mut parts = Vec::new();
        for title in ["One", "Two"] {
            let part = client.call("create_task_kandev", json!({"title": title, "parent_id": "self", "prompt": "Do it."})).await;
            parts.push(id::<TaskId>(&part["id"]));
        }
        parent.end_turn().await;
        client.call("update_task_kandev", json!({"task_id": parts[0], "state": "done"})).await;
        assert_eq!(app.card(parent.task).await["workflow_step_id"], steps.id("Review"));
        client.call("update_task_kandev", json!({"task_id": parts[1], "state": "failed"})).await;
        assert_eq!(app.card(parent.task).await["workflow_step_id"], steps.id("Done"));
    }

    async fn steps_that_send_a_card_to_one_another_are_stopped_and_the_card_says_so(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let round = |name: &str| json!({"prompt": "Again.", "events": {
            "on_enter": [{"type": "auto_start_agent"}],
            "on_turn_complete": [{"type": "move_to_step", "config": {"step_id": steps.id(name)}}],
        }});
        steps.change(&app, "In Progress", round("Review")).await;
        steps.change(&app, "Review", round("In Progress")).await;
        let mut agent = Agent::launch(&app, app.started_task("Round").await).await;
        let mut turns = 0;
        let card = loop {
            agent.end_turn().await;
            let card = app.card(agent.task).await;
            if card["workflow_notice"].is_string() {
                break card;
            }
            turns += 1;
            assert!(turns < 100, "it goes round for ever");
            agent.next_turn().await;
        };
        assert!(card["workflow_notice"].as_str().unwrap().contains("Move the card by hand"), "{card}");
        assert!(turns > 10, "a workflow may come back a few times: {turns}");
        // An agent's own moves are counted with them, and refused.
        let client = agent.connect(&app).await;
        let there = json!({"task_id": "self", "workflow_id": steps.workflow, "workflow_step_id": steps.id("Done")});
        assert!(client.refused("move_task_kandev", there).await.starts_with("rate_limited"));
        // By hand it goes on, and the card says nothing any more.
        to(&app, agent.task, &steps.id("Done")).await;
        assert_eq!(app.card(agent.task).await["workflow_notice"], Value::Null);
    }

    async fn places_go_to_the_cards_in_the_step_by_position_and_priority_and_then_to_its_feeder(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let full = json!({"wip_limit": 1, "pull_from_step_id": steps.id("Backlog")});
        steps.change(&app, "In Progress", full).await;
        let first = app.task(json!({"title": "First", "description": "Do it."})).await;
        // Moves wait in the step itself, new cards in its feeder.
        let fed = app.task(json!({"title": "Fed", "description": "Do it.", "priority": "critical"})).await;
        assert_eq!(fed["queued_for_step_id"], steps.id("In Progress"));
        let moved: Value = app.task(json!({"title": "Moved", "description": "Do it.", "start_agent": false})).await;
        to(&app, id(&moved["id"]), &steps.id("In Progress")).await;
        let second = app.task(json!({"title": "Moved too", "description": "Do it.", "priority": "high", "start_agent": false})).await;
        let body = json!({"workflow_step_id": steps.id("In Progress"), "position": 0});
        app.post(&format!("/tasks/{}/move", second["id"].as_str().unwrap()), body).await;
        let mut order = Vec::new();
        let mut leaves: TaskId = id(&first["id"]);
        for _ in 0..3 {
            app.post(&format!("/tasks/{leaves}/archive"), json!({})).await;
            let mut admitted = Vec::new();
            for card in [&fed, &moved, &second] {
                let card = app.card(id(&card["id"])).await;
                if card["workflow_step_id"] == steps.id("In Progress") && card["wip_admitted"] == true && card["archived_at"].is_null() {
                    admitted.push(card);
                }
            }
            let [next] = &admitted[..] else { panic!("one place: {admitted:?}") };
            assert_eq!(next["session_count"], 1, "it starts when it has its place");
            order.push(next["title"].as_str().unwrap().to_owned());
            leaves = id(&next["id"]);
        }
        assert_eq!(order, ["Moved too", "Moved", "Fed"]);
    }

    async fn a_card_that_is_over_takes_a_place_where_its_agent_is_started(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let agent = Agent::resting(&app, "Rests").await;
        app.patch(&format!("/tasks/{}", agent.task), json!({"state": "done"})).await;
        let holder = app.started_task("Holds the place").await;
        steps.change(&app, "In Progress", json!({"wip_limit": 1})).await;
        to(&app, agent.task, &steps.id("In Progress")).await;
        let waits = app.card(agent.task).await;
        assert_eq!((&waits["wip_admitted"], &waits["state"]), (&json!(false), &json!("REVIEW")));
        app.post(&format!("/tasks/{holder}/archive"), json!({})).await;
        assert_eq!(app.card(agent.task).await["wip_admitted"], true);
        // Where nothing is started it lies as it is.
        to(&app, agent.task, &steps.id("Done")).await;
        app.patch(&format!("/tasks/{}", agent.task), json!({"state": "done"})).await;
        steps.change(&app, "Review", json!({"wip_limit": 1})).await;
        Agent::resting(&app, "Rests").await;
        to(&app, agent.task, &steps.id("Review")).await;
        let rests = app.card(agent.task).await;
        assert_eq!((&rests["wip_admitted"], &rests["state"]), (&json!(true), &json!("COMPLETED")));
    }

    async fn a_step_archives_by_the_clock_what_rests_in_it(db: TestDb) {
        let clock = Clock::stepped(Timestamp::from_millis(1_800_000_000_000));
        let app = TestApp::on_with(&db, Variation { clock: Some(clock.clone()), ..Variation::default() }).await;
        let steps = Steps::of(&app).await;
        steps.change(&app, "Review", json!({"auto_archive_after_hours": 2})).await;
        let agent = Agent::resting(&app, "Rests").await;
        clock.advance(3 * 3_600_000);
        app.board().tasks_archive_resting().await.unwrap();
        assert!(app.card(agent.task).await["archived_at"].is_string());
    }

    async fn what_a_move_says_to_a_session_that_is_over_waits_for_its_operator(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let agent = Agent::resting(&app, "Rests").await;
        app.post(&format!("/task-sessions/{}/stop", agent.session), json!({})).await;
        let body = json!({"workflow_step_id": steps.id("In Progress"), "entry_options": {"instructions": "Begin with the tests."}});
        let moved = app.post(&format!("/tasks/{}/move", agent.task), body).await;
        assert_eq!((moved.status, &moved.json["disposition"]), (200, &json!("applied")));
        let queue = app.get(&format!("/task-sessions/{}/queue", agent.session)).await.json;
        assert!(queue["entries"][0]["content"].as_str().unwrap().starts_with("Begin with the tests."), "{queue}");
        let notice = app.card(agent.task).await["workflow_notice"].clone();
        assert!(notice.as_str().unwrap().contains("CANCELLED"), "{notice}");
        app.post(&format!("/task-sessions/{}/resume", agent.session), json!({})).await;
        Agent::launch_session(&app, agent.task, agent.session).await;
    }

    // Task-domain 1.5: another agent reviews the work, its findings are there, and its turn's end moves nothing that it should not.
    async fn a_step_has_the_work_reviewed_beside_it(db: TestDb) {
        let app = TestApp::on(&db).await;
        let steps = Steps::of(&app).await;
        let runs = json!({"on_enter": [{"type": "run_code_review"}, {"type": "queue_run", "config": {"prompt": "Test: {{task_prompt}}"}}]});
        steps.change(&app, "Review", json!({"events": runs})).await;
        let path = format!("/workflow/steps/{}", steps.id("Review").as_str().unwrap());
        for bad in [
            json!({"type": "queue_run", "config": {"agent_profile_id": domain::ids::ProfileId::new()}}),
            json!({"type": "queue_run", "config": {"words": "x"}}),
            json!({"type": "queue_run_for_each_participant", "config": {"agent_profile_id": null}}),
        ] {
            let reply = app.patch(&path, json!({"events": {"on_enter": [bad]}})).await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION_ERROR"), "{bad}");
        }
        let worker = Agent::resting(&app, "Rests").await;
        let listed = app.get(&format!("/tasks/{}/sessions", worker.task)).await.json;
        let of = |name: &str| -> SessionId {
            let sessions = listed["sessions"].as_array().unwrap();
            id(&sessions.iter().find(|session| session["name"] == name).unwrap()["id"])
        };
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 3);
        let reviewer = Agent::launch_session(&app, worker.task, of("Code review")).await;
        let client = reviewer.connect(&app).await;
        let finding = json!({"file": "src/lib.rs", "line": 3, "severity": "major", "category": "logic", "title": "Off by one", "body": "It is."});
        client.call("publish_review_findings_kandev", json!({"findings": [finding]})).await;
        reviewer.end_turn().await;
        let tester = Agent::launch_session(&app, worker.task, of("Review")).await;
        let told = app.get(&format!("/task-sessions/{}/messages", tester.session)).await.json;
        assert_eq!(told["messages"][0]["content"], "Test: Do it.");
        tester.end_turn().await;
        let card = app.card(worker.task).await;
        assert_eq!((&card["workflow_step_id"], &card["primary_session_id"]), (&steps.id("Review"), &json!(worker.session)));
        let findings = app.get(&format!("/tasks/{}/review-findings", worker.task)).await.json;
        assert_eq!(findings["findings"][0]["title"], "Off by one");
    }
}
