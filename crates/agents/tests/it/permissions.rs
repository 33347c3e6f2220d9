//! Permission requests, there and back.

use agents::{
    AgentEvent,
    acp::{AgentError, McpEndpoint, PermissionOutcome},
    event::{PermissionKind, PermissionRequest, StopReason, ToolKind, ToolStatus},
};
use serde_json::{Value, json};

use crate::support::{Agent, canned, demo, folder, text, trials};

trials![
    an_answer_reaches_the_agent_and_counts_once,
    a_rejection_reaches_the_agent,
    several_requests_are_answered_by_their_ids,
    a_cancel_gives_up_what_is_open,
    our_own_tools_need_no_person,
    odd_requests_are_understood,
    an_agent_that_judges_for_itself_is_told_whose_tools_to_allow,
];

async fn request(agent: &Agent) -> PermissionRequest {
    agent
        .events
        .find("the permission request", |event| {
            if let AgentEvent::PermissionRequest(request) = event {
                Some(request.clone())
            } else {
                None
            }
        })
        .await
}

fn choose(option_id: &str) -> PermissionOutcome {
    PermissionOutcome::Selected(option_id.to_owned())
}

async fn an_answer_reaches_the_agent_and_counts_once() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent
        .handle()
        .prompt(&text("/permission-flow"))
        .expect("idle");
    let request = request(&agent).await;
    // The demo agent asks with a bare call id; the rest is known from the announcement.
    assert_eq!(request.tool_call.title.as_deref(), Some("cargo test"));
    assert_eq!(request.tool_call.kind, Some(ToolKind::Execute));
    assert_eq!(
        request.tool_call.raw_input,
        Some(json!({"command": "cargo test"}))
    );
    let kinds: Vec<_> = request.options.iter().map(|option| option.kind).collect();
    assert_eq!(
        kinds,
        [
            PermissionKind::AllowOnce,
            PermissionKind::AllowAlways,
            PermissionKind::RejectOnce
        ]
    );
    agent
        .handle()
        .respond_permission(&request.request_id, &choose("allow"))
        .expect("open");
    let again = agent
        .handle()
        .respond_permission(&request.request_id, &choose("reject"));
    assert!(matches!(again, Err(AgentError::NoSuchPermission)));
    agent.finish(turn).await.expect("ends");
    assert!(
        agent.events.answer().ends_with("The answer was: allow."),
        "{}",
        agent.events.answer()
    );
}

async fn a_rejection_reaches_the_agent() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent
        .handle()
        .prompt(&text("/permission-flow"))
        .expect("idle");
    let request = request(&agent).await;
    agent
        .handle()
        .respond_permission(&request.request_id, &choose("reject"))
        .expect("open");
    agent.finish(turn).await.expect("ends");
    assert!(
        agent.events.answer().ends_with("The answer was: reject."),
        "{}",
        agent.events.answer()
    );
    let failed = |event: &AgentEvent| matches!(event, AgentEvent::ToolCallUpdate(update) if update.status == Some(ToolStatus::Failed));
    assert!(agent.events.all().iter().any(failed));
}

async fn several_requests_are_answered_by_their_ids() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent
        .handle()
        .prompt(&text("/multi-permission"))
        .expect("idle");
    let find = |title: &'static str| {
        agent.events.find("a request", move |event| match event {
            AgentEvent::PermissionRequest(request)
                if request.tool_call.title.as_deref() == Some(title) =>
            {
                Some(request.request_id.clone())
            }
            _ => None,
        })
    };
    let (first, second) = (find("Edit a.txt").await, find("Edit b.txt").await);
    agent
        .handle()
        .respond_permission(&second, &choose("reject"))
        .expect("open");
    agent
        .handle()
        .respond_permission(&first, &choose("allow"))
        .expect("open");
    agent.finish(turn).await.expect("ends");
    assert_eq!(agent.events.answer(), "The answers were: allow, reject.");
}

async fn a_cancel_gives_up_what_is_open() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent
        .handle()
        .prompt(&text("/multi-permission"))
        .expect("idle");
    let request = request(&agent).await;
    assert!(agent.handle().cancel());
    let end = agent.finish(turn).await.expect("ends");
    assert_eq!(end.stop_reason, StopReason::Cancelled);
    let answer = agent
        .handle()
        .respond_permission(&request.request_id, &choose("allow"));
    assert!(matches!(answer, Err(AgentError::NoSuchPermission)));
    let events = agent.events.all();
    let at = |wanted: &dyn Fn(&AgentEvent) -> bool| events.iter().position(wanted);
    let cancelled = at(
        &|event| matches!(event, AgentEvent::PermissionCancelled { request_id } if *request_id == request.request_id),
    );
    let ended = at(&|event| matches!(event, AgentEvent::TurnEnded { .. }));
    assert!(cancelled.is_some() && cancelled < ended, "{events:?}");
}

