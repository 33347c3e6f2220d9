//! Every door has its authorisation case: each route, each tool, each server function. A door without one fails here.

use crate::support::TestApp;
use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{DEADLINE, Reply};
use domain::ids::TaskId;
use http::Method;
use leptos::server_fn;
use serde_json::json;
use server::serve::Variation;
use std::collections::BTreeSet;

/// Who may come in through a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Whoever reaches this machine's loopback.
    Anybody,
    /// Services that show a key.
    Service,
    /// Services that show a key, and the operator's own page.
    Page,
    /// The operator: on loopback and, if it changes something, not from another site's page.
    Operator,
}

const ROUTES: &[(&str, Access)] = &[
    ("GET /healthz", Access::Anybody),
    ("GET /readyz", Access::Anybody),
    ("GET /metrics", Access::Anybody),
    ("POST /api/gateway/dm-autopilot", Access::Service),
    ("POST /api/ai/jobs/execute", Access::Service),
    ("POST /api/ai/jobs/sweep", Access::Service),
    ("GET /api/ai/jobs/hints", Access::Service),
    ("GET /api/ai/jobs", Access::Page),
    ("GET /api/ai/jobs/{job_id}", Access::Page),
    ("GET /api/ai/jobs/{job_id}/events", Access::Page),
    ("POST /api/ai/jobs/{job_id}/cancel", Access::Page),
    ("POST /api/ai/jobs/{job_id}/retry", Access::Page),
    ("POST /api/ai/jobs/{job_id}/confirm", Access::Page),
    ("POST /api/ai/jobs/{job_id}/decline", Access::Page),
    ("GET /api/v1/workspaces", Access::Operator),
    ("POST /api/v1/workspaces", Access::Operator),
    ("GET /api/v1/workspaces/{id}/workflows", Access::Operator),
    ("GET /api/v1/workspaces/{id}/tasks", Access::Operator),
    ("GET /api/v1/workspaces/{id}/board", Access::Operator),
    ("GET /api/v1/workspaces/{id}/repositories", Access::Operator),
    (
        "POST /api/v1/workspaces/{id}/repositories",
        Access::Operator,
    ),
    ("GET /api/v1/providers", Access::Operator),
    ("PATCH /api/v1/repositories/{id}", Access::Operator),
    ("DELETE /api/v1/repositories/{id}", Access::Operator),
    ("POST /api/v1/tasks/{id}/repositories", Access::Operator),
    ("GET /api/v1/tasks/{id}/change-requests", Access::Operator),
    ("PATCH /api/v1/tasks/{id}/change-requests", Access::Operator),
    (
        "DELETE /api/v1/tasks/{id}/change-requests/{change_request_id}",
        Access::Operator,
    ),
    (
        "DELETE /api/v1/tasks/{id}/repositories/{repository_id}",
        Access::Operator,
    ),
    (
        "PUT /api/v1/workspaces/{id}/workflows/reorder",
        Access::Operator,
    ),
    (
        "POST /api/v1/workspaces/{id}/workflows/import",
        Access::Operator,
    ),
    ("GET /api/v1/workflows/{id}/export", Access::Operator),
    ("POST /api/v1/workflows", Access::Operator),
    ("GET /api/v1/workflows/{id}", Access::Operator),
    ("PATCH /api/v1/workflows/{id}", Access::Operator),
    ("DELETE /api/v1/workflows/{id}", Access::Operator),
    (
        "PUT /api/v1/workflows/{id}/workflow/steps/reorder",
        Access::Operator,
    ),
    ("POST /api/v1/workflow/steps", Access::Operator),
    ("PATCH /api/v1/workflow/steps/{id}", Access::Operator),
    ("PUT /api/v1/workflow/steps/{id}", Access::Operator),
    ("DELETE /api/v1/workflow/steps/{id}", Access::Operator),
    ("POST /api/v1/tasks", Access::Operator),
    ("GET /api/v1/tasks/{id}", Access::Operator),
    ("PATCH /api/v1/tasks/{id}", Access::Operator),
    ("DELETE /api/v1/tasks/{id}", Access::Operator),
    ("POST /api/v1/tasks/{id}/move", Access::Operator),
    ("DELETE /api/v1/tasks/{id}/move", Access::Operator),
    ("GET /api/v1/tasks/{id}/dependencies", Access::Operator),
    ("POST /api/v1/tasks/{id}/dependencies", Access::Operator),
    (
        "DELETE /api/v1/tasks/{id}/dependencies/{depends_on}",
        Access::Operator,
    ),
    ("POST /api/v1/tasks/{id}/archive", Access::Operator),
    ("POST /api/v1/tasks/{id}/unarchive", Access::Operator),
    ("GET /api/v1/tasks/{id}/page", Access::Operator),
    ("GET /api/v1/tasks/{id}/related", Access::Operator),
    ("GET /api/v1/tasks/{id}/sessions", Access::Operator),
    ("POST /api/v1/tasks/{id}/sessions", Access::Operator),
    ("POST /api/v1/tasks/{id}/sessions/ensure", Access::Operator),
    ("POST /api/v1/tasks/{id}/messages", Access::Operator),
    ("GET /api/v1/tasks/{id}/plan", Access::Operator),
    ("POST /api/v1/tasks/{id}/plan", Access::Operator),
    ("PATCH /api/v1/tasks/{id}/plan", Access::Operator),
    ("DELETE /api/v1/tasks/{id}/plan", Access::Operator),
    ("GET /api/v1/tasks/{id}/plan/revisions", Access::Operator),
    ("GET /api/v1/tasks/{id}/plan/revision", Access::Operator),
    ("POST /api/v1/tasks/{id}/plan/implement", Access::Operator),
    ("POST /api/v1/tasks/{id}/plan/restore", Access::Operator),
    ("GET /api/v1/tasks/{id}/walkthrough", Access::Operator),
    ("DELETE /api/v1/tasks/{id}/walkthrough", Access::Operator),
    ("GET /api/v1/tasks/{id}/review-findings", Access::Operator),
    ("GET /api/v1/tasks/{id}/documents", Access::Operator),
    (
        "GET /api/v1/tasks/{id}/documents/{document_key}",
        Access::Operator,
    ),
    (
        "PUT /api/v1/tasks/{id}/documents/{document_key}",
        Access::Operator,
    ),
    (
        "DELETE /api/v1/tasks/{id}/documents/{document_key}",
        Access::Operator,
    ),
    ("GET /api/v1/tasks/{id}/step-decisions", Access::Operator),
    (
        "POST /api/v1/review-findings/{id}/resolve",
        Access::Operator,
    ),
    ("POST /api/v1/review-findings/{id}/reopen", Access::Operator),
    ("GET /api/v1/task-sessions/{id}", Access::Operator),
    ("PATCH /api/v1/task-sessions/{id}", Access::Operator),
    ("DELETE /api/v1/task-sessions/{id}", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/primary", Access::Operator),
    ("GET /api/v1/task-sessions/{id}/messages", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/messages", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/cancel", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/stop", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/resume", Access::Operator),
    ("POST /api/v1/task-sessions/{id}/auto-run", Access::Operator),
    ("GET /api/v1/messages/{id}", Access::Operator),
    ("GET /api/v1/task-sessions/{id}/queue", Access::Operator),
    ("DELETE /api/v1/task-sessions/{id}/queue", Access::Operator),
    (
        "POST /api/v1/task-sessions/{id}/queue/reorder",
        Access::Operator,
    ),
    ("PATCH /api/v1/queue/{id}", Access::Operator),
    ("DELETE /api/v1/queue/{id}", Access::Operator),
    ("POST /api/v1/queue/{id}/merge", Access::Operator),
    ("POST /api/v1/queue/{id}/send-now", Access::Operator),
    ("POST /api/v1/permissions/{id}/respond", Access::Operator),
    ("GET /api/v1/clarification/{id}", Access::Operator),
    ("GET /api/v1/clarification/{id}/wait", Access::Operator),
    ("POST /api/v1/clarification/{id}/cancel", Access::Operator),
    ("POST /api/v1/clarification/{id}/say", Access::Operator),
    ("POST /api/v1/clarification/{id}/respond", Access::Operator),
    ("GET /api/v1/inbox", Access::Operator),
    ("GET /api/v1/access-tokens", Access::Operator),
    ("POST /api/v1/access-tokens", Access::Operator),
    ("DELETE /api/v1/access-tokens/{id}", Access::Operator),
    ("GET /api/v1/saved-prompts", Access::Operator),
    ("PUT /api/v1/saved-prompts/{name}", Access::Operator),
    ("DELETE /api/v1/saved-prompts/{name}", Access::Operator),
    ("GET /api/v1/agents", Access::Operator),
    ("POST /api/v1/agents", Access::Operator),
    ("PATCH /api/v1/agents/{id}", Access::Operator),
    ("GET /api/v1/agent-profiles", Access::Operator),
    ("POST /api/v1/agent-profiles", Access::Operator),
    ("PATCH /api/v1/agent-profiles/{id}", Access::Operator),
    ("DELETE /api/v1/agent-profiles/{id}", Access::Operator),
    (
        "GET /api/v1/agent-profiles/{id}/mcp-config",
        Access::Operator,
    ),
    (
        "PUT /api/v1/agent-profiles/{id}/mcp-config",
        Access::Operator,
    ),
    ("GET /api/v1/executors", Access::Operator),
    ("GET /api/v1/executor-profiles", Access::Operator),
    ("POST /api/v1/executor-profiles", Access::Operator),
    ("PATCH /api/v1/executor-profiles/{id}", Access::Operator),
    ("DELETE /api/v1/executor-profiles/{id}", Access::Operator),
    ("POST /api/v1/demo", Access::Operator),
    ("GET /api/v1/events", Access::Operator),
    ("GET /api/v1/openapi.json", Access::Operator),
];

/// Who is given a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Sessions on tasks, sessions that set the board up, and outside clients.
    Everybody,
    /// Sessions on tasks, and outside clients.
    SessionsAndOutside,
    /// Sessions that set the board up, and outside clients.
    Configurers,
    /// Outside clients alone.
    Outside,
    /// Sessions on tasks.
    Sessions,
    /// Sessions on tasks, and on those beside the board.
    SessionsAndOffice,
    /// Sessions on tasks beside the board.
    Office,
    /// Sessions on tasks that are not in autopilot mode.
    NormalTasks,
    /// Sessions on autopilot tasks with a parent.
    AutopilotChildren,
    /// The session that owns the choice of the title.
    TitleOwner,
    /// Sessions on tasks about a repository on GitHub.
    OnGithub,
    /// Sessions on tasks about a repository on GitLab.
    OnGitlab,
}

