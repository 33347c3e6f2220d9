//! Tools by which an agent reports on its own task: the step is complete, the title.

use super::tool::{Call, Hints, Outcome, Tool, to_json};
use serde::Deserialize;
use serde_json::json;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "step_complete_kandev",
            title: "Complete step",
            description: "Say that the work of the present workflow step is whole. Call it as the last action of the turn, only when \
                          nothing is left to do or to ask in this step; a message that comes before the turn ends takes it back.",
            input: json!({
                "type": "object",
                "properties": {
                    "summary": {"type": "string", "description": "What was done, in a sentence or two."},
                    "handoff": {"type": "string", "description": "What whoever goes on should know."},
                    "blockers": {"type": "string", "description": "What stands in the way of the next step."},
                },
                "required": ["summary"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(complete(call)),
        },
        Tool {
            name: "set_task_title_kandev",
            title: "Set task title",
            description: "Give your own task its title, once, before anything else. About six words, sentence case, a phrase rather \
                          than a sentence. Not accepted when somebody has named the task meanwhile.",
            input: json!({
                "type": "object",
                "properties": {"title": {"type": "string", "description": "One line, at most 60 characters."}},
                "required": ["title"],
            }),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(set_title(call)),
        },
    ]
}

#[derive(Deserialize)]
struct CompleteArgs {
    summary: String,
    handoff: Option<String>,
    blockers: Option<String>,
}

async fn complete(call: Call) -> Outcome {
    let args: CompleteArgs = call.read()?;
    let completed = call
        .board
        .step_complete(
            &call.actor,
            &args.summary,
            args.handoff.as_deref(),
            args.blockers.as_deref(),
        )
        .await?;
    Ok(to_json(&completed))
}

#[derive(Deserialize)]
struct TitleArgs {
    title: String,
}

async fn set_title(call: Call) -> Outcome {
    let args: TitleArgs = call.read()?;
    let (task, reason) = call.board.task_set_title(&call.actor, &args.title).await?;
    let mut answer = json!({
        "accepted": reason.is_none(),
        "task_id": task.id,
        "title": task.title,
        "branch_rename": null,
    });
    if let Some(reason) = reason {
        answer["reason"] = json!(reason);
    }
    Ok(answer)
}
