//! Several sessions on one task, and what waits for the operator, through the doors.

use crate::operators::pending;
use crate::support::agent::Agent;
use crate::support::{TestApp, id, soon};
use domain::ids::TaskId;
use serde_json::{Value, json};

store::on_both_engines! {
    async fn an_agent_spawns_a_session_and_sees_which_one_it_is(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let spawned = client
            .call(
                "spawn_session_kandev",
                json!({"prompt": "Look at it.", "name": "Review"}),
            )
            .await;
        let mut keys: Vec<&str> = spawned
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, ["agent_profile_id", "session_id", "state", "task_id"]);
        assert_eq!(spawned["task_id"], json!(agent.task));

        let listed = client
            .call("list_task_sessions_kandev", json!({"task_id": "self"}))
            .await;
        assert_eq!(
            (&listed["task_id"], &listed["total"]),
            (&json!(agent.task), &json!(2))
        );
        let [new, own] = listed["sessions"].as_array().unwrap().as_slice() else {
            panic!("two sessions: {listed}");
        };
        assert_eq!(new["session_id"], spawned["session_id"], "newest first");
        assert_eq!(
            (&new["name"], &new["is_current"], &new["is_primary"]),
            (&json!("Review"), &json!(false), &json!(false))
        );
        assert_eq!(
            (&own["is_current"], &own["is_primary"]),
            (&json!(true), &json!(true))
        );
        assert!(own.get("name").is_none() && own.get("completed_at").is_none());

        let second = Agent::launch_session(&app, agent.task, id(&spawned["session_id"])).await;
        let told = app
            .get(&format!("/task-sessions/{}/messages", second.session))
            .await
            .json;
        let first = &told["messages"][0];
        assert_eq!(first["content"], "Look at it.");
        assert_eq!(first["metadata"]["sender_session_id"], json!(agent.session));
        let of_second = second.connect(&app).await;
        let seen = of_second
            .call("list_task_sessions_kandev", json!({"task_id": "self"}))
            .await;
        assert_eq!(seen["sessions"][0]["is_current"], true);
        for (arguments, code) in [
            (json!({"prompt": " "}), "VALIDATION_ERROR"),
            (
                json!({"prompt": "?", "task_id": TaskId::new()}),
                "NOT_FOUND",
            ),
            (
                json!({"prompt": "?", "sender_session_id": second.session}),
                "VALIDATION_ERROR",
            ),
        ] {
            let text = client.refused("spawn_session_kandev", arguments).await;
            assert!(text.starts_with(code), "{text}");
        }
        let text = client
            .refused(
                "list_task_sessions_kandev",
                json!({"task_id": TaskId::new()}),
            )
            .await;
        assert!(text.starts_with("NOT_FOUND"), "{text}");
    }

    async fn another_workspace_cannot_be_given_a_session(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let elsewhere = app
            .post("/workspaces", json!({"name": "Elsewhere"}))
            .await
            .json;
        let there = app
            .task(json!({"title": "There", "workspace_id": elsewhere["id"]}))
            .await;
        let client = agent.connect(&app).await;
        let text = client
            .refused(
                "spawn_session_kandev",
                json!({"prompt": "Hello.", "task_id": there["id"]}),
            )
            .await;
        assert!(text.starts_with("FORBIDDEN"), "{text}");
    }

    async fn an_operator_manages_sessions(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let made = app
            .post(
                &format!("/tasks/{}/sessions", agent.task),
                json!({"prompt": "Second."}),
            )
            .await;
        assert_eq!(made.status, 201);
        let second = made.json["session_id"].as_str().unwrap().to_owned();
        let path = format!("/task-sessions/{second}");
        let named = app.patch(&path, json!({"name": "Tests"})).await.json;
        assert_eq!(named["name"], "Tests");
        let long = app.patch(&path, json!({"name": "x".repeat(121)})).await;
        assert_eq!(long.code(), "VALIDATION_ERROR");
        assert_eq!(
            app.patch(&path, json!({"name": null})).await.json["name"],
            Value::Null
        );
        let promoted = app.post(&format!("{path}/primary"), json!({})).await.json;
        assert_eq!(promoted["is_primary"], true);
        assert_eq!(app.delete(&path).await.json, json!({"success": true}));
        assert_eq!(app.get(&path).await.status, 404);
        let task = app.get(&format!("/tasks/{}", agent.task)).await.json;
        assert_eq!(
            task["primary_session_id"],
            json!(agent.session),
            "the other took its place"
        );
    }

    async fn the_inbox_holds_what_waits_and_lets_go_of_what_was_answered(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("Asks").await).await;
        let client = agent.connect(&app).await;
        let waiting = client.call(
            "ask_user_question_kandev",
            json!({"questions": [{"prompt": "Which store?", "options": ["SQLite", "Postgres"]}]}),
        );
        let answer = async {
            let bundle = pending(&app, &agent).await;
            let inbox = app.get("/inbox").await.json;
            let item = &inbox["items"][0];
            assert_eq!(
                (&item["kind"], &item["task_title"]),
                (&json!("clarification"), &json!("Asks"))
            );
            assert_eq!(item["clarification"]["pending_id"], json!(bundle));
            let before = app
                .get(&format!("/tasks/{}/sessions", agent.task))
                .await
                .json;
            app.post(
                &format!("/clarification/{bundle}/respond"),
                json!({"rejected": true}),
            )
            .await;
            let after = app
                .get(&format!("/tasks/{}/sessions", agent.task))
                .await
                .json;
            let revision =
                |sessions: &Value| sessions["sessions"][0]["pending_action_revision"].clone();
            assert_eq!(revision(&before)["epoch"], revision(&after)["epoch"]);
            assert!(revision(&before)["sequence"].as_i64() < revision(&after)["sequence"].as_i64());
            assert_eq!(app.get("/inbox").await.json["items"], json!([]));
        };
        soon(Box::pin(async { tokio::join!(waiting, answer) })).await;
    }
}
