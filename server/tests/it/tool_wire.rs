//! What real clients do on the wire, beyond what the SDK's own client does.

use crate::support::{Reply, TestApp};
use http::Method;
use serde_json::{Value, json};

pub(crate) async fn post(
    app: &TestApp,
    token: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Option<String>, Vec<Value>) {
    let mut request = app
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .bearer_auth(token)
        .json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = crate::support::soon(request.send()).await.unwrap();
    let status = response.status().as_u16();
    let session = response
        .headers()
        .get("mcp-session-id")
        .map(|id| id.to_str().unwrap().to_owned());
    let text = crate::support::soon(response.text()).await.unwrap();
    let messages = match serde_json::from_str(&text) {
        Ok(message) => vec![message],
        Err(_) => text
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .collect(),
    };
    (status, session, messages)
}

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

/// Gemini CLI never sends the version after the handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_version_header_is_accepted_in_all_revisions() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (status, session, answer) = post(&app, &token, &[], &initialize(version)).await;
        assert_eq!(status, 200);
        assert_eq!(answer[0]["result"]["protocolVersion"], version);
        let session = session.expect("a session");
        let headers = [("mcp-session-id", session.as_str())];
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(&app, &token, &headers, &ready).await.0, 202);
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let (status, _, answer) = post(&app, &token, &headers, &list).await;
        assert_eq!(status, 200);
        assert!(!answer[0]["result"]["tools"].as_array().unwrap().is_empty());
        // Some ask for these whatever was announced; OpenCode cancels calls that have ended.
        for (method, list) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let ask = json!({"jsonrpc": "2.0", "id": 3, "method": method});
            let (status, _, answer) = post(&app, &token, &headers, &ask).await;
            assert_eq!(
                (status, &answer[0]["result"][list]),
                (200, &json!([])),
                "{method}"
            );
        }
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        assert_eq!(post(&app, &token, &headers, &cancel).await.0, 202);
        let ping = json!({"jsonrpc": "2.0", "id": 4, "method": "ping"});
        assert_eq!(post(&app, &token, &headers, &ping).await.0, 200);
        let end = app
            .request(Method::DELETE, "/mcp")
            .bearer_auth(&token)
            .header("mcp-session-id", &session);
        assert!(Reply::read(end).await.status < 300);
        assert_eq!(post(&app, &token, &headers, &ping).await.0, 404);
    }
}

/// Clients that probe for a newer revision than ours go on with `initialize` after a 4xx.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_for_a_revision_that_we_do_not_know_is_told_so() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    let discover = |version: &str| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}})
    };
    let (status, _, answer) = post(
        &app,
        &token,
        &[
            ("mcp-protocol-version", "2099-01-01"),
            ("mcp-method", "server/discover"),
        ],
        &discover("2099-01-01"),
    )
    .await;
    assert!((400..500).contains(&status), "{status} {answer:?}");
    assert!(answer[0]["error"]["code"].is_i64(), "{answer:?}");
    let (status, _, answer) = post(
        &app,
        &token,
        &[
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "server/discover"),
        ],
        &discover("2026-07-28"),
    )
    .await;
    assert_eq!(status, 200, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_is_a_protocol_error() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    let broken = app
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .bearer_auth(&token)
        .body("{");
    assert!((400..500).contains(&Reply::read(broken).await.status));
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "y".repeat(1024 * 1024)}});
    assert_eq!(post(&app, &token, &[], &large).await.0, 413);
}

