//! Why a call of the contract was refused. Its codes are not those of the API: clients match on them.

use super::next::NextAction;
use crate::error::{ErrorCode, Refusal};
use crate::ids::{RunId, SessionId};

words! {
    /// The contract's codes.
    RunErrorCode("code") {
        /// No such run or thread, or somebody else's: the same answer for both.
        NotFound = "not_found",
        /// An argument is missing or wrong.
        InvalidParams = "invalid_params",
        /// The thread has a run that goes on.
        SessionBusy = "session_busy",
        /// The thread takes no more runs.
        SessionClosed = "session_closed",
        /// The key was used for something else.
        IdempotencyConflict = "idempotency_conflict",
        /// Only outside clients have runs.
        Forbidden = "forbidden",
        /// Storage is not available at present.
        Unavailable = "unavailable",
        /// A fault of ours.
        Internal = "internal_error",
    }
}

/// A refusal in the contract's terms.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRefusal {
    /// What kind.
    pub code: RunErrorCode,
    /// What happened and what to do.
    pub message: String,
    /// The argument that is wrong.
    pub field: Option<&'static str>,
    /// The run that is in the way.
    pub active: Option<RunId>,
    /// The latest run of a thread that is the caller's, when an id beside it was not.
    pub latest: Option<RunId>,
    /// What to call next.
    pub next: Option<NextAction>,
}

impl RunRefusal {
    fn new(code: RunErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            field: None,
            active: None,
            latest: None,
            next: None,
        }
    }

    /// An argument is missing or wrong.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field: Some(field),
            ..Self::new(RunErrorCode::InvalidParams, message)
        }
    }

    /// No such run, or somebody else's. `latest` is that of the thread named beside it.
    #[must_use]
    pub fn no_run(latest: Option<RunId>) -> Self {
        Self {
            latest,
            next: Some(NextAction::list()),
            ..Self::new(
                RunErrorCode::NotFound,
                "There is no such task for this client. Nothing was started: look for yours with list_tasks.",
            )
        }
    }

    /// No such thread, or somebody else's.
    #[must_use]
    pub fn no_thread() -> Self {
        Self {
            field: Some("sessionKey"),
            next: Some(NextAction::list()),
            ..Self::new(
                RunErrorCode::NotFound,
                "There is no such sessionKey for this client, so nothing was started: take it from an earlier answer, or leave it \
                 out to begin a new thread.",
            )
        }
    }

    /// A run goes on in the thread.
    #[must_use]
    pub fn busy(run: RunId, session: SessionId) -> Self {
        Self {
            active: Some(run),
            next: Some(NextAction::check(run, session)),
            ..Self::new(
                RunErrorCode::SessionBusy,
                "This thread is still at work on activeTaskId, so nothing was started: wait for that one with check_task, or leave \
                 sessionKey out to begin a new thread beside it.",
            )
        }
    }

    /// The thread's run waits for something that a text does not give.
    #[must_use]
    pub fn awaits_permission(run: RunId, session: SessionId) -> Self {
        Self {
            active: Some(run),
            next: Some(NextAction::check_after(run, session, PERMISSION)),
            ..Self::new(
                RunErrorCode::SessionBusy,
                "This thread's task waits for a permission that only an operator of Flightdeck can give, so nothing was started.",
            )
        }
    }

    /// Somebody else works in the thread's session.
    #[must_use]
    pub fn in_use() -> Self {
        Self {
            next: Some(NextAction::list()),
            ..Self::new(
                RunErrorCode::SessionBusy,
                "An operator of Flightdeck is at work in this thread, so nothing was started: try again later, or leave sessionKey \
                 out to begin a new thread.",
            )
        }
    }

    /// The thread's run stands still for a reason that a text does not change.
    #[must_use]
    pub fn stands_still(run: RunId, session: SessionId) -> Self {
        Self {
            active: Some(run),
            next: Some(NextAction::check(run, session)),
            ..Self::new(
                RunErrorCode::SessionBusy,
                "This thread's task waits for something in Flightdeck, so nothing was started: check_task says for what.",
            )
        }
    }

    /// The thread is over.
    #[must_use]
    pub fn closed() -> Self {
        Self {
            field: Some("sessionKey"),
            ..Self::new(
                RunErrorCode::SessionClosed,
                "This thread was archived in Flightdeck, so nothing was started: leave sessionKey out to begin a new thread.",
            )
        }
    }

    /// The key was used for something else.
    #[must_use]
    pub fn key_conflict(run: RunId, session: SessionId) -> Self {
        Self {
            field: Some("idempotencyKey"),
            active: Some(run),
            next: Some(NextAction::check(run, session)),
            ..Self::new(
                RunErrorCode::IdempotencyConflict,
                "This idempotencyKey was used for another task, so nothing was started: repeat that one word for word, or choose a \
                 new key.",
            )
        }
    }

    /// Only outside clients have runs.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::new(
            RunErrorCode::Forbidden,
            "Only a client with an access token may do this.",
        )
    }
}

/// What a person has to do for a run that waits for a permission.
pub(crate) const PERMISSION: &str = "The agent waits for a permission. Ask the user to grant or refuse it in Flightdeck, then \
                                     make this call.";

impl From<Refusal> for RunRefusal {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.code {
            ErrorCode::NotFound => RunErrorCode::NotFound,
            ErrorCode::Forbidden | ErrorCode::Unauthorized => RunErrorCode::Forbidden,
            ErrorCode::Unavailable | ErrorCode::RateLimited | ErrorCode::QueueFull => {
                RunErrorCode::Unavailable
            }
            ErrorCode::Internal => RunErrorCode::Internal,
            ErrorCode::BadRequest
            | ErrorCode::Validation
            | ErrorCode::Conflict
            | ErrorCode::PlanVersionRequired
            | ErrorCode::PlanVersionConflict
            | ErrorCode::PlanHeadUnavailable
            | ErrorCode::PlanTruncationRejected
            | ErrorCode::PlanAppendTruncationNotApplicable
            | ErrorCode::PlanHistoryUnavailable
            | ErrorCode::PlanContentRequired
            | ErrorCode::PlanEditTextRequired
            | ErrorCode::PlanEditNotFound
            | ErrorCode::PlanEditAmbiguous
            | ErrorCode::PlanRevisionChanged
            | ErrorCode::PlanRevisionUnavailable
            | ErrorCode::PlanRevisionVersionRequired
            | ErrorCode::PlanReadOffsetOutOfRange => RunErrorCode::InvalidParams,
        };
        Self::new(code, refusal.message)
    }
}
