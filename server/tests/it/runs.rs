//! The outside contract, through the real transport: starting runs, waiting for them, reading them.
//!
//! Waits are shortened by a divisor: what a client does in minutes takes a test seconds. Every answer that any of these tests
//! gets is held to the contract's invariants.

use crate::support::agent::{Agent, NODE};
use crate::support::client::{Client, text};
use crate::support::{TestApp, soon};
use board::{Actor, Output, TurnOutcome};
use domain::ids::{MessageId, RunId, SessionId};
use domain::message::MessageType;
use domain::run::RunStatus;
use rmcp::model::CallToolResult;
use serde_json::{Map, Value, json};
use server::config::Config;
use server::mcp::Patience;
use server::serve::Variation;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::testing::TestDb;

/// A server on which a wait of 45 seconds takes 45/`divisor`.
async fn hasty(db: &TestDb, divisor: u32) -> TestApp {
    hasty_with(db, divisor, |_config| {}).await
}

async fn hasty_with(db: &TestDb, divisor: u32, change: impl FnOnce(&mut Config)) -> TestApp {
    let vary = Variation {
        patience: Patience {
            run_wait_divisor: divisor,
            run_progress: Duration::from_millis(20),
            ..Patience::default()
        },
        ..Variation::default()
    };
    TestApp::on_configured(db, vary, change).await
}

/// An outside client that holds every answer to the contract.
struct Outside {
    client: Client,
    token: String,
    /// All that it was ever told.
    told: Arc<Mutex<Vec<String>>>,
}

impl Outside {
    async fn connect(app: &TestApp) -> Self {
        Self::with_token(app, app.access_token().await).await
    }

    async fn with_token(app: &TestApp, token: String) -> Self {
        Self {
            client: Client::connect(app, &token).await,
            token,
            told: Arc::default(),
        }
    }

    /// Calls a tool and gives its data, and whether it was marked as an error.
    async fn try_call(&self, tool: &str, arguments: Value) -> (Value, bool) {
        let result = soon(self.client.try_call(tool, arguments)).await.unwrap();
        self.told.lock().unwrap().push(text(&result));
        checked(tool, &result)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let (value, is_error) = self.try_call(tool, arguments).await;
        assert!(!is_error, "{tool}: {value}");
        value
    }

    async fn refused(&self, tool: &str, arguments: Value) -> Value {
        let (value, is_error) = self.try_call(tool, arguments).await;
        assert!(is_error, "{tool}: {value}");
        value
    }

    async fn start(&self, task: &str) -> Started {
        Started::of(&self.call("run_task", json!({"task": task})).await)
    }

    async fn check(&self, run: &Started) -> Value {
        self.try_call("check_task", run.ids()).await.0
    }
}

/// What every answer must be like.
fn checked(tool: &str, result: &CallToolResult) -> (Value, bool) {
    let value = result.structured_content.clone().expect("data");
    let shown = text(result);
    assert_eq!(
        serde_json::from_str::<Value>(&shown).unwrap(),
        value,
        "{tool}"
    );
    assert!(shown.len() <= 100_000, "{tool}: {} bytes", shown.len());
    let is_error = result.is_error == Some(true);
    for row in value["tasks"].as_array().into_iter().flatten() {
        // The board's own list has tasks too.
        if row["taskId"].is_string() {
            check_invariants(row);
        }
    }
    if value["status"].is_string() {
        check_invariants(&value);
        if tool != "run_task" {
            assert_eq!(is_error, value["status"] == "error", "{tool}: {value}");
        }
    } else if is_error {
        assert!(
            value["code"].is_string() && value["message"].is_string(),
            "{value}"
        );
    }
    (value, is_error)
}

fn check_invariants(value: &Value) {
    let status = value["status"].as_str().unwrap();
    let continues = matches!(status, "queued" | "running");
    assert_eq!(value["continuePolling"], json!(continues), "{value}");
    assert!(!continues || value["nextAction"].is_object(), "{value}");
    assert_eq!(value["taskId"], value["jobId"], "{value}");
}

/// A run as its client knows it.
#[derive(Debug, Clone)]
struct Started {
    id: String,
    session: String,
}

impl Started {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        Self {
            id: text("taskId"),
            session: text("sessionKey"),
        }
    }

    fn ids(&self) -> Value {
        json!({"taskId": self.id, "sessionKey": self.session})
    }

    async fn launch(&self, app: &TestApp) -> Agent {
        let session: SessionId = self.session.parse().unwrap();
        let view = app
            .board()
            .session_get(&Actor::Operator, session)
            .await
            .unwrap();
        Agent::launch_session(app, view.task_id, session).await
    }
}

