//! Questions of agents to the operator.

use crate::row::{Columns, flag, opt, opt_millis, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx, Write};
use domain::clarification::{Clarification, ClarificationStatus};
use domain::ids::{ClarificationId, SessionId, TaskId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, task_id, session_id, turn_id, request_key, questions, context, status, agent_disconnected, response, \
                       created_at, resolved_at";

fn read(row: &AnyRow) -> Result<Clarification> {
    Ok(Clarification {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        session_id: row.id("session_id")?,
        turn_id: row.opt_id("turn_id")?,
        request_key: row.text("request_key")?,
        questions: row.json("questions")?,
        context: row.opt_text("context")?,
        status: row.word("status", ClarificationStatus::parse)?,
        agent_disconnected: row.flag("agent_disconnected")?,
        response: row.opt_json("response")?,
        created_at: row.time("created_at")?,
        resolved_at: row.opt_time("resolved_at")?,
    })
}

/// Adds a bundle. A second pending one of the same call is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, bundle: &Clarification) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into operator_questions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    )))
    .bind(bundle.id.to_string())
    .bind(bundle.task_id.to_string())
    .bind(bundle.session_id.to_string())
    .bind(opt(bundle.turn_id.as_ref()))
    .bind(text(&bundle.request_key))
    .bind(to_json("questions", &bundle.questions)?)
    .bind(opt_text(bundle.context.as_deref()))
    .bind(bundle.status.as_str())
    .bind(flag(bundle.agent_disconnected))
    .bind(bundle.response.as_ref().map(|r| to_json("response", r)).transpose()?)
    .bind(bundle.created_at.millis())
    .bind(opt_millis(bundle.resolved_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends a bundle that is still pending. Of any number of attempts exactly one is [`Write::Changed`].
pub async fn resolve_if_pending(tx: &mut Tx, bundle: &Clarification) -> Result<Write> {
    let done = sqlx::query(
        "update operator_questions set status = $1, response = $2, resolved_at = $3 where id = $4 and status = 'pending'",
    )
    .bind(bundle.status.as_str())
    .bind(bundle.response.as_ref().map(|r| to_json("response", r)).transpose()?)
    .bind(opt_millis(bundle.resolved_at))
    .bind(bundle.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Notes whether an agent waits for the answer; answers whether that changed anything.
pub async fn set_disconnected(
    tx: &mut Tx,
    id: ClarificationId,
    disconnected: bool,
) -> Result<bool> {
    let done = sqlx::query(
        "update operator_questions set agent_disconnected = $1 \
         where id = $2 and status = 'pending' and agent_disconnected <> $1",
    )
    .bind(flag(disconnected))
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// One bundle.
pub async fn find(db: &mut Snapshot, id: ClarificationId) -> Result<Option<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The pending bundles of a session, oldest first.
pub async fn pending_of_session(
    db: &mut Snapshot,
    session: SessionId,
) -> Result<Vec<Clarification>> {
    pending(db, "session_id", session.to_string()).await
}

/// The pending bundles of a task, oldest first.
pub async fn pending_of_task(db: &mut Snapshot, task: TaskId) -> Result<Vec<Clarification>> {
    pending(db, "task_id", task.to_string()).await
}

async fn pending(db: &mut Snapshot, column: &str, key: String) -> Result<Vec<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where {column} = $1 and status = 'pending' order by created_at, id"
    )))
    .bind(key)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
