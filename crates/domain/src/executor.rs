//! Executors: how agents are run, and what is done in their folder before and after (task-domain 1.13, 2.8).
//!
//! There is one: a process of the operator's user on this machine, in a folder (rulings 48). A profile of it adds scripts and says which
//! of their profile's MCP servers agents are given. A task without one is run as usual, with no script and all servers.
//!
//! A folder is prepared once for all tasks that work in it with the same profile, and cleaned up when the last of them is archived or
//! deleted:
//!
//! ```text
//! (none) ─begin▶ preparing ─done▶ prepared ─leave▶ left ─claim▶ cleaning ─done▶ (none)
//!                    │ └─fail▶ (none)   ◀─begin─┘
//!                    └───────────leave─────────▶ left
//! ```

use crate::error::Refusal;
use crate::ids::{ExecutorProfileId, PreparationId, SessionId, TaskId};
use crate::mcp_servers::McpServer;
use crate::name;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest name of a profile, in code points.
const MAX_NAME: usize = 120;
/// Longest script, in bytes.
const MAX_SCRIPT: usize = 64 * 1024;
/// How long a script may be given at most, in seconds.
const LONGEST_SECONDS: i64 = 3_600;
/// How long a folder's preparation may take when nothing is said, in seconds.
const PREPARE_SECONDS: i64 = 600;
/// The same of its cleanup.
const CLEANUP_SECONDS: i64 = 300;

words! {
    /// An executor.
    Executor("executor_id") {
        /// A process on this machine.
        Local = "exec-local",
    }
}

impl Executor {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "Local process",
        }
    }

    /// What it is, as it is listed.
    #[must_use]
    pub fn view(self) -> ExecutorView {
        match self {
            Self::Local => ExecutorView {
                id: self,
                name: self.name().to_owned(),
                kind: "local".to_owned(),
                description: "Agents are processes of the operator's user on the machine of Flightdeck, in the task's folder."
                    .to_owned(),
            },
        }
    }
}

/// An executor as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorView {
    /// Its id.
    pub id: Executor,
    /// What people call it.
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it does.
    pub description: String,
}

words! {
    /// Which of their profile's MCP servers agents are given. Flightdeck's own they are given in any case.
    McpPolicy("mcp_policy") {
        /// All of them.
        All = "all",
        /// Those with an address: nothing that would run a command.
        RemoteOnly = "remote_only",
        /// None.
        None = "none",
    }
}

impl McpPolicy {
    /// Whether agents are given a server.
    #[must_use]
    pub const fn lets(self, server: &McpServer) -> bool {
        match self {
            Self::All => true,
            Self::RemoteOnly => !server.is_command(),
            Self::None => false,
        }
    }

    /// Whether agents are given more by it than by another.
    #[must_use]
    pub fn lets_more_than(self, other: Self) -> bool {
        let place = |policy: Self| match policy {
            Self::None => 0,
            Self::RemoteOnly => 1,
            Self::All => 2,
        };
        place(self) > place(other)
    }
}

/// What else can be said of a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutorConfig {
    /// How long the prepare script may take; 600 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prepare_timeout_seconds: Option<i64>,
    /// How long the cleanup script may take; 300 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleanup_timeout_seconds: Option<i64>,
}

impl ExecutorConfig {
    /// How long the prepare script may take, in seconds.
    #[must_use]
    pub fn prepare_seconds(self) -> i64 {
        self.prepare_timeout_seconds.unwrap_or(PREPARE_SECONDS)
    }

    /// How long the cleanup script may take, in seconds.
    #[must_use]
    pub fn cleanup_seconds(self) -> i64 {
        self.cleanup_timeout_seconds.unwrap_or(CLEANUP_SECONDS)
    }
}

/// A profile of an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorProfile {
    /// Its id.
    pub id: ExecutorProfileId,
    /// The executor.
    pub executor_id: Executor,
    /// What people call it; once an executor.
    pub name: String,
    /// See [`McpPolicy`].
    pub mcp_policy: McpPolicy,
    /// Run in a folder before the first agent starts there; empty for none.
    pub prepare_script: String,
    /// Run in it when the last task has left it; empty for none.
    pub cleanup_script: String,
    /// See [`ExecutorConfig`].
    pub config: ExecutorConfig,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl ExecutorProfile {
    /// It runs something.
    #[must_use]
    pub const fn has_scripts(&self) -> bool {
        !self.prepare_script.is_empty() || !self.cleanup_script.is_empty()
    }
}

/// Makes a profile of an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateExecutorProfile {
    /// The executor.
    pub executor_id: Executor,
    /// What it is like.
    #[serde(flatten)]
    pub profile: UpdateExecutorProfile,
}

