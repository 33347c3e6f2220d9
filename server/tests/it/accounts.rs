//! Signing in: who has to, what it opens, and what ends it. Over real HTTP, as a browser does it.

use crate::support::{TestApp, id};
use board::Actor;
use domain::ids::SessionId;
use http::Method;
use leptos::server_fn;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::{Value, json};
use server::config::Config;
use server::serve::{Server, Variation};
use std::collections::HashMap;

const NAME: &str = "Ada";
const PASSWORD: &str = "correct horse battery";

/// A browser: it keeps the cookie it is given and follows no redirect by itself.
struct Browser {
    http: Client,
    base: String,
    cookie: Option<String>,
}

impl Browser {
    fn new(app: &TestApp) -> Self {
        Self {
            http: Client::builder().redirect(Policy::none()).build().unwrap(),
            base: app.url(""),
            cookie: None,
        }
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        form: Option<&[(&str, &str)]>,
    ) -> Response {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .header("accept", "text/html,*/*")
            .header("sec-fetch-site", "same-origin");
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(form) = form {
            let body = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(form)
                .finish();
            request = request
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body);
        }
        let response = request.send().await.unwrap();
        if let Some(set) = response.headers().get("set-cookie") {
            let set = set.to_str().unwrap();
            let ends = set.contains("Max-Age=0");
            assert!(
                ends || set.contains("HttpOnly") && set.contains("SameSite=Lax"),
                "{set}"
            );
            self.cookie = set.split(';').next().filter(|_| !ends).map(str::to_owned);
        }
        response
    }

    async fn get(&mut self, path: &str) -> Response {
        self.send(Method::GET, path, None).await
    }

    async fn sign_in(&mut self, name: &str, password: &str, next: &str) -> String {
        let form = [("name", name), ("password", password), ("next", next)];
        let response = self.send(Method::POST, "/sign-in", Some(&form)).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        location(&response)
    }

    async fn is_in(&mut self) -> bool {
        match self.get("/api/v1/workspaces").await.status() {
            StatusCode::OK => true,
            StatusCode::UNAUTHORIZED => false,
            other => panic!("{other}"),
        }
    }
}

fn location(response: &Response) -> String {
    response.headers()["location"].to_str().unwrap().to_owned()
}

