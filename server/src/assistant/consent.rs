//! A user's consent by a button: what was shown is carried out, without a model.

use super::tools::{self, Call};
use board::Board;
use domain::error::Refusal;
use serde_json::Value;

/// What a thing that was agreed to is known by, so that it is made once.
pub(super) fn key_of(confirmation: i64) -> String {
    format!("confirmation:{confirmation}")
}

/// Carries out a preview of this user: uses it up, and does what it showed. Gives what the tool answered.
///
/// # Errors
///
/// When it is not the user's, was used up, has expired, or cannot be carried out.
pub async fn confirm(board: &Board, id: i64, user_id: &str) -> board::Result<Value> {
    let confirmation = board.confirmation_confirm(id, user_id).await?;
    let tool = tools::find(&confirmation.confirmation_tool).ok_or_else(|| {
        Refusal::conflict("there is no tool any more that could carry this out: ask for it again")
    })?;
    let arguments = match confirmation.arguments {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            serde_json::Map::new()
        }
    };
    (tool.run)(Call {
        board: board.clone(),
        arguments,
        key: key_of(confirmation.id),
    })
    .await
}
