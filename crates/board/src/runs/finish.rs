//! The end of a run: in the transaction that brings it about, whatever that is about.

use super::{RunResult, addressed};
use crate::sessions::stop_reason;
use crate::transition::{Work, load_session};
use crate::{Actor, Board, Result};
use domain::clarification::{ClarificationCommand, ClarificationStatus};
use domain::effect::EffectKind;
use domain::event::{EventKind, NewEvent};
use domain::ids::SessionId;
use domain::message::MessageType;
use domain::question::QuestionCommand;
use domain::queue::QueuedState;
use domain::run::ask::RunTarget;
use domain::run::standing::{Standing, standing};
use domain::run::view::{Parts, RunView, Seen};
use domain::run::{ErrorCategory, Fault, MAX_SUMMARY, Run, RunEnd, RunStatus, TerminalReason, cut};
use domain::time::Timestamp;

/// Longest words kept of a failure, in bytes.
const MAX_FAULT: usize = 2_000;

impl Board {
    /// Stops a run, for its client or an operator; one that is over stays as it ended. Its thread can be gone on with.
    pub async fn run_cancel(&self, actor: &Actor, target: &RunTarget) -> RunResult<RunView> {
        let mut work = self.begin().await?;
        let (run, seen) = addressed(&mut work.tx, actor, target).await?;
        if run.end.is_none() {
            work.cancel_run(&run, &seen, actor).await?;
        }
        let id = run.id;
        let found = store::runs::of_id(&mut work.tx, id).await?;
        let view = match found {
            Some(found) => Some(
                self.run_view(&mut work.tx, found, Parts::OUTCOME, None)
                    .await?,
            ),
            None => None,
        };
        if run.end.is_none() {
            work.commit().await?;
            tracing::info!(run = %id, "run cancelled");
        }
        view.ok_or_else(|| domain::run::refuse::RunRefusal::no_run(None).into())
    }
}

impl Work {
    /// Freezes the outcome of a session's run, when it has one and that is over.
    pub(crate) async fn settle_run(&mut self, session: SessionId) -> Result<()> {
        if !store::runs::is_live(&mut self.tx, session).await? {
            return Ok(());
        }
        let Some((run, seen)) = store::runs::live_of_session(&mut self.tx, session).await? else {
            return Ok(());
        };
        match standing(&seen.facts) {
            Standing::Live(..) => Ok(()),
            Standing::Finished => {
                self.end_run(&run, &seen, None, TerminalReason::Finished)
                    .await
            }
            Standing::Ended(status, reason) => {
                self.end_run(&run, &seen, Some(status), reason).await
            }
        }
    }

    /// Freezes a run as it is; without a status it is completed, with or without a text.
    async fn end_run(
        &mut self,
        run: &Run,
        seen: &Seen,
        status: Option<RunStatus>,
        reason: TerminalReason,
    ) -> Result<()> {
        let summary = store::runs::last_words(&mut self.tx, run, MessageType::Message)
            .await?
            .map(|text| cut(text.trim(), MAX_SUMMARY));
        let status = status.unwrap_or(if summary.is_some() {
            RunStatus::Completed
        } else {
            RunStatus::CompletedNoSummary
        });
        let fault = match status {
            RunStatus::Error => Some(self.fault(run, reason).await?),
            RunStatus::Queued
            | RunStatus::Running
            | RunStatus::Completed
            | RunStatus::CompletedNoSummary
            | RunStatus::Blocked
            | RunStatus::NeedsHuman
            | RunStatus::Cancelled => None,
        };
        let end = RunEnd {
            status,
            reason,
            summary,
            fault,
            to_seq: store::runs::last_seq(&mut self.tx, run.session_id).await?,
            started_at: seen.facts.started_at,
            ended_at: self.now,
        };
        let _ = store::runs::end(&mut self.tx, run.id, &end).await?;
        // Whoever waits for it is told by this, also when nothing else about the session is said: a cancel, an expiry.
        self.event(NewEvent::new(EventKind::TaskUpdated).task(run.task_id))
            .await?;
        tracing::info!(run = %run.id, %status, %reason, "run ended");
        Ok(())
    }

