//! What agents ask the operator.

#[cfg(feature = "ssr")]
use crate::api::Door;
use crate::error::AppError;
use domain::clarification::ClarificationAnswer;
use domain::ids::{ClarificationId, PermissionId};
use domain::view::{ClarificationOutcome, PermissionView};
use leptos::prelude::*;
use leptos::server_fn::codec::Json;

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
