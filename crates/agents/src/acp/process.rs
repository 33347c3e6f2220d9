//! Starting and ending an agent's process.
//!
//! An agent is never our own child: between us and it stands the [guard](crate::guard), which ends the agent and all
//! that it started as soon as we are gone, whatever became of us. Here the guard is started and ended; the streams are
//! the agent's own, passed through.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time,
};
use tokio_util::sync::CancellationToken;

use super::{error::LaunchError, spec::LaunchSpec};
use crate::{
    event::Exit,
    guard::{LOCK_VARIABLE, SUBCOMMAND},
};

/// How long the guard may take to end an agent before it is ended itself. It needs two seconds at most, plus what a
/// loaded machine adds.
const GUARD_LIMIT: Duration = Duration::from_secs(10);

pub(crate) type AgentStdin = ChildStdin;
pub(crate) type AgentStdout = ChildStdout;
pub(crate) type AgentStderr = ChildStderr;

/// A started agent behind its guard, and its streams.
pub(crate) struct AgentProcess {
    pub(crate) child: Guarded,
    pub(crate) stdin: AgentStdin,
    pub(crate) stdout: AgentStdout,
    pub(crate) stderr: AgentStderr,
}

/// The guard. Dropping it closes nothing by itself: closing the agent's input is what ends the agent.
pub(crate) struct Guarded {
    child: Child,
}

/// Starts an agent behind a guard. What can be known before is checked before, so that the usual mistakes have names.
pub(crate) fn start(spec: &LaunchSpec) -> Result<AgentProcess, LaunchError> {
    if !spec.cwd.is_dir() {
        return Err(LaunchError::NoFolder {
            path: spec.cwd.clone(),
        });
    }
    let program = find_program(&spec.command, &spec.cwd, spec.env.get("PATH"))?;
    let guard = spec.guard_exe.clone().unwrap_or_else(own_executable);
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where an agent's guard is started"
    )]
    let mut command = Command::new(&guard);
    command
        .arg(SUBCOMMAND)
        .arg("--")
        .arg(&program)
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Away from our own group: an interrupt from the terminal is for us, and we end agents in order.
        .process_group(0);
    for (name, _) in env::vars_os() {
        if is_ours(&name)
            || spec
                .env_remove
                .iter()
                .any(|removed| name == removed.as_str())
        {
            command.env_remove(&name);
        }
    }
    // A question to an operator may stay open for two hours, and Claude gives tools a minute without this.
    command.env("MCP_TOOL_TIMEOUT", "7200000").envs(&spec.env);
    if let Some(lock) = &spec.lock {
        command.env(LOCK_VARIABLE, lock);
    }
    let failed = |reason: String| LaunchError::Guard {
        path: guard.clone(),
        reason,
    };
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok(AgentProcess {
            child: Guarded { child },
            stdin,
            stdout,
            stderr,
        }),
        _ => Err(failed("its streams are not connected".to_owned())),
    }
}

impl Guarded {
    /// Waits for the end of the process, and brings it about when `stop` is cancelled.
    pub(crate) async fn wait_or_end(mut self, stop: &CancellationToken) -> Exit {
        let status = tokio::select! {
            biased;
            status = self.child.wait() => status,
            () = stop.cancelled() => self.end().await,
        };
        match status {
            Ok(status) => exit(status),
            Err(error) => {
                tracing::warn!(%error, "an agent's end could not be waited for");
                Exit {
                    code: None,
                    signal: None,
                }
            }
        }
    }

    async fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // Gone already is as good.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        match time::timeout(GUARD_LIMIT, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                tracing::warn!("a guard did not end its agent in time and is ended itself");
                self.child.kill().await?;
                self.child.wait().await
            }
        }
    }
}

/// The guard passes on how its agent ended: its code, or 128 and the signal's number, as shells do.
fn exit(status: ExitStatus) -> Exit {
    match status.code() {
        Some(code @ 129..=192) => Exit {
            code: None,
            signal: Some(code - 128),
        },
        code => Exit {
            code,
            signal: status.signal(),
        },
    }
}

fn is_ours(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("FLIGHTDECK_")
}

/// Our own executable. A new build may have replaced the file under a running server; the kernel still has the old
/// one, which is the one whose subcommands we know.
fn own_executable() -> PathBuf {
    match env::current_exe() {
        Ok(path) if path.exists() => path,
        _ => PathBuf::from("/proc/self/exe"),
    }
}

/// The whole path of a program: a name is looked up in `path`, or else in our own; a relative path is taken from `cwd`.
pub(crate) fn find_program(
    command: &str,
    cwd: &Path,
    path: Option<&String>,
) -> Result<PathBuf, LaunchError> {
    let command = command.to_owned();
    if command.is_empty() {
        return Err(LaunchError::CommandNotFound { command });
    }
    if command.contains('/') {
        let path = cwd.join(&command);
        let path = std::path::absolute(&path).unwrap_or(path);
        return match runnable(&path) {
            Ok(()) => Ok(path),
            Err(None) => Err(LaunchError::CommandNotFound { command }),
            Err(Some(reason)) => Err(LaunchError::NotExecutable { command, reason }),
        };
    }
    let path = path
        .map(Into::into)
        .or_else(|| env::var_os("PATH"))
        .unwrap_or_default();
    let mut refused = None;
    for folder in env::split_paths(&path) {
        let candidate = folder.join(&command);
        match runnable(&candidate) {
            Ok(()) => return Ok(std::path::absolute(&candidate).unwrap_or(candidate)),
            Err(Some(reason)) => refused = Some(reason),
            Err(None) => {}
        }
    }
    match refused {
        Some(reason) => Err(LaunchError::NotExecutable { command, reason }),
        None => Err(LaunchError::CommandNotFound { command }),
    }
}

/// Whether there is a program; `Err(None)` when there is nothing at all.
fn runnable(path: &Path) -> Result<(), Option<String>> {
    match fs::metadata(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(None)
        }
        Err(error) => Err(Some(error.to_string())),
        Ok(found) if !found.is_file() => Err(Some("it is no file".to_owned())),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            Err(Some("it is not marked as executable".to_owned()))
        }
        Ok(_) => Ok(()),
    }
}
