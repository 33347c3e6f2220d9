//! MCP's own tasks through the real transport, as a client of 2026-07-28 speaks: another view of the same runs.

use crate::support::agent::{Agent, NODE};
use crate::support::{TestApp, soon};
use crate::tool_wire::post;
use board::{Actor, Output, TurnOutcome};
use domain::ids::{MessageId, RunId, SessionId};
use domain::message::MessageType;
use serde_json::{Map, Value, json};
use server::mcp::NativeTasks;
use server::serve::Variation;
use store::testing::TestDb;

const MISSING_CAPABILITY: i64 = -32021;
const UNKNOWN_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const HEADER_MISMATCH: i64 = -32020;

async fn app(db: &TestDb, native: NativeTasks) -> TestApp {
    TestApp::on_configured(db, Variation::default(), |config| {
        config.native_tasks = native;
    })
    .await
}

/// A client that says with each request what it can do.
struct Client<'a> {
    app: &'a TestApp,
    token: String,
    can: Value,
}

impl<'a> Client<'a> {
    /// One that knows tasks and can ask its user.
    async fn new(app: &'a TestApp) -> Self {
        let can = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        Self {
            app,
            token: app.access_token().await,
            can,
        }
    }

    fn that_can(&self, can: Value) -> Self {
        Self {
            app: self.app,
            token: self.token.clone(),
            can,
        }
    }