/// An agent that asks for permission during its turn, with this id and these parameters.
fn asking(id: &Value, params: &Value) -> Value {
    json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1,
            "agentCapabilities": {"mcpCapabilities": {"http": true}}}}],
        "session/new": [{"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": "s"}}],
        "session/prompt": [{"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}],
        // The client's answer; then the prompt, which had id 3, is over.
        "answer": [{"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}],
    })
}

fn heard(folder: &tempfile::TempDir) -> Value {
    let heard = std::fs::read_to_string(folder.path().join("canned.heard")).expect("kept");
    serde_json::from_str(heard.lines().last().expect("a line")).expect("JSON")
}

async fn our_own_tools_need_no_person() {
    let folder = folder();
    let params = json!({"sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": "mcp__kandev__create_task_kandev", "kind": "other", "rawInput": {"title": "x"}},
        "options": [{"optionId": "always", "name": "A", "kind": "allow_always"}, {"optionId": "once", "name": "O", "kind": "allow_once"}]});
    let script = asking(&json!("perm"), &params);
    let mut spec = canned(folder.path(), &script);
    spec.mcp = Some(McpEndpoint {
        name: "kandev".into(),
        url: "http://127.0.0.1:1/mcp".into(),
        bearer: "x".into(),
    });
    let agent = Agent::launch(spec).await;
    agent.say("go").await;
    assert_eq!(
        heard(&folder),
        json!({"jsonrpc": "2.0", "id": "perm", "result": {"outcome": {"outcome": "selected", "optionId": "once"}}})
    );
    assert_eq!(
        agent.events.all()[0],
        AgentEvent::PermissionAllowed {
            tool_call_id: "t".into(),
            tool: "create_task_kandev".into(),
            option_id: "once".into(),
        }
    );
    // Without our server there are no tools of ours, whatever they are called.
    let agent = Agent::launch(canned(folder.path(), &script)).await;
    let turn = agent.handle().prompt(&text("go")).expect("idle");
    let request = request(&agent).await;
    agent
        .handle()
        .respond_permission(&request.request_id, &choose("always"))
        .expect("open");
    agent.finish(turn).await.expect("ends");
}

async fn odd_requests_are_understood() {
    // Ids that start at 0 or are texts, a call that was never announced, null titles, options of new kinds.
    for id in [json!(0), json!("a\"b"), json!(-7), json!(null), json!(1.5)] {
        let folder = folder();
        let params = json!({"toolCall": {"toolCallId": "never-announced", "title": null},
            "options": [{"optionId": "abort", "name": "Abort", "kind": "cancel"}]});
        let agent = Agent::launch(canned(folder.path(), &asking(&id, &params))).await;
        let turn = agent.handle().prompt(&text("go")).expect("idle");
        let request = request(&agent).await;
        assert_eq!(
            (request.tool_call.title, request.options[0].kind),
            (None, PermissionKind::Other)
        );
        agent
            .handle()
            .respond_permission(&request.request_id, &choose("abort"))
            .expect("open");
        agent.finish(turn).await.expect("ends");
        assert_eq!(
            heard(&folder),
            json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "selected", "optionId": "abort"}}})
        );
    }
}

async fn an_agent_that_judges_for_itself_is_told_whose_tools_to_allow() {
    let folder = folder();
    let hello = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true, "mcpCapabilities": {"http": true}}});
    let script = json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": hello}],
        "session/load": [{"jsonrpc": "2.0", "id": "$ID", "error": {"code": -32602, "message": "forgotten"}}],
        "session/new": [{"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": "s"}}],
    });
    for mcp in [true, false] {
        let mut spec = canned(folder.path(), &script);
        spec.resume = Some("earlier".to_owned());
        spec.mcp = mcp.then(|| McpEndpoint {
            name: "kandev".to_owned(),
            url: "http://127.0.0.1:1/mcp".to_owned(),
            bearer: "token".to_owned(),
        });
        drop(Agent::launch(spec).await);
        let heard = std::fs::read_to_string(folder.path().join("canned.heard")).expect("kept");
        let opened: Vec<Value> = heard
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(|message: &Value| message["params"]["cwd"].is_string())
            .collect();
        assert_eq!(opened.len(), 2, "load, then new: {heard}");
        for message in opened {
            let allowed = &message["params"]["_meta"]["claudeCode"]["options"]["allowedTools"];
            let expected = if mcp {
                json!(["mcp__kandev"])
            } else {
                json!(null)
            };
            assert_eq!(allowed, &expected, "{message}");
        }
    }
}
