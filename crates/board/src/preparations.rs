//! Folders that are prepared for agents and cleaned up after them, by the scripts of an executor's profile.
//!
//! A folder is prepared once for all tasks that work in it with the same profile: by the first start there, while others wait. It is
//! cleaned up when the last of these tasks is archived or deleted, after the end of its agents, and by the node on whose machine it is.
//! A cleanup is begun at most once: one that its node did not survive is not begun again.

use crate::transition::Work;
use crate::{Board, Result, Topic};
use domain::effect::EffectKind;
use domain::executor::{
    BeforeStart, ExecutorProfile, McpPolicy, Preparation, PreparationState, before_start,
};
use domain::ids::{PreparationId, SessionId};
use domain::session::{Session, SessionState};
use domain::task::Task;
use std::time::Duration;

/// After how long a start that waits looks again although nobody woke it, in milliseconds.
const LOOK_AGAIN_MS: i64 = 5_000;

/// A script to run before an agent starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepare {
    /// To say what became of it.
    pub id: PreparationId,
    /// What the profile is called.
    pub profile: String,
    /// The script.
    pub script: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// A script to run in a folder that everybody has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleanup {
    /// To say that it has ended.
    pub id: PreparationId,
    /// Where.
    pub folder: String,
    /// The script.
    pub script: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// What a start finds in its folder.
#[derive(Debug)]
pub(crate) enum Ground {
    /// It may begin, after a script if there is one.
    Ready {
        /// The script.
        prepare: Option<Prepare>,
        /// Which servers the agent is given.
        policy: McpPolicy,
    },
    /// Somebody else's script runs there: the start is asked for again.
    Busy,
}

impl Board {
    /// The script of a preparation has run.
    pub async fn folder_prepared(&self, id: PreparationId, session: SessionId) -> Result<()> {
        self.preparation_ended(id, session, true).await
    }

    /// The script of a preparation failed: the folder counts as it was before, and the next start tries again.
    pub async fn folder_not_prepared(&self, id: PreparationId, session: SessionId) -> Result<()> {
        self.preparation_ended(id, session, false).await
    }

    async fn preparation_ended(
        &self,
        id: PreparationId,
        session: SessionId,
        is_prepared: bool,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        // Everybody may have left meanwhile.
        let Some(mut row) = store::preparations::underway(&mut work.tx, id, session).await? else {
            return Ok(());
        };
        if is_prepared {
            row.state = PreparationState::Prepared;
            row.session_id = None;
            row.updated_at = work.now;
            store::preparations::update(&mut work.tx, &row).await?;
        } else {
            store::preparations::delete(&mut work.tx, id).await?;
        }
        work.start_who_waited().await?;
        work.commit().await
    }

    /// Takes a folder that `node` is to clean up; nothing while agents are alive in all of them.
    pub async fn cleanup_claim(&self, node: &str) -> Result<Option<Cleanup>> {
        if !store::preparations::is_left(&mut self.snapshot().await?, node).await? {
            return Ok(None);
        }
        let mut work = self.begin().await?;
        let now = work.now;
        let claimed = store::preparations::claim(&mut work.tx, node, now).await?;
        work.commit().await?;
        Ok(claimed.map(|row| Cleanup {
            id: row.id,
            folder: row.folder,
            script: row.cleanup_script,
            timeout: seconds(row.cleanup_seconds),
        }))
    }

    /// A cleanup has ended, however it ended: the folder is as if it had never been prepared.
    pub async fn cleanup_done(&self, cleanup: &Cleanup) -> Result<()> {
        let mut work = self.begin().await?;
        store::preparations::delete(&mut work.tx, cleanup.id).await?;
        work.start_who_waited().await?;
        work.commit().await
    }

    /// At the start of `node`: its cleanups ended with it and are not begun again. Answers their folders.
    pub async fn cleanups_abandon(&self, node: &str) -> Result<Vec<String>> {
        let mut work = self.begin().await?;
        let folders = store::preparations::abandon(&mut work.tx, node).await?;
        work.commit().await?;
        Ok(folders)
    }
}

