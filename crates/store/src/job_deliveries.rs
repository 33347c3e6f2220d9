//! The pieces of messages to users: what is to be sent, with which nonce, and what has arrived.

use crate::row::{Columns, text};
use crate::{Result, Snapshot, Tx, Write};
use domain::job::{ChunkState, Delivery, DeliveryKind, JobId};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "job_id, kind, chunk_no, body, body_hash, nonce, state, attempts, platform_message_id, next_try_at";

fn read(row: &AnyRow) -> Result<Delivery> {
    Ok(Delivery {
        job_id: JobId(row.int("job_id")?),
        kind: row.word("kind", DeliveryKind::parse)?,
        chunk_no: row.int("chunk_no")?,
        body: row.text("body")?,
        body_hash: row.text("body_hash")?,
        nonce: row.text("nonce")?,
        state: row.word("state", ChunkState::parse)?,
        attempts: row.int("attempts")?,
        platform_message_id: row.opt_text("platform_message_id")?,
        next_try_at: row.time("next_try_at")?,
    })
}

/// Adds a piece. One that is there already stays as it is.
pub async fn insert(tx: &mut Tx, piece: &Delivery, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into ai_job_deliveries (job_id, kind, chunk_no, body, body_hash, nonce, next_try_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (job_id, kind, chunk_no) do nothing",
    )
    .bind(piece.job_id.0)
    .bind(piece.kind.as_str())
    .bind(piece.chunk_no)
    .bind(text(&piece.body))
    .bind(piece.body_hash.as_str())
    .bind(piece.nonce.as_str())
    .bind(piece.next_try_at.millis())
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The pieces of a message, in order.
pub async fn of_job(db: &mut Snapshot, job: JobId, kind: DeliveryKind) -> Result<Vec<Delivery>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from ai_job_deliveries where job_id = $1 and kind = $2 order by chunk_no"
    )))
    .bind(job.0)
    .bind(kind.as_str())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// A piece has arrived, or never will.
pub async fn settle(
    tx: &mut Tx,
    piece: &Delivery,
    state: ChunkState,
    platform_message_id: Option<&str>,
    now: Timestamp,
) -> Result<Write> {
    let done = sqlx::query(
        "update ai_job_deliveries set state = $4, platform_message_id = $5, attempts = attempts + 1, delivered_at = $6 \
         where job_id = $1 and kind = $2 and chunk_no = $3 and state = 'waiting'",
    )
    .bind(piece.job_id.0)
    .bind(piece.kind.as_str())
    .bind(piece.chunk_no)
    .bind(state.as_str())
    .bind(platform_message_id)
    .bind(now.millis())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// A piece was not taken, and is tried again after `next_try_at`.
pub async fn postpone(tx: &mut Tx, piece: &Delivery, next_try_at: Timestamp) -> Result<Write> {
    let done = sqlx::query(
        "update ai_job_deliveries set attempts = attempts + 1, next_try_at = $4 \
         where job_id = $1 and kind = $2 and chunk_no = $3 and state = 'waiting'",
    )
    .bind(piece.job_id.0)
    .bind(piece.kind.as_str())
    .bind(piece.chunk_no)
    .bind(next_try_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Whether a notice of failure is to be sent now.
pub async fn notice_due(db: &mut Snapshot, now: Timestamp) -> Result<bool> {
    let row = sqlx::query(
        "select 1 as one from ai_job_deliveries where kind = 'failure_notice' and state = 'waiting' and next_try_at <= $1 limit 1",
    )
    .bind(now.millis())
    .fetch_optional(db.connection())
    .await?;
    Ok(row.is_some())
}

/// Takes notices of failure that are to be sent, and holds them until `held_until` against others who look for some.
pub async fn take_notices(
    tx: &mut Tx,
    now: Timestamp,
    held_until: Timestamp,
    limit: i64,
) -> Result<Vec<Delivery>> {
    let mut taken = sqlx::query(AssertSqlSafe(format!(
        "update ai_job_deliveries set next_try_at = $2 where kind = 'failure_notice' and state = 'waiting' and (job_id, chunk_no) in (\
             select job_id, chunk_no from ai_job_deliveries where kind = 'failure_notice' and state = 'waiting' and next_try_at <= $1 \
             order by next_try_at limit $3) \
         returning {COLUMNS}"
    )))
    .bind(now.millis())
    .bind(held_until.millis())
    .bind(limit)
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    taken.sort_by_key(|piece| (piece.job_id, piece.chunk_no));
    Ok(taken)
}
