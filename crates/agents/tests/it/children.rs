//! The demo agent as the parent of an autopilot task.

use agents::{acp::Prompt, event::StopReason};
use serde_json::json;

use crate::support::{Agent, demo, folder, mcp::Server, soon, text, trials};

trials![
    a_childs_question_is_answered_with_its_first_choice,
    a_set_answer_wins_and_uses_no_section,
    an_answer_can_be_given_twice_or_not_at_all,
    an_answer_can_come_from_elsewhere_by_explicit_ids,
    a_cancelled_answer_is_given_up,
    the_demo_creates_an_autopilot_child,
];

async fn parent() -> (tempfile::TempDir, Server, Agent) {
    let folder = folder();
    let server = Server::start().await;
    let mut spec = demo(folder.path());
    spec.mcp = Some(server.endpoint.clone());
    let agent = Agent::launch(spec).await;
    (folder, server, agent)
}

fn question(id: &str) -> Prompt {
    let hidden = format!(
        "prompt_id: p-{id}\ntask_id: parent\n\nAUTOPILOT CHILD QUESTION\nquestion_id: {id}\nchild_task_id: c1\nchild_session_id: s1\n\
         questions: [{{\"id\":\"q1\",\"prompt\":\"Which?\",\"options\":[{{\"label\":\"Postgres\",\"description\":\"x\"}},{{\"label\":\"SQLite\",\"description\":\"y\"}}]}}]\n\
         Answer with message_task_kandev."
    );
    Prompt {
        hidden: Some(hidden),
        text: "Your child task asks: Which?".to_owned(),
    }
}

fn reply(question_id: &str, answer: &str) -> (String, serde_json::Value) {
    let arguments = json!({"task_id": "c1", "reply_to_question_id": question_id, "prompt": answer});
    ("message_task_kandev".to_owned(), arguments)
}

async fn a_childs_question_is_answered_with_its_first_choice() {
    let (_folder, server, agent) = parent().await;
    agent.turn(question("q1")).await;
    assert_eq!(server.calls(), [reply("q1", "Postgres")]);
    assert_eq!(agent.events.answer(), "I answered my child task: Postgres");
}

async fn a_set_answer_wins_and_uses_no_section() {
    let (_folder, server, agent) = parent().await;
    agent.say("e2e:answer(\"For {child_task_id}: SQLite.\")\ne2e:next_turn()\ne2e:message(\"section two\")").await;
    agent.turn(question("q1")).await;
    assert_eq!(server.calls(), [reply("q1", "For c1: SQLite.")]);
    agent.say("now the section").await;
    assert!(agent.events.answer().ends_with("section two"));
}

async fn an_answer_can_be_given_twice_or_not_at_all() {
    let (_folder, server, agent) = parent().await;
    agent.say("e2e:answer(\"a\")\ne2e:answer_times(2)").await;
    agent.turn(question("q1")).await;
    assert_eq!(server.calls(), [reply("q1", "a"), reply("q1", "a")]);
    agent.say("e2e:answer_times(0)").await;
    agent.turn(question("q2")).await;
    assert_eq!(server.calls().len(), 2);
}

async fn an_answer_can_come_from_elsewhere_by_explicit_ids() {
    let (_folder, server, agent) = parent().await;
    let script = "e2e:mcp:kandev:message_task_kandev({\"task_id\":\"c9\",\"reply_to_question_id\":\"q9\",\"prompt\":\"late\"})";
    agent.say(script).await;
    let arguments = json!({"task_id": "c9", "reply_to_question_id": "q9", "prompt": "late"});
    assert_eq!(
        server.calls(),
        [("message_task_kandev".to_owned(), arguments)]
    );
}

async fn a_cancelled_answer_is_given_up() {
    let (_folder, server, agent) = parent().await;
    agent.say("e2e:answer_delay(600000)").await;
    let mut turn = agent.handle().prompt(&question("q1")).expect("idle");
    soon("the acceptance", turn.accepted())
        .await
        .expect("accepted");
    assert!(agent.handle().cancel());
    let end = agent.finish(turn).await.expect("a stop reason");
    assert_eq!(end.stop_reason, StopReason::Cancelled);
    agent.say("/simple-message").await;
    assert!(server.calls().is_empty());
}

async fn the_demo_creates_an_autopilot_child() {
    let (_folder, server, agent) = parent().await;
    agent.turn(text("/demo Write a notes app")).await;
    let [(tool, arguments)] = &server.calls()[..] else {
        panic!("{:?}", server.calls())
    };
    assert_eq!(tool, "create_task_kandev");
    assert_eq!(
        (&arguments["parent_id"], &arguments["autopilot"]),
        (&json!("self"), &json!(true))
    );
    assert!(
        arguments["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.starts_with("/demo-child "))
    );
    agent.turn(question("q1")).await;
    assert!(
        server.calls()[1].1["prompt"]
            .as_str()
            .is_some_and(|answer| answer.starts_with("SQLite."))
    );
}