/// Changes a profile of an executor. What is left out stays, or is as usual in a new one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateExecutorProfile {
    /// At most 120 code points.
    pub name: Option<String>,
    /// See [`McpPolicy`].
    pub mcp_policy: Option<McpPolicy>,
    /// See [`ExecutorProfile`].
    pub prepare_script: Option<String>,
    /// See [`ExecutorProfile`].
    pub cleanup_script: Option<String>,
    /// All of it at once.
    pub config: Option<ExecutorConfig>,
}

/// A new profile.
pub fn make(params: CreateExecutorProfile, now: Timestamp) -> Result<ExecutorProfile, Refusal> {
    let usual = ExecutorProfile {
        id: ExecutorProfileId::new(),
        executor_id: params.executor_id,
        name: String::new(),
        mcp_policy: McpPolicy::All,
        prepare_script: String::new(),
        cleanup_script: String::new(),
        config: ExecutorConfig::default(),
        created_at: now,
        updated_at: now,
    };
    let named = UpdateExecutorProfile {
        name: Some(params.profile.name.clone().unwrap_or_default()),
        ..params.profile
    };
    change(&usual, named, now)
}

/// A profile as somebody wants it.
pub fn change(
    profile: &ExecutorProfile,
    params: UpdateExecutorProfile,
    now: Timestamp,
) -> Result<ExecutorProfile, Refusal> {
    let mut changed = profile.clone();
    if let Some(name) = &params.name {
        changed.name = name::check("name", name, MAX_NAME, "call the profile something")?;
    }
    if let Some(policy) = params.mcp_policy {
        changed.mcp_policy = policy;
    }
    if let Some(script) = params.prepare_script {
        changed.prepare_script = check_script("prepare_script", script)?;
    }
    if let Some(script) = params.cleanup_script {
        changed.cleanup_script = check_script("cleanup_script", script)?;
    }
    if let Some(config) = params.config {
        let given = [
            ("prepare_timeout_seconds", config.prepare_timeout_seconds),
            ("cleanup_timeout_seconds", config.cleanup_timeout_seconds),
        ];
        for (key, seconds) in given {
            if seconds.is_some_and(|seconds| !(1..=LONGEST_SECONDS).contains(&seconds)) {
                return Err(Refusal::validation(format!(
                    "config: {key} must be 1 to {LONGEST_SECONDS} seconds"
                )));
            }
        }
        changed.config = config;
    }
    if changed != *profile {
        changed.updated_at = now;
    }
    Ok(changed)
}

fn check_script(field: &str, script: String) -> Result<String, Refusal> {
    if script.len() > MAX_SCRIPT || script.contains('\0') {
        return Err(Refusal::validation(format!(
            "{field} is longer than {MAX_SCRIPT} bytes, or holds the character NUL: put a long script into a file and call that"
        )));
    }
    Ok(if script.trim().is_empty() {
        String::new()
    } else {
        script
    })
}

/// What keeps a profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecutorProfileUse {
    /// Tasks that are run with it, archived ones too.
    pub tasks: i64,
    /// Folders that it prepared and that are not cleaned up.
    pub folders: i64,
}

/// Refuses to remove a profile that something needs.
pub fn check_unused(profile: &ExecutorProfile, used: ExecutorProfileUse) -> Result<(), Refusal> {
    let name = &profile.name;
    if used.tasks > 0 {
        return Err(Refusal::conflict(format!(
            "executor profile \"{name}\" is that of {} task{}: tasks keep theirs until they are deleted",
            used.tasks,
            if used.tasks == 1 { "" } else { "s" }
        )));
    }
    if used.folders > 0 {
        return Err(Refusal::conflict(format!(
            "a folder that executor profile \"{name}\" prepared is still to be cleaned up: wait for that"
        )));
    }
    Ok(())
}

words! {
    /// Where the preparation of a folder stands.
    PreparationState("state") {
        /// The script runs.
        Preparing = "preparing",
        /// It has run.
        Prepared = "prepared",
        /// The last task has left, and the cleanup is to come.
        Left = "left",
        /// The cleanup runs, or did when its node went away.
        Cleaning = "cleaning",
    }
}

/// A folder that was prepared, on the machine of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparation {
    /// Its id.
    pub id: PreparationId,
    /// Whose machine the folder is on.
    pub node: String,
    /// The folder.
    pub folder: String,
    /// Whose scripts.
    pub executor_profile_id: ExecutorProfileId,
    /// See [`PreparationState`].
    pub state: PreparationState,
    /// Whose agent is to start when the script has run.
    pub session_id: Option<SessionId>,
    /// The last task that worked there.
    pub task_id: Option<TaskId>,
    /// What takes it back, as it was when the folder was prepared.
    pub cleanup_script: String,
    /// How long that may take.
    pub cleanup_seconds: i64,
    /// When it began.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// What a start does about its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeforeStart {
    /// Run the script first.
    Prepare,
    /// Wait until somebody else's script has ended.
    Wait,
    /// Start: the folder is as it should be.
    Start,
}

