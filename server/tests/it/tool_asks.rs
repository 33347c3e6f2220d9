//! An outside client sees what waits for the operator, and answers it: of several answers the first counts, wherever it came from.

use crate::operators::pending;
use crate::support::agent::{Agent, NODE};
use crate::support::client::Client;
use crate::support::{TestApp, soon};
use domain::permission::PermissionOption;
use serde_json::{Value, json};

async fn outside(app: &TestApp) -> Client {
    Client::connect(app, &app.access_token().await).await
}

/// Puts a question to the operator in a call that goes on waiting.
async fn asks(
    agent: &Agent,
    app: &TestApp,
    prompt: &str,
) -> (Client, tokio::task::JoinHandle<Value>) {
    let client = agent.connect(app).await;
    let peer = client.service.peer().clone();
    let arguments = json!({"questions": [{"prompt": prompt, "options": ["SQLite", "Postgres"]}], "context": "Before the migration."});
    let waiting = tokio::spawn(async move {
        let params = rmcp::model::CallToolRequestParams::new("ask_user_question_kandev")
            .with_arguments(arguments.as_object().unwrap().clone());
        let result = peer.call_tool(params).await.unwrap();
        result.structured_content.unwrap()
    });
    (client, waiting)
}

store::on_both_engines! {
    async fn a_question_is_listed_and_answered_once(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let (_connection, waiting) = asks(&agent, &app, "Which store?").await;
        let id = pending(&app, &agent).await;
        // A question between tasks is nobody's to see here.
        let child = Agent::launch(&app, app.autopilot_child(agent.task).await).await;
        child
            .connect(&app)
            .await
            .call("ask_parent_question_kandev", json!({"questions": [{"prompt": "Parent?"}]}))
            .await;

        let client = outside(&app).await;
        let listed = client.call("list_pending_questions_kandev", json!({})).await;
        assert_eq!((&listed["count"], &listed["next_cursor"]), (&json!(1), &Value::Null));
        let bundle = &listed["bundles"][0];
        assert_eq!(bundle["pending_id"], json!(id));
        assert_eq!((&bundle["task_id"], &bundle["session_id"]), (&json!(agent.task), &json!(agent.session)));
        assert_eq!(bundle["context"], "Before the migration.");
        assert!(bundle["age_seconds"].as_i64().unwrap() >= 0);
        let question = &bundle["questions"][0];
        assert_eq!((&question["question_id"], &question["status"]), (&json!("q1"), &json!("pending")));
        assert_eq!(question["options"][1]["label"], "Postgres");

        let answer = |option: &Value| json!({
            "pending_id": id,
            "answers": [{"question_id": "q1", "selected_options": [option]}],
        });
        let second = &question["options"][1]["option_id"];
        let won = client.call("answer_question_kandev", answer(second)).await;
        assert_eq!((&won["claimed"], &won["status"]), (&json!(true), &json!("answered")));
        let result = soon(waiting).await.unwrap();
        assert_eq!(result["q1"]["selected_option"]["label"], "Postgres");

        // Who comes later, from here or from the page, is told what counts.
        let lost = client.call("answer_question_kandev", answer(&question["options"][0]["option_id"])).await;
        assert_eq!((&lost["claimed"], &lost["response"]), (&json!(false), &won["response"]));
        let page = app
            .post(&format!("/clarification/{id}/respond"), json!({"rejected": true}))
            .await;
        assert_eq!(page.json["claimed"], false);
        let listed = client.call("list_pending_questions_kandev", json!({})).await;
        assert_eq!(listed["count"], 0);
    }

    async fn a_permission_is_chosen_by_its_whole_name_and_once(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let option = |id: &str, kind: &str| PermissionOption {
            option_id: id.to_owned(),
            name: id.to_owned(),
            kind: kind.to_owned(),
        };
        let options = vec![option("yes", "allow_once"), option("no", "reject_once")];
        let tool_call = json!({"title": "rm -rf build"});
        app.board()
            .permission_request(agent.session, NODE, "7", tool_call, options)
            .await
            .unwrap();
        let client = outside(&app).await;
        let listed = client
            .call("list_pending_agent_permissions_kandev", json!({"task_id": agent.task}))
            .await;
        let asked = listed["permissions"][0].clone();
        assert_eq!((&listed["count"], &asked["title"], &asked["request_id"]), (&json!(1), &json!("rm -rf build"), &json!("7")));
        let choose = |field: &str, value: Value| {
            let mut choice = json!({
                "task_id": agent.task, "session_id": agent.session, "request_id": "7",
                "pending_id": asked["pending_id"], "option_id": "yes",
            });
            choice[field] = value;
            choice
        };
        for (field, value, code) in [
            ("request_id", json!("8"), "NOT_FOUND"),
            ("session_id", json!(domain::ids::SessionId::new()), "NOT_FOUND"),
            ("task_id", json!(domain::ids::TaskId::new()), "NOT_FOUND"),
            ("option_id", json!("maybe"), "VALIDATION_ERROR"),
        ] {
            let text = client.refused("resolve_agent_permission_kandev", choose(field, value)).await;
            assert!(text.starts_with(code), "{field}: {text}");
        }
        let done = client.call("resolve_agent_permission_kandev", choose("option_id", json!("yes"))).await;
        assert_eq!((&done["success"], &done["option_id"]), (&json!(true), &json!("yes")));
        for again in ["yes", "no"] {
            let text = client.refused("resolve_agent_permission_kandev", choose("option_id", json!(again))).await;
            assert!(text.starts_with("CONFLICT"), "{text}");
        }
        let listed = client
            .call("list_pending_agent_permissions_kandev", json!({"task_id": agent.task, "session_id": agent.session}))
            .await;
        assert_eq!(listed["count"], 0);
        // Who chose stands beside the request.
        let messages = app.get(&format!("/task-sessions/{}/messages?limit=100", agent.session)).await.json;
        let shown = messages["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|message| message["type"] == "permission_request")
            .unwrap();
        assert_eq!((&shown["metadata"]["status"], &shown["metadata"]["resolved_by"]), (&json!("selected"), &json!("client")));
    }

    async fn questions_come_in_pages_of_a_workspace(db: TestDb) {
        let app = TestApp::on(&db).await;
        let mut waits = Vec::new();
        for title in ["A", "B"] {
            let agent = Agent::launch(&app, app.started_task(title).await).await;
            waits.push(asks(&agent, &app, title).await);
            pending(&app, &agent).await;
        }
        let client = outside(&app).await;
        let first = client.call("list_pending_questions_kandev", json!({"limit": 1})).await;
        let second = client
            .call("list_pending_questions_kandev", json!({"limit": 1, "cursor": first["next_cursor"]}))
            .await;
        let prompt = |page: &Value| page["bundles"][0]["questions"][0]["prompt"].clone();
        assert_eq!((prompt(&first), prompt(&second), &second["next_cursor"]), (json!("A"), json!("B"), &Value::Null));
        let away = app.post("/workspaces", json!({"name": "Away"})).await.json["id"].clone();
        let none = client.call("list_pending_questions_kandev", json!({"workspace_id": away})).await;
        assert_eq!(none["count"], 0);
        let since = json!({"created_since": "2099-01-01T00:00:00Z"});
        assert_eq!(client.call("list_pending_questions_kandev", since).await["count"], 0);
        for bad in [json!({"cursor": "x"}), json!({"created_since": "yesterday"}), json!({"limit": "1"})] {
            let text = client.refused("list_pending_questions_kandev", bad).await;
            assert!(text.starts_with("VALIDATION_ERROR"), "{text}");
        }
    }
}
