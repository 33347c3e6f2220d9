//! Workflows as documents: what one installation writes and another reads. No ids and no times are in them; steps name one another
//! by their place, and profiles are named by their names.
//!
//! A document is read whole or not at all: what it does not know it refuses, since a workflow that does something else than it says
//! is worse than none.

use crate::error::Refusal;
use crate::ids::{ProfileId, StepId, WorkflowId};
use crate::params::UpdateStep;
use crate::steps::{MAX_STEPS, changed};
use crate::workflow::{StageType, Step, StepEvents, Workflow, blank};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Longest document, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;
/// Most workflows of one document.
const MAX_WORKFLOWS: usize = 20;
/// The only version there is.
const VERSION: u32 = 1;
/// What the document says it is.
const KIND: &str = "kandev_workflow";

/// A document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowDocument {
    /// [`VERSION`].
    pub version: u32,
    /// [`KIND`].
    #[serde(rename = "type")]
    pub kind: String,
    /// What it holds.
    pub workflows: Vec<PortableWorkflow>,
}

impl WorkflowDocument {
    /// The document that holds these.
    #[must_use]
    pub fn of(workflows: Vec<PortableWorkflow>) -> Self {
        Self {
            version: VERSION,
            kind: KIND.to_owned(),
            workflows,
        }
    }
}

/// A workflow without what belongs to one installation only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableWorkflow {
    /// See [`Workflow`].
    pub name: String,
    /// See [`Workflow`].
    #[serde(default)]
    pub description: String,
    /// See [`Workflow`].
    #[serde(default)]
    pub prompt: String,
    /// See [`Workflow`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_profile: Option<ProfileName>,
    /// First to last.
    pub steps: Vec<PortableStep>,
}

/// A profile by its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileName {
    /// The agent's.
    pub agent: String,
    /// The profile's, among those of the agent.
    pub profile: String,
}

/// A step without what belongs to one installation only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableStep {
    /// See [`Step`].
    pub name: String,
    /// See [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// See [`Step`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// See [`StepEvents`]; the target of `move_to_step` is `step_position`, from 0.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub events: Map<String, Value>,
    /// See [`Step`].
    #[serde(default = "yes")]
    pub allow_manual_move: bool,
    /// See [`Step`].
    #[serde(default)]
    pub is_start_step: bool,
    /// See [`Step`].
    #[serde(default = "yes")]
    pub show_in_command_panel: bool,
    /// See [`Step`].
    #[serde(default)]
    pub auto_archive_after_hours: i64,
    /// See [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_profile: Option<ProfileName>,
    /// See [`Step`].
    #[serde(default)]
    pub wip_limit: i64,
    /// The place of the step that feeds this one, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_from_step_position: Option<usize>,
    /// See [`Step`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_type: Option<StageType>,
    /// See [`Step`].
    #[serde(default)]
    pub auto_advance_requires_signal: bool,
    /// See [`Step`].
    #[serde(default)]
    pub cancel_triggers_turn_complete: bool,
}

const fn yes() -> bool {
    true
}

/// A workflow as a document; `name` knows profiles by their ids.
#[must_use]
pub fn export(
    workflow: &Workflow,
    steps: &[Step],
    name: impl Fn(ProfileId) -> Option<ProfileName>,
) -> WorkflowDocument {
    let place = |id: StepId| steps.iter().position(|step| step.id == id);
    let steps = steps
        .iter()
        .map(|step| PortableStep {
            name: step.name.clone(),
            color: Some(step.color.clone()),
            prompt: step.prompt.clone(),
            events: portable(&step.events, place, &name),
            allow_manual_move: step.allow_manual_move,
            is_start_step: step.is_start_step,
            show_in_command_panel: step.show_in_command_panel,
            auto_archive_after_hours: step.auto_archive_after_hours,
            agent_profile: step.agent_profile_id.and_then(&name),
            wip_limit: step.wip_limit,
            pull_from_step_position: step.pull_from_step_id.and_then(place),
            stage_type: Some(step.stage_type),
            auto_advance_requires_signal: step.auto_advance_requires_signal,
            cancel_triggers_turn_complete: step.cancel_triggers_turn_complete,
        })
        .collect();
    WorkflowDocument::of(vec![PortableWorkflow {
        name: workflow.name.clone(),
        description: workflow.description.clone(),
        prompt: workflow.prompt.clone(),
        agent_profile: workflow.agent_profile_id.and_then(&name),
        steps,
    }])
}

