//! The binary as people start it.

use crate::support::TestApp;
use crate::support::client::Client;
use std::path::Path;
use std::process::Output;

#[expect(
    clippy::disallowed_methods,
    reason = "runs the program under test, which ends by itself"
)]
fn run(args: &[&str], data: &Path) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_flightdeck"))
        .args(args)
        .current_dir(data)
        .env_clear()
        .env("FLIGHTDECK_DATA_DIR", data)
        .output()
        .unwrap()
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
fn it_does_not_listen_beyond_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let refused = run(&["serve", "--addr", "0.0.0.0:0"], folder.path());
    assert!(!refused.status.success());
    assert!(err(&refused).contains("loopback only"), "{}", err(&refused));
    assert_eq!(out(&refused), "");
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
}
