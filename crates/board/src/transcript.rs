//! Writing what an agent says and does into its session's transcript.

use crate::transition::load_session;
use crate::{Board, Result};
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{MessageId, SessionId, TurnId};
use domain::message::{AuthorType, MAX_TURN_BYTES, Message, MessageType, cap};
use serde_json::{Map, Value, json};

/// One message of an agent: as a whole, also while it grows. Sending it again with the same id replaces it.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Chosen by the runtime, so that a message can be written again as it grows.
    pub id: MessageId,
    /// What it is.
    pub message_type: MessageType,
    /// The whole text so far.
    pub content: String,
    /// Particulars.
    pub metadata: Map<String, Value>,
}

/// What became of a batch of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Stored.
    Stored,
    /// The turn's share of storage is used up: this and what follows of it is left out, and the transcript says so once.
    Truncated,
}

impl Board {
    /// Stores output of a running turn: one transaction for the batch, however many messages it holds. A message beyond 256 KiB
    /// is cut and says so; a turn beyond 16 MiB goes on without being stored.
    ///
    /// Refused when the session is gone or another node has it: nobody would take note of what is said there.
    pub async fn record_output(
        &self,
        session: SessionId,
        node: &str,
        turn: Option<TurnId>,
        outputs: Vec<Output>,
    ) -> Result<Recorded> {
        let mut work = self.begin().await?;
        let holder = load_session(&mut work.tx, session).await?;
        if holder.is_held_by_other(node) {
            return Err(Refusal::conflict("another node has the session").into());
        }
        let task = holder.task_id;
        if let Some(turn) = turn
            && store::turns::find(&mut work.tx, turn)
                .await?
                .is_some_and(|turn| turn.stored_bytes > MAX_TURN_BYTES)
        {
            return Ok(Recorded::Truncated);
        }
        let mut bytes = 0i64;
        for mut output in outputs {
            if cap(&mut output.content) {
                output.metadata.insert("truncated".to_owned(), json!(true));
            }
            let mut message = Message {
                id: output.id,
                session_id: session,
                task_id: task,
                turn_id: turn,
                seq: 0,
                author_type: AuthorType::Agent,
                author_id: None,
                content: output.content,
                hidden_context: None,
                message_type: output.message_type,
                metadata: output.metadata,
                requests_input: false,
                created_at: work.now,
                updated_at: work.now,
            };
            let size = |m: &Message| i64::try_from(m.content.len()).unwrap_or(i64::MAX);
            if let Some(earlier) = store::messages::find(&mut work.tx, message.id).await? {
                bytes += (size(&message) - size(&earlier)).max(0);
                message.seq = earlier.seq;
                store::messages::update(&mut work.tx, &message).await?;
                work.event(
                    NewEvent::new(EventKind::MessageUpdated)
                        .task(task)
                        .session(session)
                        .subject(message.id),
                )
                .await?;
            } else {
                bytes += size(&message);
                work.add_message(&message).await?;
            }
        }
        if let Some(turn) = turn {
            let stored = store::turns::add_stored_bytes(&mut work.tx, turn, bytes).await?;
            if stored > MAX_TURN_BYTES {
                let note = Message {
                    id: MessageId::new(),
                    session_id: session,
                    task_id: task,
                    turn_id: Some(turn),
                    seq: 0,
                    author_type: AuthorType::Agent,
                    author_id: None,
                    content: "This turn has produced more than 16 MiB. It goes on, but the rest of its output is not stored."
                        .to_owned(),
                    hidden_context: None,
                    message_type: MessageType::Log,
                    metadata: Map::new(),
                    requests_input: false,
                    created_at: work.now,
                    updated_at: work.now,
                };
                work.add_message(&note).await?;
                work.commit().await?;
                return Ok(Recorded::Truncated);
            }
        }
        work.commit().await?;
        Ok(Recorded::Stored)
    }
}
