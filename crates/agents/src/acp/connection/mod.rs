//! The wire: JSON-RPC 2.0, one message a line, over a process's standard streams.
//!
//! Four tasks share one [`Connection`]: the *writer* owns standard input, the *reader* owns standard output and is the
//! only one that sends events (but for standard error), the *listener* owns standard error, and the *supervisor* owns
//! the process and outlives the others. A connection ends when the process does, and the process is ended when the
//! connection is no longer wanted ([`Connection::stop`]).

mod receive;
mod streams;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

#[cfg(test)]
pub(crate) use receive::permission_request;

use super::{error::AgentError, process::AgentProcess, replay::Replay};
use crate::event::{AgentEvent, Exit, ToolCallUpdate, ToolStatus, TurnEnd};
use crate::permission::BuiltIn;

/// Lines of standard error that are kept for error texts.
const STDERR_TAIL: usize = 40;
/// Length of a line of standard error or of junk that is passed on, in bytes.
const SHOWN_LINE: usize = 4 * 1024;
/// Announced tool calls that are remembered, to complete permission requests which name a call by its id alone.
const REMEMBERED_CALLS: usize = 64;
/// The protocol's "log in first".
pub(super) const AUTH_REQUIRED: i64 = -32000;
/// The protocol's "given up, as you asked".
const REQUEST_CANCELLED: i64 = -32800;

/// An error that the agent answered with.
#[derive(Debug, Clone)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

/// An answer to one of our requests.
pub(super) struct Answer {
    pub(super) result: Result<Value, RpcError>,
    /// What was replayed before it, when the request was one that replays.
    pub(super) replay: Option<Replay>,
}

/// The process went away before it answered.
#[derive(Debug)]
pub(super) struct Gone;

enum Pending {
    Call {
        answer: oneshot::Sender<Answer>,
        replays: bool,
    },
    Prompt {
        number: u64,
        ended: oneshot::Sender<Result<TurnEnd, AgentError>>,
    },
}

struct Outgoing {
    line: String,
    /// Told once the line is written and flushed.
    written: Option<oneshot::Sender<()>>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    pending: HashMap<u64, Pending>,
    /// Open permission requests: our key, and the id to answer with.
    permissions: Vec<(String, Value)>,
    /// What is known about tool calls that are under way, oldest first.
    calls: VecDeque<ToolCallUpdate>,
    /// There while the agent replays a conversation.
    replay: Option<Replay>,
    session_id: Option<String>,
    prompts: u64,
    prompt_open: bool,
    /// The open prompt was cancelled: permission requests that still come are answered at once.
    cancelling: bool,
    /// Events that do not come from the agent's output. The reader passes them on, so that whoever causes one never
    /// waits for the consumer of events, which may be the very same task.
    notices: Vec<AgentEvent>,
    exit: Option<Exit>,
}

/// What the tasks and the handles of one agent share.
pub(super) struct Connection {
    outgoing: mpsc::UnboundedSender<Outgoing>,
    state: Mutex<State>,
    /// There are notices in the state.
    noticed: Notify,
    stderr_tail: Mutex<VecDeque<String>>,
    /// The MCP server whose tools need no permission.
    built_in: Option<BuiltIn>,
    stop: CancellationToken,
    gone: watch::Sender<Option<Exit>>,
}

/// What [`Connection::prompt`] gives to whoever waits.
pub(super) struct OpenPrompt {
    pub(super) number: u64,
    pub(super) accepted: oneshot::Receiver<()>,
    pub(super) ended: oneshot::Receiver<Result<TurnEnd, AgentError>>,
}

impl Connection {
    /// Takes over a started process.
    pub(super) fn start(
        process: AgentProcess,
        built_in: Option<BuiltIn>,
        events: mpsc::Sender<AgentEvent>,
    ) -> Arc<Self> {
        let (outgoing, lines_out) = mpsc::unbounded_channel();
        let connection = Arc::new(Self {
            outgoing,
            state: Mutex::default(),
            noticed: Notify::new(),
            stderr_tail: Mutex::default(),
            built_in,
            stop: CancellationToken::new(),
            gone: watch::Sender::new(None),
        });
        let AgentProcess {
            child,
            stdin,
            stdout,
            stderr,
        } = process;
        tokio::spawn(streams::write_lines(
            stdin,
            lines_out,
            connection.stop.clone(),
        ));
        let drain = CancellationToken::new();
        let reader = tokio::spawn(streams::read_lines(
            Arc::clone(&connection),
            stdout,
            events.clone(),
            drain.clone(),
        ));
        let listener = tokio::spawn(streams::listen(
            Arc::clone(&connection),
            stderr,
            events.clone(),
            drain.clone(),
        ));
        let supervised = Arc::clone(&connection);
        tokio::spawn(async move {
            let exit = child.wait_or_end(&supervised.stop).await;
            supervised.gone.send_replace(Some(exit));
            drain.cancel();
            // A panic in either task must not keep the others from hearing that the process is gone.
            let _ = tokio::join!(reader, listener);
            supervised.finish(exit);
            let stderr_tail = supervised.stderr_tail();
            let _ = events.send(AgentEvent::Exited { exit, stderr_tail }).await;
        });
        connection
    }

    /// Ends the process when dropped: for whoever holds the connection without a handle yet.
    pub(super) fn stop_on_drop(&self) -> DropGuard {
        self.stop.clone().drop_guard()
    }

