//! The schema, step by step. A step that has been released is never edited; the same version and name exist for both engines.

use crate::Result;
use crate::engine::Engine;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, Connection};
use sqlx::{AssertSqlSafe, SqlSafeStr};
use std::borrow::Cow;

/// `(version, name, SQLite, Postgres)`
const STEPS: &[(i64, &str, &str, &str)] = &[
    (
        1,
        "trunk",
        include_str!("../migrations/sqlite/0001_trunk.sql"),
        include_str!("../migrations/postgres/0001_trunk.sql"),
    ),
    (
        2,
        "talk",
        include_str!("../migrations/sqlite/0002_talk.sql"),
        include_str!("../migrations/postgres/0002_talk.sql"),
    ),
    (
        3,
        "flow",
        include_str!("../migrations/sqlite/0003_flow.sql"),
        include_str!("../migrations/postgres/0003_flow.sql"),
    ),
    (
        4,
        "plans",
        include_str!("../migrations/sqlite/0004_plans.sql"),
        include_str!("../migrations/postgres/0004_plans.sql"),
    ),
    (
        5,
        "people",
        include_str!("../migrations/sqlite/0005_people.sql"),
        include_str!("../migrations/postgres/0005_people.sql"),
    ),
    (
        6,
        "jobs",
        include_str!("../migrations/sqlite/0006_jobs.sql"),
        include_str!("../migrations/postgres/0006_jobs.sql"),
    ),
    (
        7,
        "talk_more",
        include_str!("../migrations/sqlite/0007_talk_more.sql"),
        include_str!("../migrations/postgres/0007_talk_more.sql"),
    ),
    (
        8,
        "runs",
        include_str!("../migrations/sqlite/0008_runs.sql"),
        include_str!("../migrations/postgres/0008_runs.sql"),
    ),
    (
        9,
        "consent",
        include_str!("../migrations/sqlite/0009_consent.sql"),
        include_str!("../migrations/postgres/0009_consent.sql"),
    ),
    (
        10,
        "accounts",
        include_str!("../migrations/sqlite/0010_accounts.sql"),
        include_str!("../migrations/postgres/0010_accounts.sql"),
    ),
    (
        11,
        "surfaces",
        include_str!("../migrations/sqlite/0011_surfaces.sql"),
        include_str!("../migrations/postgres/0011_surfaces.sql"),
    ),
    (
        12,
        "ended_jobs",
        include_str!("../migrations/sqlite/0012_ended_jobs.sql"),
        include_str!("../migrations/postgres/0012_ended_jobs.sql"),
    ),
    (
        13,
        "run_keys",
        include_str!("../migrations/sqlite/0013_run_keys.sql"),
        include_str!("../migrations/postgres/0013_run_keys.sql"),
    ),
    (
        14,
        "run_calls",
        include_str!("../migrations/sqlite/0014_run_calls.sql"),
        include_str!("../migrations/postgres/0014_run_calls.sql"),
    ),
    (
        15,
        "repositories",
        include_str!("../migrations/sqlite/0015_repositories.sql"),
        include_str!("../migrations/postgres/0015_repositories.sql"),
    ),
    (
        16,
        "plan_marks",
        include_str!("../migrations/sqlite/0016_plan_marks.sql"),
        include_str!("../migrations/postgres/0016_plan_marks.sql"),
    ),
    (
        17,
        "saved_prompts",
        include_str!("../migrations/sqlite/0017_saved_prompts.sql"),
        include_str!("../migrations/postgres/0017_saved_prompts.sql"),
    ),
    (
        18,
        "made_for",
        include_str!("../migrations/sqlite/0018_made_for.sql"),
        include_str!("../migrations/postgres/0018_made_for.sql"),
    ),
    (
        19,
        "mcp_servers",
        include_str!("../migrations/sqlite/0019_mcp_servers.sql"),
        include_str!("../migrations/postgres/0019_mcp_servers.sql"),
    ),
    (
        20,
        "executors",
        include_str!("../migrations/sqlite/0020_executors.sql"),
        include_str!("../migrations/postgres/0020_executors.sql"),
    ),
    (
        21,
        "request_mergeable",
        include_str!("../migrations/sqlite/0021_request_mergeable.sql"),
        include_str!("../migrations/postgres/0021_request_mergeable.sql"),
    ),
    (
        22,
        "light_timelines",
        include_str!("../migrations/sqlite/0022_light_timelines.sql"),
        include_str!("../migrations/postgres/0022_light_timelines.sql"),
    ),
];

/// Brings the schema up to date. Concurrent callers wait for one another.
pub(crate) async fn run(connection: &mut AnyConnection, engine: Engine) -> Result<()> {
    let migrations = STEPS
        .iter()
        .map(|(version, name, sqlite, postgres)| {
            let sql = match engine {
                Engine::Sqlite => *sqlite,
                Engine::Postgres => *postgres,
            };
            Migration::new(
                *version,
                Cow::Borrowed(*name),
                MigrationType::Simple,
                AssertSqlSafe(sql).into_sql_str(),
                false,
            )
        })
        .collect();
    // `run_direct` rather than `run`: the compiler cannot show that the latter's future may change threads.
    let migrator = Migrator::with_migrations(migrations);
    match engine {
        // The migrator's own lock is an advisory one of the server.
        Engine::Postgres => migrator.run_direct(None, connection, false).await?,
        // SQLite has none, so its write lock serves: whoever comes second finds everything done.
        Engine::Sqlite => {
            let mut tx = connection.begin_with("begin immediate").await?;
            migrator.run_direct(None, &mut *tx, false).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

/// Digest of the whole schema of an engine: two builds with the same one make the same tables.
#[cfg(feature = "testing")]
pub(crate) fn digest(engine: Engine) -> String {
    let whole: String = STEPS
        .iter()
        .map(|(_, name, sqlite, postgres)| match engine {
            Engine::Sqlite => format!("{name}\n{sqlite}\n"),
            Engine::Postgres => format!("{name}\n{postgres}\n"),
        })
        .collect();
    domain::digest::sha256_hex(&whole)
}
