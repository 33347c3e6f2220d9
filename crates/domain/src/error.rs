//! Why a command is refused, and how a refusal looks on the wire.
//!
//! A [`Refusal`] is an answer, not an accident: it carries a code that programs match on and a sentence that tells a person or
//! an agent what to do next. It never repeats submitted values that could be secret.

use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// The closed list of error codes (task-domain appendix B and the additions for authentication and limits).
    ErrorCode("code") {
        /// The payload is not valid JSON or has the wrong shape.
        BadRequest = "BAD_REQUEST",
        /// A field is missing, malformed, or breaks a rule.
        Validation = "VALIDATION_ERROR",
        /// The thing does not exist or the actor may not know of it.
        NotFound = "NOT_FOUND",
        /// The actor may not do this.
        Forbidden = "FORBIDDEN",
        /// No valid credential came with the call.
        Unauthorized = "UNAUTHORIZED",
        /// The present state does not allow it; a stale write.
        Conflict = "CONFLICT",
        /// The target session's queue is at its capacity.
        QueueFull = "queue_full",
        /// Too many messages in too short a time, or too long a chain of replies.
        RateLimited = "rate_limited",
        /// Storage or an agent is not available at present; trying again later is right.
        Unavailable = "UNAVAILABLE",
        /// A fault of ours. The request id finds it in the log.
        Internal = "INTERNAL_ERROR",
        /// A plan exists, and the write does not say which version of it was read.
        PlanVersionRequired = "plan_version_required",
        /// The plan is not the one that was read.
        PlanVersionConflict = "plan_version_conflict",
        /// There is no plan that could be changed.
        PlanHeadUnavailable = "plan_head_unavailable",
        /// The write would lose more than half of a long plan.
        PlanTruncationRejected = "plan_truncation_rejected",
        /// An append takes nothing away, so nothing can be allowed.
        PlanAppendTruncationNotApplicable = "plan_append_truncation_not_applicable",
        /// The history does not hold the plan as it stands, so it must not be cut.
        PlanHistoryUnavailable = "plan_history_unavailable",
        /// The plan would be empty.
        PlanContentRequired = "plan_content_required",
        /// An edit that does not say what to replace.
        PlanEditTextRequired = "plan_edit_text_required",
        /// The text to replace is not in the plan.
        PlanEditNotFound = "plan_edit_not_found",
        /// The text to replace is in the plan more than once.
        PlanEditAmbiguous = "plan_edit_ambiguous",
        /// The revision is not the one that was read.
        PlanRevisionChanged = "plan_revision_changed",
        /// There is no such revision of the plan.
        PlanRevisionUnavailable = "plan_revision_unavailable",
        /// A restore does not say which version of the revision was read.
        PlanRevisionVersionRequired = "plan_revision_version_required",
        /// A read begins beyond the end of the plan.
        PlanReadOffsetOutOfRange = "plan_read_offset_out_of_range",
    }
}

impl ErrorCode {
    /// The HTTP status of the code; the only table of its kind.
    #[must_use]
    pub const fn http_status(self) -> u16 {
        match self {
            Self::BadRequest
            | Self::Validation
            | Self::PlanVersionRequired
            | Self::PlanAppendTruncationNotApplicable
            | Self::PlanContentRequired
            | Self::PlanEditTextRequired
            | Self::PlanRevisionVersionRequired
            | Self::PlanReadOffsetOutOfRange => 400,
            Self::NotFound | Self::PlanHeadUnavailable | Self::PlanRevisionUnavailable => 404,
            Self::Forbidden => 403,
            Self::Unauthorized => 401,
            Self::Conflict
            | Self::PlanVersionConflict
            | Self::PlanTruncationRejected
            | Self::PlanHistoryUnavailable
            | Self::PlanEditNotFound
            | Self::PlanEditAmbiguous
            | Self::PlanRevisionChanged => 409,
            Self::QueueFull | Self::RateLimited => 429,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }
}

/// Why a command does not apply, in words that its sender may read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// What happened and what to do next.
    pub message: String,
    /// Machine-readable particulars, when the code has any.
    pub details: Option<Value>,
}

impl Refusal {
    /// A refusal without particulars; the constructors below are for the usual codes.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// A field is missing, malformed, or breaks a rule.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Validation, message)
    }

    /// Unknown or not visible: the same text for both.
    #[must_use]
    pub fn not_found(noun: &str) -> Self {
        Self::new(
            ErrorCode::NotFound,
            format!("no such {noun}: check that the id is the full UUID of something that exists"),
        )
    }

    /// As [`Self::not_found`], with a sentence of its own.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// The actor may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Forbidden, message)
    }

    /// The present state does not allow it.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    /// No valid credential.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unauthorized, message)
    }

    /// Not available at present.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// A queue at its capacity; `details` say what is in it.
    pub fn queue_full(message: impl Into<String>, details: Value) -> Self {
        Self {
            code: ErrorCode::QueueFull,
            message: message.into(),
            details: Some(details),
        }
    }

    /// Too fast or too long a chain; `details` say when to try again.
    pub fn rate_limited(message: impl Into<String>, details: Value) -> Self {
        Self {
            code: ErrorCode::RateLimited,
            message: message.into(),
            details: Some(details),
        }
    }
}

/// The wire form of an error, inside `{"error": …}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// See [`ErrorCode`].
    pub code: ErrorCode,
    /// What happened and what to do next.
    pub message: String,
    /// Machine-readable particulars, when the code has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Finds the call in the server's log.
    pub request_id: String,
}

impl ErrorBody {
    /// The wire form of a refusal within the call `request_id`.
    #[must_use]
    pub fn from_refusal(refusal: Refusal, request_id: impl Into<String>) -> Self {
        Self {
            code: refusal.code,
            message: refusal.message,
            details: refusal.details,
            request_id: request_id.into(),
        }
    }
}