/// Events with places and names in the place of ids; moments without actions are left out. An action whose target is gone does
/// nothing, and goes.
fn portable(
    events: &StepEvents,
    place: impl Fn(StepId) -> Option<usize>,
    name: impl Fn(ProfileId) -> Option<ProfileName>,
) -> Map<String, Value> {
    let Ok(Value::Object(moments)) = serde_json::to_value(events) else {
        return Map::new();
    };
    let mut kept = Map::new();
    for (moment, actions) in moments {
        let Value::Array(actions) = actions else {
            continue;
        };
        let actions: Vec<Value> = actions
            .into_iter()
            .filter_map(|mut action| {
                if action["type"] == "move_to_step" {
                    let target = action["config"]["step_id"].as_str()?.parse().ok()?;
                    action["config"] = json!({"step_position": place(target)?});
                }
                if let Some(config) = action["config"].as_object_mut()
                    && let Some(id) = config.remove("agent_profile_id")
                {
                    let named = name(id.as_str()?.parse().ok()?)?;
                    config.insert("agent_profile".to_owned(), json!(named));
                }
                Some(action)
            })
            .collect();
        if !actions.is_empty() {
            kept.insert(moment, Value::Array(actions));
        }
    }
    kept
}

/// Reads a document out of the data that its text holds.
pub fn read(data: Value) -> Result<WorkflowDocument, Refusal> {
    for (field, wanted) in [("type", json!(KIND)), ("version", json!(VERSION))] {
        if data.get(field) != Some(&wanted) {
            return Err(Refusal::validation(format!(
                "document: {field} must be {wanted}: this is no workflow that can be read here"
            )));
        }
    }
    let document: WorkflowDocument = serde_json::from_value(data)
        .map_err(|error| Refusal::validation(format!("document: {error}")))?;
    let count = document.workflows.len();
    if count == 0 || count > MAX_WORKFLOWS {
        return Err(Refusal::validation(format!(
            "document: it holds {count} workflows and may hold 1 to {MAX_WORKFLOWS}"
        )));
    }
    Ok(document)
}

/// The steps that a document's workflow becomes; `profile` knows profiles by their names. The rules are those for any step.
pub fn build(
    workflow: &PortableWorkflow,
    id: WorkflowId,
    profile: impl Fn(&ProfileName) -> Result<ProfileId, Refusal>,
) -> Result<Vec<Step>, Refusal> {
    let count = workflow.steps.len();
    if count > MAX_STEPS {
        return Err(Refusal::validation(format!(
            "\"{}\" has {count} steps and may have {MAX_STEPS}",
            workflow.name
        )));
    }
    if workflow
        .steps
        .iter()
        .filter(|step| step.is_start_step)
        .count()
        > 1
    {
        return Err(Refusal::validation(format!(
            "\"{}\" has several start steps: work starts in one",
            workflow.name
        )));
    }
    let mut steps: Vec<Step> = (0..count)
        .map(|at| Step {
            position: i64::try_from(at).unwrap_or(i64::MAX),
            ..blank(StepId::new(), id)
        })
        .collect();
    for (at, step) in workflow.steps.iter().enumerate() {
        let in_step = |refusal: Refusal| {
            Refusal::validation(format!(
                "\"{}\", step {at} (\"{}\"): {}",
                workflow.name, step.name, refusal.message
            ))
        };
        let change = wish(step, &steps, &profile).map_err(in_step)?;
        steps[at] = changed(&steps[at], &change, &steps).map_err(in_step)?;
    }
    Ok(steps)
}

