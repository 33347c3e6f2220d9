//! MCP's own tasks (the extension `io.modelcontextprotocol/tasks` of protocol 2026-07-28): a second view of the same runs.
//!
//! Nothing is kept here. A task is a run under its own id, read with the methods that the tools use, so one that a tool started
//! can be read natively and the other way round. What needs an answer is asked of clients that can ask their user; for others it
//! stays a task that goes on, with a sentence that says what it waits for.

use super::super::tool::{Answer, Call, object};
use super::answers::{Context, closing};
use board::{Actor, Board, RunResult};
use clap::ValueEnum;
use domain::clarification::ClarificationAnswer;
use domain::question::Question;
use domain::run::RunStatus;
use domain::run::ask::{RunTarget, answers};
use domain::run::call::{CallOutcome, RunTool};
use domain::run::refuse::{RunErrorCode, RunRefusal};
use domain::run::view::{Detail, Parts, Pending, RunView};
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, CreateTaskResult, DetailedTask, GetTaskResult, InputRequests,
    InputResponses, Task, TaskPayload, TaskStatus,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The tool whose answer may be a native task.
const STARTS: &str = "run_task";

/// When a client is to look again, in milliseconds.
const LOOK_AGAIN_MS: u64 = 2_000;

/// Whether runs are shown as MCP's own tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NativeTasks {
    /// No: the extension is not offered.
    Off,
    /// They can be read, answered and cancelled so; `run_task` answers as it does to everybody.
    #[default]
    On,
    /// For a client that knows the extension `run_task` makes a native task, whose result its model gets without any polling of
    /// its own.
    Auto,
}

/// Whether the answer to a call is to be a native task.
pub(in crate::mcp) fn is_handed_out(
    mode: NativeTasks,
    tool: &str,
    context: &RequestContext<RoleServer>,
) -> bool {
    // Revisions before it cannot tell a task from a result, whatever a client says that it knows.
    let newest = context.meta.protocol_version().is_some();
    mode == NativeTasks::Auto
        && tool == STARTS
        && newest
        && context
            .client_capabilities()
            .is_some_and(|can| can.supports_tasks())
}

/// The task that an answer of `run_task` speaks of; `None` when it speaks of none.
pub(in crate::mcp) async fn handed_out(
    board: &Board,
    actor: &Actor,
    answer: &Answer,
) -> Option<CreateTaskResult> {
    let id = answer.value.get("taskId")?.as_str()?;
    let target = named(id);
    let view = board.run_get(actor, &target, Detail::Core.parts(), None);
    Some(CreateTaskResult::new(task(board, &view.await.ok()?)))
}

/// `tasks/get`.
pub(in crate::mcp) async fn get(call: Call, id: &str) -> Result<GetTaskResult, ErrorData> {
    let mut context = Context::new(&call, RunTool::NativeGet);
    let outcome = call
        .board
        .run_get(&call.actor, &named(id), Parts::OUTCOME, None)
        .await;
    let view = context.told(outcome).await?;
    let can_ask = call
        .context
        .client_capabilities()
        .as_ref()
        .is_some_and(asks);
    Ok(GetTaskResult::new(detailed(&call.board, &view, can_ask)))
}

/// `tasks/cancel`: cancelling again changes nothing.
pub(in crate::mcp) async fn cancel(call: Call, id: &str) -> Result<(), ErrorData> {
    let mut context = Context::new(&call, RunTool::NativeCancel);
    let outcome = call.board.run_cancel(&call.actor, &named(id)).await;
    context.told(outcome).await.map(drop)
}

/// `tasks/update`: answers to what the task asked. The first answer to a question counts; keys that are not asked any more are
/// passed over.
pub(in crate::mcp) async fn update(
    call: Call,
    id: &str,
    responses: &InputResponses,
) -> Result<(), ErrorData> {
    let mut context = Context::new(&call, RunTool::NativeUpdate);
    let outcome = answer(&call, id, responses).await;
    context.told(outcome).await.map(drop)
}

async fn answer(call: &Call, id: &str, responses: &InputResponses) -> RunResult<RunView> {
    let view = call
        .board
        .run_get(&call.actor, &named(id), Detail::Core.parts(), None)
        .await?;
    if let Some(pending) = &view.pending
        && let Some(response) = responses.get(&pending.id.to_string())
        && let Some(answer) = answer_of(&pending.questions, response)?
    {
        call.board
            .clarification_respond(&call.actor, pending.id, &answer)
            .await?;
    }
    Ok(view)
}

/// What a user said to an elicitation; nothing when they only looked away.
fn answer_of(
    questions: &[Question],
    response: &Value,
) -> Result<Option<ClarificationAnswer>, RunRefusal> {
    match response["action"].as_str() {
        Some("accept") => {
            let said = |question: &Question| response["content"][&question.id].as_str();
            answers(questions, "inputResponses", said).map(Some)
        }
        Some("decline") => Ok(Some(ClarificationAnswer {
            rejected: true,
            ..ClarificationAnswer::default()
        })),
        Some("cancel") => Ok(None),
        _ => Err(RunRefusal::invalid(
            "inputResponses",
            "a response to an elicitation has an action: accept, decline or cancel",
        )),
    }
}

