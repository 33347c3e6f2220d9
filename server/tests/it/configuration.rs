//! Setting the board up through its doors: the API, and the tools of a session that was begun for it.

use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{TestApp, id};
use http::Method;
use serde_json::{Value, json};
use store::testing::TestDb;

/// An agent in a session that sets the board up, and its tools.
async fn setup(app: &TestApp) -> (Agent, Client) {
    let task = app
        .task(json!({"title": "Set up", "description": "Do it.", "purpose": "configuration"}))
        .await;
    assert_eq!(task["purpose"], "configuration");
    let agent = Agent::launch(app, id(&task["id"])).await;
    let client = agent.connect(app).await;
    (agent, client)
}

async fn home(app: &TestApp) -> Value {
    app.get("/workspaces").await.json["workspaces"][0]["id"].clone()
}

fn names(steps: &Value) -> Vec<&str> {
    let steps = steps.as_array().unwrap();
    steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect()
}

async fn a_session_builds_a_workflow_that_the_board_then_follows(db: TestDb) {
    let app = TestApp::on(&db).await;
    let (_agent, client) = setup(&app).await;
    let made = client
        .call(
            "create_workflow_kandev",
            json!({"workspace_id": home(&app).await, "name": "Release", "description": "How we ship."}),
        )
        .await;
    let workflow = made["id"].clone();
    let mut steps = Vec::new();
    for name in ["Build", "Ship"] {
        let step = client
            .call(
                "create_workflow_step_kandev",
                json!({"workflow_id": workflow, "name": name, "wip_limit": 2}),
            )
            .await;
        assert_eq!(step["allow_manual_move"], false, "as a tool makes it");
        steps.push(step["id"].clone());
    }
    let events = json!({
        "on_enter": [{"type": "auto_start_agent"}, {"type": "set_session_mode", "config": {"mode": "plan"}}],
        "on_turn_complete": [{"type": "move_to_step", "config": {"step_id": steps[1]}}],
    });
    let changed = client
        .call(
            "update_workflow_step_kandev",
            json!({"step_id": steps[0], "is_start_step": true, "events": events, "prompt": "Build it: {{task_prompt}}"}),
        )
        .await;
    assert_eq!(
        (&changed["name"], &changed["wip_limit"]),
        (&json!("Build"), &json!(2))
    );
    let ordered = client
        .call(
            "reorder_workflow_steps_kandev",
            json!({"workflow_id": workflow, "step_ids": [steps[1], steps[0]]}),
        )
        .await;
    assert_eq!(names(&ordered["steps"]), ["Ship", "Build"]);

    let work = app
        .task(json!({"title": "Work", "description": "Do it.", "workflow_id": workflow}))
        .await;
    assert_eq!(work["workflow_step_id"], steps[0]);
    let worker = Agent::launch(&app, id(&work["id"])).await;
    worker.end_turn().await;
    let moved = app.get(&format!("/tasks/{}", worker.task)).await.json;
    assert_eq!(moved["workflow_step_id"], steps[1], "as its event says");

    let text = client
        .refused("delete_workflow_step_kandev", json!({"step_id": steps[1]}))
        .await;
    assert!(text.starts_with("CONFLICT"), "{text}");
    let text = client
        .refused("delete_workflow_kandev", json!({"workflow_id": workflow}))
        .await;
    assert!(text.starts_with("CONFLICT"), "{text}");
    client
        .call(
            "update_task_state_kandev",
            json!({"task_id": worker.task, "state": "done"}),
        )
        .await;
    client
        .call("delete_task_kandev", json!({"task_id": worker.task}))
        .await;
    let gone = client
        .call("delete_workflow_step_kandev", json!({"step_id": steps[0]}))
        .await;
    assert_eq!(gone, json!({"success": true}));
    client
        .call("delete_workflow_kandev", json!({"workflow_id": workflow}))
        .await;
    let left = app
        .get(&format!("/workflows/{}", workflow.as_str().unwrap()))
        .await;
    assert_eq!(left.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_a_session_builds_a_workflow() {
    a_session_builds_a_workflow_that_the_board_then_follows(TestDb::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs FLIGHTDECK_TEST_POSTGRES_URL"]
async fn on_postgres_a_session_builds_a_workflow() {
    a_session_builds_a_workflow_that_the_board_then_follows(TestDb::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_step_cannot_be_is_refused_by_the_listed_schema() {
    let app = TestApp::new().await;
    let (_agent, client) = setup(&app).await;
    let workflow = client
        .call(
            "list_workflows_kandev",
            json!({"workspace_id": home(&app).await}),
        )
        .await["workflows"][0]
        .clone();
    let (id, step) = (workflow["id"].clone(), workflow["steps"][0]["id"].clone());
    for (tool, arguments, says) in [
        (
            "create_workflow_step_kandev",
            json!({"workflow_id": id}),
            "missing name",
        ),
        (
            "create_workflow_step_kandev",
            json!({"workflow_id": id, "name": "A", "auto_archive_after_hours": 1}),
            "unknown field auto_archive_after_hours",
        ),
        (
            "update_workflow_step_kandev",
            json!({"step_id": step, "events": {"on_enter": [{"type": "launch_rockets"}]}}),
            "/events/on_enter/0 violates \"anyOf\"",
        ),
        (
            "update_workflow_step_kandev",
            json!({"step_id": step, "events": {"on_entry": []}}),
            "/events violates \"additionalProperties\"",
        ),
        (
            "update_workflow_step_kandev",
            json!({"step_id": step, "wip_limit": -1}),
            "/wip_limit violates \"minimum\"",
        ),
        (
            "create_agent_profile_kandev",
            json!({"agent_id": step, "name": "A"}),
            "missing model",
        ),
    ] {
        let text = client.refused(tool, arguments).await;
        assert!(
            text.starts_with("VALIDATION_ERROR") && text.contains(says),
            "{text}"
        );
    }
    let unchanged = client
        .call("list_workflow_steps_kandev", json!({"workflow_id": id}))
        .await;
    assert_eq!(unchanged["steps"], workflow["steps"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn profiles_are_set_up_by_tools_but_trust_is_the_operators() {
    let app = TestApp::new().await;
    app.post("/agents", json!({"name": "Robot", "command": "robot"}))
        .await;
    let (_agent, client) = setup(&app).await;
    let agents = client.call("list_agents_kandev", json!({})).await["agents"].clone();
    let robot = agents
        .as_array()
        .unwrap()
        .iter()
        .find(|agent| agent["name"] == "Robot")
        .unwrap()["id"]
        .clone();
    let made = client
        .call(
            "create_agent_profile_kandev",
            json!({"agent_id": robot, "name": "Careful", "model": null, "mode": "plan"}),
        )
        .await;
    let profile = made["id"].clone();
    let text = client
        .refused(
            "update_agent_profile_kandev",
            json!({"profile_id": profile, "auto_approve": true}),
        )
        .await;
    assert!(text.starts_with("FORBIDDEN"), "{text}");
    let changed = client
        .call(
            "update_agent_profile_kandev",
            json!({"profile_id": profile, "name": "Bold", "model": "opus"}),
        )
        .await;
    assert_eq!(
        (&changed["name"], &changed["mode"]),
        (&json!("Bold"), &json!("plan"))
    );
    let trusted = app
        .patch(
            &format!("/agent-profiles/{}", profile.as_str().unwrap()),
            json!({"auto_approve": true, "mode": null}),
        )
        .await;
    assert_eq!(
        (
            trusted.status,
            &trusted.json["auto_approve"],
            &trusted.json["mode"]
        ),
        (200, &json!(true), &Value::Null)
    );
    let listed = client
        .call("list_agent_profiles_kandev", json!({"agent_id": robot}))
        .await;
    assert_eq!(listed["total"], 2);
    client
        .call(
            "delete_agent_profile_kandev",
            json!({"profile_id": profile}),
        )
        .await;
    let again = app
        .delete(&format!("/agent-profiles/{}", profile.as_str().unwrap()))
        .await;
    assert_eq!((again.status, again.code()), (404, "NOT_FOUND"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_sets_workflows_and_steps_up() {
    let app = TestApp::new().await;
    let home = home(&app).await;
    let made = app
        .post(
            "/workflows",
            json!({"workspace_id": home, "name": "Second"}),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.json);
    let id = made.json["id"].as_str().unwrap().to_owned();
    let renamed = app
        .patch(
            &format!("/workflows/{id}"),
            json!({"name": "Other", "prompt": "Be brief."}),
        )
        .await;
    assert_eq!(
        (&renamed.json["name"], &renamed.json["prompt"]),
        (&json!("Other"), &json!("Be brief."))
    );
    let mut steps = Vec::new();
    for name in ["A", "B"] {
        let step = app
            .post(
                "/workflow/steps",
                json!({"workflow_id": id, "name": name, "stage_type": "review"}),
            )
            .await;
        assert_eq!(
            (step.status, &step.json["allow_manual_move"]),
            (201, &json!(true))
        );
        steps.push(step.json["id"].clone());
    }
    let changed = app
        .call(
            Method::PUT,
            &format!("/workflow/steps/{}", steps[0].as_str().unwrap()),
            Some(json!({"color": "done"})),
        )
        .await;
    assert_eq!(
        (&changed.json["name"], &changed.json["color"]),
        (&json!("A"), &json!("done"))
    );
    let ordered = app
        .call(
            Method::PUT,
            &format!("/workflows/{id}/workflow/steps/reorder"),
            Some(json!({"step_ids": [steps[1], steps[0]]})),
        )
        .await;
    assert_eq!(names(&ordered.json["steps"]), ["B", "A"]);
    let first = app
        .get(&format!("/workspaces/{}/workflows", home.as_str().unwrap()))
        .await
        .json["workflows"][0]["id"]
        .clone();
    let swapped = app
        .call(
            Method::PUT,
            &format!("/workspaces/{}/workflows/reorder", home.as_str().unwrap()),
            Some(json!({"workflow_ids": [id, first]})),
        )
        .await;
    assert_eq!(swapped.json["workflows"][0]["id"], json!(id));
    let gone = app
        .delete(&format!("/workflow/steps/{}", steps[0].as_str().unwrap()))
        .await;
    assert_eq!(gone.status, 204);
    assert_eq!(app.delete(&format!("/workflows/{id}")).await.status, 204);
    let last = app
        .delete(&format!("/workflows/{}", first.as_str().unwrap()))
        .await;
    assert_eq!((last.status, last.code()), (409, "CONFLICT"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_goes_out_by_the_tool_and_comes_in_by_the_api() {
    let app = TestApp::new().await;
    let (_agent, client) = setup(&app).await;
    let home = home(&app).await;
    let path = format!("/workspaces/{}/workflows", home.as_str().unwrap());
    let workflow = app.get(&path).await.json["workflows"][0]["id"].clone();
    let document = client
        .call("export_workflow_kandev", json!({"workflow_id": workflow}))
        .await;
    assert_eq!(
        (&document["version"], &document["type"]),
        (&json!(1), &json!("kandev_workflow"))
    );
    let exported = app
        .get(&format!("/workflows/{}/export", workflow.as_str().unwrap()))
        .await;
    assert_eq!(exported.json, document);
    let made = app
        .post(
            &format!("{path}/import"),
            json!({"document": document.to_string()}),
        )
        .await;
    assert_eq!((made.status, &made.json["total"]), (201, &json!(1)));
    let yaml =
        "version: 1\ntype: kandev_workflow\nworkflows:\n- name: Plain\n  steps:\n  - name: One\n";
    let imported = client
        .call(
            "import_workflow_kandev",
            json!({"workspace_id": home, "document": yaml}),
        )
        .await;
    assert_eq!(names(&imported["workflows"][0]["steps"]), ["One"]);
    let bad = yaml.replace("One", "''");
    let text = client
        .refused(
            "import_workflow_kandev",
            json!({"workspace_id": home, "document": bad}),
        )
        .await;
    assert!(
        text.starts_with("VALIDATION_ERROR") && text.contains("step 0"),
        "{text}"
    );
    assert_eq!(app.get(&path).await.json["total"], 3);
}
