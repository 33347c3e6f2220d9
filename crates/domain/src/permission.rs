//! Permissions: an agent asks to use a tool, the operator chooses one of the options the agent offered.

use crate::error::Refusal;
use crate::event::EventKind;
use crate::ids::{PermissionId, SessionId, TaskId, TurnId};
use crate::time::Timestamp;
use crate::transition::Transition;
use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// Where a request stands.
    PermissionStatus("status") {
        /// Nobody has chosen.
        Pending = "pending",
        /// An option was chosen.
        Selected = "selected",
        /// The turn was cancelled or the agent went away.
        Cancelled = "cancelled",
    }
}

/// An option the agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    /// The agent's id of the option.
    pub option_id: String,
    /// Its label.
    pub name: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or the agent's own word.
    pub kind: String,
}

/// A request as the board knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    /// Its id.
    pub id: PermissionId,
    /// The task of the session.
    pub task_id: TaskId,
    /// The session whose agent asks.
    pub session_id: SessionId,
    /// The turn it was asked in.
    pub turn_id: Option<TurnId>,
    /// The agent's id of the request, as text.
    pub request_id: String,
    /// What the agent wants to do, as it described it.
    pub tool_call: Value,
    /// What may be chosen.
    pub options: Vec<PermissionOption>,
    /// Where it stands.
    pub status: PermissionStatus,
    /// The option chosen.
    pub option_id: Option<String>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it ended.
    pub resolved_at: Option<Timestamp>,
}

/// The option that is chosen for a profile whose agents are not asked about: the first that allows. An agent that offers none is
/// asked about all the same.
#[must_use]
pub fn first_that_allows(options: &[PermissionOption]) -> Option<String> {
    options
        .iter()
        .find(|option| matches!(option.kind.as_str(), "allow_once" | "allow_always"))
        .map(|option| option.option_id.clone())
}

/// What can end a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionCommand<'a> {
    /// The operator chose an option.
    Select(&'a str),
    /// The turn was cancelled or the agent went away.
    Cancel,
}

/// The machine of a request. Only an option that the agent offered can be chosen; the first choice wins.
pub fn decide(
    permission: &Permission,
    command: PermissionCommand<'_>,
) -> Result<Transition<PermissionStatus>, Refusal> {
    if permission.status != PermissionStatus::Pending {
        return match command {
            PermissionCommand::Cancel => Ok(Transition::stay(permission.status)),
            PermissionCommand::Select(option)
                if permission.option_id.as_deref() == Some(option) =>
            {
                Ok(Transition::stay(permission.status))
            }
            PermissionCommand::Select(_) => Err(Refusal::conflict(
                "this permission request was already resolved: reload to see how",
            )),
        };
    }
    match command {
        PermissionCommand::Select(option) => {
            if !permission.options.iter().any(|o| o.option_id == option) {
                return Err(Refusal::validation(
                    "option_id is not one of the options the agent offered",
                ));
            }
            Ok(
                Transition::to(PermissionStatus::Selected, EventKind::PermissionChanged)
                    .then(crate::effect::EffectKind::AnswerPermission),
            )
        }
        PermissionCommand::Cancel => Ok(Transition::to(
            PermissionStatus::Cancelled,
            EventKind::PermissionChanged,
        )),
    }
}
