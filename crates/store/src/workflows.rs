//! Workflows, their steps, the history of moves, and step-completion signals.

use crate::row::{Columns, flag, opt, opt_text, text, to_json};
use crate::rows::places;
use crate::{Result, Snapshot, Tx};
use domain::ids::{MoveId, SessionId, StepId, TaskId, WorkflowId, WorkspaceId};
use domain::time::Timestamp;
use domain::workflow::{MoveTrigger, Mover, StageType, Step, Workflow};
use sqlx::any::AnyRow;

const WORKFLOW: &str = "id, workspace_id, name, description, prompt, agent_profile_id, sort_order, hidden, created_at, updated_at";
const STEP: &str = "id, workflow_id, name, position, color, prompt, events, allow_manual_move, is_start_step, \
                    show_in_command_panel, auto_archive_after_hours, agent_profile_id, wip_limit, pull_from_step_id, \
                    stage_type, auto_advance_requires_signal, cancel_triggers_turn_complete";

fn read_workflow(row: &AnyRow) -> Result<Workflow> {
    Ok(Workflow {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        name: row.text("name")?,
        description: row.text("description")?,
        prompt: row.text("prompt")?,
        agent_profile_id: row.opt_id("agent_profile_id")?,
        sort_order: row.int("sort_order")?,
        hidden: row.flag("hidden")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn read_step(row: &AnyRow) -> Result<Step> {
    Ok(Step {
        id: row.id("id")?,
        workflow_id: row.id("workflow_id")?,
        name: row.text("name")?,
        position: row.int("position")?,
        color: row.text("color")?,
        prompt: row.text("prompt")?,
        events: row.json("events")?,
        allow_manual_move: row.flag("allow_manual_move")?,
        is_start_step: row.flag("is_start_step")?,
        show_in_command_panel: row.flag("show_in_command_panel")?,
        auto_archive_after_hours: row.int("auto_archive_after_hours")?,
        agent_profile_id: row.opt_id("agent_profile_id")?,
        wip_limit: row.int("wip_limit")?,
        pull_from_step_id: row.opt_id("pull_from_step_id")?,
        stage_type: row.word("stage_type", StageType::parse)?,
        auto_advance_requires_signal: row.flag("auto_advance_requires_signal")?,
        cancel_triggers_turn_complete: row.flag("cancel_triggers_turn_complete")?,
    })
}

/// Adds a workflow without steps.
pub async fn insert(tx: &mut Tx, workflow: &Workflow) -> Result<()> {
    sqlx::query(
        "insert into workflows (id, workspace_id, name, description, prompt, agent_profile_id, sort_order, hidden, created_at, \
         updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(workflow.id.to_string())
    .bind(workflow.workspace_id.to_string())
    .bind(text(&workflow.name))
    .bind(text(&workflow.description))
    .bind(text(&workflow.prompt))
    .bind(opt(workflow.agent_profile_id.as_ref()))
    .bind(workflow.sort_order)
    .bind(flag(workflow.hidden))
    .bind(workflow.created_at.millis())
    .bind(workflow.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Adds a step.
pub async fn insert_step(tx: &mut Tx, step: &Step) -> Result<()> {
    sqlx::query(
        "insert into steps (id, workflow_id, name, position, color, prompt, events, allow_manual_move, is_start_step, \
         show_in_command_panel, auto_archive_after_hours, agent_profile_id, wip_limit, pull_from_step_id, stage_type, \
         auto_advance_requires_signal, cancel_triggers_turn_complete) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    )
    .bind(step.id.to_string())
    .bind(step.workflow_id.to_string())
    .bind(text(&step.name))
    .bind(step.position)
    .bind(text(&step.color))
    .bind(text(&step.prompt))
    .bind(to_json("events", &step.events)?)
    .bind(flag(step.allow_manual_move))
    .bind(flag(step.is_start_step))
    .bind(flag(step.show_in_command_panel))
    .bind(step.auto_archive_after_hours)
    .bind(opt(step.agent_profile_id.as_ref()))
    .bind(step.wip_limit)
    .bind(opt(step.pull_from_step_id.as_ref()))
    .bind(step.stage_type.as_str())
    .bind(flag(step.auto_advance_requires_signal))
    .bind(flag(step.cancel_triggers_turn_complete))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The workflows of a workspace, in their order; hidden ones too.
pub async fn list(db: &mut Snapshot, workspace: WorkspaceId) -> Result<Vec<Workflow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {WORKFLOW} from workflows where workspace_id = $1 order by sort_order, id"
    )))
    .bind(workspace.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_workflow)
    .collect()
}

/// One workflow.
pub async fn find(db: &mut Snapshot, id: WorkflowId) -> Result<Option<Workflow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {WORKFLOW} from workflows where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_workflow)
    .transpose()
}

/// The steps of a workflow by position.
pub async fn steps(db: &mut Snapshot, workflow: WorkflowId) -> Result<Vec<Step>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {STEP} from steps where workflow_id = $1 order by position, id"
    )))
    .bind(workflow.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_step)
    .collect()
}

