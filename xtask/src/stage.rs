//! Runs the long steps and says how they go.
//!
//! On a terminal a command's own output passes through, so that Cargo's progress is seen. Elsewhere it is kept back:
//! a line at the start, one now and then while it runs, one at the end, and the last lines of output when it failed.
//! Either way the whole output of each step goes to `target/xtask-logs/<step>.log`.

use std::io::{IsTerminal, Read, Write};
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::project;

/// How often a quiet step says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Lines of a failed step that are shown where its output was kept back.
const TAIL_LINES: usize = 60;

/// What failed so far, to be said once more at the end.
static FAILED: Mutex<Vec<Failed>> = Mutex::new(Vec::new());

/// A step whose command failed.
struct Failed {
    name: String,
    /// The last lines that it printed.
    tail: String,
}

/// How a command ended.
pub(crate) struct Ended {
    /// Whether it exited with zero.
    pub(crate) success: bool,
    /// Everything it printed, both streams, without colours.
    pub(crate) text: String,
}

/// Runs `command` as the step `name`. Fails only when it cannot be run at all.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<Ended> {
    let terminal = std::io::stdout().is_terminal();
    let started = Instant::now();
    println!("▸ {name}");
    if terminal {
        // Behind our pipe Cargo would not think of a terminal by itself.
        command
            .env("CARGO_TERM_COLOR", "always")
            .env("CARGO_TERM_PROGRESS_WHEN", "always")
            .env("CARGO_TERM_PROGRESS_WIDTH", "100");
    }
    let (mut reader, writer) = std::io::pipe()?;
    command
        .stdin(std::process::Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let program = command.get_program().to_owned();
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    // The command holds the pipe's writing end too; the reader would never see its end.
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());

    let (sender, chunks) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(length @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut output = Vec::new();
    let mut spoken = Instant::now();
    let mut status = None;
    loop {
        match chunks.recv_timeout(Duration::from_millis(200)) {
            Ok(chunk) => {
                if terminal {
                    let mut out = std::io::stdout();
                    out.write_all(&chunk)?;
                    out.flush()?;
                }
                output.extend(chunk);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            // A grandchild that outlives the command may hold the pipe open: the command's own end counts.
            Err(RecvTimeoutError::Timeout) if status.is_some() => break,
            Err(RecvTimeoutError::Timeout) => status = child.try_wait()?,
        }
        if !terminal && spoken.elapsed() > HEARTBEAT {
            spoken = Instant::now();
            println!("  … {}  {}", shown(started.elapsed()), last_line(&output));
        }
    }
    let status = match status {
        Some(status) => status,
        None => child.wait()?,
    };
    let text = without_colours(&String::from_utf8_lossy(&output));
    keep_log(name, &text)?;
    finish(name, started.elapsed(), status.success());
    if !status.success() {
        let lines: Vec<_> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n  │ ");
        if !terminal {
            println!("  │ {tail}");
        }
        let name = name.to_owned();
        failed().push(Failed { name, tail });
    }
    Ok(Ended {
        success: status.success(),
        text,
    })
}

/// Runs `command` as the step `name` and gives its output; fails when the command does.
pub(crate) fn must(name: &str, command: &mut Command) -> Result<String> {
    let ended = run(name, command)?;
    if !ended.success {
        bail!(
            "{name} failed; its output is in {}",
            log_file(name).display()
        );
    }
    Ok(ended.text)
}

/// Prints the last lines of each step that failed once more: the output of a long run is often seen from its end only.
pub(crate) fn say_what_failed() {
    for Failed { name, tail } in failed().drain(..) {
        println!("\n✗ {name}, whole in {}", log_file(&name).display());
        println!("  │ {tail}");
    }
}

fn failed() -> std::sync::MutexGuard<'static, Vec<Failed>> {
    FAILED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Does `work` as the step `name`.
pub(crate) fn work<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let started = Instant::now();
    println!("▸ {name}");
    let result = work();
    finish(name, started.elapsed(), result.is_ok());
    result
}

/// A duration as people say it.
pub(crate) fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

fn finish(name: &str, took: Duration, success: bool) {
    let mark = if success { '✓' } else { '✗' };
    println!("{mark} {name}  {}", shown(took));
}

fn log_file(name: &str) -> std::path::PathBuf {
    let slug: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    project::root()
        .join("target/xtask-logs")
        .join(format!("{slug}.log"))
}

fn keep_log(name: &str, text: &str) -> Result<()> {
    crate::files::write_if_changed(&log_file(name), text.as_bytes())?;
    Ok(())
}

fn last_line(output: &[u8]) -> String {
    let tail = String::from_utf8_lossy(&output[output.len().saturating_sub(400)..]).into_owned();
    let line = tail
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    line.trim().chars().take(100).collect()
}

/// Drops terminal control sequences.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                // A control sequence ends with its first letter; a choice of character set has one sign more.
                Some('[') => drop(rest.by_ref().find(char::is_ascii_alphabetic)),
                Some('(' | ')') => drop(rest.next()),
                _ => {}
            },
            '\r' => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_dropped() {
        assert_eq!(
            without_colours("\u{1b}[1m\u{1b}[32mok\u{1b}(B\u{1b}[m\r\n\u{1b}[Kx"),
            "ok\nx"
        );
    }

    #[test]
    fn times_read_naturally() {
        assert_eq!(shown(Duration::from_millis(1234)), "1.2 s");
        assert_eq!(shown(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_command_reports_both_streams_and_its_end() {
        let ended = run(
            "a test of stage run",
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
        )
        .unwrap();
        assert!(!ended.success);
        assert!(
            ended.text.contains("out") && ended.text.contains("err"),
            "{}",
            ended.text
        );
    }

    #[test]
    fn a_grandchild_that_stays_does_not_hold_the_step() {
        let started = Instant::now();
        let ended = run(
            "another test of stage run",
            Command::new("sh").args(["-c", "sleep 60 & echo done"]),
        )
        .unwrap();
        assert!(ended.success && ended.text.contains("done"));
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