    /// Gives up the runs that wait for somebody and in which nothing has happened since `since`; answers how many. What they wait
    /// for stays open on the board.
    pub(super) async fn expire_runs(&mut self, since: Timestamp) -> Result<u64> {
        let mut number = 0;
        for (run, seen) in store::runs::live_since(&mut self.tx, since).await? {
            let waits = matches!(
                standing(&seen.facts),
                Standing::Live(RunStatus::NeedsHuman | RunStatus::Blocked, _)
            );
            if waits && seen.last_event_at.is_none_or(|at| at < since) {
                let error = Some(RunStatus::Error);
                self.end_run(&run, &seen, error, TerminalReason::Expired)
                    .await?;
                number += 1;
            }
        }
        Ok(number)
    }

    async fn fault(&mut self, run: &Run, reason: TerminalReason) -> Result<Fault> {
        let words = match reason {
            TerminalReason::Interrupted => Some(
                "The machine that the agent ran on went away in the middle of the task. What it had done so far is in its folder."
                    .to_owned(),
            ),
            TerminalReason::Expired => {
                return Ok(Fault {
                    category: ErrorCategory::Timeout,
                    message: "Nobody did for too long what the task waited for, so it was given up.".to_owned(),
                });
            }
            TerminalReason::AgentFailed => store::sessions::find(&mut self.tx, run.session_id)
                .await?
                .and_then(|session| session.error_message),
            TerminalReason::Finished
            | TerminalReason::CancelRequested
            | TerminalReason::TurnCancelled
            | TerminalReason::Stopped
            | TerminalReason::Withdrawn
            | TerminalReason::Deleted
            | TerminalReason::TurnFailed => None,
        };
        let words = match words {
            Some(words) => words,
            None => store::runs::last_words(&mut self.tx, run, MessageType::Error)
                .await?
                .unwrap_or_else(|| "The agent failed and did not say why.".to_owned()),
        };
        let ours = matches!(
            reason,
            TerminalReason::AgentFailed | TerminalReason::Interrupted
        );
        let mut category = ErrorCategory::of_words(&words);
        if ours && category == ErrorCategory::Unknown {
            category = ErrorCategory::Tooling;
        }
        Ok(Fault {
            category,
            message: cut(words.trim(), MAX_FAULT),
        })
    }

    /// Ends what a run is doing and what it waits for, and freezes it as cancelled, by its client or on the board.
    async fn cancel_run(&mut self, run: &Run, seen: &Seen, actor: &Actor) -> Result<()> {
        let (reason, turn_reason) = if *actor == Actor::Operator {
            (TerminalReason::Stopped, stop_reason::OPERATOR)
        } else {
            (TerminalReason::CancelRequested, stop_reason::CLIENT)
        };
        self.end_run(run, seen, Some(RunStatus::Cancelled), reason)
            .await?;
        let session = load_session(&mut self.tx, run.session_id).await?;
        if let Some(prompt) = store::runs::prompt_of(&mut self.tx, run.id).await?
            && let Some(row) = store::queue::find(&mut self.tx, prompt).await?
            && row.state == QueuedState::Queued
        {
            store::queue::delete(&mut self.tx, row.id).await?;
            self.queue_event(session.task_id, session.id).await?;
            self.due.at_rest(session.id);
        }
        self.end_questions_of_session(&session, QuestionCommand::MakeStale)
            .await?;
        for mut bundle in store::clarifications::open_of_session(&mut self.tx, session.id).await? {
            if bundle.status == ClarificationStatus::Pending {
                self.end_bundle(&mut bundle, ClarificationCommand::Cancel, None)
                    .await?;
            }
        }
        if let Some(turn) = store::turns::open(&mut self.tx, session.id).await? {
            self.request_cancel(&session, turn, turn_reason).await?;
        }
        self.effect(EffectKind::Dispatch, &session, None).await
    }
}
