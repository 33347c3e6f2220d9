//! MCP servers of profiles.

use crate::row::{Columns, flag, to_json};
use crate::{Result, Snapshot, Tx};
use domain::ids::ProfileId;
use domain::mcp_servers::McpConfig;
use domain::time::Timestamp;
use sqlx::any::AnyRow;

fn read(row: &AnyRow) -> Result<(McpConfig, Timestamp)> {
    let config = McpConfig {
        enabled: row.flag("enabled")?,
        servers: row.json("servers")?,
    };
    Ok((config, row.time("updated_at")?))
}

/// Writes the servers of a profile in the place of those that it had.
pub async fn put(
    tx: &mut Tx,
    profile: ProfileId,
    config: &McpConfig,
    now: Timestamp,
) -> Result<()> {
    sqlx::query(
        "insert into mcp_configs (profile_id, enabled, servers, updated_at) values ($1, $2, $3, $4) \
         on conflict (profile_id) do update set enabled = excluded.enabled, servers = excluded.servers, \
         updated_at = excluded.updated_at",
    )
    .bind(profile.to_string())
    .bind(flag(config.enabled))
    .bind(to_json("servers", &config.servers)?)
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The servers of a profile, secrets included, and when they were last written. `None` when nobody ever did.
pub async fn find(db: &mut Snapshot, profile: ProfileId) -> Result<Option<(McpConfig, Timestamp)>> {
    let row =
        sqlx::query("select enabled, servers, updated_at from mcp_configs where profile_id = $1")
            .bind(profile.to_string())
            .fetch_optional(db.connection())
            .await?;
    row.as_ref().map(read).transpose()
}

/// The servers of all profiles that ever had some.
pub async fn list(db: &mut Snapshot) -> Result<Vec<(ProfileId, McpConfig, Timestamp)>> {
    let rows = sqlx::query(
        "select profile_id, enabled, servers, updated_at from mcp_configs order by profile_id",
    )
    .fetch_all(db.connection())
    .await?;
    rows.iter()
        .map(|row| {
            let (config, at) = read(row)?;
            Ok((row.id("profile_id")?, config, at))
        })
        .collect()
}
