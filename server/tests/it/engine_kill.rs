//! The server is killed at random moments of what the workflow engine does: prompts that wait in queues, moves that wait for a
//! turn's end, cards that wait for a place, starts that wait for another task.
//!
//! What must hold whatever the moment: each prompt that was accepted is seen by an agent exactly once, no move waits for ever, no
//! place stays empty while a card waits for it, and what waited for a task that was completed is started once.
//! `FLIGHTDECK_TEST_LONG=1` makes it 100 kills; the seed is printed, and `FLIGHTDECK_TEST_SEED` repeats a run.

#![expect(
    clippy::print_stdout,
    reason = "what was tried is printed, so that a failure can be repeated"
)]

use crate::process::{Data, Server, counts, text};
use crate::support::chance::chance;
use rand::RngExt;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// An agent that takes a moment for its work.
const WORK: &str = "e2e:message(\"Working.\")\ne2e:delay(120)\ne2e:message(\"Done.\")";

/// What was asked for so far.
struct World {
    random: StdRng,
    /// Steps of the board by name.
    steps: Vec<(String, String)>,
    tasks: Vec<String>,
    /// Tasks that another waits for.
    first: Vec<String>,
    /// Words that an agent must hear exactly once.
    words: BTreeSet<String>,
}

impl World {
    fn step(&self, name: &str) -> &str {
        let found = self.steps.iter().find(|(known, _)| known == name);
        &found.expect("a step of the board").1
    }

    fn any(&mut self, of: &[String]) -> Option<String> {
        if of.is_empty() {
            return None;
        }
        Some(of[self.random.random_range(0..of.len())].clone())
    }

    /// In Progress takes one card at a time, and Review starts its agent.
    async fn set_up(&mut self, server: &Server) {
        let workspace = server.workspace().await;
        let workflows = server
            .get(&format!("/workspaces/{workspace}/workflows"))
            .await;
        for step in workflows["workflows"][0]["steps"]
            .as_array()
            .expect("steps")
        {
            self.steps.push((text(&step["name"]), text(&step["id"])));
        }
        let review =
            json!({"prompt": "Review it.", "events": {"on_enter": [{"type": "auto_start_agent"}]}});
        for (name, change) in [("In Progress", json!({"wip_limit": 1})), ("Review", review)] {
            let path = format!("/workflow/steps/{}", self.step(name));
            let (status, answer) = server.call(Method::PATCH, &path, Some(change)).await;
            assert!(status.is_success(), "{answer}");
        }
    }

    async fn make(&mut self, server: &Server, title: &str, blocked_by: &[&str]) -> String {
        let words = format!("{WORK}\ne2e:message(\"{title}\")");
        let profile = server.demo_profile().await;
        let body = json!({"title": title, "description": words, "agent_profile_id": profile, "blocked_by": blocked_by});
        let id = text(&server.post("/tasks", body).await["id"]);
        self.words.insert(words);
        self.tasks.push(id.clone());
        id
    }

    /// One more of everything that may be cut off.
    async fn round(&mut self, server: &Server, n: usize) {
        let first = self.make(server, &format!("First {n}"), &[]).await;
        self.make(server, &format!("Then {n}"), &[&first]).await;
        self.make(server, &format!("Beside {n}"), &[]).await;
        // What waits to be started would be started by these, with other words.
        let tasks = server.tasks().await;
        let started = tasks.iter().filter(|task| task["session_count"] != 0);
        let started: Vec<String> = started.map(|task| text(&task["id"])).collect();
        for k in 0..2 {
            let Some(task) = self.any(&started) else {
                break;
            };
            let words = format!("Note {n}.{k}");
            let path = format!("/tasks/{task}/messages");
            let body = Some(json!({"content": words}));
            let (status, _) = server.call(Method::POST, &path, body).await;
            if status.is_success() {
                self.words.insert(words);
            }
        }
        if let Some(task) = self.any(&started) {
            let to = if self.random.random_bool(0.5) {
                "Review"
            } else {
                "In Progress"
            };
            let body = Some(json!({"workflow_step_id": self.step(to)}));
            let path = format!("/tasks/{task}/move");
            server.call(Method::POST, &path, body).await;
        }
        let done = tasks.iter().filter(|task| may_end(task, &self.first));
        let done: Vec<String> = done.map(|task| text(&task["id"])).collect();
        if let Some(task) = self.any(&done) {
            complete(server, &task).await;
        }
        self.first.push(first);
    }
}

