//! The shapes of answers, as snapshots; what they mean is the board's to test.

use crate::support::agent::Agent;
use crate::support::redact::Redact;
use crate::support::{Reply, TestApp, id};
use domain::ids::SessionId;
use http::Method;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shapes_of_the_api() {
    let app = TestApp::new().await;
    let mut redact = Redact::new(app.data.path());
    let mut shapes = serde_json::Map::new();
    let mut keep = |name: &str, reply: &Reply| {
        let mut shape = redact.value(&reply.json);
        // The program under test lies elsewhere for everybody.
        if let Some(agents) = shape.pointer_mut("/agents").and_then(Value::as_array_mut) {
            agents.retain(|agent| agent["name"] == "Demo agent");
            agents[0]["command"] = json!("[exe]");
        }
        if let Some(total) = shape.get_mut("total").filter(|_| name == "GET /agents") {
            *total = json!("[number]");
        }
        shapes.insert(
            name.to_owned(),
            json!({"status": reply.status, "body": shape}),
        );
    };
    let workspaces = app.get("/workspaces").await;
    let workspace = workspaces.json["workspaces"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    keep("GET /workspaces", &workspaces);
    keep("GET /agents", &app.get("/agents").await);
    keep(
        "GET /workspaces/{id}/workflows",
        &app.get(&format!("/workspaces/{workspace}/workflows")).await,
    );

    let made = app
        .post(
            "/tasks",
            json!({"title": "Parent", "description": "Do it."}),
        )
        .await;
    keep("POST /tasks", &made);
    let parent = Agent::launch(&app, id(&made.json["id"])).await;
    let child = Agent::launch(&app, app.autopilot_child(parent.task).await).await;
    keep(
        "GET /tasks/{id}",
        &app.get(&format!("/tasks/{}", child.task)).await,
    );
    child
        .connect(&app)
        .await
        .call(
            "ask_parent_question_kandev",
            json!({"questions": [{"prompt": "Which store?", "options": ["SQLite", "Postgres"]}], "context": "It matters."}),
        )
        .await;
    child.end_turn().await;
    keep(
        "GET /tasks/{id}/page of a waiting child",
        &app.get(&format!("/tasks/{}/page", child.task)).await,
    );
    keep(
        "GET /tasks/{id}/sessions",
        &app.get(&format!("/tasks/{}/sessions", child.task)).await,
    );
    keep(
        "GET /task-sessions/{id}/messages of a waiting child",
        &app.get(&format!("/task-sessions/{}/messages", child.session))
            .await,
    );
    keep(
        "POST /task-sessions/{id}/messages to a busy session",
        &app.post(
            &format!("/task-sessions/{}/messages", parent.session),
            json!({"content": "Hurry."}),
        )
        .await,
    );
    keep(
        "GET /tasks/{id}/related",
        &app.get(&format!("/tasks/{}/related", parent.task)).await,
    );
    keep(
        "POST /tasks/{id}/archive",
        &app.post(&format!("/tasks/{}/archive", child.task), json!({}))
            .await,
    );
    keep(
        "DELETE /tasks/{id}",
        &app.delete(&format!("/tasks/{}", child.task)).await,
    );
    keep("GET /tasks/{id} that is gone", &{
        let mut gone = app.get(&format!("/tasks/{}", child.task)).await;
        gone.json["error"]["request_id"] = json!("[request]");
        gone
    });
    insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!(shapes) });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_lives_through_the_api() {
    let app = TestApp::new().await;
    let task = app.task(json!({"title": "A"})).await;
    assert_eq!(task["state"], "CREATED");
    assert_eq!(task["autopilot"], false);
    let path = format!("/tasks/{}", task["id"].as_str().unwrap());

    let changed = app
        .patch(&path, json!({"title": "B", "priority": "high", "state": "in review", "autopilot": true, "external_id": "x"}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.json);
    assert_eq!(changed.json["title"], "B");
    assert_eq!(changed.json["state"], "REVIEW");
    // Fixed at creation: said again, it is not heard.
    assert_eq!(changed.json["autopilot"], false);
    assert_eq!(changed.json["external_id"], Value::Null);

    let workflow = app
        .get(&format!(
            "/workflows/{}",
            task["workflow_id"].as_str().unwrap()
        ))
        .await
        .json;
    let done = workflow["steps"][3].clone();
    let moved = app
        .post(
            &format!("{path}/move"),
            json!({"workflow_step_id": done["id"]}),
        )
        .await;
    assert_eq!(moved.json["workflow_step"], done);
    assert_eq!(moved.json["task"]["workflow_step_id"], done["id"]);

    let archived = app.post(&format!("{path}/archive"), json!({})).await;
    assert_eq!(archived.json["already_archived"], false);
    let again = app.post(&format!("{path}/archive"), json!({})).await;
    assert_eq!(again.json["already_archived"], true);
    let back = app.post(&format!("{path}/unarchive"), json!({})).await;
    assert_eq!(back.json["archived_at"], Value::Null);
    assert_eq!(app.delete(&path).await.json, json!({"success": true}));
    assert_eq!(app.get(&path).await.code(), "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_the_creators_makes_one_task() {
    let app = TestApp::new().await;
    let body = json!({"title": "A", "external_id": "mine"});
    let first = app.post("/tasks", body.clone()).await;
    let again = app.post("/tasks", body).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.json["id"], again.json["id"]);
    assert_eq!(again.json["deduplicated"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_steered_through_the_api() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let session = format!("/task-sessions/{}", agent.session);
    let sent = app
        .post(
            &format!("{session}/messages"),
            json!({"content": "And this."}),
        )
        .await;
    assert_eq!(sent.json["status"], "queued");
    let held = app
        .post(&format!("{session}/auto-run"), json!({"auto_run": false}))
        .await;
    assert_eq!(held.json["auto_run"], false);
    let queued = sent.json["queue_entry_id"].as_str().unwrap();
    assert_eq!(app.delete(&format!("/queue/{queued}")).await.status, 200);
    assert_eq!(
        app.delete(&format!("/queue/{queued}")).await.code(),
        "NOT_FOUND"
    );
    assert_eq!(
        app.post(&format!("{session}/cancel"), json!({}))
            .await
            .status,
        200
    );
    let stopped = app.post(&format!("{session}/stop"), json!({})).await;
    assert_eq!(stopped.json["state"], "CANCELLED");
    let refused = app
        .post(
            &format!("{session}/messages"),
            json!({"content": "Too late."}),
        )
        .await;
    assert_eq!(refused.code(), "CONFLICT");
    let resumed = app.post(&format!("{session}/resume"), json!({})).await;
    assert_eq!(resumed.json["state"], "STARTING");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_prompted_before_it_has_a_session() {
    let app = TestApp::new().await;
    let task = app.task(json!({"title": "A"})).await;
    let path = format!("/tasks/{}", task["id"].as_str().unwrap());
    let ensured = app
        .post(&format!("{path}/sessions/ensure"), json!({}))
        .await;
    let session: SessionId = id(&ensured.json["id"]);
    let sent = app
        .post(&format!("{path}/messages"), json!({"content": "Go."}))
        .await;
    assert_eq!(sent.json["status"], "started");
    assert_eq!(id::<SessionId>(&sent.json["session_id"]), session);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_added_by_command_line_and_keep_their_secrets() {
    let app = TestApp::new().await;
    let agent = app
        .post(
            "/agents",
            json!({"name": "Mine", "command": "my-agent", "args": ["acp"], "env": {"KEY": "s3cret"}}),
        )
        .await;
    assert_eq!(agent.status, 201);
    assert_eq!(agent.json["env_names"], json!(["KEY"]));
    let profile = app
        .post(
            "/agent-profiles",
            json!({"agent_id": agent.json["id"], "name": "Fast", "model": "small", "passthrough": false}),
        )
        .await;
    assert_eq!(profile.status, 201);
    let of_it = app
        .get(&format!(
            "/agent-profiles?agent_id={}",
            agent.json["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(of_it.json["total"], 2);
    let all = app.get("/agents").await.json.to_string();
    assert!(!all.contains("s3cret"));
    let taken = app
        .post("/agents", json!({"name": "Mine", "command": "other"}))
        .await;
    assert_eq!(taken.code(), "CONFLICT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn saved_prompts_are_kept_by_name() {
    let app = TestApp::new().await;
    let path = "/saved-prompts/review";
    let put = async |path: &str, body: Value| app.call(Method::PUT, path, Some(body)).await;
    let saved = put(path, json!({"content": " Look for races.\n"})).await;
    assert_eq!(
        (saved.status, &saved.json["content"]),
        (200, &json!("Look for races."))
    );
    let listed = app.get("/saved-prompts").await.json;
    assert_eq!(
        (&listed["total"], &listed["prompts"][0]),
        (&json!(1), &saved.json)
    );
    for (path, body) in [
        (path, json!({"content": ""})),
        (path, json!({"content": "x".repeat(32 * 1024 + 1)})),
        (path, json!({"content": "x", "name": "y"})),
        ("/saved-prompts/Review", json!({"content": "x"})),
        ("/saved-prompts/a%20b", json!({"content": "x"})),
    ] {
        let refused = put(path, body).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "VALIDATION_ERROR"),
            "{path}"
        );
    }
    for deleted in [true, false] {
        assert_eq!(
            app.delete(path).await.json,
            json!({"success": true, "deleted": deleted})
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_readiness_and_metrics() {
    let app = TestApp::new().await;
    let get = async |path: &str| Reply::read(app.request(Method::GET, path)).await;
    assert_eq!(get("/healthz").await.json, json!({"status": "ok"}));
    let ready = get("/readyz").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json["database"], "ok");
    app.started_task("A").await;
    let metrics = get("/metrics").await;
    let text = metrics.json.as_str().unwrap();
    for line in [
        "flightdeck_tasks{state=\"CREATED\"} 1",
        "flightdeck_http_requests_total{method=\"POST\",route=\"/api/v1/tasks\",status=\"201\"} 1",
        "flightdeck_effects_due 1",
        "flightdeck_live_agents 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}
