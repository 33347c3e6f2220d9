//! Starts that fail, each with its own error, and nothing left running.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use agents::{
    AgentEvent,
    acp::{self, Address, LaunchError, LaunchSpec, McpEndpoint, OtherServer, Reached},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Agent, canned, demo, folder, soon, trials};

trials![
    a_command_that_is_not_there_is_named,
    a_file_that_cannot_be_run_says_why,
    a_missing_folder_is_named,
    a_missing_guard_is_named,
    an_agent_that_ends_at_once_leaves_its_last_words,
    an_agent_without_http_mcp_is_not_started,
    servers_are_handed_over_at_a_start_and_at_a_resume,
    an_agent_that_wants_a_login_says_how,
    another_protocol_version_is_refused,
    a_refusal_and_a_useless_answer_are_told_apart,
    an_agent_that_never_answers_is_ended_in_time,
    an_abandoned_launch_leaves_nothing_running,
    the_environment_is_the_hosts_without_its_secrets,
];

async fn failure(spec: LaunchSpec) -> LaunchError {
    match Agent::try_launch(spec).await {
        Ok(_) => panic!("the launch must fail"),
        Err((error, events)) => {
            // Whatever was started is gone.
            let started = !matches!(
                error,
                LaunchError::NoFolder { .. }
                    | LaunchError::Guard { .. }
                    | LaunchError::CommandNotFound { .. }
                    | LaunchError::NotExecutable { .. }
            );
            if started {
                events.exited().await;
            }
            error
        }
    }
}

fn sh(folder: &Path, script: &str) -> LaunchSpec {
    let mut spec = LaunchSpec::new("sh", folder);
    spec.args = vec!["-c".to_owned(), script.to_owned()];
    spec
}

fn program(folder: &Path, name: &str, content: &str, mode: u32) {
    let file = folder.join(name);
    fs::write(&file, content).expect("written");
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("set");
}

async fn a_command_that_is_not_there_is_named() {
    let folder = folder();
    for command in ["no-such-agent", "./no-such-agent", "/no/such/agent", ""] {
        let error = failure(LaunchSpec::new(command, folder.path())).await;
        assert!(
            matches!(&error, LaunchError::CommandNotFound { command: named } if named == command),
            "{error}"
        );
    }
    // Only the guard can find out about this one.
    program(
        folder.path(),
        "orphaned-script",
        "#!/no/such/interpreter\n",
        0o755,
    );
    let error = failure(LaunchSpec::new("./orphaned-script", folder.path())).await;
    assert!(
        matches!(error, LaunchError::CommandNotFound { .. }),
        "{error}"
    );
    // The program may look as if it were the guard, which is no reason to believe it.
    let error = failure(sh(folder.path(), "exit 127")).await;
    assert!(matches!(error, LaunchError::Exited { .. }), "{error}");
}

async fn a_file_that_cannot_be_run_says_why() {
    let folder = folder();
    program(folder.path(), "plain", "text", 0o644);
    let error = failure(LaunchSpec::new("./plain", folder.path())).await;
    assert!(
        matches!(&error, LaunchError::NotExecutable { reason, .. } if reason.contains("executable")),
        "{error}"
    );
    let error = failure(LaunchSpec::new(
        folder.path().to_string_lossy(),
        folder.path(),
    ))
    .await;
    assert!(
        matches!(error, LaunchError::NotExecutable { .. }),
        "{error}"
    );
    let mut spec = LaunchSpec::new("plain", folder.path());
    spec.env.insert(
        "PATH".to_owned(),
        folder.path().to_string_lossy().into_owned(),
    );
    let error = failure(spec).await;
    assert!(
        matches!(error, LaunchError::NotExecutable { .. }),
        "{error}"
    );
    program(folder.path(), "garbage", "\u{1}\u{2}", 0o755);
    let error = failure(LaunchSpec::new("./garbage", folder.path())).await;
    assert!(
        matches!(error, LaunchError::NotExecutable { .. }),
        "{error}"
    );
}

