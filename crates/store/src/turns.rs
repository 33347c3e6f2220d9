//! Turns.

use crate::row::{Columns, opt, opt_millis, opt_text};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{PromptId, SessionId, TurnId};
use domain::turn::{Turn, TurnState};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, session_id, task_id, state, prompt_id, generation, step_id_at_start, stop_reason, stored_bytes, \
                       started_at, completed_at";

fn read(row: &AnyRow) -> Result<Turn> {
    Ok(Turn {
        id: row.id("id")?,
        session_id: row.id("session_id")?,
        task_id: row.id("task_id")?,
        state: row.word("state", TurnState::parse)?,
        prompt_id: row.id("prompt_id")?,
        generation: row.int("generation")?,
        step_id_at_start: row.opt_id("step_id_at_start")?,
        stop_reason: row.opt_text("stop_reason")?,
        stored_bytes: row.int("stored_bytes")?,
        started_at: row.time("started_at")?,
        completed_at: row.opt_time("completed_at")?,
    })
}

/// Adds a turn. A second open one of a session is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, turn: &Turn) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into turns ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    )))
    .bind(turn.id.to_string())
    .bind(turn.session_id.to_string())
    .bind(turn.task_id.to_string())
    .bind(turn.state.as_str())
    .bind(turn.prompt_id.to_string())
    .bind(turn.generation)
    .bind(opt(turn.step_id_at_start.as_ref()))
    .bind(opt_text(turn.stop_reason.as_deref()))
    .bind(turn.stored_bytes)
    .bind(turn.started_at.millis())
    .bind(opt_millis(turn.completed_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes state and end of a turn that has no end yet.
pub async fn update_if_open(tx: &mut Tx, turn: &Turn) -> Result<Write> {
    let done = sqlx::query(
        "update turns set state = $1, stop_reason = $2, completed_at = $3 where id = $4 and completed_at is null",
    )
    .bind(turn.state.as_str())
    .bind(opt_text(turn.stop_reason.as_deref()))
    .bind(opt_millis(turn.completed_at))
    .bind(turn.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Adds to the bytes stored of a turn and gives the sum.
pub async fn add_stored_bytes(tx: &mut Tx, id: TurnId, bytes: i64) -> Result<i64> {
    let row = sqlx::query(
        "update turns set stored_bytes = stored_bytes + $1 where id = $2 returning stored_bytes",
    )
    .bind(bytes)
    .bind(id.to_string())
    .fetch_optional(tx.connection())
    .await?;
    row.map_or(Ok(0), |row| row.int("stored_bytes"))
}

/// One turn.
pub async fn find(db: &mut Snapshot, id: TurnId) -> Result<Option<Turn>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from turns where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The session's turn without an end.
pub async fn open(db: &mut Snapshot, session: SessionId) -> Result<Option<Turn>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from turns where session_id = $1 and completed_at is null"
    )))
    .bind(session.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The session's turn that began last, whether or not it is over.
pub async fn latest(db: &mut Snapshot, session: SessionId) -> Result<Option<Turn>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from turns where session_id = $1 order by started_at desc, generation desc limit 1"
    )))
    .bind(session.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Whether a prompt has become a turn of the session.
pub async fn came_of(db: &mut Snapshot, session: SessionId, prompt: PromptId) -> Result<bool> {
    let row =
        sqlx::query("select count(*) as turns from turns where session_id = $1 and prompt_id = $2")
            .bind(session.to_string())
            .bind(prompt.to_string())
            .fetch_one(db.connection())
            .await?;
    Ok(row.int("turns")? > 0)
}

/// The newest turn of the session that its agent has taken, over or not. One that is only on its way makes nothing history.
pub async fn current(db: &mut Snapshot, session: SessionId) -> Result<Option<TurnId>> {
    sqlx::query(
        "select id from turns where session_id = $1 and state <> 'dispatching' order by started_at desc, id desc limit 1",
    )
    .bind(session.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(|row| row.id("id"))
    .transpose()
}

/// How many turns the session has had.
pub async fn count(db: &mut Snapshot, session: SessionId) -> Result<i64> {
    sqlx::query("select count(*) as turns from turns where session_id = $1")
        .bind(session.to_string())
        .fetch_one(db.connection())
        .await?
        .int("turns")
}