const TOOLS: &[(&str, Given)] = &[
    ("run_task", Given::Outside),
    ("check_task", Given::Outside),
    ("get_task", Given::Outside),
    ("list_tasks", Given::Outside),
    ("cancel_task", Given::Outside),
    ("list_workspaces_kandev", Given::Everybody),
    ("list_workflows_kandev", Given::Everybody),
    ("list_workflow_steps_kandev", Given::Everybody),
    ("list_tasks_kandev", Given::Everybody),
    ("list_agents_kandev", Given::Everybody),
    ("create_task_kandev", Given::SessionsAndOutside),
    ("update_task_kandev", Given::SessionsAndOutside),
    ("move_task_kandev", Given::Everybody),
    ("add_task_dependency_kandev", Given::SessionsAndOutside),
    ("remove_task_dependency_kandev", Given::SessionsAndOutside),
    ("archive_task_kandev", Given::Everybody),
    ("delete_task_kandev", Given::Everybody),
    ("stop_task_kandev", Given::Sessions),
    ("list_related_tasks_kandev", Given::SessionsAndOffice),
    ("message_task_kandev", Given::Sessions),
    ("spawn_session_kandev", Given::Sessions),
    ("list_task_sessions_kandev", Given::SessionsAndOutside),
    ("get_task_conversation_kandev", Given::Everybody),
    ("update_task_state_kandev", Given::Configurers),
    ("list_repositories_kandev", Given::Configurers),
    ("create_workflow_kandev", Given::Configurers),
    ("update_workflow_kandev", Given::Configurers),
    ("delete_workflow_kandev", Given::Configurers),
    ("import_workflow_kandev", Given::Configurers),
    ("export_workflow_kandev", Given::Configurers),
    ("create_workflow_step_kandev", Given::Configurers),
    ("update_workflow_step_kandev", Given::Configurers),
    ("delete_workflow_step_kandev", Given::Configurers),
    ("reorder_workflow_steps_kandev", Given::Configurers),
    ("update_agent_kandev", Given::Configurers),
    ("create_agent_profile_kandev", Given::Configurers),
    ("list_agent_profiles_kandev", Given::Configurers),
    ("update_agent_profile_kandev", Given::Configurers),
    ("delete_agent_profile_kandev", Given::Configurers),
    ("get_mcp_config_kandev", Given::Configurers),
    ("update_mcp_config_kandev", Given::Configurers),
    ("list_executors_kandev", Given::Configurers),
    ("list_executor_profiles_kandev", Given::Everybody),
    ("create_executor_profile_kandev", Given::Configurers),
    ("update_executor_profile_kandev", Given::Configurers),
    ("delete_executor_profile_kandev", Given::Configurers),
    ("list_pending_questions_kandev", Given::Outside),
    ("answer_question_kandev", Given::Outside),
    ("list_pending_agent_permissions_kandev", Given::Outside),
    ("resolve_agent_permission_kandev", Given::Outside),
    ("step_complete_kandev", Given::SessionsAndOffice),
    ("create_task_plan_kandev", Given::SessionsAndOffice),
    ("get_task_plan_kandev", Given::SessionsAndOffice),
    ("update_task_plan_kandev", Given::SessionsAndOffice),
    ("edit_task_plan_kandev", Given::SessionsAndOffice),
    ("delete_task_plan_kandev", Given::SessionsAndOffice),
    ("list_task_plan_revisions_kandev", Given::SessionsAndOffice),
    ("get_task_plan_revision_kandev", Given::SessionsAndOffice),
    (
        "restore_task_plan_revision_kandev",
        Given::SessionsAndOffice,
    ),
    ("show_walkthrough_kandev", Given::Sessions),
    ("get_walkthrough_kandev", Given::Sessions),
    ("delete_walkthrough_kandev", Given::Sessions),
    ("publish_review_findings_kandev", Given::Sessions),
    ("show_rich_output_kandev", Given::SessionsAndOffice),
    ("get_diagnostic_bundle_kandev", Given::Sessions),
    ("list_task_documents_kandev", Given::Office),
    ("get_task_document_kandev", Given::Office),
    ("write_task_document_kandev", Given::Office),
    ("record_step_decision_kandev", Given::Office),
    ("ask_user_question_kandev", Given::NormalTasks),
    ("ask_parent_question_kandev", Given::AutopilotChildren),
    ("set_task_title_kandev", Given::TitleOwner),
    ("get_task_pr_automation_kandev", Given::OnGithub),
    ("update_task_pr_automation_kandev", Given::OnGithub),
    ("get_task_mr_automation_kandev", Given::OnGitlab),
    ("update_task_mr_automation_kandev", Given::OnGitlab),
];

