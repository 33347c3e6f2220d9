//! The tasks that own a process's streams.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
    time,
};
use tokio_util::sync::CancellationToken;

use super::{Connection, Outgoing, SHOWN_LINE, STDERR_TAIL, lock};
use crate::{
    acp::{
        LINE_LIMIT,
        lines::{Line, LineReader, cut},
        process::{AgentStderr, AgentStdin, AgentStdout},
    },
    event::AgentEvent,
};

/// How long the streams of an ended process may stay silent before they are given up. They normally end with the
/// process; a descendant that slipped away could hold them open.
const SILENCE: Duration = Duration::from_secs(1);

pub(super) async fn write_lines(
    mut stdin: AgentStdin,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    stop: CancellationToken,
) {
    loop {
        // What was sent before the wish to stop still goes out, a cancel above all.
        let next = tokio::select! {
            biased;
            next = lines.recv() => next,
            () = stop.cancelled() => None,
        };
        let Some(Outgoing { mut line, written }) = next else {
            break;
        };
        line.push('\n');
        let flushed = tokio::select! {
            biased;
            flushed = write_line(&mut stdin, &line) => flushed,
            () = stop.cancelled() => break,
        };
        match flushed {
            Ok(()) => {
                if let Some(written) = written {
                    let _ = written.send(());
                }
            }
            // The process closed its input: it is about to end, or useless. The supervisor sees the end.
            Err(error) => {
                tracing::debug!(%error, "an agent no longer reads its input");
                break;
            }
        }
    }
    // Dropping the input is what tells the guard, and by it the agent, that the conversation is over.
}

async fn write_line(stdin: &mut (impl AsyncWrite + Unpin), line: &str) -> io::Result<()> {
    stdin.write_all(line.as_bytes()).await?;
    stdin.flush().await
}

pub(super) async fn read_lines(
    connection: Arc<Connection>,
    stdout: AgentStdout,
    events: mpsc::Sender<AgentEvent>,
    drain: CancellationToken,
) {
    let mut lines = LineReader::new(stdout, LINE_LIMIT);
    loop {
        let line = tokio::select! {
            biased;
            () = connection.noticed.notified() => {
                connection.pass_notices_on(&events).await;
                continue;
            }
            line = lines.next() => line,
            () = silence(&drain) => break,
        };
        match line {
            Ok(Some(line)) => connection.receive(line, &events).await,
            Ok(None) | Err(_) => break,
        }
    }
    // The process may live on without its output: let it have the rest of the notices as they come.
    loop {
        tokio::select! {
            biased;
            () = connection.noticed.notified() => connection.pass_notices_on(&events).await,
            () = drain.cancelled() => break,
        }
    }
}

pub(super) async fn listen(
    connection: Arc<Connection>,
    stderr: AgentStderr,
    events: mpsc::Sender<AgentEvent>,
    drain: CancellationToken,
) {
    let mut lines = LineReader::new(stderr, LINE_LIMIT);
    loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line,
            () = silence(&drain) => break,
        };
        let line = match line {
            Ok(Some(Line::Text(text))) if text.trim().is_empty() => continue,
            Ok(Some(Line::Text(text))) => cut(&text, SHOWN_LINE),
            Ok(Some(Line::Oversized { bytes })) => format!("[a line of {bytes} bytes]"),
            Ok(None) | Err(_) => break,
        };
        {
            let mut tail = lock(&connection.stderr_tail);
            tail.push_back(line.clone());
            if tail.len() > STDERR_TAIL {
                tail.pop_front();
            }
        }
        // Chatter is dropped rather than allowed to hold anybody up; the tail keeps the end of it.
        let _ = events.try_send(AgentEvent::Stderr { line });
    }
}

/// Resolves when the process is gone and nothing came for a while.
async fn silence(drain: &CancellationToken) {
    drain.cancelled().await;
    time::sleep(SILENCE).await;
}
