//! Messages of transcripts.

use crate::row::{Columns, flag, opt, opt_text, text, to_json};
use crate::{Result, Snapshot, Tx};
use domain::ids::{MessageId, PromptId, SessionId, TurnId};
use domain::message::{AuthorType, Message, MessageType};
use domain::time::Timestamp;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, session_id, task_id, turn_id, seq, author_type, author_id, content, hidden_context, message_type, \
                       metadata, requests_input, created_at, updated_at";

fn read(row: &AnyRow) -> Result<Message> {
    Ok(Message {
        id: row.id("id")?,
        session_id: row.id("session_id")?,
        task_id: row.id("task_id")?,
        turn_id: row.opt_id("turn_id")?,
        seq: row.int("seq")?,
        author_type: row.word("author_type", AuthorType::parse)?,
        author_id: row.opt_text("author_id")?,
        content: row.text("content")?,
        hidden_context: row.opt_text("hidden_context")?,
        message_type: row.word("message_type", MessageType::parse)?,
        metadata: row.json("metadata")?,
        requests_input: row.flag("requests_input")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

/// Adds a message at the end of its transcript; `seq` of `message` is ignored and the one given is returned.
pub async fn append(tx: &mut Tx, message: &Message) -> Result<i64> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into messages ({COLUMNS}) values ($1, $2, $3, $4, \
         (select coalesce(max(seq), 0) + 1 from messages where session_id = $2), \
         $5, $6, $7, $8, $9, $10, $11, $12, $13) returning seq"
    )))
    .bind(message.id.to_string())
    .bind(message.session_id.to_string())
    .bind(message.task_id.to_string())
    .bind(opt(message.turn_id.as_ref()))
    .bind(message.author_type.as_str())
    .bind(opt_text(message.author_id.as_deref()))
    .bind(text(&message.content))
    .bind(opt_text(message.hidden_context.as_deref()))
    .bind(message.message_type.as_str())
    .bind(to_json("metadata", &message.metadata)?)
    .bind(flag(message.requests_input))
    .bind(message.created_at.millis())
    .bind(message.updated_at.millis())
    .fetch_one(tx.connection())
    .await?
    .int("seq")
}

/// Writes text, metadata and the wish for input of a message.
pub async fn update(tx: &mut Tx, message: &Message) -> Result<()> {
    sqlx::query(
        "update messages set content = $1, metadata = $2, requests_input = $3, message_type = $4, updated_at = $5 where id = $6",
    )
    .bind(text(&message.content))
    .bind(to_json("metadata", &message.metadata)?)
    .bind(flag(message.requests_input))
    .bind(message.message_type.as_str())
    .bind(message.updated_at.millis())
    .bind(message.id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Sets keys of a message's metadata, keeping the others.
pub async fn merge_metadata(
    tx: &mut Tx,
    id: MessageId,
    entries: Map<String, Value>,
    now: Timestamp,
) -> Result<()> {
    if let Some(mut message) = find(tx, id).await? {
        message.metadata.extend(entries);
        message.updated_at = now;
        update(tx, &message).await?;
    }
    Ok(())
}

/// One message.
pub async fn find(db: &mut Snapshot, id: MessageId) -> Result<Option<Message>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from messages where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The messages of one type that a turn has made, in order.
pub async fn of_turn(
    db: &mut Snapshot,
    session: SessionId,
    turn: TurnId,
    message_type: MessageType,
) -> Result<Vec<Message>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from messages where session_id = $1 and turn_id = $2 and message_type = $3 order by seq"
    )))
    .bind(session.to_string())
    .bind(turn.to_string())
    .bind(message_type.as_str())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The messages that a prompt became: one for each turn in which it was tried.
pub async fn of_prompt(db: &mut Snapshot, prompt: PromptId) -> Result<Vec<Message>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from messages \
         where session_id in (select session_id from turns where prompt_id = $1) \
         and turn_id in (select id from turns where prompt_id = $1) and author_type = 'user' order by seq"
    )))
    .bind(prompt.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The tool calls of a turn that have not ended, in order.
pub async fn unfinished_calls(
    db: &mut Snapshot,
    session: SessionId,
    turn: TurnId,
) -> Result<Vec<Message>> {
    // Narrowed down by the text of the metadata, since a turn may have thousands of calls with much output; then looked at.
    let found = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from messages where session_id = $1 and turn_id = $2 \
         and message_type in ('tool_call', 'tool_edit', 'tool_read', 'tool_execute') \
         and (metadata like '%\"status\":\"pending\"%' or metadata like '%\"status\":\"in_progress\"%') order by seq"
    )))
    .bind(session.to_string())
    .bind(turn.to_string())
    .fetch_all(db.connection())
    .await?;
    let mut calls = Vec::new();
    for row in &found {
        let message = read(row)?;
        let status = message.metadata.get("status").and_then(Value::as_str);
        if matches!(status, Some("pending" | "in_progress")) {
            calls.push(message);
        }
    }
    Ok(calls)
}

/// Where in a transcript to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The newest messages.
    Newest,
    /// The newest before this place.
    Before(i64),
    /// The oldest after this place.
    After(i64),
}

/// Up to `limit` messages in ascending order, and whether there are more in the direction read. The filter is part of the
/// query, so a page is only empty when there is nothing.
pub async fn page(
    db: &mut Snapshot,
    session: SessionId,
    window: Window,
    types: &[MessageType],
    limit: i64,
) -> Result<(Vec<Message>, bool)> {
    // A closed set of words from our own enum: it can stand in the text.
    let filter = if types.is_empty() {
        String::new()
    } else {
        let words: Vec<String> = types.iter().map(|t| format!("'{t}'")).collect();
        format!(" and message_type in ({})", words.join(", "))
    };
    let (condition, order, place) = match window {
        Window::Newest => ("seq > $2", "desc", 0),
        Window::Before(seq) => ("seq < $2", "desc", seq),
        Window::After(seq) => ("seq > $2", "asc", seq),
    };
    let mut messages = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from messages where session_id = $1 and {condition}{filter} order by seq {order} limit $3"
    )))
    .bind(session.to_string())
    .bind(place)
    .bind(limit.saturating_add(1))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    let has_more = i64::try_from(messages.len()).is_ok_and(|n| n > limit);
    if has_more {
        messages.pop();
    }
    if order == "desc" {
        messages.reverse();
    }
    Ok((messages, has_more))
}
