//! Agents and their profiles.

use crate::row::{Columns, flag, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::agent::{Agent, AgentProfile, ProfileUse};
use domain::ids::{AgentId, ProfileId};
use domain::time::Timestamp;
use sqlx::any::AnyRow;

const AGENT: &str =
    "id, name, command, args, env, supports_mcp, supports_mcp_override, created_at, updated_at";
const PROFILE: &str =
    "id, agent_id, name, model, mode, passthrough, auto_approve, created_at, updated_at";

fn read_agent(row: &AnyRow) -> Result<Agent> {
    Ok(Agent {
        id: row.id("id")?,
        name: row.text("name")?,
        command: row.text("command")?,
        args: row.json("args")?,
        env: row.json("env")?,
        supports_mcp: row.opt_int("supports_mcp")?.map(|flag| flag != 0),
        supports_mcp_override: row.opt_int("supports_mcp_override")?.map(|flag| flag != 0),
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

fn read_profile(row: &AnyRow) -> Result<AgentProfile> {
    Ok(AgentProfile {
        id: row.id("id")?,
        agent_id: row.id("agent_id")?,
        name: row.text("name")?,
        model: row.opt_text("model")?,
        mode: row.opt_text("mode")?,
        passthrough: row.flag("passthrough")?,
        auto_approve: row.flag("auto_approve")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds an agent. A name that is taken is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, agent: &Agent) -> Result<()> {
    sqlx::query(
        "insert into agents (id, name, command, args, env, supports_mcp, supports_mcp_override, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(agent.id.to_string())
    .bind(text(&agent.name))
    .bind(text(&agent.command))
    .bind(to_json("args", &agent.args)?)
    .bind(to_json("env", &agent.env)?)
    .bind(agent.supports_mcp.map(flag))
    .bind(agent.supports_mcp_override.map(flag))
    .bind(agent.created_at.millis())
    .bind(agent.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes the command line of an agent.
pub async fn update_command(tx: &mut Tx, agent: &Agent) -> Result<()> {
    sqlx::query(
        "update agents set command = $1, args = $2, env = $3, updated_at = $4 where id = $5",
    )
    .bind(text(&agent.command))
    .bind(to_json("args", &agent.args)?)
    .bind(to_json("env", &agent.env)?)
    .bind(agent.updated_at.millis())
    .bind(agent.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Notes whether the agent's handshake announced MCP over HTTP; answers whether that is news.
pub async fn set_supports_mcp(
    tx: &mut Tx,
    id: AgentId,
    supports: bool,
    now: Timestamp,
) -> Result<bool> {
    let done = sqlx::query(
        "update agents set supports_mcp = $1, updated_at = $2 where id = $3 and (supports_mcp is null or supports_mcp <> $1)",
    )
    .bind(flag(supports))
    .bind(now.millis())
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Writes what somebody knows better than the agent's handshake; `None` leaves it to that.
pub async fn set_supports_mcp_override(
    tx: &mut Tx,
    id: AgentId,
    supports: Option<bool>,
    now: Timestamp,
) -> Result<()> {
    sqlx::query("update agents set supports_mcp_override = $1, updated_at = $2 where id = $3")
        .bind(supports.map(flag))
        .bind(now.millis())
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// All agents by age.
pub async fn list(db: &mut Snapshot) -> Result<Vec<Agent>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {AGENT} from agents order by created_at, id"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_agent)
    .collect()
}

/// One agent.
pub async fn find(db: &mut Snapshot, id: AgentId) -> Result<Option<Agent>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {AGENT} from agents where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_agent)
    .transpose()
}

/// Adds a profile. A name that the agent has already is [`crate::StoreError::Unique`].
pub async fn insert_profile(tx: &mut Tx, profile: &AgentProfile) -> Result<()> {
    sqlx::query(
        "insert into agent_profiles (id, agent_id, name, model, mode, passthrough, auto_approve, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(profile.id.to_string())
    .bind(profile.agent_id.to_string())
    .bind(text(&profile.name))
    .bind(opt_text(profile.model.as_deref()))
    .bind(opt_text(profile.mode.as_deref()))
    .bind(flag(profile.passthrough))
    .bind(flag(profile.auto_approve))
    .bind(profile.created_at.millis())
    .bind(profile.updated_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes what may change of a profile: name, model, mode and whether it is asked about. A name that the agent has already is
/// [`crate::StoreError::Unique`].
pub async fn update_profile(tx: &mut Tx, profile: &AgentProfile) -> Result<()> {
    sqlx::query(
        "update agent_profiles set name = $1, model = $2, mode = $3, auto_approve = $4, updated_at = $5 where id = $6",
    )
    .bind(text(&profile.name))
    .bind(opt_text(profile.model.as_deref()))
    .bind(opt_text(profile.mode.as_deref()))
    .bind(flag(profile.auto_approve))
    .bind(profile.updated_at.millis())
    .bind(profile.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Removes a profile that nothing uses. Sessions that ran with it keep it: [`crate::StoreError::Invariant`].
pub async fn delete_profile(tx: &mut Tx, id: ProfileId) -> Result<()> {
    sqlx::query("delete from agent_profiles where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// What uses a profile. A step also uses one that an event of its names; within a text the quotes would
/// be escaped.
pub async fn profile_use(db: &mut Snapshot, id: ProfileId) -> Result<ProfileUse> {
    let row = sqlx::query(
        "select (select count(*) from sessions where agent_profile_id = $1) as sessions, \
         (select count(*) from tasks where agent_profile_id = $1) as tasks, \
         (select count(*) from steps where agent_profile_id = $1 or events like '%\"agent_profile_id\":\"' || $1 || '\"%') as steps, \
         (select count(*) from workflows where agent_profile_id = $1) as workflows",
    )
    .bind(id.to_string())
    .fetch_one(db.connection())
    .await?;
    Ok(ProfileUse {
        sessions: row.int("sessions")?,
        tasks: row.int("tasks")?,
        steps: row.int("steps")?,
        workflows: row.int("workflows")?,
    })
}

/// All profiles by age.
pub async fn profiles(db: &mut Snapshot) -> Result<Vec<AgentProfile>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {PROFILE} from agent_profiles order by created_at, id"
    )))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read_profile)
    .collect()
}

/// One profile.
pub async fn find_profile(db: &mut Snapshot, id: ProfileId) -> Result<Option<AgentProfile>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "select {PROFILE} from agent_profiles where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read_profile)
    .transpose()
}
