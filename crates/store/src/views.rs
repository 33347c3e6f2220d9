//! Projections for lists and pages: one statement for any number of rows.

use crate::row::Columns;
use crate::rows::places;
use crate::{Result, Snapshot};
use domain::change_request::{Checks, Mergeable, RequestState, TaskRequest};
use domain::dependency::{Predecessor, blocked_reason};
use domain::executor::Executor;
use domain::ids::{StepId, TaskId, WorkflowId, WorkspaceId};
use domain::repository::{Provider, TaskRepository};
use domain::session::SessionState;
use domain::task::{Origin, PendingAction, Priority, Purpose, TaskState, TitleMode};
use domain::view::{Revision, SessionView, TaskView};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// What a task's row and its primary session say, and how many sessions there are.
const COLUMNS: &str = "t.id, t.workspace_id, t.workflow_id, t.workflow_step_id, t.title, t.description, t.state, t.priority, \
    t.position, t.wip_admitted, t.queued_for_step_id, t.queued_at, t.workflow_notice, \
    dl.intent as launch_intent, pm.step_id as pending_move_step_id, t.parent_id, t.autopilot, t.purpose, t.origin, t.external_id, t.title_mode, t.agent_profile_id, t.executor_profile_id, t.working_directory, \
    t.interrupted_at, t.archived_at, t.created_at, t.updated_at, \
    s.id as session_id, s.state as session_state, s.error_message, s.executor_profile_id as session_executor_profile_id, \
    ex.executor_id, ex.name as executor_profile_name, a.name as agent_name, \
    (select count(*) from sessions x where x.task_id = t.id) as session_count, \
    (select epoch from installation) as epoch, (select coalesce(max(id), 0) from events) as sequence";

const TABLES: &str = "tasks t \
    left join sessions s on s.task_id = t.id and s.is_primary = 1 \
    left join agent_profiles p on p.id = s.agent_profile_id \
    left join agents a on a.id = p.agent_id \
    left join executor_profiles ex on ex.id = s.executor_profile_id \
    left join deferred_launches dl on dl.task_id = t.id \
    left join pending_moves pm on pm.task_id = t.id";

/// What is pending of one task: looked up in the partial indexes that hold only pending rows.
const PENDING_OF_ONE: &str = "\
    (select count(*) from queued_messages x where x.task_id = t.id and x.state = 'queued' \
        and x.question_id is null and x.answer_for_question_id is null) as queued, \
    (select count(*) from permissions x where x.task_id = t.id and x.status = 'pending') as permissions, \
    (select count(*) from permissions x where x.session_id = s.id and x.status = 'pending') as session_permissions, \
    (select count(*) from operator_questions x where x.task_id = t.id and x.resolved_at is null) as bundles, \
    (select count(*) from operator_questions x where x.session_id = s.id and x.resolved_at is null) as session_bundles, \
    (select count(*) from parent_questions x where x.child_task_id = t.id and x.status = 'pending') as questions, \
    (select count(*) from parent_questions x where x.child_session_id = s.id and x.status = 'pending') as session_questions, \
    (select min(x.started_at) from turns x where x.task_id = t.id and x.completed_at is null) as turn_started_at";

/// The same of many tasks, from [`GROUPS`].
const PENDING_OF_MANY: &str = "coalesce(qm.number, 0) as queued, \
    coalesce(pe.number, 0) as permissions, coalesce(pe.own, 0) as session_permissions, \
    coalesce(oq.number, 0) as bundles, coalesce(oq.own, 0) as session_bundles, \
    coalesce(pq.number, 0) as questions, coalesce(pq.own, 0) as session_questions, \
    ot.started_at as turn_started_at";

