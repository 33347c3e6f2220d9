//! Workflows: ordered steps, what happens on entering and leaving turns, and the built-in Kanban template.

use crate::ids::{ProfileId, StepId, WorkflowId, WorkspaceId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A workflow: an ordered list of steps within a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Instructions put before every step's prompt.
    pub prompt: String,
    /// The profile used when a step pins none.
    pub agent_profile_id: Option<ProfileId>,
    /// Order among the workspace's workflows.
    pub sort_order: i64,
    /// Not shown on boards.
    pub hidden: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

words! {
    /// A hint for the presentation of a step; it changes no rule.
    StageType("stage_type") {
        /// Work is done here.
        Work = "work",
        /// Work is looked at here.
        Review = "review",
        /// Work is approved here.
        Approval = "approval",
        /// Anything else.
        Custom = "custom",
    }
}

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// The workflow it belongs to.
    pub workflow_id: WorkflowId,
    /// Its name.
    pub name: String,
    /// Place among the steps, from 0.
    pub position: i64,
    /// A colour token.
    pub color: String,
    /// Sent as the automatic prompt on entry; `{{task_prompt}}` inserts the task's description.
    pub prompt: String,
    /// What happens on entry, turn start, turn end and exit.
    pub events: StepEvents,
    /// Operators may drag cards here.
    pub allow_manual_move: bool,
    /// Where started tasks begin; at most one a workflow.
    pub is_start_step: bool,
    /// Offered in the command panel.
    pub show_in_command_panel: bool,
    /// Archive tasks untouched for so many hours; 0 never.
    pub auto_archive_after_hours: i64,
    /// A profile pinned to this step.
    pub agent_profile_id: Option<ProfileId>,
    /// Greatest number of admitted tasks; 0 unlimited.
    pub wip_limit: i64,
    /// The step that feeds this one.
    pub pull_from_step_id: Option<StepId>,
    /// See [`StageType`].
    pub stage_type: StageType,
    /// The end of a turn alone does not advance; `step_complete_kandev` must have been called.
    pub auto_advance_requires_signal: bool,
    /// An operator's cancel counts as the end of a turn.
    pub cancel_triggers_turn_complete: bool,
}

/// The actions of a step by the moment they run at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepEvents {
    /// After admission to the step.
    #[serde(default)]
    pub on_enter: Vec<EnterAction>,
    /// Before a message of a person or a peer starts a turn.
    #[serde(default)]
    pub on_turn_start: Vec<MoveAction>,
    /// When an agent's turn ended.
    #[serde(default)]
    pub on_turn_complete: Vec<CompleteAction>,
    /// When the card leaves the step; at once, also when it has to wait for its place in the next one.
    #[serde(default)]
    pub on_exit: Vec<PlanAction>,
    /// When all parts of the task have ended.
    #[serde(default)]
    pub on_children_completed: Vec<MoveAction>,
}

/// An action on entering a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "config", rename_all = "snake_case")]
pub enum EnterAction {
    /// Start the agent with the step's prompt.
    AutoStartAgent,
    /// The next turn begins a new conversation.
    ResetAgentContext,
    /// Set the agent's mode before its next prompt.
    SetSessionMode {
        /// A mode of the agent's.
        mode: String,
    },
    /// Choose mode and model by the agent that the session runs; see [`SessionRule`]. Not in a step that pins a profile.
    ConfigureSession {
        /// The first that is for the agent counts.
        rules: Vec<SessionRule>,
    },
    /// Tell the agent to plan with the operator before it works.
    EnablePlanMode,
    /// Forget what was decided about this step: another round begins.
    ClearDecisions,
    /// Have an agent work on the task beside its own, in a session of the step's.
    QueueRun(QueuedRun),
    /// Say the same words to every agent that has a live session on the task, each in its newest one. When the step starts the
    /// task's own agent too, that one is left out.
    QueueRunForEachParticipant(ParticipantsRun),
    /// Have an agent review the work in a session of its own and publish what it finds.
    RunCodeReview(QueuedRun),
}

