//! Workspaces.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx};
use domain::ids::WorkspaceId;
use domain::view::WorkspaceView;
use sqlx::any::AnyRow;

fn read(row: &AnyRow) -> Result<WorkspaceView> {
    Ok(WorkspaceView {
        id: row.id("id")?,
        name: row.text("name")?,
        description: row.text("description")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a workspace without an owner.
pub async fn insert(tx: &mut Tx, workspace: &WorkspaceView) -> Result<()> {
    sqlx::query("insert into workspaces (id, name, description, created_at, updated_at) values ($1, $2, $3, $4, $5)")
        .bind(workspace.id.to_string())
        .bind(text(&workspace.name))
        .bind(text(&workspace.description))
        .bind(workspace.created_at.millis())
        .bind(workspace.updated_at.millis())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// All workspaces, oldest first.
pub async fn list(db: &mut Snapshot) -> Result<Vec<WorkspaceView>> {
    sqlx::query("select id, name, description, created_at, updated_at from workspaces order by created_at, id")
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// One workspace.
pub async fn find(db: &mut Snapshot, id: WorkspaceId) -> Result<Option<WorkspaceView>> {
    sqlx::query(
        "select id, name, description, created_at, updated_at from workspaces where id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}