/// All that is pending, counted once for the whole list: Postgres would read small tables through for each task otherwise.
/// `own` counts what belongs to primary sessions.
const GROUPS: &str = "\
    left join (select task_id, count(*) as number from queued_messages where state = 'queued' \
        and question_id is null and answer_for_question_id is null group by task_id) qm \
        on qm.task_id = t.id \
    left join (select x.task_id, count(*) as number, count(case when y.is_primary = 1 then 1 end) as own \
        from permissions x join sessions y on y.id = x.session_id where x.status = 'pending' group by x.task_id) pe \
        on pe.task_id = t.id \
    left join (select x.task_id, count(*) as number, count(case when y.is_primary = 1 then 1 end) as own \
        from operator_questions x join sessions y on y.id = x.session_id where x.resolved_at is null group by x.task_id) oq \
        on oq.task_id = t.id \
    left join (select x.child_task_id, count(*) as number, count(case when y.is_primary = 1 then 1 end) as own \
        from parent_questions x join sessions y on y.id = x.child_session_id where x.status = 'pending' \
        group by x.child_task_id) pq on pq.child_task_id = t.id \
    left join (select task_id, min(started_at) as started_at from turns where completed_at is null group by task_id) ot \
        on ot.task_id = t.id";

const fn pending(permissions: i64, questions: i64) -> Option<PendingAction> {
    if permissions > 0 {
        Some(PendingAction::Permission)
    } else if questions > 0 {
        Some(PendingAction::Clarification)
    } else {
        None
    }
}

/// Of which moment a projection is: the position in the event log is read with it.
fn revision(row: &AnyRow) -> Result<Revision> {
    Ok(Revision {
        epoch: row.int("epoch")?,
        sequence: row.int("sequence")?,
    })
}

/// The executor of a session, and what the way in which it runs is called.
fn executor(row: &AnyRow) -> Result<(Executor, String)> {
    let executor = row.opt_word("executor_id", Executor::parse)?;
    // Without a profile there is no row to say so.
    let executor = executor.unwrap_or(Executor::Local);
    let name = row.opt_text("executor_profile_name")?;
    Ok((executor, name.unwrap_or_else(|| executor.name().to_owned())))
}

fn read_task(row: &AnyRow) -> Result<TaskView> {
    let (executor, executor_name) = if row.opt_text("session_id")?.is_some() {
        let (executor, name) = executor(row)?;
        (Some(executor), Some(name))
    } else {
        (None, None)
    };
    let (permissions, bundles, questions) = (
        row.int("permissions")?,
        row.int("bundles")?,
        row.int("questions")?,
    );
    Ok(TaskView {
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
        pending_move_step_id: row.opt_id("pending_move_step_id")?,
        workflow_notice: row.opt_text("workflow_notice")?,
        // What edges say is added by `add_edges`.
        blocked: false,
        blocked_reason: None,
        depends_on: Vec::new(),
        blocks: Vec::new(),
        start_when_unblocked: row.opt_text("launch_intent")?.is_some(),
        parent_id: row.opt_id("parent_id")?,
        autopilot: row.flag("autopilot")?,
        purpose: row.word("purpose", Purpose::parse)?,
        origin: row.word("origin", Origin::parse)?,
        external_id: row.opt_text("external_id")?,
        title_mode: row.word("title_mode", TitleMode::parse)?,
        agent_profile_id: row.opt_id("agent_profile_id")?,
        executor_profile_id: row.opt_id("executor_profile_id")?,
        working_directory: row.opt_text("working_directory")?,
        interrupted: row.opt_int("interrupted_at")?.is_some(),
        archived_at: row.opt_time("archived_at")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        primary_session_id: row.opt_id("session_id")?,
        primary_session_state: row.opt_word("session_state", SessionState::parse)?,
        primary_session_pending_action: pending(
            row.int("session_permissions")?,
            row.int("session_bundles")? + row.int("session_questions")?,
        ),
        task_pending_action: pending(permissions, bundles + questions),
        pending_action_revision: revision(row)?,
        needs_operator: permissions + bundles > 0,
        session_count: row.int("session_count")?,
        queued_prompt_count: row.int("queued")?,
        primary_agent_name: row.opt_text("agent_name")?,
        primary_executor_id: executor,
        primary_executor_profile_id: row.opt_id("session_executor_profile_id")?,
        primary_executor_name: executor_name,
        error_message: row.opt_text("error_message")?,
        turn_started_at: row.opt_time("turn_started_at")?,
        // What it is about is added by `add_repositories`.
        repositories: Vec::new(),
        prs: Vec::new(),
    })
}