/// What an agent does beside the task's own. A step may leave all of it open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<QueuedRunFields>")]
pub struct QueuedRun {
    /// Who; the agent that would be started in this step when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_profile_id: Option<ProfileId>,
    /// What it is told; `{{task_prompt}}` inserts the task's description. The step's own prompt when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// What the agents of a task are told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<ParticipantsRunFields>")]
pub struct ParticipantsRun {
    /// See [`QueuedRun::prompt`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

// An action whose fields may all be left out may be written without them: `config` itself is optional.

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QueuedRunFields {
    #[serde(default)]
    agent_profile_id: Option<ProfileId>,
    #[serde(default)]
    prompt: Option<String>,
}

impl From<Option<QueuedRunFields>> for QueuedRun {
    fn from(fields: Option<QueuedRunFields>) -> Self {
        fields.map_or_else(Self::default, |fields| Self {
            agent_profile_id: fields.agent_profile_id,
            prompt: fields.prompt,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParticipantsRunFields {
    #[serde(default)]
    prompt: Option<String>,
}

impl From<Option<ParticipantsRunFields>> for ParticipantsRun {
    fn from(fields: Option<ParticipantsRunFields>) -> Self {
        Self {
            prompt: fields.and_then(|fields| fields.prompt),
        }
    }
}

/// What an action has an agent do beside the task's own; see [`EnterAction::beside`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside<'a> {
    /// The profile that it names.
    pub agent_profile_id: Option<ProfileId>,
    /// The words that it brings along.
    pub prompt: Option<&'a str>,
}

impl EnterAction {
    /// What it gives an agent to do beside the task's own, if that is what it is for.
    #[must_use]
    pub fn beside(&self) -> Option<Beside<'_>> {
        let (agent_profile_id, prompt) = match self {
            Self::QueueRun(run) | Self::RunCodeReview(run) => (run.agent_profile_id, &run.prompt),
            Self::QueueRunForEachParticipant(run) => (None, &run.prompt),
            Self::AutoStartAgent
            | Self::ResetAgentContext
            | Self::SetSessionMode { .. }
            | Self::ConfigureSession { .. }
            | Self::EnablePlanMode
            | Self::ClearDecisions => return None,
        };
        Some(Beside {
            agent_profile_id,
            prompt: prompt.as_deref(),
        })
    }
}

/// What a step does to the configuration of a session that runs one agent. What the agent does not offer is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRule {
    /// The agent's name, whatever its case; any agent when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What to do.
    pub operation: SessionOperation,
    /// For `set`: a mode of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// For `set`: a model of the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

words! {
    /// What a [`SessionRule`] does.
    SessionOperation("operation") {
        /// Take the mode and the model that the rule names.
        Set = "set",
        /// Leave them as they are.
        Keep = "keep",
        /// Take those of the profile again.
        RestoreOriginal = "restore_original",
    }
}

/// The rule for an agent.
#[must_use]
pub fn rule_for<'a>(rules: &'a [SessionRule], agent: &str) -> Option<&'a SessionRule> {
    rules.iter().find(|rule| {
        rule.agent
            .as_deref()
            .is_none_or(|name| name.trim().eq_ignore_ascii_case(agent.trim()))
    })
}

/// The end of planning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "config", rename_all = "snake_case")]
pub enum PlanAction {
    /// Let the agent work.
    DisablePlanMode,
}

/// An action at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompleteAction {
    /// Change the step.
    Move(MoveAction),
    /// End planning.
    Plan(PlanAction),
}

impl From<MoveAction> for CompleteAction {
    fn from(action: MoveAction) -> Self {
        Self::Move(action)
    }
}

/// A change of step caused by a turn, or by the end of a task's parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "config", rename_all = "snake_case")]
pub enum MoveAction {
    /// To the step after this one; nothing at the end.
    MoveToNext,
    /// To the step before this one; nothing at the start.
    MoveToPrevious,
    /// To a named step of the same workflow.
    MoveToStep {
        /// Which one.
        step_id: StepId,
    },
}

/// A moment at which cards change their step by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnMoment {
    /// A message of a person or a peer is about to start a turn.
    Start,
    /// The turn ended.
    Complete,
    /// All parts of the task have ended.
    ChildrenCompleted,
}