    /// Asks for the end of the process. Does not wait.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the process is gone.
    pub(super) async fn gone(&self) -> Exit {
        let mut gone = self.gone.subscribe();
        let exit = gone
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|exit| *exit);
        // The sender lives in `self`, so the wait cannot fail; an unknown end is still an end.
        exit.unwrap_or(Exit {
            code: None,
            signal: None,
        })
    }

    pub(super) fn stderr_tail(&self) -> Vec<String> {
        lock(&self.stderr_tail).iter().cloned().collect()
    }

    pub(super) async fn exited_error(&self) -> AgentError {
        AgentError::Exited {
            exit: self.gone().await,
            stderr_tail: self.stderr_tail(),
        }
    }

    /// From here on updates of other conversations are told apart.
    pub(super) fn set_session(&self, session_id: &str) {
        lock(&self.state).session_id = Some(session_id.to_owned());
    }

    /// Sends a request and waits for its answer. With `replays`, updates until the answer are history.
    pub(super) async fn call(
        &self,
        method: &str,
        params: &Value,
        replays: bool,
    ) -> Result<Answer, Gone> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if state.exit.is_some() {
                return Err(Gone);
            }
            let id = state.next_id();
            if replays {
                state.replay = Some(Replay::default());
            }
            state.pending.insert(id, Pending::Call { answer, replays });
            self.send(
                &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
                None,
            );
        }
        answered.await.map_err(|_| Gone)
    }

    /// Sends a prompt. Refused while another one is open or when the process is gone.
    pub(super) fn prompt(&self, params: &Value) -> Result<OpenPrompt, AgentError> {
        let (written, accepted) = oneshot::channel();
        let (answer, ended) = oneshot::channel();
        let mut state = lock(&self.state);
        if let Some(exit) = state.exit {
            return Err(AgentError::Exited {
                exit,
                stderr_tail: self.stderr_tail(),
            });
        }
        if state.prompt_open {
            return Err(AgentError::Busy);
        }
        let id = state.next_id();
        state.prompts += 1;
        state.prompt_open = true;
        state.cancelling = false;
        let number = state.prompts;
        state.pending.insert(
            id,
            Pending::Prompt {
                number,
                ended: answer,
            },
        );
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params}),
            Some(written),
        );
        Ok(OpenPrompt {
            number,
            accepted,
            ended,
        })
    }

    /// Cancels the open prompt, if there is one, and every open permission request.
    pub(super) fn cancel(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.prompt_open || state.exit.is_some() {
            return false;
        }
        state.cancelling = true;
        let params = json!({"sessionId": state.session_id});
        self.send(
            &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}),
            None,
        );
        self.cancel_permissions(&mut state);
        true
    }

    /// Answers an open permission request.
    pub(super) fn answer_permission(
        &self,
        request_id: &str,
        outcome: &Value,
    ) -> Result<(), AgentError> {
        let mut state = lock(&self.state);
        if let Some(exit) = state.exit {
            return Err(AgentError::Exited {
                exit,
                stderr_tail: self.stderr_tail(),
            });
        }
        let at = state
            .permissions
            .iter()
            .position(|(key, _)| key == request_id);
        let (_, id) = state
            .permissions
            .remove(at.ok_or(AgentError::NoSuchPermission)?);
        self.send(&answer_line(&id, outcome), None);
        Ok(())
    }

    fn send(&self, message: &Value, written: Option<oneshot::Sender<()>>) {
        // A writer that is gone drops the line, and with it `written`: whoever waits learns of it that way.
        let _ = self.outgoing.send(Outgoing {
            line: message.to_string(),
            written,
        });
    }

    /// Sends and waits until it is written. The reader answers requests this way, so that an agent which asks without
    /// reading the answers holds itself back.
    async fn send_and_wait(&self, message: &Value) {
        let (written, done) = oneshot::channel();
        self.send(message, Some(written));
        let _ = done.await;
    }

    fn cancel_permissions(&self, state: &mut State) {
        for (request_id, id) in std::mem::take(&mut state.permissions) {
            self.send(&answer_line(&id, &cancelled()), None);
            state
                .notices
                .push(AgentEvent::PermissionCancelled { request_id });
        }
        self.noticed.notify_one();
    }

    /// Fails everything that still waits.
    fn finish(&self, exit: Exit) {
        let pending = {
            let mut state = lock(&self.state);
            state.exit = Some(exit);
            state.permissions.clear();
            std::mem::take(&mut state.pending)
        };
        for waiting in pending.into_values() {
            match waiting {
                // Dropping the sender says it.
                Pending::Call { .. } => {}
                Pending::Prompt { ended, .. } => {
                    let _ = ended.send(Err(AgentError::Exited {
                        exit,
                        stderr_tail: self.stderr_tail(),
                    }));
                }
            }
        }
    }
}

impl State {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn remember(&mut self, update: ToolCallUpdate) {
        let known = self
            .calls
            .iter()
            .position(|call| call.id == update.id)
            .and_then(|at| self.calls.remove(at));
        match update.status {
            Some(ToolStatus::Completed | ToolStatus::Failed) => return,
            Some(ToolStatus::Pending | ToolStatus::InProgress) | None => {}
        }
        let merged = match known {
            Some(known) => update.completed_by(&known),
            None => update,
        };
        // Content and results are not needed to know a call again.
        self.calls.push_back(ToolCallUpdate {
            content: None,
            raw_output: None,
            ..merged
        });
        if self.calls.len() > REMEMBERED_CALLS {
            self.calls.pop_front();
        }
    }
}

pub(super) fn selected(option_id: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option_id}})
}

pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}

fn answer_line(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A lock that a panic elsewhere cannot make unusable: what it guards is only ever changed in whole steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
