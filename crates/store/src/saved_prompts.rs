//! Saved prompts, by their names.

use crate::row::{Columns, text};
use crate::rows::places;
use crate::{Result, Snapshot, Tx};
use domain::saved_prompt::{PromptName, SavedPrompt};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "name, content, created_at, updated_at";

fn read(row: &AnyRow) -> Result<SavedPrompt> {
    Ok(SavedPrompt {
        name: row.word("name", |text| text.parse::<PromptName>())?,
        content: row.text("content")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Saves a prompt in the place of the one of its name, which keeps its age.
pub async fn put(tx: &mut Tx, prompt: &SavedPrompt) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into saved_prompts ({COLUMNS}) values ($1, $2, $3, $4) \
         on conflict (name) do update set content = excluded.content, updated_at = excluded.updated_at"
    )))
    .bind(prompt.name.as_str())
    .bind(text(&prompt.content))
    .bind(prompt.created_at.millis())
    .bind(prompt.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a prompt; answers whether there was one.
pub async fn delete(tx: &mut Tx, name: &PromptName) -> Result<bool> {
    let done = sqlx::query("delete from saved_prompts where name = $1")
        .bind(name.as_str())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// All prompts by their names.
pub async fn list(db: &mut Snapshot) -> Result<Vec<SavedPrompt>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from saved_prompts"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<_>>()
    .map(sorted)
}

/// In one order everywhere: how an engine orders text is a matter of its collation.
fn sorted(mut prompts: Vec<SavedPrompt>) -> Vec<SavedPrompt> {
    prompts.sort_by(|one, other| one.name.cmp(&other.name));
    prompts
}

/// How many prompts there are.
pub async fn count(db: &mut Snapshot) -> Result<i64> {
    sqlx::query("select count(*) as prompts from saved_prompts")
        .fetch_one(db.connection())
        .await?
        .int("prompts")
}

/// Those of `names` that there are, by their names.
pub async fn named(db: &mut Snapshot, names: &[PromptName]) -> Result<Vec<SavedPrompt>> {
    let sql = format!(
        "select {COLUMNS} from saved_prompts where name in ({})",
        places(1, names.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for name in names {
        query = query.bind(name.as_str());
    }
    query
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect::<Result<_>>()
        .map(sorted)
}
