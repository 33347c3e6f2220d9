//! Who may call the tools: whoever has a good token, as the session or client that it was made for, and nobody else.

use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{Reply, TestApp};
use board::Actor;
use http::Method;
use serde_json::{Value, json};

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

fn rpc(app: &TestApp, body: &Value) -> reqwest::RequestBuilder {
    app.request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .json(body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_good_token_there_is_a_challenge() {
    let app = TestApp::new().await;
    let good = app.access_token().await;
    for header in [
        None,
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some("Bearer fd_unknown".to_owned()),
        Some("Bearer somebody-elses".to_owned()),
        Some(format!("Basic {good}")),
        Some(format!("Bearer {good}x")),
    ] {
        let mut request = rpc(&app, &initialize());
        if let Some(header) = &header {
            request = request.header("authorization", header);
        }
        let reply = Reply::read(request).await;
        assert_eq!(
            (reply.status, reply.code()),
            (401, "UNAUTHORIZED"),
            "{header:?}"
        );
        let challenge = reply.headers["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
        let metadata = app.url("/.well-known/oauth-protected-resource/mcp");
        assert!(
            challenge.contains(&format!("resource_metadata=\"{metadata}\"")),
            "{challenge}"
        );
    }
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ] {
        let metadata = Reply::read(app.request(Method::GET, path)).await;
        assert_eq!(metadata.status, 200);
        assert_eq!(metadata.json["resource"], app.url("/mcp"));
        assert_eq!(metadata.json["bearer_methods_supported"], json!(["header"]));
    }
    let reply = rpc(&app, &initialize())
        .header("authorization", format!("bearer {good}"))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_ends_with_its_session_and_with_the_next_launch() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let client = agent.connect(&app).await;
    client.call("list_workspaces_kandev", json!({})).await;
    app.board()
        .session_stop(&Actor::Operator, agent.session)
        .await
        .unwrap();
    client
        .try_call("list_workspaces_kandev", json!({}))
        .await
        .unwrap_err();
    let request = rpc(&app, &initialize()).bearer_auth(&agent.token);
    assert_eq!(Reply::read(request).await.status, 401);

    app.board()
        .session_resume(&Actor::Operator, agent.session)
        .await
        .unwrap();
    let request = rpc(&app, &initialize()).bearer_auth(&agent.token);
    assert_eq!(
        Reply::read(request).await.status,
        401,
        "an old token came back to life"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_of_use_to_its_owner_only() {
    let app = TestApp::new().await;
    let (mine, other) = (app.access_token().await, app.access_token().await);
    let opened = rpc(&app, &initialize())
        .bearer_auth(&mine)
        .send()
        .await
        .unwrap();
    let session = opened.headers()["mcp-session-id"].clone();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    for (token, status) in [(&other, 404), (&mine, 200)] {
        let response = rpc(&app, &list)
            .bearer_auth(token)
            .header("mcp-session-id", session.clone())
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), status);
    }
    let stream = app
        .request(Method::GET, "/mcp")
        .header("accept", "text/event-stream")
        .bearer_auth(&other)
        .header("mcp-session-id", session.clone());
    assert_eq!(Reply::read(stream).await.status, 404);
    let end = app
        .request(Method::DELETE, "/mcp")
        .bearer_auth(&other)
        .header("mcp-session-id", session);
    assert_eq!(Reply::read(end).await.status, 404);
}

/// The sender of what an agent does is its token's session; nothing in a call can say otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_cannot_be_forged() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let other = app.started_task("B").await;
    let client = agent.connect(&app).await;
    for field in ["sender_task_id", "sender_session_id", "session", "actor"] {
        let text = client
            .refused(
                "message_task_kandev",
                json!({"task_id": other, "prompt": "Hello.", field: other}),
            )
            .await;
        assert!(text.contains("additionalProperties"), "{text}");
    }
    client
        .call(
            "message_task_kandev",
            json!({"task_id": other, "prompt": "Hello."}),
        )
        .await;
    let page = app.get(&format!("/tasks/{other}/page")).await.json;
    let queued = page["queues"][0]["entries"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(queued["sender_task_id"], json!(agent.task));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outside_client_has_no_task_of_its_own() {
    let app = TestApp::new().await;
    let client = Client::connect(&app, &app.access_token().await).await;
    let text = client
        .refused(
            "create_task_kandev",
            json!({"title": "A", "parent_id": "self"}),
        )
        .await;
    assert!(text.starts_with("VALIDATION_ERROR"), "{text}");
    let made = client
        .call("create_task_kandev", json!({"title": "A"}))
        .await;
    assert_eq!(made["origin"], "manual");
}
