//! Queued prompts.

use crate::row::{Columns, flag, opt, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::ids::{PromptId, SessionId, TaskId};
use domain::queue::order::Place;
use domain::queue::{Lane, QueuedBy, QueuedPrompt, QueuedState};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, session_id, task_id, lane, position, content, hidden_context, metadata, queued_by, sender_task_id, \
                       sender_session_id, question_id, answer_for_question_id, dedupe_key, pinned, state, turn_id, attempts, \
                       queued_at";

fn read(row: &AnyRow) -> Result<QueuedPrompt> {
    Ok(QueuedPrompt {
        id: row.id("id")?,
        session_id: row.id("session_id")?,
        task_id: row.id("task_id")?,
        lane: row.word("lane", Lane::parse)?,
        position: row.int("position")?,
        content: row.text("content")?,
        hidden_context: row.opt_text("hidden_context")?,
        metadata: row.json("metadata")?,
        queued_by: row.word("queued_by", QueuedBy::parse)?,
        sender_task_id: row.opt_id("sender_task_id")?,
        sender_session_id: row.opt_id("sender_session_id")?,
        question_id: row.opt_id("question_id")?,
        answer_for_question_id: row.opt_id("answer_for_question_id")?,
        dedupe_key: row.opt_text("dedupe_key")?,
        pinned: row.flag("pinned")?,
        state: row.word("state", QueuedState::parse)?,
        turn_id: row.opt_id("turn_id")?,
        attempts: row.int("attempts")?,
        queued_at: row.time("queued_at")?,
    })
}

/// Adds a prompt at the end of its lane; `position` of `prompt` is ignored. A second prompt for one question, a second answer
/// or a repeated dedupe key is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, prompt: &QueuedPrompt) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into queued_messages ({COLUMNS}) values ($1, $2, $3, $4, \
         (select coalesce(max(position) + 1, 0) from queued_messages where session_id = $2), \
         $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
    )))
    .bind(prompt.id.to_string())
    .bind(prompt.session_id.to_string())
    .bind(prompt.task_id.to_string())
    .bind(prompt.lane.as_str())
    .bind(text(&prompt.content))
    .bind(opt_text(prompt.hidden_context.as_deref()))
    .bind(to_json("metadata", &prompt.metadata)?)
    .bind(prompt.queued_by.as_str())
    .bind(opt(prompt.sender_task_id.as_ref()))
    .bind(opt(prompt.sender_session_id.as_ref()))
    .bind(opt(prompt.question_id.as_ref()))
    .bind(opt(prompt.answer_for_question_id.as_ref()))
    .bind(opt_text(prompt.dedupe_key.as_deref()))
    .bind(flag(prompt.pinned))
    .bind(prompt.state.as_str())
    .bind(opt(prompt.turn_id.as_ref()))
    .bind(prompt.attempts)
    .bind(prompt.queued_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Notes that a prompt is about to be sent in `prompt.turn_id`, once more than before.
pub async fn mark_attempted(tx: &mut Tx, prompt: &QueuedPrompt) -> Result<()> {
    sqlx::query("update queued_messages set state = 'attempted', turn_id = $1, attempts = attempts + 1 where id = $2")
        .bind(opt(prompt.turn_id.as_ref()))
        .bind(prompt.id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes back that a prompt was attempted: it waits again at its place, and the count of attempts stays.
pub async fn put_back(tx: &mut Tx, id: PromptId) -> Result<()> {
    sqlx::query("update queued_messages set state = 'queued', turn_id = null where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Removes a prompt; answers whether it was there.
pub async fn delete(tx: &mut Tx, id: PromptId) -> Result<bool> {
    let done = sqlx::query("delete from queued_messages where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Gives a waiting prompt other words.
pub async fn set_content(tx: &mut Tx, id: PromptId, content: &str) -> Result<()> {
    sqlx::query("update queued_messages set content = $1 where id = $2 and state = 'queued'")
        .bind(text(content))
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Puts a waiting prompt at another place.
pub async fn set_place(tx: &mut Tx, place: Place) -> Result<()> {
    sqlx::query(
        "update queued_messages set lane = $1, position = $2 where id = $3 and state = 'queued'",
    )
    .bind(place.lane.as_str())
    .bind(place.position)
    .bind(place.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Puts a waiting prompt before all others of its session, in the express lane.
pub async fn put_first(tx: &mut Tx, session: SessionId, id: PromptId) -> Result<()> {
    sqlx::query(
        "update queued_messages set lane = 'express', \
         position = (select min(x.position) - 1 from queued_messages x where x.session_id = $1) \
         where id = $2 and session_id = $1 and state = 'queued'",
    )
    .bind(session.to_string())
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Gives what waits for a session to another one of its task, in its order and behind what waits there, but for answers, for
/// what its sender addressed to that session, and for what is being sent; answers how many those were.
pub async fn hand_over(tx: &mut Tx, from: SessionId, to: SessionId) -> Result<u64> {
    let done = sqlx::query(
        "update queued_messages set session_id = $1, position = position \
         + (select coalesce(max(x.position) + 1, 0) from queued_messages x where x.session_id = $1) \
         - (select coalesce(min(y.position), 0) from queued_messages y where y.session_id = $2) \
         where session_id = $2 and state = 'queued' and pinned = 0 and answer_for_question_id is null",
    )
    .bind(to.to_string())
    .bind(from.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Removes what waits for a session, but for questions, answers, and what is being sent; answers how many those were.
pub async fn clear(tx: &mut Tx, session: SessionId) -> Result<u64> {
    let done = sqlx::query(
        "delete from queued_messages where session_id = $1 and state = 'queued' \
         and question_id is null and answer_for_question_id is null",
    )
    .bind(session.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Removes all prompts of a task's sessions: it was archived.
pub async fn purge_task(tx: &mut Tx, task: TaskId) -> Result<u64> {
    let done = sqlx::query("delete from queued_messages where task_id = $1")
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected())
}

/// Removes what steps asked of a task's sessions and no agent was sent: nobody works on the task any more. Gives the sessions
/// that lost something.
pub async fn drop_workflow(tx: &mut Tx, task: TaskId) -> Result<Vec<SessionId>> {
    let mut lost: Vec<SessionId> = sqlx::query(
        "delete from queued_messages where task_id = $1 and queued_by = 'workflow' and state = 'queued' returning session_id",
    )
    .bind(task.to_string())
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(|row| row.id("session_id"))
    .collect::<Result<_>>()?;
    lost.sort_unstable();
    lost.dedup();
    Ok(lost)
}

/// One prompt.
pub async fn find(db: &mut Snapshot, id: PromptId) -> Result<Option<QueuedPrompt>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from queued_messages where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The prompts of a session in the order of delivery.
pub async fn list(db: &mut Snapshot, session: SessionId) -> Result<Vec<QueuedPrompt>> {
    // 'express' sorts before 'normal'; the words were chosen for it and a test of the domain would notice a change.
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from queued_messages where session_id = $1 order by lane, position, id"
    )))
    .bind(session.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The prompts of all sessions of a task.
pub async fn list_by_task(db: &mut Snapshot, task: TaskId) -> Result<Vec<QueuedPrompt>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from queued_messages where task_id = $1 order by session_id, lane, position, id"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
