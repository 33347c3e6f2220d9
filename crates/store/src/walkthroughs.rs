//! Walkthroughs: one a task.

use crate::row::{Columns, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::ids::TaskId;
use domain::walkthrough::Walkthrough;

/// Shows a walkthrough in the place of the one that the task may have.
pub async fn put(tx: &mut Tx, walkthrough: &Walkthrough) -> Result<()> {
    sqlx::query(
        "insert into walkthroughs (task_id, id, title, steps, created_at) values ($1, $2, $3, $4, $5) \
         on conflict (task_id) do update set id = excluded.id, title = excluded.title, steps = excluded.steps, \
         created_at = excluded.created_at",
    )
    .bind(walkthrough.task_id.to_string())
    .bind(walkthrough.id.to_string())
    .bind(text(&walkthrough.title))
    .bind(to_json("steps", &walkthrough.steps)?)
    .bind(walkthrough.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a task's walkthrough; answers whether there was one.
pub async fn delete(tx: &mut Tx, task: TaskId) -> Result<bool> {
    let done = sqlx::query("delete from walkthroughs where task_id = $1")
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() != 0)
}

/// The walkthrough of a task.
pub async fn find(db: &mut Snapshot, task: TaskId) -> Result<Option<Walkthrough>> {
    let row = sqlx::query(
        "select id, task_id, title, steps, created_at from walkthroughs where task_id = $1",
    )
    .bind(task.to_string())
    .fetch_optional(db.connection())
    .await?;
    row.map(|row| {
        Ok(Walkthrough {
            id: row.id("id")?,
            task_id: row.id("task_id")?,
            title: row.text("title")?,
            steps: row.json("steps")?,
            created_at: row.time("created_at")?,
        })
    })
    .transpose()
}