impl Work {
    /// What a start of the session finds in its folder on the machine of `node`, and does about it.
    pub(crate) async fn ground(
        &mut self,
        session: &Session,
        folder: &str,
        node: &str,
    ) -> Result<Ground> {
        let Some(profile) = session.executor_profile_id else {
            return Ok(Ground::Ready {
                prepare: None,
                policy: McpPolicy::All,
            });
        };
        let profile = crate::executors::find(&mut self.tx, profile).await?;
        let ready = |prepare| Ground::Ready {
            prepare,
            policy: profile.mcp_policy,
        };
        let known = store::preparations::of_folder(&mut self.tx, node, folder, profile.id).await?;
        if known.is_none() && !profile.has_scripts() {
            return Ok(ready(None));
        }
        let at_work = match &known {
            Some(row) => self.is_prepared_by_another(row, session.id).await?,
            None => false,
        };
        match before_start(known.as_ref().map(|row| row.state), at_work) {
            BeforeStart::Wait => {
                self.effect_after(EffectKind::Dispatch, session, None, LOOK_AGAIN_MS)
                    .await?;
                Ok(Ground::Busy)
            }
            BeforeStart::Start => {
                if let Some(row) = known.filter(|row| row.state == PreparationState::Left) {
                    let kept = Preparation {
                        state: PreparationState::Prepared,
                        task_id: None,
                        updated_at: self.now,
                        ..row
                    };
                    store::preparations::update(&mut self.tx, &kept).await?;
                }
                Ok(ready(None))
            }
            BeforeStart::Prepare => {
                let row = self.begin_preparation(known, &profile, session, folder, node);
                Ok(ready(row.await?))
            }
        }
    }

    /// Notes that the folder is being prepared for a session's start; without a script it is at once.
    async fn begin_preparation(
        &mut self,
        known: Option<Preparation>,
        profile: &ExecutorProfile,
        session: &Session,
        folder: &str,
        node: &str,
    ) -> Result<Option<Prepare>> {
        let runs = !profile.prepare_script.is_empty();
        let is_new = known.is_none();
        let row = Preparation {
            id: known.as_ref().map_or_else(PreparationId::new, |row| row.id),
            node: node.to_owned(),
            folder: folder.to_owned(),
            executor_profile_id: profile.id,
            state: if runs {
                PreparationState::Preparing
            } else {
                PreparationState::Prepared
            },
            session_id: runs.then_some(session.id),
            task_id: None,
            cleanup_script: profile.cleanup_script.clone(),
            cleanup_seconds: profile.config.cleanup_seconds(),
            created_at: known.map_or(self.now, |row| row.created_at),
            updated_at: self.now,
        };
        if is_new {
            store::preparations::insert(&mut self.tx, &row).await?;
        } else {
            store::preparations::update(&mut self.tx, &row).await?;
        }
        Ok(runs.then(|| Prepare {
            id: row.id,
            profile: profile.name.clone(),
            script: profile.prepare_script.clone(),
            timeout: seconds(profile.config.prepare_seconds()),
        }))
    }

    /// Whether the script runs for the start of another session at this moment: that session's start is what renews its lease.
    async fn is_prepared_by_another(&mut self, row: &Preparation, own: SessionId) -> Result<bool> {
        let Some(other) = row.session_id.filter(|other| *other != own) else {
            return Ok(false);
        };
        let other = store::sessions::find(&mut self.tx, other).await?;
        Ok(other.is_some_and(|other| {
            other.state == SessionState::Starting
                && other.holder.as_deref() == Some(row.node.as_str())
                && other.lease_until >= Some(self.now)
        }))
    }

    /// A task leaves the board, and its folder with it: when no other task works there, it is to be cleaned up.
    pub(crate) async fn leave_folder(&mut self, task: &Task) -> Result<()> {
        let (Some(profile), Some(folder)) = (task.executor_profile_id, &task.working_directory)
        else {
            return Ok(());
        };
        if store::preparations::is_worked_in(&mut self.tx, folder, profile, task.id).await? {
            return Ok(());
        }
        let now = self.now;
        if store::preparations::leave(&mut self.tx, folder, profile, task.id, now).await? {
            self.wake_folders();
        }
        Ok(())
    }

    /// Asks again for the starts that may have waited for a folder. One that did not wait finds nothing to do.
    async fn start_who_waited(&mut self) -> Result<()> {
        for session in store::sessions::with_queued_prompts(&mut self.tx).await? {
            if session.executor_profile_id.is_some() && !session.state.is_busy() {
                self.effect(EffectKind::Dispatch, &session, None).await?;
            }
        }
        Ok(())
    }
}

impl Board {
    /// An agent has been ended: the folder that its task has left may be cleaned up now.
    pub(crate) fn agent_ended(&self) {
        self.signals.wake(Topic::Folders);
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.unsigned_abs())
}
