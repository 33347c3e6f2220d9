//! Carrying out a call of the contract.

use super::super::tool::{Answer, Call};
use super::super::waiting::{CallRecord, WakeBy};
use super::args::Args;
use crate::error::refusal_of;
use board::{Actor, RunError, RunKey, RunResult};
use domain::run::call::{CallOutcome, ClientKind, RunTool};
use domain::run::next::NextAction;
use domain::run::refuse::RunRefusal;
use domain::run::view::{Detail, MAX_BYTES, Parts, RunView};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// When to ask again where there was no room to wait, and where the server is about to end.
const NO_ROOM_MS: u64 = 5_000;
const CLOSING_MS: u64 = 2_000;

/// The log, to see whether it has grown.
const LOG: Parts = Detail::Updates.parts();

/// A call and what is told of it.
pub(super) struct Context<'a> {
    call: &'a Call,
    pub(super) record: CallRecord<'a>,
}

impl<'a> Context<'a> {
    pub(super) fn new(call: &'a Call, tool: RunTool) -> Self {
        let info = call.context.peer.peer_info();
        let name = info.as_ref().map(|info| info.client_info.name.as_str());
        Self {
            call,
            record: CallRecord::begin(call.runs.counts(), tool, ClientKind::of(name)),
        }
    }

    fn args(&self) -> Args<'a> {
        Args(&self.call.arguments)
    }

    pub(super) fn note(&mut self, view: &RunView) {
        self.record.run = Some(view.task_id);
        self.record.status = Some(view.status);
        self.record.poll = Some(view.poll_count);
        self.record.log_events = view.logs.as_ref().map(Vec::len);
        self.record.log_cursor = view.log_cursor;
    }

    /// What a call came to, once what it rests on is durable; nothing is said before.
    pub(super) async fn settled<T>(&mut self, outcome: RunResult<T>) -> Result<T, RunRefusal> {
        let outcome = match self.call.board.settled().await {
            Ok(()) => outcome,
            Err(error) => Err(error.into()),
        };
        outcome.map_err(|error| {
            let refusal = match error {
                RunError::Refused(refusal) => *refusal,
                RunError::Board(error) => RunRefusal::from(refusal_of(error)),
            };
            self.record.outcome = CallOutcome::Refused;
            self.record.error = Some(refusal.code);
            refusal
        })
    }

    /// The answer to a call that was carried out, or refused.
    async fn answer(mut self, outcome: RunResult<(Value, CallOutcome)>) -> Answer {
        let answer = match self.settled(outcome).await {
            Ok((value, outcome)) => {
                self.record.outcome = outcome;
                let is_error = value["isError"] == json!(true);
                Answer { value, is_error }
            }
            Err(refusal) => Answer {
                value: refused(&refusal),
                is_error: true,
            },
        };
        self.record.bytes = answer.value.to_string().len();
        answer
    }

    /// Notes that an outcome is handed out. That it does not happen must not keep anybody from the outcome.
    pub(super) async fn note_retrieval(&mut self, view: &RunView) {
        if !view.is_terminal {
            return;
        }
        match self.call.board.run_retrieved(view.task_id).await {
            Ok(first) => self.record.first_retrieval = first,
            Err(error) => {
                refusal_of(error);
            }
        }
    }
}

fn refused(refusal: &RunRefusal) -> Value {
    let mut value = json!({
        "code": refusal.code,
        "message": refusal.message,
        "isError": true,
        "continuePolling": false,
        "nextAction": refusal.next,
    });
    for (name, given) in [
        ("field", refusal.field.map(|field| json!(field))),
        ("activeTaskId", refusal.active.map(|id| json!(id))),
        (
            "hint",
            refusal
                .latest
                .map(|id| json!(format!("The latest task of this sessionKey is {id}."))),
        ),
    ] {
        if let Some(given) = given {
            value[name] = given;
        }
    }
    value
}

pub(super) async fn run(call: Call) -> Answer {
    let mut context = Context::new(&call, RunTool::Run);
    let outcome = start(&call, &mut context).await;
    context.answer(outcome).await
}

