//! Which tools are listed, to whom, how they are described, and how a list changes.

use crate::support::agent::{Agent, NODE};
use crate::support::client::Client;
use crate::support::{TestApp, id, soon};
use rmcp::model::{ServerNotification, SubscriptionFilter};
use serde_json::{Value, json};
use server::runtime::{Runtime, RuntimeConfig, Tools};
use std::sync::Arc;

async fn titled(app: &TestApp) -> Agent {
    let task = app
        .task(json!({"auto_title": true, "description": "Do it."}))
        .await;
    Agent::launch(app, id(&task["id"])).await
}

/// The contract: what a client sees, word for word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_all_profiles() {
    let app = TestApp::new().await;
    let normal = Agent::launch(&app, app.started_task("Normal").await).await;
    let child = Agent::launch(&app, app.autopilot_child(normal.task).await).await;
    let root = app
        .task(json!({"title": "Root", "description": "Do it.", "autopilot": true}))
        .await;
    let root = Agent::launch(&app, id(&root["id"])).await;
    let owner = titled(&app).await;
    let setup = app
        .task(json!({"title": "Set up", "description": "Do it.", "purpose": "configuration"}))
        .await;
    let setup = Agent::launch(&app, id(&setup["id"])).await;
    let office = app
        .task(json!({"title": "Office", "description": "Do it.", "purpose": "office"}))
        .await;
    let office = Agent::launch(&app, id(&office["id"])).await;
    let about =
        |url: &str| json!({"title": "About", "description": "Do it.", "repository_url": url});
    let both = app.task(about("https://github.com/a/b")).await;
    let attached = format!("/tasks/{}/repositories", both["id"].as_str().unwrap());
    app.post(
        &attached,
        json!({"repository_url": "git@gitlab.com:a/b.git"}),
    )
    .await;
    let both = Agent::launch(&app, id(&both["id"])).await;
    let outside = app.access_token().await;
    let mut lists = serde_json::Map::new();
    for (name, token) in [
        ("normal task", &normal.token),
        ("autopilot child", &child.token),
        ("autopilot root", &root.token),
        ("owner of the title", &owner.token),
        ("session that sets the board up", &setup.token),
        ("task about repositories of both providers", &both.token),
        ("task beside the board", &office.token),
        ("outside client", &outside),
    ] {
        let names = Client::connect(&app, token).await.tool_names().await;
        lists.insert(name.to_owned(), json!(names));
    }
    insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!("names", lists) });

    let mut tools: Vec<Value> = Vec::new();
    for token in [
        &owner.token,
        &child.token,
        &setup.token,
        &office.token,
        &both.token,
        &outside,
    ] {
        for tool in Client::connect(&app, token).await.tools().await {
            if tool.name.ends_with("_kandev")
                && !tools.iter().any(|known| known["name"] == *tool.name)
            {
                tools.push(serde_json::to_value(tool).unwrap());
            }
        }
    }
    assert_eq!(tools.len(), server::mcp::all_tools().len());
    insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!("tools", tools) });

    let contract: Vec<Value> = Client::connect(&app, &outside)
        .await
        .tools()
        .await
        .iter()
        .filter(|tool| !tool.name.ends_with("_kandev"))
        .map(|tool| serde_json::to_value(tool).unwrap())
        .collect();
    assert_eq!(contract.len(), server::mcp::contract_tools().len());
    insta::with_settings!({sort_maps => true}, { insta::assert_json_snapshot!("contract", contract) });
}

/// Clients ask before calls that are not marked as reading; a version in a name would never be rid of again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_the_contract_say_what_they_do() {
    let app = TestApp::new().await;
    let client = Client::connect(&app, &app.access_token().await).await;
    let tools = client.tools().await;
    for (name, hints) in [
        ("run_task", (false, Some(false), false, true)),
        ("check_task", (true, None, true, false)),
        ("get_task", (true, None, true, false)),
        ("list_tasks", (true, None, true, false)),
        ("cancel_task", (false, Some(true), true, false)),
    ] {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let given = tool.annotations.as_ref().unwrap();
        assert_eq!(given.read_only_hint, Some(hints.0), "{name}");
        assert!(
            hints
                .1
                .is_none_or(|destroys| given.destructive_hint == Some(destroys)),
            "{name}"
        );
        assert_eq!(given.idempotent_hint, Some(hints.2), "{name}");
        assert_eq!(given.open_world_hint, Some(hints.3), "{name}");
        assert!(
            tool.title.is_some() && tool.output_schema.is_some(),
            "{name}"
        );
    }
}

