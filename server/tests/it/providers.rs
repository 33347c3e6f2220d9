//! Providers of repositories: the clients against stand-ins that speak their formats, and a whole server that watches a request.

use crate::support::agent::Agent;
use crate::support::providers::{ProviderServer, TOKEN, merge_request, pull, run};
use crate::support::{TestApp, id};
use domain::change_request::{Checks, Mergeable, Observed, RequestState};
use serde_json::{Value, json};
use server::providers::{Account, Github, Gitlab, ProviderError, ProviderSettings};
use server::serve::Variation;
use std::time::Duration;

const PULL: &str = "/repos/a/b/pulls/7";
const RUNS: &str = "/repos/a/b/commits/abc/check-runs?filter=latest&per_page=100";
/// The next page, under an address of the provider's own choice.
const MORE_RUNS: &str = "/repositories/1/check-runs?page=2";

/// A pull request of which there is something of everything to be read.
async fn github() -> ProviderServer {
    let server = ProviderServer::start().await;
    server.show("/user", json!({"login": "me", "id": 2}));
    server.show(PULL, pull(7, "abc", "unstable"));
    server.show(
        RUNS,
        json!({"total_count": 3, "check_runs": [run(1, "lint", Some("success"))]}),
    );
    server.follow(RUNS, MORE_RUNS);
    server.show(MORE_RUNS, json!({"total_count": 3, "check_runs": [run(2, "build", Some("failure")), run(3, "docs", Some("skipped"))]}));
    server.show(
        "/repos/a/b/commits/abc/status?per_page=100",
        json!({"state": "failure", "statuses": [{"id": 9, "context": "ci/old", "state": "error", "target_url": null}]}),
    );
    let by = |login: &str, more: Value| {
        let mut one = json!({"id": 1, "user": {"login": login}, "body": "Why?"});
        for (key, value) in more.as_object().unwrap() {
            one[key] = value.clone();
        }
        one
    };
    server.show(
        "/repos/a/b/pulls/7/reviews?per_page=100",
        json!([
            by("ada", json!({"id": 4, "state": "CHANGES_REQUESTED"})),
            by("bob", json!({"id": 5, "state": "APPROVED"}))
        ]),
    );
    server.show(
        "/repos/a/b/pulls/7/comments?per_page=100",
        json!([
            by("ada", json!({"id": 6, "path": "src/a.rs", "line": 3})),
            by("me", json!({"id": 7, "path": "src/a.rs", "line": null}))
        ]),
    );
    server.show(
        "/repos/a/b/issues/7/comments?per_page=100",
        json!([
            by("ada", json!({"id": 8, "body": "  "})),
            by("ada", json!({"id": 9}))
        ]),
    );
    server
}

fn remarks(observed: &Observed) -> Vec<&str> {
    observed
        .remarks
        .iter()
        .map(|remark| remark.id.as_str())
        .collect()
}

#[tokio::test]
async fn a_pull_request_is_read_over_all_pages_and_again_only_where_it_changed() {
    let server = github().await;
    let client = Github::new(&server.account()).unwrap();
    let observed = client.observe("a/b", 7, true).await.unwrap();
    assert_eq!(
        (observed.state, observed.mergeable, observed.checks),
        (RequestState::Open, Mergeable::NotYet, Checks::Failed)
    );
    let failed: Vec<_> = observed
        .failed
        .iter()
        .map(|check| (check.id.as_str(), check.name.as_str()))
        .collect();
    assert_eq!(failed, [("run-2", "build"), ("status-9", "ci/old")]);
    assert_eq!(
        remarks(&observed),
        ["review:4", "comment:6", "note:9"],
        "not one's own, no approval, nothing empty"
    );
    assert_eq!(observed.remarks[1].place.as_deref(), Some("src/a.rs:3"));
    assert!(observed.review_requested);
    assert!(server.came().iter().all(|came| came.status == 200));

    server.show(
        RUNS,
        json!({"total_count": 1, "check_runs": [run(4, "lint", None)]}),
    );
    let again = client.observe("a/b", 7, true).await.unwrap();
    assert_eq!(again.checks, Checks::Pending);
    let changed: Vec<String> = server
        .came()
        .into_iter()
        .filter(|came| came.status != 304)
        .map(|came| came.call)
        .collect();
    assert_eq!(changed, [format!("GET {RUNS}")]);

    server.show(PULL, pull(7, "abc", "dirty"));
    let conflict = client.observe("a/b", 7, false).await.unwrap();
    assert_eq!(
        (conflict.mergeable, conflict.remarks.len()),
        (Mergeable::Conflict, 0)
    );
}

