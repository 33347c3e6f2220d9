//! Addresses of the pages. Links are made here and nowhere else; the routes in [`crate::App`] have the same shapes.

use domain::ids::{TaskId, WorkspaceId};

/// The board of the default workspace.
pub const HOME: &str = "/";
/// What needs the operator.
pub const INBOX: &str = "/inbox";
/// The conversation with the built-in assistant.
pub const ASSISTANT: &str = "/assistant";
/// Settings.
pub const SETTINGS: &str = "/settings";

/// A workspace's board.
#[must_use]
pub fn board(id: WorkspaceId) -> String {
    format!("/w/{id}")
}

/// A task's page.
#[must_use]
pub fn task(id: TaskId) -> String {
    format!("/t/{id}")
}