async fn with_account() -> TestApp {
    let app = TestApp::new().await;
    app.board()
        .operator_create(&Actor::Operator, NAME, PASSWORD)
        .await
        .unwrap();
    app
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_accounts_nobody_signs_in_and_with_one_everybody_has_to() {
    let app = TestApp::new().await;
    let mut browser = Browser::new(&app);
    assert!(browser.is_in().await);
    let response = browser.get("/sign-in?next=/inbox").await;
    assert_eq!(
        (response.status(), location(&response).as_str()),
        (StatusCode::SEE_OTHER, "/inbox")
    );

    app.board()
        .operator_create(&Actor::Operator, NAME, PASSWORD)
        .await
        .unwrap();
    // That there is an account is believed a moment later.
    let give_up = tokio::time::Instant::now() + crate::support::DEADLINE;
    while browser.is_in().await {
        assert!(
            tokio::time::Instant::now() < give_up,
            "the account does not count"
        );
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let response = browser.get("/tasks/1?tab=plan").await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(
        location(&response),
        "/sign-in?next=%2Ftasks%2F1%3Ftab%3Dplan"
    );
    let page = browser.get("/sign-in?next=/tasks/1").await;
    assert_eq!(page.status(), StatusCode::OK);
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(policy.contains("form-action 'self'"), "{policy}");
    let text = page.text().await.unwrap();
    assert!(
        text.contains("sign-in-password") && text.contains("value=\"/tasks/1\""),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_door_of_the_operator_is_closed_to_who_is_not_signed_in() {
    let app = with_account().await;
    let mut browser = Browser::new(&app);
    let uuid = SessionId::new().to_string();
    let routes = server::http::plain_routes()
        .iter()
        .map(|route| (route.method.clone(), route.path.to_owned()))
        .chain(server::http::api_routes().iter().map(|route| {
            (
                route.method.clone(),
                format!("{}{}", server::http::API, route.path),
            )
        }))
        .collect::<Vec<_>>();
    let mut closed = 0;
    for (method, path) in routes {
        let open = ["/healthz", "/readyz", "/metrics"].contains(&path.as_str());
        let path = path
            .replace("{job_id}", "7")
            .replace("{id}", &uuid)
            .replace("{depends_on}", &uuid);
        let response = browser.send(method.clone(), &path, None).await;
        let refused = response.status() == StatusCode::UNAUTHORIZED;
        assert_eq!(
            refused,
            !open,
            "{method} {path} answers {}",
            response.status()
        );
        closed += usize::from(refused);
    }
    assert!(closed > 80, "only {closed} doors were tried");
    for (path, method) in server_fn::axum::server_fn_paths() {
        let call = browser
            .http
            .request(method.clone(), app.url(path))
            .header("content-type", "application/json")
            .body("{}");
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method} {path}");
        let error: Value = answer.json().await.unwrap();
        assert_eq!(error["code"], "UNAUTHORIZED", "a page can read it");
    }
    for path in ["/", "/inbox", "/nowhere"] {
        assert_eq!(
            browser.get(path).await.status(),
            StatusCode::SEE_OTHER,
            "{path}"
        );
    }
    let unknown = browser.get("/api/unknown").await;
    assert_eq!(unknown.status(), StatusCode::UNAUTHORIZED);
    let jobs: Value = browser.get("/api/ai/jobs").await.json().await.unwrap();
    assert_eq!(jobs, json!({"error": "Unauthorized"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_signed_in_has_everything_until_signing_out() {
    let app = with_account().await;
    let mut browser = Browser::new(&app);
    assert!(!browser.is_in().await);
    assert_eq!(browser.sign_in("ada", PASSWORD, "/inbox").await, "/inbox");
    assert!(browser.is_in().await);
    assert_eq!(browser.get("/inbox").await.status(), StatusCode::OK);
    let page = browser.get("/sign-in").await.text().await.unwrap();
    assert!(page.contains("sign-out"), "{page}");

    let stolen = browser.cookie.clone();
    let response = browser.send(Method::POST, "/sign-out", Some(&[])).await;
    assert_eq!(location(&response), "/sign-in?next=%2F&notice=out");
    assert!(!browser.is_in().await);
    browser.cookie = stolen;
    assert!(!browser.is_in().await, "the cookie outlives its end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_password_signs_browsers_out_and_a_new_secret_comes_with_each_sign_in() {
    let app = with_account().await;
    let mut browser = Browser::new(&app);
    browser.sign_in(NAME, PASSWORD, "/").await;
    let first = browser.cookie.clone();
    browser.sign_in(NAME, PASSWORD, "/").await;
    assert_ne!(browser.cookie, first);
    assert!(browser.is_in().await);
    let mut old = Browser::new(&app);
    old.cookie = first;
    assert!(
        !old.is_in().await,
        "a secret that was known before is worth something"
    );

    app.board()
        .operator_set_password(&Actor::Operator, NAME, "another password")
        .await
        .unwrap();
    assert!(!browser.is_in().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_not_told_and_too_many_attempts_have_to_wait() {
    let app = with_account().await;
    let mut browser = Browser::new(&app);
    for (name, password) in [("Eve", PASSWORD), (NAME, "wrong password"), ("", "")] {
        assert_eq!(
            browser.sign_in(name, password, "//evil.example").await,
            "/sign-in?next=%2F&notice=wrong"
        );
    }
    let mut said = HashMap::new();
    for _ in 0..12 {
        let to = browser.sign_in("Mallory", "wrong password", "/").await;
        *said.entry(to).or_insert(0) += 1;
    }
    assert_eq!(said["/sign-in?next=%2F&notice=wrong"], 10);
    assert_eq!(said["/sign-in?next=%2F&notice=wait"], 2);
    // Others are not kept out by that.
    assert_eq!(browser.sign_in(NAME, PASSWORD, "/").await, "/");
    let foreign = browser
        .http
        .post(app.url("/sign-in"))
        .header("origin", "http://evil.example")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("name=Ada&password=x")
        .send()
        .await
        .unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_others_can_reach_starts_with_an_account_only() {
    let data = tempfile::tempdir().unwrap();
    let config = || {
        let mut config = Config::for_data_dir(data.path());
        config.addr = "0.0.0.0:0".to_owned();
        config
    };
    let vary = || Variation {
        without_runtime: true,
        ..Variation::default()
    };
    let refused = Server::start_with(config(), vary())
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("flightdeck operator create"), "{refused}");

    let mut local = config();
    local.addr = "127.0.0.1:0".to_owned();
    let server = Server::start_with(local, vary()).await.unwrap();
    server
        .board()
        .operator_create(&Actor::Operator, NAME, PASSWORD)
        .await
        .unwrap();
    server.stop().await;

    let server = Server::start_with(config(), vary()).await.unwrap();
    let port = server.url().rsplit_once(':').unwrap().1.to_owned();
    let ask = async |path: &str| {
        let response = Client::new()
            .get(format!("http://127.0.0.1:{port}{path}"))
            .header("host", "board.example")
            .send()
            .await
            .unwrap();
        response.status()
    };
    assert_eq!(ask("/healthz").await, StatusCode::OK);
    assert_eq!(ask("/api/v1/workspaces").await, StatusCode::UNAUTHORIZED);
    // Without accounts nobody is let in; this machine neither.
    server
        .board()
        .operator_remove(&Actor::Operator, NAME)
        .await
        .unwrap();
    assert_eq!(ask("/api/v1/workspaces").await, StatusCode::UNAUTHORIZED);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_token_and_an_access_token_need_no_account() {
    let app = with_account().await;
    let token = app.access_token().await;
    let client = crate::support::client::Client::connect(&app, &token).await;
    assert!(!client.tool_names().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn access_tokens_are_made_listed_and_revoked_over_the_api() {
    let app = TestApp::new().await;
    let made = app.post("/access-tokens", json!({"name": "ChatGPT"})).await;
    assert_eq!(made.status, 201, "{}", made.json);
    let token = made.json["token"].as_str().unwrap();
    let client = crate::support::client::Client::connect(&app, token).await;
    assert!(!client.tool_names().await.is_empty());
    let listed = app.get("/access-tokens").await.json;
    assert_eq!(listed["total"], 1);
    assert!(listed["tokens"][0]["last_used_at"].is_string());
    assert!(
        !listed.to_string().contains(token),
        "a token is shown again"
    );
    let token_id: domain::ids::TokenId = id(&made.json["info"]["id"]);
    assert_eq!(
        app.delete(&format!("/access-tokens/{token_id}"))
            .await
            .status,
        204
    );
    assert!(
        client
            .try_call("list_workspaces_kandev", json!({}))
            .await
            .is_err()
    );
    assert_eq!(
        app.delete(&format!("/access-tokens/{}", SessionId::new()))
            .await
            .status,
        404
    );
    assert_eq!(
        app.post("/access-tokens", json!({"name": " "}))
            .await
            .status,
        400
    );
}