/// One task.
pub async fn task(db: &mut Snapshot, id: TaskId) -> Result<Option<TaskView>> {
    let found = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS}, {PENDING_OF_ONE} from {TABLES} where t.id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_task)
    .transpose()?;
    let mut views: Vec<TaskView> = found.into_iter().collect();
    add_edges(db, &mut views, "($1)", &[id.to_string()], None).await?;
    add_repositories(db, &mut views, "($1)", &[id.to_string()], None).await?;
    Ok(views.pop())
}

/// The rows of a statement in which the tasks of some views are chosen by `keys`, and by `limit` when the views were.
async fn about(
    db: &mut Snapshot,
    sql: String,
    keys: &[String],
    limit: Option<i64>,
) -> Result<Vec<AnyRow>> {
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for key in keys {
        query = query.bind(key);
    }
    if let Some(limit) = limit {
        query = query.bind(limit);
    }
    Ok(query.fetch_all(db.connection()).await?)
}

/// Adds to views what they wait for and what waits for them. `chosen` selects the ids of the views' tasks; it is not even
/// evaluated while there are no edges.
async fn add_edges(
    db: &mut Snapshot,
    views: &mut [TaskView],
    chosen: &str,
    keys: &[String],
    limit: Option<i64>,
) -> Result<()> {
    let sql = format!(
        "select e.task_id, e.depends_on_task_id, p.title, p.state, p.archived_at from task_dependencies e \
         join tasks p on p.id = e.depends_on_task_id \
         where e.task_id in {chosen} or e.depends_on_task_id in {chosen} order by e.created_at, e.depends_on_task_id"
    );
    let rows = about(db, sql, keys, limit).await?;
    if !rows.is_empty() {
        let mut edges: HashMap<TaskId, (Vec<Predecessor>, Vec<TaskId>)> = HashMap::new();
        for row in &rows {
            let task: TaskId = row.id("task_id")?;
            let predecessor = Predecessor {
                id: row.id("depends_on_task_id")?,
                title: row.text("title")?,
                state: row.word("state", TaskState::parse)?,
                archived: row.opt_int("archived_at")?.is_some(),
            };
            edges.entry(predecessor.id).or_default().1.push(task);
            edges.entry(task).or_default().0.push(predecessor);
        }
        for view in views.iter_mut() {
            if let Some((predecessors, dependants)) = edges.remove(&view.id) {
                view.blocked_reason = blocked_reason(&predecessors);
                view.blocked = view.blocked_reason.is_some();
                view.depends_on = predecessors.iter().map(|p| p.id).collect();
                view.blocks = dependants;
            }
        }
    }
    for view in views {
        view.start_when_unblocked &= !view.depends_on.is_empty();
    }
    Ok(())
}

/// Adds to views what they are about; `chosen` as in [`add_edges`].
async fn add_repositories(
    db: &mut Snapshot,
    views: &mut [TaskView],
    chosen: &str,
    keys: &[String],
    limit: Option<i64>,
) -> Result<()> {
    let sql = format!(
        "select a.task_id, r.id, r.name, r.local_path, r.provider, r.host, r.project_path, r.default_branch \
         from task_repositories a join repositories r on r.id = a.repository_id \
         where a.task_id in {chosen} order by a.created_at, r.id"
    );
    let rows = about(db, sql, keys, limit).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut attached: HashMap<TaskId, Vec<TaskRepository>> = HashMap::new();
    for row in &rows {
        let repository = TaskRepository {
            id: row.id("id")?,
            name: row.text("name")?,
            local_path: row.opt_text("local_path")?,
            provider: row.word("provider", Provider::parse)?,
            host: row.opt_text("host")?,
            project_path: row.opt_text("project_path")?,
            default_branch: row.opt_text("default_branch")?,
        };
        attached
            .entry(row.id("task_id")?)
            .or_default()
            .push(repository);
    }
    for view in views.iter_mut() {
        view.repositories = attached.remove(&view.id).unwrap_or_default();
    }
    add_requests(db, views, chosen, keys, limit).await
}