    /// The whole answer to a request that names `name` in its header.
    async fn send(&self, method: &str, name: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.can,
        });
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", name));
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (_, _, messages) = post(self.app, &self.token, &headers, &body).await;
        let mut answers = messages.into_iter().filter(|message| message["id"] == 1);
        answers.next().expect("an answer")
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.send("tools/call", tool, params).await["result"].take()
    }

    /// A request about a task.
    async fn about(&self, method: &str, task: &str) -> Value {
        self.send(method, task, json!({"taskId": task})).await
    }

    async fn get(&self, task: &str) -> Value {
        self.about("tasks/get", task).await["result"].take()
    }

    async fn update(&self, task: &str, responses: Value) -> Value {
        let params = json!({"taskId": task, "inputResponses": responses});
        self.send("tasks/update", task, params).await
    }

    /// Starts a task with the plain tool, and gives its id and its agent in the middle of a turn.
    async fn working(&self, task: &str) -> (String, Agent) {
        let started = self.call("run_task", json!({"task": task})).await;
        let data = &started["structuredContent"];
        (
            text(&data["taskId"]),
            launch(self.app, &data["sessionKey"]).await,
        )
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

async fn launch(app: &TestApp, session: &Value) -> Agent {
    let session: SessionId = text(session).parse().unwrap();
    let view = app.board().session_get(&Actor::Operator, session).await;
    Agent::launch_session(app, view.unwrap().task_id, session).await
}

async fn say(app: &TestApp, agent: &Agent, words: &str) {
    let output = Output {
        id: MessageId::new(),
        message_type: MessageType::Message,
        content: words.to_owned(),
        metadata: Map::new(),
    };
    let said = app
        .board()
        .record_output(agent.session, NODE, Some(agent.turn), vec![output]);
    said.await.unwrap();
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {answer}"))
}

/// What tells two answers to `check_task` about one outcome apart.
fn without_counters(mut payload: Value) -> Value {
    for counter in ["pollCount", "waitedMs", "waitTargetMs"] {
        payload[counter].take();
    }
    payload
}

store::on_both_engines! {
    async fn a_task_of_the_tools_is_a_native_one_with_the_same_result(db: TestDb) {
        let app = app(&db, NativeTasks::On).await;
        let client = Client::new(&app).await;
        // Plain, as long as nobody chose otherwise.
        let started = client.call("run_task", json!({"task": "Do it."})).await;
        assert_eq!(started["resultType"], "complete");
        let data = &started["structuredContent"];
        let task = text(&data["taskId"]);
        let agent = launch(&app, &data["sessionKey"]).await;
        say(&app, &agent, "Half done.").await;
        let working = client.get(&task).await;
        assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
        assert_eq!((&working["taskId"], &working["ttlMs"]), (&json!(task), &Value::Null));
        assert_eq!(working["statusMessage"], "thinking: Half done.");
        assert_eq!(working["pollIntervalMs"], 2_000);
        assert!(working.get("result").is_none() && working.get("inputRequests").is_none(), "{working}");
        assert!(text(&working["lastUpdatedAt"]) >= text(&working["createdAt"]));
        say(&app, &agent, "All done.").await;
        agent.end_turn().await;
        let over = client.get(&task).await;
        assert_eq!(over["status"], "completed");
        assert!(over["ttlMs"].as_i64().unwrap() >= 7 * 24 * 60 * 60 * 1_000, "{over}");
        let checked = client.call("check_task", json!({"taskId": task})).await;
        let result = &over["result"];
        assert_eq!(result["structuredContent"]["summary"], "All done.");
        assert_eq!((&result["isError"], &checked["isError"]), (&json!(false), &json!(false)));
        let shown: Value = serde_json::from_str(&text(&result["content"][0]["text"])).unwrap();
        assert_eq!(shown, result["structuredContent"]);
        assert_eq!(
            without_counters(shown),
            without_counters(checked["structuredContent"].clone())
        );
        // Reading it this way is no wait, and counts as none.
        assert_eq!(checked["structuredContent"]["pollCount"], 1);
    }

    async fn a_client_that_knows_tasks_is_handed_one(db: TestDb) {
        let app = app(&db, NativeTasks::Auto).await;
        let client = Client::new(&app).await;
        let handle = client.call("run_task", json!({"task": "Do it."})).await;
        assert_eq!((&handle["resultType"], &handle["status"]), (&json!("task"), &json!("working")));
        for absent in ["task", "result", "error", "content", "structuredContent", "requestState"] {
            assert!(handle.get(absent).is_none(), "{handle}");
        }
        let task = text(&handle["taskId"]);
        // It was there before it was spoken of.
        assert_eq!(client.get(&task).await["status"], "working");
        let seen = client.call("get_task", json!({"taskId": task})).await;
        assert_eq!(seen["structuredContent"]["status"], "queued");
        // The same words are the same task, and what is refused is no task.
        assert_eq!(client.call("run_task", json!({"task": "Do it."})).await["taskId"], json!(task));
        let refused = client.call("run_task", json!({"task": " "})).await;
        assert_eq!((&refused["resultType"], &refused["isError"]), (&json!("complete"), &json!(true)));
        // Only starting makes one: a wait never does.
        let plain = client.call("check_task", json!({"taskId": task, "waitMs": 0})).await;
        assert_eq!(plain["resultType"], "complete");
        // Who does not know tasks never sees one.
        for can in [json!({}), json!({"elicitation": {}, "extensions": {"other": {}}})] {
            let answer = client.that_can(can).call("run_task", json!({"task": "Do it."})).await;
            assert_eq!((&answer["resultType"], &answer["structuredContent"]["taskId"]), (&json!("complete"), &json!(task)));
        }
    }

    async fn a_failure_is_a_result_and_a_cancel_is_one_for_good(db: TestDb) {
        let app = app(&db, NativeTasks::On).await;
        let client = Client::new(&app).await;
        let (failed, agent) = client.working("Fail.").await;
        let broken = TurnOutcome::Failed("It broke.".to_owned());
        app.board().turn_ended(agent.turn, NODE, &broken).await.unwrap();
        let over = client.get(&failed).await;
        assert_eq!((&over["status"], &over["result"]["isError"]), (&json!("completed"), &json!(true)));
        assert_eq!(over["result"]["structuredContent"]["status"], "error");
        let (task, _agent) = client.working("Go on.").await;
        let ack = json!({"resultType": "complete"});
        for _ in 0..2 {
            let answer = client.about("tasks/cancel", &task).await;
            assert_eq!(answer["result"], ack, "{answer}");
            let over = client.get(&task).await;
            assert_eq!(over["status"], "cancelled");
            assert!(over.get("result").is_none(), "{over}");
        }
        let seen = client.call("get_task", json!({"taskId": task})).await;
        assert_eq!(seen["structuredContent"]["status"], "cancelled");
        // And the other way round; what is over stays as it ended.
        let (other, _agent) = client.working("And this.").await;
        client.call("cancel_task", json!({"taskId": other})).await;
        assert_eq!(client.get(&other).await["status"], "cancelled");
        assert_eq!(client.about("tasks/cancel", &failed).await["result"], ack);
        assert_eq!(client.get(&failed).await["status"], "completed");
    }

    async fn a_question_is_put_to_the_user_and_its_answer_goes_on_with_the_task(db: TestDb) {
        let app = app(&db, NativeTasks::On).await;
        let client = Client::new(&app).await;
        let (task, agent) = client.working("Do it.").await;
        let tools = agent.connect(&app).await;
        let question = json!({"questions": [{
            "prompt": "Which store?",
            "options": ["SQLite", "Postgres"],
            "allow_custom_text": false,
        }]});
        let asking = tools.call("ask_user_question_kandev", question);
        let answering = async {
            let mut asked = client.get(&task).await;
            while asked["status"] == "working" {
                asked = client.get(&task).await;
            }
            assert_eq!(asked["status"], "input_required", "{asked}");
            // A client that cannot ask is told that it goes on, and what for.
            let silent = client.that_can(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
            let waits = silent.get(&task).await;
            assert_eq!(waits["status"], "working");
            assert!(text(&waits["statusMessage"]).contains("Which store?"), "{waits}");
            let requests = asked["inputRequests"].as_object().unwrap();
            let (key, request) = requests.iter().next().unwrap();
            assert_eq!((requests.len(), &request["method"]), (1, &json!("elicitation/create")));
            assert_eq!(request["params"]["message"], "Which store?");
            let (id, field) = request["params"]["requestedSchema"]["properties"]
                .as_object()
                .and_then(|fields| fields.iter().next())
                .unwrap();
            let choice = &field["oneOf"][0];
            assert_eq!(choice["title"], "SQLite");
            let accept = |value: &Value| {
                let content = Map::from_iter([(id.clone(), value.clone())]);
                json!({"action": "accept", "content": content})
            };
            let ack = json!({"resultType": "complete"});
            // What is no option is refused; what was never asked, or only put off, changes nothing.
            assert_eq!(code(&client.update(&task, json!({key: accept(&json!("files"))})).await), INVALID_PARAMS);
            assert_eq!(code(&client.update(&task, json!({key: {"content": {}}})).await), INVALID_PARAMS);
            for response in [json!({"unknown": accept(&choice["const"])}), json!({key: {"action": "cancel"}})] {
                assert_eq!(client.update(&task, response).await["result"], ack);
                assert_eq!(client.get(&task).await["status"], "input_required");
            }
            let answer = json!({key: accept(&choice["const"])});
            assert_eq!(client.update(&task, answer.clone()).await["result"], ack);
            // The first answer counted; there is nothing left to answer.
            assert_eq!(client.update(&task, answer).await["result"], ack);
            assert_eq!(client.get(&task).await["status"], "working");
        };
        let both = Box::pin(async { tokio::join!(asking, answering) });
        let (answered, ()) = soon(both).await;
        assert!(answered.to_string().contains("SQLite"), "{answered}");
    }

    async fn nobody_elses_task_is_there(db: TestDb) {
        let app = app(&db, NativeTasks::On).await;
        let client = Client::new(&app).await;
        let stranger = Client::new(&app).await;
        let (task, agent) = client.working("Do it.").await;
        let unknown = RunId::new().to_string();
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let mut told = Vec::new();
            for id in [task.as_str(), unknown.as_str(), "no id"] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let answer = stranger.send(method, id, params).await;
                assert_eq!(code(&answer), INVALID_PARAMS, "{method}: {answer}");
                told.push(answer["error"].clone());
            }
            told.dedup();
            assert_eq!(told.len(), 1, "{told:?}");
            // Without the extension a client is told that it lacks it, about every id alike.
            for id in [task.as_str(), unknown.as_str()] {
                let params = json!({"taskId": id, "inputResponses": {}});
                let answer = client.that_can(json!({})).send(method, id, params).await;
                assert_eq!(code(&answer), MISSING_CAPABILITY, "{method}: {answer}");
                let needed = &answer["error"]["data"]["requiredCapabilities"]["extensions"];
                assert!(needed["io.modelcontextprotocol/tasks"].is_object(), "{answer}");
            }
            // The header names the task that the body means.
            let params = json!({"taskId": task, "inputResponses": {}});
            assert_eq!(code(&client.send(method, &unknown, params).await), HEADER_MISMATCH);
            // An agent has no runs, and is offered nothing of the kind.
            let agent = Client { app: &app, token: agent.token.clone(), can: client.can.clone() };
            let params = json!({"taskId": task, "inputResponses": {}});
            assert_eq!(code(&agent.send(method, &task, params).await), UNKNOWN_METHOD);
        }
        assert_eq!(client.get(&task).await["status"], "working");
    }

    async fn the_extension_is_offered_unless_it_is_off(db: TestDb) {
        for (native, offered) in [(NativeTasks::Off, false), (NativeTasks::On, true), (NativeTasks::Auto, true)] {
            let app = app(&db, native).await;
            let client = Client::new(&app).await;
            let found = client.send("server/discover", "", json!({})).await["result"].take();
            let extension = &found["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"];
            assert_eq!(extension.is_object(), offered, "{found}");
            assert!(found["capabilities"].get("tasks").is_none(), "{found}");
            let answer = client.about("tasks/get", &RunId::new().to_string()).await;
            assert_eq!(code(&answer), if offered { INVALID_PARAMS } else { UNKNOWN_METHOD });
            if !offered {
                let plain = client.call("run_task", json!({"task": "Do it."})).await;
                assert_eq!(plain["resultType"], "complete");
            }
            for removed in ["tasks/result", "tasks/list"] {
                let answer = client.about(removed, &RunId::new().to_string()).await;
                assert_eq!(code(&answer), UNKNOWN_METHOD, "{removed}");
            }
            app.stop().await;
        }
    }
}