/// One step.
pub async fn find_step(db: &mut Snapshot, id: StepId) -> Result<Option<Step>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {STEP} from steps where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_step)
    .transpose()
}

/// The steps that a step feeds.
pub async fn fed_by(db: &mut Snapshot, feeder: StepId) -> Result<Vec<Step>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {STEP} from steps where pull_from_step_id = $1 order by position, id"
    )))
    .bind(feeder.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_step)
    .collect()
}

/// Writes what may change of a workflow: all but its workspace and its place.
pub async fn update(tx: &mut Tx, workflow: &Workflow) -> Result<()> {
    sqlx::query(
        "update workflows set name = $1, description = $2, prompt = $3, agent_profile_id = $4, hidden = $5, updated_at = $6 \
         where id = $7",
    )
    .bind(text(&workflow.name))
    .bind(text(&workflow.description))
    .bind(text(&workflow.prompt))
    .bind(opt(workflow.agent_profile_id.as_ref()))
    .bind(flag(workflow.hidden))
    .bind(workflow.updated_at.millis())
    .bind(workflow.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a workflow with its steps. One that holds tasks is [`crate::StoreError::Invariant`].
pub async fn delete(tx: &mut Tx, id: WorkflowId) -> Result<()> {
    sqlx::query("delete from workflows where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Puts workflows into this order, in one statement; others keep their place.
pub async fn place(tx: &mut Tx, ids: &[WorkflowId]) -> Result<()> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    place_rows(tx, "workflows", "sort_order", &ids).await
}

/// Puts steps into this order, in one statement; others keep their place.
pub async fn place_steps(tx: &mut Tx, ids: &[StepId]) -> Result<()> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    place_rows(tx, "steps", "position", &ids).await
}

async fn place_rows(tx: &mut Tx, table: &str, column: &str, ids: &[String]) -> Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let cases: String = (0..ids.len())
        .map(|at| format!(" when ${} then {at}", at + 1))
        .collect();
    let mut query = sqlx::query(sqlx::AssertSqlSafe(format!(
        "update {table} set {column} = case id{cases} end where id in ({})",
        places(1, ids.len())
    )));
    for id in ids {
        query = query.bind(id);
    }
    query.execute(tx.connection()).await?;
    Ok(())
}

/// Cards of a workflow, archived ones too.
pub async fn cards(db: &mut Snapshot, workflow: WorkflowId) -> Result<i64> {
    sqlx::query("select count(*) as cards from tasks where workflow_id = $1")
        .bind(workflow.to_string())
        .fetch_one(db.connection())
        .await?
        .int("cards")
}

/// Cards that are in a step, archived ones too, and those that wait to come into it.
pub async fn cards_of_step(db: &mut Snapshot, step: StepId) -> Result<i64> {
    sqlx::query(
        "select (select count(*) from tasks where workflow_step_id = $1 or queued_for_step_id = $1) \
         + (select count(*) from pending_moves where step_id = $1) as cards",
    )
    .bind(step.to_string())
    .fetch_one(db.connection())
    .await?
    .int("cards")
}

/// Takes the mark of the start from whichever step of a workflow has it.
pub async fn clear_start(tx: &mut Tx, workflow: WorkflowId) -> Result<()> {
    sqlx::query("update steps set is_start_step = 0 where workflow_id = $1 and is_start_step = 1")
        .bind(workflow.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Removes a step; steps that it fed have no feeder then. One that holds cards is [`crate::StoreError::Invariant`].
pub async fn delete_step(tx: &mut Tx, id: StepId) -> Result<()> {
    sqlx::query("delete from steps where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Writes what may change of a step: all but its workflow and its position. A second start of a workflow is
/// [`crate::StoreError::Unique`].
pub async fn update_step(tx: &mut Tx, step: &Step) -> Result<()> {
    sqlx::query(
        "update steps set name = $1, color = $2, prompt = $3, events = $4, allow_manual_move = $5, \
         show_in_command_panel = $6, auto_archive_after_hours = $7, agent_profile_id = $8, wip_limit = $9, \
         pull_from_step_id = $10, stage_type = $11, auto_advance_requires_signal = $12, \
         cancel_triggers_turn_complete = $13, is_start_step = $14 where id = $15",
    )
    .bind(text(&step.name))
    .bind(text(&step.color))
    .bind(text(&step.prompt))
    .bind(to_json("events", &step.events)?)
    .bind(flag(step.allow_manual_move))
    .bind(flag(step.show_in_command_panel))
    .bind(step.auto_archive_after_hours)
    .bind(opt(step.agent_profile_id.as_ref()))
    .bind(step.wip_limit)
    .bind(opt(step.pull_from_step_id.as_ref()))
    .bind(step.stage_type.as_str())
    .bind(flag(step.auto_advance_requires_signal))
    .bind(flag(step.cancel_triggers_turn_complete))
    .bind(flag(step.is_start_step))
    .bind(step.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// A change of step, for the history.
#[derive(Debug, Clone)]
pub struct StepTransition {
    /// The task moved.
    pub task_id: TaskId,
    /// Where from.
    pub from: StepId,
    /// Where to.
    pub to: StepId,
    /// Why.
    pub trigger: MoveTrigger,
    /// Who asked for it.
    pub actor: Mover,
    /// The session that asked for it or whose turn caused it.
    pub session_id: Option<SessionId>,
    /// The move it belongs to, when that has an id.
    pub move_id: Option<MoveId>,
    /// When.
    pub at: Timestamp,
}

/// Adds to the history of moves. A move that was done before is [`crate::StoreError::Unique`].
pub async fn record_transition(tx: &mut Tx, transition: &StepTransition) -> Result<()> {
    sqlx::query(
        "insert into step_transitions (id, task_id, from_step_id, to_step_id, move_trigger, actor, session_id, move_id, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(domain::ids::EffectId::new().to_string())
    .bind(transition.task_id.to_string())
    .bind(transition.from.to_string())
    .bind(transition.to.to_string())
    .bind(transition.trigger.as_str())
    .bind(transition.actor.as_str())
    .bind(opt(transition.session_id.as_ref()))
    .bind(opt(transition.move_id.as_ref()))
    .bind(transition.at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// When a card last changed its step; nothing for one that is where it was made.
pub async fn last_moved_at(db: &mut Snapshot, task: TaskId) -> Result<Option<Timestamp>> {
    sqlx::query("select max(created_at) as moved_at from step_transitions where task_id = $1")
        .bind(task.to_string())
        .fetch_one(db.connection())
        .await?
        .opt_time("moved_at")
}

/// Whether the history has a move of this id.
pub async fn was_done(db: &mut Snapshot, id: MoveId) -> Result<bool> {
    let row = sqlx::query("select count(*) as moves from step_transitions where move_id = $1")
        .bind(id.to_string())
        .fetch_one(db.connection())
        .await?;
    Ok(row.int("moves")? > 0)
}

/// How often a task changed its step since `since`, other than by a person: a guard against loops between steps.
pub async fn automatic_moves_since(
    db: &mut Snapshot,
    task: TaskId,
    since: Timestamp,
) -> Result<i64> {
    sqlx::query(
        "select count(*) as moves from step_transitions where task_id = $1 and created_at >= $2 and actor <> 'human'",
    )
    .bind(task.to_string())
    .bind(since.millis())
    .fetch_one(db.connection())
    .await?
    .int("moves")
}

/// A step-completion signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSignal {
    /// What was done.
    pub summary: String,
    /// What the next one should know.
    pub handoff: Option<String>,
    /// What stands in the way.
    pub blockers: Option<String>,
    /// When it was given.
    pub signaled_at: Timestamp,
}

/// Stores a signal unless the session gave one for this step; answers whether it did so now.
pub async fn insert_signal(
    tx: &mut Tx,
    session: SessionId,
    step: StepId,
    signal: &StepSignal,
) -> Result<bool> {
    let done = sqlx::query(
        "insert into step_signals (session_id, step_id, summary, handoff, blockers, signaled_at) \
         values ($1, $2, $3, $4, $5, $6) on conflict do nothing",
    )
    .bind(session.to_string())
    .bind(step.to_string())
    .bind(text(&signal.summary))
    .bind(opt_text(signal.handoff.as_deref()))
    .bind(opt_text(signal.blockers.as_deref()))
    .bind(signal.signaled_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The session's signal that the step is complete.
pub async fn signal(
    db: &mut Snapshot,
    session: SessionId,
    step: StepId,
) -> Result<Option<StepSignal>> {
    sqlx::query(
        "select summary, handoff, blockers, signaled_at from step_signals where session_id = $1 and step_id = $2",
    )
    .bind(session.to_string())
    .bind(step.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(|row| {
        Ok(StepSignal {
            summary: row.text("summary")?,
            handoff: row.opt_text("handoff")?,
            blockers: row.opt_text("blockers")?,
            signaled_at: row.time("signaled_at")?,
        })
    })
    .transpose()
}

/// Drops the session's signals: used, or cancelled by a message.
pub async fn clear_signals(tx: &mut Tx, session: SessionId) -> Result<()> {
    sqlx::query("delete from step_signals where session_id = $1")
        .bind(session.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}
