//! The processes that this binary can be.

use std::{
    ffi::{OsStr, OsString},
    io::{self, BufRead, Write},
    path::PathBuf,
    time::Duration,
};

use agents::{
    acp::{self, LaunchSpec, Prompt},
    demo, guard,
};
use serde_json::Value;
use tokio::sync::mpsc;

/// Plays a role to its end and gives the exit code. `None` when the word is no role.
pub(crate) fn play(role: &OsStr, arguments: Vec<OsString>) -> Option<i32> {
    match role.to_str()? {
        "agent-guard" => Some(runtime().block_on(guard::run(arguments))),
        "demo-agent" => Some(demo_agent(arguments)),
        "canned-agent" => Some(canned_agent(&arguments)),
        "host" => Some(host(&arguments)),
        _ => None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

fn demo_agent(arguments: Vec<OsString>) -> i32 {
    let mut options = demo::Options {
        answer_delay: Duration::ZERO,
        step_delay: Duration::ZERO,
        ..demo::Options::default()
    };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--history-dir") => options.history_dir = arguments.next().map(PathBuf::from),
            Some("--no-http-mcp") => options.http_mcp = false,
            Some("--no-load") => options.load_session = false,
            Some("--auth") => options.auth_required = true,
            other => panic!("unknown option {other:?}"),
        }
    }
    match runtime().block_on(demo::run(options)) {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error:#}");
            1
        }
    }
}

/// An agent without a mind: for each line it reads, it writes the lines that its file has for the line's method (or
/// for `answer` when the line has none). `$ID` becomes the id of the line. What it reads is kept beside the file.
fn canned_agent(arguments: &[OsString]) -> i32 {
    let file = PathBuf::from(&arguments[0]);
    let script: Value =
        serde_json::from_slice(&std::fs::read(&file).expect("a script")).expect("JSON");
    let mut heard = std::fs::File::create(file.with_extension("heard")).expect("a file");
    let mut stdout = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.expect("text");
        writeln!(heard, "{line}").expect("written");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        let method = message["method"].as_str().unwrap_or("answer");
        for answer in script[method].as_array().into_iter().flatten() {
            let answer = answer
                .as_str()
                .map_or_else(|| answer.to_string(), str::to_owned);
            let answer = answer.replace("\"$ID\"", &message["id"].to_string());
            writeln!(stdout, "{answer}").expect("written");
        }
        stdout.flush().expect("written");
    }
    0
}

/// A host that launches the demo agent, lets it hang in a turn, says so, and waits to be killed.
fn host(arguments: &[OsString]) -> i32 {
    runtime().block_on(async {
        let exe = std::env::current_exe().expect("a path");
        let mut spec = LaunchSpec::new(exe.to_string_lossy(), &arguments[0]);
        spec.args = vec!["demo-agent".to_owned()];
        spec.env.insert(
            "AGENTS_TEST_MARK".to_owned(),
            arguments[1].to_string_lossy().into_owned(),
        );
        let (sender, mut events) = mpsc::channel(16);
        tokio::spawn(async move { while events.recv().await.is_some() {} });
        let launched = acp::launch(spec, sender).await.expect("launched");
        let prompt = Prompt {
            hidden: None,
            text: "/hang".to_owned(),
        };
        let mut turn = launched.agent.prompt(&prompt).expect("idle");
        turn.accepted().await.expect("accepted");
        writeln!(io::stdout(), "ready").expect("written");
        let _ = turn.ended().await;
        0
    })
}
