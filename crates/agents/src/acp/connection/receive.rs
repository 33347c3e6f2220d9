//! Understanding what an agent writes: one line after the other, in order, nothing refused.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{
    AUTH_REQUIRED, Answer, Connection, Pending, REQUEST_CANCELLED, RpcError, SHOWN_LINE,
    answer_line, cancelled, lock, selected,
};
use crate::{
    acp::{
        error::AgentError,
        lines::{Line, cut},
        normalise::{self, normalise},
    },
    event::{AgentEvent, PermissionRequest, StopReason, ToolCallUpdate, TurnEnd, TurnOutcome},
};

/// JSON-RPC's "this method does not exist here".
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC's "this makes no sense".
const INVALID_PARAMS: i64 = -32602;

impl Connection {
    /// Understands one line of output and says what to pass on.
    pub(super) async fn receive(&self, line: Line, events: &mpsc::Sender<AgentEvent>) {
        let text = match line {
            Line::Oversized { bytes } => {
                return emit(events, AgentEvent::OversizedLine { bytes }).await;
            }
            Line::Text(text) => text,
        };
        if text.trim().is_empty() {
            return;
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(batch)) if !batch.is_empty() => {
                for message in batch {
                    self.receive_message(message, events).await;
                }
            }
            Ok(message @ Value::Object(_)) => self.receive_message(message, events).await,
            _ => emit(events, junk(&text)).await,
        }
    }

    async fn receive_message(&self, message: Value, events: &mpsc::Sender<AgentEvent>) {
        let id = message.get("id").cloned();
        let params = message.get("params").unwrap_or(&Value::Null);
        match (normalise::string(&message, "method"), id) {
            (Some(method), Some(id)) => self.receive_request(&method, id, params, events).await,
            (Some(method), None) => self.receive_notification(&method, params, events).await,
            (None, Some(id))
                if message.get("result").is_some() || message.get("error").is_some() =>
            {
                self.receive_answer(&id, message, events).await;
            }
            (None, _) => emit(events, junk(&message.to_string())).await,
        }
    }

    async fn receive_request(
        &self,
        method: &str,
        id: Value,
        params: &Value,
        events: &mpsc::Sender<AgentEvent>,
    ) {
        if method != "session/request_permission" {
            // Files and terminals are not offered; an agent that asks all the same is told so and goes on.
            let message = format!("Flightdeck does not offer {method}");
            self.send_and_wait(&error_line(&id, METHOD_NOT_FOUND, &message))
                .await;
            return emit(events, unknown(method, params)).await;
        }
        let request_id = id.to_string();
        let Some(mut request) = permission_request(request_id.clone(), params) else {
            self.send_and_wait(&error_line(
                &id,
                INVALID_PARAMS,
                "a permission request needs a toolCall",
            ))
            .await;
            return emit(events, unknown(method, params)).await;
        };
        let (answer, event) = {
            let mut state = lock(&self.state);
            if let Some(known) = state
                .calls
                .iter()
                .find(|call| call.id == request.tool_call.id)
            {
                request.tool_call = request.tool_call.completed_by(known);
            }
            let allowed = self
                .built_in
                .as_ref()
                .and_then(|built_in| built_in.allows(&request));
            if state.cancelling {
                (Some(answer_line(&id, &cancelled())), None)
            } else if let Some(allowed) = allowed {
                let event = AgentEvent::PermissionAllowed {
                    tool_call_id: request.tool_call.id,
                    tool: allowed.tool,
                    option_id: allowed.option_id.clone(),
                };
                (
                    Some(answer_line(&id, &selected(&allowed.option_id))),
                    Some(event),
                )
            } else {
                state.permissions.push((request_id, id));
                (None, Some(AgentEvent::PermissionRequest(request)))
            }
        };
        if let Some(answer) = answer {
            self.send_and_wait(&answer).await;
        }
        if let Some(event) = event {
            emit(events, event).await;
        }
    }

    async fn receive_notification(
        &self,
        method: &str,
        params: &Value,
        events: &mpsc::Sender<AgentEvent>,
    ) {
        match method {
            "session/update" => {
                if let Some(event) = self.receive_update(params) {
                    emit(events, event).await;
                }
            }
            "$/cancel_request" => {
                let request_id = params
                    .get("requestId")
                    .map(Value::to_string)
                    .unwrap_or_default();
                let known = {
                    let mut state = lock(&self.state);
                    let at = state
                        .permissions
                        .iter()
                        .position(|(key, _)| *key == request_id);
                    at.map(|at| state.permissions.remove(at))
                };
                if let Some((request_id, id)) = known {
                    self.send_and_wait(&answer_line(&id, &cancelled())).await;
                    emit(events, AgentEvent::PermissionCancelled { request_id }).await;
                }
            }
            _ => emit(events, unknown(method, params)).await,
        }
    }

    /// Keeps books on an update. `None` when it is history and nobody is to hear of it.
    fn receive_update(&self, params: &Value) -> Option<AgentEvent> {
        let mut state = lock(&self.state);
        if let (Some(ours), Some(theirs)) =
            (&state.session_id, normalise::string(params, "sessionId"))
            && *ours != theirs
        {
            return Some(unknown("foreign_session", params));
        }
        let event = normalise(params.get("update").unwrap_or(params));
        if let Some(replay) = &mut state.replay {
            // The rest tells what holds now rather than what was said: modes, commands, titles, sizes.
            if let AgentEvent::UserChunk(chunk) = &event {
                replay.user_chunk(&chunk.content.text);
                return None;
            }
            if is_history(&event) {
                replay.other();
                return None;
            }
        }
        if let AgentEvent::ToolCall(call) = &event {
            state.remember(ToolCallUpdate {
                id: call.id.clone(),
                title: call.title.clone(),
                kind: Some(call.kind),
                raw_input: call.raw_input.clone(),
                meta: call.meta.clone(),
                ..ToolCallUpdate::default()
            });
        }
        if let AgentEvent::ToolCallUpdate(update) = &event {
            state.remember(update.clone());
        }
        Some(event)
    }

    async fn receive_answer(
        &self,
        id: &Value,
        mut message: Value,
        events: &mpsc::Sender<AgentEvent>,
    ) {
        // We send numbers; an agent that answers with the number as text is understood.
        let number = id
            .as_u64()
            .or_else(|| id.as_str().and_then(|text| text.parse().ok()));
        let pending = number.and_then(|number| lock(&self.state).pending.remove(&number));
        let result = match message.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(RpcError {
                code: error
                    .get("code")
                    .and_then(Value::as_i64)
                    .unwrap_or_default(),
                message: normalise::string(error, "message").unwrap_or_else(|| error.to_string()),
            }),
            None => Ok(message
                .get_mut("result")
                .map(Value::take)
                .unwrap_or_default()),
        };
        match pending {
            None => emit(events, unknown("response", &message)).await,
            Some(Pending::Call { answer, replays }) => {
                let replay = if replays {
                    lock(&self.state).replay.take()
                } else {
                    None
                };
                let _ = answer.send(Answer { result, replay });
            }
            Some(Pending::Prompt { number, ended }) => {
                let (result, notices) = {
                    let mut state = lock(&self.state);
                    let cancelled = std::mem::take(&mut state.cancelling);
                    state.prompt_open = false;
                    state.calls.clear();
                    // An agent may end its turn with questions open; nobody waits for them any more.
                    self.cancel_permissions(&mut state);
                    (
                        turn_result(result, cancelled),
                        std::mem::take(&mut state.notices),
                    )
                };
                for notice in notices {
                    emit(events, notice).await;
                }
                let outcome = match &result {
                    Ok(end) => TurnOutcome::Stopped(end.clone()),
                    Err((code, error)) => TurnOutcome::Failed {
                        code: *code,
                        message: error.to_string(),
                    },
                };
                emit(
                    events,
                    AgentEvent::TurnEnded {
                        prompt: number,
                        outcome,
                    },
                )
                .await;
                let _ = ended.send(result.map_err(|(_, error)| error));
            }
        }
    }

    /// Passes on what did not come from the agent.
    pub(super) async fn pass_notices_on(&self, events: &mpsc::Sender<AgentEvent>) {
        let notices = std::mem::take(&mut lock(&self.state).notices);
        for notice in notices {
            emit(events, notice).await;
        }
    }
}

