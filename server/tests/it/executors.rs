//! Executors' profiles at their doors, and their scripts as real processes.

use crate::process::{Data, Server, text};
use crate::support::agent::Agent;
use crate::support::{TestApp, id};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::path::Path;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_and_api_set_profiles_up() {
    let app = TestApp::new().await;
    app.post("/agents", json!({"name": "Robot", "command": "robot"}))
        .await;
    let task = json!({"title": "Set up", "description": "Do it.", "purpose": "configuration"});
    let setup = Agent::launch(&app, id(&app.task(task).await["id"])).await;
    let client = setup.connect(&app).await;
    let executors = client.call("list_executors_kandev", json!({})).await;
    assert_eq!(executors, app.get("/executors").await.json);
    let local = executors["executors"][0]["id"].clone();
    assert_eq!(
        (&executors["total"], &local),
        (&json!(1), &json!("exec-local"))
    );

    let scripted = app
        .post(
            "/executor-profiles",
            json!({"executor_id": local, "name": "Scripted", "prepare_script": "make", "config": {"prepare_timeout_seconds": 9}}),
        )
        .await;
    assert_eq!(scripted.status, 201, "{}", scripted.json);
    let made = client
        .call(
            "create_executor_profile_kandev",
            json!({"executor_id": local, "name": "Quiet", "mcp_policy": "none"}),
        )
        .await;
    let change = |policy: &str| json!({"profile_id": made["id"], "mcp_policy": policy});
    let refusal = client
        .refused("update_executor_profile_kandev", change("all"))
        .await;
    assert!(refusal.starts_with("FORBIDDEN"), "{refusal}");
    let script = json!({"profile_id": made["id"], "cleanup_script": "rm -rf /"});
    let refusal = client
        .refused("update_executor_profile_kandev", script)
        .await;
    assert!(refusal.starts_with("FORBIDDEN"), "{refusal}");
    let unknown = json!({"executor_id": local, "name": "A", "config": {"image": "debian"}});
    let refusal = client
        .refused("create_executor_profile_kandev", unknown)
        .await;
    assert!(refusal.contains("/config violates"), "{refusal}");

    // Agents at work see them, and choose.
    let worker = Agent::launch(&app, app.started_task("Work").await).await;
    let client = worker.connect(&app).await;
    let listed = client
        .call(
            "list_executor_profiles_kandev",
            json!({"executor_id": local}),
        )
        .await;
    assert_eq!(
        listed,
        app.get("/executor-profiles?executor_id=exec-local")
            .await
            .json
    );
    assert_eq!(listed["total"], 2);
    let part = json!({"title": "Part", "parent_id": "self", "executor_profile_id": made["id"], "start_agent": false});
    let part = client.call("create_task_kandev", part).await;
    assert_eq!(part["executor_profile_id"], made["id"]);
    let path = format!("/executor-profiles/{}", made["id"].as_str().unwrap());
    assert_eq!(app.delete(&path).await.code(), "CONFLICT");
    let path = format!(
        "/executor-profiles/{}",
        scripted.json["id"].as_str().unwrap()
    );
    let changed = app
        .patch(&path, json!({"prepare_script": "", "config": {}}))
        .await;
    assert_eq!((changed.status, &changed.json["config"]), (200, &json!({})));
    assert_eq!(app.delete(&path).await.status, 204);
    let elsewhere = app
        .get("/executor-profiles?executor_id=exec-worktree")
        .await;
    assert_eq!(elsewhere.code(), "VALIDATION_ERROR");
}

async fn profile(server: &Server, mut params: Value) -> Value {
    params["executor_id"] = json!("exec-local");
    server.post("/executor-profiles", params).await["id"].clone()
}

/// Starts a task of the demo agent that is run with a profile; gives its id.
async fn start(server: &Server, profile: &Value, folder: &Path, prompt: &str) -> String {
    let body = json!({"title": "Task", "description": prompt, "agent_profile_id": server.demo_profile().await,
        "executor_profile_id": profile, "working_directory": folder});
    text(&server.post("/tasks", body).await["id"])
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .count()
}

/// Starts a process in a group of its own, which nothing but its end ends.
const LEAVES_ONE: &str = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & wait";

async fn pid(server: &Server, folder: &Path) -> String {
    let file = folder.join("pid");
    server
        .until("the process", async |_| {
            let pid = std::fs::read_to_string(&file).ok()?;
            (!pid.trim().is_empty()).then(|| pid.trim().to_owned())
        })
        .await
}

fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    // One that nobody has buried yet is gone too.
    stat.map_or(true, |stat| stat.contains(") Z "))
}

store::on_both_engines! {
    async fn a_folder_is_prepared_once_and_cleaned_up_when_its_last_task_goes(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let folder = tempfile::tempdir().unwrap();
        let (prepared, cleaned) = (folder.path().join("prepared"), folder.path().join("cleaned"));
        let params = json!({"name": "Counts", "prepare_script": "echo $PWD >> prepared", "cleanup_script": "echo gone >> cleaned"});
        let profile = profile(&server, params).await;
        let first = start(&server, &profile, folder.path(), "hello").await;
        let second = start(&server, &profile, folder.path(), "hello").await;
        for task in [&first, &second] {
            server.until_session(task, "WAITING_FOR_INPUT").await;
        }
        assert_eq!(lines(&prepared), 1);
        assert_eq!(server.task(&first).await["primary_executor_name"], "Counts");
        server.post(&format!("/tasks/{first}/archive"), json!({})).await;
        let (status, _) = server.call(Method::DELETE, &format!("/tasks/{second}"), None).await;
        assert!(status.is_success(), "{status}");
        server.until("the cleanup", async |_| (lines(&cleaned) > 0).then_some(())).await;
        // Once it is done, the folder is as if it had never been prepared.
        let third = start(&server, &profile, folder.path(), "hello").await;
        server.until_session(&third, "WAITING_FOR_INPUT").await;
        assert_eq!((lines(&prepared), lines(&cleaned)), (2, 1));
    }

    async fn a_script_that_fails_is_the_failure_of_the_start_and_a_resume_tries_again(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let folder = tempfile::tempdir().unwrap();
        let params = json!({"name": "Needs", "prepare_script": "test -e needed || { echo it is missing >&2; exit 3; }"});
        let profile = profile(&server, params).await;
        let task = start(&server, &profile, folder.path(), "hello").await;
        server.until_session(&task, "FAILED").await;
        let view = server.task(&task).await;
        let message = text(&view["error_message"]);
        assert!(message.contains("\"Needs\" ended with exit code 3") && message.contains("it is missing"), "{message}");
        assert_eq!((&view["state"], &view["queued_prompt_count"]), (&json!("FAILED"), &json!(1)));
        std::fs::write(folder.path().join("needed"), "").unwrap();
        let session = text(&view["primary_session_id"]);
        server.post(&format!("/task-sessions/{session}/resume"), json!({})).await;
        server.until_session(&task, "WAITING_FOR_INPUT").await;
    }

    async fn a_script_ends_with_the_session_that_is_stopped_and_with_the_server_that_is_killed(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let folder = tempfile::tempdir().unwrap();
        let profile = profile(&server, json!({"name": "Hangs", "prepare_script": LEAVES_ONE})).await;
        let task = start(&server, &profile, folder.path(), "hello").await;
        let stopped = pid(&server, folder.path()).await;
        let session = text(&server.task(&task).await["primary_session_id"]);
        server.post(&format!("/task-sessions/{session}/stop"), json!({})).await;
        server.until("the end of the script", async |_| is_gone(&stopped).then_some(())).await;
        std::fs::remove_file(folder.path().join("pid")).unwrap();
        server.post(&format!("/task-sessions/{session}/resume"), json!({})).await;
        let killed = pid(&server, folder.path()).await;
        server.kill().await;
        let server = Server::start(&data).await;
        server.until("the end of the script", async |_| is_gone(&killed).then_some(())).await;
        // Time is up for the next one.
        let quick = json!({"config": {"prepare_timeout_seconds": 1}});
        let path = format!("/executor-profiles/{}", text(&profile));
        let (status, _) = server.call(Method::PATCH, &path, Some(quick)).await;
        assert_eq!(status, StatusCode::OK);
        let other = tempfile::tempdir().unwrap();
        let late = start(&server, &profile, other.path(), "hello").await;
        server.until_session(&late, "FAILED").await;
        let view = server.task(&late).await;
        assert!(text(&view["error_message"]).contains("did not end within 1 s"), "{view}");
        let (status, _) = server.call(Method::POST, &format!("/task-sessions/{session}/stop"), Some(json!({}))).await;
        assert!(status.is_success() || status == StatusCode::CONFLICT, "{status}");
    }
}
