//! Questions of children to their parents.

use crate::row::{Columns, opt, opt_millis, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{PromptId, QuestionId, SessionId, TaskId, TurnId};
use domain::question::{ParentQuestion, QuestionStatus};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, child_task_id, child_session_id, child_turn_id, parent_task_id, tool_call_key, questions, context, \
                       blocked_effect, status, message_id, prompt_id, delivered_at, response, answered_by_session_id, \
                       created_at, resolved_at";

fn read(row: &AnyRow) -> Result<ParentQuestion> {
    Ok(ParentQuestion {
        id: row.id("id")?,
        child_task_id: row.id("child_task_id")?,
        child_session_id: row.id("child_session_id")?,
        child_turn_id: row.opt_id("child_turn_id")?,
        parent_task_id: row.id("parent_task_id")?,
        tool_call_key: row.text("tool_call_key")?,
        questions: row.json("questions")?,
        context: row.opt_text("context")?,
        blocked_effect: row.opt_text("blocked_effect")?,
        status: row.word("status", QuestionStatus::parse)?,
        message_id: row.id("message_id")?,
        prompt_id: row.opt_id("prompt_id")?,
        delivered_at: row.opt_time("delivered_at")?,
        response: row.opt_text("response")?,
        answered_by_session_id: row.opt_id("answered_by_session_id")?,
        created_at: row.time("created_at")?,
        resolved_at: row.opt_time("resolved_at")?,
    })
}

/// Adds a question. A second pending one of a session, or a repeated tool call, is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, question: &ParentQuestion) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into parent_questions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
         $16, $17)"
    )))
    .bind(question.id.to_string())
    .bind(question.child_task_id.to_string())
    .bind(question.child_session_id.to_string())
    .bind(opt(question.child_turn_id.as_ref()))
    .bind(question.parent_task_id.to_string())
    .bind(text(&question.tool_call_key))
    .bind(to_json("questions", &question.questions)?)
    .bind(opt_text(question.context.as_deref()))
    .bind(opt_text(question.blocked_effect.as_deref()))
    .bind(question.status.as_str())
    .bind(question.message_id.to_string())
    .bind(opt(question.prompt_id.as_ref()))
    .bind(opt_millis(question.delivered_at))
    .bind(opt_text(question.response.as_deref()))
    .bind(opt(question.answered_by_session_id.as_ref()))
    .bind(question.created_at.millis())
    .bind(opt_millis(question.resolved_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Ends a question that is still pending. Of any number of attempts exactly one is [`Write::Changed`].
pub async fn resolve_if_pending(tx: &mut Tx, question: &ParentQuestion) -> Result<Write> {
    let done = sqlx::query(
        "update parent_questions set status = $1, response = $2, answered_by_session_id = $3, resolved_at = $4 \
         where id = $5 and status = 'pending'",
    )
    .bind(question.status.as_str())
    .bind(opt_text(question.response.as_deref()))
    .bind(opt(question.answered_by_session_id.as_ref()))
    .bind(opt_millis(question.resolved_at))
    .bind(question.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Notes which prompt carries the question to the parent.
pub async fn set_prompt(tx: &mut Tx, id: QuestionId, prompt: PromptId) -> Result<()> {
    sqlx::query("update parent_questions set prompt_id = $1 where id = $2")
        .bind(prompt.to_string())
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that no prompt carries the question to the parent any more, unless it was delivered already.
pub async fn clear_prompt(tx: &mut Tx, id: QuestionId) -> Result<()> {
    sqlx::query(
        "update parent_questions set prompt_id = null where id = $1 and delivered_at is null",
    )
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Notes that the parent's agent accepted the prompt.
pub async fn set_delivered(tx: &mut Tx, id: QuestionId, at: Timestamp) -> Result<()> {
    sqlx::query(
        "update parent_questions set delivered_at = $1 where id = $2 and delivered_at is null",
    )
    .bind(at.millis())
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

async fn many(db: &mut Snapshot, condition: &str, key: String) -> Result<Vec<ParentQuestion>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from parent_questions where {condition} order by created_at, id"
    )))
    .bind(key)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// One question.
pub async fn find(db: &mut Snapshot, id: QuestionId) -> Result<Option<ParentQuestion>> {
    Ok(many(db, "id = $1", id.to_string()).await?.pop())
}

/// The pending question of a session.
pub async fn pending_of_session(
    db: &mut Snapshot,
    session: SessionId,
) -> Result<Option<ParentQuestion>> {
    Ok(many(
        db,
        "child_session_id = $1 and status = 'pending'",
        session.to_string(),
    )
    .await?
    .pop())
}

/// The question that this tool call of the session made, however it stands.
pub async fn of_tool_call(
    db: &mut Snapshot,
    session: SessionId,
    key: &str,
) -> Result<Option<ParentQuestion>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from parent_questions where child_session_id = $1 and tool_call_key = $2"
    )))
    .bind(session.to_string())
    .bind(text(key))
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The pending questions that a task asks.
pub async fn pending_of_child(db: &mut Snapshot, task: TaskId) -> Result<Vec<ParentQuestion>> {
    many(
        db,
        "child_task_id = $1 and status = 'pending'",
        task.to_string(),
    )
    .await
}

/// The pending questions that a task is asked.
pub async fn pending_of_parent(db: &mut Snapshot, task: TaskId) -> Result<Vec<ParentQuestion>> {
    many(
        db,
        "parent_task_id = $1 and status = 'pending'",
        task.to_string(),
    )
    .await
}

/// All pending questions, for the check at start.
pub async fn pending(db: &mut Snapshot) -> Result<Vec<ParentQuestion>> {
    many(db, "status = $1", "pending".to_owned()).await
}

/// The question that was asked in this turn, however it stands.
pub async fn of_turn(
    db: &mut Snapshot,
    session: SessionId,
    turn: TurnId,
) -> Result<Option<ParentQuestion>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from parent_questions where child_session_id = $1 and child_turn_id = $2"
    )))
    .bind(session.to_string())
    .bind(turn.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}
