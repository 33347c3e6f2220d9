//! AI jobs at work: the executor, the scheduler and the endpoints, on both engines (durable-jobs 14).
//!
//! The model and the platform are stand-ins behind the executor's two seams; everything else is what serves.

use crate::support::{DEADLINE, Reply, soon};
use board::Clock;
use domain::job::intake::Intake;
use domain::job::retry::{AssessorMode, Proposal, RetryDecision};
use domain::job::{
    Answer, Delivery, ErrorClass, Failure, Job, JobKey, PendingConfirmation, Target,
};
use domain::params::ListTasks;
use domain::time::Timestamp;
use futures::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};
use server::config::Config;
use server::jobs::worker::{Worker, WorkerConfig};
use server::jobs::{Assess, Channel, Deliver, Generate, JobsConfig, Runner, Seams};
use server::serve::{Server, Variation};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::testing::TestDb;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const KEY: &str = "key-of-a-service";

/// What a model does next.
#[derive(Debug, Clone)]
enum Play {
    Say(String),
    /// Previews a task with these arguments.
    Preview(Value),
    Fail(Failure),
    /// Works until it is told to stop.
    Hang,
}

/// A model that plays what it is told, and says the message back when it is told nothing.
#[derive(Default)]
struct Model {
    plays: Mutex<VecDeque<Play>>,
    asked: watch::Sender<usize>,
    stopped: watch::Sender<usize>,
}

impl Model {
    fn then(&self, play: Play) {
        self.plays.lock().unwrap().push_back(play);
    }
}

impl Generate for Model {
    fn answer<'a>(
        &'a self,
        job: &'a Job,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            self.asked.send_modify(|n| *n += 1);
            let play = self.plays.lock().unwrap().pop_front();
            let mut pending_confirmation = None;
            let text = match play {
                Some(Play::Preview(arguments)) => {
                    pending_confirmation = Some(PendingConfirmation {
                        id: None,
                        preview_tool: "preview_task".to_owned(),
                        confirmation_tool: Some("confirm_task".to_owned()),
                        arguments,
                        summary: Some("A new task".to_owned()),
                    });
                    "Shall I?".to_owned()
                }
                Some(Play::Say(text)) => text,
                Some(Play::Fail(failure)) => return Err(failure),
                Some(Play::Hang) => {
                    cancel.cancelled().await;
                    self.stopped.send_modify(|n| *n += 1);
                    return Err(Failure::new(ErrorClass::Canceled, "told to stop"));
                }
                None => format!("You said: {}", job.request_text),
            };
            Ok(Answer {
                text,
                pending_confirmation,
                ..Answer::default()
            })
        })
    }
}

/// A platform that shows each nonce once, and may be slow, or refuse.
#[derive(Default)]
struct Platform {
    /// Messages as they show, in order.
    shown: watch::Sender<Vec<String>>,
    nonces: Mutex<HashMap<String, String>>,
    /// Every send, repeats included.
    sends: Mutex<Vec<String>>,
    refusals: Mutex<VecDeque<Failure>>,
    /// Sends from this one on wait until the gate opens.
    gate: watch::Sender<Option<usize>>,
}

impl Platform {
    fn shown(&self) -> Vec<String> {
        self.shown.borrow().clone()
    }

    async fn until_shown(&self, count: usize) {
        let mut shown = self.shown.subscribe();
        soon(shown.wait_for(|shown| shown.len() >= count))
            .await
            .unwrap();
    }
}

impl Deliver for Platform {
    fn open<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Channel, Failure>> {
        Box::pin(async move {
            Ok(Channel {
                target: target.clone(),
                address: format!("dm-{}", target.user_id),
            })
        })
    }

    fn send<'a>(
        &'a self,
        channel: &'a Channel,
        piece: &'a Delivery,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(async move {
            let number = {
                let mut sends = self.sends.lock().unwrap();
                sends.push(piece.nonce.clone());
                sends.len()
            };
            let mut gate = self.gate.subscribe();
            gate.wait_for(|from| from.is_none_or(|from| number < from))
                .await
                .unwrap();
            if let Some(failure) = self.refusals.lock().unwrap().pop_front() {
                return Err(failure);
            }
            let mut nonces = self.nonces.lock().unwrap();
            if let Some(id) = nonces.get(&piece.nonce) {
                return Ok(id.clone());
            }
            let id = format!("{}-{}", channel.address, nonces.len());
            nonces.insert(piece.nonce.clone(), id.clone());
            self.shown
                .send_modify(|shown| shown.push(piece.body.clone()));
            Ok(id)
        })
    }
}

/// A user's own machine: takes messages that name it, and jobs that fail unless it is off.
struct Machine {
    off: bool,
}

impl Runner for Machine {
    fn take<'a>(&'a self, intake: &'a Intake) -> BoxFuture<'a, Option<String>> {
        let taken = intake
            .content
            .contains("laptop")
            .then(|| "its-first".to_owned());
        Box::pin(std::future::ready(taken))
    }