fn junk(text: &str) -> AgentEvent {
    AgentEvent::JunkLine {
        text: cut(text, SHOWN_LINE),
    }
}

fn unknown(kind: &str, raw: &Value) -> AgentEvent {
    AgentEvent::Unknown {
        kind: kind.to_owned(),
        raw: raw.clone(),
    }
}

fn is_history(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::MessageChunk(_)
            | AgentEvent::ThoughtChunk(_)
            | AgentEvent::ToolCall(_)
            | AgentEvent::ToolCallUpdate(_)
            | AgentEvent::Plan { .. }
    )
}

/// Reads a permission request. `None` without a tool call.
pub(crate) fn permission_request(request_id: String, params: &Value) -> Option<PermissionRequest> {
    Some(PermissionRequest {
        request_id,
        tool_call: normalise::tool_call_update(params.get("toolCall")?)?,
        options: normalise::permission_options(params.get("options")),
        meta: params.get("_meta").filter(|meta| !meta.is_null()).cloned(),
    })
}

fn turn_result(
    result: Result<Value, RpcError>,
    cancelled: bool,
) -> Result<TurnEnd, (i64, AgentError)> {
    match result {
        Ok(result) => normalise::turn_end(&result).ok_or((
            0,
            AgentError::Malformed {
                reason: "the answer to session/prompt has no stopReason",
            },
        )),
        // The protocol asks for a stop reason here, and some agents answer as any cancelled request is answered.
        Err(error) if cancelled && error.code == REQUEST_CANCELLED => Ok(TurnEnd {
            stop_reason: StopReason::Cancelled,
            usage: None,
        }),
        Err(RpcError {
            code: AUTH_REQUIRED,
            message,
        }) => Err((AUTH_REQUIRED, AgentError::AuthRequired { message })),
        Err(RpcError { code, message }) => Err((code, AgentError::Refused { code, message })),
    }
}

fn error_line(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A consumer that is gone wants no events; the conversation goes on without.
pub(super) async fn emit(events: &mpsc::Sender<AgentEvent>, event: AgentEvent) {
    let _ = events.send(event).await;
}
