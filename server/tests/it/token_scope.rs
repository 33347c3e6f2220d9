//! A token that is limited to workspaces reaches these, and nothing else, through every tool.

use crate::support::agent::Agent;
use crate::support::client::{Client, text};
use crate::support::{TestApp, soon};
use domain::ids::{TaskId, WorkspaceId};
use domain::permission::PermissionOption;
use serde_json::{Value, json};

/// A token that reaches one workspace.
async fn limited(app: &TestApp, workspace: &Value) -> String {
    let made = app
        .post(
            "/access-tokens",
            json!({"name": "limited", "workspace_ids": [workspace]}),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.json);
    assert_eq!(made.json["info"]["workspaces"][0]["id"], *workspace);
    made.json["token"].as_str().unwrap().to_owned()
}

/// Everything that a client could name in a workspace that it must not reach.
struct Away {
    workspace: Value,
    workflow: Value,
    steps: Vec<Value>,
    agent: Agent,
    other: TaskId,
    question: String,
    permission: Value,
}

async fn away(app: &TestApp) -> Away {
    let home = app.get("/workspaces").await.json["workspaces"][0]["id"].clone();
    let path = format!("/workspaces/{}/workflows", home.as_str().unwrap());
    let workflow = app.get(&path).await.json["workflows"][0].clone();
    let agent = Agent::launch(app, app.started_task("Hidden").await).await;
    let other = app.started_task("Hidden too").await;
    let client = agent.connect(app).await;
    let peer = client.service.peer().clone();
    tokio::spawn(async move {
        let _connection = client;
        let arguments = json!({"questions": [{"prompt": "Which?", "options": ["A", "B"]}]});
        let params = rmcp::model::CallToolRequestParams::new("ask_user_question_kandev")
            .with_arguments(arguments.as_object().unwrap().clone());
        peer.call_tool(params).await
    });
    let question = crate::operators::pending(app, &agent).await;
    let option = PermissionOption {
        option_id: "yes".to_owned(),
        name: "Yes".to_owned(),
        kind: "allow_once".to_owned(),
    };
    let permission = app
        .board()
        .permission_request(
            agent.session,
            crate::support::agent::NODE,
            "7",
            json!({"title": "Run"}),
            vec![option],
        )
        .await
        .unwrap();
    Away {
        workspace: home,
        workflow: workflow["id"].clone(),
        steps: workflow["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["id"].clone())
            .collect(),
        agent,
        other,
        question,
        permission: json!(permission),
    }
}

/// A call of each tool that names something of that workspace. A tool that is given to outside clients and stands here under no
/// name fails the test.
fn calls(away: &Away) -> Vec<(&'static str, Value)> {
    let (task, step) = (json!(away.agent.task), away.steps[0].clone());
    vec![
        (
            "list_workflows_kandev",
            json!({"workspace_id": away.workspace}),
        ),
        (
            "list_workflow_steps_kandev",
            json!({"workflow_id": away.workflow}),
        ),
        (
            "list_repositories_kandev",
            json!({"workspace_id": away.workspace}),
        ),
        ("list_tasks_kandev", json!({"workflow_id": away.workflow})),
        (
            "create_task_kandev",
            json!({"title": "A", "workspace_id": away.workspace}),
        ),
        (
            "create_task_kandev",
            json!({"title": "A", "workflow_id": away.workflow}),
        ),
        (
            "create_task_kandev",
            json!({"title": "A", "parent_id": task}),
        ),
        (
            "update_task_kandev",
            json!({"task_id": task, "title": "Mine"}),
        ),
        (
            "update_task_state_kandev",
            json!({"task_id": task, "state": "done"}),
        ),
        (
            "move_task_kandev",
            json!({"task_id": task, "workflow_id": away.workflow, "workflow_step_id": away.steps[3]}),
        ),
        ("archive_task_kandev", json!({"task_id": task})),
        ("delete_task_kandev", json!({"task_id": task})),
        (
            "add_task_dependency_kandev",
            json!({"task_id": task, "depends_on_task_id": away.other}),
        ),
        (
            "remove_task_dependency_kandev",
            json!({"task_id": task, "depends_on_task_id": away.other}),
        ),
        ("list_task_sessions_kandev", json!({"task_id": task})),
        ("get_task_conversation_kandev", json!({"task_id": task})),
        (
            "create_workflow_kandev",
            json!({"workspace_id": away.workspace, "name": "A"}),
        ),
        (
            "update_workflow_kandev",
            json!({"workflow_id": away.workflow, "name": "A"}),
        ),
        (
            "delete_workflow_kandev",
            json!({"workflow_id": away.workflow}),
        ),
        (
            "export_workflow_kandev",
            json!({"workflow_id": away.workflow}),
        ),
        (
            "import_workflow_kandev",
            json!({"workspace_id": away.workspace, "document": "version: 1\ntype: kandev_workflow\nworkflows: [{name: A, steps: []}]"}),
        ),
        (
            "create_workflow_step_kandev",
            json!({"workflow_id": away.workflow, "name": "A"}),
        ),
        (
            "update_workflow_step_kandev",
            json!({"step_id": step, "name": "A"}),
        ),
        ("delete_workflow_step_kandev", json!({"step_id": step})),
        (
            "reorder_workflow_steps_kandev",
            json!({"workflow_id": away.workflow, "step_ids": away.steps}),
        ),
        (
            "list_pending_questions_kandev",
            json!({"workspace_id": away.workspace}),
        ),
        (
            "answer_question_kandev",
            json!({"pending_id": away.question, "rejected": true}),
        ),
        (
            "list_pending_agent_permissions_kandev",
            json!({"task_id": task}),
        ),
        (
            "resolve_agent_permission_kandev",
            json!({"task_id": task, "session_id": away.agent.session, "request_id": "7", "pending_id": away.permission,
                "option_id": "yes"}),
        ),
    ]
}

/// Tools that name nothing of a workspace: runs are their token's own, and the rest is looked at below.
const NAMELESS: &[&str] = &[
    "run_task",
    "check_task",
    "get_task",
    "list_tasks",
    "cancel_task",
    "list_workspaces_kandev",
    "list_agents_kandev",
    "list_agent_profiles_kandev",
    "create_agent_profile_kandev",
    "update_agent_profile_kandev",
    "delete_agent_profile_kandev",
    "update_agent_kandev",
    "get_mcp_config_kandev",
    "update_mcp_config_kandev",
    "list_executors_kandev",
    "list_executor_profiles_kandev",
    "create_executor_profile_kandev",
    "update_executor_profile_kandev",
    "delete_executor_profile_kandev",
];

store::on_both_engines! {
    async fn what_is_elsewhere_does_not_exist_for_it(db: TestDb) {
        let app = TestApp::on(&db).await;
        let away = away(&app).await;
        let here = app.post("/workspaces", json!({"name": "Here"})).await.json["id"].clone();
        let client = Client::connect(&app, &limited(&app, &here).await).await;
        let before = app.get(&format!("/workflows/{}", away.workflow.as_str().unwrap())).await.json;
        let calls = calls(&away);
        for name in client.tool_names().await {
            let looked_at = NAMELESS.contains(&name.as_str()) || calls.iter().any(|(tool, _)| *tool == name);
            assert!(looked_at, "{name} is not tried with a token that is limited");
        }
        for (tool, arguments) in calls {
            let result = soon(client.try_call(tool, arguments.clone())).await.unwrap();
            let said = text(&result);
            assert!(result.is_error == Some(true) && said.starts_with("NOT_FOUND"), "{tool} {arguments}: {said}");
        }
        let after = app.get(&format!("/workflows/{}", away.workflow.as_str().unwrap())).await.json;
        assert_eq!(before, after);
        let hidden = app.get(&format!("/tasks/{}", away.agent.task)).await.json;
        assert_eq!((&hidden["title"], &hidden["needs_operator"]), (&json!("Hidden"), &json!(true)));
    }

    async fn what_it_reaches_it_uses_as_any_other(db: TestDb) {
        let app = TestApp::on(&db).await;
        app.started_task("Elsewhere").await;
        let here = app.post("/workspaces", json!({"name": "Here"})).await.json["id"].clone();
        let client = Client::connect(&app, &limited(&app, &here).await).await;
        let workspaces = client.call("list_workspaces_kandev", json!({})).await;
        assert_eq!((&workspaces["total"], &workspaces["workspaces"][0]["id"]), (&json!(1), &here));
        // The only workspace there is for it.
        let made = client.call("create_task_kandev", json!({"title": "Mine"})).await;
        assert_eq!(made["workspace_id"], here);
        client.call("create_workflow_kandev", json!({"workspace_id": here, "name": "Another"})).await;
        assert_eq!(client.call("list_pending_questions_kandev", json!({})).await["count"], 0);
        let run = soon(client.try_call("run_task", json!({"task": "Do it."}))).await.unwrap();
        assert_ne!(run.is_error, Some(true), "{}", text(&run));
        let cards = app.get(&format!("/workspaces/{}/tasks", here.as_str().unwrap())).await.json;
        assert_eq!(cards["total"], 2, "the card of a run is made there too");
        // Profiles belong to no workspace: they are read, and left alone.
        let agents = client.call("list_agents_kandev", json!({})).await;
        let agent = agents["agents"][0].clone();
        let profile = agent["profiles"][0]["id"].clone();
        assert_eq!(client.call("list_agent_profiles_kandev", json!({"agent_id": agent["id"]})).await["total"], 1);
        for (tool, arguments) in [
            ("create_agent_profile_kandev", json!({"agent_id": agent["id"], "name": "A", "model": null})),
            ("update_agent_profile_kandev", json!({"profile_id": profile, "name": "A"})),
            ("delete_agent_profile_kandev", json!({"profile_id": profile})),
            ("update_agent_kandev", json!({"agent_id": agent["id"], "supports_mcp": false})),
            ("get_mcp_config_kandev", json!({"profile_id": profile})),
            ("update_mcp_config_kandev", json!({"profile_id": profile, "servers": {}})),
            ("create_executor_profile_kandev", json!({"executor_id": "exec-local", "name": "A"})),
            ("update_executor_profile_kandev", json!({"profile_id": profile, "name": "A"})),
            ("delete_executor_profile_kandev", json!({"profile_id": profile})),
        ] {
            let text = client.refused(tool, arguments).await;
            assert!(text.starts_with("FORBIDDEN"), "{tool}: {text}");
        }
    }

    async fn a_limit_names_what_there_is(db: TestDb) {
        let app = TestApp::on(&db).await;
        for (ids, status) in [(json!([]), 400), (json!([WorkspaceId::new()]), 404), (json!(null), 201)] {
            let made = app.post("/access-tokens", json!({"name": "a", "workspace_ids": ids})).await;
            assert_eq!(made.status, status, "{}", made.json);
        }
        let listed = app.get("/access-tokens").await.json;
        assert_eq!((&listed["total"], &listed["tokens"][0]["workspaces"]), (&json!(1), &Value::Null));
    }
}