async fn say(app: &TestApp, agent: &Agent, words: &str) {
    let output = Output {
        id: MessageId::new(),
        message_type: MessageType::Message,
        content: words.to_owned(),
        metadata: Map::new(),
    };
    app.board()
        .record_output(agent.session, NODE, Some(agent.turn), vec![output])
        .await
        .unwrap();
}

fn waiting(app: &TestApp) -> String {
    let text = app.mcp().run_metrics().render();
    let line = text
        .lines()
        .find(|line| line.starts_with("flightdeck_run_waiters "));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// Waits until so many calls wait.
async fn until_waiting(app: &TestApp, number: usize) {
    let mut ticks = tokio::time::interval(Duration::from_millis(2));
    soon(async {
        while waiting(app) != number.to_string() {
            ticks.tick().await;
        }
    })
    .await;
}

/// A client that speaks to the route by itself, and can hang up in the middle of a call.
#[derive(Clone)]
struct Raw {
    http: reqwest::Client,
    url: String,
    token: String,
    session: String,
    calls: Arc<AtomicU64>,
}

impl Raw {
    async fn connect(app: &TestApp, token: &str) -> Self {
        let mut raw = Self {
            http: reqwest::Client::new(),
            url: app.url(server::mcp::PATH),
            token: token.to_owned(),
            session: String::new(),
            calls: Arc::default(),
        };
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}});
        let opened = raw.post(&initialize).send().await.unwrap();
        raw.session = opened.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(raw.post(&ready).send().await.unwrap().status(), 202);
        raw
    }

    fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        let mut request = self
            .http
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .bearer_auth(&self.token)
            .json(body);
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        request
    }

    /// Calls a tool; nothing when the client hung up before there was an answer.
    async fn call(&self, tool: &str, arguments: &Value, patience: Duration) -> Option<Value> {
        let id = self.calls.fetch_add(1, Ordering::Relaxed) + 2;
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = async {
            let response = self.post(&body).send().await.ok()?;
            response.text().await.ok()
        };
        // Dropping the request closes its connection.
        let answer = tokio::time::timeout(patience, answer).await.ok()??;
        let message = answer
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .find(|message| message["result"].is_object())?;
        // Only what a client sees that shows its model the text alone.
        let shown = message["result"]["content"][0]["text"].as_str()?;
        serde_json::from_str(shown).ok()
    }
}

