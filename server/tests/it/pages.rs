//! Pages come whole from the server, and an address that nobody has is still a page.

use crate::support::{Reply, TestApp};
use http::Method;

async fn page(app: &TestApp, path: &str) -> (u16, String, reqwest::header::HeaderMap) {
    let request = app.request(Method::GET, path).header("accept", "text/html");
    let reply = Reply::read(request).await;
    let html = reply.json.as_str().unwrap_or_default().to_owned();
    (reply.status, html, reply.headers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_board_is_readable_without_a_script() {
    let app = TestApp::new().await;
    let task = app
        .task(serde_json::json!({"title": "Flaky checkout test"}))
        .await;
    let (status, html, headers) = page(&app, "/").await;
    assert_eq!(status, 200);
    assert!(
        headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    assert!(html.contains("Flaky checkout test"), "{html}");
    assert!(
        html.contains(task["id"].as_str().unwrap()),
        "it does not lead to the task"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_script_of_a_page_has_the_nonce_of_its_policy() {
    let app = TestApp::new().await;
    let (_, html, headers) = page(&app, "/").await;
    let policy = headers["content-security-policy"].to_str().unwrap();
    let nonce = policy
        .split("'nonce-")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a nonce");
    let scripts = html.matches("<script").count();
    assert!(scripts > 0);
    for script in html.split("<script").skip(1) {
        let tag = script.split('>').next().unwrap();
        assert!(tag.contains(nonce), "a script without the nonce: {tag}");
    }
    let (_, _, other) = page(&app, "/").await;
    assert_ne!(other["content-security-policy"].to_str().unwrap(), policy);
}

/// What a page holds may be put away by another thread than the one that made it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_kind_of_page_comes_whole_when_many_are_asked_for_at_once() {
    let app = TestApp::new().await;
    let task = app.task(serde_json::json!({"title": "One of many"})).await;
    let said = Reply::read(
        app.request(Method::POST, "/api/page/assistant/say")
            .json(&serde_json::json!({"content": "Hello", "key": "k"})),
    )
    .await;
    let paths = [
        "/".to_owned(),
        "/inbox".to_owned(),
        "/assistant".to_owned(),
        "/jobs".to_owned(),
        format!("/tasks/{}", task["id"].as_str().unwrap()),
        format!("/jobs/{}", said.json["jobId"]),
    ];
    let all = paths.iter().cycle().take(paths.len() * 8);
    let pages = futures::future::join_all(all.map(|path| page(&app, path))).await;
    for (path, (status, html, _)) in paths.iter().cycle().zip(pages) {
        assert_eq!(status, 200, "{path}");
        assert!(html.contains("</html>"), "{path} breaks off");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_address_is_a_page_that_says_so() {
    let app = TestApp::new().await;
    let (status, html, _) = page(&app, "/no/such/page").await;
    assert_eq!(status, 404);
    assert!(html.contains("<html"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_assistant_says_what_is_missing_and_keeps_what_was_said() {
    let app = TestApp::new().await;
    let (status, html, _) = page(&app, "/assistant").await;
    assert_eq!(status, 200);
    for name in ["OPENAI_MODEL", "ANTHROPIC_API_KEY", "OLLAMA_MODEL"] {
        assert!(html.contains(name), "{name} is not in {html}");
    }
    assert!(!html.contains("chat-composer"));
    let say = async |key: &str| {
        let body = serde_json::json!({"content": " <b>Hello</b> ", "key": key});
        let call = app
            .request(Method::POST, "/api/page/assistant/say")
            .json(&body);
        Reply::read(call).await
    };
    let (first, again, other) = (say("k").await, say("k").await, say("l").await);
    assert_eq!(first.status, 200, "{}", first.json);
    assert_eq!(
        first.json["jobId"], again.json["jobId"],
        "one message is one job"
    );
    assert_eq!(again.json["duplicate"], true);
    assert_ne!(first.json["jobId"], other.json["jobId"]);
    let (_, html, _) = page(&app, "/assistant").await;
    assert!(html.contains("&lt;b&gt;Hello&lt;/b&gt;"), "{html}");
    assert!(html.contains(first.json["correlationId"].as_str().unwrap()));
    let (_, html, _) = page(&app, "/jobs").await;
    assert_eq!(html.matches("data-testid=\"job-row\"").count(), 2, "{html}");
    let (_, html, _) = page(&app, "/jobs?status=canceled").await;
    assert!(!html.contains("data-testid=\"job-row\"") && html.contains("No job is like this."));
    for key in [
        first.json["jobId"].to_string(),
        first.json["correlationId"].as_str().unwrap().to_owned(),
    ] {
        let (status, html, _) = page(&app, &format!("/jobs/{key}")).await;
        assert_eq!(status, 200);
        assert!(
            html.contains("job-timeline") && html.contains("Queued"),
            "{html}"
        );
    }
    assert_eq!(page(&app, "/jobs/aij_unknown").await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assistant_that_is_off_takes_nothing_in() {
    let app = TestApp::configured(server::serve::Variation::default(), |config| {
        config.jobs.assistant = false;
    })
    .await;
    let (_, html, _) = page(&app, "/assistant").await;
    assert!(html.contains("FLIGHTDECK_ASSISTANT_ENABLED"), "{html}");
    let body = serde_json::json!({"content": "Hello", "key": "k"});
    let call = app
        .request(Method::POST, "/api/page/assistant/say")
        .json(&body);
    let refused = Reply::read(call).await;
    assert_eq!(refused.status, 403, "{}", refused.json);
    let (_, html, _) = page(&app, "/jobs").await;
    assert!(
        !html.contains("data-testid=\"job-row\""),
        "nothing was stored"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_a_page_finds_its_function() {
    let app = TestApp::new().await;
    let paths: Vec<&str> = leptos::server_fn::axum::server_fn_paths()
        .map(|(path, _)| path)
        .collect();
    assert!(paths.contains(&"/api/page/board"), "{paths:?}");
    for path in paths {
        let request = app.request(Method::POST, path).json(&serde_json::json!({}));
        let reply = Reply::read(request).await;
        // Most want arguments and say so; what none may say is that nothing is there.
        assert_ne!(reply.status, 404, "{path}: {}", reply.json);
    }
    let board = app
        .request(Method::POST, "/api/page/board")
        .json(&serde_json::json!({"of": {}, "workflow": null}));
    let board = Reply::read(board).await;
    assert_eq!(board.status, 200, "{}", board.json);
    assert_eq!(board.json["workflow"]["name"], "Kanban");
    let unknown = app.request(Method::POST, "/api/page/no-such-call");
    assert_eq!(Reply::read(unknown).await.code(), "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_board_shows_what_waits_for_a_place_or_for_a_task() {
    let app = TestApp::new().await;
    let board = app.board();
    let operator = board::Actor::Operator;
    let shown = board.board_view(&operator, None, None).await.unwrap();
    let step = shown.workflow.steps[0].id;
    let (_, html, _) = page(&app, "/").await;
    assert!(!html.contains("kanban-queued-section"));
    app.patch(
        &format!("/workflow/steps/{step}"),
        serde_json::json!({"wip_limit": 1}),
    )
    .await;
    let first = app.task(serde_json::json!({"title": "First"})).await;
    let second = app
        .task(serde_json::json!({"title": "Second", "blocked_by": [first["id"]]}))
        .await;
    let (_, html, _) = page(&app, "/").await;
    assert!(html.contains("kanban-queued-section"), "{html}");
    assert!(html.contains("1 task waits for a place"));
    assert!(html.contains("1 of 1"), "admitted and limit in the head");
    assert!(html.contains("kanban-card-blocked-badge"));
    assert!(
        html.contains("waits for &quot;First&quot; (CREATED)")
            || html.contains("waits for \"First\" (CREATED)")
    );
    let address = format!("/tasks/{}", second["id"].as_str().unwrap());
    let (status, html, _) = page(&app, &address).await;
    assert_eq!(status, 200);
    assert!(html.contains("dependency-chip"), "{html}");
    assert!(html.contains("Backlog is full"));
}