#[test]
fn tools_are_fit_to_be_listed() {
    for tool in server::mcp::all_tools() {
        let name = tool.name;
        assert!(name.ends_with("_kandev"), "{name}");
        assert_eq!(tool.input["type"], "object", "{name}");
        let properties = tool.input["properties"]
            .as_object()
            .unwrap_or_else(|| panic!("{name} has no properties, not even none"));
        for (field, schema) in properties {
            assert!(
                schema["description"].is_string(),
                "{name}.{field} says nothing"
            );
        }
        for required in tool.input["required"].as_array().into_iter().flatten() {
            assert!(
                properties.contains_key(required.as_str().unwrap()),
                "{name}"
            );
        }
        // Clients show a model little more than the first sentence before it chooses.
        let first = tool.description.split(". ").next().unwrap();
        assert!((20..=220).contains(&first.len()), "{name}: {first}");
        assert!(!first.contains('\n'));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_says_who_it_is() {
    let app = TestApp::new().await;
    let client = Client::connect(&app, &app.access_token().await).await;
    let info = client.service.peer_info().unwrap();
    let server = info.server_info.as_ref().unwrap();
    assert_eq!(server.name, "kandev");
    assert_eq!(server.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(
        info.capabilities.tools.as_ref().unwrap().list_changed,
        Some(true)
    );
}

/// The title is chosen: its tool goes, the client is told once, and an equal profile is told to nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_told_once_and_no_change_never() {
    let app = TestApp::new().await;
    let owner = titled(&app).await;
    let mut client = owner.connect(&app).await;
    let mut second = owner.connect(&app).await;
    assert!(
        client
            .tool_names()
            .await
            .contains(&"set_task_title_kandev".to_owned())
    );
    let chosen = client
        .call("set_task_title_kandev", json!({"title": "A good title"}))
        .await;
    assert_eq!(
        chosen,
        json!({"accepted": true, "task_id": owner.task, "title": "A good title", "branch_rename": null})
    );
    // The runtime does this when it carries out what the change asked for.
    let mcp = app.mcp();
    soon(mcp.refresh(owner.session)).await;
    client.told_of_changes(1).await;
    second.told_of_changes(1).await;
    assert!(
        !client
            .tool_names()
            .await
            .contains(&"set_task_title_kandev".to_owned())
    );
    let error = client
        .try_call("set_task_title_kandev", json!({"title": "Another"}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("-32602"), "{error}");

    for _ in 0..3 {
        soon(mcp.refresh(owner.session)).await;
    }
    // A further notice would have come before this answer does: both go the same way.
    client.tool_names().await;
    assert_eq!((client.changes(), second.changes()), (1, 1));
}

/// With the runtime at work on what follows from attaching: nobody calls the list by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attaching_a_repository_brings_its_providers_tools_to_a_live_agent() {
    let app = TestApp::new().await;
    let agent = Agent::resting(&app, "Lock").await;
    let mut client = agent.connect(&app).await;
    let automation = async |client: &Client| {
        let names = client.tool_names().await;
        let of_requests = names
            .into_iter()
            .filter(|name| name.ends_with("r_automation_kandev"));
        of_requests.collect::<Vec<_>>()
    };
    assert!(automation(&client).await.is_empty());
    let runtime = RuntimeConfig::new(
        NODE,
        app.url(server::mcp::PATH),
        "no-guard",
        app.data.path(),
    );
    let runtime = Runtime::start(app.board().clone(), runtime, Arc::new(app.mcp().clone()));
    let attached = format!("/tasks/{}/repositories", agent.task);
    let url = json!({"repository_url": "https://github.com/a/b"});
    let task = app.post(&attached, url).await;
    assert_eq!(task.json["repositories"][0]["provider"], "github");
    client.told_of_changes(1).await;
    assert_eq!(
        automation(&client).await,
        [
            "get_task_pr_automation_kandev",
            "update_task_pr_automation_kandev"
        ]
    );
    // Another one of the same provider brings nothing, and taking both away is one more change.
    let more = json!({"repository_url": "https://github.com/a/c"});
    let task = app.post(&attached, more).await;
    for repository in task.json["repositories"].as_array().unwrap() {
        let repository = repository["id"].as_str().unwrap();
        app.delete(&format!("{attached}/{repository}")).await;
    }
    client.told_of_changes(2).await;
    assert!(automation(&client).await.is_empty());
    runtime.stop().await;
    client.tool_names().await;
    assert_eq!(client.changes(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_the_newest_revision_are_told_too() {
    let app = TestApp::new().await;
    let owner = titled(&app).await;
    let client = Client::discover(&app, &owner.token).await;
    assert!(
        client
            .tool_names()
            .await
            .contains(&"set_task_title_kandev".to_owned())
    );
    let wanted = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = soon(client.service.peer().listen(wanted)).await.unwrap();
    client
        .call("set_task_title_kandev", json!({"title": "A good title"}))
        .await;
    soon(app.mcp().refresh(owner.session)).await;
    let notice = soon(subscription.next()).await.unwrap().unwrap();
    assert!(matches!(
        notice,
        ServerNotification::ToolListChangedNotification(_)
    ));
}

/// A stale list: the task got another parent meanwhile, so what the client knows is no longer so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_parent_takes_effect_at_the_next_connection() {
    let app = TestApp::new().await;
    let parent = app.started_task("Parent").await;
    let child = Agent::launch(&app, app.autopilot_child(parent).await).await;
    let client = child.connect(&app).await;
    app.patch(
        &format!("/tasks/{}", child.task),
        json!({"parent_id": null}),
    )
    .await;
    let ask = json!({"questions": [{"prompt": "Which?"}]});
    // Still listed, but the board judges each call anew.
    let text = client.refused("ask_parent_question_kandev", ask).await;
    assert!(text.starts_with("VALIDATION_ERROR"), "{text}");
    let again = child.connect(&app).await;
    assert!(
        !again
            .tool_names()
            .await
            .iter()
            .any(|name| name.starts_with("ask_"))
    );
}
