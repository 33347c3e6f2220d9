//! Limits that an installation may change.

use domain::guards::Guards;
use domain::queue::merge::AutoMerge;
use domain::repository::KnownHost;
use std::path::PathBuf;

/// How far back moves are counted.
pub(crate) const LOOP_WINDOW_MS: i64 = 60_000;

/// The limits in force.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How deep tasks may nest (rulings 12).
    pub max_depth: usize,
    /// Prompts that may wait in one session's queue; 0 is unlimited. Questions and answers do not count.
    pub queue_capacity: usize,
    /// Which prompts are joined to the one before them as they come in. Off: each that was accepted is a turn of its own, and
    /// what its sender was told about it stays true (rulings 19).
    pub queue_auto_merge: AutoMerge,
    /// Whether operators may join a prompt to the one above it.
    pub queue_manual_merge: bool,
    /// What keeps agents from talking without end.
    pub guards: Guards,
    /// Grace of an asking turn, in milliseconds (rulings 7).
    pub question_grace_ms: i64,
    /// How long an interrupt waits for its prompt to be accepted before it answers `queued`, in milliseconds.
    pub interrupt_wait_ms: u64,
    /// How long an answer that must be brought to an agent waits for the agent to take it, in milliseconds.
    pub answer_wait_ms: u64,
    /// How long a session's lease holds without renewal, in milliseconds.
    pub lease_ms: i64,
    /// Automatic moves of one task within a minute before its workflow is taken for a loop.
    pub max_automatic_moves: i64,
    /// How long writes of one author to a plan share a revision, in milliseconds; 0 gives each its own.
    pub plan_merge_ms: i64,
    /// How long the event log reaches back, in milliseconds. A reader who was away longer reads everything again.
    pub events_kept_ms: i64,
    /// Limits of AI jobs.
    pub jobs: JobSettings,
    /// Limits of runs.
    pub runs: RunSettings,
    /// How often a request with something switched on is looked at, in milliseconds.
    pub request_look_ms: i64,
    /// Servers of providers beside the usual ones: what is kept there is known to be theirs.
    pub provider_hosts: Vec<KnownHost>,
    /// Where the folders of tasks are made that name none of their own.
    pub workspaces_dir: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_depth: 8,
            queue_capacity: 10,
            queue_auto_merge: AutoMerge::Off,
            queue_manual_merge: true,
            guards: Guards::default(),
            question_grace_ms: domain::question::GRACE_MS,
            interrupt_wait_ms: 5_000,
            answer_wait_ms: 60_000,
            lease_ms: 30_000,
            max_automatic_moves: 30,
            plan_merge_ms: 5 * 60 * 1_000,
            events_kept_ms: 7 * 24 * 60 * 60 * 1_000,
            jobs: JobSettings::default(),
            runs: RunSettings::default(),
            request_look_ms: 60_000,
            provider_hosts: Vec::new(),
            workspaces_dir: PathBuf::from("workspaces"),
        }
    }
}

/// Limits of AI jobs that an installation may change.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// How long a lease holds without renewal, in milliseconds.
    pub lease_ms: i64,
    /// A job that waits this long moves up by one priority, in milliseconds.
    pub age_ms: i64,
    /// A job whose workers vanished this often is given up, attempts left or not.
    pub max_stale: i64,
    /// What users wrote and got is kept this long after a job's end, in milliseconds.
    pub text_kept_ms: i64,
    /// Completed and canceled jobs are kept this long, in milliseconds.
    pub completed_kept_ms: i64,
    /// Jobs that were given up are kept this long, in milliseconds.
    pub failed_kept_ms: i64,
}

impl Default for JobSettings {
    fn default() -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        Self {
            lease_ms: 60_000,
            age_ms: 5 * 60 * 1_000,
            max_stale: 5,
            text_kept_ms: 7 * DAY,
            completed_kept_ms: 14 * DAY,
            failed_kept_ms: 30 * DAY,
        }
    }
}

/// Limits of outside clients' runs that an installation may change.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The outcome of a run can be read for so long after its end, in milliseconds.
    pub kept_ms: i64,
    /// What was asked is kept for so long after the end, in milliseconds.
    pub words_kept_ms: i64,
    /// A run in which nothing has happened for so long, and that waits for somebody, is given up; in milliseconds.
    pub patience_ms: i64,
}

impl Default for RunSettings {
    fn default() -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        Self {
            kept_ms: 7 * DAY,
            words_kept_ms: 7 * DAY,
            patience_ms: 7 * DAY,
        }
    }
}
