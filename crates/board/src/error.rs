//! Why an operation did not happen.

use domain::error::{ErrorCode, Refusal};
use store::StoreError;

/// The result of every operation.
pub type Result<T> = std::result::Result<T, BoardError>;

/// A refusal is an answer for the caller; a storage failure is for the log, and the caller gets a fixed sentence.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The command does not apply.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Storage failed. Nothing of the operation was kept.
    #[error("storage failed")]
    Store(#[from] StoreError),
}

impl BoardError {
    /// What the caller may read.
    #[must_use]
    pub fn into_refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Store(StoreError::Full(_)) => Refusal::unavailable(
                "the disk is full, so nothing was changed: free some space on the server and try again",
            ),
            Self::Store(StoreError::Unavailable(_)) => {
                Refusal::unavailable("the database does not answer at present, so nothing was changed: try again")
            }
            Self::Store(StoreError::Raced(_)) => {
                Refusal::unavailable("another change was in the way, so nothing was changed: try again")
            }
            Self::Store(_) => Refusal {
                code: ErrorCode::Internal,
                message: "something went wrong on the server and nothing was changed: try again, and if it stays, look in the \
                          server's log for the request id"
                    .to_owned(),
                details: None,
            },
        }
    }

    /// The code that the caller will see.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Store(
                StoreError::Full(_) | StoreError::Unavailable(_) | StoreError::Raced(_),
            ) => ErrorCode::Unavailable,
            Self::Store(_) => ErrorCode::Internal,
        }
    }
}