impl TurnMoment {
    /// The word of the history for a move at this moment.
    #[must_use]
    pub const fn trigger(self) -> MoveTrigger {
        match self {
            Self::Start => MoveTrigger::OnTurnStart,
            Self::Complete => MoveTrigger::AutoComplete,
            Self::ChildrenCompleted => MoveTrigger::OnChildrenCompleted,
        }
    }
}

impl Step {
    /// Entering this step starts the agent.
    #[must_use]
    pub fn auto_starts(&self) -> bool {
        self.events.on_enter.contains(&EnterAction::AutoStartAgent)
    }

    /// Entering this step starts the task's agent, or gives another something to do.
    #[must_use]
    pub fn starts_something(&self) -> bool {
        let beside = |action: &EnterAction| action.beside().is_some();
        self.auto_starts() || self.events.on_enter.iter().any(beside)
    }

    /// Entering this step configures the session by its agent.
    #[must_use]
    pub fn configures_sessions(&self) -> bool {
        let configures =
            |action: &EnterAction| matches!(action, EnterAction::ConfigureSession { .. });
        self.events.on_enter.iter().any(configures)
    }

    /// The end of a turn here ends planning.
    #[must_use]
    pub fn ends_plan_on_complete(&self) -> bool {
        let end = CompleteAction::Plan(PlanAction::DisablePlanMode);
        self.events.on_turn_complete.contains(&end)
    }

    /// Leaving the step ends planning.
    #[must_use]
    pub fn ends_plan_on_exit(&self) -> bool {
        self.events.on_exit.contains(&PlanAction::DisablePlanMode)
    }

    fn moves_at(&self, moment: TurnMoment) -> Vec<&MoveAction> {
        match moment {
            TurnMoment::Start => self.events.on_turn_start.iter().collect(),
            TurnMoment::ChildrenCompleted => self.events.on_children_completed.iter().collect(),
            TurnMoment::Complete => self
                .events
                .on_turn_complete
                .iter()
                .filter_map(|action| match action {
                    CompleteAction::Move(action) => Some(action),
                    CompleteAction::Plan(_) => None,
                })
                .collect(),
        }
    }
}

/// The step a task goes to at `moment`, or `None` when it stays.
///
/// `steps` are the workflow's, in any order; a target outside of them is ignored rather than followed.
#[must_use]
pub fn step_after<'a>(current: &Step, steps: &'a [Step], moment: TurnMoment) -> Option<&'a Step> {
    let target = current
        .moves_at(moment)
        .into_iter()
        .find_map(|action| match action {
            MoveAction::MoveToNext => steps
                .iter()
                .filter(|s| s.position > current.position)
                .min_by_key(|s| s.position),
            MoveAction::MoveToPrevious => steps
                .iter()
                .filter(|s| s.position < current.position)
                .max_by_key(|s| s.position),
            MoveAction::MoveToStep { step_id } => steps.iter().find(|s| s.id == *step_id),
        })?;
    (target.id != current.id).then_some(target)
}

/// Where a started task without a step begins: the marked start step, or else the first.
#[must_use]
pub fn start_step(steps: &[Step]) -> Option<&Step> {
    steps
        .iter()
        .find(|s| s.is_start_step)
        .or_else(|| first_step(steps))
}

/// The first step by position: where a task that is not started rests.
#[must_use]
pub fn first_step(steps: &[Step]) -> Option<&Step> {
    steps.iter().min_by_key(|s| s.position)
}

