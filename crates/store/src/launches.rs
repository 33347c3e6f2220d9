//! Starts that were asked for and wait: for predecessors, or for a place in a step.

use crate::row::{Columns, flag, opt, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::dependency::LaunchIntent;
use domain::ids::{SessionId, TaskId};
use domain::queue::QueuedBy;
use domain::time::Timestamp;
use serde_json::{Map, Value};

/// A start that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredLaunch {
    /// The task to start.
    pub task_id: TaskId,
    /// What is started.
    pub intent: LaunchIntent,
    /// The first prompt; empty for the entry into a step, which has its own.
    pub prompt: String,
    /// Whose words it is.
    pub queued_by: QueuedBy,
    /// The task of the agent that asked.
    pub sender_task_id: Option<TaskId>,
    /// Its session.
    pub sender_session_id: Option<SessionId>,
    /// Metadata of the message that the prompt becomes.
    pub metadata: Map<String, Value>,
    /// It is under way: an agent is being started with it.
    pub launched: bool,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// Stores a start; one that waits already stays, since a task is started once. Answers whether it was stored.
pub async fn insert(tx: &mut Tx, launch: &DeferredLaunch) -> Result<bool> {
    let done = sqlx::query(
        "insert into deferred_launches (task_id, intent, prompt, queued_by, sender_task_id, sender_session_id, metadata, \
         launched, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing",
    )
    .bind(launch.task_id.to_string())
    .bind(launch.intent.as_str())
    .bind(text(&launch.prompt))
    .bind(launch.queued_by.as_str())
    .bind(opt(launch.sender_task_id.as_ref()))
    .bind(opt(launch.sender_session_id.as_ref()))
    .bind(text(&to_json("metadata", &launch.metadata)?))
    .bind(flag(launch.launched))
    .bind(launch.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The start that waits for a task.
pub async fn find(db: &mut Snapshot, task: TaskId) -> Result<Option<DeferredLaunch>> {
    sqlx::query(
        "select task_id, intent, prompt, queued_by, sender_task_id, sender_session_id, metadata, launched, created_at \
         from deferred_launches where task_id = $1",
    )
    .bind(task.to_string())
    .fetch_optional(db.connection())
    .await?
    .map(|row| {
        Ok(DeferredLaunch {
            task_id: row.id("task_id")?,
            intent: row.word("intent", LaunchIntent::parse)?,
            prompt: row.text("prompt")?,
            queued_by: row.word("queued_by", QueuedBy::parse)?,
            sender_task_id: row.opt_id("sender_task_id")?,
            sender_session_id: row.opt_id("sender_session_id")?,
            metadata: row.json("metadata")?,
            launched: row.flag("launched")?,
            created_at: row.time("created_at")?,
        })
    })
    .transpose()
}

/// Changes the words of a start that waits.
pub async fn set_prompt(tx: &mut Tx, task: TaskId, prompt: &str) -> Result<()> {
    sqlx::query("update deferred_launches set prompt = $1 where task_id = $2")
        .bind(text(prompt))
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Notes that a start is under way, or that it failed and waits again.
pub async fn set_launched(tx: &mut Tx, task: TaskId, launched: bool) -> Result<()> {
    sqlx::query("update deferred_launches set launched = $1 where task_id = $2")
        .bind(flag(launched))
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Removes the start that waits for a task; answers whether there was one.
pub async fn delete(tx: &mut Tx, task: TaskId) -> Result<bool> {
    let done = sqlx::query("delete from deferred_launches where task_id = $1")
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}
