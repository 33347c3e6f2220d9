//! The main job through the real server and real agent processes, and what goes wrong with them.

#![expect(
    clippy::print_stdout,
    reason = "the time of the demo is printed, not judged"
)]

use crate::process::{Data, Server, text};
use reqwest::{Method, StatusCode};
use serde_json::json;

store::on_both_engines! {
    async fn the_demo_plays_from_button_to_finished_child(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let began = std::time::Instant::now();
        let parent = text(&server.post("/demo", json!({})).await["id"]);
        let child = server.child_of(&parent).await;
        server.until("the answer", async |s| {
            let transcript = s.transcript(&child).await;
            transcript.iter().any(|m| m["type"] == "clarification_request" && m["metadata"]["status"] == "answered").then_some(())
        }).await;
        server.until_quiet().await;
        println!("the demo took {:.1} s", began.elapsed().as_secs_f64());

        let task = server.task(&child).await;
        assert_eq!(task["autopilot"], true);
        assert_eq!(task["state"], "REVIEW");
        let transcript = server.transcript(&child).await;
        let question = transcript.iter().find(|m| m["type"] == "clarification_request").expect("it asked");
        let id = &question["metadata"]["parent_question_id"];
        let answers: Vec<_> = transcript.iter().filter(|m| m["author_type"] == "user" && &m["metadata"]["parent_question_id"] == id).collect();
        assert_eq!(answers.len(), 1);
        assert!(answers[0]["metadata"]["parent_question_response"].is_string());
        let asked: Vec<_> = server.transcript(&parent).await.into_iter().filter(|m| m["metadata"]["parent_question"] == json!(true)).collect();
        assert_eq!(asked.len(), 1);
    }

    async fn a_restart_keeps_a_child_waiting_and_asks_its_parent_only_once(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        // The parent never answers, so that the wait outlasts the restart.
        let child = "e2e:mcp:kandev:ask_parent_question_kandev({\"questions\":[{\"prompt\":\"Which store?\"}]})";
        let create = json!({"title": "Child", "parent_id": "self", "autopilot": true, "prompt": child});
        let script = format!("e2e:answer_times(0)\ne2e:mcp:kandev:create_task_kandev({create})");
        let parent = server.start_task("Parent", &script).await;
        let child = server.child_of(&parent).await;
        let questions = async |s: &Server| s.transcript(&parent).await.into_iter().filter(|m| m["metadata"]["parent_question"] == json!(true)).count();
        server.until("the parent is asked", async |s| (questions(s).await == 1).then_some(())).await;
        server.until_quiet().await;
        server.kill().await;

        let server = Server::start(&data).await;
        server.until_quiet().await;
        let task = server.task(&child).await;
        assert_eq!(task["task_pending_action"], "clarification");
        assert_eq!(task["needs_operator"], false);
        assert_eq!(questions(&server).await, 1);
        // A late way out: the operator's message supersedes, and runs.
        server.post(&format!("/tasks/{child}/messages"), json!({"content": "Take SQLite."})).await;
        server.until("the message runs", async |s| {
            let transcript = s.transcript(&child).await;
            transcript.iter().any(|m| m["author_type"] == "user" && m["content"] == "Take SQLite.").then_some(())
        }).await;
        let transcript = server.transcript(&child).await;
        let question = transcript.iter().find(|m| m["type"] == "clarification_request").expect("it asked");
        assert_eq!(question["metadata"]["status"], "superseded");
    }

    async fn an_agent_that_dies_in_mid_turn_fails_its_session_and_a_resume_goes_on(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let task = server.start_task("Fragile", "/die").await;
        server.until_session(&task, "FAILED").await;
        let view = server.task(&task).await;
        assert_eq!(view["state"], "REVIEW");
        assert!(text(&view["error_message"]).contains("in the middle of its turn"), "{view}");
        let session = text(&view["primary_session_id"]);
        let (status, refused) = server.call(Method::POST, &format!("/task-sessions/{session}/messages"), Some(json!({"content": "hello"}))).await;
        assert_eq!(status, StatusCode::CONFLICT, "{refused}");
        server.post(&format!("/task-sessions/{session}/resume"), json!({})).await;
        server.until_session(&task, "WAITING_FOR_INPUT").await;
        server.post(&format!("/task-sessions/{session}/messages"), json!({"content": "hello"})).await;
        server.until("an answer", async |s| {
            s.transcript(&task).await.iter().any(|m| m["author_type"] == "agent" && text(&m["content"]).contains("hello")).then_some(())
        }).await;
    }

    async fn a_command_that_does_not_exist_fails_with_words_that_say_what_to_do(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let agent = server.post("/agents", json!({"name": "Ghost", "command": "no-such-agent-anywhere"})).await;
        let profile = agent["profiles"][0]["id"].clone();
        let task = server.post("/tasks", json!({"title": "Haunted", "description": "hello", "agent_profile_id": profile})).await;
        let task = text(&task["id"]);
        server.until_session(&task, "FAILED").await;
        let view = server.task(&task).await;
        assert_eq!(view["state"], "FAILED");
        assert!(text(&view["error_message"]).contains("was not found: install it"), "{view}");
        // The prompt is not lost: it waits for the resume.
        assert_eq!(view["queued_prompt_count"], 1);
    }

    async fn junk_floods_and_long_lines_do_not_disturb_a_turn(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        for (title, script, last) in [
            ("Junk", "/junk", "Done with junk."),
            ("Flood", "/flood:3000", "Done with flooding."),
            ("Oversized", "/oversized:2000000", "Done with the long line."),
        ] {
            let task = server.start_task(title, script).await;
            server.until(title, async |s| {
                s.transcript(&task).await.iter().any(|m| text(&m["content"]).contains(last)).then_some(())
            }).await;
            server.until_session(&task, "WAITING_FOR_INPUT").await;
        }
    }

    async fn an_agent_that_ignores_a_cancel_is_ended_and_can_go_on(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start_with(&data, &[("FLIGHTDECK_CANCEL_GRACE_MS", "300")]).await;
        let task = server.start_task("Stuck", "/hang").await;
        server.until("the turn runs", async |s| {
            s.transcript(&task).await.iter().any(|m| m["content"] == "Hanging now.").then_some(())
        }).await;
        let session = text(&server.task(&task).await["primary_session_id"]);
        server.post(&format!("/task-sessions/{session}/cancel"), json!({})).await;
        server.until_session(&task, "WAITING_FOR_INPUT").await;
        server.post(&format!("/task-sessions/{session}/messages"), json!({"content": "still there?"})).await;
        server.until("an answer", async |s| {
            s.transcript(&task).await.iter().any(|m| m["author_type"] == "agent" && text(&m["content"]).contains("still there?")).then_some(())
        }).await;
    }

    async fn a_permission_is_asked_answered_once_and_reaches_the_agent(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let task = server.start_task("Careful", "/permission-flow").await;
        server.until("a request", async |s| (s.task(&task).await["task_pending_action"] == "permission").then_some(())).await;
        let page = server.get(&format!("/tasks/{task}/page")).await;
        let request = &page["permissions"][0];
        let path = format!("/permissions/{}/respond", text(&request["id"]));
        let (status, _) = server.call(Method::POST, &path, Some(json!({"option_id": "not offered"}))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let allow = request["options"].as_array().expect("options").iter().find(|o| o["kind"] == "allow_once").expect("it can be allowed");
        server.post(&path, json!({"option_id": allow["option_id"]})).await;
        server.until("the turn goes on", async |s| {
            s.transcript(&task).await.iter().any(|m| text(&m["content"]).starts_with("The answer was:")).then_some(())
        }).await;
        assert!(server.task(&task).await["task_pending_action"].is_null());
    }

    async fn an_operators_answer_reaches_the_waiting_turn(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let task = server.start_task("Curious", "/ask-single").await;
        server.until("a question", async |s| (s.task(&task).await["task_pending_action"] == "clarification").then_some(())).await;
        assert_eq!(server.task(&task).await["needs_operator"], true);
        let page = server.get(&format!("/tasks/{task}/page")).await;
        let bundle = &page["clarifications"][0];
        let option = &bundle["questions"][0]["options"][0];
        let body = json!({"answers": [{"question_id": bundle["questions"][0]["id"], "selected_options": [option["id"]]}]});
        let outcome = server.post(&format!("/clarification/{}/respond", text(&bundle["pending_id"])), body.clone()).await;
        assert_eq!(outcome["claimed"], true);
        let again = server.post(&format!("/clarification/{}/respond", text(&bundle["pending_id"])), body).await;
        assert_eq!(again["claimed"], false);
        server.until("the turn goes on", async |s| {
            s.transcript(&task).await.iter().any(|m| m["author_type"] == "agent" && text(&m["content"]).contains(option["label"].as_str().unwrap_or("?")) && text(&m["content"]).starts_with("The answer was")).then_some(())
        }).await;
    }
}
