//! The tools of tasks beside the board, and what the operator sees of what they leave.

use crate::support::agent::Agent;
use crate::support::{TestApp, id};
use http::Method;
use serde_json::{Value, json};

async fn office(app: &TestApp, title: &str, parent: Option<&Agent>) -> Agent {
    let task = app
        .task(json!({"title": title, "description": "Do it.", "purpose": "office", "parent_id": parent.map(|agent| agent.task)}))
        .await;
    Agent::launch(app, id(&task["id"])).await
}

store::on_both_engines! {
    async fn documents_are_written_read_and_shown(db: TestDb) {
        let app = TestApp::on(&db).await;
        let whole = office(&app, "Whole", None).await;
        let part = office(&app, "Part", Some(&whole)).await;
        let client = part.connect(&app).await;
        let text = "# Findings\n\n\"quoted\" \u{202e} and ünïcode";
        let written = client
            .call(
                "write_task_document_kandev",
                json!({"task_id": whole.task, "document_key": "findings", "content": text, "title": "What we found", "type": "report"}),
            )
            .await;
        assert_eq!((&written["title"], &written["type"]), (&json!("What we found"), &json!("report")));
        client
            .call(
                "write_task_document_kandev",
                json!({"task_id": "self", "document_key": "own", "content": "Mine."}),
            )
            .await;
        let of_whole = whole.connect(&app).await;
        let listed = of_whole.call("list_task_documents_kandev", json!({"task_id": "self"})).await;
        assert_eq!((&listed["total"], &listed["documents"][0]["document_key"]), (&json!(1), &json!("findings")));
        let read = of_whole
            .call("get_task_document_kandev", json!({"task_id": part.task, "document_key": "own"}))
            .await;
        assert_eq!(read["content"], "Mine.");
        let refused = of_whole
            .refused(
                "write_task_document_kandev",
                json!({"task_id": part.task, "document_key": "own", "content": "Yours."}),
            )
            .await;
        assert!(refused.starts_with("FORBIDDEN"), "{refused}");
        let refused = client
            .refused(
                "write_task_document_kandev",
                json!({"task_id": "self", "document_key": "../own", "content": ""}),
            )
            .await;
        assert!(refused.starts_with("VALIDATION_ERROR: document_key"), "{refused}");

        let path = format!("/tasks/{}/documents", whole.task);
        let shown = app.get(&format!("{path}/findings")).await;
        assert_eq!((shown.status, &shown.json["content"]), (200, &json!(text)));
        let body = json!({"content": "Over."});
        let over = app.call(Method::PUT, &format!("{path}/findings"), Some(body)).await;
        assert_eq!((&over.json["author_kind"], &over.json["title"]), (&json!("user"), &json!("What we found")));
        assert_eq!(app.get(&path).await.json["total"], 1);
        assert_eq!(app.get(&format!("{path}/Nothing")).await.status, 400);
        assert_eq!(app.get(&format!("{path}/nothing")).await.status, 404);
        assert_eq!(app.delete(&format!("{path}/findings")).await.json["deleted"], true);
        assert_eq!(app.delete(&format!("{path}/findings")).await.json["deleted"], false);
    }

    async fn decisions_are_noted_and_shown(db: TestDb) {
        let app = TestApp::on(&db).await;
        let judge = office(&app, "Judge", None).await;
        let client = judge.connect(&app).await;
        let refused = client
            .refused("record_step_decision_kandev", json!({"decision": "perhaps", "reason": "So."}))
            .await;
        assert!(refused.contains("/decision violates"), "{refused}");
        let decided = client
            .call("record_step_decision_kandev", json!({"decision": "rejected", "reason": "No tests."}))
            .await;
        let shown = app.get(&format!("/tasks/{}/step-decisions", judge.task)).await.json;
        assert_eq!((&shown["total"], &shown["decisions"][0]), (&json!(1), &decided));
        let names = client.tool_names().await;
        assert!(!names.iter().any(|name| name == "create_task_kandev"), "an office makes no tasks");
        assert_eq!(decided["session_id"], json!(judge.session));
        assert_ne!(decided["step_id"], Value::Null);
    }
}
