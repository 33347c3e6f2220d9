//! What agents ask the operator.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::carried::Carried;
use crate::error::AppError;
use domain::clarification::ClarificationAnswer;
use domain::ids::{ClarificationId, PermissionId};
use domain::view::{
    ClarificationOutcome, ClarificationView, InboxAsk, InboxItem, InboxView, MessageOutcome,
    PermissionView,
};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;
use serde::{Deserialize, Serialize};

/// What waits for the operator. Every page counts it, and only the inbox reads what is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asks {
    /// Oldest first.
    pub items: Vec<Asked>,
    /// Position in the event log at which this was read.
    pub as_of: i64,
}

/// One question or permission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What tells it from the others.
    pub key: String,
    /// The [`InboxItem`].
    pub item: Carried,
}

impl From<InboxView> for Asks {
    fn from(view: InboxView) -> Self {
        Self {
            items: view.items.into_iter().map(Asked::from).collect(),
            as_of: view.as_of,
        }
    }
}

impl From<InboxItem> for Asked {
    fn from(item: InboxItem) -> Self {
        Self {
            key: match &item.ask {
                InboxAsk::Clarification { clarification } => clarification.pending_id.to_string(),
                InboxAsk::Permission { permission } => permission.id.to_string(),
            },
            item: Carried::of(item),
        }
    }
}

/// Answers or skips a bundle of questions. The first answer wins.
#[server(prefix = "/api/page", endpoint = "question/answer", input = Json)]
pub async fn clarification_respond(
    id: ClarificationId,
    answer: ClarificationAnswer,
) -> Result<ClarificationOutcome, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .clarification_respond(&door.actor, id, &answer)
            .await,
    )
}

/// Every question and permission that waits for the operator.
#[server(prefix = "/api/page", endpoint = "inbox", input = Json)]
pub async fn inbox() -> Result<Asks, AppError> {
    let door = Door::open()?;
    let view = door.board.inbox(&door.actor).await;
    door.answer(view.map(Asks::from))
}

/// A bundle of questions, open or over.
#[server(prefix = "/api/page", endpoint = "question/show", input = Json)]
pub async fn clarification_get(id: ClarificationId) -> Result<ClarificationView, AppError> {
    let door = Door::open()?;
    door.answer(door.board.clarification_get(&door.actor, id).await)
}

/// Says the answer to a bundle that has expired as an ordinary message.
#[server(prefix = "/api/page", endpoint = "question/say", input = Json)]
pub async fn clarification_say(
    id: ClarificationId,
    answer: ClarificationAnswer,
) -> Result<MessageOutcome, AppError> {
    let door = Door::open()?;
    door.answer(door.board.clarification_say(&door.actor, id, &answer).await)
}

/// Chooses one of the options that the agent offered. The first choice wins.
#[server(prefix = "/api/page", endpoint = "permission/choose", input = Json)]
pub async fn permission_respond(
    id: PermissionId,
    option_id: String,
) -> Result<PermissionView, AppError> {
    let door = Door::open()?;
    door.answer(
        door.board
            .permission_respond(&door.actor, id, &option_id)
            .await,
    )
}
