//! The tool that writes to another task.

use super::tool::{Call, Hints, Outcome, Tool, optional_id, required_id, to_json};
use domain::params::{DeliveryMode, MessageTask};
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "message_task_kandev",
        title: "Message task",
        description: "Send a message to the agent of another task, or answer a question that a subtask has put to you. Make it \
                      complete in itself: say which task it is about and what you expect back. The status \"queued\" means that it \
                      is delivered after the present turn; nothing is lost, so do not send it again. The message_id is the one it has \
                      in that session's conversation once it is delivered. Reply only when asked or when there is something new to \
                      act on: long chains of replies are refused with \"rate_limited\".",
        input: json!({
            "type": "object",
            "properties": {
                "task_id": {"type": "string", "format": "uuid", "description": "The task to write to, as a full UUID."},
                "prompt": {"type": "string", "description": "The message, at most 256 KiB; point to files by path instead of quoting them."},
                "session_id": {"type": "string", "format": "uuid", "description": "A certain session of that task; its main one when left out."},
                "delivery_mode": {"enum": ["queued", "interrupt"], "description": "queued, which is usual: after the present turn. interrupt: end \
                                  the present turn and go first; only the direct parent of the task may."},
                "reply_to_question_id": {"type": "string", "description": "The id of the question that this answers, as given in the prompt that \
                                                                           asked it. Without it the message withdraws the question."},
                "idempotency_key": {"type": "string", "maxLength": 200, "description": "Your own word for this message. When a call is lost, repeat it \
                                    with the same key and the same words: it is sent once, and the answer is that of the first call."},
            },
            "required": ["task_id", "prompt"],
        }),
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(message(call)),
    }]
}

#[derive(Deserialize)]
struct Args {
    task_id: String,
    prompt: String,
    session_id: Option<String>,
    delivery_mode: Option<DeliveryMode>,
    reply_to_question_id: Option<String>,
    idempotency_key: Option<String>,
}

async fn message(call: Call) -> Outcome {
    let args: Args = call.read()?;
    let params = MessageTask {
        task_id: required_id("task_id", &args.task_id)?,
        prompt: args.prompt,
        session_id: optional_id("session_id", args.session_id.as_deref())?,
        delivery_mode: args.delivery_mode.unwrap_or(DeliveryMode::Queued),
        reply_to_question_id: args.reply_to_question_id,
        idempotency_key: args.idempotency_key,
    };
    Ok(to_json(
        &call.board.message_task(&call.actor, params).await?,
    ))
}
