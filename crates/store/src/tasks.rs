//! Tasks.

use crate::row::{Columns, flag, opt, opt_millis, opt_text, text};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{StepId, TaskId, WorkspaceId};
use domain::task::{Origin, Priority, Purpose, Task, TaskState, TitleMode};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, workspace_id, workflow_id, workflow_step_id, title, description, state, priority, position, wip_admitted, \
                       queued_for_step_id, queued_at, parent_id, autopilot, purpose, origin, external_id, title_mode, \
                       title_owner_session_id, agent_profile_id, executor_profile_id, working_directory, interrupted_at, archived_at, \
                       created_at, updated_at, version";

fn read(row: &AnyRow) -> Result<Task> {
    Ok(Task {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        workflow_id: row.id("workflow_id")?,
        workflow_step_id: row.id("workflow_step_id")?,
        title: row.text("title")?,
        description: row.text("description")?,
        state: row.word("state", TaskState::parse)?,
        priority: row.opt_word("priority", Priority::parse)?,
        position: row.int("position")?,
        wip_admitted: row.flag("wip_admitted")?,
        queued_for_step_id: row.opt_id("queued_for_step_id")?,
        queued_at: row.opt_time("queued_at")?,
        parent_id: row.opt_id("parent_id")?,
        autopilot: row.flag("autopilot")?,
        purpose: row.word("purpose", Purpose::parse)?,
        origin: row.word("origin", Origin::parse)?,
        external_id: row.opt_text("external_id")?,
        title_mode: row.word("title_mode", TitleMode::parse)?,
        title_owner_session_id: row.opt_id("title_owner_session_id")?,
        agent_profile_id: row.opt_id("agent_profile_id")?,
        executor_profile_id: row.opt_id("executor_profile_id")?,
        working_directory: row.opt_text("working_directory")?,
        interrupted_at: row.opt_time("interrupted_at")?,
        archived_at: row.opt_time("archived_at")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        version: row.int("version")?,
    })
}

/// Adds a task. An external id that is taken in the workspace is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, task: &Task) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into tasks ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, \
         $19, $20, $21, $22, $23, $24, $25, $26, $27)"
    )))
    .bind(task.id.to_string())
    .bind(task.workspace_id.to_string())
    .bind(task.workflow_id.to_string())
    .bind(task.workflow_step_id.to_string())
    .bind(text(&task.title))
    .bind(text(&task.description))
    .bind(task.state.as_str())
    .bind(opt(task.priority.as_ref()))
    .bind(task.position)
    .bind(flag(task.wip_admitted))
    .bind(opt(task.queued_for_step_id.as_ref()))
    .bind(opt_millis(task.queued_at))
    .bind(opt(task.parent_id.as_ref()))
    .bind(flag(task.autopilot))
    .bind(task.purpose.as_str())
    .bind(task.origin.as_str())
    .bind(opt_text(task.external_id.as_deref()))
    .bind(task.title_mode.as_str())
    .bind(opt(task.title_owner_session_id.as_ref()))
    .bind(opt(task.agent_profile_id.as_ref()))
    .bind(opt(task.executor_profile_id.as_ref()))
    .bind(opt_text(task.working_directory.as_deref()))
    .bind(opt_millis(task.interrupted_at))
    .bind(opt_millis(task.archived_at))
    .bind(task.created_at.millis())
    .bind(task.updated_at.millis())
    .bind(task.version)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what may change of a task, guarded by the version it was read with. Autopilot, purpose, origin, workspace, executor
