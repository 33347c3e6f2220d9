//! The server is killed at random moments of running exchanges, again and again (decision 0004).
//!
//! What must hold whatever the moment: a question ends exactly one way, each prompt is seen by an agent exactly once, no child
//! waits for nothing. `FLIGHTDECK_TEST_LONG=1` makes it 200 kills; the seed is printed, and `FLIGHTDECK_TEST_SEED` repeats a run.

#![expect(
    clippy::print_stdout,
    reason = "what was tried is printed, so that a failure can be repeated"
)]

use crate::process::{Data, Server, counts, text};
use crate::support::chance::chance;
use rand::RngExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// A child that asks twice and a parent that answers, all as fast as they can.
fn script(n: usize) -> String {
    let ask = |id: &str| {
        format!(
            "e2e:mcp:kandev:ask_parent_question_kandev({})",
            json!({"questions": [{"id": id, "prompt": format!("Which way, {id}?"), "options": ["left", "right"]}]})
        )
    };
    let child = [
        "e2e:message(\"Working.\")".to_owned(),
        ask("first"),
        "e2e:next_turn()".to_owned(),
        "e2e:message(\"Heard: {{prompt}}\")".to_owned(),
        "e2e:delay(20)".to_owned(),
        ask("second"),
        "e2e:next_turn()".to_owned(),
        "e2e:message(\"Done: {{prompt}}\")".to_owned(),
    ]
    .join("\n");
    let create = json!({"title": format!("Child {n}"), "parent_id": "self", "autopilot": true, "prompt": child});
    format!(
        "e2e:answer(\"left\")\ne2e:answer_delay(20)\ne2e:mcp:kandev:create_task_kandev({create})\ne2e:message(\"Delegated.\")"
    )
}

store::on_both_engines! {
    async fn exchanges_survive_kills_at_random_moments(db: TestDb) {
        let (long, mut random) = chance();
        let data = Data::new(db);
        let kills = if long { 200 } else { 8 };
        for n in 0..kills {
            let server = Server::start(&data).await;
            server.start_task(&format!("Parent {n}"), &script(n)).await;
            // The moment of the kill is the random input of this test, not a wait for something.
            tokio::time::sleep(Duration::from_millis(random.random_range(0..3_000))).await;
            server.kill().await;
        }

        let server = Server::start(&data).await;
        let mut tasks = server.until_quiet().await;
        // Parents that were cut off while they were answering do not answer by themselves: an operator moves their children on. A
        // child asks twice, and all can be at rest while its second question is on its way; so this is done until none waits.
        for _ in 0..4 {
            let waiting: Vec<_> = tasks.iter().filter(|t| t["task_pending_action"] == "clarification").collect();
            if waiting.is_empty() {
                break;
            }
            for task in waiting {
                server.post(&format!("/tasks/{}/messages", text(&task["id"])), json!({"content": "Go on without an answer."})).await;
            }
            tasks = server.until_quiet().await;
        }
        check(&data, &server, &tasks).await;
    }
}

async fn check(data: &Data, server: &Server, tasks: &[Value]) {
    let seen = counts(data.prompts_seen());
    let twice: Vec<_> = seen.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "prompts seen more than once: {twice:?}");

    let mut sent = Vec::new();
    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    for task in tasks {
        let id = text(&task["id"]);
        assert!(task["task_pending_action"].is_null(), "still waits: {task}");
        assert_eq!(task["queued_prompt_count"], 0, "still queued: {task}");
        let transcript = server.transcript(&id).await;
        for message in &transcript {
            let metadata = &message["metadata"];
            if let Some(prompt) = metadata["prompt_id"].as_str() {
                sent.push(prompt.to_owned());
            }
            if message["type"] == "clarification_request"
                && metadata["parent_question"] == json!(true)
            {
                let status = text(&metadata["status"]);
                assert!(
                    ["answered", "superseded", "stale"].contains(&status.as_str()),
                    "{message}"
                );
                let answers = transcript
                    .iter()
                    .filter(|m| {
                        m["author_type"] == "user"
                            && m["metadata"]["parent_question_id"] == metadata["parent_question_id"]
                    })
                    .count();
                assert_eq!(
                    answers,
                    usize::from(status == "answered"),
                    "answers delivered to a question that is {status}"
                );
                *endings.entry(status).or_default() += 1;
            }
        }
    }
    println!(
        "{} tasks, {} prompts, questions: {endings:?}",
        tasks.len(),
        sent.len()
    );
    let sent = counts(sent);
    assert!(
        sent.values().all(|n| *n == 1),
        "a prompt is in a transcript twice"
    );
    let mut missing: Vec<_> = sent.keys().filter(|id| !seen.contains_key(*id)).collect();
    missing.sort();
    assert!(
        missing.is_empty(),
        "prompts that no agent has seen: {missing:?}"
    );
    assert!(
        endings.values().sum::<usize>() > 0,
        "no question was ever asked: the test tested nothing"
    );
}