#[tokio::test]
async fn a_pull_request_is_merged_as_it_was_seen_or_not_at_all() {
    let server = github().await;
    let client = Github::new(&server.account()).unwrap();
    let error = client.merge("a/b", 7, "older").await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Refused { status: 409, .. }),
        "{error}"
    );
    client.merge("a/b", 7, "abc").await.unwrap();
    assert_eq!(
        client.observe("a/b", 7, true).await.unwrap().state,
        RequestState::Merged
    );
}

#[tokio::test]
async fn what_goes_wrong_is_typed_and_holds_no_token() {
    let server = github().await;
    let client = Github::new(&server.account()).unwrap();
    assert_eq!(
        client.observe("a/b", 8, true).await,
        Err(ProviderError::NotFound)
    );
    server.follow(RUNS, "http://127.0.0.1:9/elsewhere");
    let led = client.observe("a/b", 7, true).await.unwrap_err();
    assert!(
        matches!(led, ProviderError::Unreadable(_)),
        "no token goes to another server"
    );
    for (status, body) in [
        (500, json!({"message": TOKEN.len()})),
        (422, json!({"message": "No."})),
        (200, json!(7)),
        (301, json!({})),
    ] {
        server.answer_next(
            status,
            vec![("location", "http://127.0.0.1:9/".to_owned())],
            body,
        );
        let error = client.observe("a/b", 7, true).await.unwrap_err();
        assert!(
            matches!(
                error,
                ProviderError::Refused { .. } | ProviderError::Unreadable(_)
            ),
            "{error}"
        );
    }
    server.answer_next(200, Vec::new(), json!("x".repeat(5 * 1024 * 1024)));
    assert_eq!(
        client.observe("a/b", 7, true).await,
        Err(ProviderError::Unreadable("is too large"))
    );
    let wrong = Account {
        token: Some("another-token".to_owned()),
        ..server.account()
    };
    let refused = Github::new(&wrong)
        .unwrap()
        .observe("a/b", 7, true)
        .await
        .unwrap_err();
    assert_eq!(refused, ProviderError::Unauthorized);
    assert!(
        !format!("{refused} {wrong:?} {client:?}").contains("token-of"),
        "{client:?}"
    );
    let nobody = Account {
        token: None,
        ..server.account()
    };
    let unset = Github::new(&nobody)
        .unwrap()
        .observe("a/b", 7, true)
        .await
        .unwrap_err();
    assert!(unset.to_string().contains("GITHUB_TOKEN"), "{unset}");
    let unfit = Account {
        token: Some("two\nlines".to_owned()),
        ..server.account()
    };
    assert!(Github::new(&unfit).is_err());
    let gone = server.account();
    drop(server);
    let unanswered = Github::new(&gone)
        .unwrap()
        .observe("a/b", 7, true)
        .await
        .unwrap_err();
    assert!(
        matches!(unanswered, ProviderError::Unanswered(_)),
        "{unanswered}"
    );
}