/// profile and creation time are not among it.
pub async fn update(tx: &mut Tx, task: &Task) -> Result<Write> {
    let done = sqlx::query(
        "update tasks set workflow_id = $1, workflow_step_id = $2, title = $3, description = $4, state = $5, priority = $6, \
         position = $7, parent_id = $8, title_mode = $9, title_owner_session_id = $10, agent_profile_id = $11, \
         working_directory = $12, interrupted_at = $13, archived_at = $14, updated_at = $15, wip_admitted = $16, \
         queued_for_step_id = $17, queued_at = $18, version = version + 1 where id = $19 and version = $20",
    )
    .bind(task.workflow_id.to_string())
    .bind(task.workflow_step_id.to_string())
    .bind(text(&task.title))
    .bind(text(&task.description))
    .bind(task.state.as_str())
    .bind(opt(task.priority.as_ref()))
    .bind(task.position)
    .bind(opt(task.parent_id.as_ref()))
    .bind(task.title_mode.as_str())
    .bind(opt(task.title_owner_session_id.as_ref()))
    .bind(opt(task.agent_profile_id.as_ref()))
    .bind(opt_text(task.working_directory.as_deref()))
    .bind(opt_millis(task.interrupted_at))
    .bind(opt_millis(task.archived_at))
    .bind(task.updated_at.millis())
    .bind(flag(task.wip_admitted))
    .bind(opt(task.queued_for_step_id.as_ref()))
    .bind(opt_millis(task.queued_at))
    .bind(task.id.to_string())
    .bind(task.version)
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Removes a task and all that belongs to it; its children become top-level tasks.
pub async fn delete(tx: &mut Tx, id: TaskId) -> Result<()> {
    sqlx::query("delete from tasks where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// One task, archived or not.
pub async fn find(db: &mut Snapshot, id: TaskId) -> Result<Option<Task>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from tasks where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The task that was made with this external id.
pub async fn find_by_external_id(
    db: &mut Snapshot,
    workspace: WorkspaceId,
    key: &str,
) -> Result<Option<Task>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from tasks where workspace_id = $1 and external_id = $2"
    )))
    .bind(workspace.to_string())
    .bind(text(key))
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Direct children, archived or not, oldest first.
pub async fn children(db: &mut Snapshot, parent: TaskId) -> Result<Vec<Task>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from tasks where parent_id = $1 order by created_at, id"
    )))
    .bind(parent.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The chain of parents, the direct one first. Ends after `limit` however the rows may be linked.
pub async fn ancestors(db: &mut Snapshot, id: TaskId, limit: i64) -> Result<Vec<Task>> {
    sqlx::query(AssertSqlSafe(format!(
        "with recursive chain (link_id, link_parent, depth) as (
             select id, parent_id, 0 from tasks where id = $1
             union all
             select t.id, t.parent_id, chain.depth + 1 from tasks t join chain on t.id = chain.link_parent
             where chain.depth < $2
         )
         select {COLUMNS} from chain join tasks on tasks.id = chain.link_id where chain.depth > 0 order by chain.depth"
    )))
    .bind(id.to_string())
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Height of the tree below a task: 0 without children.
pub async fn height(db: &mut Snapshot, id: TaskId, limit: i64) -> Result<i64> {
    sqlx::query(
        "with recursive tree (node_id, depth) as (
             select id, 0 from tasks where id = $1
             union all
             select t.id, tree.depth + 1 from tasks t join tree on t.parent_id = tree.node_id where tree.depth < $2
         )
         select max(depth) as height from tree",
    )
    .bind(id.to_string())
    .bind(limit)
    .fetch_one(db.connection())
    .await?
    .opt_int("height")
    .map(Option::unwrap_or_default)
}

/// The place after the last card of a step.
pub async fn next_position(db: &mut Snapshot, step: StepId) -> Result<i64> {
    sqlx::query(
        "select coalesce(max(position) + 1, 0) as position from tasks where workflow_step_id = $1",
    )
    .bind(step.to_string())
    .fetch_one(db.connection())
    .await?
    .int("position")
}

