//! Executors and their profiles (task-domain 2.8). Scripts run on the operator's machine, so they are the operator's alone; which of the
//! profiles a task is run with may be chosen by whoever makes it.

use crate::reach::{commands, configures};
use crate::{Actor, Board, BoardError, Result};
use domain::error::Refusal;
use domain::executor::{
    CreateExecutorProfile, Executor, ExecutorProfile, ExecutorView, UpdateExecutorProfile, change,
    check_unused, make,
};
use domain::ids::ExecutorProfileId;
use store::{Snapshot, StoreError};

impl Board {
    /// The executors there are.
    pub fn executor_list(&self, _actor: &Actor) -> Vec<ExecutorView> {
        Executor::ALL
            .iter()
            .map(|executor| executor.view())
            .collect()
    }

    /// All profiles, or those of one executor.
    pub async fn executor_profile_list(
        &self,
        _actor: &Actor,
        executor: Option<Executor>,
    ) -> Result<Vec<ExecutorProfile>> {
        let mut profiles = store::executors::list(&mut self.snapshot().await?).await?;
        profiles.retain(|profile| executor.is_none_or(|executor| profile.executor_id == executor));
        Ok(profiles)
    }

    /// Adds a profile to an executor.
    pub async fn executor_profile_create(
        &self,
        actor: &Actor,
        params: CreateExecutorProfile,
    ) -> Result<ExecutorProfile> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let profile = make(params, work.now)?;
        if profile.has_scripts() {
            commands(actor, "scripts")?;
        }
        store::executors::insert(&mut work.tx, &profile)
            .await
            .map_err(taken)?;
        work.commit().await?;
        Ok(profile)
    }

    /// Changes a profile. What runs goes on; the next start and the next preparation of a folder follow it. A folder that was prepared
    /// is cleaned up by the script as it was then.
    pub async fn executor_profile_update(
        &self,
        actor: &Actor,
        id: ExecutorProfileId,
        params: UpdateExecutorProfile,
    ) -> Result<ExecutorProfile> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let before = find(&mut work.tx, id).await?;
        let after = change(&before, params, work.now)?;
        let about_scripts = |profile: &ExecutorProfile| {
            (
                profile.prepare_script.clone(),
                profile.cleanup_script.clone(),
                profile.config,
            )
        };
        if about_scripts(&before) != about_scripts(&after) {
            commands(actor, "scripts")?;
        }
        if actor.session().is_some() && after.mcp_policy.lets_more_than(before.mcp_policy) {
            return Err(Refusal::forbidden(
                "mcp_policy would give agents more tools than the operator lets them have, so only the operator loosens it: leave it out \
                 and ask for it",
            )
            .into());
        }
        store::executors::update(&mut work.tx, &after)
            .await
            .map_err(taken)?;
        work.commit().await?;
        Ok(after)
    }

    /// Removes a profile. Refused while a task has it or a folder that it prepared is still to be cleaned up.
    pub async fn executor_profile_delete(
        &self,
        actor: &Actor,
        id: ExecutorProfileId,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, None).await?;
        let profile = find(&mut work.tx, id).await?;
        if profile.has_scripts() {
            commands(actor, "scripts")?;
        }
        check_unused(&profile, store::executors::usage(&mut work.tx, id).await?)?;
        store::executors::delete(&mut work.tx, id).await?;
        tracing::info!(%id, actor = actor.word(), "executor profile deleted");
        work.commit().await
    }
}

/// A profile that must be there.
pub(crate) async fn find(db: &mut Snapshot, id: ExecutorProfileId) -> Result<ExecutorProfile> {
    let found = store::executors::find(db, id).await?;
    Ok(found.ok_or_else(|| Refusal::not_found("executor profile"))?)
}

fn taken(error: StoreError) -> BoardError {
    if let StoreError::Unique(_) = error {
        return Refusal::conflict("an executor profile of this name exists already").into();
    }
    error.into()
}
