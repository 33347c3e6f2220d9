//! Tools by which an agent says what is done by itself about the pull and merge requests of its task. They are listed with the
//! provider of the task's repositories alone.

use super::tool::{Call, Hints, Outcome, Tool, optional_id, to_json};
use board::RequestTarget;
use domain::change_request::{ChangeRequestView, UpdateAutomation};
use domain::error::Refusal;
use domain::ids::{RepositoryId, TaskId};
use domain::repository::Provider;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "get_task_pr_automation_kandev",
            title: "Get pull request automation",
            description: "Show the pull requests that your task cares for: what is done about each by itself, and how it stood when \
                          GitHub was asked last.",
            input: json!({
                "type": "object",
                "properties": {
                    "repository_id": repository_id(),
                    "pr_number": number("The pull request's number, together with repository_id. All when both are left out."),
                },
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(get_pull(call)),
        },
        Tool {
            name: "update_task_pr_automation_kandev",
            title: "Update pull request automation",
            description: "Say what is done by itself about a pull request of your task. Name it by repository_id and pr_number once \
                          it is open; your task cares for it from then on. Without the two, what you say holds for all that it cares \
                          for. What is left out stays.",
            input: switches(json!({
                "repository_id": repository_id(),
                "pr_number": number("The pull request's number, together with repository_id."),
            })),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_pull(call)),
        },
        Tool {
            name: "get_task_mr_automation_kandev",
            title: "Get merge request automation",
            description: "Show the merge requests that your task cares for: what is done about each by itself, and how it stood when \
                          GitLab was asked last.",
            input: json!({
                "type": "object",
                "properties": {
                    "repository_id": repository_id(),
                    "project_path": project_path(),
                    "mr_iid": number("The merge request's number within its project. All when the three are left out."),
                },
            }),
            unlisted: &[],
            hints: Hints::Reads,
            run: |call| Box::pin(get_merge(call)),
        },
        Tool {
            name: "update_task_mr_automation_kandev",
            title: "Update merge request automation",
            description: "Say what is done by itself about a merge request of your task. Name it by repository_id, project_path and \
                          mr_iid once it is open; your task cares for it from then on. Without the three, what you say holds for all \
                          that it cares for. What is left out stays.",
            input: switches(json!({
                "repository_id": repository_id(),
                "project_path": project_path(),
                "mr_iid": number("The merge request's number within its project, together with the two others."),
            })),
            unlisted: &[],
            hints: Hints::WritesOnce,
            run: |call| Box::pin(update_merge(call)),
        },
    ]
}

fn repository_id() -> Value {
    json!({"type": "string", "format": "uuid", "description": "A repository that your task is about, as full UUID."})
}

fn project_path() -> Value {
    json!({"type": "string", "description": "The repository's path on GitLab, such as group/name."})
}

fn number(description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": description})
}

/// The five switches and the words, beside what names the request.
fn switches(named: Value) -> Value {
    let mut input = json!({
        "type": "object",
        "properties": {
            "auto_fix_enabled": {"type": "boolean", "description": "Prompt your task with failed checks, remarks of others and conflicts, \
                                 each once."},
            "auto_merge_enabled": {"type": "boolean", "description": "Merge it as soon as nothing stands in the way."},
            "prompt_on_review_requested": {"type": "boolean", "description": "Prompt your task when the review of the user is asked for \
                                           in whose name Flightdeck looks."},
            "prompt_on_merged": {"type": "boolean", "description": "Prompt your task once when it was merged."},
            "prompt_on_closed": {"type": "boolean", "description": "Prompt your task once when it was closed and not merged."},
            "auto_fix_prompt_override": {"type": ["string", "null"], "description": "What your task is asked to do about what is to be \
                                         fixed, in the place of the usual words. Null or nothing takes it back."},
        },
    });
    if let (Some(properties), Value::Object(named)) = (input["properties"].as_object_mut(), named) {
        properties.extend(named);
    }
    input
}

#[derive(Deserialize)]
struct PullArgs {
    repository_id: Option<String>,
    pr_number: Option<i64>,
    #[serde(flatten)]
    change: UpdateAutomation,
}

