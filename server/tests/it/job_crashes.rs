//! A node that works on AI jobs loses its memory at random moments, again and again (durable-jobs 9).
//!
//! Each life of the node is a runtime of its own that is thrown away in mid-flight: whatever its tasks were doing ends at the
//! point they had reached, and only what the database has is left. The model, its tool and the platform outlive it. What must
//! hold whatever the moment: every job ends, no user gets a piece twice, no tool acts twice, and an answer that is stored is not
//! made again. The seed is printed, and `FLIGHTDECK_TEST_SEED` repeats a run; `FLIGHTDECK_TEST_LONG=1` makes it 300 crashes.

#![expect(
    clippy::print_stdout,
    reason = "what was tried is printed, so that a failure can be repeated"
)]

use crate::support::chance::chance;
use board::{Board, Clock, JobQuery, JobSettings, Settings};
use domain::job::effects::Replay;
use domain::job::intake::Intake;
use domain::job::view::JobView;
use domain::job::{Answer, Delivery, ErrorClass, Failure, Job, JobStatus, Target, TargetKind};
use domain::time::Timestamp;
use futures::future::BoxFuture;
use rand::RngExt;
use serde_json::json;
use server::jobs::{Channel, Deliver, Generate, Jobs, JobsConfig, Scheduler, Seams};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::{Options, Store};
use tokio_util::sync::CancellationToken;

const JOBS: usize = 60;

/// What outlives the node.
#[derive(Debug, Default)]
struct World {
    /// Answers made, by job.
    made: Mutex<HashMap<i64, usize>>,
    /// What the tool did, by job.
    acts: Mutex<HashMap<i64, usize>>,
    /// Pieces as they show, by nonce; the platform shows a nonce once.
    shown: Mutex<HashMap<String, String>>,
    /// Sends that carried another text under a nonce that shows already.
    changed: Mutex<Vec<String>>,
}

/// A model with one tool, through the ledger.
struct Model {
    world: Arc<World>,
    board: Board,
}

fn text(user: &str) -> String {
    (0..400)
        .map(|n| format!("{user}-{n} "))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

impl Generate for Model {
    fn answer<'a>(
        &'a self,
        job: &'a Job,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let broken =
                |error: board::BoardError| Failure::new(ErrorClass::Unknown, error.to_string());
            let begun = self
                .board
                .job_tool_begin(job, "create_task", &json!({"for": job.user_id}))
                .await
                .map_err(broken)?;
            if let Replay::Run { seq, .. } = begun {
                *self.world.acts.lock().unwrap().entry(job.id.0).or_default() += 1;
                tokio::time::sleep(Duration::from_millis(3)).await;
                self.board
                    .job_tool_end(job.id, seq, true, &json!("made"))
                    .await
                    .map_err(broken)?;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
            *self.world.made.lock().unwrap().entry(job.id.0).or_default() += 1;
            Ok(Answer {
                text: text(&job.user_id),
                ..Answer::default()
            })
        })
    }
}

struct Platform(Arc<World>);

impl Deliver for Platform {
    fn open<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Channel, Failure>> {
        Box::pin(async move {
            Ok(Channel {
                target: target.clone(),
                address: target.user_id.clone(),
            })
        })
    }

    fn send<'a>(
        &'a self,
        _channel: &'a Channel,
        piece: &'a Delivery,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let before = self
                .0
                .shown
                .lock()
                .unwrap()
                .insert(piece.nonce.clone(), piece.body.clone());
            if before.is_some_and(|before| before != piece.body) {
                self.0.changed.lock().unwrap().push(piece.nonce.clone());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(format!("m-{}", piece.nonce))
        })
    }
}

fn settings() -> Settings {
    Settings {
        // Here the worker is what kills.
        jobs: JobSettings {
            max_stale: 1_000,
            ..JobSettings::default()
        },
        ..Settings::default()
    }
}