/// The last step by position.
#[must_use]
pub fn last_step(steps: &[Step]) -> Option<&Step> {
    steps.iter().max_by_key(|s| s.position)
}

/// A step of which nothing was said yet: a plain column that cards may be dragged to.
#[must_use]
pub fn blank(id: StepId, workflow_id: WorkflowId) -> Step {
    Step {
        id,
        workflow_id,
        name: String::new(),
        position: 0,
        color: "neutral".to_owned(),
        prompt: String::new(),
        events: StepEvents::default(),
        allow_manual_move: true,
        is_start_step: false,
        show_in_command_panel: true,
        auto_archive_after_hours: 0,
        agent_profile_id: None,
        wip_limit: 0,
        pull_from_step_id: None,
        stage_type: StageType::Custom,
        auto_advance_requires_signal: false,
        cancel_triggers_turn_complete: false,
    }
}

/// The steps of the built-in Kanban workflow (task-domain 1.3).
#[must_use]
pub fn kanban_steps(workflow_id: WorkflowId) -> Vec<Step> {
    let step = |position: i64, name: &str, color: &str, stage_type: StageType| Step {
        name: name.to_owned(),
        position,
        color: color.to_owned(),
        stage_type,
        ..blank(StepId::new(), workflow_id)
    };
    let mut backlog = step(0, "Backlog", "neutral", StageType::Work);
    let mut in_progress = step(1, "In Progress", "running", StageType::Work);
    let mut review = step(2, "Review", "review", StageType::Review);
    let mut done = step(3, "Done", "done", StageType::Custom);

    backlog.events.on_turn_start = vec![MoveAction::MoveToNext];
    backlog.events.on_turn_complete = vec![MoveAction::MoveToStep { step_id: review.id }.into()];
    backlog.cancel_triggers_turn_complete = true;
    in_progress.is_start_step = true;
    in_progress.events.on_enter = vec![EnterAction::AutoStartAgent];
    in_progress.events.on_turn_complete = vec![MoveAction::MoveToNext.into()];
    in_progress.cancel_triggers_turn_complete = true;
    review.events.on_turn_start = vec![MoveAction::MoveToPrevious];
    done.events.on_turn_start = vec![MoveAction::MoveToStep {
        step_id: in_progress.id,
    }];
    vec![backlog, in_progress, review, done]
}

words! {
    /// What caused a change of step, for the history.
    MoveTrigger("trigger") {
        /// A person or an agent asked for it.
        Manual = "manual",
        /// The end of a turn.
        AutoComplete = "auto_complete",
        /// Somebody approved.
        Approval = "approval",
        /// The start of a turn.
        OnTurnStart = "on_turn_start",
        /// All parts of the task have ended.
        OnChildrenCompleted = "on_children_completed",
        /// A change of the task.
        TaskUpdate = "task_update",
        /// A place became free in the step that the card waited for.
        QueuePromotion = "queue_promotion",
    }
}