store::on_both_engines! {
    async fn a_wait_gives_the_result_whenever_it_comes(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        // During.
        let (value, ()) = tokio::join!(client.check(&run), async {
            until_waiting(&app, 1).await;
            say(&app, &agent, "All done.").await;
            agent.end_turn().await;
        });
        assert_eq!((&value["status"], &value["summary"]), (&json!("completed"), &json!("All done.")));
        assert_eq!((&value["timedOut"], &value["pollCount"], &value["nextAction"]), (&json!(false), &json!(1), &Value::Null));
        assert_eq!(value["waitTargetMs"], 45_000);
        // Before, and as often as is asked: whatever the wait, at once.
        let asked = Instant::now();
        let again = client.check(&run).await;
        assert!(asked.elapsed() < Duration::from_secs(10));
        assert_eq!((&again["summary"], &again["pollCount"]), (&json!("All done."), &json!(2)));
        for part in ["artifacts", "continuation"] {
            assert!(again[part].is_object(), "{again}");
        }
        assert_eq!(waiting(&app), "0");
    }

    async fn two_waiters_of_one_run_both_get_the_result(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let second = Outside::with_token(&app, client.token.clone()).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        let (one, two, ()) = tokio::join!(client.check(&run), second.check(&run), async {
            until_waiting(&app, 2).await;
            agent.end_turn().await;
        });
        for value in [&one, &two] {
            assert_eq!(value["status"], "completed_no_summary");
        }
        assert_eq!(two["pollCount"].as_i64().unwrap() + one["pollCount"].as_i64().unwrap(), 4);
    }

    async fn progress_keeps_a_wait_open_and_its_end_is_no_error(db: TestDb) {
        let app = hasty(&db, 20).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let began = Instant::now();
        let storm = async {
            until_waiting(&app, 1).await;
            // From queued to running, and words without end.
            let agent = run.launch(&app).await;
            for n in 0..i64::MAX {
                say(&app, &agent, &format!("Working, {n}.")).await;
            }
        };
        let value = tokio::select! {
            value = client.check(&run) => value,
            () = storm => panic!("the storm was over first"),
        };
        assert!(began.elapsed() >= Duration::from_millis(2_250));
        assert_eq!((&value["status"], &value["timedOut"], &value["isError"]), (&json!("running"), &json!(true), &json!(false)));
        assert!(value["waitedMs"].as_i64().unwrap() >= 45_000, "{value}");
        assert_eq!(value["nextAction"], json!({"tool": "check_task", "args": run.ids()}));
        assert_eq!((&value["retryAfterMs"], &value["pollCount"]), (&json!(0), &json!(1)));
        assert!(value["hint"].as_str().unwrap().contains("not an error"));
        assert_eq!(value["phase"], "thinking");
        assert!(value["logCount"].as_i64().unwrap() > 1, "{value}");
        assert!(value["latestUpdate"]["text"].as_str().unwrap().starts_with("Working, "), "{value}");
    }

    async fn in_poll_mode_the_log_ends_a_wait(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        let mut arguments = run.ids();
        arguments["mode"] = json!("poll");
        arguments["knownLogCount"] = json!(0);
        let (value, ()) = tokio::join!(client.call("check_task", arguments.clone()), async {
            until_waiting(&app, 1).await;
            say(&app, &agent, "One.").await;
        });
        assert_eq!((&value["timedOut"], &value["logs"][0]["text"]), (&json!(false), &json!("One.")));
        arguments = run.ids();
        arguments["mode"] = json!("poll");
        arguments["logCursor"] = value["logCursor"].clone();
        let (value, ()) = tokio::join!(client.call("check_task", arguments), async {
            until_waiting(&app, 1).await;
            say(&app, &agent, "Two.").await;
        });
        assert_eq!(value["logs"].as_array().unwrap().len(), 1);
        assert_eq!(value["logs"][0]["text"], "Two.");
    }

    async fn what_needs_somebody_ends_a_wait(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;

        // A question of the agent's; the answer goes to the call that asked, and the same run goes on.
        let run = client.start("Ask.").await;
        let agent = run.launch(&app).await;
        let tools = agent.connect(&app).await;
        let ask = json!({"questions": [{"prompt": "Which store?", "options": ["SQLite", "Postgres"]}]});
        let asking = tools.call("ask_user_question_kandev", ask);
        let answering = async {
            let value = client.check(&run).await;
            assert_eq!((&value["status"], &value["phase"]), (&json!("needs_human"), &json!("waiting_human")));
            assert_eq!(value["pending"]["questions"][0]["prompt"], "Which store?");
            assert_eq!(value["nextAction"]["needs"], json!(["task"]));
            let mut arguments = value["nextAction"]["args"].clone();
            arguments["task"] = json!("Postgres");
            let answered = client.call("run_task", arguments).await;
            assert_eq!((&answered["taskId"], &answered["status"]), (&json!(run.id), &json!("running")));
        };
        let (answer, ()) = tokio::join!(asking, answering);
        assert_eq!(answer["q1"]["selected_option"]["label"], "Postgres");

        // A queue that the operator holds.
        let held = client.start("Hold.").await;
        let (value, ()) = tokio::join!(client.check(&held), async {
            until_waiting(&app, 1).await;
            let session = held.session.parse().unwrap();
            app.board().session_auto_run(&Actor::Operator, session, false).await.unwrap();
        });
        assert_eq!((&value["status"], &value["phase"], &value["isError"]), (&json!("blocked"), &json!("held"), &json!(false)));

        // A cancel.
        let (value, cancelled) = tokio::join!(client.check(&run), async {
            until_waiting(&app, 1).await;
            Outside::with_token(&app, client.token.clone()).await.call("cancel_task", json!({"taskId": run.id})).await
        });
        assert_eq!((&value["status"], &cancelled["status"]), (&json!("cancelled"), &json!("cancelled")));
        assert_eq!(client.call("cancel_task", json!({"taskId": run.id})).await["terminalReason"], "cancel_requested");

        // A failure is the one status that is an error.
        let fails = client.start("Fail.").await;
        let agent = fails.launch(&app).await;
        let outcome = TurnOutcome::Failed("It broke.".to_owned());
        app.board().turn_ended(agent.turn, NODE, &outcome).await.unwrap();
        let value = client.refused("check_task", fails.ids()).await;
        assert_eq!((&value["status"], &value["errorInfo"]["message"]), (&json!("error"), &json!("It broke.")));
    }

    async fn a_wait_of_any_length_is_clamped_and_never_an_error(db: TestDb) {
        let app = hasty(&db, 1_000).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        for (given, target) in [
            (json!(null), 45_000), (json!(0), 0), (json!(-1), 1_000), (json!(999_999), 55_000), (json!("NaN"), 45_000),
            (json!("20000"), 45_000), (json!(20_000), 20_000), (json!({}), 45_000),
        ] {
            let mut arguments = run.ids();
            arguments["waitMs"] = given.clone();
            let value = client.call("check_task", arguments).await;
            assert_eq!((&value["waitTargetMs"], &value["timedOut"]), (&json!(target), &json!(true)), "{given}");
        }
        assert_eq!(client.call("check_task", run.ids()).await["pollCount"], 9);
    }

    async fn looking_does_not_wait_and_counts_nothing(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        say(&app, &agent, "Working.").await;
        let mut fastest = Duration::MAX;
        for detail in ["core", "summary", "updates", "artifacts", "diagnostics", "full", "fullWithDiagnostics"] {
            let mut arguments = run.ids();
            arguments["detail"] = json!(detail);
            let began = Instant::now();
            let value = client.call("get_task", arguments).await;
            fastest = fastest.min(began.elapsed());
            assert_eq!((&value["status"], &value["pollCount"]), (&json!("running"), &json!(0)));
            assert_eq!(value["logs"].is_array(), ["updates", "full", "fullWithDiagnostics"].contains(&detail), "{detail}");
            assert_eq!(value["liveness"]["state"], "live");
        }
        assert!(fastest < Duration::from_millis(100), "{fastest:?}");
        let listed = client.call("list_tasks", json!({})).await;
        let row = &listed["tasks"][0];
        let read = client.call("get_task", json!({"taskId": run.id})).await;
        for field in ["taskId", "status", "group", "phase", "startedAt", "pollCount", "nextAction"] {
            assert_eq!(row[field], read[field], "{field}");
        }
        assert_eq!(listed["counts"], json!({"running": 1}));
    }

    async fn every_next_action_can_be_made(db: TestDb) {
        let app = hasty(&db, 1_000).await;
        let client = Outside::connect(&app).await;
        let tools = client.client.tools().await;
        let mut seen = Vec::new();
        // One run for each status there is.
        let queued = client.start("Wait.").await;
        let running = client.start("Run.").await;
        running.launch(&app).await;
        let silent = client.start("Say nothing.").await;
        silent.launch(&app).await.end_turn().await;
        let done = client.start("Say something.").await;
        let agent = done.launch(&app).await;
        say(&app, &agent, "Done.").await;
        agent.end_turn().await;
        let failed = client.start("Fail.").await;
        let agent = failed.launch(&app).await;
        app.board().turn_ended(agent.turn, NODE, &TurnOutcome::Failed("No.".to_owned())).await.unwrap();
        let held = client.start("Hold.").await;
        app.board().session_auto_run(&Actor::Operator, held.session.parse().unwrap(), false).await.unwrap();
        let asks = client.start("Ask.").await;
        let agent = asks.launch(&app).await;
        let ask = serde_json::from_value(json!({"questions": [{"prompt": "Which?", "options": ["a", "b"]}]})).unwrap();
        let actor = Actor::Agent { task: agent.task, session: agent.session };
        app.board().ask_operator(&actor, &ask, &json!({})).await.unwrap();
        let stopped = client.start("Stop.").await;
        client.call("cancel_task", json!({"taskId": stopped.id})).await;
        for run in [&queued, &running, &silent, &done, &failed, &held, &asks, &stopped] {
            for (tool, arguments) in [("check_task", run.ids()), ("get_task", run.ids())] {
                seen.push(client.try_call(tool, arguments).await.0);
            }
        }
        let mut statuses: Vec<&str> = seen.iter().map(|value| value["status"].as_str().unwrap()).collect();
        statuses.sort_unstable();
        statuses.dedup();
        let mut all: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
        all.sort_unstable();
        assert_eq!(statuses, all);
        seen.extend(client.call("list_tasks", json!({"view": "all"})).await["tasks"].as_array().unwrap().clone());
        seen.push(client.refused("run_task", json!({"task": "More.", "sessionKey": running.session})).await);
        seen.push(client.refused("get_task", json!({"taskId": RunId::new()})).await);
        for value in seen {
            let next = &value["nextAction"];
            if next.is_null() {
                continue;
            }
            let tool = tools.iter().find(|tool| tool.name == next["tool"].as_str().unwrap()).expect("a tool that is listed");
            let mut arguments = next["args"].clone();
            for name in next["needs"].as_array().into_iter().flatten() {
                arguments[name.as_str().unwrap()] = json!("a");
            }
            for name in arguments.as_object().unwrap().keys() {
                assert!(tool.input_schema["properties"].get(name).is_some(), "{next}");
            }
            let (answer, _) = client.try_call(&tool.name, arguments).await;
            assert!(!matches!(answer["code"].as_str(), Some("not_found" | "invalid_params" | "internal_error")), "{next}: {answer}");
        }
    }

    async fn clients_that_hang_up_lose_nothing(db: TestDb) {
        let app = hasty(&db, 100).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Take your time.").await;
        let agent = run.launch(&app).await;
        let mut polls = 0;
        // A client that is cut after 10 seconds never hears of a wait's end; the others do.
        for (cut, answered) in [(100, false), (550, true), (600, true), (2_400, true)] {
            let raw = Raw::connect(&app, &client.token).await;
            for _ in 0..2 {
                let answer = raw.call("check_task", &run.ids(), Duration::from_millis(cut)).await;
                polls += 1;
                if answered {
                    // On a machine that is busy a cut may come before the answer all the same.
                    assert!(answer.is_none_or(|value| value["timedOut"] == true && value["status"] == "running"));
                } else {
                    assert_eq!(answer, None);
                }
            }
        }
        until_waiting(&app, 0).await;
        say(&app, &agent, "Here it is.").await;
        agent.end_turn().await;
        let raw = Raw::connect(&app, &client.token).await;
        let value = raw.call("check_task", &run.ids(), Duration::from_secs(20)).await.unwrap();
        assert_eq!((&value["summary"], &value["pollCount"]), (&json!("Here it is."), &json!(polls + 1)));
        assert_eq!(client.call("list_tasks", json!({"view": "all"})).await["tasks"].as_array().unwrap().len(), 1);
        let metrics = app.mcp().run_metrics().render();
        let cut = metrics.lines().find(|line| line.contains("below=\"10\"")).unwrap();
        assert!(!cut.ends_with(" 0"), "{cut}");
    }

    async fn a_run_of_ten_minutes_takes_a_client_of_a_minute_some_polls(db: TestDb) {
        let app = hasty(&db, 100).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Take ten minutes.").await;
        let agent = run.launch(&app).await;
        let raw = Raw::connect(&app, &client.token).await;
        let working = async {
            tokio::time::sleep(Duration::from_secs(6)).await;
            say(&app, &agent, "After ten minutes.").await;
            agent.end_turn().await;
        };
        // Only what the text says: which call to make, and whether to go on.
        let polling = async {
            let (mut next, mut answers) = (json!({"tool": "check_task", "args": run.ids()}), Vec::new());
            loop {
                let tool = next["tool"].as_str().unwrap();
                // A client that is cut asks again with the same ids.
                let Some(answer) = raw.call(tool, &next["args"], Duration::from_millis(600)).await else { continue };
                let goes_on = answer["continuePolling"] == true;
                next = answer["nextAction"].clone();
                answers.push(answer);
                if !goes_on {
                    return answers;
                }
            }
        };
        let ((), answers) = tokio::join!(working, polling);
        let last = answers.last().unwrap();
        assert_eq!(last["summary"], "After ten minutes.");
        let polls = last["pollCount"].as_i64().unwrap();
        assert!((10..=16).contains(&polls), "{polls} polls");
        for answer in &answers[..answers.len() - 1] {
            assert!(answer.to_string().len() < 1_000, "{answer}");
        }
        assert_eq!(client.call("list_tasks", json!({"view": "all"})).await["tasks"].as_array().unwrap().len(), 1);
    }

    async fn the_same_ids_work_after_a_restart(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        let token = client.token.clone();
        // Whoever waits while the server ends is told to ask again.
        let ((value, is_error), ()) = tokio::join!(client.try_call("check_task", run.ids()), async {
            until_waiting(&app, 1).await;
            app.mcp().end_waits().await;
        });
        assert!(!is_error);
        assert_eq!((&value["continuePolling"], &value["retryAfterMs"], &value["timedOut"]), (&json!(true), &json!(2_000), &json!(true)));
        let (task, session, turn) = (agent.task, agent.session, agent.turn);
        drop((client, agent));
        app.stop().await;

        let app = hasty(&db, 1).await;
        let client = Outside::with_token(&app, token).await;
        let (value, ()) = tokio::join!(client.check(&run), async {
            until_waiting(&app, 1).await;
            let board = app.board();
            assert_eq!(board.session_get(&Actor::Operator, session).await.unwrap().task_id, task);
            board.turn_ended(turn, NODE, &TurnOutcome::Stopped("end_turn".to_owned())).await.unwrap();
        });
        assert_eq!((&value["status"], &value["pollCount"]), (&json!("completed_no_summary"), &json!(2)));
    }

    async fn twenty_calls_at_once_are_one_task(db: TestDb) {
        let app = hasty(&db, 1).await;
        let token = app.access_token().await;
        let client = Arc::new(Outside::with_token(&app, token).await);
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let client = client.clone();
            calls.spawn(async move { client.call("run_task", json!({"task": "Do it."})).await });
        }
        let answers = calls.join_all().await;
        assert!(answers.iter().all(|answer| answer["taskId"] == answers[0]["taskId"]));
        let made: Vec<_> = answers.iter().filter(|answer| answer["duplicate"] == false).collect();
        assert_eq!(made.len(), 1);
        for twin in answers.iter().filter(|answer| answer["duplicate"] == true) {
            assert_eq!((&twin["duplicateOf"], &twin["nextAction"]["tool"]), (&twin["taskId"], &json!("check_task")));
        }
        assert_eq!(client.call("list_tasks", json!({"view": "all"})).await["tasks"].as_array().unwrap().len(), 1);
        // A key makes a repeat harmless, and cannot be used twice.
        let keyed = json!({"task": "Keyed.", "idempotencyKey": "k"});
        let first = client.call("run_task", keyed.clone()).await;
        assert_eq!(client.call("run_task", keyed).await["taskId"], first["taskId"]);
        let conflict = client.refused("run_task", json!({"task": "Other.", "idempotencyKey": "k"})).await;
        assert_eq!((&conflict["code"], &conflict["activeTaskId"]), (&json!("idempotency_conflict"), &first["taskId"]));
    }

    async fn a_busy_thread_names_what_it_does(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let busy = client.refused("run_task", json!({"task": "And this.", "sessionKey": run.session})).await;
        assert_eq!((&busy["code"], &busy["activeTaskId"]), (&json!("session_busy"), &json!(run.id)));
        assert_eq!(busy["nextAction"]["tool"], "check_task");
        assert_eq!(client.call("list_tasks", json!({"view": "all"})).await["tasks"].as_array().unwrap().len(), 1);
    }

    async fn somebody_elses_is_as_unknown_as_nothing(db: TestDb) {
        let app = hasty(&db, 1_000).await;
        let (mine, other) = (Outside::connect(&app).await, Outside::connect(&app).await);
        let run = mine.start("Do it.").await;
        let (nobody, nowhere) = (RunId::new().to_string(), SessionId::new().to_string());
        for tool in ["check_task", "get_task", "cancel_task"] {
            let foreign = other.refused(tool, run.ids()).await;
            let unknown = other.refused(tool, json!({"taskId": nobody, "sessionKey": nowhere})).await;
            assert_eq!(foreign, unknown);
            assert_eq!((&foreign["code"], &foreign["nextAction"]["tool"]), (&json!("not_found"), &json!("list_tasks")));
            assert_eq!(other.refused(tool, json!({"sessionKey": run.session})).await, unknown);
            assert_eq!(other.refused(tool, json!({"taskId": "nonsense"})).await, unknown);
        }
        let foreign = other.refused("run_task", json!({"task": "x", "sessionKey": run.session})).await;
        assert_eq!(foreign, other.refused("run_task", json!({"task": "x", "sessionKey": nowhere})).await);
        assert_eq!(other.call("list_tasks", json!({"view": "all"})).await["tasks"], json!([]));
        let foreign = other.refused("list_tasks", json!({"sessionKey": run.session})).await;
        assert_eq!(foreign, other.refused("list_tasks", json!({"sessionKey": nowhere})).await);

        // One's own thread does not stand in for an id that is unknown.
        let missed = mine.refused("check_task", json!({"taskId": nobody, "sessionKey": run.session})).await;
        assert_eq!(missed["code"], "not_found");
        assert!(missed["hint"].as_str().unwrap().contains(&run.id));
        assert_eq!(mine.call("get_task", json!({"taskId": run.id})).await["pollCount"], 0);
        // Two names of one id.
        assert_eq!(mine.call("get_task", json!({"jobId": run.id})).await["taskId"], json!(run.id));
        let differ = mine.refused("get_task", json!({"taskId": run.id, "jobId": nobody})).await;
        assert_eq!((&differ["code"], &differ["field"]), (&json!("invalid_params"), &json!("jobId")));
    }

    async fn what_is_unknown_is_ignored_and_what_is_wrong_is_named(db: TestDb) {
        let app = hasty(&db, 1_000).await;
        let client = Outside::connect(&app).await;
        let value = client.call("run_task", json!({"task": "Do it.", "nonsense": {"a": [1]}, "sessionKey": "", "agent": null})).await;
        let run = Started::of(&value);
        client.call("check_task", json!({"taskId": run.id, "verbose": true, "waitMs": 0})).await;
        for (tool, arguments, field) in [
            ("run_task", json!({}), "task"),
            ("run_task", json!({"task": " \n"}), "task"),
            ("run_task", json!({"task": "x".repeat(100_001)}), "task"),
            ("run_task", json!({"task": 7}), "task"),
            ("run_task", json!({"task": "x", "agent": "nobody"}), "agent"),
            ("check_task", json!({}), "taskId"),
            ("check_task", json!({"taskId": run.id, "mode": "fast"}), "mode"),
            ("get_task", json!({"taskId": run.id, "detail": "all"}), "detail"),
            ("list_tasks", json!({"view": "some"}), "view"),
            ("list_tasks", json!({"cursor": "x"}), "cursor"),
        ] {
            let refused = client.refused(tool, arguments).await;
            assert_eq!((&refused["code"], &refused["field"]), (&json!("invalid_params"), &json!(field)), "{tool}: {refused}");
        }
    }

    async fn too_many_waits_are_answered_at_once_and_are_no_errors(db: TestDb) {
        let app = hasty_with(&db, 1, |config| config.runs.limits.per_client = 1).await;
        let client = Outside::connect(&app).await;
        let second = Outside::with_token(&app, client.token.clone()).await;
        let other = Outside::connect(&app).await;
        let (run, theirs) = (client.start("Do it.").await, other.start("Do it.").await);
        let agent = run.launch(&app).await;
        let (value, ()) = tokio::join!(client.check(&run), async {
            until_waiting(&app, 1).await;
            let limited = second.call("check_task", run.ids()).await;
            assert_eq!((&limited["timedOut"], &limited["retryAfterMs"]), (&json!(true), &json!(5_000)));
            assert_eq!(limited["continuePolling"], true);
            // Somebody else has places of their own.
            let (theirs, ()) = tokio::join!(other.check(&theirs), async {
                until_waiting(&app, 2).await;
                other.client.try_call("cancel_task", json!({"taskId": theirs.id})).await.unwrap();
            });
            assert_eq!(theirs["status"], "cancelled");
            agent.end_turn().await;
        });
        assert_eq!(value["status"], "completed_no_summary");
    }

    async fn a_client_that_asks_for_progress_is_told(db: TestDb) {
        let app = hasty(&db, 1).await;
        let client = Outside::connect(&app).await;
        let run = client.start("Do it.").await;
        let agent = run.launch(&app).await;
        let mut listener = Client::connect(&app, &client.token).await;
        let peer = listener.service.peer().clone();
        let arguments = run.ids().as_object().unwrap().clone();
        let call = rmcp::model::CallToolRequestParams::new("check_task").with_arguments(arguments);
        let waiting = tokio::spawn(async move { peer.call_tool(call).await });
        listener.told_of_progress(3).await;
        agent.end_turn().await;
        let (value, _) = checked("check_task", &soon(waiting).await.unwrap().unwrap());
        assert_eq!(value["status"], "completed_no_summary");
    }
}

