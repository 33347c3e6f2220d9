//! AI jobs. The proofs of durable-jobs 14 that the board alone can give; those that need a run are the server's.

use board::{
    Board, Canceller, Claim, Clock, Held, JobQuery, JobSettings, Renewal, Settings, Viewer,
};
use domain::error::ErrorCode;
use domain::job::effects::ConsentState;
use domain::job::intake::Intake;
use domain::job::view::Hint;
use domain::job::{
    Answer, ChunkState, ErrorClass, Failure, HistoryTurn, Job, JobEventType as E, JobId, JobKey,
    JobStatus, PendingConfirmation, TargetKind,
};
use domain::time::Timestamp;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::testing::TestDb;

const MINUTE: i64 = 60_000;

struct Desk {
    board: Board,
    clock: Clock,
    db: TestDb,
}

impl Desk {
    fn new(db: TestDb) -> Self {
        let clock = Clock::stepped(Timestamp::from_millis(1_790_000_000_000));
        let board = Board::new(db.store.clone(), clock.clone(), Settings::default());
        Self { board, clock, db }
    }

    fn intake(user: &str, text: &str) -> Intake {
        Intake::direct_message(TargetKind::DiscordDm, "gateway_dm", user, text).unwrap()
    }

    /// The same database, opened as another process does.
    async fn another_node(&self) -> Board {
        Board::new(
            self.db.open_again().await,
            self.clock.clone(),
            Settings::default(),
        )
    }

    async fn enqueue(&self, user: &str) -> JobId {
        self.board
            .job_enqueue(Self::intake(user, "hello"), Ok(()))
            .await
            .unwrap()
            .job_id
    }

    async fn claim(&self, id: JobId) -> Option<Job> {
        match self.board.job_claim(id, None, "w").await.unwrap() {
            Claim::Taken(job) => Some(*job),
            Claim::Skipped(_) => None,
        }
    }

    async fn job(&self, id: JobId) -> Job {
        self.board.job_find(&JobKey::Id(id.0)).await.unwrap()
    }

    async fn types(&self, id: JobId) -> Vec<E> {
        let timeline = self
            .board
            .job_timeline(&JobKey::Id(id.0), Viewer::Operator, 0, None)
            .await
            .unwrap();
        timeline
            .events
            .into_iter()
            .map(|event| event.event_type)
            .collect()
    }

    async fn fail(&self, job: &Job, class: ErrorClass) -> board::Failed {
        let failure = Failure::new(class, "it broke");
        let decision = self.board.job_retry_decision(job, &failure, 0.0);
        self.board
            .job_failed(job, &failure, decision, None)
            .await
            .unwrap()
    }

    /// A sweep with a queue that takes, or refuses, hints.
    async fn sweep(&self, hints: &mut Vec<Hint>, takes: bool) -> domain::job::view::Swept {
        let mut submit = |hint: Hint| {
            if takes {
                hints.push(hint);
                Ok(())
            } else {
                Err("the queue is down".to_owned())
            }
        };
        self.board.job_sweep(Some(&mut submit)).await.unwrap()
    }

    async fn notices(&self) -> usize {
        self.board.job_notices_take(100).await.unwrap().len()
    }
}

fn answer(text: &str) -> Answer {
    Answer {
        text: text.to_owned(),
        ..Answer::default()
    }
}

