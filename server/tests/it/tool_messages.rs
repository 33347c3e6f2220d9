//! Agents that write to one another through the tool, and an operator who steers what waits through the API.

use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{TestApp, id, soon};
use domain::ids::TaskId;
use http::Method;
use serde_json::{Value, json};

/// Two working agents, the first one connected.
async fn two(app: &TestApp) -> (Agent, Client, Agent) {
    let sender = Agent::launch(app, app.started_task("Sender").await).await;
    let target = Agent::launch(app, app.started_task("Target").await).await;
    let client = sender.connect(app).await;
    (sender, client, target)
}

async fn error_of(client: &Client, arguments: Value) -> Value {
    let result = soon(client.try_call("message_task_kandev", arguments))
        .await
        .unwrap();
    assert_eq!(result.is_error, Some(true));
    result.structured_content.unwrap()["error"].clone()
}

store::on_both_engines! {
    async fn the_receipt_leads_to_the_message_in_the_targets_conversation(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_, client, mut target) = two(&app).await;
        let sent = client
            .call(
                "message_task_kandev",
                json!({"task_id": target.task, "prompt": "Agreed?"}),
            )
            .await;
        assert_eq!(sent["status"], "queued");
        assert_eq!(sent["session_id"], json!(target.session));
        assert_eq!(sent.get("deduplicated"), None);
        target.end_turn().await;
        assert_eq!(target.next_turn().await, "Agreed?");
        let talk = client
            .call(
                "get_task_conversation_kandev",
                json!({"task_id": target.task, "message_types": ["message"]}),
            )
            .await;
        let last = talk["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["id"], sent["message_id"]);
        assert_eq!(last["metadata"]["prompt_id"], sent["queue_entry_id"]);
    }

    async fn a_call_that_is_repeated_under_its_key_sends_once(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_, client, mut target) = two(&app).await;
        let message =
            json!({"task_id": target.task, "prompt": "Hello.", "idempotency_key": "first contact"});
        let first = client.call("message_task_kandev", message.clone()).await;
        target.end_turn().await;
        target.next_turn().await;
        let mut again = client.call("message_task_kandev", message.clone()).await;
        assert_eq!(again["deduplicated"], true);
        again.as_object_mut().unwrap().remove("deduplicated");
        assert_eq!(again, first);
        let path = format!("/task-sessions/{}/queue", target.session);
        assert_eq!(app.get(&path).await.json["count"], 0);

        let mut other = message;
        other["prompt"] = json!("Something else.");
        let text = client.refused("message_task_kandev", other).await;
        assert!(
            text.starts_with("VALIDATION_ERROR") && text.contains("idempotency_key"),
            "{text}"
        );
        let text = client
            .refused(
                "message_task_kandev",
                json!({"task_id": target.task, "prompt": "x", "idempotency_key": "k".repeat(201)}),
            )
            .await;
        assert!(
            text.contains("/idempotency_key violates \"maxLength\""),
            "{text}"
        );
    }

    async fn one_sender_is_told_to_wait_before_it_fills_a_queue(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_, client, target) = two(&app).await;
        let message = json!({"task_id": target.task, "prompt": "Secret words."});
        for _ in 0..5 {
            client.call("message_task_kandev", message.clone()).await;
        }
        let error = error_of(&client, message).await;
        assert_eq!(error["code"], "rate_limited");
        assert!(error["details"]["retry_after_ms"].as_i64().unwrap() > 0);
        assert_eq!(error["details"]["guard"], "queue_share");
        assert!(error["message"].as_str().unwrap().contains("wait"));
        assert!(!error.to_string().contains("Secret"));
    }

    async fn two_that_have_written_enough_are_told_when_they_may_again(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_, client, target) = two(&app).await;
        let session = format!("/task-sessions/{}/queue", target.session);
        for n in 0..30 {
            let message = json!({"task_id": target.task, "prompt": format!("Message {n}.")});
            client.call("message_task_kandev", message).await;
            assert_eq!(app.delete(&session).await.json["count"], 0);
        }
        let error = error_of(
            &client,
            json!({"task_id": target.task, "prompt": "One more."}),
        )
        .await;
        assert_eq!(
            (&error["code"], &error["details"]["guard"]),
            (&json!("rate_limited"), &json!("pair"))
        );
        let wait = error["details"]["retry_after_ms"].as_i64().unwrap();
        assert!((1..=600_000).contains(&wait), "{wait}");
        // A repeat of what was accepted is no new message, and other pairs are not concerned.
        let other = app.started_task("Other").await;
        client
            .call(
                "message_task_kandev",
                json!({"task_id": other, "prompt": "Hello."}),
            )
            .await;
    }

    async fn an_interrupt_is_answered_when_its_prompt_was_taken(db: TestDb) {
        let app = TestApp::on(&db).await;
        let parent = Agent::launch(&app, app.started_task("Parent").await).await;
        let mut child = Agent::launch(&app, app.autopilot_child(parent.task).await).await;
        let client = parent.connect(&app).await;
        let path = format!("/task-sessions/{}/queue", child.session);
        let interrupt = client.call(
            "message_task_kandev",
            json!({"task_id": child.task, "prompt": "Stop that.", "delivery_mode": "interrupt"}),
        );
        let cancelled = async {
            app.until(&path, |queue| queue["count"] == 1).await;
            child.cancelled().await;
            child.next_turn().await
        };
        let (outcome, words) = tokio::join!(interrupt, cancelled);
        assert_eq!(outcome["status"], "sent");
        assert_eq!(words, "Stop that.");
    }

    async fn an_operator_steers_what_waits(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (sender, client, mut target) = two(&app).await;
        let session = format!("/task-sessions/{}", target.session);
        let queue = format!("{session}/queue");
        let mut ids = Vec::new();
        for text in ["one", "two", "three"] {
            let sent = app
                .post(&format!("{session}/messages"), json!({"content": text}))
                .await;
            ids.push(sent.json["queue_entry_id"].clone());
        }
        client
            .call(
                "message_task_kandev",
                json!({"task_id": target.task, "prompt": "theirs"}),
            )
            .await;
        let seen = app.get(&queue).await.json;
        assert_eq!((&seen["count"], &seen["max"]), (&json!(4), &json!(10)));
        assert_eq!(
            (&seen["auto_run"], &seen["merge_enabled"]),
            (&json!(true), &json!(true))
        );
        let theirs = &seen["entries"][3];
        assert_eq!(theirs["sender_task_id"], json!(sender.task));
        assert_eq!(theirs["sender_task_title"], "Sender");
        let peer: String = theirs["id"].as_str().unwrap().to_owned();

        let entry = |n: usize| format!("/queue/{}", ids[n].as_str().unwrap());
        let edited = app
            .patch(&entry(0), json!({"content": "ONE", "replaces": "one"}))
            .await;
        assert_eq!(edited.json["entries"][0]["content"], "ONE");
        let late = app
            .patch(&entry(0), json!({"content": "uno", "replaces": "one"}))
            .await;
        assert_eq!((late.status, late.code()), (409, "CONFLICT"));
        let foreign = app
            .patch(&format!("/queue/{peer}"), json!({"content": "mine"}))
            .await;
        assert_eq!(foreign.code(), "FORBIDDEN");

        let merged = app.post(&format!("{}/merge", entry(1)), json!({})).await;
        assert_eq!(merged.json["entries"][0]["content"], "ONE\n\ntwo");
        let wanted = json!({"ids": [peer, ids[2], ids[0]]});
        let ordered = app.post(&format!("{queue}/reorder"), wanted).await;
        assert_eq!(ordered.json["entries"][0]["id"], json!(peer));
        let partial = app
            .post(&format!("{queue}/reorder"), json!({"ids": [peer]}))
            .await;
        assert_eq!(partial.code(), "CONFLICT");

        // The page's view of it is the same.
        let page = app.get(&format!("/tasks/{}/page", target.task)).await.json;
        assert_eq!(page["queues"][0], app.get(&queue).await.json);

        app.post(&format!("{session}/auto-run"), json!({"auto_run": false}))
            .await;
        let sending = async {
            let path = format!("{}/send-now", entry(2));
            app.post(&path, json!({})).await
        };
        let cancelled = async {
            app.until(&queue, |queue| queue["auto_run"] == true).await;
            target.cancelled().await;
            target.next_turn().await
        };
        let (sent, words) = tokio::join!(sending, cancelled);
        assert_eq!((sent.status, &sent.json["status"]), (200, &json!("sent")));
        assert_eq!(words, "three");

        let removed = app.delete(&entry(0)).await;
        assert_eq!(removed.json["count"], 1);
        let cleared = app.call(Method::DELETE, &queue, None).await;
        assert_eq!(cleared.json["entries"], json!([]));
        let gone: TaskId = id(&json!(target.task));
        app.delete(&format!("/tasks/{gone}")).await;
        assert_eq!(app.get(&queue).await.code(), "NOT_FOUND");
    }
}