    fn fall_back<'a>(&'a self, _job: &'a Job) -> BoxFuture<'a, Result<(String, String), Failure>> {
        let outcome = if self.off {
            Err(Failure::new(ErrorClass::RunnerUnavailable, "it is off"))
        } else {
            Ok(("laptop".to_owned(), "its-second".to_owned()))
        };
        Box::pin(std::future::ready(outcome))
    }
}

/// Proposes the same each time, or fails when it has nothing to propose.
struct Chooser(Option<Proposal>);

impl Assess for Chooser {
    fn propose<'a>(
        &'a self,
        _job: &'a Job,
        _failure: &'a Failure,
        _bounded: &'a RetryDecision,
    ) -> BoxFuture<'a, Result<Proposal, Failure>> {
        let broken = || Failure::new(ErrorClass::Unknown, "it broke");
        Box::pin(std::future::ready(self.0.ok_or_else(broken)))
    }
}

struct Desk {
    server: Server,
    http: reqwest::Client,
    model: Arc<Model>,
    platform: Arc<Platform>,
    clock: Clock,
    _data: TempDir,
    _db: Arc<TestDb>,
}

fn settings() -> JobsConfig {
    JobsConfig {
        dm_enabled: true,
        internal_keys: vec![KEY.to_owned(), "the-key-before".to_owned()],
        bot_token: Some("bot".to_owned()),
        shutdown_grace: Duration::from_millis(200),
        ..JobsConfig::default()
    }
}

/// Without a scheduler of its own: a worker takes the jobs, here the test.
fn by_workers() -> JobsConfig {
    JobsConfig {
        scheduler: false,
        ..settings()
    }
}

fn stepped() -> Clock {
    Clock::stepped(Timestamp::from_millis(1_790_000_000_000))
}

impl Desk {
    async fn new(db: TestDb, jobs: JobsConfig, clock: Clock) -> Self {
        Self::with(db, jobs, clock, Seams::default()).await
    }

    /// With somebody behind the seams that nobody stands behind by default.
    async fn with(
        db: impl Into<Arc<TestDb>>,
        jobs: JobsConfig,
        clock: Clock,
        seams: Seams,
    ) -> Self {
        let db = db.into();
        let data = tempfile::tempdir().unwrap();
        let (model, platform) = (Arc::new(Model::default()), Arc::new(Platform::default()));
        let config = Config {
            database_url: Some(db.url().to_owned()),
            jobs,
            ..Config::for_data_dir(data.path())
        };
        let vary = Variation {
            without_runtime: true,
            clock: Some(clock.clone()),
            seams: Some(Seams {
                generate: model.clone(),
                deliver: platform.clone(),
                ..seams
            }),
            ..Variation::default()
        };
        let server = Server::start_with(config, vary).await.unwrap();
        Self {
            server,
            http: reqwest::Client::new(),
            model,
            platform,
            clock,
            _data: data,
            _db: db,
        }
    }