/// Adds to views of tasks that are about something which requests they care for; `chosen` as in [`add_edges`].
async fn add_requests(
    db: &mut Snapshot,
    views: &mut [TaskView],
    chosen: &str,
    keys: &[String],
    limit: Option<i64>,
) -> Result<()> {
    let sql = format!(
        "select q.task_id, q.repository_id, q.number, q.title, q.url, q.state, q.checks, q.mergeable, r.provider \
         from change_requests q join repositories r on r.id = q.repository_id \
         where q.task_id in {chosen} order by q.created_at, q.id"
    );
    let rows = about(db, sql, keys, limit).await?;
    let mut requests: HashMap<TaskId, Vec<TaskRequest>> = HashMap::new();
    for row in &rows {
        let request = TaskRequest {
            repository_id: row.id("repository_id")?,
            provider: row.word("provider", Provider::parse)?,
            number: row.int("number")?,
            title: row.opt_text("title")?,
            url: row.opt_text("url")?,
            state: row.opt_word("state", RequestState::parse)?,
            checks: row.opt_word("checks", Checks::parse)?,
            mergeable: row.opt_word("mergeable", Mergeable::parse)?,
        };
        requests
            .entry(row.id("task_id")?)
            .or_default()
            .push(request);
    }
    for view in views {
        view.prs = requests.remove(&view.id).unwrap_or_default();
    }
    Ok(())
}

/// Which tasks to list; every condition that is given must hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskFilter<'a> {
    /// Of this workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// Of one of these workspaces, as far as the caller reaches; of all when left out.
    pub within: Option<&'a [WorkspaceId]>,
    /// Of this workflow.
    pub workflow_id: Option<WorkflowId>,
    /// In this step.
    pub workflow_step_id: Option<StepId>,
    /// Children of this task.
    pub parent_id: Option<TaskId>,
    /// Those that this task waits for.
    pub predecessors_of: Option<TaskId>,
    /// Those that wait for this task.
    pub dependants_of: Option<TaskId>,
    /// In this state.
    pub state: Option<TaskState>,
    /// Archived ones too.
    pub include_archived: bool,
    /// Only tasks made after this one.
    pub after: Option<TaskId>,
    /// By age and id instead of by step and position; what pages by `after` need.
    pub by_age: bool,
    /// At most so many.
    pub limit: i64,
}

/// Tasks that match the filter, in board order or by age.
pub async fn tasks(db: &mut Snapshot, filter: &TaskFilter<'_>) -> Result<Vec<TaskView>> {
    let mut conditions = String::from("1 = 1");
    let mut keys: Vec<String> = Vec::new();
    let mut condition = |column: &str, end: &str, key: Option<String>| {
        if let Some(key) = key {
            keys.push(key);
            conditions.push_str(&format!(" and {column} ${}{end}", keys.len()));
        }
    };
    condition(
        "t.workspace_id =",
        "",
        filter.workspace_id.map(|id| id.to_string()),
    );
    condition(
        "t.workflow_id =",
        "",
        filter.workflow_id.map(|id| id.to_string()),
    );
    condition(
        "t.workflow_step_id =",
        "",
        filter.workflow_step_id.map(|id| id.to_string()),
    );
    condition(
        "t.parent_id =",
        "",
        filter.parent_id.map(|id| id.to_string()),
    );
    condition(
        "t.id in (select depends_on_task_id from task_dependencies where task_id =",
        ")",
        filter.predecessors_of.map(|id| id.to_string()),
    );
    condition(
        "t.id in (select task_id from task_dependencies where depends_on_task_id =",
        ")",
        filter.dependants_of.map(|id| id.to_string()),
    );
    condition("t.state =", "", filter.state.map(|state| state.to_string()));
    condition("t.id >", "", filter.after.map(|id| id.to_string()));
    if let Some(within) = filter.within {
        let first = keys.len() + 1;
        keys.extend(within.iter().map(ToString::to_string));
        conditions.push_str(&format!(
            " and t.workspace_id in ({})",
            places(first, within.len())
        ));
    }
    if !filter.include_archived {
        conditions.push_str(" and t.archived_at is null");
    }
    let order = if filter.by_age {
        "t.id"
    } else {
        "t.workflow_step_id, t.position, t.id"
    };
    let rest = format!(
        "where {conditions} order by {order} limit ${}",
        keys.len() + 1
    );
    let mut query = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS}, {PENDING_OF_MANY} from {TABLES} {GROUPS} {rest}"
    )));
    for key in &keys {
        query = query.bind(key);
    }
    let mut views = query
        .bind(filter.limit)
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read_task)
        .collect::<Result<Vec<_>>>()?;
    let chosen = format!("(select t.id from tasks t {rest})");
    add_edges(db, &mut views, &chosen, &keys, Some(filter.limit)).await?;
    add_repositories(db, &mut views, &chosen, &keys, Some(filter.limit)).await?;
    Ok(views)
}

