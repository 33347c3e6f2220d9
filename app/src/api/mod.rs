//! Server functions: what pages read and do. Each takes the board from the context, calls one operation, and returns; nothing is
//! decided here.
//!
//! The server puts a [`board::Board`] and, after it has checked who calls, a [`board::Actor`] into the context of every request.
//! That a call comes from one of our own pages is its business too (`Sec-Fetch-Site`, `Origin`).

#![expect(
    missing_docs,
    reason = "the macro makes a public struct of the arguments of each function"
)]

pub mod assistant;
pub mod board_page;
#[cfg(feature = "ssr")]
pub mod desk;
pub mod jobs;
pub mod papers;
pub mod questions;
pub mod queue;
pub mod repositories;
pub mod runs;
pub mod sessions;
pub mod settings;
pub mod setup;
pub mod tasks;

#[cfg(feature = "ssr")]
pub(crate) use door::Door;

#[cfg(feature = "ssr")]
mod door {
    use super::desk::{AnyDesk, Desk};
    use crate::error::AppError;
    use board::{Actor, Board, BoardError};
    use domain::error::{ErrorCode, Refusal};
    use http::StatusCode;
    use leptos::prelude::use_context;
    use leptos_axum::ResponseOptions;

    /// Where the calls of pages come in.
    pub(super) const PREFIX: &str = "/api/page";

    /// What a server function works with: the board, who calls, and the id to find the call in the log by.
    pub(crate) struct Door {
        pub(crate) board: Board,
        pub(crate) actor: Actor,
        request_id: String,
        /// It is a call of its own and not part of the rendering of a page.
        is_call: bool,
    }

    impl Door {
        /// Takes them from the context of the request.
        pub(crate) fn open() -> Result<Self, AppError> {
            let parts = use_context::<http::request::Parts>();
            let request_id = parts
                .as_ref()
                .and_then(|parts| parts.headers.get("x-request-id")?.to_str().ok())
                .unwrap_or_default()
                .to_owned();
            let is_call = parts.is_some_and(|parts| parts.uri.path().starts_with(PREFIX));
            let refused = |refusal| answer_error(refusal, &request_id, is_call);
            let Some(board) = use_context::<Board>() else {
                return Err(refused(Refusal::unavailable(
                    "the server is not ready yet: try again in a moment",
                )));
            };
            let Some(actor) = use_context::<Actor>() else {
                return Err(refused(Refusal::unauthorized("sign in first")));
            };
            Ok(Self {
                board,
                actor,
                request_id,
                is_call,
            })
        }

        /// The AI jobs of this node.
        pub(crate) fn desk(&self) -> Result<std::sync::Arc<dyn Desk>, AppError> {
            match use_context::<AnyDesk>() {
                Some(AnyDesk(desk)) => Ok(desk),
                None => Err(answer_error(
                    Refusal::unavailable("the server is not ready yet: try again in a moment"),
                    &self.request_id,
                    self.is_call,
                )),
            }
        }

        /// The answer to the page. What the caller may not read goes to the log.
        pub(crate) fn answer<T>(&self, result: board::Result<T>) -> Result<T, AppError> {
            result.map_err(|error| {
                if error.code() == ErrorCode::Internal {
                    tracing::error!(
                        request_id = self.request_id,
                        error = &error as &dyn std::error::Error,
                        "page call failed"
                    );
                }
                answer_error(
                    BoardError::into_refusal(error),
                    &self.request_id,
                    self.is_call,
                )
            })
        }
    }

    fn answer_error(refusal: Refusal, request_id: &str, is_call: bool) -> AppError {
        // Within a page it is the page that knows whether the whole of it failed.
        if is_call
            && let Some(response) = use_context::<ResponseOptions>()
            && let Ok(status) = StatusCode::from_u16(refusal.code.http_status())
        {
            response.set_status(status);
        }
        AppError::refused(refusal, request_id)
    }
}
