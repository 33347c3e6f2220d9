//! The scripts of executors' profiles: before the first agent starts in a folder, and after the last task has left it.

use super::patience::Patience;
use super::{RuntimeConfig, SECRETS};
use agents::script::{self, ScriptError, ScriptSpec};
use board::{Board, Cleanup, Topic};
use domain::ids::PreparationId;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Folders that are cleaned up at the same time.
const AT_ONCE: usize = 4;
/// How often folders are looked for although nobody said that there is one: words from other nodes get lost.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Runs a script for a folder. Both scripts of a preparation have one lock, so that a cleanup cannot begin before whatever the other
/// left has been ended.
pub(super) async fn run(
    config: &RuntimeConfig,
    preparation: PreparationId,
    folder: &str,
    script: &str,
    timeout: Duration,
) -> Result<(), ScriptError> {
    script::run(ScriptSpec {
        script: script.to_owned(),
        cwd: PathBuf::from(folder),
        env_remove: SECRETS.iter().map(|&name| name.to_owned()).collect(),
        guard_exe: Some(config.guard_exe.clone()),
        lock: Some(lock(config, preparation)),
        timeout,
    })
    .await
}

fn lock(config: &RuntimeConfig, preparation: PreparationId) -> PathBuf {
    config.locks_dir.join(format!("folder-{preparation}.lock"))
}

/// Cleans up what was left, as it is left.
pub(super) async fn cleaning(board: Board, config: Arc<RuntimeConfig>, stop: CancellationToken) {
    let mut wake = board.signals().subscribe(Topic::Folders);
    let mut running = JoinSet::new();
    let mut patience = Patience::default();
    match board.cleanups_abandon(&config.node).await {
        Ok(folders) => {
            for folder in folders {
                tracing::warn!(
                    folder,
                    "a cleanup was cut off by the end of the server and is not begun again"
                );
            }
        }
        Err(error) => tracing::error!(
            error = &error as &dyn std::error::Error,
            "cleanups that were cut off are still noted"
        ),
    }
    while !stop.is_cancelled() {
        wake.mark_unchanged();
        let claimed = if running.len() < AT_ONCE {
            board.cleanup_claim(&config.node).await
        } else {
            Ok(None)
        };
        match claimed {
            Ok(Some(cleanup)) => {
                patience.reset();
                running.spawn(clean(board.clone(), config.clone(), cleanup));
                continue;
            }
            Ok(None) => patience.reset(),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "folders to clean up cannot be read"
                );
                patience.wait().await;
                continue;
            }
        }
        tokio::select! {
            _ = wake.changed() => {}
            Some(_) = running.join_next() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// Runs one cleanup and notes its end. That it failed is for the log: there is nobody left whom it would concern.
async fn clean(board: Board, config: Arc<RuntimeConfig>, cleanup: Cleanup) {
    let Cleanup {
        id,
        folder,
        script,
        timeout,
    } = &cleanup;
    match run(&config, *id, folder, script, *timeout).await {
        Ok(()) => tracing::info!(folder, "cleaned up"),
        Err(error) => tracing::warn!(folder, %error, "the cleanup script failed"),
    }
    if let Err(error) = tokio::fs::remove_file(lock(&config, *id)).await {
        tracing::debug!(%error, "a folder's lock is still there");
    }
    let mut patience = Patience::default();
    while let Err(error) = board.cleanup_done(&cleanup).await {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "the end of a cleanup was not stored"
        );
        patience.wait().await;
    }
}