async fn start(call: &Call, context: &mut Context<'_>) -> RunResult<(Value, CallOutcome)> {
    let wanted = context.args().run_task()?;
    let started = call.board.run_start(&call.actor, &wanted).await?;
    let mut view = started.view;
    context.note(&view);
    context.record.duplicate = started.duplicate;
    if view.is_terminal {
        // What its key stands for is over: the outcome is a call away.
        view.next_action = Some(NextAction::check(view.task_id, view.session_key));
    }
    let message = if started.duplicate {
        "This task was started before, so nothing new was: wait for it with check_task."
    } else if started.answered {
        "The task that waited has this answer and goes on: wait for it with check_task."
    } else {
        "The task is started and goes on by itself: wait for its outcome with check_task."
    };
    let mut value = only(
        &json!(view),
        &[
            "taskId",
            "jobId",
            "sessionKey",
            "agent",
            "status",
            "phase",
            "createdAt",
            "isTerminal",
            "continuePolling",
            "retryAfterMs",
            "nextAction",
        ],
    );
    value["duplicate"] = json!(started.duplicate);
    if let Some(id) = started.duplicate_of {
        value["duplicateOf"] = json!(id);
    }
    value["continuation"] = json!({
        "sessionKey": view.session_key,
        "lastTaskId": view.task_id,
        "recommendedNextStep": null,
    });
    value["message"] = json!(message);
    Ok((value, CallOutcome::Returned))
}

pub(super) async fn check(call: Call) -> Answer {
    let mut context = Context::new(&call, RunTool::Check);
    let outcome = wait(&call, &mut context).await;
    context.answer(outcome).await
}

/// How a wait ended.
struct Waited {
    view: RunView,
    outcome: CallOutcome,
    /// The log has grown.
    grew: bool,
}

async fn wait(call: &Call, context: &mut Context<'_>) -> RunResult<(Value, CallOutcome)> {
    let args = context.args();
    let target = args.target()?;
    let polls = args.polls()?;
    let seen = (args.number("logCursor")?, args.number("knownLogCount")?);
    let target_ms = call.runs.bounds().target(args.wait_ms());
    context.record.requested_wait_ms = args.wait_ms().and_then(Value::as_u64);
    let key = call.board.run_key(&call.actor, &target).await?;
    context.record.run = Some(key.id);
    let began = Instant::now();
    let scale = call.patience.run_wait_divisor.max(1);
    let deadline = began + Duration::from_millis(target_ms) / scale;
    let waited = wait_until(call, key, deadline, polls.then_some(seen)).await?;
    let elapsed = began.elapsed() * scale;
    let waited_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    context.record.waited_ms = Some(waited_ms);
    context.note(&waited.view);
    if waited.view.continue_polling {
        let mut view = call.board.run_of_key(&call.actor, key, LOG).await?;
        let mut value = brief(&view);
        value["logCount"] = json!(view.log_event_count);
        if polls {
            let after = seen.0.unwrap_or_default();
            let mut logs = view.logs.take().unwrap_or_default();
            logs.retain(|entry| entry.cursor > after);
            value["logs"] = json!(logs);
            value["logCursor"] = json!(view.log_cursor);
        }
        value["timedOut"] = json!(!waited.grew);
        value["retryAfterMs"] = json!(match waited.outcome {
            CallOutcome::Limited => NO_ROOM_MS,
            CallOutcome::Closing => CLOSING_MS,
            CallOutcome::Returned
            | CallOutcome::TimedOut
            | CallOutcome::Disconnected
            | CallOutcome::Refused => 0,
        });
        value["waitedMs"] = json!(waited_ms);
        value["waitTargetMs"] = json!(target_ms);
        return Ok((value, waited.outcome));
    }
    let view = call
        .board
        .run_of_key(&call.actor, key, Parts::OUTCOME)
        .await?;
    context.note_retrieval(&view).await;
    Ok((closing(&view, waited_ms, target_ms), waited.outcome))
}

/// What a wait ends with that need not be made again.
pub(super) fn closing(view: &RunView, waited_ms: u64, target_ms: u64) -> Value {
    let mut value = json!(view);
    value["timedOut"] = json!(false);
    value["waitedMs"] = json!(waited_ms);
    value["waitTargetMs"] = json!(target_ms);
    value
}