store::on_both_engines! {
    async fn a_job_goes_from_message_to_answer_with_a_timeline(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut job = desk.claim(id).await.unwrap();
        assert_eq!(desk.board.job_generated(&mut job, answer(&"word ".repeat(900))).await.unwrap(), Held::Yes);
        let pieces = desk.board.job_pieces(&job).await.unwrap();
        assert_eq!(pieces.len(), 3);
        for (n, piece) in pieces.iter().enumerate() {
            assert!(piece.nonce.len() <= 25);
            let held = desk.board.job_piece_delivered(&job, piece, &format!("m{n}"), n == 2).await.unwrap();
            assert_eq!(held, Held::Yes);
        }
        let row = desk.job(id).await;
        assert_eq!((row.status, row.lease_token, row.last_error), (JobStatus::Completed, None, None));
        assert_eq!(
            desk.types(id).await,
            [E::Queued, E::Enqueued, E::Running, E::Executing, E::Delivering, E::Completed]
        );
        let stats = desk.board.job_stats().await.unwrap();
        assert_eq!((stats.completions.0, stats.answers, stats.jobs), (1, 1, vec![(JobStatus::Completed, 1)]));
    }

    async fn a_message_handed_in_twice_is_one_job(db: TestDb) {
        let desk = Desk::new(db);
        let intake = Intake { message_id: Some("m1".to_owned()), ..Desk::intake("u", "hello") };
        let first = desk.board.job_enqueue(intake.clone(), Ok(())).await.unwrap();
        let again = desk.board.job_enqueue(intake.clone(), Ok(())).await.unwrap();
        assert!(again.duplicate && !first.duplicate);
        assert_eq!((again.job_id, again.correlation_id), (first.job_id, first.correlation_id));
        let job = desk.claim(first.job_id).await.unwrap();
        desk.fail(&job, ErrorClass::Config).await;
        assert!(desk.board.job_enqueue(intake.clone(), Ok(())).await.unwrap().duplicate);
        let other = desk.board.job_enqueue(Intake { user_id: "v".to_owned(), ..intake }, Ok(())).await.unwrap();
        assert!(!other.duplicate);
    }

    async fn a_refused_hint_is_told_and_the_job_waits(db: TestDb) {
        let desk = Desk::new(db);
        let refused = Err("the queue is down".to_owned());
        let id = desk.board.job_enqueue(Desk::intake("u", "hello"), refused).await.unwrap().job_id;
        assert_eq!(desk.types(id).await, [E::Queued, E::QueueSubmitFailed]);
        assert_eq!(desk.board.job_claim_next("w", 5).await.unwrap().len(), 1);
    }

    // Proof 1.
    async fn of_fifty_claims_at_once_one_wins(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let claims: Vec<_> = (0..50)
            .map(|n| {
                let board = desk.board.clone();
                tokio::spawn(async move {
                    matches!(board.job_claim(id, None, &format!("w{n}")).await.unwrap(), Claim::Taken(_))
                })
            })
            .collect();
        let mut won = 0;
        for claim in claims {
            won += u32::from(claim.await.unwrap());
        }
        assert_eq!((won, desk.job(id).await.attempt_count), (1, 1));
        let running = desk.types(id).await.into_iter().filter(|event| *event == E::Running).count();
        assert_eq!(running, 1);
    }

    async fn of_one_user_one_job_runs_at_a_time(db: TestDb) {
        let desk = Desk::new(db);
        let (first, second, other) = (desk.enqueue("u").await, desk.enqueue("u").await, desk.enqueue("v").await);
        let taken: Vec<JobId> = desk.board.job_claim_next("w", 10).await.unwrap().iter().map(|job| job.id).collect();
        assert_eq!(taken, [first, other]);
        assert!(desk.board.job_claim_next("w", 10).await.unwrap().is_empty());
        let job = desk.job(first).await;
        assert_eq!(desk.board.job_canceled(&job).await.unwrap(), Held::Yes);
        assert_eq!(desk.board.job_claim_next("w", 10).await.unwrap()[0].id, second);
    }

    // Proof 2, the board's half: what is stored is not generated again.
    async fn a_run_after_a_crash_finds_the_answer(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut job = desk.claim(id).await.unwrap();
        let text = "word ".repeat(900);
        assert_eq!(desk.board.job_generated(&mut job, answer(&text)).await.unwrap(), Held::Yes);
        let pieces = desk.board.job_pieces(&job).await.unwrap();
        assert_eq!(desk.board.job_piece_delivered(&job, &pieces[0], "m0", false).await.unwrap(), Held::Yes);
        desk.clock.advance(61_000);
        assert_eq!(desk.board.job_recover_expired().await.unwrap().recovered, 1);
        desk.clock.advance(10_000);
        let mut again = desk.claim(id).await.unwrap();
        assert_eq!(again.answer.as_ref().map(|answer| answer.text.trim()), Some(text.trim()));
        // The first piece does not go out again, and the others have the nonces they had.
        assert_eq!(desk.board.job_pieces(&again).await.unwrap(), pieces[1..]);
        // The crash in the delivery cost no attempt.
        assert_eq!((again.attempt_count, again.delivery_attempts, again.stale_count), (1, 1, 1));
        // A second answer is not taken in the place of the first.
        assert_eq!(desk.board.job_generated(&mut job, answer("other")).await.unwrap(), Held::Lost);
        again.answer = None;
        assert_eq!(desk.job(id).await.answer.unwrap().text.trim(), text.trim());
    }

    // Proof 4.
    async fn a_run_that_lost_its_job_changes_nothing(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut old = desk.claim(id).await.unwrap();
        desk.clock.advance(59_000);
        assert_eq!(desk.board.job_renew(&old).await.unwrap(), Renewal::Held);
        desk.clock.advance(60_000);
        assert_eq!(desk.board.job_check(&old).await.unwrap(), Renewal::Lost);
        assert_eq!(desk.board.job_recover_expired().await.unwrap().recovered, 1);
        desk.clock.advance(10_000);
        let new = desk.claim(id).await.unwrap();
        let before = desk.job(id).await;
        assert_eq!(desk.board.job_renew(&old).await.unwrap(), Renewal::Lost);
        assert_eq!(desk.board.job_check(&old).await.unwrap(), Renewal::Lost);
        assert_eq!(desk.board.job_generated(&mut old.clone(), answer("late")).await.unwrap(), Held::Lost);
        assert_eq!(desk.board.job_complete(&old).await.unwrap(), Held::Lost);
        assert_eq!(desk.fail(&old, ErrorClass::Unknown).await.held, Held::Lost);
        assert_eq!(desk.board.job_release(&old).await.unwrap(), Held::Lost);
        assert_eq!(desk.board.job_canceled(&old).await.unwrap(), Held::Lost);
        assert!(desk.board.job_tool_begin(&old, "create_task", &json!({})).await.is_err());
        assert_eq!(desk.job(id).await, before);
        desk.board.job_claim_lost(&old).await.unwrap();
        assert_eq!(desk.types(id).await.last(), Some(&E::ClaimLost));
        assert_eq!(desk.job(id).await, before);
        assert_eq!(desk.board.job_check(&new).await.unwrap(), Renewal::Held);
        old.lease_token = None;
        assert_eq!(desk.board.job_check(&old).await.unwrap(), Renewal::Lost);
    }

    async fn a_failure_is_tried_again_within_its_bounds(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        for wait in [6, 12, 24, 48, 96] {
            let job = desk.claim(id).await.unwrap();
            let failed = desk.fail(&job, ErrorClass::TransientTransport).await;
            assert_eq!((failed.held, failed.decision.next_retry_delay_ms), (Held::Yes, wait * 1_000));
            assert_eq!(desk.claim(id).await, None);
            let due = desk.board.job_next_due().await.unwrap().unwrap();
            assert_eq!(due.since(desk.clock.now()), wait * 1_000);
            desk.clock.advance(wait * 1_000);
        }
        let job = desk.claim(id).await.unwrap();
        assert_eq!(job.attempt_count, 6);
        let failed = desk.fail(&job, ErrorClass::TransientTransport).await;
        assert!(!failed.decision.retry);
        let row = desk.job(id).await;
        assert_eq!((row.status, row.last_error.as_deref()), (JobStatus::FailedTerminal, Some("it broke")));
        assert_eq!(desk.notices().await, 1);
        assert_eq!(desk.notices().await, 0, "held by whoever took it");
        let timeline = desk.board.job_timeline(&JobKey::Id(id.0), Viewer::Operator, 0, None).await.unwrap();
        assert_eq!(timeline.attempts.len(), 6);
        assert_eq!(timeline.attempts[0].error_class, Some(ErrorClass::TransientTransport));
        assert_eq!(timeline.attempts[5].outcome.as_deref(), Some("job.failed_terminal"));
    }

    async fn the_budget_counts_from_the_first_run(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        // Time in the queue costs nothing.
        desk.clock.advance(60 * MINUTE);
        let job = desk.claim(id).await.unwrap();
        assert!(desk.fail(&job, ErrorClass::Unknown).await.decision.retry);
        desk.clock.advance(15 * MINUTE);
        let job = desk.claim(id).await.unwrap();
        assert!(!desk.fail(&job, ErrorClass::Unknown).await.decision.retry);
    }

    async fn a_failed_delivery_costs_no_attempt_and_no_second_answer(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut job = desk.claim(id).await.unwrap();
        assert_eq!(desk.board.job_generated(&mut job, answer("hi")).await.unwrap(), Held::Yes);
        let mut tries = 0;
        loop {
            tries += 1;
            let failed = desk.fail(&job, ErrorClass::DeliveryTransient).await;
            assert_eq!(failed.held, Held::Yes);
            if !failed.decision.retry {
                break;
            }
            desk.clock.advance(failed.decision.next_retry_delay_ms);
            job = desk.claim(id).await.unwrap();
            assert_eq!(job.attempt_count, 1);
        }
        assert_eq!(tries, 6);
        assert_eq!(desk.job(id).await.status, JobStatus::FailedTerminal);
        assert!(desk.types(id).await.contains(&E::DeliveryFailed));
        // Blocked for good: at once, and without a notice that could not arrive either.
        let id = desk.enqueue("v").await;
        let mut job = desk.claim(id).await.unwrap();
        assert_eq!(desk.board.job_generated(&mut job, answer("hi")).await.unwrap(), Held::Yes);
        assert_eq!(desk.notices().await, 1);
        assert!(!desk.fail(&job, ErrorClass::DeliveryPermanent).await.decision.retry);
        assert_eq!(desk.notices().await, 0);
    }

    async fn a_notice_is_tried_some_times_and_changes_nothing(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let job = desk.claim(id).await.unwrap();
        desk.fail(&job, ErrorClass::SafetyRefusal).await;
        let before = desk.job(id).await;
        let failure = Failure::new(ErrorClass::DeliveryTransient, "503");
        let mut tries = 0;
        while tries < 20 {
            desk.clock.advance(10 * MINUTE);
            let Some(notice) = desk.board.job_notices_take(1).await.unwrap().pop() else { break };
            assert!(notice.piece.body.contains(&before.correlation_id));
            tries += 1;
            desk.board.job_notice_failed(&notice.piece, &failure, 0.0).await.unwrap();
        }
        assert_eq!((tries, desk.job(id).await), (6, before));
    }

    async fn a_snooze_gives_the_attempt_back_up_to_the_deadline(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        for _ in 0..10 {
            let job = desk.claim(id).await.unwrap();
            assert_eq!(job.attempt_count, 1);
            let until = desk.clock.now().plus_millis(40_000);
            assert_eq!(desk.board.job_snooze(&job, until, "later").await.unwrap(), Held::Yes);
            desk.clock.advance(40_000);
        }
        let job = desk.claim(id).await.unwrap();
        assert_eq!(desk.board.job_release(&job).await.unwrap(), Held::Yes);
        let job = desk.claim(id).await.unwrap();
        assert_eq!(desk.board.job_snooze(&job, job.deadline_at, "later").await.unwrap(), Held::Yes);
        assert_eq!(desk.job(id).await.status, JobStatus::FailedTerminal);
    }

    async fn what_nobody_took_in_time_is_given_up(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        desk.clock.advance(24 * 60 * MINUTE);
        assert!(desk.board.job_claim_next("w", 5).await.unwrap().is_empty());
        assert_eq!(desk.job(id).await.status, JobStatus::FailedTerminal);
        assert_eq!(desk.notices().await, 1);
    }

    // Proof 7.
    async fn a_repeated_hint_is_as_good_as_a_due_time(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut hints = Vec::new();
        let swept = desk.sweep(&mut hints, true).await;
        assert_eq!((swept.pending_due, swept.queued_count, swept.deferred_count), (1, 1, 1));
        // Not due any more, and the hint claims it all the same; an older number would not.
        assert_eq!(desk.claim(id).await, None);
        let stale = desk.board.job_claim(id, Some(hints[0].dispatch.unwrap() - 1), "w").await.unwrap();
        assert!(matches!(stale, Claim::Skipped(_)));
        let claim = desk.board.job_claim(id, hints[0].dispatch, "w").await.unwrap();
        assert!(matches!(claim, Claim::Taken(job) if job.requeue_count == 0));
    }

    // Proof 8.
    async fn eight_hints_without_a_worker_end_a_job_and_a_claim_between_resets(db: TestDb) {
        let desk = Desk::new(db);
        let (lonely, lucky) = (desk.enqueue("u").await, desk.enqueue("v").await);
        let mut hints = Vec::new();
        let mut minutes = 0;
        while desk.job(lonely).await.status == JobStatus::Pending {
            assert!(minutes < 24 * 60, "never capped");
            desk.sweep(&mut hints, true).await;
            // After six hints somebody takes the other one, and gives it back.
            let row = desk.job(lucky).await;
            if row.requeue_count == 6 {
                let Claim::Taken(job) = desk.board.job_claim(lucky, Some(row.dispatch_no), "w").await.unwrap() else {
                    panic!("a hint is as good as a due time")
                };
                assert_eq!(desk.board.job_release(&job).await.unwrap(), Held::Yes);
            }
            desk.clock.advance(15 * MINUTE);
            minutes += 15;
        }
        assert_eq!(minutes, 22 * 60 + 15 + 15);
        let types = desk.types(lonely).await;
        assert_eq!(types.iter().filter(|event| **event == E::Requeued).count(), 8);
        assert_eq!(types[types.len() - 2..], [E::RequeueCapped, E::FailedTerminal]);
        assert_eq!(desk.notices().await, 1);
        assert_eq!(desk.notices().await, 0);
        assert_eq!(desk.job(lucky).await.status, JobStatus::Pending);
        assert!(desk.job(lucky).await.requeue_count < 8);
    }

    async fn a_queue_that_is_down_defers_and_never_ends_a_job(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut hints = Vec::new();
        for n in 0..10 {
            let swept = desk.sweep(&mut hints, false).await;
            assert_eq!((swept.queue_errors, swept.capped_count), (1, 0));
            let row = desk.job(id).await;
            assert_eq!((row.requeue_count, row.requeue_tries, row.dispatch_no), (0, n + 1, 0));
            // Always deferred, so that a queue in trouble is not hammered.
            assert_eq!(desk.sweep(&mut hints, false).await.pending_due, 0);
            if row.next_retry_at >= row.deadline_at {
                break;
            }
            desk.clock.advance(row.next_retry_at.since(desk.clock.now()));
        }
        assert!(desk.types(id).await.contains(&E::RequeueFailed));
    }

    // Proof 9.
    async fn a_second_sweep_in_a_minute_finds_nothing(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let mut hints = Vec::new();
        desk.sweep(&mut hints, true).await;
        desk.clock.advance(MINUTE);
        let again = desk.sweep(&mut hints, true).await;
        assert_eq!((again.pending_due, hints.len(), desk.job(id).await.requeue_count), (0, 1, 1));
        // Two at once on two nodes, likewise.
        desk.clock.advance(10 * MINUTE);
        let other = Board::new(desk.db.open_again().await, desk.clock.clone(), Settings::default());
        let (one, two) = (desk.board.clone(), other.clone());
        let sweeps = [one, two].map(|board| {
            tokio::spawn(async move {
                let mut submit = |_hint: Hint| Ok(());
                board.job_sweep(Some(&mut submit)).await.unwrap().queued_count
            })
        });
        let mut queued = 0;
        for sweep in sweeps {
            queued += sweep.await.unwrap();
        }
        assert_eq!(queued, 1);
    }

    async fn a_sweep_takes_fifty_oldest_first(db: TestDb) {
        let desk = Desk::new(db);
        let intakes = (0..60).map(|n| Desk::intake(&format!("u{n}"), "hello")).collect();
        let jobs = desk.board.jobs_enqueue(intakes).await.unwrap();
        let mut hints = Vec::new();
        assert_eq!(desk.sweep(&mut hints, true).await.queued_count, 50);
        let order: Vec<_> = hints.iter().map(|hint| hint.job_id.unwrap()).collect();
        assert_eq!(order, jobs[..50].iter().map(|job| job.job_id).collect::<Vec<_>>());
        assert_eq!(desk.sweep(&mut hints, true).await.queued_count, 10);
    }

    async fn a_job_that_kills_its_workers_is_given_up(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.board.job_enqueue(Intake { max_attempts: 20, ..Desk::intake("u", "x") }, Ok(())).await.unwrap().job_id;
        for n in 1..=5 {
            desk.claim(id).await.unwrap();
            desk.clock.advance(61_000);
            let recovered = desk.board.job_recover_expired().await.unwrap();
            assert_eq!((recovered.recovered, recovered.failed), (usize::from(n < 5), usize::from(n == 5)));
            desk.clock.advance(10_000);
        }
        assert_eq!(desk.job(id).await.status, JobStatus::FailedTerminal);
        assert_eq!(desk.notices().await, 1);
        let types = desk.types(id).await;
        assert_eq!(types.iter().filter(|event| **event == E::StaleRecovered).count(), 4);
    }

    async fn a_node_takes_back_what_it_held_before_its_restart(db: TestDb) {
        let desk = Desk::new(db);
        let (mine, others) = (desk.enqueue("u").await, desk.enqueue("v").await);
        desk.claim(mine).await.unwrap();
        let Claim::Taken(_) = desk.board.job_claim(others, None, "other").await.unwrap() else { panic!("free") };
        assert_eq!(desk.board.job_recover_own("w").await.unwrap().recovered, 1);
        assert_eq!(desk.job(mine).await.status, JobStatus::Pending);
        assert_eq!(desk.job(others).await.status, JobStatus::Running);
    }

    // Proof 12, over the operations: the machine's own table is in `domain`.
    async fn what_is_over_never_changes(db: TestDb) {
        let desk = Desk::new(db);
        for n in 0..3 {
            let id = desk.enqueue(&format!("u{n}")).await;
            let mut job = desk.claim(id).await.unwrap();
            match n {
                0 => {
                    assert_eq!(desk.board.job_generated(&mut job, answer("x")).await.unwrap(), Held::Yes);
                    assert_eq!(desk.board.job_complete(&job).await.unwrap(), Held::Yes);
                }
                1 => assert_eq!(desk.fail(&job, ErrorClass::Config).await.held, Held::Yes),
                _ => assert_eq!(desk.board.job_canceled(&job).await.unwrap(), Held::Yes),
            }
            let before = (desk.job(id).await, desk.types(id).await);
            assert_eq!(desk.claim(id).await, None);
            assert_eq!(desk.board.job_renew(&job).await.unwrap(), Renewal::Lost);
            assert_eq!(desk.board.job_complete(&job).await.unwrap(), Held::Lost);
            assert_eq!(desk.fail(&job, ErrorClass::Unknown).await.held, Held::Lost);
            assert_eq!(desk.board.job_release(&job).await.unwrap(), Held::Lost);
            assert_eq!(desk.board.job_canceled(&job).await.unwrap(), Held::Lost);
            let view = desk.board.job_cancel(&JobKey::Id(id.0), Canceller::Operator).await.unwrap();
            assert_eq!(view.status, before.0.status);
            desk.clock.advance(120 * MINUTE);
            assert_eq!(desk.board.job_recover_expired().await.unwrap().recovered, 0);
            desk.sweep(&mut Vec::new(), true).await;
            assert_eq!((desk.job(id).await, desk.types(id).await), before);
        }
    }

    async fn a_cancel_is_immediate_or_cooperative_and_only_the_owners(db: TestDb) {
        let desk = Desk::new(db);
        let (waiting, running) = (desk.enqueue("u").await, desk.enqueue("v").await);
        let key = |id: JobId| JobKey::Id(id.0);
        let refused = desk.board.job_cancel(&key(waiting), Canceller::Owner("v")).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::NotFound);
        let view = desk.board.job_cancel(&key(waiting), Canceller::Owner("u")).await.unwrap();
        assert_eq!(view.status, JobStatus::Canceled);
        let job = desk.claim(running).await.unwrap();
        let view = desk.board.job_cancel(&key(running), Canceller::Internal).await.unwrap();
        assert!(view.cancel_requested && view.status == JobStatus::Running);
        assert_eq!(desk.board.job_renew(&job).await.unwrap(), Renewal::Cancel);
        assert_eq!(desk.board.job_check(&job).await.unwrap(), Renewal::Cancel);
        assert_eq!(desk.board.job_canceled(&job).await.unwrap(), Held::Yes);
        assert_eq!(desk.job(running).await.status, JobStatus::Canceled);
        // A run that vanished with the wish still open ends as canceled, too.
        let id = desk.enqueue("w").await;
        desk.claim(id).await.unwrap();
        desk.board.job_cancel(&key(id), Canceller::Operator).await.unwrap();
        desk.clock.advance(61_000);
        desk.board.job_recover_expired().await.unwrap();
        assert_eq!(desk.job(id).await.status, JobStatus::Canceled);
        assert_eq!(desk.notices().await, 0);
    }

    async fn an_operators_retry_is_a_new_job_that_names_the_old(db: TestDb) {
        let desk = Desk::new(db);
        let history = vec![HistoryTurn { role: "user".to_owned(), content: "before".to_owned() }];
        let intake = Intake { message_id: Some("m".to_owned()), history: history.clone(), ..Desk::intake("u", "hello") };
        let old = desk.board.job_enqueue(intake, Ok(())).await.unwrap().job_id;
        let key = JobKey::Id(old.0);
        assert!(desk.board.job_retry(&key, Ok(())).await.is_err());
        let job = desk.claim(old).await.unwrap();
        desk.fail(&job, ErrorClass::Config).await;
        let new = desk.board.job_retry(&key, Ok(())).await.unwrap();
        assert!(!new.duplicate && new.job_id != old);
        let row = desk.job(new.job_id).await;
        assert_eq!((row.metadata.retry_of, row.request_text.as_str(), row.history), (Some(old.0), "hello", history));
        assert_eq!(desk.types(old).await.last(), Some(&E::ManualRetry));
        assert_eq!(desk.job(old).await.status, JobStatus::FailedTerminal);
    }

    async fn a_rerun_gets_what_the_tool_answered(db: TestDb) {
        use domain::job::effects::Replay;
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        let job = desk.claim(id).await.unwrap();
        let begin = async |job: &Job, args| desk.board.job_tool_begin(job, "create_task", &args).await.unwrap();
        let Replay::Run { seq, idempotency_key } = begin(&job, json!({"a": 1, "b": 2})).await else { panic!("new") };
        // Its end is not known: not even this run may do it again.
        let unknown = Replay::Unknown { seq, idempotency_key: idempotency_key.clone() };
        assert_eq!(begin(&job, json!({"b": 2, "a": 1})).await, unknown);
        desk.board.job_tool_end(id, seq, true, &json!({"task": 7})).await.unwrap();
        desk.clock.advance(61_000);
        desk.board.job_recover_expired().await.unwrap();
        desk.clock.advance(10_000);
        let again = desk.claim(id).await.unwrap();
        assert_eq!(begin(&again, json!({"b": 2, "a": 1})).await, Replay::Stored(json!({"task": 7})));
        let Replay::Run { seq, .. } = begin(&again, json!({"a": 2})).await else { panic!("another") };
        desk.board.job_tool_end(id, seq, false, &json!("refused")).await.unwrap();
        assert!(matches!(begin(&again, json!({"a": 2})).await, Replay::Run { .. }));
        assert_eq!(desk.board.job_tool_calls(&JobKey::Id(id.0)).await.unwrap().len(), 3);
    }

    // Proof 14, the board's half.
    async fn consent_is_the_users_own_once_later_and_in_time(db: TestDb) {
        let desk = Desk::new(db);
        let args = json!({"title": "x"});
        let preview = PendingConfirmation {
            id: None,
            preview_tool: "preview_task".to_owned(),
            confirmation_tool: Some("confirm_task".to_owned()),
            arguments: args.clone(),
            summary: None,
        };
        let turn = async |user: &str| {
            let id = desk.enqueue(user).await;
            desk.claim(id).await.unwrap()
        };
        let end = async |job: &Job| assert_eq!(desk.board.job_canceled(job).await.unwrap(), Held::Yes);
        let first = turn("u").await;
        let confirm = async |job: &Job| desk.board.confirmation_consume(job, "confirm_task", &args).await;
        assert!(confirm(&first).await.is_err(), "without a preview");
        desk.board.confirmation_add(&first, &preview).await.unwrap();
        assert!(confirm(&first).await.is_err(), "in the same turn");
        let other = turn("v").await;
        assert!(confirm(&other).await.is_err(), "another user");
        end(&first).await;
        let second = turn("u").await;
        let both = [second.clone(), second.clone()].map(|job| {
            let (board, args) = (desk.board.clone(), args.clone());
            tokio::spawn(async move { board.confirmation_consume(&job, "confirm_task", &args).await.is_ok() })
        });
        let mut won = 0;
        for one in both {
            won += u32::from(one.await.unwrap());
        }
        assert_eq!(won, 1, "twice");
        let added = desk.board.confirmation_add(&second, &preview).await.unwrap();
        assert_eq!(desk.board.confirmations_open("u").await.unwrap(), std::slice::from_ref(&added));
        end(&second).await;
        desk.clock.advance(30 * MINUTE);
        let third = turn("u").await;
        assert!(confirm(&third).await.is_err(), "expired");
        let shown = JobKey::Id(second.id.0);
        assert!(desk.board.consent_agree(&shown, None).await.is_err(), "expired");
        let added = desk.board.confirmation_add(&third, &preview).await.unwrap();
        let shown = JobKey::Id(third.id.0);
        assert!(desk.board.consent_agree(&JobKey::Id(first.id.0), Some(added.id)).await.is_err(), "another job's");
        let agreed = desk.board.consent_agree(&shown, Some(added.id)).await.unwrap();
        assert!(desk.board.confirmations_open("u").await.unwrap().is_empty());
        assert_eq!(desk.board.consents_unfinished().await.unwrap(), std::slice::from_ref(&agreed));
        assert!(desk.board.consent_decline(&shown, None, Canceller::Operator).await.is_err(), "it is being carried out");
        // Refused, it can be agreed to again; interrupted, it can be taken up although its time is over meanwhile.
        desk.board.consent_came_to_nothing(&agreed).await.unwrap();
        assert_eq!(desk.board.confirmations_open("u").await.unwrap().len(), 1);
        desk.board.consent_agree(&shown, None).await.unwrap();
        desk.clock.advance(31 * MINUTE);
        let again = desk.board.consent_agree(&shown, None).await.unwrap();
        let done = desk.board.consent_carried_out(&again, &json!({"id": 1}), Canceller::Operator).await.unwrap();
        assert_eq!((done.state, done.result), (ConsentState::Confirmed, Some(json!({"id": 1}))));
        assert!(desk.board.consent_carried_out(&again, &json!({}), Canceller::Operator).await.is_err(), "twice");
        assert!(desk.board.consent_agree(&shown, None).await.is_err(), "twice");
        assert!(desk.board.consents_unfinished().await.unwrap().is_empty());
        let added = desk.board.confirmation_add(&third, &preview).await.unwrap();
        for _ in 0..2 {
            let declined = desk.board.consent_decline(&shown, Some(added.id), Canceller::Internal).await.unwrap();
            assert_eq!(declined.state, ConsentState::Declined);
        }
        assert!(desk.board.consent_agree(&shown, None).await.unwrap_err().to_string().contains("declined"));
        let timeline = desk.board.job_timeline(&shown, Viewer::Operator, 0, None).await.unwrap();
        assert_eq!(timeline.confirmation.map(|one| one.state), Some(ConsentState::Declined));
        let ends: Vec<_> = timeline.events.iter().filter(|event| event.step.as_deref() == Some("consent")).collect();
        assert_eq!(ends.iter().map(|event| event.event_type).collect::<Vec<_>>(), [E::Confirmed, E::Declined]);
        // An answer that carries a preview stores it.
        let mut third = third;
        let with_preview = Answer { pending_confirmation: Some(preview), ..answer("Shall I?") };
        assert_eq!(desk.board.job_generated(&mut third, with_preview).await.unwrap(), Held::Yes);
        assert!(third.answer.unwrap().pending_confirmation.unwrap().id.is_some());
        assert_eq!(desk.board.confirmations_open("u").await.unwrap().len(), 1);
    }

    async fn of_retries_at_once_one_makes_a_job_and_all_are_given_it(db: TestDb) {
        let desk = Desk::new(db);
        let old = desk.enqueue("u").await;
        let job = desk.claim(old).await.unwrap();
        desk.fail(&job, ErrorClass::Config).await;
        let other = desk.another_node().await;
        let retries: Vec<_> = (0..12)
            .map(|n| {
                let board = if n % 2 == 0 { desk.board.clone() } else { other.clone() };
                tokio::spawn(async move { board.job_retry(&JobKey::Id(old.0), Ok(())).await.unwrap() })
            })
            .collect();
        let mut made = Vec::new();
        for retry in retries {
            made.push(retry.await.unwrap());
        }
        let new = made[0].job_id;
        assert!(new != old && made.iter().all(|accepted| accepted.job_id == new), "{made:?}");
        assert_eq!(made.iter().filter(|accepted| !accepted.duplicate).count(), 1);
        assert_eq!(desk.types(old).await.into_iter().filter(|event| *event == E::ManualRetry).count(), 1);

        // Once that has failed too, there is something to be done again.
        let job = desk.claim(new).await.unwrap();
        desk.fail(&job, ErrorClass::Config).await;
        let third = other.job_retry(&JobKey::Id(old.0), Ok(())).await.unwrap();
        assert!(!third.duplicate && third.job_id != new);
    }

    async fn two_nodes_share_a_queue_and_no_user_has_two_jobs_at_once(db: TestDb) {
        let desk = Desk::new(db);
        let intakes = (0..60).map(|n| Desk::intake(&format!("u{}", n % 6), "hello")).collect();
        let jobs = desk.board.jobs_enqueue(intakes).await.unwrap();
        let nodes = [desk.board.clone(), desk.another_node().await];
        let ended = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = nodes
            .into_iter()
            .flat_map(|node| [node.clone(), node])
            .map(|node| {
                let (ended, all) = (ended.clone(), jobs.len());
                tokio::spawn(async move {
                    while ended.load(Ordering::SeqCst) < all {
                        for job in node.job_claim_next("w", 4).await.unwrap() {
                            assert_eq!(node.job_complete(&job).await.unwrap(), Held::Yes);
                            ended.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            tokio::time::timeout(Duration::from_secs(60), worker).await.expect("all are taken").unwrap();
        }
        for job in jobs {
            let row = desk.job(job.job_id).await;
            assert_eq!((row.status, row.attempt_count), (JobStatus::Completed, 1));
        }
    }

    async fn a_crowd_shares_transactions_and_each_gets_its_own_answer(db: TestDb) {
        let desk = Desk::new(db);
        // Two of each message, all at once.
        let calls: Vec<_> = (0..80)
            .map(|n| {
                let board = desk.board.clone();
                let intake = Intake { message_id: Some(format!("m{}", n / 2)), ..Desk::intake(&format!("u{}", n / 2), &format!("text {}", n / 2)) };
                tokio::spawn(async move { (n / 2, board.job_enqueue(intake, Ok(())).await.unwrap()) })
            })
            .collect();
        let mut first = 0;
        for call in calls {
            let (n, accepted) = call.await.unwrap();
            first += usize::from(!accepted.duplicate);
            let row = desk.job(accepted.job_id).await;
            assert_eq!((row.request_text, row.correlation_id), (format!("text {n}"), accepted.correlation_id));
        }
        assert_eq!(first, 40);
        let claimed = desk.board.job_claim_next("w", 100).await.unwrap();
        let mut lost = claimed[0].clone();
        lost.lease_token = Some("another".to_owned());
        let held = tokio::join!(desk.board.job_complete(&claimed[0]), desk.board.job_complete(&lost), desk.board.job_complete(&claimed[1]));
        assert_eq!((held.0.unwrap(), held.1.unwrap(), held.2.unwrap()), (Held::Yes, Held::Lost, Held::Yes));
    }

    async fn jobs_are_listed_and_a_timeline_is_its_owners(db: TestDb) {
        let desk = Desk::new(db);
        let id = desk.enqueue("u").await;
        desk.clock.advance(MINUTE);
        desk.enqueue("v").await;
        let list = async |query: JobQuery| {
            let page = desk.board.jobs(&query).await.unwrap();
            (page.jobs.into_iter().map(|job| job.user_id).collect::<Vec<_>>(), page.next_cursor)
        };
        assert_eq!(list(JobQuery::default()).await, (vec!["u".to_owned(), "v".to_owned()], None));
        let (first, cursor) = list(JobQuery { limit: Some(1), ..JobQuery::default() }).await;
        assert_eq!(first, ["u"]);
        assert_eq!(list(JobQuery { cursor, limit: Some(1), ..JobQuery::default() }).await, (vec!["v".to_owned()], None));
        assert_eq!(list(JobQuery { older_than_ms: Some(MINUTE / 2), ..JobQuery::default() }).await.0, ["u"]);
        assert_eq!(list(JobQuery { younger_than_ms: Some(MINUTE / 2), ..JobQuery::default() }).await.0, ["v"]);
        assert!(desk.board.jobs(&JobQuery { cursor: Some("x".to_owned()), ..JobQuery::default() }).await.is_err());
        let job = desk.claim(id).await.unwrap();
        let failure = Failure::new(ErrorClass::Config, "no key: token=s3cret");
        let decision = desk.board.job_retry_decision(&job, &failure, 0.0);
        desk.board.job_failed(&job, &failure, decision, None).await.unwrap();
        let key = JobKey::parse(&job.correlation_id).unwrap();
        let own = desk.board.job_timeline(&key, Viewer::Owner("u"), 0, None).await.unwrap();
        let text = serde_json::to_string(&own).unwrap();
        assert!(!text.contains("s3cret"), "{text}");
        assert!(desk.board.job_timeline(&key, Viewer::Owner("v"), 0, None).await.is_err());
        let newest = desk.board.job_timeline(&key, Viewer::Operator, 0, Some(2)).await.unwrap();
        assert!(newest.truncated && newest.events.len() == 2);
        let last = newest.events[1].id;
        let after = desk.board.job_timeline(&key, Viewer::Operator, last, None).await.unwrap();
        assert!(after.events.is_empty() && !after.truncated);
    }

    async fn what_is_long_over_goes(db: TestDb) {
        let clock = Clock::stepped(Timestamp::from_millis(1_790_000_000_000));
        let settings = Settings {
            jobs: JobSettings { text_kept_ms: MINUTE, completed_kept_ms: 2 * MINUTE, failed_kept_ms: 3 * MINUTE, ..JobSettings::default() },
            ..Settings::default()
        };
        let desk = Desk { board: Board::new(db.store.clone(), clock.clone(), settings), clock, db };
        let (failed, done, waits) = (desk.enqueue("u").await, desk.enqueue("v").await, desk.enqueue("w").await);
        let job = desk.claim(failed).await.unwrap();
        desk.fail(&job, ErrorClass::Config).await;
        let mut job = desk.claim(done).await.unwrap();
        assert_eq!(desk.board.job_generated(&mut job, answer("secret")).await.unwrap(), Held::Yes);
        let piece = desk.board.job_pieces(&job).await.unwrap().remove(0);
        assert_eq!(piece.state, ChunkState::Waiting);
        assert_eq!(desk.board.job_piece_delivered(&job, &piece, "m", true).await.unwrap(), Held::Yes);
        desk.clock.advance(MINUTE + 1);
        assert_eq!(desk.board.job_housekeeping().await.unwrap(), 0);
        assert_eq!((desk.job(done).await.request_text, desk.job(done).await.answer.unwrap().text), (String::new(), String::new()));
        assert!(desk.board.job_retry(&JobKey::Id(failed.0), Ok(())).await.is_err());
        desk.clock.advance(MINUTE);
        assert_eq!(desk.board.job_housekeeping().await.unwrap(), 1);
        desk.clock.advance(MINUTE);
        assert_eq!(desk.board.job_housekeeping().await.unwrap(), 1);
        assert_eq!(desk.job(waits).await.request_text, "hello");
    }
}
