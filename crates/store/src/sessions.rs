//! Sessions and their leases.

use crate::row::{Columns, flag, opt, opt_millis, opt_text};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{SessionId, TaskId};
use domain::session::{FreshStart, Session, SessionState};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, task_id, name, state, is_primary, is_passthrough, agent_profile_id, executor_profile_id, provider_session_id, workspace_path, \
                       error_message, generation, auto_run, plan_mode, session_mode, session_model, fresh_start, holder, lease_until, \
                       started_at, completed_at, created_at, updated_at, version, made_for";

fn read(row: &AnyRow) -> Result<Session> {
    Ok(Session {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        name: row.opt_text("name")?,
        state: row.word("state", SessionState::parse)?,
        is_primary: row.flag("is_primary")?,
        is_passthrough: row.flag("is_passthrough")?,
        agent_profile_id: row.id("agent_profile_id")?,
        executor_profile_id: row.opt_id("executor_profile_id")?,
        provider_session_id: row.opt_text("provider_session_id")?,
        workspace_path: row.opt_text("workspace_path")?,
        error_message: row.opt_text("error_message")?,
        generation: row.int("generation")?,
        auto_run: row.flag("auto_run")?,
        plan_mode: row.flag("plan_mode")?,
        session_mode: row.opt_text("session_mode")?,
        session_model: row.opt_text("session_model")?,
        fresh_start: row.word("fresh_start", FreshStart::parse)?,
        holder: row.opt_text("holder")?,
        lease_until: row.opt_time("lease_until")?,
        started_at: row.opt_time("started_at")?,
        completed_at: row.opt_time("completed_at")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        version: row.int("version")?,
        made_for: row.opt_text("made_for")?,
    })
}

/// Adds a session. A second primary of a task is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, session: &Session) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into sessions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
         $18, $19, $20, $21, $22, $23, $24, $25)"
    )))
    .bind(session.id.to_string())
    .bind(session.task_id.to_string())
    .bind(opt_text(session.name.as_deref()))
    .bind(session.state.as_str())
    .bind(flag(session.is_primary))
    .bind(flag(session.is_passthrough))
    .bind(session.agent_profile_id.to_string())
    .bind(opt(session.executor_profile_id.as_ref()))
    .bind(opt_text(session.provider_session_id.as_deref()))
    .bind(opt_text(session.workspace_path.as_deref()))
    .bind(opt_text(session.error_message.as_deref()))
    .bind(session.generation)
    .bind(flag(session.auto_run))
    .bind(flag(session.plan_mode))
    .bind(opt_text(session.session_mode.as_deref()))
    .bind(opt_text(session.session_model.as_deref()))
    .bind(session.fresh_start.as_str())
    .bind(session.holder.as_deref())
    .bind(opt_millis(session.lease_until))
    .bind(opt_millis(session.started_at))
    .bind(opt_millis(session.completed_at))
    .bind(session.created_at.millis())
    .bind(session.updated_at.millis())
    .bind(session.version)
    .bind(opt_text(session.made_for.as_deref()))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what may change of a session, guarded by the version it was read with.
pub async fn update(tx: &mut Tx, session: &Session) -> Result<Write> {
    let done = sqlx::query(
        "update sessions set name = $1, state = $2, is_primary = $3, provider_session_id = $4, workspace_path = $5, \
         error_message = $6, generation = $7, auto_run = $8, holder = $9, lease_until = $10, started_at = $11, \
         completed_at = $12, updated_at = $13, plan_mode = $14, session_mode = $15, session_model = $16, \
         fresh_start = $17, version = version + 1 where id = $18 and version = $19",
    )
    .bind(opt_text(session.name.as_deref()))
    .bind(session.state.as_str())
    .bind(flag(session.is_primary))
    .bind(opt_text(session.provider_session_id.as_deref()))
    .bind(opt_text(session.workspace_path.as_deref()))
    .bind(opt_text(session.error_message.as_deref()))
    .bind(session.generation)
    .bind(flag(session.auto_run))
    .bind(session.holder.as_deref())
    .bind(opt_millis(session.lease_until))
    .bind(opt_millis(session.started_at))
    .bind(opt_millis(session.completed_at))
    .bind(session.updated_at.millis())
    .bind(flag(session.plan_mode))
    .bind(opt_text(session.session_mode.as_deref()))
    .bind(opt_text(session.session_model.as_deref()))
    .bind(session.fresh_start.as_str())
    .bind(session.id.to_string())
    .bind(session.version)
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Removes a session with everything that hangs on it: turns, messages, prompts, questions, permissions, tokens.
pub async fn delete(tx: &mut Tx, id: SessionId) -> Result<()> {
    sqlx::query("delete from sessions where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// One session.
pub async fn find(db: &mut Snapshot, id: SessionId) -> Result<Option<Session>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from sessions where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The sessions of a task, newest first.
pub async fn list(db: &mut Snapshot, task: TaskId) -> Result<Vec<Session>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from sessions where task_id = $1 order by created_at desc, id desc"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Prolongs the leases of all sessions that `holder` holds, and says which they are: one statement, however many.
pub async fn renew_leases(tx: &mut Tx, holder: &str, until: Timestamp) -> Result<Vec<SessionId>> {
    sqlx::query("update sessions set lease_until = $1 where holder = $2 returning id")
        .bind(until.millis())
        .bind(holder)
        .fetch_all(tx.connection())
        .await?
        .iter()
        .map(|row| row.id("id"))
        .collect()
}

/// Sessions whose agent is gone: held by `holder` itself (which has just started and has no agents), or with a lease that is
/// over.
pub async fn orphaned(
    db: &mut Snapshot,
    holder: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Session>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from sessions where holder is not null and (holder = $1 or lease_until < $2) order by id"
    )))
    .bind(holder)
    .bind(now.millis())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Sessions with prompts in their queue, terminal ones left out.
pub async fn with_queued_prompts(db: &mut Snapshot) -> Result<Vec<Session>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from sessions where completed_at is null \
         and exists (select 1 from queued_messages q where q.session_id = sessions.id) order by id"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
