//! Shell scripts of an operator's, run as agents are: behind the [guard](crate::guard), so that whatever a script starts ends with it,
//! and it with us.
//!
//! A script reads nothing: its input is empty. What it prints is kept as far as an error's text needs it.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time,
};
use tokio_util::sync::CancellationToken;

use crate::{
    acp::{LaunchError, LaunchSpec, process},
    event::Exit,
};

/// Output that is kept, from its end, in bytes.
const KEPT: usize = 4 * 1024;
/// Lines of it that an error quotes.
const QUOTED: usize = 8;
/// How long the streams may stay open after the end of the process: only what the guard could not find keeps them so.
const UNTIL_CLOSED: Duration = Duration::from_secs(2);
/// Runs the script given as `$1` with an empty input, and with one output, so that what it printed last is known.
const WRAPPER: &str = "exec sh -c \"$1\" </dev/null 2>&1";

/// Everything about one run of a script.
#[derive(Debug, Clone)]
pub struct ScriptSpec {
    /// For `sh`.
    pub script: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables of ours that it must not see, beside all `FLIGHTDECK_*`.
    pub env_remove: Vec<String>,
    /// See [`LaunchSpec::guard_exe`].
    pub guard_exe: Option<PathBuf>,
    /// A file that is held locked while the script, or anything it started, is alive. A run waits for it.
    pub lock: Option<PathBuf>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Why a script did not do what it was to do. The texts go on after the script's name.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It never ran.
    #[error("could not be started: {reason}")]
    NotStarted {
        /// Why not.
        reason: String,
    },
    /// It ended with an error.
    #[error("{exit}{}", quoted(last_words))]
    Failed {
        /// How it ended.
        exit: Exit,
        /// The end of what it printed.
        last_words: String,
    },
    /// It took too long.
    #[error("did not end within {} s and was ended{}", after.as_secs(), quoted(last_words))]
    Timeout {
        /// The limit.
        after: Duration,
        /// The end of what it printed.
        last_words: String,
    },
}

/// Runs a script to its end. Dropping the future ends the script, and all that it started.
///
/// # Errors
///
/// When it cannot be started, ends with anything but success, or takes too long. It is gone then.
pub async fn run(spec: ScriptSpec) -> Result<(), ScriptError> {
    let mut launch = LaunchSpec::new("sh", spec.cwd);
    launch.args = ["-c", WRAPPER, "sh", &spec.script]
        .map(str::to_owned)
        .to_vec();
    launch.env_remove = spec.env_remove;
    launch.guard_exe = spec.guard_exe;
    launch.lock = spec.lock;
    let process = process::start(&launch).map_err(|error| not_started(&error))?;
    let printed = Arc::new(Mutex::new(VecDeque::new()));
    let reading = [
        tokio::spawn(keep(process.stdout, Arc::clone(&printed))),
        tokio::spawn(keep(process.stderr, Arc::clone(&printed))),
    ];
    let stop = CancellationToken::new();
    let ended = stop.clone();
    // A task of its own, which outlives a caller that loses patience.
    let (child, input) = (process.child, process.stdin);
    let mut running = tokio::spawn(async move {
        let exit = child.wait_or_end(&ended).await;
        drop(input);
        exit
    });
    let _stops_when_dropped = stop.clone().drop_guard();
    let in_time = time::timeout(spec.timeout, &mut running).await.ok();
    let is_late = in_time.is_none();
    let exit = match in_time {
        Some(exit) => exit,
        None => {
            stop.cancel();
            running.await
        }
    };
    for stream in reading {
        let _ = time::timeout(UNTIL_CLOSED, stream).await;
    }
    let last_words = last_words(&printed.lock().unwrap_or_else(PoisonError::into_inner));
    if is_late {
        return Err(ScriptError::Timeout {
            after: spec.timeout,
            last_words,
        });
    }
    let exit = exit.map_err(|error| ScriptError::NotStarted {
        reason: error.to_string(),
    })?;
    if exit.code == Some(0) {
        return Ok(());
    }
    Err(ScriptError::Failed { exit, last_words })
}

fn not_started(error: &LaunchError) -> ScriptError {
    ScriptError::NotStarted {
        reason: error.to_string(),
    }
}

async fn keep(mut stream: impl AsyncRead + Unpin, printed: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0; 8 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.extend(&buffer[..length]);
        let surplus = printed.len().saturating_sub(KEPT);
        printed.drain(..surplus);
    }
}

fn last_words(printed: &VecDeque<u8>) -> String {
    let bytes: Vec<u8> = printed.iter().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(QUOTED)..].join(" / ")
}

fn quoted(last_words: &str) -> String {
    if last_words.is_empty() {
        String::new()
    } else {
        format!(". Its last words: {last_words}")
    }
}
