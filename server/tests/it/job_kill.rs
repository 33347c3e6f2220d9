//! Server and worker of AI jobs are killed at random moments, again and again (durable-jobs 9, 14).
//!
//! The model and the chat platform are stand-ins that speak the real wire formats and outlive every kill. What must hold whatever
//! the moment: every job ends, no user gets a piece twice, no tool acts twice, and an answer that is stored is not made again. The
//! seed is printed, and `FLIGHTDECK_TEST_SEED` repeats a run; `FLIGHTDECK_TEST_LONG=1` makes it 300 kills over 200 jobs.

#![expect(
    clippy::print_stdout,
    reason = "what was tried is printed, so that a failure can be repeated"
)]

use crate::process::{Data, Server, counts, text};
use crate::support::chance::chance;
use crate::support::discord::{self, DiscordServer};
use assistant::provider::Kind;
use assistant::testing::{Asked, ModelServer, Say};
use rand::RngExt;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const KEY: &str = "internal-key-of-the-test";
/// Words of an answer: enough for several pieces.
const WORDS: usize = 400;
/// The first user's id at the platform.
const FIRST: usize = 7_000_000;

/// What messages call the user of a job.
fn name_of(job: &Value) -> String {
    format!("user-{}", text(&job["userId"]))
}

/// The user a conversation is with: no other word of a conversation has this form.
fn user_of(words: &str) -> String {
    let start = words.find("user-").expect("the message names its user");
    words[start..]
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn answer(user: &str) -> String {
    (0..WORDS)
        .map(|n| format!("{user}.{n}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A model that thinks, makes one task for its user, thinks, and then says a lot.
fn model(asked: &Asked) -> Say {
    let user = user_of(&asked.words());
    let say = if asked.is_after_tool() {
        Say::text(answer(&user))
    } else {
        Say::call("create_task", json!({"title": format!("For {user}.")}))
    };
    Say::Late(Duration::from_millis(200), Box::new(say))
}

/// The answers that the model has given, by user.
fn answers_made(model: &ModelServer) -> HashMap<String, usize> {
    let asked = model.asked();
    counts(
        asked
            .iter()
            .filter(|asked| asked.is_after_tool())
            .map(|asked| user_of(&asked.words())),
    )
}

async fn all_jobs(server: &Server) -> Vec<Value> {
    let page = server
        .jobs(KEY, Method::GET, "/ai/jobs?limit=200", None)
        .await;
    page["jobs"].as_array().expect("a list").clone()
}

/// How often each user's answer was made when it was first seen stored.
#[derive(Default)]
struct Stored(HashMap<String, usize>);

impl Stored {
    /// Whoever's answer is stored gets no other one made.
    fn check(&mut self, jobs: &[Value], made: &HashMap<String, usize>) {
        for job in jobs.iter().filter(|job| job["answerText"].is_string()) {
            let user = name_of(job);
            let made = made.get(&user).copied().unwrap_or_default();
            assert_eq!(
                *self.0.entry(user.clone()).or_insert(made),
                made,
                "the answer to {user} was stored and made again"
            );
        }
    }
}

async fn hand_in(server: &Server, n: usize) {
    let user = FIRST + n;
    let body = json!({
        "userId": user.to_string(),
        "content": format!("Please create a task for user-{user}."),
        "messageId": format!("message-{n}"),
    });
    let answer = server
        .jobs(KEY, Method::POST, "/gateway/dm-autopilot", Some(body))
        .await;
    assert_eq!(answer["queued"], true, "{answer}");
}

store::on_both_engines! {
    async fn jobs_survive_kills_of_server_and_worker_at_random_moments(db: TestDb) {
        let (long, mut random) = chance();
        let (kills, jobs) = if long { (300, 200) } else { (8, 24) };
        let model = ModelServer::start(model).await;
        let discord = DiscordServer::start().await;
        discord.slow_down(Duration::from_millis(50));
        let data = Data::new(db);
        let base_url = model.base_url(Kind::OpenAi);
        let settings = |scheduler: &'static str| [
            ("OPENAI_BASE_URL", base_url.as_str()),
            ("OPENAI_API_KEY", "sk-stand-in"),
            ("OPENAI_MODEL", "stand-in"),
            ("AI_AUTOPILOT_INTERNAL_KEY", KEY),
            ("DM_AUTOPILOT_ENABLED", "true"),
            ("DISCORD_BOT_TOKEN", discord::TOKEN),
            ("DISCORD_API_BASE", discord.url()),
            ("FLIGHTDECK_JOBS_SCHEDULER", scheduler),
            ("FLIGHTDECK_JOBS_LEASE_MS", "1000"),
            ("FLIGHTDECK_JOBS_WATCHDOG_MS", "1000"),
        ];

        let mut stored = Stored::default();
        let (mut killed, mut handed) = (0, 0);
        while killed < kills {
            let own = random.random_bool(0.3);
            let server = Server::start_with(&data, &settings(if own { "true" } else { "false" })).await;
            stored.check(&all_jobs(&server).await, &answers_made(&model));
            // A gateway that was cut off hands its last message in again.
            let due = jobs * (killed + 1) / kills;
            for n in handed.max(1) - 1..due {
                hand_in(&server, n).await;
            }
            handed = due;
            let mut worker = (!own).then(|| server.worker(KEY));
            // The moment of a kill is the random input of this test, not a wait for something.
            sleep(Duration::from_millis(random.random_range(50..1_500))).await;
            while random.random_bool(0.4) && killed + 1 < kills {
                let Some(gone) = worker.take() else { break };
                gone.kill().await;
                killed += 1;
                worker = Some(server.worker(KEY));
                sleep(Duration::from_millis(random.random_range(50..1_500))).await;
            }
            server.kill().await;
            killed += 1;
            if let Some(worker) = worker {
                worker.kill().await;
            }
        }

        let server = Server::start_with(&data, &settings("false")).await;
        let worker = server.worker(KEY);
        for n in handed.max(1) - 1..jobs {
            hand_in(&server, n).await;
        }
        let give_up = Instant::now() + Duration::from_secs(if long { 600 } else { 75 });
        let ended = loop {
            let all = all_jobs(&server).await;
            stored.check(&all, &answers_made(&model));
            let open = all.iter().filter(|job| !matches!(job["status"].as_str(), Some("completed" | "failed_terminal" | "canceled"))).count();
            if open == 0 {
                break all;
            }
            assert!(Instant::now() < give_up, "{open} jobs did not end: {all:?}");
            sleep(Duration::from_millis(100)).await;
        };
        worker.kill().await;
        check(&server, &ended, jobs, &discord, killed, &answers_made(&model)).await;
    }
}

async fn check(
    server: &Server,
    ended: &[Value],
    jobs: usize,
    discord: &DiscordServer,
    killed: usize,
    made: &HashMap<String, usize>,
) {
    assert_eq!(ended.len(), jobs, "each message is one job");
    let cards = counts(
        server
            .tasks()
            .await
            .iter()
            .map(|task| text(&task["title"]))
            .filter(|title| title.starts_with("For user-")),
    );
    let twice: Vec<_> = cards.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "a tool acted twice: {twice:?}");

    let shown = discord.shown();
    let words = counts(
        shown
            .iter()
            .flat_map(|message| message.content.split_whitespace())
            .filter(|word| word.starts_with("user-"))
            .map(str::to_owned),
    );
    let mut completed = 0;
    for job in ended {
        let user = name_of(job);
        let got = (0..WORDS).map(|n| {
            words
                .get(&format!("{user}.{n}"))
                .copied()
                .unwrap_or_default()
        });
        if job["status"] == "completed" {
            completed += 1;
            assert!(
                got.clone().all(|times| times == 1),
                "{user} did not get the whole answer once"
            );
            assert_eq!(
                cards.get(&format!("For {user}.")),
                Some(&1),
                "{user} has a card"
            );
        } else {
            assert!(
                got.clone().all(|times| times <= 1),
                "{user} got a piece twice"
            );
            let told = format!("9{}", text(&job["userId"]));
            assert!(
                shown.iter().any(|message| message.channel == told
                    && message.content.contains(&text(&job["correlationId"]))),
                "{user}, whose job was given up, was not told: {job}"
            );
        }
    }
    let again: usize = made.values().map(|times| times - 1).sum();
    println!(
        "{killed} kills, {jobs} jobs, {completed} completed, {} messages, {again} answers lost before they were stored",
        shown.len()
    );
    assert!(
        completed * 2 > jobs,
        "too few were completed to show anything"
    );
}
