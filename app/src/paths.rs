//! Addresses of the pages. Links are made here and nowhere else; the routes in [`crate::App`] have the same shapes.

use domain::ids::{TaskId, WorkspaceId};

/// The board of the default workspace.
pub const HOME: &str = "/";
/// What needs the operator.
pub const INBOX: &str = "/inbox";
/// The conversation with the built-in assistant.
pub const ASSISTANT: &str = "/assistant";
/// Where one signs in. The server answers there by itself; it is none of the app's pages.
pub const SIGN_IN: &str = "/sign-in";
/// Settings.
pub const SETTINGS: &str = "/settings";

/// AI jobs.
pub const JOBS: &str = "/jobs";

const TASKS: &str = "/tasks/";

/// A workspace's board.
#[must_use]
pub fn board(id: WorkspaceId) -> String {
    format!("/w/{id}")
}

/// A task's page.
#[must_use]
pub fn task(id: TaskId) -> String {
    format!("{TASKS}{id}")
}

/// The task whose page is at `path`, if it is the page of one.
#[must_use]
pub fn task_of(path: &str) -> Option<TaskId> {
    path.strip_prefix(TASKS)?.split('/').next()?.parse().ok()
}

/// A job's page.
#[must_use]
pub fn job(key: &str) -> String {
    format!("{JOBS}/{key}")
}

/// The job whose page is at `path`, if it is the page of one.
#[must_use]
pub fn job_of(path: &str) -> Option<&str> {
    let key = path.strip_prefix(JOBS)?.strip_prefix('/')?;
    key.split('/').next().filter(|key| !key.is_empty())
}

#[test]
fn a_job_is_found_by_its_own_address() {
    assert_eq!(job_of(&job("aij_1")), Some("aij_1"));
    for other in [JOBS, "/jobs/", "/jobsx/1", HOME] {
        assert_eq!(job_of(other), None, "{other}");
    }
}

#[test]
fn a_task_is_found_by_its_own_address() {
    let id = TaskId::new();
    assert_eq!(task_of(&task(id)), Some(id));
    assert_eq!(task_of(HOME), None);
    assert_eq!(task_of("/tasks/"), None);
}