impl Context<'_> {
    /// A run for a native answer. One that is unknown, or somebody else's, is the same protocol error.
    async fn told(&mut self, outcome: RunResult<RunView>) -> Result<RunView, ErrorData> {
        match self.settled(outcome).await {
            Ok(view) => {
                self.note(&view);
                self.note_retrieval(&view).await;
                self.record.outcome = CallOutcome::Returned;
                Ok(view)
            }
            Err(refusal) if refusal.code == RunErrorCode::Internal => {
                Err(ErrorData::internal_error(refusal.message, None))
            }
            Err(refusal) => Err(ErrorData::invalid_params(refusal.message, None)),
        }
    }
}

fn named(id: &str) -> RunTarget {
    RunTarget {
        task_id: Some(id.to_owned()),
        ..RunTarget::default()
    }
}

/// Whether a client can put a form to its user.
fn asks(can: &ClientCapabilities) -> bool {
    can.elicitation
        .as_ref()
        .is_some_and(|it| it.form.is_some() || it.url.is_none())
}

/// What all of MCP's answers say of a run.
fn task(board: &Board, view: &RunView) -> Task {
    let status = match view.status {
        RunStatus::Queued | RunStatus::Running | RunStatus::NeedsHuman | RunStatus::Blocked => {
            TaskStatus::Working
        }
        RunStatus::Completed | RunStatus::CompletedNoSummary | RunStatus::Error => {
            TaskStatus::Completed
        }
        RunStatus::Cancelled => TaskStatus::Cancelled,
    };
    let changed = [view.started_at, view.last_event_at, view.completed_at]
        .into_iter()
        .flatten()
        .fold(view.created_at, Ord::max);
    let mut task = Task::new(
        view.task_id.to_string(),
        status,
        view.created_at.to_rfc3339(),
        changed.to_rfc3339(),
    )
    .with_status_message(message(view))
    .with_poll_interval_ms(LOOK_AGAIN_MS);
    // While it goes on nothing forgets it.
    task.ttl_ms = view.completed_at.and_then(|ended| {
        let kept = ended.since(view.created_at) + board.settings().runs.kept_ms;
        u64::try_from(kept).ok()
    });
    task
}

fn message(view: &RunView) -> String {
    if let Some(pending) = &view.pending {
        let asked: Vec<&str> = pending
            .questions
            .iter()
            .map(|it| it.prompt.as_str())
            .collect();
        return format!(
            "The agent asks, and is answered in Flightdeck: {}",
            asked.join(" ")
        );
    }
    let waits_for = view.next_action.as_ref().and_then(|next| next.ask_user());
    match view.status {
        RunStatus::Queued | RunStatus::Running => match &view.latest_update {
            Some(update) => format!("{}: {}", view.phase, update.text),
            None => view.phase.to_owned(),
        },
        RunStatus::NeedsHuman | RunStatus::Blocked => {
            waits_for.or(view.hint).unwrap_or_default().to_owned()
        }
        RunStatus::Completed
        | RunStatus::CompletedNoSummary
        | RunStatus::Error
        | RunStatus::Cancelled => view.hint.unwrap_or_default().to_owned(),
    }
}

fn detailed(board: &Board, view: &RunView, can_ask: bool) -> DetailedTask {
    let payload = match view.status {
        RunStatus::NeedsHuman => match view.pending.as_ref().filter(|_| can_ask).and_then(form) {
            Some(input_requests) => TaskPayload::InputRequired { input_requests },
            None => TaskPayload::Working,
        },
        RunStatus::Queued | RunStatus::Running | RunStatus::Blocked => TaskPayload::Working,
        RunStatus::Completed | RunStatus::CompletedNoSummary | RunStatus::Error => {
            let answer = Answer {
                value: closing(view, 0, 0),
                is_error: view.is_error,
            };
            TaskPayload::Completed {
                result: object(json!(answer.into_result())),
            }
        }
        RunStatus::Cancelled => TaskPayload::Cancelled,
    };
    DetailedTask::new(task(board, view), payload)
}

/// A bundle of questions as one form, under the bundle's id.
fn form(pending: &Pending) -> Option<InputRequests> {
    let fields: Map<String, Value> = pending
        .questions
        .iter()
        .map(|question| (question.id.clone(), field(question)))
        .collect();
    let required: Vec<&str> = pending.questions.iter().map(|it| it.id.as_str()).collect();
    let words = match (&pending.context, pending.questions.as_slice()) {
        (Some(context), _) => context.clone(),
        (None, [only]) => only.prompt.clone(),
        (None, _) => "The agent has questions.".to_owned(),
    };
    let request = json!({pending.id.to_string(): {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": words,
            "requestedSchema": {"type": "object", "properties": fields, "required": required},
        },
    }});
    serde_json::from_value(request).ok()
}

/// A choice where only options may be chosen; otherwise a text, which may be the label of one.
fn field(question: &Question) -> Value {
    let mut field = json!({"type": "string", "description": question.prompt});
    if let Some(title) = &question.title {
        field["title"] = json!(title);
    }
    if question.options.is_empty() {
        return field;
    }
    if question.allow_custom_text {
        let labels: Vec<&str> = question
            .options
            .iter()
            .map(|it| it.label.as_str())
            .collect();
        let words = format!("{} ({})", question.prompt, labels.join(", "));
        field["description"] = json!(words);
    } else {
        field["oneOf"] = question
            .options
            .iter()
            .map(|option| json!({"const": option.id, "title": option.label}))
            .collect();
    }
    field
}