/// Bodies that are no JSON, and calls whose arguments are no object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_said_in_json_rpc() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    for body in [
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\ud800"}}"#,
        r#"{"jsonrpc": "2.0","#,
        "",
    ] {
        let request = app
            .request(Method::POST, "/mcp")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json; charset=utf-8")
            .bearer_auth(&token)
            .body(body);
        let reply = Reply::read(request).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.json);
        assert_eq!(reply.json["error"]["code"], -32700, "{body}");
    }
    for (body, id) in [
        (json!([]), Value::Null),
        (json!({}), Value::Null),
        (
            json!({"jsonrpc": "1.0", "id": 5, "method": "ping"}),
            json!(5),
        ),
        (
            json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": []}),
            json!("a"),
        ),
    ] {
        let (status, _, answer) = post(&app, &token, &[], &body).await;
        assert_eq!(
            (status, &answer[0]["error"]["code"], &answer[0]["id"]),
            (400, &json!(-32600), &id),
            "{body}"
        );
    }
    let (_, session, _) = post(&app, &token, &[], &initialize("2025-06-18")).await;
    let session = session.expect("a session");
    let headers = [("mcp-session-id", session.as_str())];
    let call = |params: Value| json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    for params in [
        json!({"name": "list_workspaces_kandev", "arguments": []}),
        json!({"name": "list_workspaces_kandev", "arguments": "{}"}),
        json!({"name": 5}),
    ] {
        let (_, _, answer) = post(&app, &token, &headers, &call(params.clone())).await;
        assert_eq!(answer[0]["error"]["code"], -32602, "{params}: {answer:?}");
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/explode"});
    let (_, _, answer) = post(&app, &token, &headers, &unknown).await;
    assert_eq!(answer[0]["error"]["code"], -32601, "{answer:?}");
    // Rulings 25.
    let with_meta =
        json!({"name": "list_workspaces_kandev", "arguments": {"_meta": {"progressToken": 1}}});
    let (_, _, answer) = post(&app, &token, &headers, &call(with_meta)).await;
    assert_ne!(answer[0]["result"]["isError"], true, "{answer:?}");
    assert!(
        answer[0]["result"]["structuredContent"]["total"].is_i64(),
        "{answer:?}"
    );
}

/// What the route refuses before it is a call: the session is unknown, the answer's form is not taken, the method is none of HTTP's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_before_it_is_a_call_is_said_in_json_rpc_too() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    let asked = |method: Method, accept: &str, kind: &str, session: Option<&str>| {
        let request = app
            .request(method, "/mcp")
            .header("accept", accept.to_owned())
            .header("content-type", kind.to_owned())
            .bearer_auth(&token)
            .body(ping.to_string());
        match session {
            Some(id) => request.header("mcp-session-id", id.to_owned()),
            None => request,
        }
    };
    let both = "application/json, text/event-stream";
    let json_kind = "application/json";
    let gone = Some("00000000-0000-0000-0000-000000000000");
    for (request, status, code, id) in [
        (
            asked(Method::POST, both, json_kind, gone),
            404,
            -32001,
            json!(9),
        ),
        (
            asked(Method::GET, both, json_kind, gone),
            404,
            -32001,
            Value::Null,
        ),
        (
            asked(Method::POST, "text/html", json_kind, None),
            406,
            -32000,
            json!(9),
        ),
        (
            asked(Method::POST, both, "text/plain", None),
            415,
            -32000,
            Value::Null,
        ),
        (
            asked(Method::PUT, both, json_kind, None),
            405,
            -32000,
            Value::Null,
        ),
    ] {
        let reply = Reply::read(request).await;
        let error = &reply.json["error"];
        assert_eq!(
            (reply.status, &error["code"], &reply.json["id"]),
            (status, &json!(code), &id),
            "{}",
            reply.json
        );
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebound_name_or_a_foreign_page_does_not_reach_the_tools() {
    let app = TestApp::new().await;
    let token = app.access_token().await;
    for header in [
        ("host", "evil.example"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
    ] {
        let (status, _, _) = post(&app, &token, &[header], &initialize("2025-11-25")).await;
        assert_eq!(status, 403, "{header:?}");
    }
    let own = [("origin", "http://localhost:6274")];
    assert_eq!(
        post(&app, &token, &own, &initialize("2025-11-25")).await.0,
        200
    );
}
