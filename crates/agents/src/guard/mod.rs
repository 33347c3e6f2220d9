//! The guard: a small process between the host and an agent, so that no agent is ever left behind.
//!
//! `<exe> agent-guard -- CMD ARGS…` starts the command as the leader of a new process group. Output goes straight to
//! the host; input passes through the guard, and that is the point: the pipe from the host closes when the host is
//! gone, even by `kill -9`, and an agent alone would not always notice or care. Then, or on a signal, the agent gets
//! two seconds to end by itself, and what is left of it is killed, descendants included.
//!
//! On Linux descendants are found even when they left the process group (coding agents run their commands in groups
//! of their own): the guard makes itself the parent of orphans and ends every process below it. Elsewhere the group
//! is all that is known. What nothing can help against is somebody killing the guard itself with `kill -9`; the agent
//! then sees its input end.
//!
//! With `FLIGHTDECK_AGENT_LOCK` set, the guard holds that file locked from before the start until everything is gone. Whoever
//! starts an agent for the same conversation, after a crash of the host for example, then waits until the old one has
//! let go: a prompt that still lies in the old one's pipe must not be read after it was sent again.
//!
//! The exit code is the agent's, or 128 and the number of the signal that ended it.

mod descendants;

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read, Write},
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, Command},
    signal::unix::{SignalKind, signal},
    sync::{mpsc, oneshot},
    time,
};

/// The hidden subcommand under which the binary runs [`guard::run`](run).
pub(crate) const SUBCOMMAND: &str = "agent-guard";
/// Names the file that the guard is to hold locked; for the guard alone.
pub(crate) const LOCK_VARIABLE: &str = "FLIGHTDECK_AGENT_LOCK";
/// The guard's exit code when there is no such program; a shell's.
pub(crate) const NOT_FOUND: i32 = 127;
/// The guard's exit code when the program cannot be run; a shell's.
pub(crate) const CANNOT_RUN: i32 = 126;
/// How the guard's own lines on standard error begin.
const GUARDS_LINE: &str = "agent-guard: ";

/// From the end of the input to a polite signal.
const UNTIL_TERM: Duration = Duration::from_secs(1);
/// From the end of the input, or a signal of ours, to the kill.
const UNTIL_KILL: Duration = Duration::from_secs(2);
/// Input that the agent has not read, at most. The guard must read ahead, or it would not see its host go while a
/// stuck agent keeps the pipe full; and a host that sends so much to somebody who does not read is talking to nobody.
const UNREAD_LIMIT: usize = 32 * 1024 * 1024;

/// A line of the guard rather than of the agent.
pub(crate) fn is_guards(line: &str) -> bool {
    line.starts_with(GUARDS_LINE)
}

/// How the guard says something.
pub(crate) fn guards_line(text: &str) -> String {
    format!("{GUARDS_LINE}{text}\n")
}