#[tokio::test]
async fn a_provider_that_asks_for_it_is_left_alone() {
    let soon = board::Clock::system().now().millis() / 1_000 + 600;
    for (status, headers, body, wait) in [
        (
            429,
            vec![("retry-after", "30".to_owned())],
            json!({}),
            30..=30,
        ),
        (
            403,
            vec![("retry-after", "40".to_owned())],
            json!({"message": "You have exceeded a secondary rate limit."}),
            40..=40,
        ),
        (
            403,
            vec![
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-reset", soon.to_string()),
            ],
            json!({"message": "API rate limit exceeded"}),
            590..=600,
        ),
        (
            403,
            Vec::new(),
            json!({"message": "API rate limit exceeded for user."}),
            60..=60,
        ),
    ] {
        let server = github().await;
        let client = Github::new(&server.account()).unwrap();
        server.answer_next(status, headers, body);
        let asked = client.observe("a/b", 7, true).await.unwrap_err();
        assert!(
            asked
                .wait()
                .is_some_and(|asked| wait.contains(&asked.as_secs())),
            "{asked:?}"
        );
        server.came();
        let again = client.observe("a/b", 7, true).await.unwrap_err();
        assert!(
            again
                .wait()
                .is_some_and(|left| left > Duration::from_secs(20)),
            "{again:?}"
        );
        assert_eq!(server.came(), [], "it is not asked before its time");
    }
    // The last request that it allows is a success, and the next one is not made.
    let server = github().await;
    let client = Github::new(&server.account()).unwrap();
    let used_up = vec![
        ("x-ratelimit-remaining", "0".to_owned()),
        ("x-ratelimit-reset", soon.to_string()),
    ];
    server.answer_next(200, used_up, pull(7, "abc", "clean"));
    assert!(
        client
            .observe("a/b", 7, true)
            .await
            .unwrap_err()
            .wait()
            .is_some()
    );
    assert_eq!(server.came().len(), 1);
    // Refused is not the same as limited.
    let server = github().await;
    let client = Github::new(&server.account()).unwrap();
    server.answer_next(
        403,
        Vec::new(),
        json!({"message": "Resource not accessible by personal access token"}),
    );
    assert_eq!(
        client.observe("a/b", 7, true).await.unwrap_err().wait(),
        None
    );
}

const PROJECT: &str = "/projects/g%2Fs%2Fp";

/// A merge request of which there is something of everything to be read.
async fn gitlab() -> ProviderServer {
    let server = ProviderServer::start().await;
    let at = |rest: &str| format!("{PROJECT}{rest}");
    server.show("/user", json!({"id": 2, "username": "me"}));
    server.show(
        &at("/merge_requests/3"),
        merge_request(3, "abc", "ci_must_pass", "failed"),
    );
    server.show(
        &at("/pipelines/29/jobs?scope[]=failed&per_page=100"),
        json!([{"id": 11, "name": "test", "status": "failed", "allow_failure": false, "web_url": "https://gitlab.example/jobs/11"},
            {"id": 12, "name": "flaky", "status": "failed", "allow_failure": true, "web_url": null}]),
    );
    let discussions = at("/merge_requests/3/discussions?per_page=100");
    let note = |id: i64, who: &str, more: Value| {
        let mut note = json!({"id": id, "body": "Why?", "author": {"username": who}, "system": false, "resolvable": true, "resolved": false});
        for (key, value) in more.as_object().unwrap() {
            note[key] = value.clone();
        }
        json!({"id": format!("d{id}"), "individual_note": false, "notes": [note]})
    };
    server.show(
        &discussions,
        json!([
            note(1, "ada", json!({"resolved": true})),
            note(2, "ada", json!({"system": true})),
            note(3, "me", json!({}))
        ]),
    );
    server.follow(&discussions, &at("/merge_requests/3/discussions?page=2"));
    server.show(
        &at("/merge_requests/3/discussions?page=2"),
        json!([note(
            4,
            "ada",
            json!({"position": {"new_path": "src/a.rs", "new_line": 3}})
        )]),
    );
    server
}