/// An address of the route with something in the place of what varies.
fn address(path: &str) -> String {
    path.replace("{job_id}", "7")
        .replace("{document_key}", "notes")
        .replace("/hints", "/hints?wait=0")
        .replace("{id}", &TaskId::new().to_string())
        .replace("{depends_on}", &TaskId::new().to_string())
        .replace("{change_request_id}", &TaskId::new().to_string())
        .replace("{repository_id}", &TaskId::new().to_string())
}

/// Status of a request that says where it comes from, without waiting for a body that may never end.
async fn status(app: &TestApp, method: &Method, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut request = app.request(method.clone(), path).timeout(DEADLINE);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if *method != Method::GET {
        request = request.json(&json!({}));
    }
    request.send().await.unwrap().status().as_u16()
}

async fn check_route(app: &TestApp, method: &Method, path: &str, access: Access) {
    let path = address(path);
    let what = format!("{method} {path}");
    // Somebody whose name was rebound to this machine is refused whatever he asks for.
    assert_eq!(
        status(app, method, &path, &[("host", "evil.example")]).await,
        403,
        "{what} under another name"
    );
    if matches!(access, Access::Service | Access::Page) {
        return check_keyed_route(app, method, &path, access).await;
    }
    let foreign = status(
        app,
        method,
        &path,
        &[
            ("origin", "http://evil.example"),
            ("sec-fetch-site", "cross-site"),
        ],
    )
    .await;
    let changes = *method != Method::GET;
    assert_eq!(
        foreign == 403,
        access == Access::Operator && changes,
        "{what} from another site answers {foreign}"
    );
    let own = app.url("");
    for headers in [
        &[][..],
        &[("origin", own.as_str()), ("sec-fetch-site", "same-origin")][..],
    ] {
        let answered = status(app, method, &path, headers).await;
        assert!(
            ![401, 403, 405, 500].contains(&answered),
            "{what} answers its operator {answered}"
        );
    }
}

