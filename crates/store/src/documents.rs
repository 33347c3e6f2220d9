//! Documents of tasks, and decisions about their steps.
//!
//! Texts are kept byte for byte: `domain::document` has refused what an engine could not store.

use crate::row::{Columns, opt, text};
use crate::{Result, Snapshot, StoreError, Tx};
use domain::document::{Decision, Document, DocumentEntry, DocumentKey, StepDecision};
use domain::ids::{StepId, TaskId};
use domain::plan::PlanAuthorKind;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const ENTRY: &str = "id, task_id, document_key, title, document_type, octet_length(content) as content_bytes, author_kind, \
                     author_session_id, created_at, updated_at";

fn read_entry(row: &AnyRow) -> Result<DocumentEntry> {
    Ok(DocumentEntry {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        document_key: row.word("document_key", |text| text.parse::<DocumentKey>())?,
        title: row.text("title")?,
        kind: row.text("document_type")?,
        content_bytes: row.int("content_bytes")?,
        author_kind: row.word("author_kind", PlanAuthorKind::parse)?,
        author_session_id: row.opt_id("author_session_id")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Writes a document in the place of the one under its key, which keeps its id and its age.
pub async fn put(tx: &mut Tx, document: &Document) -> Result<()> {
    let entry = &document.entry;
    sqlx::query(
        "insert into task_documents (id, task_id, document_key, title, document_type, content, author_kind, author_session_id, \
         created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         on conflict (task_id, document_key) do update set title = excluded.title, document_type = excluded.document_type, \
         content = excluded.content, author_kind = excluded.author_kind, author_session_id = excluded.author_session_id, \
         updated_at = excluded.updated_at",
    )
    .bind(entry.id.to_string())
    .bind(entry.task_id.to_string())
    .bind(entry.document_key.as_str())
    .bind(text(&entry.title))
    .bind(text(&entry.kind))
    .bind(&document.content)
    .bind(entry.author_kind.as_str())
    .bind(opt(entry.author_session_id.as_ref()))
    .bind(entry.created_at.millis())
    .bind(entry.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a document; answers whether there was one.
pub async fn delete(tx: &mut Tx, task: TaskId, key: &DocumentKey) -> Result<bool> {
    let done = sqlx::query("delete from task_documents where task_id = $1 and document_key = $2")
        .bind(task.to_string())
        .bind(key.as_str())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// The documents of a task by their keys, without their texts.
pub async fn list(db: &mut Snapshot, task: TaskId) -> Result<Vec<DocumentEntry>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {ENTRY} from task_documents where task_id = $1 order by document_key"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_entry)
    .collect()
}

/// One document.
pub async fn find(db: &mut Snapshot, task: TaskId, key: &DocumentKey) -> Result<Option<Document>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {ENTRY}, content from task_documents where task_id = $1 and document_key = $2"
    )))
    .bind(task.to_string())
    .bind(key.as_str())
    .fetch_optional(db.connection())
    .await?
    .map(|row| {
        Ok::<_, StoreError>(Document {
            entry: read_entry(&row)?,
            content: row.text("content")?,
        })
    })
    .transpose()
}

/// Adds a decision.
pub async fn insert_decision(tx: &mut Tx, decision: &StepDecision) -> Result<()> {
    sqlx::query(
        "insert into step_decisions (id, task_id, step_id, session_id, decision, reason, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(decision.id.to_string())
    .bind(decision.task_id.to_string())
    .bind(decision.step_id.to_string())
    .bind(opt(decision.session_id.as_ref()))
    .bind(decision.decision.as_str())
    .bind(text(&decision.reason))
    .bind(decision.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Forgets what was decided about one step of a task; answers whether there was anything.
pub async fn clear_decisions(tx: &mut Tx, task: TaskId, step: StepId) -> Result<bool> {
    let done = sqlx::query("delete from step_decisions where task_id = $1 and step_id = $2")
        .bind(task.to_string())
        .bind(step.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() > 0)
}

/// The decisions about a task's steps, oldest first.
pub async fn decisions(db: &mut Snapshot, task: TaskId) -> Result<Vec<StepDecision>> {
    sqlx::query(
        "select id, task_id, step_id, session_id, decision, reason, created_at from step_decisions where task_id = $1 \
         order by created_at, id",
    )
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(StepDecision {
            id: row.id("id")?,
            task_id: row.id("task_id")?,
            step_id: row.id("step_id")?,
            session_id: row.opt_id("session_id")?,
            decision: row.word("decision", Decision::parse)?,
            reason: row.text("reason")?,
            created_at: row.time("created_at")?,
        })
    })
    .collect()
}
