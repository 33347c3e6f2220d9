//! Sessions: what was said, and saying more.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::components::transcript::Entry;
use crate::error::AppError;
#[cfg(feature = "ssr")]
use domain::error::ErrorCode;
use domain::ids::{MessageId, SessionId, TaskId};
use domain::message::MessageType;
#[cfg(feature = "ssr")]
use domain::params::ConversationPage;
use domain::params::SpawnSession;
use domain::view::{MessageOutcome, MessageView, SessionView, SpawnedSession};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// More changed messages than this are no change but another transcript.
#[cfg(feature = "ssr")]
const MOST_MESSAGES: usize = 100;

/// A message with its words as HTML, made and sanitised by the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownMessage {
    /// The message.
    pub message: MessageView,
    /// Its words, for the kinds that hold Markdown.
    pub html: Option<String>,
}

impl Entry for ShownMessage {
    type Id = MessageId;
    fn id(&self) -> MessageId {
        self.message.id
    }
    fn seq(&self) -> i64 {
        self.message.seq
    }
}

#[cfg(feature = "ssr")]
fn shown(message: MessageView) -> ShownMessage {
    let locale = crate::prefs::Prefs::of_request().locale;
    let html = is_markdown(message.message_type).then(|| {
        crate::rich::of_message(locale, &message.metadata)
            .unwrap_or_else(|| crate::markdown::to_html(&message.content))
    });
    ShownMessage { message, html }
}

/// Whether a message of this type is prose. The words of all others are shown as they are.
#[must_use]
pub const fn is_markdown(message_type: MessageType) -> bool {
    match message_type {
        MessageType::Message | MessageType::Thinking | MessageType::Content => true,
        MessageType::ToolCall
        | MessageType::ToolEdit
        | MessageType::ToolRead
        | MessageType::ToolExecute
        | MessageType::Progress
        | MessageType::Log
        | MessageType::Error
        | MessageType::Status
        | MessageType::PermissionRequest
        | MessageType::ClarificationRequest
        | MessageType::ScriptExecution
        | MessageType::AgentPlan
        | MessageType::Todo => false,
    }
}

/// A page of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptPage {
    /// Its messages in order.
    pub messages: Vec<ShownMessage>,
    /// There are earlier ones.
    pub has_earlier: bool,
}

/// The newest messages of a session, or those before one of them.
#[server(prefix = "/api/page", endpoint = "transcript", input = Json)]
pub async fn transcript(
    session: SessionId,
    before: Option<MessageId>,
) -> Result<TranscriptPage, AppError> {
    let door = Door::open()?;
    let page = ConversationPage {
        before,
        limit: Some(100),
        ..ConversationPage::default()
    };
    let page = door.answer(
        door.board
            .session_messages(&door.actor, session, &page)
            .await,
    )?;
    Ok(TranscriptPage {
        messages: page.messages.into_iter().map(shown).collect(),
        has_earlier: page.has_more,
    })
}

/// Single messages again, which have changed. What is gone in the meantime is left out.
#[server(prefix = "/api/page", endpoint = "transcript/messages", input = Json)]
pub async fn messages(ids: Vec<MessageId>) -> Result<Vec<ShownMessage>, AppError> {
    let door = Door::open()?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids.into_iter().take(MOST_MESSAGES) {
        match door.answer(door.board.message_get(&door.actor, id).await) {
            Ok(message) => found.push(shown(message)),
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Says something to the agent of a session. It is delivered now or after the present turn. With a `key` it is safe to repeat.
#[server(prefix = "/api/page", endpoint = "session/prompt", input = Json)]
pub async fn prompt_session(
    session: SessionId,
    content: String,
    key: Option<String>,
) -> Result<MessageOutcome, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .prompt_session(&door.actor, session, &content, key.as_deref())
            .await,
    )
}

/// Says something to a task: to its primary session, which is made when there is none.
#[server(prefix = "/api/page", endpoint = "task/prompt", input = Json)]
pub async fn prompt_task(
    task: TaskId,
    content: String,
    key: Option<String>,
) -> Result<MessageOutcome, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .prompt_task(&door.actor, task, &content, key.as_deref())
            .await,
    )
}

/// Makes a session for a task that has none; gives the primary one otherwise.
#[server(prefix = "/api/page", endpoint = "session/ensure", input = Json)]
pub async fn session_ensure(task: TaskId) -> Result<SessionView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_ensure(&door.actor, task).await)
}

/// Ends the running turn. Answers whether there was one.
#[server(prefix = "/api/page", endpoint = "session/cancel", input = Json)]
pub async fn session_cancel(session: SessionId) -> Result<bool, AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_cancel(&door.actor, session).await)
}

/// Stops a session. Answers whether it was running.
#[server(prefix = "/api/page", endpoint = "session/stop", input = Json)]
pub async fn session_stop(session: SessionId) -> Result<bool, AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_stop(&door.actor, session).await)
}

/// Brings a stopped session back.
#[server(prefix = "/api/page", endpoint = "session/resume", input = Json)]
pub async fn session_resume(session: SessionId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_resume(&door.actor, session).await)
}

/// Starts another session on a task.
#[server(prefix = "/api/page", endpoint = "session/spawn", input = Json)]
pub async fn session_spawn(task: TaskId, params: SpawnSession) -> Result<SpawnedSession, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .session_spawn(&door.actor, Some(task), &params)
            .await,
    )
}

/// Names a session; without a name its old one goes.
#[server(prefix = "/api/page", endpoint = "session/rename", input = Json)]
pub async fn session_rename(
    session: SessionId,
    name: Option<String>,
) -> Result<SessionView, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .session_rename(&door.actor, session, name.as_deref())
            .await,
    )
}

/// Makes a session the one that unaddressed messages go to.
#[server(prefix = "/api/page", endpoint = "session/primary", input = Json)]
pub async fn session_set_primary(session: SessionId) -> Result<SessionView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_set_primary(&door.actor, session).await)
}

/// Removes a session and its transcript for good.
#[server(prefix = "/api/page", endpoint = "session/delete", input = Json)]
pub async fn session_delete(session: SessionId) -> Result<(), AppError> {
    let door = Door::open()?;
    door.answer(door.board.session_delete(&door.actor, session).await)
}
