//! Two operators at once, and an answer through HTTP to an agent that waits.

use crate::support::agent::Agent;
use crate::support::{TestApp, soon};
use serde_json::{Value, json};

const QUESTION: &str = "ask_user_question_kandev";

fn question() -> Value {
    json!({"questions": [{"id": "db", "prompt": "Which store?", "options": [
        {"id": "lite", "label": "SQLite", "description": "embedded"},
        {"id": "pg", "label": "Postgres"},
    ]}]})
}

store::on_both_engines! {
    async fn of_two_answers_at_once_one_wins_and_both_learn_which(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let waiting = client.call(QUESTION, question());
        let answer = async {
            let page = app
                .until(&format!("/tasks/{}/page", agent.task), |page| {
                    page["clarifications"]
                        .as_array()
                        .is_some_and(|open| !open.is_empty())
                })
                .await;
            assert_eq!(page["task"]["task_pending_action"], "clarification");
            assert_eq!(page["sessions"][0]["pending_action"], "clarification");
            let pending = page["clarifications"][0]["pending_id"]
                .as_str()
                .unwrap()
                .to_owned();
            let path = format!("/clarification/{pending}/respond");
            let with = |option: &str| json!({"answers": [{"question_id": "db", "selected_options": [option], "custom_text": ""}]});
            let (one, other) = tokio::join!(app.post(&path, with("lite")), app.post(&path, with("pg")));
            let later = app.post(&path, json!({"rejected": true})).await;
            (one, other, later)
        };
        let (result, (one, other, later)) =
            soon(Box::pin(async { tokio::join!(waiting, answer) })).await;
        for reply in [&one, &other, &later] {
            assert_eq!(reply.status, 200, "{}", reply.json);
            assert_eq!(reply.json["status"], "answered");
            assert_eq!(reply.json["response"], result);
        }
        let won: Vec<bool> = [&one, &other, &later]
            .map(|reply| reply.json["claimed"].as_bool().unwrap())
            .to_vec();
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        assert!(!won[2]);
        let winner = if won[0] { "SQLite" } else { "Postgres" };
        assert_eq!(result["db"]["selected_option"]["label"], winner);
    }

    // Task-domain 5.6: nobody waits for the answer any more, so it is brought to the agent as a prompt, once.
    async fn of_many_answers_at_once_to_a_question_that_nobody_waits_for_one_reaches_the_agent(db: TestDb) {
        let app = TestApp::on(&db).await;
        let mut agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let bundle = {
            let asking = client.call(QUESTION, question());
            let shown = pending(&app, &agent);
            tokio::select! {
                _ = asking => panic!("nobody has answered"),
                bundle = shown => bundle,
            }
        };
        drop(client);
        let page = format!("/tasks/{}/page", agent.task);
        app.until(&page, |page| page["clarifications"][0]["agent_disconnected"] == true).await;
        agent.end_turn().await;
        let path = format!("/clarification/{bundle}");
        let respond = format!("{path}/respond");
        let answers = futures::future::join_all(["lite", "pg", "lite", "pg", "lite"].map(|option| {
            app.post(&respond, json!({"answers": [{"question_id": "db", "selected_options": [option]}]}))
        }));
        let deliver = async {
            app.until(&path, |bundle| bundle["status"] == "responding").await;
            agent.next_turn().await
        };
        let (replies, prompt) = soon(Box::pin(async { tokio::join!(answers, deliver) })).await;
        let won: Vec<_> = replies.iter().filter(|reply| reply.json["claimed"] == true).collect();
        assert_eq!(won.len(), 1);
        for reply in &replies {
            assert_eq!((reply.status, &reply.json["status"]), (200, &json!("answered")), "{}", reply.json);
            assert_eq!(reply.json["response"], won[0].json["response"], "all learn who was first");
        }
        let label = won[0].json["response"]["db"]["selected_option"]["label"].as_str().unwrap();
        assert!(prompt.contains(label), "{prompt}");
        let queue = app.get(&format!("/task-sessions/{}/queue", agent.session)).await.json;
        assert_eq!(queue["count"], 0, "one prompt, not five");
    }

    async fn a_skipped_question_is_a_result_and_not_an_error(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let waiting = client.call(QUESTION, question());
        let skip = async {
            let pending = pending(&app, &agent).await;
            let body = json!({"rejected": true, "reject_reason": "You decide."});
            app.post(&format!("/clarification/{pending}/respond"), body)
                .await
        };
        let (result, reply) = soon(Box::pin(async { tokio::join!(waiting, skip) })).await;
        assert_eq!(reply.json["status"], "rejected");
        assert_eq!(
            result,
            json!({"db": {"answered": false, "rejected": true}, "rejected": true, "reject_reason": "You decide."})
        );
    }

    async fn bad_answers_are_refused_and_the_question_stays_open(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let client = agent.connect(&app).await;
        let waiting = client.call(QUESTION, question());
        let answer = async {
            let path = format!("/clarification/{}/respond", pending(&app, &agent).await);
            for bad in [
                json!({"answers": []}),
                json!({"answers": [{"question_id": "other", "selected_options": ["lite"]}]}),
                json!({"answers": [{"question_id": "db", "selected_options": ["mysql"]}]}),
                json!({"answers": [{"question_id": "db", "custom_text": "é".repeat(2_001)}]}),
                json!({"answers": [{"question_id": "db", "selected_options": ["lite"], "extra": 1}]}),
            ] {
                let reply = app.post(&path, bad.clone()).await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (400, "VALIDATION_ERROR"),
                    "{bad}"
                );
            }
            let good = json!({"answers": [{"question_id": "db", "custom_text": "é".repeat(2_000)}]});
            assert_eq!(app.post(&path, good).await.json["claimed"], true);
        };
        let (result, ()) = soon(Box::pin(async { tokio::join!(waiting, answer) })).await;
        assert_eq!(result["db"]["custom_text"], "é".repeat(2_000));
    }

    async fn of_two_choices_for_a_permission_the_first_wins(db: TestDb) {
        let app = TestApp::on(&db).await;
        let agent = Agent::launch(&app, app.started_task("A").await).await;
        let option = |id: &str, kind: &str| domain::permission::PermissionOption {
            option_id: id.to_owned(),
            name: id.to_uppercase(),
            kind: kind.to_owned(),
        };
        let options = vec![option("yes", "allow_once"), option("no", "reject_once")];
        let permission = app
            .board()
            .permission_request(
                agent.session,
                crate::support::agent::NODE,
                "7",
                json!({"title": "rm -rf build"}),
                options,
            )
            .await
            .unwrap();
        let path = format!("/permissions/{permission}/respond");
        let unknown = app.post(&path, json!({"option_id": "maybe"})).await;
        assert_eq!(unknown.code(), "VALIDATION_ERROR");
        let (yes, no) = tokio::join!(
            app.post(&path, json!({"option_id": "yes"})),
            app.post(&path, json!({"option_id": "no"}))
        );
        let mut statuses = [yes.status, no.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

/// The id of the question that an agent has put to its operator.
pub(crate) async fn pending(app: &TestApp, agent: &Agent) -> String {
    let page = app
        .until(&format!("/tasks/{}/page", agent.task), |page| {
            page["clarifications"]
                .as_array()
                .is_some_and(|open| !open.is_empty())
        })
        .await;
    page["clarifications"][0]["pending_id"]
        .as_str()
        .unwrap()
        .to_owned()
}
