//! A task's plan through its tools and through the API: one text, one version, one winner.

use crate::support::agent::Agent;
use crate::support::client::{Client, text};
use crate::support::{TestApp, id, soon};
use domain::ids::TaskId;
use serde_json::{Value, json};

const GET: &str = "get_task_plan_kandev";

async fn started(app: &TestApp) -> (Agent, Client) {
    let agent = Agent::launch(app, app.started_task("A").await).await;
    let client = agent.connect(app).await;
    (agent, client)
}

/// The blocks of a read: what there is to know, and the exact text.
async fn read(client: &Client, arguments: Value) -> (Value, Option<String>) {
    let result = soon(client.try_call(GET, arguments)).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{}", text(&result));
    let blocks: Vec<String> = result
        .content
        .iter()
        .map(|block| block.as_text().unwrap().text.clone())
        .collect();
    let about: Value = serde_json::from_str(&blocks[0]).unwrap();
    let data = result.structured_content.as_ref().unwrap();
    if let Some(exact) = blocks.get(1) {
        assert_eq!(data["content"], json!(exact));
        assert!(about.get("content").is_none());
    }
    for (name, value) in about.as_object().unwrap() {
        assert_eq!(data[name], *value);
    }
    (about, blocks.get(1).cloned())
}

store::on_both_engines! {
    async fn a_read_gives_what_there_is_to_know_and_then_the_exact_text(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (agent, client) = started(&app).await;
        let (none, exact) = read(&client, json!({})).await;
        assert_eq!((&none["plan"], exact), (&Value::Null, None));
        let written = "# \"Plan\"\r\n\r\ne\u{301} é 👩‍👩‍👧\n";
        let made = client
            .call("create_task_plan_kandev", json!({"content": written}))
            .await;
        assert_eq!(made["write_applied"], true);
        assert!(made.get("content").is_none(), "its author has the text");
        let (about, exact) = read(&client, json!({"task_id": agent.task})).await;
        assert_eq!(exact.as_deref(), Some(written));
        assert_eq!(about["version"], made["version"]);
        assert_eq!(about["title"], "Plan");
        assert!(about.get("partial").is_none());
        // Range by range, in code points.
        let mut together = String::new();
        let mut offset = json!(0);
        while !offset.is_null() {
            let page = json!({"offset": offset, "limit": 3, "expected_version": about["version"]});
            let (page, part) = read(&client, page).await;
            assert_eq!(page["partial"], true);
            assert_eq!(page["total_characters"], written.chars().count());
            assert_eq!(page["total_content_bytes"], written.len());
            together.push_str(&part.unwrap());
            assert_eq!(page["has_more"], !page["next_offset"].is_null());
            offset = page["next_offset"].clone();
        }
        assert_eq!(together, written);
        let end = json!({"offset": written.chars().count()});
        let (last, nothing) = read(&client, end).await;
        assert_eq!(
            (last["returned_characters"].clone(), nothing.as_deref()),
            (json!(0), Some(""))
        );
        let beyond = json!({"offset": written.chars().count() + 1});
        let refused = client.refused(GET, beyond).await;
        assert!(
            refused.starts_with("plan_read_offset_out_of_range"),
            "{refused}"
        );
    }

    async fn what_is_no_whole_number_is_refused_and_never_a_full_read(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_agent, client) = started(&app).await;
        client
            .call("create_task_plan_kandev", json!({"content": "s3cret"}))
            .await;
        for bad in [
            json!(null),
            json!(true),
            json!("1"),
            json!(1.5),
            json!(1.0),
            json!(-1),
            json!([1]),
            json!({}),
            json!(9_007_199_254_740_992_u64),
        ] {
            for field in ["offset", "limit"] {
                let refused = client.refused(GET, json!({field: bad})).await;
                assert!(
                    refused.starts_with("VALIDATION_ERROR"),
                    "{field} {bad}: {refused}"
                );
                assert!(!refused.contains("s3cret"));
            }
        }
        for bad in [
            json!({"limit": 0}),
            json!({"limit": 8193}),
            json!({"expected_version": ""}),
            json!({"expected_version": null}),
            json!({"task_id": ""}),
            json!({"content": "x"}),
        ] {
            let refused = client.refused(GET, bad.clone()).await;
            assert!(refused.starts_with("VALIDATION_ERROR"), "{bad}: {refused}");
        }
        let refused = client
            .refused(
                "update_task_plan_kandev",
                json!({"content": "x", "mode": "Append"}),
            )
            .await;
        assert!(refused.starts_with("VALIDATION_ERROR"), "{refused}");
    }

    async fn refused_writes_say_code_next_action_and_version(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_agent, client) = started(&app).await;
        for (tool, arguments, code) in [
            (
                "update_task_plan_kandev",
                json!({"content": "x"}),
                "plan_head_unavailable",
            ),
            (
                "update_task_plan_kandev",
                json!({"content": "x", "mode": "append"}),
                "plan_head_unavailable",
            ),
            (
                "create_task_plan_kandev",
                json!({"content": " "}),
                "plan_content_required",
            ),
            (
                "edit_task_plan_kandev",
                json!({"expected_version": "1", "old_text": "a", "new_text": "b"}),
                "plan_version_conflict",
            ),
            (
                GET,
                json!({"expected_version": "1"}),
                "plan_version_conflict",
            ),
        ] {
            let refused = client.refused(tool, arguments).await;
            assert!(refused.starts_with(code), "{refused}");
            assert!(
                refused.contains("write_applied=false; next_action="),
                "{refused}"
            );
            assert!(refused.ends_with("current_version=none"), "{refused}");
        }
        let long = "aa ".repeat(700);
        let made = client
            .call("create_task_plan_kandev", json!({"content": long}))
            .await;
        let version = made["version"].as_str().unwrap();
        let edit = |old: &str, new: &str| json!({"expected_version": version, "old_text": old, "new_text": new});
        for (tool, arguments, code) in [
            (
                "create_task_plan_kandev",
                json!({"content": "x"}),
                "plan_version_required",
            ),
            (
                "update_task_plan_kandev",
                json!({"content": "x"}),
                "plan_version_required",
            ),
            (
                "update_task_plan_kandev",
                json!({"content": "x", "expected_version": version}),
                "plan_truncation_rejected",
            ),
            (
                "update_task_plan_kandev",
                json!({"content": "x", "mode": "append", "allow_truncation": true}),
                "plan_append_truncation_not_applicable",
            ),
            (
                "edit_task_plan_kandev",
                edit("", "b"),
                "plan_edit_text_required",
            ),
            (
                "edit_task_plan_kandev",
                edit("nowhere", "b"),
                "plan_edit_not_found",
            ),
            (
                "edit_task_plan_kandev",
                edit("aa", "b"),
                "plan_edit_ambiguous",
            ),
            (
                "get_task_plan_revision_kandev",
                json!({"revision_id": TaskId::new()}),
                "plan_revision_unavailable",
            ),
        ] {
            let refused = client.refused(tool, arguments).await;
            assert!(refused.starts_with(code), "{refused}");
            assert!(
                refused.ends_with(&format!("current_version={version}")),
                "{refused}"
            );
        }
        let (about, exact) = read(&client, json!({})).await;
        assert_eq!(
            (about["version"].as_str(), exact),
            (Some(version), Some(long))
        );
    }

    async fn an_agent_writes_appends_edits_looks_back_and_restores(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (agent, client) = started(&app).await;
        let made = client
            .call(
                "create_task_plan_kandev",
                json!({"content": "One.", "title": "Way"}),
            )
            .await;
        let edited = client
            .call(
                "edit_task_plan_kandev",
                json!({"expected_version": made["version"], "old_text": "One", "new_text": "Eins"}),
            )
            .await;
        assert_eq!(edited["merged"], true);
        // The operator saves in the browser with the version he read, which is the present one.
        let plan = app.get(&format!("/tasks/{}/plan", agent.task)).await.json;
        let saved = app
            .post(
                &format!("/tasks/{}/plan", agent.task),
                json!({"content": "Eins.\nZwei.", "expected_version": plan["version"]}),
            )
            .await;
        assert_eq!(saved.status, 200, "{}", saved.json);
        // The agent still has the older one.
        let stale = client
            .refused(
                "update_task_plan_kandev",
                json!({"content": "Mine.", "expected_version": edited["version"]}),
            )
            .await;
        assert!(stale.starts_with("plan_version_conflict"), "{stale}");
        assert!(stale.contains(saved.json["version"].as_str().unwrap()));
        let appended = client
            .call(
                "update_task_plan_kandev",
                json!({"content": "Drei.", "mode": "append"}),
            )
            .await;
        let list = client
            .call("list_task_plan_revisions_kandev", json!({}))
            .await;
        let authors: Vec<&Value> = list["revisions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["author_kind"])
            .collect();
        assert_eq!(authors, ["agent", "user", "agent"]);
        assert!(list["revisions"][0].get("content").is_none());
        let first = list["revisions"][2].clone();
        let result = soon(client.try_call(
            "get_task_plan_revision_kandev",
            json!({"revision_id": first["id"]}),
        ))
        .await
        .unwrap();
        assert_eq!(result.content[1].as_text().unwrap().text, "Eins.");
        let restored = client
            .call(
                "restore_task_plan_revision_kandev",
                json!({
                    "revision_id": first["id"],
                    "expected_version": appended["version"],
                    "expected_revision_version": first["revision_version"],
                }),
            )
            .await;
        assert_eq!(restored["revision_number"], 4);
        let plan = app.get(&format!("/tasks/{}/plan", agent.task)).await.json;
        assert_eq!(
            (&plan["content"], &plan["title"]),
            (&json!("Eins."), &json!("Way"))
        );
        assert_eq!(
            client.call("delete_task_plan_kandev", json!({})).await["deleted"],
            true
        );
        assert_eq!(
            client.call("delete_task_plan_kandev", json!({})).await["deleted"],
            false
        );
        assert_eq!(
            app.get(&format!("/tasks/{}/plan", agent.task)).await.status,
            404
        );
    }

    async fn of_a_tool_and_a_browser_at_once_one_wins_and_the_other_is_told(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (agent, client) = started(&app).await;
        let path = format!("/tasks/{}/plan", agent.task);
        let mut version = app.post(&path, json!({"content": "Begin."})).await.json["version"].clone();
        for round in 0..5 {
            let (tool, browser) = (format!("tool {round}"), format!("browser {round}"));
            let arguments = json!({"content": tool, "expected_version": version});
            let save = json!({"content": browser, "expected_version": version});
            let (by_tool, by_browser) = soon(async {
                tokio::join!(
                    client.try_call("update_task_plan_kandev", arguments),
                    app.patch(&path, save)
                )
            })
            .await;
            let by_tool = by_tool.unwrap();
            let tool_won = by_tool.is_error != Some(true);
            assert_ne!(tool_won, by_browser.status == 200, "{}", by_browser.json);
            if tool_won {
                assert_eq!(by_browser.status, 409);
                assert_eq!(by_browser.code(), "plan_version_conflict");
            } else {
                assert!(text(&by_tool).starts_with("plan_version_conflict"));
            }
            let now = app.get(&path).await.json;
            assert_eq!(now["content"], json!(if tool_won { tool } else { browser }));
            version = now["version"].clone();
        }
    }

    async fn the_api_checks_versions_and_shapes_as_the_tools_do(db: TestDb) {
        let app = TestApp::on(&db).await;
        let task: TaskId = id(&app.task(json!({"title": "A"})).await["id"]);
        let path = format!("/tasks/{task}/plan");
        assert_eq!(app.get(&path).await.status, 404);
        // As much as a plan may hold, of letters that take most room on the way.
        let large = "\u{1}".repeat(100 * 1024);
        let made = app.post(&path, json!({"content": large})).await;
        assert_eq!(
            (made.status, &made.json["created"]),
            (200, &json!(true)),
            "{}",
            made.json
        );
        let unversioned = app.post(&path, json!({"content": "x"})).await;
        assert_eq!(
            (unversioned.status, unversioned.code()),
            (400, "plan_version_required")
        );
        for body in [
            json!({}),
            json!({"content": "x", "old_text": "y"}),
            json!({"old_text": "y"}),
            json!({"old_text": "y", "new_text": "z", "mode": "append"}),
            json!({"content": "x", "mode": "Append"}),
            json!({"content": 1}),
            json!({"content": "x", "unknown": 1}),
        ] {
            let refused = app.patch(&path, body.clone()).await;
            assert_eq!(
                (refused.status, refused.code()),
                (400, "VALIDATION_ERROR"),
                "{body}"
            );
        }
        let cut = json!({"content": "Short.", "expected_version": made.json["version"]});
        let refused = app.patch(&path, cut.clone()).await;
        assert_eq!(
            (refused.status, refused.code()),
            (409, "plan_truncation_rejected")
        );
        let mut allowed = cut;
        allowed["allow_truncation"] = json!(true);
        let cut = app.patch(&path, allowed).await;
        assert_eq!(cut.json["merged"], false);
        let edit =
            json!({"old_text": "Short", "new_text": "Brief", "expected_version": cut.json["version"]});
        assert_eq!(app.patch(&path, edit).await.status, 200);
        let list = app.get(&format!("{path}/revisions?limit=1")).await.json;
        assert_eq!(
            (&list["has_more"], &list["next_cursor"]),
            (&json!(true), &json!(2))
        );
        let older = app.get(&format!("{path}/revisions?cursor=2")).await.json;
        let oldest = &older["revisions"][0];
        let revision_path = format!(
            "{path}/revision?revision_id={}",
            oldest["id"].as_str().unwrap()
        );
        assert_eq!(app.get(&revision_path).await.json["content"], json!(large));
        let unread = json!({"revision_id": oldest["id"], "expected_version": "x"});
        assert_eq!(
            app.post(&format!("{path}/restore"), unread).await.code(),
            "plan_version_conflict"
        );
        let version = app.get(&path).await.json["version"].clone();
        let unread = json!({"revision_id": oldest["id"], "expected_version": version});
        assert_eq!(
            app.post(&format!("{path}/restore"), unread).await.code(),
            "plan_revision_version_required"
        );
        let read = json!({
            "revision_id": oldest["id"],
            "expected_version": version,
            "expected_revision_version": oldest["revision_version"],
        });
        assert_eq!(app.post(&format!("{path}/restore"), read).await.status, 200);
        assert_eq!(
            app.delete(&format!("{path}?expected_version=x"))
                .await
                .code(),
            "plan_version_conflict"
        );
        assert_eq!(app.delete(&path).await.json["deleted"], true);
    }

    async fn a_restore_names_the_revision_as_it_was_read(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (_agent, client) = started(&app).await;
        let made = client.call("create_task_plan_kandev", json!({"content": "One."})).await;
        let revisions = async || client.call("list_task_plan_revisions_kandev", json!({})).await["revisions"].clone();
        let first = revisions().await[0].clone();
        // A later write of the same author goes into the same revision.
        let edited = client
            .call(
                "edit_task_plan_kandev",
                json!({"expected_version": made["version"], "old_text": "One", "new_text": "Two"}),
            )
            .await;
        let restore = |revision: &Value| {
            json!({
                "revision_id": revision["id"],
                "expected_version": edited["version"],
                "expected_revision_version": revision["revision_version"],
            })
        };
        let text = client.refused("restore_task_plan_revision_kandev", restore(&first)).await;
        assert!(text.starts_with("plan_revision_changed") && text.contains("write_applied=false"), "{text}");
        let now = revisions().await[0].clone();
        let same = client.call("restore_task_plan_revision_kandev", restore(&now)).await;
        assert_eq!((&same["write_applied"], &same["code"]), (&json!(false), &json!("plan_already_current")));
        assert_eq!(same["version"], edited["version"], "nothing was written");
        assert_eq!(revisions().await.as_array().unwrap().len(), 1);
    }

    async fn most_of_a_plan_goes_only_when_the_history_holds_it(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (agent, client) = started(&app).await;
        let long = "A step of the plan.\n".repeat(200);
        let made = client.call("create_task_plan_kandev", json!({"content": long})).await;
        let cut = json!({"content": "Short.", "expected_version": made["version"], "allow_truncation": true});
        // Nothing of ours takes a revision away; a database that was mended by hand may lack one.
        let mut tx = db.open_again().await.write().await.unwrap();
        tx.execute_raw("delete from plan_revisions").await.unwrap();
        tx.commit().await.unwrap();
        let text = client.refused("update_task_plan_kandev", cut.clone()).await;
        assert!(text.starts_with("plan_history_unavailable") && text.contains("write_applied=false"), "{text}");
        let reply = app.patch(&format!("/tasks/{}/plan", agent.task), cut).await;
        assert_eq!(reply.code(), "plan_history_unavailable");
        assert_eq!(read(&client, json!({})).await.1.unwrap(), long);
    }

    async fn an_operator_has_the_plan_carried_out(db: TestDb) {
        let app = TestApp::on(&db).await;
        let (mut agent, client) = started(&app).await;
        let path = format!("/tasks/{}/plan/implement", agent.task);
        let none = app.post(&path, json!({})).await;
        assert_eq!((none.status, none.code()), (404, "NOT_FOUND"));
        let made = client.call("create_task_plan_kandev", json!({"content": "One."})).await;
        let queued = app.post(&path, json!({})).await;
        assert_eq!((queued.status, &queued.json["status"]), (200, &json!("queued")), "its agent is at work");
        agent.end_turn().await;
        assert!(agent.next_turn().await.contains("get_task_plan_kandev"));
        let plan = app.get(&format!("/tasks/{}/plan", agent.task)).await.json;
        assert!(plan["implementation_started_at"].is_string(), "{plan}");
        assert_eq!(plan["implementation_started_session_id"], json!(agent.session));
        assert_eq!(plan["version"], made["version"], "the mark is no change of the text");
    }
}