#[tokio::test]
async fn a_merge_request_is_read_with_its_jobs_and_open_discussions() {
    let server = gitlab().await;
    let at = |rest: &str| format!("{PROJECT}{rest}");
    let client = Gitlab::new(&server.account()).unwrap();
    let observed = client.observe("g/s/p", 3, true).await.unwrap();
    assert_eq!(
        (observed.state, observed.mergeable, observed.checks),
        (RequestState::Open, Mergeable::NotYet, Checks::Failed)
    );
    assert_eq!(
        observed
            .failed
            .iter()
            .map(|check| check.name.as_str())
            .collect::<Vec<_>>(),
        ["test"]
    );
    assert_eq!(
        (remarks(&observed), observed.remarks[0].place.as_deref()),
        (vec!["note:4"], Some("src/a.rs:3"))
    );
    assert!(observed.review_requested);

    server.answer_next(
        429,
        vec![("retry-after", "30".to_owned())],
        json!({"message": "Too Many Requests"}),
    );
    let limited = client.observe("g/s/p", 3, true).await.unwrap_err();
    assert_eq!(limited.wait(), Some(Duration::from_secs(30)));

    for (status, pipeline, mergeable, checks) in [
        ("mergeable", "success", Mergeable::Ready, Checks::Passed),
        ("conflict", "running", Mergeable::Conflict, Checks::Pending),
        ("checking", "skipped", Mergeable::NotYet, Checks::Nothing),
    ] {
        let client = Gitlab::new(&server.account()).unwrap();
        server.show(
            &at("/merge_requests/3"),
            merge_request(3, "abc", status, pipeline),
        );
        let observed = client.observe("g/s/p", 3, false).await.unwrap();
        assert_eq!(
            (observed.mergeable, observed.checks),
            (mergeable, checks),
            "{status}"
        );
    }
    let client = Gitlab::new(&server.account()).unwrap();
    assert!(client.merge("g/s/p", 3, "older").await.is_err());
    client.merge("g/s/p", 3, "abc").await.unwrap();
    assert_eq!(
        client.observe("g/s/p", 3, true).await.unwrap().state,
        RequestState::Merged
    );
}

fn watching(github: &ProviderServer) -> ProviderSettings {
    ProviderSettings {
        github: github.account(),
        ..ProviderSettings::default()
    }
}

fn watching_gitlab(gitlab: &ProviderServer) -> ProviderSettings {
    ProviderSettings {
        gitlab: gitlab.account(),
        ..ProviderSettings::default()
    }
}