/// Waits until the run needs no more waiting, or its log has grown past what `seen` says, or there is no more time.
async fn wait_until(
    call: &Call,
    key: RunKey,
    deadline: Instant,
    seen: Option<(Option<i64>, Option<i64>)>,
) -> RunResult<Waited> {
    let waits = call.runs.waits();
    let Actor::External { token } = call.actor else {
        return Err(RunRefusal::forbidden().into());
    };
    let by = if seen.is_some() {
        WakeBy::Anything
    } else {
        WakeBy::Standing
    };
    // First the place in the table, then the look: what happens in between wakes us.
    let mut waiter = waits.enter(token, key.task, by);
    call.board.run_polled(key).await?;
    let parts = if seen.is_some() {
        LOG
    } else {
        Detail::Core.parts()
    };
    let look = async || call.board.run_of_key(&call.actor, key, parts).await;
    let mut view = look().await?;
    // Who says nothing of what it has seen has seen what is there now.
    let seen = seen.map(|(cursor, count)| match (cursor, count) {
        (None, None) => (view.log_cursor, None),
        given => given,
    });
    let progress = call.tell_progress(
        call.patience.run_progress,
        "the task goes on; this call waits for it",
    );
    tokio::pin!(progress);
    let outcome = loop {
        let grew = seen.is_some_and(|(cursor, count)| {
            view.log_cursor.unwrap_or_default() > cursor.unwrap_or(i64::MAX - 1)
                || count.is_some_and(|count| view.log_event_count.unwrap_or_default() > count)
                || (cursor.is_none() && count.is_none() && view.log_cursor.is_some())
        });
        if grew || !view.continue_polling {
            return Ok(Waited {
                view,
                outcome: CallOutcome::Returned,
                grew,
            });
        }
        if Instant::now() >= deadline {
            break CallOutcome::TimedOut;
        }
        let Some(waiter) = &mut waiter else {
            break if waits.is_closing() {
                CallOutcome::Closing
            } else {
                CallOutcome::Limited
            };
        };
        tokio::select! {
            () = waiter.woken() => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = waits.closing() => break CallOutcome::Closing,
            () = &mut progress => break CallOutcome::Disconnected,
            () = call.gone.cancelled() => break CallOutcome::Disconnected,
            () = call.context.ct.cancelled() => break CallOutcome::Disconnected,
        }
        view = look().await?;
    };
    Ok(Waited {
        view,
        outcome,
        grew: false,
    })
}

/// A run that goes on, in few words: the answer is repeated many times, and each copy stays in a model's context.
fn brief(view: &RunView) -> Value {
    only(
        &json!(view),
        &[
            "taskId",
            "jobId",
            "sessionKey",
            "agent",
            "status",
            "phase",
            "elapsedSeconds",
            "pollCount",
            "latestUpdate",
            "isTerminal",
            "isError",
            "continuePolling",
            "nextAction",
            "hint",
        ],
    )
}

fn only(value: &Value, names: &[&str]) -> Value {
    let mut kept = Map::new();
    for name in names {
        if let Some(field) = value.get(*name) {
            kept.insert((*name).to_owned(), field.clone());
        }
    }
    Value::Object(kept)
}

pub(super) async fn get(call: Call) -> Answer {
    let mut context = Context::new(&call, RunTool::Get);
    let outcome = read(&call, &mut context).await;
    context.answer(outcome).await
}

async fn read(call: &Call, context: &mut Context<'_>) -> RunResult<(Value, CallOutcome)> {
    let args = context.args();
    let target = args.target()?;
    let parts = args.detail()?.parts();
    let after = args.number("logCursor")?;
    let view = call
        .board
        .run_get(&call.actor, &target, parts, after)
        .await?;
    context.note(&view);
    if parts.summary {
        context.note_retrieval(&view).await;
    }
    Ok((json!(view), CallOutcome::Returned))
}

pub(super) async fn list(call: Call) -> Answer {
    let mut context = Context::new(&call, RunTool::List);
    let outcome = rows(&call, &mut context).await;
    context.answer(outcome).await
}

async fn rows(call: &Call, context: &mut Context<'_>) -> RunResult<(Value, CallOutcome)> {
    let params = context.args().list()?;
    let mut list = call.board.run_list(&call.actor, &params).await?;
    // What does not fit is the next page.
    while json!(list.tasks).to_string().len() > MAX_BYTES && list.tasks.len() > 1 {
        list.tasks.truncate(list.tasks.len().div_ceil(2));
        list.next_cursor = list.tasks.last().map(domain::run::view::Row::id);
    }
    context.record.tasks = Some(list.tasks.len());
    let value = json!({
        "tasks": list.tasks,
        "nextCursor": list.next_cursor,
        "counts": list
            .counts
            .iter()
            .map(|(status, number)| (status.as_str().to_owned(), json!(number)))
            .collect::<Map<_, _>>(),
    });
    Ok((value, CallOutcome::Returned))
}

pub(super) async fn cancel(call: Call) -> Answer {
    let mut context = Context::new(&call, RunTool::Cancel);
    let outcome = stop(&call, &mut context).await;
    context.answer(outcome).await
}

async fn stop(call: &Call, context: &mut Context<'_>) -> RunResult<(Value, CallOutcome)> {
    let target = context.args().target()?;
    let view = call.board.run_cancel(&call.actor, &target).await?;
    context.note(&view);
    Ok((json!(view), CallOutcome::Returned))
}