/// A task that asks something of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskingTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
}

/// The tasks whose agents wait for an answer or a permission of the operator, archived ones left out.
pub async fn asking_tasks(db: &mut Snapshot) -> Result<Vec<AskingTask>> {
    sqlx::query(
        "select t.id, t.title, t.workspace_id from tasks t where t.archived_at is null and t.id in \
         (select task_id from operator_questions where resolved_at is null \
          union select task_id from permissions where status = 'pending') order by t.id",
    )
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(AskingTask {
            id: row.id("id")?,
            title: row.text("title")?,
            workspace_id: row.id("workspace_id")?,
        })
    })
    .collect()
}

/// The sessions of a task, newest first.
pub async fn sessions(db: &mut Snapshot, task: TaskId) -> Result<Vec<SessionView>> {
    sqlx::query(
        "select s.id, s.task_id, s.name, s.state, s.is_primary, s.is_passthrough, s.agent_profile_id, s.executor_profile_id, s.workspace_path, \
         ex.executor_id, ex.name as executor_profile_name, \
         s.error_message, s.auto_run, s.plan_mode, s.session_mode, s.started_at, s.completed_at, s.created_at, s.updated_at, a.name as agent_name, \
         (select count(*) from queued_messages x where x.session_id = s.id and x.state = 'queued' \
         and x.question_id is null and x.answer_for_question_id is null) as queued, \
         (select count(*) from permissions x where x.session_id = s.id and x.status = 'pending') as permissions, \
         (select count(*) from operator_questions x where x.session_id = s.id and x.resolved_at is null) as bundles, \
         (select count(*) from parent_questions x where x.child_session_id = s.id and x.status = 'pending') as questions, \
         (select min(x.started_at) from turns x where x.session_id = s.id and x.completed_at is null) as turn_started_at, \
         (select epoch from installation) as epoch, (select coalesce(max(id), 0) from events) as sequence \
         from sessions s \
         join agent_profiles p on p.id = s.agent_profile_id join agents a on a.id = p.agent_id \
         left join executor_profiles ex on ex.id = s.executor_profile_id \
         where s.task_id = $1 order by s.created_at desc, s.id desc",
    )
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(SessionView {
            id: row.id("id")?,
            task_id: row.id("task_id")?,
            name: row.opt_text("name")?,
            state: row.word("state", SessionState::parse)?,
            is_primary: row.flag("is_primary")?,
            is_passthrough: row.flag("is_passthrough")?,
            agent_profile_id: row.id("agent_profile_id")?,
            agent_name: row.text("agent_name")?,
            executor_id: executor(row)?.0,
            executor_profile_id: row.opt_id("executor_profile_id")?,
            workspace_path: row.opt_text("workspace_path")?,
            error_message: row.opt_text("error_message")?,
            pending_action: pending(row.int("permissions")?, row.int("bundles")? + row.int("questions")?),
            pending_action_revision: revision(row)?,
            auto_run: row.flag("auto_run")?,
            plan_mode: row.flag("plan_mode")?,
            session_mode: row.opt_text("session_mode")?,
            queued_prompt_count: row.int("queued")?,
            turn_started_at: row.opt_time("turn_started_at")?,
            started_at: row.opt_time("started_at")?,
            completed_at: row.opt_time("completed_at")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
        })
    })
    .collect()
}
