//! The question tools. A task is given one of them or none: see `domain::profile::question_route`.

use super::tool::{Call, Hints, Outcome, Tool, to_json};
use board::{Board, BoardError};
use domain::error::Refusal;
use domain::ids::ClarificationId;
use domain::params::AskQuestions;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    vec![ask_user_tool(), ask_parent_tool()]
}

fn ask_user_tool() -> Tool {
    let mut input = bundle(true);
    input["properties"]["questions"]["description"] =
        json!("1 to 4 questions that are answered together; offer choices for each.");
    Tool {
        name: "ask_user_question_kandev",
        title: "Ask the user",
        description: "Ask your operator one to four questions, each with two to six choices, and wait for the answer in this same \
                      call; it may take up to two hours. Ask when a decision is the operator's to make; they may also answer in \
                      their own words, or skip. The result is keyed by question id; answered is false when it was skipped or nobody answered in time.",
        input,
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(ask_user(call)),
    }
}

fn ask_parent_tool() -> Tool {
    let mut input = bundle(false);
    input["properties"]["blocked_effect"] = json!({
        "type": "string",
        "description": "What stands still until the answer comes, in a sentence.",
    });
    Tool {
        name: "ask_parent_question_kandev",
        title: "Ask the parent task",
        description: "Ask the agent of your direct parent task, only for a critical decision that would change the result if it were \
                      guessed wrong. The call returns at once; it must be the last action of your turn: end the turn then, and the \
                      answer arrives as your next prompt.",
        input,
        unlisted: &[],
        hints: Hints::Writes,
        run: |call| Box::pin(ask_parent(call)),
    }
}

/// The arguments of both tools; an operator is always offered choices.
fn bundle(choices_needed: bool) -> Value {
    let mut required = vec!["prompt"];
    if choices_needed {
        required.push("options");
    }
    let mut input = json!({
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 4,
                "description": "1 to 4 questions that are answered together.",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "Unique in the bundle; q1, q2, … when left out."},
                        "title": {"type": "string", "description": "A heading of a word or two."},
                        "prompt": {"type": "string", "description": "The question, at most 4,000 characters."},
                        "options": {
                            "type": "array",
                            "maxItems": 6,
                            "description": "2 to 6 choices.",
                            "items": {
                                "anyOf": [
                                    {"type": "string", "description": "A label alone."},
                                    {
                                        "type": "object",
                                        "properties": {
                                            "id": {"type": "string", "description": "Unique in the question; made up when left out."},
                                            "label": {"type": "string", "description": "One to five words."},
                                            "description": {"type": "string", "description": "What choosing it means."},
                                        },
                                        "required": ["label"],
                                    },
                                ],
                            },
                        },
                    },
                    "required": required,
                },
            },
            "context": {"type": "string", "description": "Why it is asked, at most 16,000 characters."},
            "context_paragraphs": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The context in paragraphs; replaces context.",
            },
        },
        "required": ["questions"],
    });
    if choices_needed {
        input["properties"]["questions"]["items"]["properties"]["allow_custom_text"] = json!({
            "type": "boolean",
            "description": "false: only the options may be chosen. Default: true, the user may also answer in their own words.",
        });
    }
    input
}

async fn ask_parent(call: Call) -> Outcome {
    let params: AskQuestions = call.read()?;
    let asked = call
        .board
        .ask_parent(&call.actor, &params, &call.arguments, call.tool_use_id())
        .await?;
    Ok(to_json(&asked))
}

async fn ask_user(call: Call) -> Outcome {
    let params: AskQuestions = call.read()?;
    let id = call
        .board
        .ask_operator(&call.actor, &params, &call.arguments)
        .await?;
    // However this call ends without an answer, the question must not go on looking as if somebody waited for it.
    let mut waiting = Waiting {
        board: call.board.clone(),
        id: Some(id),
    };
    let answer = tokio::select! {
        answer = call.board.clarification_wait(id) => answer?,
        () = call.tell_progress(call.patience.progress, "waiting for the operator's answer") => return Err(nobody_waits()),
        () = call.context.ct.cancelled() => return Err(nobody_waits()),
        () = call.gone.cancelled() => return Err(nobody_waits()),
        () = tokio::time::sleep(call.patience.question) => {
            call.board.clarification_expire(id).await?;
            // Answered in the same moment, the answer is the result.
            call.board.clarification_wait(id).await?
        }
        () = call.shutdown.cancelled() => {
            return Err(Refusal::unavailable("the server is stopping; the question stays open, and an answer will come as your next prompt").into());
        }
    };
    waiting.id = None;
    Ok(answer)
}

fn nobody_waits() -> BoardError {
    Refusal::conflict("the call was cancelled; the question stays open, and an answer will come as your next prompt").into()
}

/// Detaches a question when it is dropped with nobody waiting any more, also if the call's future is simply thrown away.
struct Waiting {
    board: Board,
    id: Option<ClarificationId>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let board = self.board.clone();
        // Without a runtime the process is ending; the next start detaches what was left.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = board.clarification_detach(id).await {
                    crate::error::refusal_of(error);
                }
            });
        }
    }
}
