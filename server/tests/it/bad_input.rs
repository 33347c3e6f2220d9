//! What is wrong with a request is said in one shape, with what to do about it, and leaves nothing behind.

use crate::support::{Reply, TestApp};
use domain::ids::TaskId;
use http::Method;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_that_are_unknown_foreign_or_shortened() {
    let app = TestApp::new().await;
    let unknown = TaskId::new().to_string();
    let workspace = app.get("/workspaces").await.json["workspaces"][0]["id"].clone();
    // The id of another kind of thing is as unknown as one that nobody has.
    for id in [unknown.as_str(), workspace.as_str().unwrap()] {
        for path in [
            "/tasks/{}",
            "/tasks/{}/page",
            "/tasks/{}/sessions",
            "/task-sessions/{}",
            "/messages/{}",
            "/workflows/{}",
        ] {
            let reply = app.get(&path.replace("{}", id)).await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
        }
    }
    let short = &unknown[..8];
    let reply = app.get(&format!("/tasks/{short}")).await;
    assert_eq!((reply.status, reply.code()), (400, "VALIDATION_ERROR"));
    assert!(reply.message().contains("full UUID"), "{}", reply.message());
    let reply = app
        .post("/tasks", json!({"title": "A", "parent_id": short}))
        .await;
    assert_eq!(reply.code(), "VALIDATION_ERROR");
    assert!(
        reply.message().starts_with("parent_id looks shortened"),
        "{}",
        reply.message()
    );
    let reply = app
        .get(&format!(
            "/workspaces/{}/tasks?parent_id={short}",
            workspace.as_str().unwrap()
        ))
        .await;
    assert!(
        reply.message().starts_with("parent_id looks shortened"),
        "{}",
        reply.message()
    );
    let reply = app
        .post("/tasks", json!({"title": "A", "parent_id": unknown}))
        .await;
    assert_eq!(reply.code(), "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn titles_are_measured_in_characters_not_bytes() {
    let app = TestApp::new().await;
    let longest = "🛫".repeat(60);
    assert_eq!(app.task(json!({"title": longest})).await["title"], longest);
    let reply = app.post("/tasks", json!({"title": "🛫".repeat(61)})).await;
    assert_eq!((reply.status, reply.code()), (400, "VALIDATION_ERROR"));
    assert!(reply.message().contains("61"), "{}", reply.message());
    for blank in ["", "   ", "two\nlines"] {
        assert_eq!(
            app.post("/tasks", json!({"title": blank})).await.code(),
            "VALIDATION_ERROR"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_do_not_fit() {
    let app = TestApp::new().await;
    for (body, place) in [
        (json!({"title": "A", "autopilott": true}), "autopilott"),
        (json!({"title": 7}), "/title"),
        (json!({"title": "A", "autopilot": "yes"}), "/autopilot"),
        (json!({"title": "A", "priority": "urgent"}), "/priority"),
        (json!({"title": "A", "external_id": 1.5}), "/external_id"),
        (json!(["A"]), "$"),
        (json!(null), "$"),
    ] {
        let reply = app.post("/tasks", body.clone()).await;
        assert_eq!(
            (reply.status, reply.code()),
            (400, "VALIDATION_ERROR"),
            "{body}"
        );
        assert!(
            reply.message().contains(place),
            "{body}: {}",
            reply.message()
        );
    }
    let workspace = app.get("/workspaces").await.json["workspaces"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let tasks = app.get(&format!("/workspaces/{workspace}/tasks")).await;
    assert_eq!(tasks.json["total"], 0);
    for query in [
        "parent_id=",
        "limit=0",
        "limit=many",
        "stat=TODO",
        "state=nonsense",
        "include_archived=perhaps",
    ] {
        let reply = app
            .get(&format!("/workspaces/{workspace}/tasks?{query}"))
            .await;
        assert_eq!(
            (reply.status, reply.code()),
            (400, "VALIDATION_ERROR"),
            "{query}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_with_a_point_where_a_whole_one_belongs() {
    let app = TestApp::new().await;
    let task = app.task(json!({"title": "A"})).await;
    let path = format!("/tasks/{}/move", task["id"].as_str().unwrap());
    // JSON Schema calls 334.0 a whole number; the position of a card is not written so.
    let body = json!({"workflow_step_id": task["workflow_step_id"], "position": 334.0});
    let reply = app.post(&path, body).await;
    assert_eq!((reply.status, reply.code()), (400, "VALIDATION_ERROR"));
    assert!(!reply.message().contains("334"), "{}", reply.message());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_no_json_or_too_large() {
    let app = TestApp::new().await;
    let send = async |kind: &str, body: String| {
        let request = app
            .request(Method::POST, "/api/v1/tasks")
            .header("content-type", kind)
            .body(body);
        Reply::read(request).await
    };
    let broken = send("application/json", "{\"title\": ".to_owned()).await;
    assert_eq!((broken.status, broken.code()), (400, "BAD_REQUEST"));
    let empty = send("application/json", String::new()).await;
    assert_eq!((empty.status, empty.code()), (400, "BAD_REQUEST"));
    let text = send("text/plain", "{\"title\": \"A\"}".to_owned()).await;
    assert_eq!((text.status, text.code()), (415, "BAD_REQUEST"));
    let large = send(
        "application/json",
        format!("\"{}\"", "x".repeat(1024 * 1024)),
    )
    .await;
    assert_eq!((large.status, large.code()), (413, "BAD_REQUEST"));
    let long = json!({"title": "A", "description": "x".repeat(256 * 1024 + 1)}).to_string();
    let long = send("application/json", long).await;
    assert_eq!((long.status, long.code()), (400, "VALIDATION_ERROR"));
    assert!(long.message().contains("file"), "{}", long.message());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_and_methods_that_are_not_there() {
    let app = TestApp::new().await;
    for path in [
        "/api/v1/nowhere",
        "/api/v1",
        "/api/v2/tasks",
        "/api/nowhere",
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
    ] {
        let reply = Reply::read(app.request(Method::GET, path)).await;
        assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
        assert_eq!(reply.headers["content-type"], "application/json");
    }
    let reply = Reply::read(app.request(Method::PUT, "/api/v1/tasks")).await;
    assert_eq!((reply.status, reply.code()), (405, "BAD_REQUEST"));
    assert_eq!(reply.headers["allow"], "POST");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn autopilot_for_an_agent_that_cannot_take_the_tools() {
    let app = TestApp::new().await;
    let agent = app
        .post("/agents", json!({"name": "Mine", "command": "my-agent"}))
        .await
        .json;
    let passthrough = app
        .post(
            "/agent-profiles",
            json!({"agent_id": agent["id"], "name": "Terminal", "passthrough": true}),
        )
        .await
        .json;
    let parent = app.task(json!({"title": "Parent"})).await;
    let with = |profile: &Value| json!({"title": "Child", "parent_id": parent["id"], "autopilot": true, "agent_profile_id": profile});
    let refused = app.post("/tasks", with(&passthrough["id"])).await;
    assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"));
    assert!(
        refused.message().contains("without autopilot"),
        "{}",
        refused.message()
    );

    let usual = &agent["profiles"][0]["id"];
    let id = crate::support::id(&agent["id"]);
    app.board().agent_handshake(id, false).await.unwrap();
    let refused = app.post("/tasks", with(usual)).await;
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    app.board().agent_handshake(id, true).await.unwrap();
    assert_eq!(app.task(with(usual)).await["autopilot"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nesting_ends_at_the_limit() {
    let app = TestApp::new().await;
    let mut parent = app.task(json!({"title": "Top"})).await;
    let mut levels = 0;
    let refused = loop {
        let body = json!({"title": format!("Level {levels}"), "parent_id": parent["id"]});
        let reply = app.post("/tasks", body).await;
        if reply.status != 201 {
            break reply;
        }
        parent = reply.json;
        levels += 1;
        assert!(levels < 20, "there is no limit");
    };
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    assert_eq!(levels, app.board().settings().max_depth);
}