/// One of the tasks that others wait for has done its work and rests.
fn may_end(task: &Value, first: &[String]) -> bool {
    first.iter().any(|id| task["id"] == json!(id))
        && task["state"] == "REVIEW"
        && task["queued_prompt_count"] == 0
}

async fn complete(server: &Server, task: &str) {
    let done = json!({"state": "done"});
    let (status, answer) = server
        .call(Method::PATCH, &format!("/tasks/{task}"), Some(done))
        .await;
    assert!(status.is_success(), "{answer}");
}

/// Waits until nothing runs and nothing waits but for a place.
async fn rest(server: &Server) -> Vec<Value> {
    server
        .until("rest", async |server| {
            let tasks = server.tasks().await;
            let is_quiet = |task: &Value| {
                let state = task["primary_session_state"].as_str();
                let busy = matches!(state, Some("STARTING" | "RUNNING"));
                !busy && (task["queued_prompt_count"] == 0 || task["wip_admitted"] == false)
            };
            tasks.iter().all(is_quiet).then_some(tasks)
        })
        .await
}

store::on_both_engines! {
    async fn what_the_engine_was_about_to_do_is_done_once_after_kills(db: TestDb) {
        let (long, random) = chance();
        let mut world = World {
            random,
            steps: Vec::new(),
            tasks: Vec::new(),
            first: Vec::new(),
            words: BTreeSet::new(),
        };
        let data = Data::new(db);
        let kills = if long { 100 } else { 6 };
        for n in 0..kills {
            let server = Server::start(&data).await;
            if n == 0 {
                world.set_up(&server).await;
            }
            world.round(&server, n).await;
            // The moment of the kill is the random input of this test, not a wait for something.
            tokio::time::sleep(Duration::from_millis(world.random.random_range(0..1_500))).await;
            server.kill().await;
        }

        let server = Server::start(&data).await;
        let in_progress = world.step("In Progress").to_owned();
        let mut tasks = rest(&server).await;
        for n in 0..world.tasks.len() * 4 {
            if let Some(first) = tasks.iter().find(|task| may_end(task, &world.first)) {
                complete(&server, &text(&first["id"])).await;
                tasks = rest(&server).await;
                continue;
            }
            let waits = |task: &Value| task["wip_admitted"] == false;
            if !tasks.iter().any(waits) {
                break;
            }
            // A card whose turn was cut off keeps its place until its operator goes on with it; then the next ones come.
            let holds = |task: &&Value| {
                task["workflow_step_id"] == json!(in_progress) && !waits(task) && task["state"] != "COMPLETED"
            };
            let holders: Vec<&Value> = tasks.iter().filter(holds).collect();
            let [holder] = &holders[..] else {
                panic!("{} cards hold one place while others wait: {tasks:#?}", holders.len());
            };
            let words = format!("Go on {n}.");
            server.post(&format!("/tasks/{}/messages", text(&holder["id"])), json!({"content": words})).await;
            world.words.insert(words);
            tasks = rest(&server).await;
        }
        check(&data, &server, &world, &tasks).await;
    }
}

async fn check(data: &Data, server: &Server, world: &World, tasks: &[Value]) {
    let seen = counts(data.prompts_seen());
    let twice: Vec<_> = seen.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "prompts seen more than once: {twice:?}");
    assert_eq!(tasks.len(), world.tasks.len());
    let mut sent = Vec::new();
    let mut heard = Vec::new();
    for task in tasks {
        assert_eq!(task["queued_prompt_count"], 0, "still queued: {task}");
        assert!(
            task["pending_move_step_id"].is_null(),
            "still to be moved: {task}"
        );
        assert_ne!(task["session_count"], 0, "never started: {task}");
        for message in server.transcript(&text(&task["id"])).await {
            if let Some(prompt) = message["metadata"]["prompt_id"].as_str() {
                sent.push(prompt.to_owned());
                heard.push(text(&message["content"]));
            }
        }
    }
    println!("{} tasks, {} prompts", tasks.len(), sent.len());
    let missing: Vec<_> = sent.iter().filter(|id| !seen.contains_key(*id)).collect();
    assert!(
        missing.is_empty(),
        "prompts that no agent has seen: {missing:?}"
    );
    let heard = counts(heard);
    for words in &world.words {
        assert_eq!(heard.get(words), Some(&1), "heard once: {words}");
    }
}
