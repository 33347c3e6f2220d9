//! Receipts of messages between agents, and of operators' prompts.

use crate::row::{Columns, flag, text};
use crate::{Result, Snapshot, Tx};
use domain::guards::Traffic;
use domain::ids::{EffectId, PromptId, SessionId, TaskId};
use domain::receipt::{Key, PromptReceipt, Receipt};
use domain::time::Timestamp;
use domain::view::DeliveryStatus;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "sender_task_id, sender_session_id, target_task_id, target_session_id, prompt_id, pair, hops, \
                       idempotency_key, fingerprint, status, merged, sent_at";

fn read(row: &AnyRow) -> Result<Receipt> {
    let key = row.opt_text("idempotency_key")?;
    let fingerprint = row.opt_text("fingerprint")?;
    Ok(Receipt {
        sender_task_id: row.id("sender_task_id")?,
        sender_session_id: row.id("sender_session_id")?,
        target_task_id: row.id("target_task_id")?,
        target_session_id: row.id("target_session_id")?,
        prompt_id: row.id("prompt_id")?,
        pair: row.text("pair")?,
        hops: row.int("hops")?,
        key: key
            .zip(fingerprint)
            .map(|(key, fingerprint)| Key { key, fingerprint }),
        status: row.word("status", DeliveryStatus::parse)?,
        merged: row.flag("merged")?,
        sent_at: row.time("sent_at")?,
    })
}

/// Adds a receipt. A second one of a sender's key is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, receipt: &Receipt) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into message_receipts (id, {COLUMNS}) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    )))
    .bind(EffectId::new().to_string())
    .bind(receipt.sender_task_id.to_string())
    .bind(receipt.sender_session_id.to_string())
    .bind(receipt.target_task_id.to_string())
    .bind(receipt.target_session_id.to_string())
    .bind(receipt.prompt_id.to_string())
    .bind(receipt.pair.clone())
    .bind(receipt.hops)
    .bind(receipt.key.as_ref().map(|key| text(&key.key)))
    .bind(receipt.key.as_ref().map(|key| key.fingerprint.clone()))
    .bind(receipt.status.as_str())
    .bind(flag(receipt.merged))
    .bind(receipt.sent_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The receipt of what a session sent under a key.
pub async fn find(db: &mut Snapshot, sender: SessionId, key: &str) -> Result<Option<Receipt>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from message_receipts where sender_session_id = $1 and idempotency_key = $2"
    )))
    .bind(sender.to_string())
    .bind(text(key))
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The place in its chain of the message that a prompt holds; of several that were joined, the last.
pub async fn hops(db: &mut Snapshot, prompt: PromptId) -> Result<Option<i64>> {
    sqlx::query("select max(hops) as hops from message_receipts where prompt_id = $1")
        .bind(prompt.to_string())
        .fetch_one(db.connection())
        .await?
        .opt_int("hops")
}

/// What a pair has exchanged since a moment, that moment left out.
pub async fn traffic(db: &mut Snapshot, pair: &str, since: Timestamp) -> Result<Traffic> {
    let row = sqlx::query(
        "select count(*) as messages, min(sent_at) as oldest from message_receipts where pair = $1 and sent_at > $2",
    )
    .bind(pair.to_owned())
    .bind(since.millis())
    .fetch_one(db.connection())
    .await?;
    Ok(Traffic {
        messages: row.int("messages")?,
        oldest: row.opt_time("oldest")?,
    })
}

/// The words of one prompt are in another now.
pub async fn moved(tx: &mut Tx, from: PromptId, into: PromptId) -> Result<()> {
    sqlx::query("update message_receipts set prompt_id = $1 where prompt_id = $2")
        .bind(into.to_string())
        .bind(from.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Forgets what is older than a moment; answers how many those were.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let mut forgotten = 0;
    for table in ["message_receipts", "prompt_receipts"] {
        let done = sqlx::query(AssertSqlSafe(format!(
            "delete from {table} where sent_at < $1"
        )))
        .bind(before.millis())
        .execute(tx.connection())
        .await?;
        forgotten += done.rows_affected();
    }
    Ok(forgotten)
}

/// Adds what an operator was told about a prompt. A second one of a task's key is [`crate::StoreError::Unique`].
pub async fn insert_prompt(tx: &mut Tx, receipt: &PromptReceipt) -> Result<()> {
    sqlx::query(
        "insert into prompt_receipts (task_id, idempotency_key, fingerprint, session_id, prompt_id, status, merged, sent_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(receipt.task_id.to_string())
    .bind(text(&receipt.key.key))
    .bind(receipt.key.fingerprint.clone())
    .bind(receipt.session_id.to_string())
    .bind(receipt.prompt_id.to_string())
    .bind(receipt.status.as_str())
    .bind(flag(receipt.merged))
    .bind(receipt.sent_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What an operator was told about the prompt that it sent to a task under a key.
pub async fn find_prompt(
    db: &mut Snapshot,
    task: TaskId,
    key: &str,
) -> Result<Option<PromptReceipt>> {
    sqlx::query(
        "select task_id, idempotency_key, fingerprint, session_id, prompt_id, status, merged, sent_at from prompt_receipts \
         where task_id = $1 and idempotency_key = $2",
    )
    .bind(task.to_string())
    .bind(text(key))
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(|row| {
        Ok(PromptReceipt {
            task_id: row.id("task_id")?,
            session_id: row.id("session_id")?,
            prompt_id: row.id("prompt_id")?,
            key: Key {
                key: row.text("idempotency_key")?,
                fingerprint: row.text("fingerprint")?,
            },
            status: row.word("status", DeliveryStatus::parse)?,
            merged: row.flag("merged")?,
            sent_at: row.time("sent_at")?,
        })
    })
    .transpose()
}
