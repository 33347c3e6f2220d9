//! Review findings.

use crate::row::{Columns, opt, opt_millis, opt_text, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::{FindingId, TaskId};
use domain::review::{Finding, FindingStatus, Severity, Side};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, task_id, session_id, repo, file, line, line_end, side, severity, category, title, body, suggestion, \
                       status, created_at, updated_at, resolved_at";

fn read(row: &AnyRow) -> Result<Finding> {
    Ok(Finding {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        session_id: row.opt_id("session_id")?,
        repo: row.text("repo")?,
        file: row.text("file")?,
        line: row.int("line")?,
        line_end: row.int("line_end")?,
        side: row.word("side", Side::parse)?,
        severity: row.word("severity", Severity::parse)?,
        category: row.text("category")?,
        title: row.text("title")?,
        body: row.text("body")?,
        suggestion: row.opt_text("suggestion")?,
        status: row.word("status", FindingStatus::parse)?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        resolved_at: row.opt_time("resolved_at")?,
    })
}

/// Writes a finding, new or known. A second open one of one place and title is [`crate::StoreError::Unique`].
pub async fn put(tx: &mut Tx, finding: &Finding) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into review_findings ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
         $17) on conflict (id) do update set session_id = excluded.session_id, severity = excluded.severity, \
         category = excluded.category, body = excluded.body, suggestion = excluded.suggestion, status = excluded.status, \
         updated_at = excluded.updated_at, resolved_at = excluded.resolved_at"
    )))
    .bind(finding.id.to_string())
    .bind(finding.task_id.to_string())
    .bind(opt(finding.session_id.as_ref()))
    .bind(text(&finding.repo))
    .bind(text(&finding.file))
    .bind(finding.line)
    .bind(finding.line_end)
    .bind(finding.side.as_str())
    .bind(finding.severity.as_str())
    .bind(text(&finding.category))
    .bind(text(&finding.title))
    .bind(text(&finding.body))
    .bind(opt_text(finding.suggestion.as_deref()))
    .bind(finding.status.as_str())
    .bind(finding.created_at.millis())
    .bind(finding.updated_at.millis())
    .bind(opt_millis(finding.resolved_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// One finding.
pub async fn find(db: &mut Snapshot, id: FindingId) -> Result<Option<Finding>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from review_findings where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The findings of a task, oldest first.
pub async fn list(db: &mut Snapshot, task: TaskId) -> Result<Vec<Finding>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from review_findings where task_id = $1 order by created_at, id"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The open findings of a task, oldest first.
pub async fn open(db: &mut Snapshot, task: TaskId) -> Result<Vec<Finding>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from review_findings where task_id = $1 and status = 'open' order by created_at, id"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
