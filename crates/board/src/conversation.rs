//! Reading conversations.

use crate::reach::known_task;
use crate::tasks::check_limit;
use crate::transition::load_session;
use crate::{Actor, Board, Result};
use domain::error::Refusal;
use domain::ids::{MessageId, SessionId, TaskId};
use domain::message::Message;
use domain::params::ConversationPage;
use domain::view::{Conversation, MessageView};
use store::Snapshot;
use store::messages::Window;

/// Messages of a page when nothing is said, and at most.
const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 100;

impl Board {
    /// A page of a task's conversation: without `before` and `after` the newest (rulings 27). Filtered before it is cut, so a
    /// page is only empty when there is nothing.
    pub async fn conversation(
        &self,
        actor: &Actor,
        task: TaskId,
        page: &ConversationPage,
    ) -> Result<Conversation> {
        let mut db = self.snapshot().await?;
        known_task(&mut db, actor, task).await?;
        let session = match page.session_id {
            Some(id) => {
                let session = load_session(&mut db, id).await?;
                if session.task_id != task {
                    return Err(
                        Refusal::validation("session_id is not a session of task_id").into(),
                    );
                }
                id
            }
            None => {
                let sessions = store::sessions::list(&mut db, task).await?;
                sessions
                    .iter()
                    .find(|s| s.is_primary)
                    .or(sessions.first())
                    .ok_or_else(|| {
                        Refusal::missing("the task has no session: nobody has worked on it yet")
                    })?
                    .id
            }
        };
        read_page(&mut db, task, session, page).await
    }

    /// A page of a session's transcript.
    pub async fn session_messages(
        &self,
        _actor: &Actor,
        session: SessionId,
        page: &ConversationPage,
    ) -> Result<Conversation> {
        let mut db = self.snapshot().await?;
        let task = load_session(&mut db, session).await?.task_id;
        read_page(&mut db, task, session, page).await
    }

    /// One message.
    pub async fn message_get(&self, _actor: &Actor, id: MessageId) -> Result<MessageView> {
        let found = store::messages::find(&mut self.snapshot().await?, id).await?;
        Ok(view(found.ok_or_else(|| Refusal::not_found("message"))?))
    }
}

async fn read_page(
    db: &mut Snapshot,
    task_id: TaskId,
    session_id: SessionId,
    page: &ConversationPage,
) -> Result<Conversation> {
    let limit = check_limit(page.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
    let descending = match page.sort.as_deref() {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(_) => return Err(Refusal::validation("sort must be asc or desc").into()),
    };
    let window = match (page.before, page.after) {
        (None, None) => Window::Newest,
        (Some(id), None) => Window::Before(place(db, session_id, id).await?),
        (None, Some(id)) => Window::After(place(db, session_id, id).await?),
        (Some(_), Some(_)) => {
            return Err(Refusal::validation("before and after exclude each other").into());
        }
    };
    let (messages, has_more) =
        store::messages::page(db, session_id, window, &page.message_types, limit).await?;
    let mut messages: Vec<MessageView> = messages.into_iter().map(view).collect();
    if descending {
        messages.reverse();
    }
    Ok(Conversation {
        task_id,
        session_id,
        total: i64::try_from(messages.len()).unwrap_or(i64::MAX),
        has_more,
        cursor: messages.last().map(|message| message.id),
        messages,
    })
}

async fn place(db: &mut Snapshot, session: SessionId, message: MessageId) -> Result<i64> {
    match store::messages::find(db, message).await? {
        Some(found) if found.session_id == session => Ok(found.seq),
        Some(_) | None => {
            Err(Refusal::validation("before and after must be messages of that session").into())
        }
    }
}

/// A message as pages and tools show it: hidden context stays hidden.
pub(crate) fn view(message: Message) -> MessageView {
    MessageView {
        id: message.id,
        session_id: message.session_id,
        task_id: message.task_id,
        turn_id: message.turn_id,
        seq: message.seq,
        author_type: message.author_type,
        author_id: message.author_id,
        content: message.content,
        has_hidden_context: message.hidden_context.is_some(),
        message_type: message.message_type,
        metadata: message.metadata,
        requests_input: message.requests_input,
        created_at: message.created_at,
        updated_at: message.updated_at,
    }
}
