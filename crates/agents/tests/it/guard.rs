//! Nothing is left running, however the host or the agent ends.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::support::{folder, trials, until};

trials![
    the_exit_code_and_the_streams_are_the_agents,
    the_end_of_the_input_ends_a_stubborn_family,
    a_signal_ends_a_stubborn_family,
    an_agent_that_ends_takes_its_family_along,
    a_polite_agent_may_end_by_itself,
    a_command_that_cannot_be_run_has_a_shells_code,
    a_killed_host_leaves_nothing_running,
];

/// A shell that ignores every polite signal and has three descendants: in its group, in a session of its own, and
/// orphaned in a session of its own. It writes the four process ids, then does as told.
const STUBBORN: &str = "trap '' TERM HUP INT
sleep 1001 & echo $!
setsid sleep 1002 & echo $!
setsid sh -c 'sleep 1003 & echo $!'
echo $$
";

fn guard(arguments: &[&str]) -> Child {
    let exe = std::env::current_exe().expect("a path");
    #[expect(
        clippy::disallowed_methods,
        reason = "the guard is what is being tested"
    )]
    let mut command = Command::new(exe);
    command.arg("agent-guard").arg("--").args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

fn sh(script: &str) -> Child {
    guard(&["sh", "-c", script])
}

/// Reads process ids, one a line.
fn pids(stdout: &mut BufReader<ChildStdout>, count: usize) -> Vec<i32> {
    (0..count)
        .map(|_| {
            let mut line = String::new();
            stdout.read_line(&mut line).expect("a line");
            line.trim().parse().expect("a process id")
        })
        .collect()
}

fn stdout(child: &mut Child) -> BufReader<ChildStdout> {
    BufReader::new(child.stdout.take().expect("piped"))
}

/// Whether a process runs. A dead one that nobody buried yet does not.
fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

async fn exit(mut child: Child) -> ExitStatus {
    let mut status = None;
    until("the guard's end", || {
        status = child.try_wait().expect("a child");
        status.is_some()
    })
    .await;
    status.expect("it ended")
}

async fn all_gone(pids: &[i32]) {
    until("the end of all processes", || {
        !pids.iter().any(|pid| runs(*pid))
    })
    .await;
}

async fn the_exit_code_and_the_streams_are_the_agents() {
    let mut child = sh("read line; echo \"out $line\"; echo err >&2; exit 7");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), b"hello\n")
        .expect("written");
    let mut out = String::new();
    child
        .stdout
        .take()
        .expect("piped")
        .read_to_string(&mut out)
        .expect("text");
    let mut err = String::new();
    child
        .stderr
        .take()
        .expect("piped")
        .read_to_string(&mut err)
        .expect("text");
    assert_eq!((out.as_str(), err.as_str()), ("out hello\n", "err\n"));
    assert_eq!(exit(child).await.code(), Some(7));
    let child = sh("kill -SEGV $$");
    assert_eq!(exit(child).await.code(), Some(128 + 11));
}

async fn the_end_of_the_input_ends_a_stubborn_family() {
    let mut child = sh(&format!("{STUBBORN} while true; do sleep 1; done"));
    let family = pids(&mut stdout(&mut child), 4);
    assert!(family.iter().all(|pid| runs(*pid)), "all of {family:?} run");
    drop(child.stdin.take());
    assert_eq!(exit(child).await.code(), Some(128 + 9));
    all_gone(&family).await;
}

async fn a_signal_ends_a_stubborn_family() {
    let mut child = sh(&format!("{STUBBORN} while true; do sleep 1; done"));
    let family = pids(&mut stdout(&mut child), 4);
    let guard = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(guard, Signal::SIGTERM).expect("sent");
    assert_eq!(exit(child).await.code(), Some(128 + 9));
    all_gone(&family).await;
}

async fn an_agent_that_ends_takes_its_family_along() {
    let mut child = sh(&format!("{STUBBORN} exit 5"));
    let family = pids(&mut stdout(&mut child), 4);
    assert_eq!(exit(child).await.code(), Some(5));
    all_gone(&family).await;
}

async fn a_polite_agent_may_end_by_itself() {
    // At the end of its input …
    let mut child = sh("cat > /dev/null; exit 3");
    drop(child.stdin.take());
    assert_eq!(exit(child).await.code(), Some(3));
    // … or on the signal.
    let mut child = sh("trap 'exit 4' TERM; echo $$; while true; do sleep 0.05; done");
    let _ = pids(&mut stdout(&mut child), 1);
    let guard = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(guard, Signal::SIGTERM).expect("sent");
    assert_eq!(exit(child).await.code(), Some(4));
}

async fn a_command_that_cannot_be_run_has_a_shells_code() {
    assert_eq!(exit(guard(&["/no/such/command"])).await.code(), Some(127));
    assert_eq!(exit(guard(&["/etc"])).await.code(), Some(126));
    assert_eq!(exit(guard(&[])).await.code(), Some(127));
}

async fn a_killed_host_leaves_nothing_running() {
    let folder = folder();
    let mark = format!("mark-{}-{}", std::process::id(), folder.path().display());
    let exe = std::env::current_exe().expect("a path");
    #[expect(
        clippy::disallowed_methods,
        reason = "a host that can be killed is a process of its own"
    )]
    let mut host = Command::new(exe)
        .arg("host")
        .arg(folder.path())
        .arg(&mark)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut line = String::new();
    stdout(&mut host).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let family = marked(&mark);
    assert_eq!(family.len(), 2, "the guard and the agent: {family:?}");
    // Std's kill is SIGKILL: the host has no chance to clean up.
    host.kill().expect("sent");
    host.wait().expect("a child");
    all_gone(&family).await;
    assert_eq!(marked(&mark), Vec::<i32>::new());
}

/// Processes with this mark in their environment.
fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("AGENTS_TEST_MARK={mark}");
    fs::read_dir("/proc")
        .expect("Linux")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            runs(*pid)
                && environment
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}
