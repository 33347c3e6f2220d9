//! A user's consent by a button: what was shown is carried out, without a model.
//!
//! Consent is kept before anything is done and its end after it (`board::jobs::consent`), so a press or a start that comes after a
//! crash carries out what is left, under the same key and therefore once.

use super::tools::{self, Call};
use board::{Board, BoardError, Canceller};
use domain::error::Refusal;
use domain::job::JobKey;
use domain::job::effects::Confirmation;
use domain::job::view::ConsentView;
use serde_json::{Map, Value};

/// Carries out what a job previewed, and says what it came to. `named` is the preview that was shown, for whoever wants to be sure.
///
/// # Errors
///
/// When the job has no such preview, it was used up, declined or has expired, or it cannot be carried out.
pub async fn confirm(
    board: &Board,
    key: &JobKey,
    named: Option<i64>,
    by: Canceller<'_>,
) -> board::Result<ConsentView> {
    let agreed = board.consent_agree(key, named).await?;
    carry_out(board, &agreed, by).await
}

/// Carries out what was agreed to before this start and not carried out.
pub async fn finish_agreed(board: &Board) {
    let left = match board.consents_unfinished().await {
        Ok(left) => left,
        Err(error) => {
            // The next start, or another press, will.
            crate::error::refusal_of(error);
            return;
        }
    };
    for agreed in left {
        let id = agreed.id;
        match carry_out(board, &agreed, Canceller::Operator).await {
            Ok(_) => tracing::info!(
                confirmation = id,
                "carried out what was agreed to before the last stop"
            ),
            Err(error) => tracing::warn!(
                confirmation = id,
                reason = crate::error::refusal_of(error).message,
                "what was agreed to before the last stop was not carried out"
            ),
        }
    }
}

async fn carry_out(
    board: &Board,
    agreed: &Confirmation,
    by: Canceller<'_>,
) -> board::Result<ConsentView> {
    match act(board, agreed).await {
        Ok(result) => board.consent_carried_out(agreed, &result, by).await,
        Err(refused @ BoardError::Refused(_)) => {
            // A refusal has certainly changed nothing.
            board.consent_came_to_nothing(agreed).await?;
            Err(refused)
        }
        // It may have been done: the row still says that it is to be.
        Err(fault @ BoardError::Store(_)) => Err(fault),
    }
}

async fn act(board: &Board, agreed: &Confirmation) -> board::Result<Value> {
    let tool = tools::find(&agreed.confirmation_tool).ok_or_else(|| {
        Refusal::conflict("there is no tool any more that could carry this out: ask for it again")
    })?;
    let arguments = match &agreed.arguments {
        Value::Object(map) => map.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    (tool.run)(Call {
        board: board.clone(),
        arguments,
        key: agreed.key(),
    })
    .await
}
