//! MCP servers of a profile, from the doors they are set by to the agent that calls their tools.

use crate::process::{Data, Server, text};
use crate::support::agent::Agent;
use crate::support::client::Client;
use crate::support::{TestApp, id};
use http::{Method, StatusCode};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_and_api_set_servers_and_show_no_secret() {
    let app = TestApp::new().await;
    app.post("/agents", json!({"name": "Robot", "command": "robot"}))
        .await;
    let task = json!({"title": "Set up", "description": "Do it.", "purpose": "configuration"});
    let agent = Agent::launch(&app, id(&app.task(task).await["id"])).await;
    let client = agent.connect(&app).await;
    let agents = client.call("list_agents_kandev", json!({})).await;
    let profile = agents["agents"][0]["profiles"][0]["id"].clone();
    let web =
        json!({"url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer s3cret"}});
    let set = |servers: Value| json!({"profile_id": profile, "servers": servers});
    let made = client
        .call("update_mcp_config_kandev", set(json!({"web": web})))
        .await;
    let shown = client
        .call("get_mcp_config_kandev", json!({"profile_id": profile}))
        .await;
    assert_eq!(made, shown);
    let web = json!({"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": null}});
    assert_eq!(
        (&shown["enabled"], &shown["servers"]),
        (&json!(true), &json!({"web": web}))
    );

    let elsewhere =
        json!({"web": {"url": "https://evil.example", "headers": {"Authorization": null}}});
    let refusal = client
        .refused("update_mcp_config_kandev", set(elsewhere))
        .await;
    assert!(refusal.starts_with("VALIDATION_ERROR"), "{refusal}");
    let command = json!({"web": web, "files": {"command": "files", "env": {"KEY": "s3cret"}}});
    let outside = Client::connect(&app, &app.access_token().await).await;
    for client in [&client, &outside] {
        let refusal = client
            .refused("update_mcp_config_kandev", set(command.clone()))
            .await;
        assert!(
            refusal.starts_with("FORBIDDEN") && refusal.contains("files"),
            "{refusal}"
        );
    }
    let path = format!("/agent-profiles/{}/mcp-config", profile.as_str().unwrap());
    let put = app
        .call(Method::PUT, &path, Some(json!({"servers": command})))
        .await;
    assert_eq!(put.status, 200, "{}", put.json);
    assert_eq!(app.get(&path).await.json, put.json);
    assert!(!put.json.to_string().contains("s3cret"), "{}", put.json);
    // As it was shown it may be written by anybody who may write.
    let off = json!({"profile_id": profile, "servers": put.json["servers"], "enabled": false});
    let off = client.call("update_mcp_config_kandev", off).await;
    assert_eq!(
        (&off["enabled"], &off["servers"]),
        (&json!(false), &put.json["servers"])
    );

    let robot = agents["agents"][0]["id"].clone();
    let known = client
        .call(
            "update_agent_kandev",
            json!({"agent_id": robot, "supports_mcp": false}),
        )
        .await;
    assert_eq!(known["supports_mcp"], false);
    let file = json!({"agent_id": robot, "mcp_config_path": "/home/me/.mcp.json"});
    let refusal = client.refused("update_agent_kandev", file).await;
    assert!(refusal.contains("update_mcp_config_kandev"), "{refusal}");
    let path = format!("/agents/{}", robot.as_str().unwrap());
    let known = app.patch(&path, json!({"supports_mcp": null})).await;
    assert_eq!(
        (known.status, &known.json["supports_mcp_override"]),
        (200, &Value::Null)
    );
}

store::on_both_engines! {
    async fn an_agent_calls_the_servers_of_its_profile_after_a_restart_too(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let profile = server.demo_profile().await;
        let path = format!("/agent-profiles/{profile}/mcp-config");
        // Flightdeck's own tools, as an outside client is given them, serve as somebody else's here.
        let token = text(&server.post("/access-tokens", json!({"name": "a server"})).await["token"]);
        let put = async |server: &Server| {
            let authorization = format!("Bearer {token}");
            let servers = json!({
                "board": {"url": server.tools(), "headers": {"Authorization": authorization}},
                "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
                "gone": {"command": "no-such-server-anywhere"},
            });
            let (status, answer) = server.call(Method::PUT, &path, Some(json!({"servers": servers}))).await;
            assert_eq!(status, StatusCode::OK, "{answer}");
        };
        let calls = "e2e:mcp:board:list_pending_questions_kandev({})\ne2e:fail_if_error()\ne2e:message(\"It answered.\")";
        let answers = async |server: &Server, task: &str, count: usize| {
            server.until("the server answers", async |s| {
                let transcript = s.transcript(task).await;
                let said = transcript.iter().filter(|m| m["content"] == "It answered.").count();
                (said == count).then_some(())
            }).await;
            server.until_session(task, "WAITING_FOR_INPUT").await;
        };
        put(&server).await;
        let task = server.start_task("Calls", calls).await;
        answers(&server, &task, 1).await;
        let remarks: Vec<String> = server.transcript(&task).await.iter().filter(|m| m["type"] == "status").map(|m| text(&m["content"])).collect();
        assert!(remarks.iter().any(|r| r.contains("\"old\"") && r.contains("SSE")), "{remarks:?}");
        assert!(remarks.iter().any(|r| r.contains("\"gone\"") && r.contains("not found")), "{remarks:?}");
        server.kill().await;

        // The conversation is loaded, with the servers as they are now.
        let server = Server::start(&data).await;
        put(&server).await;
        server.post(&format!("/tasks/{task}/messages"), json!({"content": calls})).await;
        answers(&server, &task, 2).await;

        // Somebody knows that the agent takes none: it is not started without its tools.
        let agents = server.get("/agents").await;
        let demo = agents["agents"].as_array().expect("a list").iter().find(|a| a["name"] == "Demo agent").expect("the demo agent");
        let path = format!("/agents/{}", text(&demo["id"]));
        let (status, _) = server.call(Method::PATCH, &path, Some(json!({"supports_mcp": false}))).await;
        assert_eq!(status, StatusCode::OK);
        let task = server.start_task("Without", "hello").await;
        server.until_session(&task, "FAILED").await;
        let view = server.task(&task).await;
        assert!(text(&view["error_message"]).contains("would work without Flightdeck's tools"), "{view}");
    }
}