/// A node from its start until its runtime is thrown away.
async fn live(options: Options, clock: Clock, world: Arc<World>, from: usize, to: usize) {
    let store = Store::open(&options).await.unwrap();
    let board = Board::new(store, clock, settings());
    let seams = Seams {
        generate: Arc::new(Model {
            world: world.clone(),
            board: board.clone(),
        }),
        deliver: Arc::new(Platform(world)),
        ..Seams::default()
    };
    let config = JobsConfig {
        user_per_minute: 0,
        ..JobsConfig::default()
    };
    let jobs = Jobs::new(board.clone(), "node", config, seams);
    let _scheduler = Scheduler::start(jobs.clone()).await.unwrap();
    for n in from..to {
        let intake = Intake {
            message_id: Some(format!("message-{n}")),
            max_attempts: 20,
            ..Intake::direct_message(
                TargetKind::DiscordDm,
                "gateway_dm",
                &format!("user-{n}"),
                "x",
            )
            .unwrap()
        };
        jobs.enqueue(intake).await.unwrap().unwrap();
    }
    std::future::pending::<()>().await;
}

async fn all(board: &Board) -> Vec<JobView> {
    let query = JobQuery {
        limit: Some(200),
        ..JobQuery::default()
    };
    board.jobs(&query).await.unwrap().jobs
}

store::on_both_engines! {
    async fn jobs_survive_the_loss_of_memory_at_random_moments(db: TestDb) {
        let (long, mut random) = chance();
        let clock = Clock::stepped(Timestamp::from_millis(1_790_000_000_000));
        let world = Arc::new(World::default());
        let watcher = Board::new(db.store.clone(), clock.clone(), settings());
        let crashes = if long { 300 } else { 10 };
        let mut stored: HashMap<i64, usize> = HashMap::new();
        let deadline = std::time::Instant::now() + Duration::from_secs(if long { 1_800 } else { 90 });
        let mut life: usize = 0;
        loop {
            for job in all(&watcher).await.iter().filter(|job| job.answer_text.is_some()) {
                let made = world.made.lock().unwrap().get(&job.id.0).copied().unwrap_or_default();
                assert_eq!(*stored.entry(job.id.0).or_insert(made), made, "job {} was stored and made again", job.id);
            }
            let jobs = all(&watcher).await;
            if life >= crashes && jobs.len() == JOBS && jobs.iter().all(|job| job.status.is_final()) {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "not all jobs ended: {:?}", jobs.iter().map(|job| job.status).collect::<Vec<_>>());
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            // A gateway that was cut off hands its messages in again, in the end all of them.
            let from = if life < crashes { JOBS * life.saturating_sub(1) / crashes } else { 0 };
            let to = JOBS * (life + 1).min(crashes) / crashes;
            runtime.spawn(live(db.options().clone(), clock.clone(), world.clone(), from, to));
            // What was taken back waits ten seconds.
            clock.advance(11_000);
            // The moment of the crash is the random input of this test, not a wait for something.
            tokio::time::sleep(Duration::from_millis(random.random_range(150..900))).await;
            runtime.shutdown_background();
            clock.advance(11_000);
            life += 1;
        }
        let jobs = all(&watcher).await;
        let acts = world.acts.lock().unwrap().clone();
        assert!(acts.values().all(|times| *times == 1), "a tool acted twice: {acts:?}");
        assert!(world.changed.lock().unwrap().is_empty(), "a piece was sent with another text");
        let shown = world.shown.lock().unwrap().clone();
        let mut completed = 0;
        for job in jobs.iter().filter(|job| job.status == JobStatus::Completed) {
            completed += 1;
            let mut words: Vec<&str> = shown
                .values()
                .flat_map(|piece| piece.split_whitespace())
                .filter(|word| word.strip_prefix(&job.user_id).is_some_and(|rest| rest.starts_with('-')))
                .collect();
            words.sort_unstable();
            let whole = text(&job.user_id);
            let mut expected: Vec<&str> = whole.split_whitespace().collect();
            expected.sort_unstable();
            assert_eq!(words, expected, "{} did not get the whole answer once", job.user_id);
        }
        let again: usize = world.made.lock().unwrap().values().map(|times| times - 1).sum();
        println!("{life} lives, {} jobs, {completed} completed, {} pieces, {again} answers lost before they were stored", jobs.len(), shown.len());
        assert!(completed * 2 > JOBS, "too few were completed to show anything");
    }
}
