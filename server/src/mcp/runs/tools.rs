//! How the contract's tools are listed: names, words for models, schemas, hints.

use super::super::tool::{ContractTool, Hints};
use super::answers;
use domain::run::view::Detail;
use domain::run::{RunGroup, RunStatus};
use serde_json::{Value, json};

pub(in crate::mcp) fn tools() -> Vec<ContractTool> {
    vec![
        ContractTool {
            name: "run_task",
            title: "Run a task",
            description: "Start a coding agent on a task and get its taskId at once; the work goes on without this call. The outcome \
                          is what the user wants, not the id: call check_task with the returned taskId and sessionKey, again and \
                          again, until continuePolling is false, then tell the user the result. Skip the loop only when the user \
                          wants to fire and forget, or to dispatch several tasks before waiting for each. Pass sessionKey to go on \
                          with an earlier thread, or to answer a task whose status is needs_human. A timeout is no failure: never \
                          start the task a second time because of one.",
            input: json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "What is to be done, complete in itself; at most 100 kB."},
                    "context": {"type": "string", "description": "Background, put before the task."},
                    "sessionKey": {"type": "string", "description": "The thread to go on with, from an earlier answer. Left out: a new thread."},
                    "agent": {"type": "string", "description": "Which agent, by its short name such as \"demo\"; a wrong name is answered \
                                                                  with the list. Left out: the usual one, or the thread's."},
                    "senderName": {"type": "string", "description": "The person on whose behalf this is asked; a label, no authority."},
                    "idempotencyKey": {"type": "string", "description": "A key of your own: the same call under the same key is the same task."},
                    "allowDuplicate": {"type": "boolean", "description": "Start it although the same task is being worked on. Default: false."},
                },
                "required": ["task"],
            }),
            output: output(&["duplicate", "message"]),
            hints: Hints::Writes,
            open_world: true,
            run: |call| Box::pin(answers::run(call)),
        },
        ContractTool {
            name: "check_task",
            title: "Wait for a task",
            description: "Wait for a task of run_task, up to 45 seconds, and get its result when it is done. While continuePolling is \
                          true the task goes on and nothing is wrong: call check_task again at once with the same ids, as often as \
                          it takes. It ends early when the task is over or needs somebody. Do not start a new task because a wait \
                          ran out.",
            input: json!({
                "type": "object",
                "properties": {
                    "taskId": {"type": "string", "description": "The task, as run_task returned it."},
                    "jobId": {"type": "string", "description": "The same id under its older name."},
                    "sessionKey": {"type": "string", "description": "The thread; its latest task, when no id is given."},
                    "agent": {"type": "string", "description": "Only a hint; may be left out."},
                    "waitMs": {"type": "number", "description": "How long to wait at most, in milliseconds; moved into what the server allows \
                                                                  (usually 1000 to 55000). Default: 45000. 0 answers at once."},
                    "mode": {"enum": ["wait", "poll"], "description": "poll also returns when the log grows, for live display. Default: wait."},
                    "logCursor": {"type": "integer", "description": "With poll: the logCursor seen last."},
                    "knownLogCount": {"type": "integer", "description": "With poll: how many log entries were seen."},
                },
            }),
            output: output(&["waitedMs", "timedOut"]),
            hints: Hints::Reads,
            open_world: false,
            run: |call| Box::pin(answers::check(call)),
        },
        ContractTool {
            name: "get_task",
            title: "Look at a task",
            description: "Read the state of a task at this moment, without waiting. For debugging and displays; to get a result, use \
                          check_task, which waits for it.",
            input: json!({
                "type": "object",
                "properties": {
                    "taskId": {"type": "string", "description": "The task."},
                    "jobId": {"type": "string", "description": "The same id under its older name."},
                    "sessionKey": {"type": "string", "description": "The thread; its latest task, when no id is given."},
                    "detail": {
                        "enum": Detail::ALL.iter().map(|detail| detail.as_str()).collect::<Vec<_>>(),
                        "description": "How much: core, summary (default), updates (with the log), artifacts, diagnostics, prompt (what was \
                                        asked), full, fullWithDiagnostics.",
                    },
                    "logCursor": {"type": "integer", "description": "With a log: only entries after this one."},
                },
            }),
            output: output(&[]),
            hints: Hints::Reads,
            open_world: false,
            run: |call| Box::pin(answers::get(call)),
        },
        ContractTool {
            name: "list_tasks",
            title: "List tasks",
            description: "List the tasks that this client has started, newest first, with where each stands. The place to find work \
                          again whose ids were lost.",
            input: json!({
                "type": "object",
                "properties": {
                    "view": {"enum": ["active", "all"], "description": "active: what is not over, which is the default. all: everything kept."},
                    "sessionKey": {"type": "string", "description": "Only tasks of this thread."},
                    "agent": {"type": "string", "description": "Only tasks of this agent."},
                    "limit": {"type": "integer", "description": "At most so many, 1 to 200. Default: 50."},
                    "cursor": {"type": "string", "description": "nextCursor of the page before."},
                },
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "tasks": {"type": "array", "items": output(&[])},
                    "nextCursor": {"type": ["string", "null"]},
                    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                },
            }),
            hints: Hints::Reads,
            open_world: false,
            run: |call| Box::pin(answers::list(call)),
        },
        ContractTool {
            name: "cancel_task",
            title: "Cancel a task",
            description: "Stop a task of run_task. What its agent has done so far stays, its thread can be gone on with, and cancelling \
                          again changes nothing.",
            input: json!({
                "type": "object",
                "properties": {
                    "taskId": {"type": "string", "description": "The task."},
                    "jobId": {"type": "string", "description": "The same id under its older name."},
                    "sessionKey": {"type": "string", "description": "The thread; its latest task, when no id is given."},
                },
            }),
            output: output(&[]),
            hints: Hints::DestroysOnce,
            open_world: false,
            run: |call| Box::pin(answers::cancel(call)),
        },
    ]
}