    /// A press of the operator's, on our own page.
    async fn press(&self, path: &str, body: Option<Value>) -> Reply {
        let url = format!("{}{path}", self.server.url());
        let mut request = self
            .http
            .post(url)
            .header("sec-fetch-site", "same-origin")
            .timeout(DEADLINE);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let reply = Reply::read(request).await;
        crate::openapi::check(&Method::POST, path, &reply);
        reply
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let url = format!("{}{path}", self.server.url());
        let mut request = self
            .http
            .request(method.clone(), url)
            .bearer_auth(KEY)
            .timeout(DEADLINE);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let reply = Reply::read(request).await;
        crate::openapi::check(&method, path, &reply);
        reply
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let reply = self.call(Method::POST, path, Some(body)).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.json);
        reply.json
    }

    async fn get(&self, path: &str) -> Value {
        let reply = self.call(Method::GET, path, None).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.json);
        reply.json
    }

    async fn dm(&self, user: &str, content: &str) -> Value {
        self.post(
            "/api/gateway/dm-autopilot",
            json!({"userId": user, "content": content}),
        )
        .await
    }

    async fn execute(&self, job: &Value) -> Value {
        self.post("/api/ai/jobs/execute", json!({"jobId": job}))
            .await
    }

    async fn timeline(&self, job: &Value) -> Value {
        let key = job.as_str().map_or_else(|| job.to_string(), str::to_owned);
        self.get(&format!("/api/ai/jobs/{key}")).await
    }

    async fn types(&self, job: &Value) -> Vec<String> {
        let events = self.timeline(job).await["events"]
            .as_array()
            .unwrap()
            .clone();
        events
            .iter()
            .map(|event| event["event_type"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until the job stands as wished.
    async fn until(&self, job: &Value, wished: impl Fn(&Value) -> bool) -> Value {
        let mut wake = self.server.board().signals().subscribe(board::Topic::Jobs);
        let wait = async {
            loop {
                let row = self.timeline(job).await["job"].clone();
                if wished(&row) {
                    return row;
                }
                let _ = tokio::time::timeout(Duration::from_millis(200), wake.changed()).await;
            }
        };
        match tokio::time::timeout(DEADLINE, wait).await {
            Ok(row) => row,
            Err(_) => panic!("never as wished: {}", self.timeline(job).await),
        }
    }
}

fn is(status: &'static str) -> impl Fn(&Value) -> bool {
    move |job| job["status"] == status
}

fn long_text() -> String {
    (0..900).map(|n| format!("word{n} ")).collect()
}

store::on_both_engines! {
    async fn a_message_is_answered_and_its_timeline_told(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        let queued = desk.dm("u", " hello ").await;
        assert_eq!((&queued["queued"], &queued["queueAccepted"], &queued["queueError"]), (&json!(true), &json!(true), &Value::Null));
        desk.platform.until_shown(1).await;
        assert_eq!(desk.platform.shown(), ["You said: hello"]);
        let job = desk.until(&queued["jobId"], is("completed")).await;
        assert_eq!((&job["correlationId"], &job["attemptCount"]), (&queued["correlationId"], &json!(1)));
        assert_eq!(
            desk.types(&queued["correlationId"]).await,
            ["job.queued", "job.enqueued", "job.running", "job.executing", "job.delivering", "job.completed"]
        );
        let metrics = desk.http.get(format!("{}/metrics", desk.server.url())).send().await.unwrap().text().await.unwrap();
        for line in ["flightdeck_jobs{status=\"completed\"} 1", "flightdeck_job_events_total{type=\"job.completed\"} 1", "flightdeck_jobs_oldest_due_seconds 0"] {
            assert!(metrics.contains(line), "{line} is not in\n{metrics}");
        }
        desk.server.stop().await;
    }

    // Proofs 2 and 3, with a worker that stalls in mid-delivery and is taken for dead.
    async fn a_rerun_goes_on_where_the_last_run_stopped(db: TestDb) {
        let clock = stepped();
        let desk = Desk::new(db, settings(), clock).await;
        desk.model.then(Play::Say(long_text()));
        desk.platform.gate.send_replace(Some(2));
        let queued = desk.dm("u", "hello").await;
        desk.platform.until_shown(1).await;
        desk.clock.advance(61_000);
        desk.until(&queued["jobId"], is("pending")).await;
        desk.clock.advance(10_000);
        desk.until(&queued["jobId"], is("running")).await;
        desk.platform.gate.send_replace(None);
        desk.until(&queued["jobId"], is("completed")).await;
        let shown = desk.platform.shown();
        assert_eq!(shown.join(" "), long_text().trim_end());
        assert_eq!(shown.len(), 4);
        assert_eq!(*desk.model.asked.borrow(), 1, "asked again");
        // The first run noticed that it was not its job any more.
        let lost = async { while !desk.types(&queued["jobId"]).await.contains(&"job.claim_lost".to_owned()) { tokio::task::yield_now().await } };
        soon(lost).await;
        desk.server.stop().await;
    }

    // Proof 4.
    async fn a_run_that_lost_its_job_delivers_nothing(db: TestDb) {
        let desk = Desk::new(db, JobsConfig { lease_ms: 6_000, ..by_workers() }, stepped()).await;
        let queued = desk.dm("u", "hello").await;
        desk.model.then(Play::Hang);
        let run = {
            let jobs = desk.server.state().jobs.clone();
            let id = domain::job::JobId(queued["jobId"].as_i64().unwrap());
            tokio::spawn(async move { jobs.execute(id, None).await.unwrap() })
        };
        let mut asked = desk.model.asked.subscribe();
        soon(asked.wait_for(|n| *n == 1)).await.unwrap();
        desk.clock.advance(6_100);
        desk.server.board().job_recover_expired().await.unwrap();
        desk.until(&queued["jobId"], is("pending")).await;
        desk.clock.advance(10_000);
        let second = desk.execute(&queued["jobId"]).await;
        assert_eq!(second["status"], "completed");
        let before = desk.timeline(&queued["jobId"]).await;
        // Its heartbeat finds out.
        let executed = soon(run).await.unwrap();
        assert!(executed.skipped);
        let after = desk.timeline(&queued["jobId"]).await;
        assert_eq!(after["job"], before["job"]);
        assert_eq!(desk.types(&queued["jobId"]).await.last().unwrap(), "job.claim_lost");
        assert_eq!(desk.platform.shown().len(), 1);
        desk.server.stop().await;
    }

    // Proof 5.
    async fn a_retry_runs_when_it_is_due_without_a_sweep(db: TestDb) {
        let desk = Desk::new(db, JobsConfig { watchdog: Duration::from_secs(3_600), ..settings() }, Clock::system()).await;
        desk.model.then(Play::Fail(Failure::new(ErrorClass::TransientTransport, "503")));
        let begun = Instant::now();
        let queued = desk.dm("u", "hello").await;
        desk.platform.until_shown(1).await;
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(4_900) && took <= Duration::from_secs(10), "{took:?}");
        let job = desk.until(&queued["jobId"], is("completed")).await;
        assert_eq!((&job["attemptCount"], &job["lastError"]), (&json!(2), &Value::Null));
        desk.server.stop().await;
    }

    // Proof 6.
    async fn with_the_queue_down_a_job_is_taken_in_and_run(db: TestDb) {
        let desk = Desk::new(db, by_workers(), Clock::system()).await;
        desk.server.state().jobs.hints().set_closed(true);
        let queued = desk.dm("u", "hello").await;
        assert_eq!((&queued["queued"], &queued["queueAccepted"]), (&json!(true), &json!(false)));
        assert!(queued["queueError"].is_string());
        assert_eq!(desk.types(&queued["jobId"]).await, ["job.queued", "job.queue_submit_failed"]);
        // A worker that asks is told all the same: the row is the truth.
        let hints = desk.get("/api/ai/jobs/hints?wait=0").await;
        assert_eq!(hints["hints"][0]["jobId"], queued["jobId"]);
        assert_eq!(desk.execute(&hints["hints"][0]["jobId"]).await["status"], "completed");
        desk.server.stop().await;
    }

    // Proof 7.
    async fn a_repeated_hint_is_executed(db: TestDb) {
        let desk = Desk::new(db, by_workers(), stepped()).await;
        let queued = desk.dm("u", "hello").await;
        let lost = desk.get("/api/ai/jobs/hints?wait=0").await;
        assert_eq!(lost["hints"][0]["type"], "ai_job_created");
        let swept = desk.post("/api/ai/jobs/sweep", json!({})).await;
        assert_eq!((&swept["pendingDue"], &swept["queuedCount"], &swept["recovered"]["recovered"]), (&json!(1), &json!(1), &json!(0)));
        let hint = desk.get("/api/ai/jobs/hints?wait=0").await["hints"][0].clone();
        assert_eq!((&hint["type"], &hint["dispatch"]), (&json!("ai_job_due"), &json!(1)));
        let skipped = desk.execute(&queued["jobId"]).await;
        assert_eq!((&skipped["skipped"], &skipped["reason"]), (&json!(true), &json!("it is not due yet")));
        let done = desk.post("/api/ai/jobs/execute", json!({"jobId": queued["jobId"].to_string(), "dispatch": 1})).await;
        assert_eq!(done, json!({"ok": true, "status": "completed", "jobId": queued["jobId"]}));
        let again = desk.execute(&queued["jobId"]).await;
        assert_eq!(again, json!({"ok": true, "skipped": true, "reason": "it is over"}));
        desk.server.stop().await;
    }

    async fn a_hint_that_went_with_its_server_is_given_out_by_the_next(db: TestDb) {
        let (db, clock) = (Arc::new(db), stepped());
        let desk = Desk::with(db.clone(), by_workers(), clock.clone(), Seams::default()).await;
        let queued = desk.dm("u", "hello").await;
        desk.get("/api/ai/jobs/hints?wait=0").await;
        desk.post("/api/ai/jobs/sweep", json!({})).await;
        // A worker took it and is gone, and then the server went.
        let lost = desk.get("/api/ai/jobs/hints?wait=0").await["hints"].clone();
        assert_eq!(lost[0]["dispatch"], 1);
        desk.server.stop().await;
        let next = Desk::with(db, by_workers(), clock, Seams::default()).await;
        assert_eq!(next.get("/api/ai/jobs/hints?wait=0").await["hints"], lost);
        assert_eq!(next.get("/api/ai/jobs/hints?wait=0").await["hints"], json!([]), "once is enough");
        let done = next.post("/api/ai/jobs/execute", json!({"jobId": queued["jobId"].to_string(), "dispatch": 1})).await;
        assert_eq!(done["status"], "completed");
        next.server.stop().await;
    }

    // Proof 10, and who else may not come in.
    async fn no_key_and_no_wrong_key_lets_anybody_in(db: TestDb) {
        let empty = JobsConfig { internal_keys: vec![String::new()], bot_token: Some(String::new()), ..by_workers() };
        let desk = Desk::new(db, empty, Clock::system()).await;
        let doors = [
            (Method::POST, "/api/gateway/dm-autopilot"), (Method::POST, "/api/ai/jobs/execute"), (Method::POST, "/api/ai/jobs/sweep"),
            (Method::GET, "/api/ai/jobs/hints?wait=0"), (Method::GET, "/api/ai/jobs/1"), (Method::POST, "/api/ai/jobs/1/cancel"),
        ];
        for (method, door) in doors {
            for header in [None, Some("Bearer "), Some("Bearer"), Some("Bot "), Some(""), Some("Bearer x"), Some("Basic eDp5")] {
                let mut request = desk.http.request(method.clone(), format!("{}{door}", desk.server.url()));
                if let Some(header) = header {
                    request = request.header("authorization", header);
                }
                // Who calls is judged before the body is.
                let reply = Reply::read(request.body("not json")).await;
                assert_eq!((reply.status, &reply.json), (401, &json!({"error": "Unauthorized"})), "{door} {header:?}");
            }
        }
        desk.server.stop().await;
    }

    async fn both_keys_and_the_bots_token_let_services_in(db: TestDb) {
        let desk = Desk::new(db, by_workers(), Clock::system()).await;
        for header in [format!("Bearer {KEY}"), "Bearer the-key-before".to_owned(), "Bot bot".to_owned()] {
            let url = format!("{}/api/ai/jobs/sweep", desk.server.url());
            assert_eq!(Reply::read(desk.http.post(url).header("authorization", &header)).await.status, 200, "{header}");
        }
        for (door, body, error) in [
            ("/api/gateway/dm-autopilot", "{", "Invalid JSON"),
            ("/api/gateway/dm-autopilot", "{}", "userId and content are required"),
            ("/api/ai/jobs/execute", "x", "Invalid JSON"),
            ("/api/ai/jobs/execute", "{\"jobId\": 1.5}", "jobId is required"),
        ] {
            let request = desk.http.post(format!("{}{door}", desk.server.url())).bearer_auth(KEY).body(body);
            let reply = Reply::read(request).await;
            assert_eq!((reply.status, &reply.json), (400, &json!({"error": error})));
        }
        let missing = desk.call(Method::GET, "/api/ai/jobs/99", None).await;
        assert_eq!((missing.status, missing.json), (404, json!({"error": "Job not found"})));
        let unknown = desk.execute(&json!(99)).await;
        assert_eq!(unknown["skipped"], true);
        desk.server.stop().await;
    }

    async fn switched_off_nothing_is_taken_in_and_what_is_stored_drains(db: TestDb) {
        let desk = Desk::new(db, JobsConfig { dm_enabled: false, ..settings() }, Clock::system()).await;
        let reply = desk.call(Method::POST, "/api/gateway/dm-autopilot", Some(json!({"userId": "u", "content": "c"}))).await;
        assert_eq!((reply.status, &reply.json["queued"]), (503, &json!(false)));
        assert_eq!(desk.get("/api/ai/jobs").await["jobs"], json!([]));
        let intake = Intake::direct_message(domain::job::TargetKind::DiscordDm, "gateway_dm", "u", "stored").unwrap();
        desk.server.board().job_enqueue(intake, Ok(())).await.unwrap();
        desk.platform.until_shown(1).await;
        desk.server.stop().await;
    }

    async fn a_repeated_message_gets_the_first_ones_job(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        let body = json!({"userId": "u", "content": "c", "messageId": "m"});
        let first = desk.post("/api/gateway/dm-autopilot", body.clone()).await;
        let again = desk.post("/api/gateway/dm-autopilot", body).await;
        assert_eq!((&again["jobId"], &again["correlationId"], &again["duplicate"]), (&first["jobId"], &first["correlationId"], &json!(true)));
        desk.until(&first["jobId"], is("completed")).await;
        assert_eq!(desk.platform.shown().len(), 1);
        desk.server.stop().await;
    }

    async fn what_is_given_up_is_told_to_the_user_once_without_secrets(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        desk.model.then(Play::Fail(Failure::new(ErrorClass::UserActionable, "no permission: token=s3cret")));
        let queued = desk.dm("u", "hello").await;
        desk.platform.until_shown(1).await;
        let notice = desk.platform.shown().remove(0);
        assert!(notice.contains(queued["correlationId"].as_str().unwrap()) && !notice.contains("s3cret"), "{notice}");
        let job = desk.until(&queued["jobId"], is("failed_terminal")).await;
        assert!(job["completedAt"].is_string());
        desk.server.stop().await;
    }

    async fn a_blocked_user_is_not_written_to_again(db: TestDb) {
        let desk = Desk::new(db, by_workers(), Clock::system()).await;
        desk.platform.refusals.lock().unwrap().push_back(Failure::new(ErrorClass::DeliveryPermanent, "50007"));
        let queued = desk.dm("u", "hello").await;
        let executed = desk.execute(&queued["jobId"]).await;
        assert_eq!((&executed["status"], &executed["decision"]["reason"]), (&json!("failed_terminal"), &json!("delivery_refused")));
        assert_eq!((desk.platform.sends.lock().unwrap().len(), desk.platform.shown().len()), (1, 0));
        assert!(!desk.server.board().job_notices_due().await.unwrap());
        desk.server.stop().await;
    }

    async fn an_answer_that_could_not_be_sent_is_not_made_again(db: TestDb) {
        let desk = Desk::new(db, by_workers(), stepped()).await;
        desk.platform.refusals.lock().unwrap().push_back(Failure::new(ErrorClass::DeliveryTransient, "503").retry_after(Some(40_000)));
        let queued = desk.dm("u", "hello").await;
        let executed = desk.execute(&queued["jobId"]).await;
        assert_eq!((&executed["status"], &executed["decision"]["nextRetryDelayMs"]), (&json!("retry_scheduled"), &json!(40_000)));
        assert!(desk.types(&queued["jobId"]).await.contains(&"job.delivery_failed".to_owned()));
        desk.clock.advance(40_000);
        assert_eq!(desk.execute(&queued["jobId"]).await["status"], "completed");
        assert_eq!((*desk.model.asked.borrow(), desk.platform.shown().len()), (1, 1));
        desk.server.stop().await;
    }

    async fn an_assessor_chooses_within_the_rules_bounds_and_only_when_asked_for(db: TestDb) {
        let retry = |delay_ms| Some(Proposal::Retry { delay_ms, switch_provider: false });
        let (llm, bounded) = (AssessorMode::Llm, AssessorMode::Bounded);
        // What it proposes, in which mode, for a failure of which class; what becomes of the job and after how many seconds.
        let cases = [
            (Some(Proposal::Stop), llm, ErrorClass::TransientTransport, "failed_terminal", 0..=0),
            (retry(999_000_000), llm, ErrorClass::TransientTransport, "retry_scheduled", 120..=120),
            (None, llm, ErrorClass::TransientTransport, "retry_scheduled", 4..=8),
            (Some(Proposal::Stop), bounded, ErrorClass::TransientTransport, "retry_scheduled", 4..=8),
            (retry(1_000), llm, ErrorClass::UserActionable, "failed_terminal", 0..=0),
        ];
        let db = Arc::new(db);
        for (n, (proposal, mode, class, status, seconds)) in cases.into_iter().enumerate() {
            let seams = Seams { assess: Some(Arc::new(Chooser(proposal))), ..Seams::default() };
            let jobs = JobsConfig { assessor: mode, ..by_workers() };
            let desk = Desk::with(db.clone(), jobs, stepped(), seams).await;
            desk.model.then(Play::Fail(Failure::new(class, "503")));
            let queued = desk.dm(&format!("u{n}"), "hello").await;
            let executed = desk.execute(&queued["jobId"]).await;
            assert_eq!(executed["status"], status, "case {n}: {executed}");
            let delay = executed["decision"]["nextRetryDelayMs"].as_i64().unwrap();
            assert!(seconds.contains(&(delay / 1_000)), "case {n}: {executed}");
            desk.server.stop().await;
        }
    }

    async fn a_users_own_machine_has_the_first_word_and_the_last(db: TestDb) {
        let db = Arc::new(db);
        for off in [false, true] {
            let seams = Seams { runner: Some(Arc::new(Machine { off })), ..Seams::default() };
            let desk = Desk::with(db.clone(), by_workers(), stepped(), seams).await;
            let taken = desk.dm("u", "on my laptop, please").await;
            assert_eq!((&taken["queued"], &taken["runnerJobId"]), (&json!(false), &json!("its-first")));

            desk.model.then(Play::Fail(Failure::new(ErrorClass::TransientTransport, "503")));
            let body = json!({"userId": format!("u{off}"), "content": "hello", "providerChain": ["openai", "runner"]});
            let queued = desk.post("/api/gateway/dm-autopilot", body).await;
            let executed = desk.execute(&queued["jobId"]).await;
            let types = desk.types(&queued["jobId"]).await;
            if off {
                assert_eq!(executed["status"], "retry_scheduled", "{executed}");
                assert!(types.ends_with(&["job.runner_fallback_failed".to_owned(), "job.retry_scheduled".to_owned()]), "{types:?}");
                assert!(desk.platform.shown().is_empty());
            } else {
                let said = (&executed["status"], &executed["runnerFallback"], &executed["runnerJobId"]);
                assert_eq!(said, (&json!("completed"), &json!(true), &json!("its-second")));
                assert!(types.ends_with(&["job.runner_fallback_dispatched".to_owned(), "job.completed".to_owned()]), "{types:?}");
                // The user is told which machine has it.
                desk.platform.until_shown(1).await;
                assert!(desk.platform.shown()[0].contains("laptop"), "{:?}", desk.platform.shown());
            }
            desk.server.stop().await;
        }
    }

    async fn a_run_that_takes_too_long_is_ended_in_each_of_its_phases(db: TestDb) {
        let jobs = JobsConfig { longest_run: Duration::from_millis(300), ..by_workers() };
        let desk = Desk::new(db, jobs, stepped()).await;
        desk.model.then(Play::Hang);
        let queued = desk.dm("u", "hello").await;
        let executed = desk.execute(&queued["jobId"]).await;
        let decided = (&executed["status"], &executed["decision"]["errorClass"]);
        assert_eq!(decided, (&json!("retry_scheduled"), &json!("transient_transport")));
        assert_eq!(*desk.model.stopped.borrow(), 1, "the model was told");

        desk.clock.advance(120_000);
        desk.platform.gate.send_replace(Some(0));
        let executed = desk.execute(&queued["jobId"]).await;
        let decided = (&executed["status"], &executed["decision"]["errorClass"]);
        assert_eq!(decided, (&json!("retry_scheduled"), &json!("delivery_transient")));

        desk.clock.advance(180_000);
        desk.platform.gate.send_replace(None);
        assert_eq!(desk.execute(&queued["jobId"]).await["status"], "completed");
        // The answer was made once, and shows once.
        assert_eq!((*desk.model.asked.borrow(), desk.platform.shown().len()), (2, 1));
        desk.server.stop().await;
    }

    async fn an_empty_answer_is_a_failure(db: TestDb) {
        let desk = Desk::new(db, by_workers(), stepped()).await;
        desk.model.then(Play::Say(" \n".to_owned()));
        let queued = desk.dm("u", "hello").await;
        let executed = desk.execute(&queued["jobId"]).await;
        assert_eq!((&executed["status"], &executed["decision"]["errorClass"]), (&json!("retry_scheduled"), &json!("unknown")));
        assert!(desk.platform.shown().is_empty());
        desk.server.stop().await;
    }

    async fn a_canceled_run_stops_at_once_and_says_nothing(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        desk.model.then(Play::Hang);
        let queued = desk.dm("u", "hello").await;
        let mut asked = desk.model.asked.subscribe();
        soon(asked.wait_for(|n| *n == 1)).await.unwrap();
        let key = queued["correlationId"].as_str().unwrap();
        let view = desk.post(&format!("/api/ai/jobs/{key}/cancel"), json!({})).await;
        assert_eq!(view["cancelRequested"], true);
        desk.until(&queued["jobId"], is("canceled")).await;
        assert_eq!((*desk.model.stopped.borrow(), desk.platform.shown().len()), (1, 0));
        let again = desk.post(&format!("/api/ai/jobs/{key}/cancel"), json!({})).await;
        assert_eq!(again["status"], "canceled");
        let retried = desk.post(&format!("/api/ai/jobs/{key}/retry"), json!({})).await;
        desk.until(&retried["jobId"], is("completed")).await;
        desk.server.stop().await;
    }

    async fn a_stop_of_the_server_gives_the_attempt_back(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        desk.model.then(Play::Hang);
        let queued = desk.dm("u", "hello").await;
        let mut asked = desk.model.asked.subscribe();
        soon(asked.wait_for(|n| *n == 1)).await.unwrap();
        let Desk { server, _db: db, .. } = desk;
        server.stop().await;
        let board = board::Board::new(db.open_again().await, Clock::system(), board::Settings::default());
        let key = JobKey::Id(queued["jobId"].as_i64().unwrap());
        let job = board.job_find(&key).await.unwrap();
        assert_eq!((job.status, job.attempt_count), (domain::job::JobStatus::Pending, 0));
    }

    async fn a_user_who_asks_a_lot_waits_and_loses_nothing(db: TestDb) {
        let desk = Desk::new(db, JobsConfig { user_per_minute: 1, ..by_workers() }, stepped()).await;
        let (first, second) = (desk.dm("u", "1").await, desk.dm("u", "2").await);
        assert_eq!(desk.execute(&first["jobId"]).await["status"], "completed");
        assert_eq!(desk.execute(&second["jobId"]).await["status"], "snoozed");
        let row = desk.timeline(&second["jobId"]).await;
        assert_eq!((&row["job"]["status"], &row["job"]["attemptCount"]), (&json!("pending"), &json!(0)));
        desk.server.stop().await;
    }

    async fn a_worker_has_jobs_run_and_may_be_killed(db: TestDb) {
        let desk = Desk::new(db, by_workers(), Clock::system()).await;
        let config = WorkerConfig { api_base: format!("{}/", desk.server.url()), key: KEY.to_owned(), concurrency: 4 };
        assert!(Worker::new(WorkerConfig { key: " ".to_owned(), ..config.clone() }).is_err());
        assert!(Worker::new(WorkerConfig { api_base: String::new(), ..config.clone() }).is_err());
        let worker = Worker::new(config).unwrap();
        let running = tokio::spawn(async move { worker.run(CancellationToken::new()).await });
        // One that fails hurts no other: three answers, and the notice of the first.
        desk.model.then(Play::Fail(Failure::new(ErrorClass::SafetyRefusal, "no")));
        for user in ["a", "b", "c", "d"] {
            desk.dm(user, "hello").await;
        }
        desk.platform.until_shown(4).await;
        // Killed in the middle of a run, which goes on.
        desk.platform.gate.send_replace(Some(0));
        let queued = desk.dm("e", "hello").await;
        let mut asked = desk.model.asked.subscribe();
        soon(asked.wait_for(|n| *n == 5)).await.unwrap();
        running.abort();
        desk.platform.gate.send_replace(None);
        desk.until(&queued["jobId"], is("completed")).await;
        desk.server.stop().await;
    }

    async fn what_a_job_previewed_is_agreed_to_or_declined_by_a_press(db: TestDb) {
        let desk = Desk::new(db, settings(), Clock::system()).await;
        let mut jobs = Vec::new();
        for title in ["First", "Second", "Third"] {
            desk.model.then(Play::Preview(json!({"title": title})));
            let queued = desk.dm("u", "make something").await;
            desk.until(&queued["jobId"], is("completed")).await;
            jobs.push(queued);
        }
        let door = |job: &Value, deed: &str| format!("/api/ai/jobs/{}/{deed}", job["correlationId"].as_str().unwrap());
        let shown = desk.timeline(&jobs[0]["jobId"]).await["confirmation"].clone();
        assert_eq!((&shown["state"], &shown["summary"]), (&json!("open"), &json!("A new task")));
        let titles = async || {
            let tasks = desk.server.board().task_list(&board::Actor::Operator, &ListTasks::default()).await.unwrap();
            tasks.into_iter().map(|task| task.title).collect::<Vec<_>>()
        };

        let foreign = desk.press(&door(&jobs[1], "confirm"), Some(json!({"confirmationId": shown["id"]}))).await;
        assert_eq!((foreign.status, &foreign.json["error"]), (404, &json!("this job has no such preview")));
        for bad in [json!({"confirmationId": "1"}), json!({"confirmationId": 1.5})] {
            assert_eq!(desk.press(&door(&jobs[1], "confirm"), Some(bad)).await.status, 400);
        }
        assert_eq!(desk.press("/api/ai/jobs/aij_unknown/confirm", None).await.status, 404);
        assert!(titles().await.is_empty(), "nothing was done so far");

        let (first, confirm) = (json!({"confirmationId": shown["id"]}), door(&jobs[0], "confirm"));
        let (one, two) = tokio::join!(desk.press(&confirm, Some(first.clone())), desk.press(&confirm, Some(first)));
        let mut answers = [one, two];
        answers.sort_by_key(|reply| reply.status);
        assert_eq!(answers.each_ref().map(|reply| reply.status), [200, 409], "two presses at once");
        assert_eq!((&answers[0].json["state"], &answers[0].json["result"]["title"]), (&json!("confirmed"), &json!("First")));
        assert_eq!(titles().await, ["First"]);
        assert_eq!(desk.press(&door(&jobs[0], "decline"), None).await.status, 409, "it is done");

        // A gateway passes its user's press on, with the key.
        let declined = desk.post(&door(&jobs[1], "decline"), json!({})).await;
        assert_eq!(declined["state"], "declined");
        assert_eq!(desk.press(&door(&jobs[1], "decline"), None).await.status, 200, "a second press finds it as wished");
        assert_eq!(desk.press(&door(&jobs[1], "confirm"), None).await.status, 409);

        // A press that a crash interrupted is carried out by the next start.
        let third = JobKey::parse(jobs[2]["correlationId"].as_str().unwrap()).unwrap();
        desk.server.board().consent_agree(&third, None).await.unwrap();
        server::assistant::finish_agreed(desk.server.board()).await;
        assert_eq!(titles().await, ["First", "Third"]);
        assert_eq!(desk.timeline(&jobs[2]["jobId"]).await["confirmation"]["state"], "confirmed");
        assert_eq!(desk.types(&jobs[0]["jobId"]).await.last().unwrap(), "job.confirmed");
        desk.server.stop().await;
    }

    async fn the_event_feed_tells_that_jobs_changed(db: TestDb) {
        use futures::StreamExt;
        let desk = Desk::new(db, settings(), Clock::system()).await;
        let listen = async |query: &str| {
            let url = format!("{}/api/v1/events{query}", desk.server.url());
            desk.http.get(url).send().await.unwrap().bytes_stream()
        };
        let mut all = listen("").await;
        desk.dm("u", "hello").await;
        let mut text = String::new();
        while !text.contains("event: jobs.changed") {
            let part = soon(all.next()).await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(&part).unwrap());
        }
        let message = text.split("\n\n").find(|message| message.contains("jobs.changed")).unwrap();
        assert!(!message.contains("id:"), "it has no place in the log: {message}");
        desk.server.stop().await;
    }

    async fn an_owners_page_follows_the_timeline(db: TestDb) {
        use futures::StreamExt;
        let desk = Desk::new(db, by_workers(), Clock::system()).await;
        let queued = desk.dm("u", "hello").await;
        let url = format!("{}/api/ai/jobs/{}/events", desk.server.url(), queued["jobId"]);
        let response = desk.http.get(url).header("sec-fetch-site", "same-origin").send().await.unwrap();
        assert_eq!(response.status(), 200);
        let mut stream = response.bytes_stream();
        let mut text = String::new();
        let executing = desk.execute(&queued["jobId"]);
        let reading = async {
            while let Some(part) = stream.next().await {
                text.push_str(std::str::from_utf8(&part.unwrap()).unwrap());
            }
        };
        let (done, ()) = soon(async { tokio::join!(executing, reading) }).await;
        assert_eq!(done["status"], "completed");
        for event in ["event: job.queued", "event: job.running", "event: job.completed", "event: end"] {
            assert_eq!(text.matches(event).count(), 1, "{event} in {text}");
        }
        desk.server.stop().await;
    }
}
