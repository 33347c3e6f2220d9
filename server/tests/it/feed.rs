//! The event feed: nothing is missed, also by those who were away.

use crate::support::TestApp;
use crate::support::feed::FeedReader;
use board::{Actor, Clock};
use domain::time::Timestamp;
use http::Method;
use serde_json::json;
use server::serve::Variation;

async fn make(app: &TestApp, count: usize) {
    for number in 0..count {
        app.task(json!({"title": format!("Task {number}")})).await;
    }
}

fn assert_grows(heard: &[crate::support::feed::Heard]) {
    assert!(
        heard.windows(2).all(|pair| pair[0].id < pair[1].id),
        "{heard:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_hears_what_happens_from_now_on() {
    let app = TestApp::new().await;
    make(&app, 2).await;
    let (mut feed, start) = FeedReader::open(&app, "", None).await;
    let task = app.task(json!({"title": "New"})).await;
    let heard = loop {
        let heard = feed.next().await.unwrap();
        assert!(heard.id > start);
        // The reader may have been a moment behind when we began.
        if heard.data.as_ref().unwrap()["task_id"] == task["id"] {
            break heard;
        }
    };
    assert_eq!(heard.event.as_deref(), Some("task.created"));
    let data = heard.data.unwrap();
    assert_eq!(data["id"], heard.id);
    assert_eq!(data["kind"], "task.created");
    assert_eq!(data["task_id"], task["id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_during_a_drop_is_told_once_and_in_order() {
    let app = TestApp::new().await;
    let (mut feed, _) = FeedReader::open(&app, "", None).await;
    make(&app, 3).await;
    let before = feed.take(2).await;
    drop(feed);
    make(&app, 5).await;
    let (mut feed, start) = FeedReader::open(&app, "", Some(before[1].id)).await;
    assert_eq!(start, before[1].id);
    make(&app, 1).await;
    let after = feed.take(7).await;
    let all: Vec<_> = before.into_iter().chain(after).collect();
    assert_grows(&all);
    let titles = all
        .iter()
        .filter(|heard| heard.event.as_deref() == Some("task.created"));
    assert_eq!(titles.count(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_from_before_this_process_is_replayed_from_the_log() {
    let app = TestApp::new().await;
    make(&app, 3).await;
    // The reader began at the end of what the start had written; position 0 lies before that.
    let (mut feed, start) = FeedReader::open(&app, "?since=0", None).await;
    assert_eq!(start, 0);
    let last = app.board().events_bounds().await.unwrap().1;
    let mut heard = vec![feed.next().await.unwrap()];
    while heard.last().unwrap().id < last {
        heard.push(feed.next().await.unwrap());
    }
    assert_eq!(heard[0].id, 1);
    assert_grows(&heard);
    make(&app, 1).await;
    assert!(feed.next().await.unwrap().id > last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_that_nothing_joins_is_told_to_read_everything_again() {
    let clock = Clock::stepped(Timestamp::from_millis(1_800_000_000_000));
    let app = TestApp::with(Variation {
        clock: Some(clock.clone()),
        ..Variation::default()
    })
    .await;
    make(&app, 3).await;
    clock.advance(app.board().settings().events_kept_ms + 1);
    make(&app, 1).await;
    app.board().events_prune().await.unwrap();
    for beyond_the_end in [false, true] {
        let (first, last) = app.board().events_bounds().await.unwrap();
        assert!(first > 1, "the log still has its first event");
        // What this process has seen it still has in memory; what came before it has not.
        let since = if beyond_the_end { last + 100 } else { 0 };
        let (mut feed, _) = FeedReader::open(&app, &format!("?since={since}"), None).await;
        let reset = feed.next().await.unwrap();
        assert_eq!(reset.event.as_deref(), Some("reset"), "since {since}");
        assert_eq!(reset.id, last);
        // And from there on nothing is missed.
        let task = app.task(json!({"title": "Next"})).await;
        let heard = feed.next().await.unwrap();
        assert_eq!(heard.data.unwrap()["task_id"], task["id"]);
        drop(feed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_may_want_one_task_or_one_workspace_only() {
    let app = TestApp::new().await;
    let other = app.post("/workspaces", json!({"name": "Other"})).await.json;
    let first = app.get("/workspaces").await.json["workspaces"][0]["id"].clone();
    let mine = app
        .task(json!({"title": "Mine", "workspace_id": first}))
        .await;
    let task = mine["id"].as_str().unwrap();
    let (mut of_task, _) = FeedReader::open(&app, &format!("?task_id={task}"), None).await;
    let (mut of_workspace, _) = FeedReader::open(
        &app,
        &format!("?workspace_id={}", first.as_str().unwrap()),
        None,
    )
    .await;
    app.task(json!({"title": "Foreign", "workspace_id": other["id"]}))
        .await;
    app.patch(&format!("/tasks/{task}"), json!({"title": "Renamed"}))
        .await;
    assert_eq!(
        of_task.next().await.unwrap().data.unwrap()["task_id"],
        mine["id"]
    );
    assert_eq!(
        of_workspace.next().await.unwrap().data.unwrap()["task_id"],
        mine["id"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_that_is_none_is_refused() {
    let app = TestApp::new().await;
    for query in ["?since=-1", "?since=now", "?task_id=short", "?sinse=1"] {
        let reply = app.get(&format!("/events{query}")).await;
        assert_eq!(
            (reply.status, reply.code()),
            (400, "VALIDATION_ERROR"),
            "{query}"
        );
    }
    let request = app
        .request(Method::GET, "/api/v1/events")
        .header("last-event-id", "none");
    assert_eq!(crate::support::Reply::read(request).await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_ends_its_feeds() {
    let app = TestApp::new().await;
    let (mut feed, _) = FeedReader::open(&app, "", None).await;
    crate::support::soon(app.stop()).await;
    assert_eq!(feed.next().await, None);
}

/// One reader for all: a storm of events and many listeners, and each hears everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_listeners_all_hear_a_storm() {
    let app = TestApp::new().await;
    let feed = app.feed();
    let mut listeners: Vec<_> = (0..500).map(|_| feed.listen(None)).collect();
    for number in 0..20 {
        app.board()
            .workspace_create(&Actor::Operator, &format!("W{number}"), "")
            .await
            .unwrap();
    }
    for listener in &mut listeners {
        let mut last = listener.position();
        for _ in 0..20 {
            let told = crate::support::soon(listener.next()).await.unwrap();
            let server::feed::Told::Event(event) = told else {
                panic!("nothing was missing");
            };
            assert!(event.event.id > last);
            last = event.event.id;
        }
    }
    assert_eq!(feed.listeners(), 500);
}

/// A listener that is too slow for the channel falls back on the log and misses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_listener_misses_nothing() {
    let app = TestApp::new().await;
    let mut slow = app.feed().listen(None);
    let task = app.task(json!({"title": "0"})).await;
    let id = crate::support::id(&task["id"]);
    let mut changed = 0;
    while changed < 1_500 {
        let params = domain::params::UpdateTask {
            title: Some(format!("Title {changed}")),
            ..Default::default()
        };
        app.board()
            .task_update(&Actor::Operator, id, params)
            .await
            .unwrap();
        changed += 1;
    }
    let last = app.board().events_bounds().await.unwrap().1;
    let mut position = slow.position();
    while position < last {
        let told = crate::support::soon(slow.next()).await.unwrap();
        let server::feed::Told::Event(event) = told else {
            panic!("nothing was missing");
        };
        assert_eq!(event.event.id, position + 1);
        position = event.event.id;
    }
}