store::on_both_engines! {
    async fn an_agent_hears_of_its_pull_request_until_it_is_merged(db: TestDb) {
        let github = github().await;
        let node = async || {
            TestApp::on_configured(&db, Variation::default(), |config| {
                config.providers = watching(&github);
                config.request_look_ms = 50;
            })
            .await
        };
        let app = node().await;
        // Where there may be several nodes there are two, and each thing is told once all the same.
        let other = if app.board().is_shared() { Some(node().await) } else { None };
        let task = json!({"title": "Lock", "description": "Do it.", "repository_url": github.repository("a/b.git")});
        let task = app.task(task).await;
        let repository = task["repositories"][0].clone();
        assert_eq!((&repository["provider"], &repository["project_path"]), (&json!("github"), &json!("a/b")));
        let mut agent = Agent::launch(&app, id(&task["id"])).await;
        agent.end_turn().await;
        assert_eq!(github.came(), [], "nothing is switched on, so nobody looks");
        let client = agent.connect(&app).await;
        let said = json!({"repository_id": repository["id"], "pr_number": 7, "auto_fix_enabled": true, "auto_merge_enabled": true, "prompt_on_merged": true});
        let shown = client.call("update_task_pr_automation_kandev", said).await;
        assert_eq!((&shown["total"], &shown["requests"][0]["pr_number"]), (&json!(1), &json!(7)));
        for half in [json!({"pr_number": 7}), json!({"repository_id": repository["id"], "auto_fix_enabled": true})] {
            let refused = client.refused("update_task_pr_automation_kandev", half).await;
            assert!(refused.contains("together"), "{refused}");
        }
        let path = format!("/tasks/{}", agent.task);
        app.until(&path, |task| task["prs"][0]["checks"] == "failed" && task["queued_prompt_count"] == 1).await;
        let words = agent.next_turn().await;
        for part in ["A check failed: \"build\"", "\"ada\" remarked at \"src/a.rs:3\": \"Why?\"", "Pull request #7 of a/b"] {
            assert!(words.contains(part), "{words}");
        }
        agent.end_turn().await;
        assert!(!words.contains(TOKEN));

        github.show(RUNS, json!({"total_count": 1, "check_runs": [run(5, "build", Some("success"))]}));
        github.show(MORE_RUNS, json!({"total_count": 1, "check_runs": []}));
        github.show("/repos/a/b/commits/abc/status?per_page=100", json!({"state": "success", "statuses": []}));
        github.show(PULL, pull(7, "abc", "clean"));
        let merged = app.until(&path, |task| task["prs"][0]["state"] == "merged" && task["queued_prompt_count"] == 1).await;
        assert_eq!(merged["prs"][0]["url"], "https://github.example/a/b/pull/7");
        assert!(agent.next_turn().await.contains("It was merged."));
        let listed = app.get(&format!("/tasks/{}/change-requests", agent.task)).await.json;
        assert_eq!((&listed["requests"][0]["problem"], &listed["requests"][0]["number"]), (&Value::Null, &json!(7)));
        github.came();
        let shown = client.call("get_task_pr_automation_kandev", json!({})).await;
        assert_eq!(shown["requests"][0]["state"], "merged");
        drop(client);
        if let Some(other) = other {
            other.stop().await;
        }
        app.stop().await;
        assert_eq!(github.came(), [], "a request that is over is left alone");
    }

    async fn an_agent_hears_of_its_merge_request_until_it_is_merged(db: TestDb) {
        let gitlab = gitlab().await;
        let app = TestApp::on_configured(&db, Variation::default(), |config| {
            config.providers = watching_gitlab(&gitlab);
            config.request_look_ms = 50;
        })
        .await;
        let task = json!({"title": "Lock", "description": "Do it.", "repository_url": gitlab.repository("g/s/p.git")});
        let task = app.task(task).await;
        let repository = task["repositories"][0].clone();
        assert_eq!((&repository["provider"], &repository["project_path"]), (&json!("gitlab"), &json!("g/s/p")));
        let mut agent = Agent::launch(&app, id(&task["id"])).await;
        agent.end_turn().await;
        let client = agent.connect(&app).await;
        let named = json!({"repository_id": repository["id"], "project_path": "g/s/p", "mr_iid": 3});
        let mut said = named.clone();
        for switch in ["auto_fix_enabled", "auto_merge_enabled", "prompt_on_review_requested", "prompt_on_merged"] {
            said[switch] = json!(true);
        }
        let mut elsewhere = said.clone();
        elsewhere["project_path"] = json!("g/other");
        let refused = client.refused("update_task_mr_automation_kandev", elsewhere).await;
        assert!(refused.contains("g/s/p"), "{refused}");
        let shown = client.call("update_task_mr_automation_kandev", said).await;
        assert_eq!((&shown["total"], &shown["requests"][0]["mr_iid"]), (&json!(1), &json!(3)));
        let path = format!("/tasks/{}", agent.task);
        app.until(&path, |task| task["prs"][0]["checks"] == "failed" && task["queued_prompt_count"] == 1).await;
        let words = agent.next_turn().await;
        for part in [
            "Merge request !3 of g/s/p",
            "A check failed: \"test\"",
            "\"ada\" remarked at \"src/a.rs:3\": \"Why?\"",
            "Your review of it is asked for.",
        ] {
            assert!(words.contains(part), "{words}");
        }
        assert!(!words.contains("flaky") && !words.contains(TOKEN), "{words}");
        agent.end_turn().await;

        // Another commit, which conflicts; then one that can be merged.
        gitlab.show(&format!("{PROJECT}/merge_requests/3"), merge_request(3, "def", "conflict", "success"));
        let conflict = app
            .until(&path, |task| task["prs"][0]["mergeable"] == "conflict" && task["queued_prompt_count"] == 1)
            .await;
        assert_eq!(conflict["prs"][0]["checks"], "passed");
        assert!(agent.next_turn().await.contains("It conflicts with the branch that it is for."));
        agent.end_turn().await;
        let mut quiet = named.clone();
        quiet["prompt_on_review_requested"] = json!(false);
        client.call("update_task_mr_automation_kandev", quiet).await;
        gitlab.show(&format!("{PROJECT}/merge_requests/3"), merge_request(3, "ghi", "mergeable", "success"));
        app.until(&path, |task| task["prs"][0]["state"] == "merged").await;
        let told = app.until(&path, |task| task["queued_prompt_count"] == 1).await;
        assert_eq!(told["prs"][0]["url"], "https://gitlab.example/g/s/p/-/merge_requests/3");
        assert!(agent.next_turn().await.contains("It was merged."));
        gitlab.came();
        let shown = client.call("get_task_mr_automation_kandev", named).await;
        assert_eq!((&shown["requests"][0]["state"], &shown["requests"][0]["problem"]), (&json!("merged"), &Value::Null));
        drop(client);
        app.stop().await;
        assert_eq!(gitlab.came(), [], "a request that is over is left alone");
    }

    async fn a_repository_elsewhere_is_shown_no_token_and_the_reason_is_said(db: TestDb) {
        let (github, elsewhere) = (github().await, ProviderServer::start().await);
        let app = TestApp::on_configured(&db, Variation::default(), |config| {
            config.providers = watching(&github);
        })
        .await;
        let providers = app.get("/providers").await;
        let tokens: Vec<&Value> = providers.json["providers"].as_array().unwrap().iter().map(|one| &one["has_token"]).collect();
        assert_eq!((tokens, providers.json.to_string().contains(TOKEN)), (vec![&json!(true), &json!(false)], false));
        let workspace = app.get("/workspaces").await.json["workspaces"][0]["id"].clone();
        let made = json!({"repository_url": elsewhere.repository("a/b"), "provider": "github"});
        let path = format!("/workspaces/{}/repositories", workspace.as_str().unwrap());
        let made = app.post(&path, made).await;
        assert_eq!(made.status, 201, "{}", made.json);
        let task = app.task(json!({"title": "Lock", "repository_id": made.json["id"]})).await;
        let requests = format!("/tasks/{}/change-requests", task["id"].as_str().unwrap());
        let wish = json!({"repository_id": made.json["id"], "number": 7, "prompt_on_merged": true});
        assert_eq!(app.patch(&requests, wish).await.status, 200);
        let shown = app.until(&requests, |shown| shown["requests"][0]["problem"].is_string()).await;
        let problem = shown["requests"][0]["problem"].as_str().unwrap();
        assert!(problem.contains("GITHUB_API_BASE"), "{problem}");
        assert_eq!((elsewhere.came(), github.came()), (Vec::new(), Vec::new()));
        let forgotten = app.delete(&format!("{requests}/{}", shown["requests"][0]["id"].as_str().unwrap())).await;
        assert_eq!((forgotten.status, &forgotten.json["total"]), (200, &json!(0)));
        let in_use = app.delete(&format!("/repositories/{}", made.json["id"].as_str().unwrap())).await;
        assert_eq!(in_use.code(), "CONFLICT");
        let detached = app.delete(&format!("/tasks/{}/repositories/{}", task["id"].as_str().unwrap(), made.json["id"].as_str().unwrap())).await;
        assert_eq!(detached.json["repositories"], json!([]));
        let renamed = app.patch(&format!("/repositories/{}", made.json["id"].as_str().unwrap()), json!({"name": "Ours", "default_branch": "main"})).await;
        assert_eq!((&renamed.json["name"], &renamed.json["default_branch"]), (&json!("Ours"), &json!("main")));
        assert_eq!(app.get(&path).await.json["repositories"], json!([renamed.json]));
    }
}