fn wish(
    step: &PortableStep,
    steps: &[Step],
    profile: impl Fn(&ProfileName) -> Result<ProfileId, Refusal>,
) -> Result<UpdateStep, Refusal> {
    let at = |place: usize| {
        steps.get(place).map(|step| step.id).ok_or_else(|| {
            Refusal::validation(format!(
                "there is no step {place}: the first is 0, the last {}",
                steps.len() - 1
            ))
        })
    };
    Ok(UpdateStep {
        name: Some(step.name.clone()),
        position: None,
        color: step.color.clone(),
        prompt: Some(step.prompt.clone()),
        events: Some(settled(&step.events, at, &profile)?),
        allow_manual_move: Some(step.allow_manual_move),
        is_start_step: Some(step.is_start_step),
        show_in_command_panel: Some(step.show_in_command_panel),
        stage_type: step.stage_type,
        wip_limit: Some(step.wip_limit),
        pull_from_step_id: Some(step.pull_from_step_position.map(at).transpose()?),
        auto_archive_after_hours: Some(step.auto_archive_after_hours),
        agent_profile_id: Some(step.agent_profile.as_ref().map(profile).transpose()?),
        auto_advance_requires_signal: Some(step.auto_advance_requires_signal),
        cancel_triggers_turn_complete: Some(step.cancel_triggers_turn_complete),
    })
}