/// Without a key, or with a wrong or an empty one, nobody is a service; our own page needs none where it may come in.
async fn check_keyed_route(app: &TestApp, method: &Method, path: &str, access: Access) {
    let what = format!("{method} {path}");
    for headers in [
        &[][..],
        &[("authorization", "Bearer ")][..],
        &[("authorization", "Bearer wrong")][..],
    ] {
        let answered = status(app, method, path, headers).await;
        assert_eq!(answered, 401, "{what} with {headers:?}");
    }
    let foreign = status(app, method, path, &[("sec-fetch-site", "cross-site")]).await;
    assert!([401, 403].contains(&foreign), "{what} from another site");
    let page = status(app, method, path, &[("sec-fetch-site", "same-origin")]).await;
    assert_eq!(
        page == 401,
        access == Access::Service,
        "{what} from our page answers {page}"
    );
    let keyed = status(app, method, path, &[("authorization", KEY)]).await;
    assert!(
        ![401, 403, 405, 500].contains(&keyed),
        "{what} answers a service {keyed}"
    );
}

/// What a service shows.
const KEY: &str = "Bearer key-of-a-service";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_has_a_case_and_keeps_it() {
    let app = TestApp::configured(Variation::default(), |config| {
        config.jobs.internal_keys = vec!["key-of-a-service".to_owned()];
    })
    .await;
    let listed: BTreeSet<String> = server::http::plain_routes()
        .iter()
        .map(|route| format!("{} {}", route.method, route.path))
        .chain(
            server::http::api_routes()
                .iter()
                .map(|route| format!("{} {}{}", route.method, server::http::API, route.path)),
        )
        .collect();
    let cases: BTreeSet<String> = ROUTES.iter().map(|(door, _)| (*door).to_owned()).collect();
    assert_eq!(listed, cases, "routes and their cases differ");
    for (door, access) in ROUTES {
        let (method, path) = door.split_once(' ').unwrap();
        check_route(&app, &method.parse().unwrap(), path, *access).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_server_function_is_the_operators() {
    let app = TestApp::new().await;
    let functions: Vec<(&'static str, Method)> = server_fn::axum::server_fn_paths().collect();
    assert!(!functions.is_empty(), "the app has no server function");
    for (path, method) in functions {
        for headers in [
            &[("host", "evil.example")][..],
            &[("origin", "http://evil.example")][..],
            &[("sec-fetch-site", "cross-site")][..],
            &[("sec-fetch-site", "same-site")][..],
        ] {
            let refused = status(&app, &method, path, headers).await;
            assert_eq!(refused, 403, "{method} {path} with {headers:?}");
        }
        assert_ne!(method, Method::GET, "{path} could be called by a link");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_has_a_case_and_keeps_it() {
    let app = TestApp::new().await;
    let listed: BTreeSet<&str> = server::mcp::all_tools()
        .iter()
        .map(|tool| tool.name)
        .chain(server::mcp::contract_tools().iter().map(|tool| tool.name))
        .collect();
    let cases: BTreeSet<&str> = TOOLS.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(listed, cases, "tools and their cases differ");

    let parent = Agent::launch(&app, app.started_task("Parent").await).await;
    let child = Agent::launch(&app, app.autopilot_child(parent.task).await).await;
    let titled = app
        .task(json!({"auto_title": true, "description": "Do it."}))
        .await;
    let owner = Agent::launch(&app, crate::support::id(&titled["id"])).await;
    let setup = app
        .task(json!({"title": "Set up", "description": "Do it.", "purpose": "configuration"}))
        .await;
    let setup = Agent::launch(&app, crate::support::id(&setup["id"])).await;
    let office = app
        .task(json!({"title": "Office", "description": "Do it.", "purpose": "office"}))
        .await;
    let office = Agent::launch(&app, crate::support::id(&office["id"])).await;
    let about = async |url: &str| {
        let task = json!({"title": "About", "description": "Do it.", "repository_url": url});
        let task = app.task(task).await;
        Agent::launch(&app, crate::support::id(&task["id"])).await
    };
    let github = about("https://github.com/a/b").await;
    let gitlab = about("https://gitlab.com/a/b").await;
    let outside = app.access_token().await;
    let holders: [(&str, &str, &[Given]); 8] = [
        (
            "an outside client",
            &outside,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Configurers,
                Given::Outside,
            ],
        ),
        (
            "a normal task",
            &parent.token,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Sessions,
                Given::SessionsAndOffice,
                Given::NormalTasks,
            ],
        ),
        (
            "an autopilot child",
            &child.token,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Sessions,
                Given::SessionsAndOffice,
                Given::AutopilotChildren,
            ],
        ),
        (
            "a session that sets the board up",
            &setup.token,
            &[Given::Everybody, Given::Configurers, Given::NormalTasks],
        ),
        (
            "a task beside the board",
            &office.token,
            &[Given::SessionsAndOffice, Given::Office, Given::NormalTasks],
        ),
        (
            "a task about a repository on github",
            &github.token,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Sessions,
                Given::SessionsAndOffice,
                Given::NormalTasks,
                Given::OnGithub,
            ],
        ),
        (
            "a task about a repository on gitlab",
            &gitlab.token,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Sessions,
                Given::SessionsAndOffice,
                Given::NormalTasks,
                Given::OnGitlab,
            ],
        ),
        (
            "a title's owner",
            &owner.token,
            &[
                Given::Everybody,
                Given::SessionsAndOutside,
                Given::Sessions,
                Given::SessionsAndOffice,
                Given::NormalTasks,
                Given::TitleOwner,
            ],
        ),
    ];
    for (who, token, given) in holders {
        let client = Client::connect(&app, token).await;
        let names = client.tool_names().await;
        for (tool, case) in TOOLS {
            let has = given.contains(case);
            assert_eq!(names.iter().any(|name| name == tool), has, "{who}: {tool}");
            if !has {
                // What is not listed cannot be called by somebody who knows its name either.
                let error = client.try_call(tool, json!({})).await.unwrap_err();
                assert!(
                    error.to_string().contains("-32602"),
                    "{who}: {tool}: {error}"
                );
            }
        }
    }
    let anonymous = Reply::read(
        app.request(Method::POST, server::mcp::PATH)
            .json(&json!({})),
    )
    .await;
    assert_eq!(anonymous.status, 401);
}
