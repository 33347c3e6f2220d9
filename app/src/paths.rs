//! Addresses of the pages. Links are made here and nowhere else; the routes in [`crate::App`] have the same shapes.

use domain::ids::{RunId, SessionId, TaskId, WorkspaceId};

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

/// The runs of outside clients.
pub const RUNS: &str = "/runs";

const WORKSPACES: &str = "/w";
const TASKS: &str = "/tasks/";

/// A workspace's board.
#[must_use]
pub fn board(id: WorkspaceId) -> String {
    format!("{WORKSPACES}/{id}")
}

/// What names the workspace whose board is at `path`, if it is that of one.
#[must_use]
pub fn workspace_of(path: &str) -> Option<&str> {
    within(path, WORKSPACES)
}

/// A task's page.
#[must_use]
pub fn task(id: TaskId) -> String {
    format!("{TASKS}{id}")
}

/// A task's page, with one of its sessions shown.
#[must_use]
pub fn session(task_id: TaskId, id: SessionId) -> String {
    format!("{}?session={id}", task(task_id))
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
    within(path, JOBS)
}

/// A run's page.
#[must_use]
pub fn run(id: RunId) -> String {
    format!("{RUNS}/{id}")
}

/// What names the run whose page is at `path`, if it is the page of one.
#[must_use]
pub fn run_of(path: &str) -> Option<&str> {
    within(path, RUNS)
}

/// The part of the path after the list that it belongs to.
fn within<'p>(path: &'p str, list: &str) -> Option<&'p str> {
    let key = path.strip_prefix(list)?.strip_prefix('/')?;
    key.split('/').next().filter(|key| !key.is_empty())
}

#[test]
fn jobs_runs_and_boards_are_found_by_their_own_addresses() {
    let id = RunId::new();
    assert_eq!(job_of(&job("aij_1")), Some("aij_1"));
    assert_eq!(run_of(&run(id)), Some(id.to_string().as_str()));
    for other in [JOBS, "/jobs/", "/jobsx/1", HOME, &run(id)] {
        assert_eq!(job_of(other), None, "{other}");
    }
    assert_eq!(run_of(RUNS), None);
    let workspace = WorkspaceId::new();
    assert_eq!(
        workspace_of(&board(workspace)),
        Some(workspace.to_string().as_str())
    );
    assert_eq!(workspace_of(HOME), None);
}

#[test]
fn a_task_is_found_by_its_own_address() {
    let id = TaskId::new();
    assert_eq!(task_of(&task(id)), Some(id));
    assert_eq!(task_of(HOME), None);
    assert_eq!(task_of("/tasks/"), None);
}