words! {
    /// Who moved a card, for the history.
    Mover("actor") {
        /// A person, at the board or through an outside client.
        Human = "human",
        /// An agent with a session of its own.
        Agent = "agent",
        /// Flightdeck.
        System = "system",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kanban_moves_as_its_template_says() {
        let steps = kanban_steps(WorkflowId::new());
        let name =
            |from: usize, moment| step_after(&steps[from], &steps, moment).map(|s| s.name.as_str());
        assert_eq!(
            start_step(&steps).map(|s| s.name.as_str()),
            Some("In Progress")
        );
        assert_eq!(name(0, TurnMoment::Start), Some("In Progress"));
        assert_eq!(name(0, TurnMoment::Complete), Some("Review"));
        assert_eq!(name(1, TurnMoment::Start), None);
        assert_eq!(name(1, TurnMoment::Complete), Some("Review"));
        assert_eq!(name(2, TurnMoment::Start), Some("In Progress"));
        assert_eq!(name(2, TurnMoment::Complete), None);
        assert_eq!(name(3, TurnMoment::Start), Some("In Progress"));
    }

    #[test]
    fn a_move_to_a_step_of_another_workflow_is_ignored() {
        let mut steps = kanban_steps(WorkflowId::new());
        let elsewhere = StepId::new();
        steps[1].events.on_turn_complete =
            vec![MoveAction::MoveToStep { step_id: elsewhere }.into()];
        assert_eq!(step_after(&steps[1], &steps, TurnMoment::Complete), None);
    }

    #[test]
    fn the_first_rule_for_an_agent_counts() {
        let rules: Vec<SessionRule> = serde_json::from_value(serde_json::json!([
            {"agent": "Claude", "operation": "set", "mode": "plan"},
            {"agent": "claude", "operation": "keep"},
            {"operation": "restore_original"},
        ]))
        .unwrap();
        let operation = |agent| rule_for(&rules, agent).map(|rule| rule.operation);
        assert_eq!(operation("claude "), Some(SessionOperation::Set));
        assert_eq!(operation("Codex"), Some(SessionOperation::RestoreOriginal));
        assert_eq!(rule_for(&rules[..2], "Codex"), None);
        let unknown = r#"{"operation": "keep", "modes": "plan"}"#;
        assert!(serde_json::from_str::<SessionRule>(unknown).is_err());
    }

    #[test]
    fn actions_are_told_apart_by_their_type() {
        let text = r#"{"on_turn_complete": [{"type": "disable_plan_mode"}, {"type": "move_to_next"}],
            "on_enter": [{"type": "set_session_mode", "config": {"mode": "plan"}}, {"type": "auto_start_agent"}],
            "on_exit": [{"type": "disable_plan_mode"}], "on_children_completed": [{"type": "move_to_previous"}]}"#;
        let events: StepEvents = serde_json::from_str(text).unwrap();
        let mut steps = kanban_steps(WorkflowId::new());
        steps[1].events = events;
        let step = &steps[1];
        assert!(step.auto_starts() && step.ends_plan_on_complete() && step.ends_plan_on_exit());
        let to = |moment| step_after(step, &steps, moment).map(|s| s.name.as_str());
        assert_eq!(to(TurnMoment::Complete), Some("Review"));
        assert_eq!(to(TurnMoment::ChildrenCompleted), Some("Backlog"));
        assert_eq!(to(TurnMoment::Start), None);
        let again: StepEvents =
            serde_json::from_str(&serde_json::to_string(&step.events).unwrap()).unwrap();
        assert_eq!(again, step.events);
        let runs = r#"[{"type":"run_code_review"},{"type":"queue_run","config":{"prompt":"Test it."}},{"type":"clear_decisions"},
            {"type":"queue_run_for_each_participant","config":{}}]"#;
        let runs: Vec<EnterAction> = serde_json::from_str(runs).unwrap();
        assert_eq!(runs[0], EnterAction::RunCodeReview(QueuedRun::default()));
        assert_eq!(runs[1].beside().unwrap().prompt, Some("Test it."));
        let beside: Vec<bool> = runs.iter().map(|run| run.beside().is_some()).collect();
        assert_eq!(beside, [true, true, false, true]);
        let again: Vec<EnterAction> =
            serde_json::from_value(serde_json::to_value(&runs).unwrap()).unwrap();
        assert_eq!(again, runs);
        for unknown in [
            r#"{"type": "queue_run", "config": {"words": "x"}}"#,
            r#"{"type": "queue_run_for_each_participant", "config": {"agent_profile_id": null}}"#,
        ] {
            assert!(serde_json::from_str::<EnterAction>(unknown).is_err());
        }
        assert!(
            serde_json::from_str::<StepEvents>(r#"{"on_exit": [{"type": "move_to_next"}]}"#)
                .is_err()
        );
    }
}
