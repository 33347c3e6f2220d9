//! Plans and their revisions.
//!
//! Texts are kept byte for byte: `domain::plan` has refused what an engine could not store.

use crate::row::{Columns, opt};
use crate::{Result, Snapshot, Tx};
use domain::ids::{PlanRevisionId, TaskId};
use domain::plan::{
    Implementation, Plan, PlanAuthor, PlanAuthorKind, PlanRevision, PlanRevisionEntry,
};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const PLAN: &str = "id, task_id, title, content, created_by, version, created_at, updated_at";
const IMPLEMENTATION: &str =
    "implementation_started_at, implementation_started_by, implementation_started_session_id";
const REVISION: &str = "id, task_id, plan_id, revision_number, version, title, content, author_kind, author_name, \
                        author_session_id, revert_of, created_at, updated_at";

fn read(row: &AnyRow) -> Result<Plan> {
    Ok(Plan {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        title: row.text("title")?,
        content: row.text("content")?,
        created_by: row.word("created_by", PlanAuthorKind::parse)?,
        version: row.id("version")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        implementation: read_implementation(row)?,
    })
}

fn read_implementation(row: &AnyRow) -> Result<Option<Implementation>> {
    Ok(
        match (
            row.opt_time("implementation_started_at")?,
            row.opt_word("implementation_started_by", PlanAuthorKind::parse)?,
            row.opt_id("implementation_started_session_id")?,
        ) {
            (Some(started_at), Some(started_by), Some(session_id)) => Some(Implementation {
                started_at,
                started_by,
                session_id,
            }),
            _ => None,
        },
    )
}

fn read_revision(row: &AnyRow) -> Result<PlanRevision> {
    Ok(PlanRevision {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        plan_id: row.id("plan_id")?,
        number: row.int("revision_number")?,
        version: row.id("version")?,
        title: row.text("title")?,
        content: row.text("content")?,
        author: PlanAuthor {
            kind: row.word("author_kind", PlanAuthorKind::parse)?,
            name: row.text("author_name")?,
            session_id: row.opt_id("author_session_id")?,
        },
        revert_of: row.opt_id("revert_of")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn read_entry(row: &AnyRow) -> Result<PlanRevisionEntry> {
    Ok(PlanRevisionEntry {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        revision_number: row.int("revision_number")?,
        revision_version: row.id("version")?,
        title: row.text("title")?,
        author_kind: row.word("author_kind", PlanAuthorKind::parse)?,
        author_name: row.text("author_name")?,
        revert_of_revision_id: row.opt_id("revert_of")?,
        content_bytes: row.int("content_bytes")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Writes a task's plan, whether or not it has one; a plan that is replaced keeps its id, its maker, and the mark that it
/// is carried out.
pub async fn put(tx: &mut Tx, plan: &Plan) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into plans ({PLAN}) values ($1, $2, $3, $4, $5, $6, $7, $8) \
         on conflict (task_id) do update set title = excluded.title, content = excluded.content, version = excluded.version, \
         updated_at = excluded.updated_at"
    )))
    .bind(plan.id.to_string())
    .bind(plan.task_id.to_string())
    .bind(&plan.title)
    .bind(&plan.content)
    .bind(plan.created_by.as_str())
    .bind(plan.version.to_string())
    .bind(plan.created_at.millis())
    .bind(plan.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Notes that a task's plan is to be carried out. Its text and its version stay.
pub async fn set_implementation(tx: &mut Tx, task: TaskId, mark: &Implementation) -> Result<()> {
    sqlx::query(
        "update plans set implementation_started_at = $1, implementation_started_by = $2, \
         implementation_started_session_id = $3 where task_id = $4",
    )
    .bind(mark.started_at.millis())
    .bind(mark.started_by.as_str())
    .bind(mark.session_id.to_string())
    .bind(task.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a task's plan; its history stays. Answers whether there was one.
pub async fn delete(tx: &mut Tx, task: TaskId) -> Result<bool> {
    let done = sqlx::query("delete from plans where task_id = $1")
        .bind(task.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() != 0)
}

/// The plan of a task.
pub async fn find(db: &mut Snapshot, task: TaskId) -> Result<Option<Plan>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {PLAN}, {IMPLEMENTATION} from plans where task_id = $1"
    )))
    .bind(task.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Adds a revision. A number that the task has already is [`crate::StoreError::Unique`].
pub async fn insert_revision(tx: &mut Tx, revision: &PlanRevision) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into plan_revisions ({REVISION}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    )))
    .bind(revision.id.to_string())
    .bind(revision.task_id.to_string())
    .bind(revision.plan_id.to_string())
    .bind(revision.number)
    .bind(revision.version.to_string())
    .bind(&revision.title)
    .bind(&revision.content)
    .bind(revision.author.kind.as_str())
    .bind(&revision.author.name)
    .bind(opt(revision.author.session_id.as_ref()))
    .bind(opt(revision.revert_of.as_ref()))
    .bind(revision.created_at.millis())
    .bind(revision.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what a merge changes in a revision: title, text, version and the time of it.
pub async fn update_revision(tx: &mut Tx, revision: &PlanRevision) -> Result<()> {
    sqlx::query(
        "update plan_revisions set title = $1, content = $2, version = $3, updated_at = $4 where id = $5",
    )
    .bind(&revision.title)
    .bind(&revision.content)
    .bind(revision.version.to_string())
    .bind(revision.updated_at.millis())
    .bind(revision.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// One revision.
pub async fn find_revision(db: &mut Snapshot, id: PlanRevisionId) -> Result<Option<PlanRevision>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {REVISION} from plan_revisions where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_revision)
    .transpose()
}

/// The newest revision of a task.
pub async fn latest_revision(db: &mut Snapshot, task: TaskId) -> Result<Option<PlanRevision>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {REVISION} from plan_revisions where task_id = $1 order by revision_number desc limit 1"
    )))
    .bind(task.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_revision)
    .transpose()
}

/// Up to `limit` revisions with numbers below `before`, newest first and without their texts, and whether there are more.
pub async fn revisions(
    db: &mut Snapshot,
    task: TaskId,
    before: i64,
    limit: i64,
) -> Result<(Vec<PlanRevisionEntry>, bool)> {
    let mut entries = sqlx::query(
        "select id, task_id, revision_number, version, title, author_kind, author_name, revert_of, \
         cast(octet_length(content) as bigint) as content_bytes, created_at, updated_at from plan_revisions \
         where task_id = $1 and revision_number < $2 order by revision_number desc limit $3",
    )
    .bind(task.to_string())
    .bind(before)
    .bind(limit.saturating_add(1))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_entry)
    .collect::<Result<Vec<_>>>()?;
    let has_more = i64::try_from(entries.len()).is_ok_and(|count| count > limit);
    if has_more {
        entries.pop();
    }
    Ok((entries, has_more))
}
