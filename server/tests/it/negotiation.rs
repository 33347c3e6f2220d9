//! The worked negotiation of docs/agent-communication.md, played by two real agent processes.
//!
//! The web client proposes, the search service amends, the web client agrees: three turns, no human between them. Permissions
//! stand for the work within a turn, so that who is busy when a message comes is no matter of chance.

use crate::process::{Data, Server, text};
use serde_json::{Value, json};

const PROPOSAL: &str = "I build the search page against your service (task \"Search service\"). Proposal: GET /search?q=…&page=N, \
                        answering {items, total}. Can you serve exactly that? Answer yes, or name the one change you need.";
const FINDING: &str = "Page numbers are slow on this index, a cursor is not.";
const AMENDMENT: &str = "One change: a cursor instead of page, so GET /search?q=…&cursor=C, answering {items, next_cursor}. Agreed?";
const AGREEMENT: &str =
    "Agreed: GET /search?q=…&cursor=C, answering {items, next_cursor}. I build against that now.";

fn call(tool: &str, arguments: &Value) -> String {
    format!("e2e:mcp:kandev:{tool}({arguments})\ne2e:fail_if_error()")
}

fn tell(task: &str, words: &str) -> String {
    call(
        "message_task_kandev",
        &json!({"task_id": task, "prompt": words}),
    )
}

/// Lets an agent go on that asked for permission.
async fn allow(server: &Server, task: &str, title: &str) {
    let request = server
        .until(title, async |s| {
            let page = s.get(&format!("/tasks/{task}/page")).await;
            page["permissions"]
                .as_array()
                .and_then(|open| open.first().cloned())
        })
        .await;
    let options = request["options"].as_array().expect("options");
    let option = options
        .iter()
        .find(|o| o["kind"] == "allow_once")
        .expect("it can be allowed");
    server
        .post(
            &format!("/permissions/{}/respond", text(&request["id"])),
            json!({"option_id": option["option_id"]}),
        )
        .await;
}

/// What an agent said in words, in order.
async fn said(server: &Server, task: &str) -> Vec<String> {
    let transcript = server.transcript(task).await;
    transcript
        .iter()
        .filter(|m| m["type"] == "message" && m["author_type"] == "agent")
        .map(|m| text(&m["content"]))
        .collect()
}

store::on_both_engines! {
    async fn two_agents_agree_on_a_contract_and_the_first_reads_it_back_before_it_builds(db: TestDb) {
        let data = Data::new(db);
        let server = Server::start(&data).await;
        let body = json!({"title": "Web client", "agent_profile_id": server.demo_profile().await, "start_agent": false});
        let client = text(&server.post("/tasks", body).await["id"]);
        let service = server.start_task("Search service", &[
            "e2e:message(\"Ready.\")".to_owned(),
            "e2e:next_turn()".to_owned(),
            format!("e2e:message({})", json!(FINDING)),
            "e2e:permission(\"Try it on the index\")".to_owned(),
            tell(&client, AMENDMENT),
            "e2e:message(\"Second: {result.status}\")".to_owned(),
            "e2e:permission(\"Write the route\")".to_owned(),
            "e2e:next_turn()".to_owned(),
            "e2e:message(\"Noted.\")".to_owned(),
        ].join("\n")).await;
        server.until_session(&service, "WAITING_FOR_INPUT").await;

        // First turn: the client proposes, and ends its turn.
        let read = json!({"task_id": service, "message_types": ["message"], "sort": "asc", "limit": 20});
        let script = [
            tell(&service, PROPOSAL),
            "e2e:message(\"First: {result.status}\")".to_owned(),
            "e2e:next_turn()".to_owned(),
            tell(&service, AGREEMENT),
            "e2e:message(\"Third: {result.status}\")".to_owned(),
            call("get_task_conversation_kandev", &read),
            "e2e:message(\"Read back: {result.messages.2.content} {result.messages.3.content} Building.\")".to_owned(),
        ].join("\n");
        server.post(&format!("/tasks/{client}/messages"), json!({"content": script})).await;
        server.until("the proposal is sent", async |s| {
            let idle = s.task(&client).await["primary_session_state"] == "WAITING_FOR_INPUT";
            (idle && said(s, &client).await.iter().any(|words| words.starts_with("First:"))).then_some(())
        }).await;

        // Second turn: the client rests, so the service's amendment is sent at once. The service works on.
        allow(&server, &service, "the service tries it").await;
        // Third turn: the client agrees while the service is busy, reads back, and builds.
        server.until("the client builds", async |s| said(s, &client).await.iter().any(|w| w.ends_with("Building.")).then_some(())).await;
        assert_eq!(server.task(&service).await["queued_prompt_count"], 1);
        allow(&server, &service, "the service writes the route").await;
        server.until("the agreement is taken note of", async |s| said(s, &service).await.iter().any(|w| w == "Noted.").then_some(())).await;

        assert_eq!(said(&server, &client).await, [
            "First: sent".to_owned(),
            "Third: queued".to_owned(),
            format!("Read back: {PROPOSAL} {FINDING} Building."),
        ]);
        assert_eq!(said(&server, &service).await, ["Ready.", FINDING, "Second: sent", "Noted."]);
        // Coordination is told from an operator's words by who sent it.
        let from = |transcript: Vec<Value>, sender: &str| -> Vec<String> {
            transcript.iter().filter(|m| m["metadata"]["sender_task_id"] == sender).map(|m| text(&m["content"])).collect()
        };
        assert_eq!(from(server.transcript(&service).await, &client), [PROPOSAL, AGREEMENT]);
        assert_eq!(from(server.transcript(&client).await, &service), [AMENDMENT]);
    }
}