async fn a_missing_folder_is_named() {
    let folder = folder();
    let error = failure(LaunchSpec::new("sh", folder.path().join("gone"))).await;
    assert!(
        matches!(&error, LaunchError::NoFolder { path } if path.ends_with("gone")),
        "{error}"
    );
}

async fn a_missing_guard_is_named() {
    let folder = folder();
    let mut spec = LaunchSpec::new("sh", folder.path());
    spec.guard_exe = Some(folder.path().join("no-guard"));
    let error = failure(spec).await;
    assert!(
        matches!(&error, LaunchError::Guard { path, .. } if path.ends_with("no-guard")),
        "{error}"
    );
}

async fn an_agent_that_ends_at_once_leaves_its_last_words() {
    let folder = folder();
    let error = failure(sh(folder.path(), "echo 'no model configured' >&2; exit 3")).await;
    assert!(
        matches!(&error, LaunchError::Exited { step: "initialize", exit, stderr_tail }
            if exit.code == Some(3) && stderr_tail == &["no model configured"]),
        "{error}"
    );
    assert!(error.to_string().contains("no model configured"), "{error}");
}

fn endpoint() -> McpEndpoint {
    McpEndpoint {
        name: "kandev".into(),
        url: "http://127.0.0.1:1/mcp".into(),
        bearer: "x".into(),
    }
}

async fn an_agent_without_http_mcp_is_not_started() {
    let folder = folder();
    let mut spec = demo(folder.path());
    spec.args.push("--no-http-mcp".to_owned());
    spec.mcp = Some(endpoint());
    let error = failure(spec.clone()).await;
    assert!(matches!(error, LaunchError::NoHttpMcp), "{error}");
    spec.mcp = None;
    let agent = Agent::launch(spec).await;
    assert!(!agent.launched.capabilities.mcp_http);
}

async fn servers_are_handed_over_at_a_start_and_at_a_resume() {
    let folder = folder();
    let answer = |result: Value| json!([{"jsonrpc": "2.0", "id": "$ID", "result": result}]);
    let script = json!({
        "initialize": answer(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})),
        "session/new": answer(json!({"sessionId": "s"})),
        "session/load": answer(json!({})),
    });
    let mut spec = canned(folder.path(), &script);
    spec.mcp = Some(endpoint());
    // It does not announce what somebody knows it to take.
    spec.takes_http_mcp = Some(true);
    let address = || Address {
        url: "http://127.0.0.1:2".to_owned(),
        headers: BTreeMap::from([("Key".to_owned(), "s3".to_owned())]),
    };
    let server = |name: &str, reached| OtherServer {
        name: name.to_owned(),
        reached,
    };
    spec.servers = vec![
        server(
            "files",
            Reached::Stdio {
                command: "sh".to_owned(),
                args: vec!["-x".to_owned()],
                env: BTreeMap::new(),
            },
        ),
        server("web", Reached::Http(address())),
        server("old", Reached::Sse(address())),
    ];
    for (resume, method) in [(None, "session/new"), (Some("s"), "session/load")] {
        spec.resume = resume.map(str::to_owned);
        let agent = Agent::launch(spec.clone()).await;
        let left_out: Vec<_> = agent
            .launched
            .left_out
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(left_out, ["old"]);
        let heard = fs::read_to_string(folder.path().join("canned.heard")).expect("it was asked");
        let asked = heard
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .find(|line| line["method"] == method)
            .expect("asked for a conversation");
        let servers = &asked["params"]["mcpServers"];
        let names: Vec<_> = (0..3).map(|at| servers[at]["name"].as_str()).collect();
        assert_eq!(names, [Some("kandev"), Some("files"), Some("web")]);
        let command = servers[1]["command"].as_str().expect("a command");
        assert!(Path::new(command).is_absolute(), "{command}");
        assert_eq!(
            servers[2]["headers"],
            json!([{"name": "Key", "value": "s3"}])
        );
    }
}

async fn an_agent_that_wants_a_login_says_how() {
    let folder = folder();
    let mut spec = demo(folder.path());
    spec.args.push("--auth".to_owned());
    let error = failure(spec).await;
    assert!(
        matches!(&error, LaunchError::AuthRequired { methods, .. } if methods[0].id == "login" && methods[0].name == "Log in"),
        "{error}"
    );
}

