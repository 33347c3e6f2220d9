//! Attacks from a browser on the same machine, and the headers on answers.

use crate::support::{Reply, TestApp};
use http::Method;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rebound_name_reaches_no_page_file_or_tool() {
    let app = TestApp::new().await;
    for path in [
        "/",
        "/nowhere",
        "/favicon.svg",
        "/mcp",
        "/.well-known/x",
        "/api/v1/tasks",
    ] {
        for host in [
            "evil.example",
            "evil.example:3000",
            "127.0.0.1.evil.example",
            "10.1.2.3",
        ] {
            let reply = Reply::read(app.request(Method::GET, path).header("host", host)).await;
            assert_eq!(reply.status, 403, "{path} as {host}");
            assert_eq!(reply.code(), "FORBIDDEN");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_of_another_site_makes_no_task() {
    let app = TestApp::new().await;
    let task = json!({"title": "Forged"});
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let request = app
            .request(Method::POST, "/api/v1/tasks")
            .header(name, value)
            .json(&task);
        assert_eq!(Reply::read(request).await.status, 403, "{name}: {value}");
    }
    // What a form can send without asking is no JSON to us.
    let form = app
        .request(Method::POST, "/api/v1/tasks")
        .header("content-type", "text/plain")
        .body(task.to_string());
    assert_eq!(Reply::read(form).await.status, 415);
    let workspaces = app.get("/workspaces").await.json;
    let workspace = workspaces["workspaces"][0]["id"].as_str().unwrap();
    let tasks = app.get(&format!("/workspaces/{workspace}/tasks")).await;
    assert_eq!(tasks.json["total"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_its_headers() {
    let app = TestApp::new().await;
    for path in [
        "/",
        "/nowhere",
        "/healthz",
        "/api/v1/agents",
        "/api/v1/nowhere",
        "/mcp",
    ] {
        let reply = Reply::read(app.request(Method::GET, path)).await;
        let header = |name: &str| {
            reply
                .headers
                .get(name)
                .unwrap_or_else(|| panic!("{path} has no {name}"))
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "same-origin");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        let policy = header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe-inline"), "{path}: {policy}");
        assert_eq!(header("x-request-id").len(), 32);
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_id_from_outside_is_not_taken_over() {
    let app = TestApp::new().await;
    let request = app
        .request(Method::GET, "/api/v1/nowhere")
        .header("x-request-id", "chosen-by-somebody-else");
    let reply = Reply::read(request).await;
    assert_ne!(reply.json["error"]["request_id"], "chosen-by-somebody-else");
    assert_eq!(
        reply.json["error"]["request_id"],
        reply.headers["x-request-id"].to_str().unwrap()
    );
}