/// Makes room at `position` in a step by moving the cards from there on by one.
pub async fn shift(tx: &mut Tx, step: StepId, position: i64) -> Result<()> {
    sqlx::query(
        "update tasks set position = position + 1 where workflow_step_id = $1 and position >= $2",
    )
    .bind(step.to_string())
    .bind(position)
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// How many cards take a place in a step: admitted to it, not archived, not over.
pub async fn taken(db: &mut Snapshot, step: StepId) -> Result<i64> {
    sqlx::query(
        "select count(*) as taken from tasks where workflow_step_id = $1 and wip_admitted = 1 and archived_at is null \
         and state not in ('COMPLETED', 'FAILED', 'CANCELLED')",
    )
    .bind(step.to_string())
    .fetch_one(db.connection())
    .await?
    .int("taken")
}

/// The card that gets the next place in a step: of those that wait in it, then of those that wait for it by name or rest in
/// its `feeder`, each in the order of task-domain 1.14. Cards that wait for another task are passed over, and cards whose agent
/// is at work or waits for its parent's answer stay in the feeder. `not` are cards that are not to be taken.
pub async fn next_for_step(
    db: &mut Snapshot,
    step: StepId,
    feeder: Option<StepId>,
    not: &[TaskId],
) -> Result<Option<Task>> {
    // Without a feeder `$2` is no step's id.
    let mut sql = format!(
        "select {COLUMNS} from tasks where ((workflow_step_id = $1 and wip_admitted = 0) or queued_for_step_id = $1 \
         or (workflow_step_id = $2 and wip_admitted = 1 and queued_for_step_id is null)) \
         and archived_at is null and state not in ('COMPLETED', 'FAILED', 'CANCELLED') \
         and not exists (select 1 from task_dependencies e join tasks p on p.id = e.depends_on_task_id \
         where e.task_id = tasks.id and p.state <> 'COMPLETED') \
         and (workflow_step_id = $1 or not (\
         exists (select 1 from sessions s where s.task_id = tasks.id and s.state in ('STARTING', 'RUNNING')) \
         or exists (select 1 from turns u where u.task_id = tasks.id and u.completed_at is null) \
         or exists (select 1 from parent_questions q where q.child_task_id = tasks.id and q.status = 'pending')))"
    );
    for number in 0..not.len() {
        sql.push_str(&format!(" and id <> ${}", number + 3));
    }
    sql.push_str(
        " order by case when workflow_step_id = $1 then 0 else 1 end, position, \
         case priority when 'critical' then 0 when 'high' then 1 when 'medium' then 2 when 'low' then 3 else 4 end, \
         coalesce(queued_at, created_at), created_at, id limit 1",
    );
    let mut query = sqlx::query(AssertSqlSafe(sql))
        .bind(step.to_string())
        .bind(feeder.map(|id| id.to_string()).unwrap_or_default());
    for task in not {
        query = query.bind(task.to_string());
    }
    query
        .fetch_optional(db.connection())
        .await?
        .as_ref()
        .map(read)
        .transpose()
}

/// Tasks that rested in their step for as long as the step keeps them, longest first: those that nobody works on. At most
/// `limit`.
pub async fn to_archive(db: &mut Snapshot, now: Timestamp, limit: i64) -> Result<Vec<TaskId>> {
    sqlx::query(
        "select t.id from steps p join tasks t on t.workflow_step_id = p.id \
         where p.auto_archive_after_hours > 0 and t.archived_at is null \
         and t.updated_at <= $1 - p.auto_archive_after_hours * 3600000 \
         and not exists (select 1 from sessions s where s.task_id = t.id and s.state in ('STARTING', 'RUNNING')) \
         order by t.updated_at, t.id limit $2",
    )
    .bind(now.millis())
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| row.id("id"))
    .collect()
}

/// Says why the workflow moves a card no more, or that it does again.
pub async fn set_notice(tx: &mut Tx, id: TaskId, notice: Option<&str>) -> Result<()> {
    sqlx::query("update tasks set workflow_notice = $1 where id = $2")
        .bind(opt_text(notice))
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}
