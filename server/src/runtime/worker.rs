//! The loops of follow-ups and of housekeeping.

use super::RuntimeConfig;
use super::patience::Patience;
use super::sessions::Sessions;
use board::{Board, Topic};
use domain::effect::Effect;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Follow-ups taken at once.
const BATCH: i64 = 64;
/// How long the loop sleeps when nothing is due and no wake-up comes: other nodes write without waking us.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// How often what is no longer needed is dropped.
const HOUSEKEEPING: Duration = Duration::from_secs(60 * 60);

/// Takes follow-ups as they become due and hands them to the actors, in order within a session.
pub(super) async fn effects(
    board: Board,
    config: Arc<RuntimeConfig>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
) {
    let mut wake = board.signals().subscribe(Topic::Effects);
    let mut patience = Patience::default();
    while !stop.is_cancelled() {
        wake.mark_unchanged();
        let claimed = match board.effect_claim(&config.node, BATCH).await {
            Ok(claimed) => {
                patience.reset();
                claimed
            }
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "follow-ups cannot be read"
                );
                patience.wait().await;
                continue;
            }
        };
        let more = i64::try_from(claimed.len()).is_ok_and(|n| n == BATCH);
        for effect in claimed {
            let outcome = sessions.hand(&effect).await;
            tokio::spawn(settle(board.clone(), config.clone(), effect, outcome));
        }
        if more {
            continue;
        }
        let due = sleep_until(next_look(&board).await);
        tokio::select! {
            _ = wake.changed() => {}
            () = due => {}
            () = stop.cancelled() => {}
        }
    }
}

/// When to look again: at the next due time, but soon in any case.
async fn next_look(board: &Board) -> Instant {
    let now = Instant::now();
    let wait = match board.effect_next_due().await {
        Ok(Some(due)) => {
            let millis = due.since(board.clock().now()).max(0);
            Duration::from_millis(millis.unsigned_abs())
        }
        Ok(None) | Err(_) => LONGEST_SLEEP,
    };
    now + wait.min(LONGEST_SLEEP)
}

/// Notes what became of a follow-up.
async fn settle(
    board: Board,
    config: Arc<RuntimeConfig>,
    effect: Effect,
    outcome: tokio::sync::oneshot::Receiver<bool>,
) {
    let result = match outcome.await {
        Ok(true) => board.effect_finish(&effect, &config.node).await.map(|_| ()),
        Ok(false) | Err(_) => board.effect_retry(&effect, &config.node).await,
    };
    if let Err(error) = result {
        // The claim runs out and the follow-up is tried again; it is safe to repeat.
        tracing::error!(error = &error as &dyn std::error::Error, kind = %effect.kind, "a follow-up's end was not stored");
    }
}

/// Archives what rested for as long as its step keeps it, at the start and then every few minutes.
pub(super) async fn archiving(board: Board, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(board::AUTO_ARCHIVE_EVERY);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        match board.tasks_archive_resting().await {
            Ok(0) => {}
            Ok(tasks) => tracing::info!(tasks, "archived tasks that rested"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "tasks that rested were not archived"
            ),
        }
    }
}

/// Drops what nobody needs any more, at the start and then every hour.
pub(super) async fn housekeeping(board: Board, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.cancelled() => return,
        }
        match board.events_prune().await {
            Ok(0) => {}
            Ok(events) => tracing::info!(events, "dropped old events"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "old events were not dropped"
            ),
        }
        match board.runs_tidy().await {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, "forgot old runs"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "old runs were not forgotten"
            ),
        }
        if let Err(error) = board.web_sessions_prune().await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "browsers whose time is over were not forgotten"
            );
        }
    }
}