/// The result of a tool about one run. An answer that was refused has `code` and `message` and the call to make next.
fn output(more: &[&str]) -> Value {
    let statuses: Vec<&str> = RunStatus::ALL
        .iter()
        .map(|status| status.as_str())
        .collect();
    let groups: Vec<&str> = RunGroup::ALL.iter().map(|group| group.as_str()).collect();
    let text = json!({"type": ["string", "null"]});
    let mut properties = json!({
        "taskId": {"type": "string"},
        "jobId": {"type": "string"},
        "sessionKey": {"type": "string"},
        "agent": {"type": "string"},
        "status": {"enum": statuses},
        "group": {"enum": groups},
        "phase": {"type": "string"},
        "createdAt": text, "startedAt": text, "lastEventAt": text, "completedAt": text,
        "elapsedSeconds": {"type": "integer"},
        "pollCount": {"type": "integer"},
        "isTerminal": {"type": "boolean"},
        "isError": {"type": "boolean"},
        "continuePolling": {"type": "boolean", "description": "Call check_task again with the same ids."},
        "retryAfterMs": {"type": "integer"},
        "nextAction": {
            "type": ["object", "null"],
            "properties": {
                "tool": {"type": "string"},
                "args": {"type": "object"},
                "needs": {"type": "array", "items": {"type": "string"}},
                "askUser": {"type": "string"},
            },
        },
        "summary": text,
        "error": text,
        "errorInfo": {"type": ["object", "null"]},
        "artifacts": {"type": ["object", "null"]},
        "continuation": {"type": ["object", "null"]},
        "pending": {"type": ["object", "null"], "description": "The question that the task waits for a person to answer."},
        "code": {"type": "string"},
        "message": {"type": "string"},
        "hint": {"type": "string"},
    });
    for name in more {
        let kind = match *name {
            "duplicate" | "timedOut" => "boolean",
            "waitedMs" => "integer",
            _ => "string",
        };
        properties[*name] = json!({"type": kind});
    }
    json!({"type": "object", "properties": properties})
}