fn hello(result: &Value) -> Value {
    json!({"initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": result}]})
}

async fn another_protocol_version_is_refused() {
    let folder = folder();
    for (result, shown) in [(json!({"protocolVersion": 2}), "2"), (json!({}), "null")] {
        let error = failure(canned(folder.path(), &hello(&result))).await;
        assert!(
            matches!(&error, LaunchError::ProtocolVersion { version } if version == shown),
            "{error}"
        );
    }
}

async fn a_refusal_and_a_useless_answer_are_told_apart() {
    let folder = folder();
    let mut script = hello(&json!({"protocolVersion": 1}));
    script["session/new"] =
        json!([{"jsonrpc": "2.0", "id": "$ID", "error": {"code": -32603, "message": "no disk"}}]);
    let error = failure(canned(folder.path(), &script)).await;
    assert!(
        matches!(&error, LaunchError::Refused { step: "session/new", code: -32603, message, .. } if message == "no disk"),
        "{error}"
    );
    script["session/new"] = json!([{"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": null}}]);
    let error = failure(canned(folder.path(), &script)).await;
    assert!(
        matches!(
            error,
            LaunchError::Malformed {
                step: "session/new",
                ..
            }
        ),
        "{error}"
    );
}

async fn an_agent_that_never_answers_is_ended_in_time() {
    let folder = folder();
    let mut spec = canned(folder.path(), &hello(&json!({"protocolVersion": 1})));
    spec.start_timeout = Duration::from_secs(2);
    let error = failure(spec).await;
    assert!(
        matches!(
            error,
            LaunchError::Timeout {
                step: "session/new",
                ..
            }
        ),
        "{error}"
    );
}

async fn an_abandoned_launch_leaves_nothing_running() {
    let folder = folder();
    let (sender, mut events) = mpsc::channel(16);
    let launch = tokio::spawn(acp::launch(
        sh(folder.path(), "echo started; sleep 1000"),
        sender,
    ));
    let first = soon("the first event", events.recv()).await;
    assert_eq!(
        first,
        Some(AgentEvent::JunkLine {
            text: "started".into()
        })
    );
    launch.abort();
    let mut last = None;
    while let Some(event) = soon("the last event", events.recv()).await {
        last = Some(event);
    }
    assert!(matches!(last, Some(AgentEvent::Exited { .. })), "{last:?}");
}

async fn the_environment_is_the_hosts_without_its_secrets() {
    let folder = folder();
    let mut spec = sh(
        folder.path(),
        "env | grep -e ^FOR_ -e ^MCP_ -e ^CARGO_PKG_NAME >&2; pwd >&2; exit 1",
    );
    spec.env
        .insert("FOR_THE_AGENT".to_owned(), "yes".to_owned());
    spec.env_remove = vec!["PATH_OF_NOBODY".to_owned(), "CARGO_PKG_NAME".to_owned()];
    let error = failure(spec.clone()).await;
    let LaunchError::Exited { stderr_tail, .. } = error else {
        panic!("{error}")
    };
    let has = |line: &str| stderr_tail.iter().any(|each| each == line);
    assert!(
        has("FOR_THE_AGENT=yes") && has("MCP_TOOL_TIMEOUT=7200000"),
        "{stderr_tail:?}"
    );
    assert!(
        !stderr_tail
            .iter()
            .any(|line| line.starts_with("CARGO_PKG_NAME=")),
        "{stderr_tail:?}"
    );
    let cwd = fs::canonicalize(folder.path()).expect("there");
    assert!(
        stderr_tail.iter().any(|line| Path::new(line) == cwd),
        "{stderr_tail:?}"
    );
    spec.env
        .insert("MCP_TOOL_TIMEOUT".to_owned(), "5".to_owned());
    let LaunchError::Exited { stderr_tail, .. } = failure(spec).await else {
        panic!("it exits")
    };
    assert!(
        stderr_tail.iter().any(|line| line == "MCP_TOOL_TIMEOUT=5"),
        "{stderr_tail:?}"
    );
}