/// What a start does about a folder whose preparation stands so. `at_work`: somebody else's start runs the script at this moment.
#[must_use]
pub const fn before_start(stands: Option<PreparationState>, at_work: bool) -> BeforeStart {
    match stands {
        None => BeforeStart::Prepare,
        Some(PreparationState::Preparing) if at_work => BeforeStart::Wait,
        // Whoever began with it is gone.
        Some(PreparationState::Preparing) => BeforeStart::Prepare,
        // A cleanup that nobody began with is not needed any more.
        Some(PreparationState::Prepared | PreparationState::Left) => BeforeStart::Start,
        Some(PreparationState::Cleaning) => BeforeStart::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp_servers::Secrets;
    use serde_json::json;

    fn made() -> ExecutorProfile {
        let params = json!({"executor_id": "exec-local", "name": " Checked out ", "prepare_script": " \n", "cleanup_script": "rm x\n"});
        make(
            serde_json::from_value(params).unwrap(),
            Timestamp::from_millis(1),
        )
        .unwrap()
    }

    #[test]
    fn a_profile_is_as_usual_where_nothing_is_said() {
        let profile = made();
        assert_eq!(
            (
                profile.name.as_str(),
                profile.mcp_policy,
                profile.prepare_script.as_str(),
                profile.cleanup_script.as_str()
            ),
            ("Checked out", McpPolicy::All, "", "rm x\n")
        );
        assert!(profile.has_scripts());
        assert_eq!(
            (
                profile.config.prepare_seconds(),
                profile.config.cleanup_seconds()
            ),
            (600, 300)
        );
        let later = Timestamp::from_millis(9);
        assert_eq!(
            change(&profile, UpdateExecutorProfile::default(), later),
            Ok(profile.clone())
        );
        let changed: UpdateExecutorProfile = serde_json::from_value(
            json!({"mcp_policy": "none", "config": {"prepare_timeout_seconds": 5}}),
        )
        .unwrap();
        let changed = change(&profile, changed, later).unwrap();
        assert_eq!(
            (
                changed.mcp_policy,
                changed.config.prepare_seconds(),
                changed.updated_at
            ),
            (McpPolicy::None, 5, later)
        );
    }

    #[test]
    fn what_a_profile_cannot_be_is_refused() {
        for params in [
            json!({"name": " "}),
            json!({"prepare_script": "a\0"}),
            json!({"cleanup_script": "x".repeat(MAX_SCRIPT + 1)}),
            json!({"config": {"prepare_timeout_seconds": 0}}),
            json!({"config": {"cleanup_timeout_seconds": LONGEST_SECONDS + 1}}),
        ] {
            let params = serde_json::from_value(params).unwrap();
            assert!(change(&made(), params, Timestamp::from_millis(9)).is_err());
        }
        for unknown in [
            json!({"config": {"image": "debian"}}),
            json!({"mcp_policy": "some"}),
        ] {
            assert!(serde_json::from_value::<UpdateExecutorProfile>(unknown).is_err());
        }
        assert!(Executor::parse("exec-worktree").is_err());
    }

    #[test]
    fn a_policy_lets_through_what_it_says() {
        let command = McpServer::Stdio {
            command: "x".to_owned(),
            args: Vec::new(),
            env: Secrets::default(),
        };
        let address = McpServer::Http {
            url: "http://h".to_owned(),
            headers: Secrets::default(),
        };
        for (policy, expected) in [
            (McpPolicy::All, [true, true]),
            (McpPolicy::RemoteOnly, [false, true]),
            (McpPolicy::None, [false, false]),
        ] {
            assert_eq!([policy.lets(&command), policy.lets(&address)], expected);
            assert!(!policy.lets_more_than(policy));
        }
        assert!(McpPolicy::All.lets_more_than(McpPolicy::RemoteOnly));
        assert!(!McpPolicy::None.lets_more_than(McpPolicy::RemoteOnly));
    }

    #[test]
    fn what_something_needs_is_kept() {
        let of = |tasks, folders| check_unused(&made(), ExecutorProfileUse { tasks, folders });
        assert_eq!(of(0, 0), Ok(()));
        assert!(of(2, 1).unwrap_err().message.contains("2 tasks"));
        assert!(of(0, 1).unwrap_err().message.contains("cleaned up"));
    }

    #[test]
    fn a_folder_is_prepared_by_one_start_while_others_wait() {
        use BeforeStart::{Prepare, Start, Wait};
        let table = [
            (None, [Prepare, Prepare]),
            (Some(PreparationState::Preparing), [Prepare, Wait]),
            (Some(PreparationState::Prepared), [Start, Start]),
            (Some(PreparationState::Left), [Start, Start]),
            (Some(PreparationState::Cleaning), [Wait, Wait]),
        ];
        for (stands, expected) in table {
            assert_eq!(
                [false, true].map(|at_work| before_start(stands, at_work)),
                expected,
                "{stands:?}"
            );
        }
    }
}
