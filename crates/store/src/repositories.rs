//! Repositories of workspaces, and which tasks are about them.

use crate::row::{Columns, opt_text, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::{RepositoryId, TaskId, WorkspaceId};
use domain::repository::{NamedTask, Place, Provider, Repository, RepositoryUse};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "r.id, r.workspace_id, r.name, r.local_path, r.provider, r.host, r.project_path, r.default_branch, \
    r.created_at, r.updated_at";

fn read(row: &AnyRow) -> Result<Repository> {
    Ok(Repository {
        id: row.id("id")?,
        workspace_id: row.id("workspace_id")?,
        name: row.text("name")?,
        local_path: row.opt_text("local_path")?,
        provider: row.word("provider", Provider::parse)?,
        host: row.opt_text("host")?,
        project_path: row.opt_text("project_path")?,
        default_branch: row.opt_text("default_branch")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a repository. A second one at its place, or in its folder, is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, repository: &Repository) -> Result<()> {
    sqlx::query(
        "insert into repositories (id, workspace_id, name, local_path, provider, host, project_path, default_branch, \
         created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(repository.id.to_string())
    .bind(repository.workspace_id.to_string())
    .bind(text(&repository.name))
    .bind(opt_text(repository.local_path.as_deref()))
    .bind(repository.provider.as_str())
    .bind(opt_text(repository.host.as_deref()))
    .bind(opt_text(repository.project_path.as_deref()))
    .bind(opt_text(repository.default_branch.as_deref()))
    .bind(repository.created_at.millis())
    .bind(repository.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what may change of a repository.
pub async fn update(tx: &mut Tx, repository: &Repository) -> Result<()> {
    sqlx::query(
        "update repositories set name = $1, local_path = $2, default_branch = $3, updated_at = $4 where id = $5",
    )
    .bind(text(&repository.name))
    .bind(opt_text(repository.local_path.as_deref()))
    .bind(opt_text(repository.default_branch.as_deref()))
    .bind(repository.updated_at.millis())
    .bind(repository.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a repository, also from the tasks that are about it.
pub async fn delete(tx: &mut Tx, id: RepositoryId) -> Result<()> {
    sqlx::query("delete from repositories where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// The repositories of a workspace, oldest first.
pub async fn list(db: &mut Snapshot, workspace: WorkspaceId) -> Result<Vec<Repository>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from repositories r where r.workspace_id = $1 order by r.created_at, r.id"
    )))
    .bind(workspace.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// One repository.
pub async fn find(db: &mut Snapshot, id: RepositoryId) -> Result<Option<Repository>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from repositories r where r.id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Those of these repositories that there are.
pub async fn find_all(db: &mut Snapshot, ids: &[RepositoryId]) -> Result<Vec<Repository>> {
    let mut query = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from repositories r where r.id in ({}) order by r.id",
        crate::rows::places(1, ids.len())
    )));
    for id in ids {
        query = query.bind(id.to_string());
    }
    query
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// The repository of a workspace at a place.
pub async fn at_place(
    db: &mut Snapshot,
    workspace: WorkspaceId,
    place: &Place,
) -> Result<Option<Repository>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from repositories r where r.workspace_id = $1 and r.host = $2 and lower(r.project_path) = lower($3)"
    )))
    .bind(workspace.to_string())
    .bind(&place.host)
    .bind(&place.project_path)
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The repository of a workspace in a folder.
pub async fn in_folder(
    db: &mut Snapshot,
    workspace: WorkspaceId,
    folder: &str,
) -> Result<Option<Repository>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from repositories r where r.workspace_id = $1 and r.local_path = $2"
    )))
    .bind(workspace.to_string())
    .bind(text(folder))
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Makes a task be about a repository; answers whether that is new.
pub async fn attach(
    tx: &mut Tx,
    task: TaskId,
    repository: RepositoryId,
    now: Timestamp,
) -> Result<bool> {
    let done = sqlx::query(
        "insert into task_repositories (task_id, repository_id, created_at) values ($1, $2, $3) on conflict do nothing",
    )
    .bind(task.to_string())
    .bind(repository.to_string())
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes that back; answers whether it was so.
pub async fn detach(tx: &mut Tx, task: TaskId, repository: RepositoryId) -> Result<bool> {
    let done =
        sqlx::query("delete from task_repositories where task_id = $1 and repository_id = $2")
            .bind(task.to_string())
            .bind(repository.to_string())
            .execute(tx.connection())
            .await?;
    Ok(done.rows_affected() == 1)
}

/// What a task is about, in the order in which it was said.
pub async fn of_task(db: &mut Snapshot, task: TaskId) -> Result<Vec<Repository>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from task_repositories a join repositories r on r.id = a.repository_id \
         where a.task_id = $1 order by a.created_at, r.id"
    )))
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Who keeps what a task is about.
pub async fn providers(db: &mut Snapshot, task: TaskId) -> Result<Vec<Provider>> {
    sqlx::query(
        "select distinct r.provider from task_repositories a join repositories r on r.id = a.repository_id \
         where a.task_id = $1 order by r.provider",
    )
    .bind(task.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| row.word("provider", Provider::parse))
    .collect()
}

/// How many tasks that are not archived are about a repository.
pub async fn tasks_on_board(db: &mut Snapshot, repository: RepositoryId) -> Result<i64> {
    sqlx::query(
        "select count(*) as number from task_repositories a join tasks t on t.id = a.task_id \
         where a.repository_id = $1 and t.archived_at is null",
    )
    .bind(repository.to_string())
    .fetch_one(db.connection())
    .await?
    .int("number")
}

/// The tasks that are not archived and are about a repository: how many, and the newest of them.
pub async fn uses(
    db: &mut Snapshot,
    repository: RepositoryId,
    limit: i64,
) -> Result<RepositoryUse> {
    let total = tasks_on_board(db, repository).await?;
    let tasks = sqlx::query(
        "select t.id, t.title from task_repositories a join tasks t on t.id = a.task_id \
         where a.repository_id = $1 and t.archived_at is null order by t.created_at desc, t.id limit $2",
    )
    .bind(repository.to_string())
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(NamedTask {
            id: row.id("id")?,
            title: row.text("title")?,
        })
    })
    .collect::<Result<_>>()?;
    Ok(RepositoryUse { total, tasks })
}
