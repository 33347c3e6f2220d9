//! Requests to change a repository's code that tasks care for, and what was told of them.

use crate::row::{Columns, flag, opt_millis, opt_text, text};
use crate::{Result, Snapshot, Tx};
use domain::change_request::{Automation, ChangeRequest, Checks, Mergeable, RequestState, Seen};
use domain::ids::{ChangeRequestId, RepositoryId, TaskId};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashSet;

const COLUMNS: &str = "id, task_id, repository_id, number, auto_fix_enabled, auto_merge_enabled, prompt_on_review_requested, \
    prompt_on_merged, prompt_on_closed, auto_fix_prompt_override, title, url, state, checks, mergeable, seen_at, problem, next_look_at, \
    created_at, updated_at";

fn read(row: &AnyRow) -> Result<ChangeRequest> {
    let seen = match row.opt_time("seen_at")? {
        Some(at) => Some(Seen {
            title: row.text("title")?,
            url: row.text("url")?,
            state: row.word("state", RequestState::parse)?,
            checks: row.word("checks", Checks::parse)?,
            mergeable: row.word("mergeable", Mergeable::parse)?,
            at,
        }),
        None => None,
    };
    Ok(ChangeRequest {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        repository_id: row.id("repository_id")?,
        number: row.int("number")?,
        automation: Automation {
            auto_fix_enabled: row.flag("auto_fix_enabled")?,
            auto_merge_enabled: row.flag("auto_merge_enabled")?,
            prompt_on_review_requested: row.flag("prompt_on_review_requested")?,
            prompt_on_merged: row.flag("prompt_on_merged")?,
            prompt_on_closed: row.flag("prompt_on_closed")?,
        },
        auto_fix_prompt_override: row.opt_text("auto_fix_prompt_override")?,
        seen,
        problem: row.opt_text("problem")?,
        next_look_at: row.opt_time("next_look_at")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a request that nobody has looked at yet. A second one of its task, repository and number is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, request: &ChangeRequest) -> Result<()> {
    sqlx::query(
        "insert into change_requests (id, task_id, repository_id, number, auto_fix_enabled, auto_merge_enabled, \
         prompt_on_review_requested, prompt_on_merged, prompt_on_closed, auto_fix_prompt_override, next_look_at, created_at, \
         updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(request.id.to_string())
    .bind(request.task_id.to_string())
    .bind(request.repository_id.to_string())
    .bind(request.number)
    .bind(flag(request.automation.auto_fix_enabled))
    .bind(flag(request.automation.auto_merge_enabled))
    .bind(flag(request.automation.prompt_on_review_requested))
    .bind(flag(request.automation.prompt_on_merged))
    .bind(flag(request.automation.prompt_on_closed))
    .bind(opt_text(request.auto_fix_prompt_override.as_deref()))
    .bind(opt_millis(request.next_look_at))
    .bind(request.created_at.millis())
    .bind(request.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what is done about a request by itself, and when it is looked at next.
pub async fn set_automation(tx: &mut Tx, request: &ChangeRequest) -> Result<()> {
    sqlx::query(
        "update change_requests set auto_fix_enabled = $1, auto_merge_enabled = $2, prompt_on_review_requested = $3, \
         prompt_on_merged = $4, prompt_on_closed = $5, auto_fix_prompt_override = $6, next_look_at = $7, updated_at = $8 \
         where id = $9",
    )
    .bind(flag(request.automation.auto_fix_enabled))
    .bind(flag(request.automation.auto_merge_enabled))
    .bind(flag(request.automation.prompt_on_review_requested))
    .bind(flag(request.automation.prompt_on_merged))
    .bind(flag(request.automation.prompt_on_closed))
    .bind(opt_text(request.auto_fix_prompt_override.as_deref()))
    .bind(opt_millis(request.next_look_at))
    .bind(request.updated_at.millis())
    .bind(request.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what a look came to: what was seen, if anything was, what went wrong, and when to look again.
pub async fn set_seen(tx: &mut Tx, request: &ChangeRequest) -> Result<()> {
    let seen = request.seen.as_ref();
    sqlx::query(
        "update change_requests set title = $1, url = $2, state = $3, checks = $4, mergeable = $5, seen_at = $6, problem = $7, \
         next_look_at = $8 where id = $9",
    )
    .bind(seen.map(|seen| text(&seen.title)))
    .bind(seen.map(|seen| text(&seen.url)))
    .bind(seen.map(|seen| seen.state.as_str()))
    .bind(seen.map(|seen| seen.checks.as_str()))
    .bind(seen.map(|seen| seen.mergeable.as_str()))
    .bind(opt_millis(seen.map(|seen| seen.at)))
    .bind(opt_text(request.problem.as_deref()))
    .bind(opt_millis(request.next_look_at))
    .bind(request.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// One request.
pub async fn find(db: &mut Snapshot, id: ChangeRequestId) -> Result<Option<ChangeRequest>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from change_requests where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The requests of a task, oldest first.
pub async fn list(db: &mut Snapshot, task: TaskId) -> Result<Vec<ChangeRequest>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from change_requests where task_id = $1 order by created_at, id"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Forgets a request with what was told of it; answers whether there was one.
pub async fn delete(tx: &mut Tx, id: ChangeRequestId) -> Result<bool> {
    let done = sqlx::query("delete from change_requests where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Forgets the requests of a task to a repository.
pub async fn delete_of(tx: &mut Tx, task: TaskId, repository: RepositoryId) -> Result<()> {
    sqlx::query("delete from change_requests where task_id = $1 and repository_id = $2")
        .bind(task.to_string())
        .bind(repository.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Takes up to `limit` requests that are due, longest due first, by putting their next look off to `next`: of several nodes one looks.
/// Those of tasks that are over are put off and not given.
pub async fn claim_due(
    tx: &mut Tx,
    now: Timestamp,
    next: Timestamp,
    limit: i64,
) -> Result<Vec<ChangeRequest>> {
    let ids: Vec<String> = sqlx::query(
        "update change_requests set next_look_at = $1 where id in (\
             select id from change_requests where next_look_at <= $2 order by next_look_at, id limit $3) \
         returning id",
    )
    .bind(next.millis())
    .bind(now.millis())
    .bind(limit)
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(|row| row.text("id"))
    .collect::<Result<_>>()?;
    let mut query = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from change_requests where id in ({}) and exists (select 1 from tasks t \
         where t.id = change_requests.task_id and t.archived_at is null and t.state not in ('FAILED', 'CANCELLED')) order by id",
        crate::rows::places(1, ids.len())
    )));
    for id in &ids {
        query = query.bind(id);
    }
    query
        .fetch_all(tx.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// When the next look is due.
pub async fn next_due(db: &mut Snapshot) -> Result<Option<Timestamp>> {
    sqlx::query(
        "select min(next_look_at) as due from change_requests where next_look_at is not null",
    )
    .fetch_one(db.connection())
    .await?
    .opt_time("due")
}

/// The subjects under which something was told of a request.
pub async fn told(db: &mut Snapshot, id: ChangeRequestId) -> Result<HashSet<String>> {
    sqlx::query("select subject from change_request_news where change_request_id = $1")
        .bind(id.to_string())
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| row.text("subject"))
        .collect()
}

/// Notes that something is told under a subject; answers whether that is new.
pub async fn tell(tx: &mut Tx, id: ChangeRequestId, subject: &str, now: Timestamp) -> Result<bool> {
    let done = sqlx::query(
        "insert into change_request_news (change_request_id, subject, told_at) values ($1, $2, $3) on conflict do nothing",
    )
    .bind(id.to_string())
    .bind(text(subject))
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}