/// Runs a command under guard until it has ended, and says with which code to exit.
///
/// `command` is what stands behind the subcommand's name; a leading `--` is skipped. Meant to be all that its process
/// does: it reads standard input from a thread of its own, and should be followed by [`std::process::exit`].
pub async fn run(command: Vec<OsString>) -> i32 {
    let mut command = command.into_iter().skip_while(|word| word == "--");
    let Some(program) = command.next() else {
        complain("no command was given");
        return NOT_FOUND;
    };
    // Signals are caught before there is an agent to lose.
    let signals = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
    ]
    .map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals else {
        complain("signals cannot be caught");
        return CANNOT_RUN;
    };
    let lock = tokio::select! {
        lock = hold_lock() => lock,
        _ = terminate.recv() => return exit_of_signal(Signal::SIGTERM),
        _ = interrupt.recv() => return exit_of_signal(Signal::SIGINT),
        _ = hangup.recv() => return exit_of_signal(Signal::SIGHUP),
    };
    let _lock = match lock {
        Ok(lock) => lock,
        Err(error) => {
            complain(&format!("the conversation's lock cannot be taken: {error}"));
            return CANNOT_RUN;
        }
    };
    descendants::adopt_orphans();
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where an agent is started"
    )]
    let spawned = Command::new(&program)
        .args(command)
        .env_remove(LOCK_VARIABLE)
        .stdin(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut agent = match spawned {
        Ok(agent) => agent,
        Err(error) => {
            complain(&format!(
                "{} cannot be run: {error}",
                program.to_string_lossy()
            ));
            return if error.kind() == io::ErrorKind::NotFound {
                NOT_FOUND
            } else {
                CANNOT_RUN
            };
        }
    };
    let group = agent
        .id()
        .and_then(|pid| i32::try_from(pid).ok())
        .map(Pid::from_raw);
    let host_gone = match agent.stdin.take() {
        Some(input) => forward_input(input),
        None => oneshot::channel().1,
    };
    let status = tokio::select! {
        status = agent.wait() => status,
        _ = host_gone => end(&mut agent, group, UNTIL_TERM).await,
        _ = terminate.recv() => end(&mut agent, group, Duration::ZERO).await,
        _ = interrupt.recv() => end(&mut agent, group, Duration::ZERO).await,
        _ = hangup.recv() => end(&mut agent, group, Duration::ZERO).await,
    };
    // The agent is gone; what it started must not outlive it. The group's number cannot be taken by others while any
    // member lives, and if none does the signal finds nobody.
    send(group, Signal::SIGKILL);
    descendants::end_all().await;
    match status {
        Ok(status) => exit_code(status),
        Err(error) => {
            complain(&format!("the agent's end cannot be waited for: {error}"));
            CANNOT_RUN
        }
    }
}

/// Waits for the conversation's lock, when one is named. It is let go when the file is closed, so at the latest with this
/// process; the agent does not inherit it.
async fn hold_lock() -> io::Result<Option<File>> {
    let Some(path) = env::var_os(LOCK_VARIABLE) else {
        return Ok(None);
    };
    tokio::task::spawn_blocking(move || {
        let file = File::options().create(true).append(true).open(path)?;
        file.lock()?;
        Ok(Some(file))
    })
    .await
    .map_err(io::Error::other)?
}

/// Ends the agent: a polite signal after `until_term`, the kill after [`UNTIL_KILL`].
async fn end(
    agent: &mut Child,
    group: Option<Pid>,
    until_term: Duration,
) -> io::Result<ExitStatus> {
    if let Ok(status) = time::timeout(until_term, agent.wait()).await {
        return status;
    }
    send(group, Signal::SIGTERM);
    if let Ok(status) = time::timeout(UNTIL_KILL.saturating_sub(until_term), agent.wait()).await {
        return status;
    }
    send(group, Signal::SIGKILL);
    agent.wait().await
}

fn send(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // Nobody left is what we want.
        let _ = killpg(group, signal);
    }
}

fn exit_of_signal(signal: Signal) -> i32 {
    128 + signal as i32
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Hands our standard input on to the agent. The receiver hears when it ends, or when the agent has stopped reading
/// for good.
fn forward_input(mut input: ChildStdin) -> oneshot::Receiver<()> {
    let (gone, host_gone) = oneshot::channel();
    let (pieces, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
    let unread = Arc::new(AtomicUsize::new(0));
    let written = Arc::clone(&unread);
    // A thread and not tokio's standard input, which would keep the runtime from shutting down.
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match stdin.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(length) => {
                    if unread.fetch_add(length, Ordering::Relaxed) + length > UNREAD_LIMIT {
                        complain("the agent does not read its input and is ended");
                        break;
                    }
                    // The writer is gone once the agent closed its input; its end is waited for elsewhere.
                    let _ = pieces.send(buffer[..length].to_vec());
                }
            }
        }
        let _ = gone.send(());
    });
    tokio::spawn(async move {
        while let Some(piece) = waiting.recv().await {
            if input.write_all(&piece).await.is_err() {
                break;
            }
            written.fetch_sub(piece.len(), Ordering::Relaxed);
        }
    });
    host_gone
}

/// Standard error is the agent's, which the host reads; a line that says whose it is does no harm there.
fn complain(text: &str) {
    let _ = io::stderr().write_all(guards_line(text).as_bytes());
}