impl PullArgs {
    fn named(&self) -> Result<Option<(RepositoryId, i64)>, Refusal> {
        let repository = optional_id("repository_id", self.repository_id.as_deref())?;
        match (repository, self.pr_number) {
            (Some(repository), Some(number)) => Ok(Some((repository, number))),
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err(Refusal::validation(
                "give repository_id and pr_number together, or neither of them",
            )),
        }
    }
}

#[derive(Deserialize)]
struct MergeArgs {
    repository_id: Option<String>,
    project_path: Option<String>,
    mr_iid: Option<i64>,
    #[serde(flatten)]
    change: UpdateAutomation,
}

impl MergeArgs {
    fn named(&self) -> Result<Option<(RepositoryId, &str, i64)>, Refusal> {
        let repository = optional_id("repository_id", self.repository_id.as_deref())?;
        let path = self
            .project_path
            .as_deref()
            .filter(|path| !path.trim().is_empty());
        match (repository, path, self.mr_iid) {
            (Some(repository), Some(path), Some(number)) => Ok(Some((repository, path, number))),
            (None, None, None) => Ok(None),
            (_, _, _) => Err(Refusal::validation(
                "give repository_id, project_path and mr_iid together, or none of them",
            )),
        }
    }
}

async fn get_pull(call: Call) -> Outcome {
    let args: PullArgs = call.read()?;
    let named = args.named()?;
    show(&call, Provider::Github, named).await
}

async fn get_merge(call: Call) -> Outcome {
    let args: MergeArgs = call.read()?;
    let named = args.named()?;
    let named = named.map(|(repository, _, number)| (repository, number));
    show(&call, Provider::Gitlab, named).await
}

async fn show(call: &Call, provider: Provider, named: Option<(RepositoryId, i64)>) -> Outcome {
    let (task, _) = call.actor.require_agent()?;
    let requests = call
        .board
        .change_requests(&call.actor, task, Some(provider))
        .await?;
    Ok(answer(task, provider, &requests, named))
}

async fn update_pull(call: Call) -> Outcome {
    let args: PullArgs = call.read()?;
    let named = args.named()?;
    let target = match named {
        None => RequestTarget::All(Provider::Github),
        Some((repository, number)) => RequestTarget::One {
            provider: Some(Provider::Github),
            repository,
            project_path: None,
            number,
        },
    };
    change(&call, Provider::Github, target, &args.change).await
}

async fn update_merge(call: Call) -> Outcome {
    let args: MergeArgs = call.read()?;
    let target = match args.named()? {
        None => RequestTarget::All(Provider::Gitlab),
        Some((repository, path, number)) => RequestTarget::One {
            provider: Some(Provider::Gitlab),
            repository,
            project_path: Some(path),
            number,
        },
    };
    change(&call, Provider::Gitlab, target, &args.change).await
}

async fn change(
    call: &Call,
    provider: Provider,
    target: RequestTarget<'_>,
    change: &UpdateAutomation,
) -> Outcome {
    let (task, _) = call.actor.require_agent()?;
    let requests = call
        .board
        .change_request_automate(&call.actor, task, target, change)
        .await?;
    Ok(answer(task, provider, &requests, None))
}

/// The requests under the names that the tools' parameters have.
fn answer(
    task: TaskId,
    provider: Provider,
    requests: &[ChangeRequestView],
    named: Option<(RepositoryId, i64)>,
) -> Value {
    let number = if provider == Provider::Gitlab {
        "mr_iid"
    } else {
        "pr_number"
    };
    let requests: Vec<Value> = requests
        .iter()
        .filter(|request| {
            named.is_none_or(|named| named == (request.repository_id, request.number))
        })
        .map(|request| {
            let mut shown = to_json(request);
            if let Some(fields) = shown.as_object_mut()
                && let Some(value) = fields.remove("number")
            {
                fields.insert(number.to_owned(), value);
            }
            shown
        })
        .collect();
    json!({"task_id": task, "total": requests.len(), "requests": requests})
}