/// The words of a run go to its agent, and to its client when it asks for them by name; to nobody else, and into no log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_words_that_were_asked_are_nowhere_else() {
    const WORDS: &str = "xylophone";
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_env_filter("server=trace,board=trace,store=trace,domain=trace")
        .with_writer(move || writer.clone())
        .json()
        .init();
    let db = TestDb::sqlite().await;
    let app = hasty(&db, 1_000).await;
    let client = Outside::connect(&app).await;
    let asked = json!({"task": format!("Build a {WORDS}."), "context": format!("About a {WORDS}."), "senderName": WORDS});
    let run = Started::of(&client.call("run_task", asked.clone()).await);
    client.call("run_task", asked).await;
    client.check(&run).await;
    let agent = run.launch(&app).await;
    say(&app, &agent, "Working.").await;
    client.check(&run).await;
    client
        .refused(
            "run_task",
            json!({"task": format!("More {WORDS}."), "sessionKey": run.session}),
        )
        .await;
    for detail in [
        "core",
        "summary",
        "updates",
        "artifacts",
        "diagnostics",
        "full",
        "fullWithDiagnostics",
    ] {
        let mut arguments = run.ids();
        arguments["detail"] = json!(detail);
        client.call("get_task", arguments).await;
    }
    agent.end_turn().await;
    client.check(&run).await;
    client.call("list_tasks", json!({"view": "all"})).await;
    client
        .call("list_tasks_kandev", list_arguments(&app).await)
        .await;
    client
        .refused(
            "run_task",
            json!({"task": format!("More {WORDS}."), "agent": "nobody"}),
        )
        .await;
    client.refused("get_task", json!({"taskId": WORDS})).await;
    client.call("cancel_task", run.ids()).await;
    let told = client.told.lock().unwrap().clone();
    assert!(told.len() > 12);
    for answer in told {
        assert!(!answer.contains(WORDS), "{answer}");
    }
    let metrics = app.mcp().run_metrics().render();
    assert!(!metrics.contains(WORDS));
    let lines = log.text();
    assert!(
        lines.contains("run tool called") && lines.contains("\"tool\":\"check_task\""),
        "{lines}"
    );
    assert!(
        !lines.contains(WORDS),
        "{}",
        lines
            .lines()
            .find(|line| line.contains(WORDS))
            .unwrap_or_default()
    );
    // And by name it is there.
    let mut arguments = run.ids();
    arguments["detail"] = json!("prompt");
    let value = client.call("get_task", arguments).await;
    assert_eq!(value["prompt"]["task"], format!("Build a {WORDS}."));
}