/// Events with ids in the place of places and names.
fn settled(
    events: &Map<String, Value>,
    at: impl Fn(usize) -> Result<StepId, Refusal>,
    profile: impl Fn(&ProfileName) -> Result<ProfileId, Refusal>,
) -> Result<StepEvents, Refusal> {
    let mut settled = Map::new();
    for (moment, actions) in events {
        let known = [
            "on_enter",
            "on_turn_start",
            "on_turn_complete",
            "on_exit",
            "on_children_completed",
        ];
        let Value::Array(actions) = actions else {
            return Err(Refusal::validation(format!(
                "events: {moment} must be a list"
            )));
        };
        if !known.contains(&moment.as_str()) {
            return Err(Refusal::validation(format!(
                "events must be among {}",
                known.join(", ")
            )));
        }
        let mut list = Vec::new();
        for action in actions {
            let mut action = action.clone();
            if action["type"] == "move_to_step" {
                let place = action["config"]["step_position"]
                    .as_u64()
                    .and_then(|place| usize::try_from(place).ok())
                    .ok_or_else(|| {
                        Refusal::validation("events: move_to_step needs a step_position")
                    })?;
                action["config"] = json!({"step_id": at(place)?});
            }
            if let Some(config) = action.get_mut("config").and_then(Value::as_object_mut) {
                if config.contains_key("agent_profile_id") {
                    return Err(Refusal::validation(
                        "events: an id means nothing elsewhere: name the profile as agent_profile, by agent and profile",
                    ));
                }
                if let Some(named) = config.remove("agent_profile") {
                    let named: ProfileName = serde_json::from_value(named).map_err(|error| {
                        Refusal::validation(format!("events: agent_profile: {error}"))
                    })?;
                    config.insert("agent_profile_id".to_owned(), json!(profile(&named)?));
                }
            }
            list.push(action);
        }
        settled.insert(moment.clone(), Value::Array(list));
    }
    serde_json::from_value(Value::Object(settled))
        .map_err(|error| Refusal::validation(format!("events: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::WorkspaceId;
    use crate::time::Timestamp;
    use crate::workflow::{EnterAction, QueuedRun, kanban_steps};

    fn workflow() -> Workflow {
        Workflow {
            id: WorkflowId::new(),
            workspace_id: WorkspaceId::new(),
            name: "Kanban".to_owned(),
            description: "How we work.".to_owned(),
            prompt: "Be brief.".to_owned(),
            agent_profile_id: Some(ProfileId::new()),
            sort_order: 3,
            hidden: false,
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(2),
        }
    }

    fn name() -> ProfileName {
        ProfileName {
            agent: "Claude".to_owned(),
            profile: "Careful".to_owned(),
        }
    }

    fn document() -> WorkflowDocument {
        let workflow = workflow();
        let mut steps = kanban_steps(workflow.id);
        steps[1].pull_from_step_id = Some(steps[0].id);
        steps[1].wip_limit = 3;
        steps[2].agent_profile_id = Some(ProfileId::new());
        steps[3].events.on_enter = vec![
            EnterAction::RunCodeReview(QueuedRun {
                agent_profile_id: Some(ProfileId::new()),
                prompt: None,
            }),
            EnterAction::QueueRun(QueuedRun::default()),
        ];
        export(&workflow, &steps, |_| Some(name()))
    }

    #[test]
    fn what_is_written_is_read_again_without_ids_and_times() {
        let document = document();
        let text = serde_json::to_string(&document).unwrap();
        for hidden in ["_id\"", "\"id\"", "_at\"", "-"] {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
        let again = read(serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again, document);
        let profile = ProfileId::new();
        let id = WorkflowId::new();
        let steps = build(&again.workflows[0], id, |asked| {
            assert_eq!(*asked, name());
            Ok(profile)
        })
        .unwrap();
        assert_eq!(steps[1].pull_from_step_id, Some(steps[0].id));
        let rebuilt = Workflow { id, ..workflow() };
        assert_eq!(export(&rebuilt, &steps, |_| Some(name())), document);
    }

    #[test]
    fn little_is_needed() {
        let data = json!({"version": 1, "type": "kandev_workflow", "workflows": [{"name": "A", "steps": [{"name": "B"}]}]});
        let document = read(data).unwrap();
        let id = WorkflowId::new();
        let steps = build(&document.workflows[0], id, |_| {
            panic!("no profile is named")
        })
        .unwrap();
        let plain = Step {
            name: "B".to_owned(),
            ..blank(steps[0].id, id)
        };
        assert_eq!(steps, [plain]);
    }

    #[test]
    fn bad_documents_are_refused_with_the_place_that_is_wrong() {
        let good = serde_json::to_value(document()).unwrap();
        let no_profile =
            |_: &ProfileName| Err::<ProfileId, _>(Refusal::validation("no such profile"));
        let refused = |path: &str, value: Value| {
            let mut data = good.clone();
            *data.pointer_mut(path).unwrap() = value;
            read(data)
                .and_then(|document| {
                    build(&document.workflows[0], WorkflowId::new(), |_| {
                        Ok(ProfileId::new())
                    })
                })
                .unwrap_err()
                .message
        };
        for (path, value, says) in [
            ("/version", json!(2), "version must be 1"),
            ("/type", json!("else"), "type must be"),
            ("/workflows", json!([]), "holds 0 workflows"),
            (
                "/workflows/0/steps/0",
                json!({"name": "A", "id": "x"}),
                "unknown field `id`",
            ),
            (
                "/workflows/0/steps/0/name",
                json!(" "),
                "step 0 (\" \"): name is required",
            ),
            (
                "/workflows/0/steps/0/wip_limit",
                json!(-1),
                "wip_limit must be 0",
            ),
            (
                "/workflows/0/steps/0/is_start_step",
                json!(true),
                "several start steps",
            ),
            (
                "/workflows/0/steps/0/events",
                json!({"on_entry": []}),
                "events must be among",
            ),
            (
                "/workflows/0/steps/0/events",
                json!({"on_enter": [{"type": "fly"}]}),
                "events: unknown variant",
            ),
            (
                "/workflows/0/steps/0/events",
                json!({"on_enter": [{"type": "queue_run", "config": {"agent_profile_id": ProfileId::new(), "prompt": "x"}}]}),
                "name the profile as agent_profile",
            ),
            (
                "/workflows/0/steps/0/events",
                json!({"on_turn_start": [{"type": "move_to_step", "config": {"step_position": 9}}]}),
                "there is no step 9",
            ),
            (
                "/workflows/0/steps/1/pull_from_step_position",
                json!(1),
                "cannot feed itself",
            ),
        ] {
            let said = refused(path, value);
            assert!(said.contains(says), "{path}: {said}");
        }
        let document = read(good).unwrap();
        let said = build(&document.workflows[0], WorkflowId::new(), no_profile)
            .unwrap_err()
            .message;
        assert!(
            said.contains("step 2 (\"Review\"): no such profile"),
            "{said}"
        );
    }
}
