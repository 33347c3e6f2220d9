//! The binary as people start it.

use crate::support::TestApp;
use crate::support::client::Client;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

#[expect(
    clippy::disallowed_methods,
    reason = "runs the program under test, which ends by itself"
)]
fn run_with(args: &[&str], data: &Path, input: &str) -> Output {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_flightdeck"))
        .args(args)
        .current_dir(data)
        .env_clear()
        .env("FLIGHTDECK_DATA_DIR", data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // One that does not read ends before it is written to.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn run(args: &[&str], data: &Path) -> Output {
    run_with(args, data, "")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn it_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    let version = run(&["--version"], folder.path());
    assert_eq!(
        out(&version),
        format!("flightdeck {}\n", env!("CARGO_PKG_VERSION"))
    );
    for args in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo-agent", "--help"],
        &["token", "create", "--help"],
        &["token", "revoke", "--help"],
        &["operator", "create", "--help"],
        &["export", "--help"],
        &["import", "--help"],
        &["agent-guard", "--help"],
    ] {
        let help = run(args, folder.path());
        assert!(
            help.status.success() && out(&help).contains("Usage"),
            "{args:?}"
        );
    }
    assert!(
        !run(&["serve", "--no-such-flag"], folder.path())
            .status
            .success()
    );
}

#[test]
fn settings_are_printed_as_they_are_in_force() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("flightdeck.toml"),
        "max_depth = 3\naddr = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    let printed = run(
        &["serve", "--print-config", "--addr", "127.0.0.1:2"],
        folder.path(),
    );
    assert!(printed.status.success(), "{}", err(&printed));
    let text = out(&printed);
    assert!(text.contains("addr = \"127.0.0.1:2\""), "{text}");
    assert!(text.contains("max_depth = 3"), "{text}");
    assert!(text.contains(folder.path().to_str().unwrap()), "{text}");
}

#[test]
fn it_does_not_listen_beyond_this_machine_without_an_account() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(&["serve", "--addr", "0.0.0.0:0"], folder.path());
    assert!(!refused.status.success());
    assert!(
        err(&refused).contains("flightdeck operator create"),
        "{}",
        err(&refused)
    );
    assert_eq!(out(&refused), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_are_managed_beside_a_running_server() {
    let app = TestApp::new().await;
    let data = app.data.path();
    let make = |name: &str, password: &str| {
        run_with(&["operator", "create", "--name", name], data, password)
    };
    let made = make("Ada", "correct horse battery\n");
    assert!(made.status.success(), "{}", err(&made));
    app.board()
        .sign_in("ada", "correct horse battery")
        .await
        .unwrap();
    for (name, password, why) in [
        ("ADA", "correct horse battery", "already"),
        ("Bob", "short", "needs 10"),
        (" ", "correct horse battery", "name"),
    ] {
        let refused = make(name, password);
        assert!(!refused.status.success());
        assert!(err(&refused).contains(why), "{}", err(&refused));
        assert!(!err(&refused).contains(password), "a password is shown");
    }
    let changed = run_with(
        &["operator", "password", "--name", "ada"],
        data,
        "another password\n",
    );
    assert!(changed.status.success(), "{}", err(&changed));
    app.board()
        .sign_in("Ada", "another password")
        .await
        .unwrap();
    assert!(out(&run(&["operator", "list"], data)).contains("Ada"));
    assert!(
        run(&["operator", "remove", "--name", "Ada"], data)
            .status
            .success()
    );
    assert_eq!(out(&run(&["operator", "list"], data)), "");
    assert!(
        !run(&["operator", "remove", "--name", "Ada"], data)
            .status
            .success()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_the_same_data_is_refused() {
    let app = TestApp::new().await;
    let refused = run(&["serve", "--addr", "127.0.0.1:0"], app.data.path());
    assert!(!refused.status.success());
    assert!(
        err(&refused).contains("another Flightdeck server is running"),
        "{}",
        err(&refused)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_made_beside_a_running_server_and_works_at_once() {
    let app = TestApp::new().await;
    let made = run(&["token", "create", "--name", "my client"], app.data.path());
    assert!(made.status.success(), "{}", err(&made));
    let text = out(&made);
    let token = text.lines().last().unwrap();
    assert!(token.starts_with("fd_") && !token.contains(' '), "{text}");
    let client = Client::connect(&app, token).await;
    assert!(!client.tool_names().await.is_empty());
    let unnamed = run(&["token", "create", "--name", " "], app.data.path());
    assert!(!unnamed.status.success());

    let listed = out(&run(&["token", "list"], app.data.path()));
    assert!(
        listed.contains("my client") && listed.contains("used"),
        "{listed}"
    );
    assert!(!listed.contains(token), "a token is shown again");
    let id = listed.split_whitespace().next().unwrap();
    let revoked = run(&["token", "revoke", id], app.data.path());
    assert!(revoked.status.success(), "{}", err(&revoked));
    assert!(out(&run(&["token", "list"], app.data.path())).contains("revoked"));
    let refused = client
        .try_call("list_workspaces_kandev", serde_json::json!({}))
        .await;
    assert!(refused.is_err());
    assert!(
        !run(&["token", "revoke", "nonsense"], app.data.path())
            .status
            .success()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_goes_from_one_board_to_another_by_file_or_pipe() {
    let (here, there) = (TestApp::new().await, TestApp::new().await);
    let written = run(&["export", "Kanban"], here.data.path());
    assert!(written.status.success(), "{}", err(&written));
    let document = out(&written);
    assert_eq!(document, out(&run(&["export"], here.data.path())));

    let file = there.data.path().join("workflow.json");
    std::fs::write(&file, &document).unwrap();
    let by_file = run(&["import", file.to_str().unwrap()], there.data.path());
    assert!(by_file.status.success(), "{}", err(&by_file));
    let by_pipe = run_with(&["import", "-"], there.data.path(), &document);
    assert!(by_pipe.status.success(), "{}", err(&by_pipe));
    let ids: Vec<String> = [by_file, by_pipe]
        .iter()
        .map(|made| out(made).split_whitespace().next().unwrap().to_owned())
        .collect();

    // Three of one name there now: each has to be named by its id.
    let several = run(&["export", "Kanban"], there.data.path());
    assert!(err(&several).contains("by its id"), "{}", err(&several));
    for id in &ids {
        let again = run(&["export", id], there.data.path());
        assert_eq!(out(&again), document);
    }
    let all = out(&run(&["export"], there.data.path()));
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["workflows"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_exchanged_is_refused_and_changes_nothing() {
    let app = TestApp::new().await;
    let data = app.data.path();
    let before = out(&run(&["export"], data));
    for (args, input, why) in [
        (&["export", "No such"][..], "", "workflow"),
        (&["export", "--workspace", "No such"], "", "workspace"),
        (&["import", "no-such-file.json"], "", "could not be read"),
        (&["import", "-"], "{", "line 1"),
        (&["import", "-"], "", "document"),
        (
            &["import", "-", "--workspace", "No such"],
            before.as_str(),
            "workspace",
        ),
    ] {
        let refused = run_with(args, data, input);
        assert!(!refused.status.success(), "{args:?} {input}");
        assert!(err(&refused).contains(why), "{args:?}: {}", err(&refused));
        assert_eq!(out(&refused), "");
    }
    assert_eq!(before, out(&run(&["export"], data)));
}