async fn list_arguments(app: &TestApp) -> Value {
    let board = app.board();
    let workspace = board
        .workspace_list(&Actor::Operator)
        .await
        .unwrap()
        .remove(0);
    let workflow = board
        .workflow_list(&Actor::Operator, workspace.id)
        .await
        .unwrap()
        .remove(0);
    json!({"workflow_id": workflow.workflow.id})
}

/// Where the log goes in a test that reads it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Many clients wait at once, each for a run of its own, and each is told of its end. With `FLIGHTDECK_TEST_LONG=1` they are two
/// thousand, and each is told within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_waiters_are_each_woken_by_the_end_of_their_run() {
    let long = std::env::var_os("FLIGHTDECK_TEST_LONG").is_some();
    let waiters = if long { 2_000 } else { 60 };
    let db = TestDb::sqlite().await;
    let app = Arc::new(
        hasty_with(&db, 1, |config| {
            config.runs.limits.per_client = waiters;
            config.runs.bounds.usual = 120_000;
            config.runs.bounds.most = 120_000;
        })
        .await,
    );
    let made = app
        .board()
        .token_create(&Actor::Operator, "many")
        .await
        .unwrap();
    let actor = Actor::External {
        token: made.info.id,
    };
    let raw = Raw::connect(&app, &made.token).await;
    let mut runs = Vec::new();
    for n in 0..waiters {
        let call = domain::run::ask::RunTask {
            asked: domain::run::ask::Asked {
                task: format!("Task {n}"),
                ..domain::run::ask::Asked::default()
            },
            ..domain::run::ask::RunTask::default()
        };
        runs.push(
            app.board()
                .run_start(&actor, &call)
                .await
                .unwrap()
                .view
                .task_id,
        );
    }
    let before = resident();
    let mut waits = tokio::task::JoinSet::new();
    for run in &runs {
        let (raw, run) = (raw.clone(), *run);
        waits.spawn(async move {
            let answer = raw
                .call(
                    "check_task",
                    &json!({"taskId": run}),
                    Duration::from_secs(100),
                )
                .await;
            (run, answer, Instant::now())
        });
    }
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    tokio::time::timeout(Duration::from_secs(60), async {
        while waiting(&app) != waiters.to_string() {
            ticks.tick().await;
        }
    })
    .await
    .unwrap();
    let held = resident().saturating_sub(before);
    let mut ended = std::collections::HashMap::new();
    for run in &runs {
        let target = domain::run::ask::RunTarget {
            task_id: Some(run.to_string()),
            ..domain::run::ask::RunTarget::default()
        };
        app.board().run_cancel(&actor, &target).await.unwrap();
        ended.insert(*run, Instant::now());
    }
    let mut delays = Vec::new();
    while let Some(done) = waits.join_next().await {
        let (run, answer, at) = done.unwrap();
        assert_eq!(answer.unwrap()["status"], "cancelled");
        delays.push(at.saturating_duration_since(ended[&run]));
    }
    delays.sort_unstable();
    println!(
        "{waiters} waiters, {} kB each with both ends of the connection; told after p50 {:?}, p99 {:?}, max {:?}",
        held / waiters,
        delays[waiters / 2],
        delays[waiters * 99 / 100],
        delays[waiters - 1]
    );
    assert!(
        !long || delays[waiters - 1] < Duration::from_secs(1),
        "{:?}",
        delays[waiters - 1]
    );
    assert_eq!(waiting(&app), "0");
}

/// Memory of this process, in kB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}
