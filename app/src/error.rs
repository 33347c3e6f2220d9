//! The error of every server function: the wire form of the domain's errors, in a type that leptos can carry.
//!
//! Pages match on [`ErrorCode`], never on text. What goes wrong on the way (the network is down, the answer is not ours) becomes a
//! code of the same list, so that a page needs one way to show an error; such an error has no message of its own, since copy comes
//! from the catalogue: see `components::error_state`.

use domain::error::{ErrorBody, ErrorCode, Refusal};
use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};
use serde::{Deserialize, Serialize};
use wasm_split_helpers::SplitLoaderError;

/// Why a server function gave no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AppError(pub ErrorBody);

impl AppError {
    /// What kind of error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// A refusal within the call `request_id`.
    #[must_use]
    pub fn refused(refusal: Refusal, request_id: impl Into<String>) -> Self {
        Self(ErrorBody::from_refusal(refusal, request_id))
    }

    pub(crate) const fn of(code: ErrorCode) -> Self {
        Self(ErrorBody {
            code,
            message: String::new(),
            details: None,
            request_id: String::new(),
        })
    }
}

impl std::fmt::Display for AppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl std::error::Error for AppError {}

impl From<SplitLoaderError> for AppError {
    /// A part of the app did not come: trying again is right.
    fn from(_: SplitLoaderError) -> Self {
        Self::of(ErrorCode::Unavailable)
    }
}

impl FromServerFnError for AppError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        Self::of(match error {
            // The request never arrived or the answer never came back: trying again is right.
            ServerFnErrorErr::Request(_) => ErrorCode::Unavailable,
            // A page older than the server, or a call that no page makes.
            ServerFnErrorErr::Args(_)
            | ServerFnErrorErr::MissingArg(_)
            | ServerFnErrorErr::Deserialization(_) => ErrorCode::BadRequest,
            // The text of these may name internals, so it stays on the server.
            ServerFnErrorErr::Registration(_)
            | ServerFnErrorErr::UnsupportedRequestMethod(_)
            | ServerFnErrorErr::MiddlewareError(_)
            | ServerFnErrorErr::ServerError(_)
            | ServerFnErrorErr::Serialization(_)
            | ServerFnErrorErr::Response(_) => ErrorCode::Internal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_not_an_internal_error_and_internal_text_does_not_leak() {
        let lost = AppError::from_server_fn_error(ServerFnErrorErr::Request("dns".into()));
        assert_eq!(lost.code(), ErrorCode::Unavailable);
        let inner = AppError::from_server_fn_error(ServerFnErrorErr::ServerError(
            "table tasks is gone".into(),
        ));
        assert_eq!(inner.code(), ErrorCode::Internal);
        assert!(!inner.to_string().contains("tasks"));
    }
}
