//! Walkthroughs, review findings and rich output through their tools and the API.

use crate::support::TestApp;
use crate::support::agent::Agent;
use serde_json::{Value, json};

fn finding(title: &str) -> Value {
    json!({"file": "src/main.rs", "line": 7, "severity": "major", "category": "error-handling", "title": title, "body": "It panics."})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walkthrough_is_shown_read_and_deleted() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let client = agent.connect(&app).await;
    let path = format!("/tasks/{}/walkthrough", agent.task);
    assert_eq!(app.get(&path).await.status, 404);
    let none = client.call("get_walkthrough_kandev", json!({})).await;
    assert_eq!(none["walkthrough"], Value::Null);
    let steps = json!([{"file": "a.rs", "line": 1, "text": "Here."}, {"file": "b.rs", "line": 2, "line_end": 9, "text": "There.", "title": "On"}]);
    let shown = client
        .call("show_walkthrough_kandev", json!({"steps": steps}))
        .await;
    assert_eq!(
        (&shown["title"], &shown["steps"]),
        (&json!("Walkthrough"), &json!(2))
    );
    assert_eq!(app.get(&path).await.json["steps"], steps);
    for bad in [
        json!({"steps": []}),
        json!({"steps": [{"file": "a.rs", "line": 0, "text": "x"}]}),
        json!({"steps": [{"file": "a.rs", "line": 1}]}),
        json!({"steps": [{"file": "a.rs", "line": 1, "text": "x", "colour": "red"}]}),
        json!({"steps": [{"file": "a.rs", "line": 5, "line_end": 4, "text": "x"}]}),
    ] {
        let refused = client.refused("show_walkthrough_kandev", bad).await;
        assert!(refused.starts_with("VALIDATION_ERROR"), "{refused}");
    }
    let kept = client.call("get_walkthrough_kandev", json!({})).await;
    assert_eq!(kept["walkthrough"]["steps"], steps);
    let gone = client.call("delete_walkthrough_kandev", json!({})).await;
    assert_eq!(gone["deleted"], true);
    assert_eq!(app.delete(&path).await.json["deleted"], false);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn findings_are_published_resolved_and_reopened() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let client = agent.connect(&app).await;
    let tool = "publish_review_findings_kandev";
    let published = client
        .call(
            tool,
            json!({"summary": "Two things.", "findings": [finding("One"), finding("Two")]}),
        )
        .await;
    assert_eq!(
        (&published["added"], &published["open"]),
        (&json!(2), &json!(2))
    );
    let again = client
        .call(tool, json!({"findings": [finding("One")]}))
        .await;
    assert_eq!(
        (&again["added"], &again["refreshed"]),
        (&json!(0), &json!(1))
    );
    let mut bad = finding("Three");
    bad["category"] = json!("Error Handling");
    let refused = client
        .refused(tool, json!({"findings": [finding("Four"), bad]}))
        .await;
    assert!(refused.contains("findings[1].category"), "{refused}");
    let path = format!("/tasks/{}/review-findings", agent.task);
    let list = app.get(&path).await.json;
    assert_eq!((&list["total"], &list["open"]), (&json!(2), &json!(2)));
    let id = list["findings"][0]["id"].as_str().unwrap();
    let resolved = app
        .post(&format!("/review-findings/{id}/resolve"), json!({}))
        .await;
    assert_eq!(
        (resolved.status, &resolved.json["status"]),
        (200, &json!("resolved"))
    );
    assert_eq!(app.get(&path).await.json["open"], 1);
    let reopened = app
        .post(&format!("/review-findings/{id}/reopen"), json!({}))
        .await;
    assert_eq!(reopened.json["status"], "open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rich_output_is_checked_and_shown() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let client = agent.connect(&app).await;
    let tool = "show_rich_output_kandev";
    let with = |blocks: Value| json!({"version": 1, "title": "Load", "description": "Of a week.", "blocks": blocks});
    let folder = app
        .get(&format!("/task-sessions/{}", agent.session))
        .await
        .json["workspace_path"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::create_dir_all(format!("{folder}/docs")).unwrap();
    std::fs::write(format!("{folder}/docs/report.md"), "All is well.").unwrap();
    std::fs::write(app.data.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(app.data.path().join("secret"), format!("{folder}/leak")).unwrap();
    let shown = client
        .call(
            tool,
            with(json!([
                {"type": "metrics", "items": [{"label": "Tests", "value": "214", "unit": "passed"}]},
                {"type": "chart", "kind": "line", "title": "Latency", "csv": "day,ms\nMon,3\nTue,5"},
                {"type": "file", "path": "docs/report.md"},
            ])),
        )
        .await;
    let message = app
        .get(&format!(
            "/messages/{}",
            shown["message_id"].as_str().unwrap()
        ))
        .await
        .json;
    assert_eq!(message["type"], "content");
    assert_eq!(
        message["metadata"]["rich_output"]["blocks"][1]["labels"],
        json!(["Mon", "Tue"])
    );
    assert_eq!(
        message["metadata"]["rich_output"]["blocks"][2],
        json!({"type": "file", "path": "docs/report.md", "excerpt": "All is well."})
    );
    for bad in [
        json!([]),
        json!([{"type": "html", "html": "<script>"}]),
        json!([{"type": "file", "path": "leak"}]),
        json!([{"type": "file", "path": "../../secret"}]),
        json!([{"type": "file", "path": "/etc/hostname"}]),
        json!([{"type": "file", "path": "docs"}]),
        json!([{"type": "file", "path": "nowhere.md"}]),
        json!([{"type": "chart", "kind": "line", "title": "C", "csv": "day,ms\nMon,x"}]),
        json!([{"type": "file", "path": "a", "url": "https://example.com"}]),
        json!([{"type": "metrics", "items": vec![json!({"label": "a", "value": "1"}); 7]}]),
        json!([{"type": "file", "path": "a", "excerpt": "x".repeat(15 * 1024)}, {"type": "file", "path": "a", "excerpt": "x".repeat(15 * 1024)},
               {"type": "file", "path": "a", "excerpt": "\u{1}".repeat(15 * 1024)}]),
    ] {
        let refused = client.refused(tool, with(bad)).await;
        assert!(refused.starts_with("VALIDATION_ERROR"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diagnostic_bundle_shows_log_lines_and_counts_to_live_sessions_only() {
    let app = TestApp::new().await;
    let agent = Agent::launch(&app, app.started_task("A").await).await;
    let client = agent.connect(&app).await;
    let book = server::diagnostics::LogBook::of_process();
    let mark = agent.session.to_string();
    book.note(
        server::diagnostics::Side::Backend,
        &format!("{mark} password=s3cret"),
    );
    book.note(
        server::diagnostics::Side::Frontend,
        &format!("{mark} a page broke"),
    );
    let tool = "get_diagnostic_bundle_kandev";
    let all = client.call(tool, json!({"source": "all"})).await;
    let text = all.to_string();
    assert!(
        text.contains(&format!("{mark} password=[redacted]")),
        "{text}"
    );
    assert!(text.contains("a page broke") && !text.contains("s3cret"));
    assert_eq!(all["facts"]["session_state"], "RUNNING");
    assert_eq!(all["facts"]["tasks"]["IN_PROGRESS"], 1);
    assert_eq!(all["versions"]["flightdeck"], env!("CARGO_PKG_VERSION"));
    let backend = client.call(tool, json!({"source": "backend"})).await;
    assert!(backend["backend"]["lines"].is_array() && backend.get("frontend").is_none());
    let frontend = client.call(tool, json!({"source": "frontend"})).await;
    assert!(frontend["frontend"]["lines"].is_array() && frontend.get("backend").is_none());
    for bad in [
        json!({}),
        json!({"source": "everything"}),
        json!({"source": null}),
    ] {
        let refused = client.refused(tool, bad).await;
        assert!(refused.starts_with("VALIDATION_ERROR"), "{refused}");
    }
    app.post(&format!("/task-sessions/{}/stop", agent.session), json!({}))
        .await;
    let over = client.try_call(tool, json!({"source": "all"})).await;
    assert!(over.is_err() || over.is_ok_and(|result| result.is_error == Some(true)));
}
