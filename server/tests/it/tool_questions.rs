//! The question tools: the parent's returns at once, the operator's waits.

use crate::operators::pending;
use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{TestApp, soon};
use serde_json::{Value, json};
use server::mcp::Patience;
use server::serve::Variation;
use std::time::Duration;
use store::testing::TestDb;

fn ask() -> Value {
    json!({"questions": [{"prompt": "Which store?", "options": ["SQLite", "Postgres"]}]})
}

async fn impatient(db: &TestDb) -> TestApp {
    TestApp::on_with(
        db,
        Variation {
            patience: Patience {
                progress: Duration::from_millis(20),
                ..Patience::default()
            },
            ..Variation::default()
        },
    )
    .await
}

store::on_both_engines! {
    async fn asking_the_parent_returns_at_once_and_closes_the_turn(db: TestDb) {
        let app = TestApp::on(&db).await;
        let mut parent = Agent::launch(&app, app.started_task("Parent").await).await;
        let mut child = Agent::launch(&app, app.autopilot_child(parent.task).await).await;
        let client = child.connect(&app).await;
        let asked = client.call("ask_parent_question_kandev", ask()).await;
        assert_eq!(asked["status"], "waiting_for_parent");
        assert_eq!(asked["parent_task_id"], json!(parent.task));
        let question = asked["question_id"].as_str().unwrap().to_owned();

        // Asking again is the same question; everything else is refused until the turn has ended.
        let again = client
            .call(
                "ask_parent_question_kandev",
                json!({"questions": [{"prompt": "Another?"}]}),
            )
            .await;
        assert_eq!(again["question_id"], asked["question_id"]);
        for (tool, arguments) in [
            ("list_workspaces_kandev", json!({})),
            ("step_complete_kandev", json!({"summary": "Done."})),
            (
                "message_task_kandev",
                json!({"task_id": parent.task, "prompt": "?"}),
            ),
        ] {
            let text = client.refused(tool, arguments).await;
            assert!(
                text.starts_with("CONFLICT") && text.contains("end your turn"),
                "{text}"
            );
        }
        child.end_turn().await;
        let waiting = app.get(&format!("/tasks/{}", child.task)).await.json;
        assert_eq!(waiting["task_pending_action"], "clarification");
        assert_eq!(waiting["needs_operator"], false);

        parent.end_turn().await;
        let prompt = parent.next_turn().await;
        assert!(prompt.contains("Which store?"), "{prompt}");
        let of_parent = parent.connect(&app).await;
        let answered = of_parent.answer(child.task, &question, "SQLite.").await;
        assert_eq!(answered["status"], "sent");
        let repeated = of_parent.answer(child.task, &question, "Postgres.").await;
        assert_eq!(repeated["status"], "already_answered");
        assert_eq!(child.next_turn().await, "SQLite.");
        client.call("list_workspaces_kandev", json!({})).await;
        let working = app.get(&format!("/tasks/{}", child.task)).await.json;
        assert_eq!(working["task_pending_action"], Value::Null);
    }

    async fn asking_the_operator_waits_says_so_and_is_answered(db: TestDb) {
        let app = impatient(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let mut client = agent.connect(&app).await;
        let peer = client.service.peer().clone();
        let arguments = ask();
        let waiting = tokio::spawn(async move {
            let params = rmcp::model::CallToolRequestParams::new("ask_user_question_kandev")
                .with_arguments(arguments.as_object().unwrap().clone());
            peer.call_tool(params).await
        });
        let pending = pending(&app, &agent).await;
        client.told_of_progress(2).await;
        let answer = json!({"answers": [{"question_id": "q1", "selected_options": ["q1_opt2"]}]});
        let reply = app
            .post(&format!("/clarification/{pending}/respond"), answer)
            .await;
        assert_eq!(reply.json["claimed"], true);
        let result = soon(waiting).await.unwrap().unwrap();
        assert_eq!(
            result.structured_content.unwrap(),
            json!({"q1": {"selected_option": {"id": "q1_opt2", "label": "Postgres"}}})
        );
        // The same turn goes on.
        let task = app.get(&format!("/tasks/{}", agent.task)).await.json;
        assert_eq!(task["state"], "IN_PROGRESS");
    }

    async fn a_client_that_goes_leaves_a_question_that_can_still_be_answered(db: TestDb) {
        for how in ["dropped", "cancelled", "closed", "discovered"] {
            let app = TestApp::on(&db).await;
            let mut agent = Agent::launch(&app, app.started_task("A").await).await;
            let client = if how == "discovered" {
                Client::discover(&app, &agent.token).await
            } else {
                agent.connect(&app).await
            };
            let peer = client.service.peer().clone();
            let params = rmcp::model::CallToolRequestParams::new("ask_user_question_kandev")
                .with_arguments(ask().as_object().unwrap().clone());
            let handle = peer
                .send_cancellable_request(
                    rmcp::model::ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(
                        params,
                    )),
                    rmcp::service::PeerRequestOptions::no_options(),
                )
                .await
                .unwrap();
            let pending = pending(&app, &agent).await;
            match how {
                "cancelled" => handle.cancel(None).await.unwrap(),
                "closed" => drop(soon(client.service.cancel()).await.unwrap()),
                _ => {
                    // As a process that is killed: nothing is said, the connections just end.
                    drop(handle);
                    drop(client);
                }
            }
            app.until(&format!("/tasks/{}/page", agent.task), |page| {
                page["clarifications"][0]["agent_disconnected"] == true
            })
            .await;
            agent.end_turn().await;
            let answer = json!({"answers": [{"question_id": "q1", "selected_options": ["q1_opt1"]}]});
            // The answer is accepted when the agent has taken it, and not before.
            let path = format!("/clarification/{pending}");
            let respond_path = format!("{path}/respond");
            let respond = app.post(&respond_path, answer);
            let deliver = async {
                app.until(&path, |bundle| bundle["status"] == "responding")
                    .await;
                agent.next_turn().await
            };
            let (reply, prompt) = soon(Box::pin(async { tokio::join!(respond, deliver) })).await;
            assert_eq!(reply.json["claimed"], true, "{how}: {}", reply.json);
            assert_eq!(reply.json["status"], "answered", "{how}");
            assert!(prompt.contains("SQLite"), "{how}: {prompt}");
        }
    }

    async fn a_question_that_waits_too_long_ends_its_call_and_is_answered_by_a_message(db: TestDb) {
        let app = TestApp::on_with(&db, Variation {
            patience: Patience {
                question: Duration::from_millis(50),
                ..Patience::default()
            },
            ..Variation::default()
        })
        .await;
        let mut agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let result = client.call("ask_user_question_kandev", ask()).await;
        assert_eq!(result, json!({"q1": {"answered": false}}));
        let task = app.get(&format!("/tasks/{}", agent.task)).await.json;
        assert_eq!(task["task_pending_action"], Value::Null);
        assert_eq!(task["state"], "IN_PROGRESS", "its turn goes on");
        let transcript = app
            .get(&format!(
                "/task-sessions/{}/messages?message_types=clarification_request",
                agent.session
            ))
            .await
            .json;
        let asked = &transcript["messages"][0]["metadata"];
        assert_eq!(asked["status"], "expired");
        let path = format!("/clarification/{}", asked["pending_id"].as_str().unwrap());
        let waited = app.get(&format!("{path}/wait?timeout_ms=20000")).await;
        assert_eq!(
            waited.json["status"], "expired",
            "it does not wait for what is over"
        );
        let answer = json!({"answers": [{"question_id": "q1", "selected_options": ["q1_opt1"]}]});
        let late = app.post(&format!("{path}/respond"), answer.clone()).await;
        assert_eq!(late.code(), "CONFLICT");
        agent.end_turn().await;
        assert_eq!(app.post(&format!("{path}/say"), answer).await.status, 200);
        let prompt = agent.next_turn().await;
        assert!(
            prompt.contains("Which store?") && prompt.contains("SQLite"),
            "{prompt}"
        );
    }

    async fn a_question_that_is_withdrawn_returns_with_nothing_answered(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let waiting = client.call("ask_user_question_kandev", ask());
        let withdraw = async {
            let path = format!("/clarification/{}", pending(&app, &agent).await);
            let open = app.get(&format!("{path}/wait?timeout_ms=1")).await;
            assert_eq!(open.json["status"], "pending");
            let waiter = format!("{path}/wait");
            let cancel = format!("{path}/cancel");
            let (waited, cancelled) = tokio::join!(app.get(&waiter), app.post(&cancel, json!({})));
            assert_eq!(cancelled.json["status"], "cancelled");
            assert_eq!(waited.json["status"], "cancelled");
        };
        let (result, ()) = soon(Box::pin(async { tokio::join!(waiting, withdraw) })).await;
        assert_eq!(result, json!({"q1": {"answered": false}}));
    }

    async fn a_question_may_forbid_own_words_and_a_parent_is_never_bound_so(db: TestDb) {
        let app = TestApp::on(&db).await;
        let parent = Agent::launch(&app, app.started_task("A").await).await;
        let client = parent.connect(&app).await;
        let mut bound = ask();
        bound["questions"][0]["allow_custom_text"] = json!(false);
        let waiting = client.call("ask_user_question_kandev", bound.clone());
        let answer = async {
            let path = format!("/clarification/{}/respond", pending(&app, &parent).await);
            let own = json!({"answers": [{"question_id": "q1", "custom_text": "Neither."}]});
            assert_eq!(app.post(&path, own).await.code(), "VALIDATION_ERROR");
            let chosen = json!({"answers": [{"question_id": "q1", "selected_options": ["q1_opt1"]}]});
            assert_eq!(app.post(&path, chosen).await.json["claimed"], true);
        };
        soon(Box::pin(async { tokio::join!(waiting, answer) })).await;
        let listed = client.tools().await;
        let asks = listed
            .iter()
            .find(|tool| tool.name == "ask_user_question_kandev");
        let schema = json!(asks.unwrap().input_schema);
        let option = &schema["properties"]["questions"]["items"]["properties"]["allow_custom_text"];
        assert_eq!(option["type"], "boolean");
    }

    async fn a_stopping_server_keeps_no_waiting_call(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let peer = client.service.peer().clone();
        let waiting = tokio::spawn(async move {
            let params = rmcp::model::CallToolRequestParams::new("ask_user_question_kandev")
                .with_arguments(ask().as_object().unwrap().clone());
            peer.call_tool(params).await
        });
        pending(&app, &agent).await;
        let began = std::time::Instant::now();
        soon(app.stop()).await;
        assert!(
            began.elapsed() < Duration::from_secs(8),
            "the stop waited for the call"
        );
        waiting.abort();
    }

    async fn a_call_that_is_made_again_waits_for_the_same_questions(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let (one, two) = (client.call("ask_user_question_kandev", ask()), client.call("ask_user_question_kandev", ask()));
        let answer = async {
            let bundle = pending(&app, &agent).await;
            let session = app.get(&format!("/task-sessions/{}", agent.session)).await.json;
            assert_eq!((&session["state"], &session["pending_action"]), (&json!("WAITING_FOR_INPUT"), &json!("clarification")));
            let task = app.get(&format!("/tasks/{}", agent.task)).await.json;
            assert_eq!((&task["state"], &task["needs_operator"]), (&json!("REVIEW"), &json!(true)));
            let page = app.get(&format!("/tasks/{}/page", agent.task)).await.json;
            assert_eq!(page["clarifications"].as_array().unwrap().len(), 1);
            let unknown = domain::ids::ClarificationId::new();
            let body = json!({"answers": [{"question_id": "q1", "selected_options": ["q1_opt1"]}]});
            let nobodys = app.post(&format!("/clarification/{unknown}/respond"), body.clone()).await;
            assert_eq!((nobodys.status, nobodys.code()), (404, "NOT_FOUND"));
            app.post(&format!("/clarification/{bundle}/respond"), body).await
        };
        let (one, two, reply) = soon(Box::pin(async { tokio::join!(one, two, answer) })).await;
        assert_eq!(reply.json["claimed"], true);
        assert_eq!((&one, &two), (&reply.json["response"], &reply.json["response"]));
    }
}
