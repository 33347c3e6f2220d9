//! Agents that misbehave: the connection survives what can be survived, and the rest has a typed end.

use agents::{
    AgentEvent,
    acp::{self, AgentError, LINE_LIMIT},
    event::{Exit, StopReason},
};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{Agent, canned, demo, folder, soon, text, trials, until};

trials![
    junk_and_unknown_kinds_are_events,
    an_oversized_line_is_skipped_and_reported,
    a_flood_holds_the_agent_back_and_loses_nothing,
    a_consumer_that_went_away_does_not_stop_the_turn,
    a_crash_in_mid_turn_has_a_typed_end,
    a_killed_agent_has_a_typed_end,
    dropping_the_last_handle_ends_the_agent,
    shutting_down_twice_does_no_harm,
    odd_traffic_does_not_break_the_conversation,
    a_request_we_do_not_offer_is_declined,
    a_cancelled_request_may_be_answered_with_an_error,
];

async fn junk_and_unknown_kinds_are_events() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    agent.say("/junk").await;
    let events = agent.events.all();
    assert_eq!(
        events[0],
        AgentEvent::JunkLine {
            text: "this is no message of the protocol".into()
        }
    );
    assert_eq!(
        events[1],
        AgentEvent::Unknown {
            kind: "mood_update".into(),
            raw: json!({"sessionUpdate": "mood_update", "demo": true}),
        }
    );
    assert_eq!(agent.events.answer(), "Done with junk.");
    agent.say("e2e:stderr(\"chatter\")").await;
    agent
        .events
        .find("the chatter", |event| {
            matches!(event, AgentEvent::Stderr { line } if line == "chatter").then_some(())
        })
        .await;
    assert_eq!(agent.handle().stderr_tail(), ["chatter"]);
}

async fn an_oversized_line_is_skipped_and_reported() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    agent.say("/oversized:3000000").await;
    assert_eq!(
        agent.events.all()[0],
        AgentEvent::OversizedLine { bytes: 3_000_000 }
    );
    assert_eq!(agent.events.answer(), "Done with the long line.");
    // A line of the limit exactly is read.
    agent.say(&format!("/oversized:{LINE_LIMIT}")).await;
    let junk = |event: &AgentEvent| matches!(event, AgentEvent::JunkLine { text } if text.starts_with("xxx") && text.len() < 5000);
    assert!(agent.events.all().iter().any(junk));
}

async fn a_flood_holds_the_agent_back_and_loses_nothing() {
    const COUNT: usize = 50_000;
    const CAPACITY: usize = 8;
    let folder = folder();
    let (sender, mut events) = mpsc::channel(CAPACITY);
    let launched = acp::launch(demo(folder.path()), sender)
        .await
        .expect("launched");
    let turn = launched
        .agent
        .prompt(&text(&format!("/flood:{COUNT}")))
        .expect("idle");
    // Nobody reads: the channel fills and nothing more is taken in, so that the turn cannot end.
    until("a full channel", || events.len() == CAPACITY).await;
    let mut ended = Box::pin(turn.ended());
    let early = tokio::time::timeout(std::time::Duration::from_millis(300), &mut ended).await;
    assert!(
        early.is_err(),
        "the turn ended although its events were not read: {early:?}"
    );
    let mut flood = 0;
    let mut rest = 0;
    while rest == 0 {
        match soon("the next event", events.recv())
            .await
            .expect("the agent lives")
        {
            AgentEvent::MessageChunk(chunk) if chunk.content.text.starts_with("flood ") => {
                flood += 1;
                assert_eq!(
                    chunk.content.text,
                    format!("flood {flood} of {COUNT}\n"),
                    "in order, without a gap"
                );
            }
            AgentEvent::TurnEnded { .. } => rest += 1,
            AgentEvent::MessageChunk(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_eq!(flood, COUNT);
    assert_eq!(
        soon("the end", ended).await.expect("ends").stop_reason,
        StopReason::EndTurn
    );
}

async fn a_consumer_that_went_away_does_not_stop_the_turn() {
    let folder = folder();
    let (sender, events) = mpsc::channel(1);
    drop(events);
    let launched = soon("the launch", acp::launch(demo(folder.path()), sender))
        .await
        .expect("launched");
    let turn = launched.agent.prompt(&text("/flood:1000")).expect("idle");
    assert_eq!(
        soon("the end", turn.ended())
            .await
            .expect("ends")
            .stop_reason,
        StopReason::EndTurn
    );
}

async fn a_crash_in_mid_turn_has_a_typed_end() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent.handle().prompt(&text("/crash")).expect("idle");
    let error = agent.finish(turn).await.expect_err("it crashed");
    let AgentError::Exited { exit, stderr_tail } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        *exit,
        Exit {
            code: Some(1),
            signal: None
        }
    );
    assert_eq!(
        stderr_tail,
        &["The demo agent crashes, as it was asked to."]
    );
    let events = agent.events.exited().await;
    assert_eq!(
        agent.events.answer(),
        "Crashing now.",
        "what it said before is not lost"
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, AgentEvent::TurnEnded { .. }))
    );
    assert!(matches!(
        agent.handle().prompt(&text("anybody?")),
        Err(AgentError::Exited { .. })
    ));
    assert!(!agent.handle().cancel());
    assert_eq!(soon("the close", agent.handle().closed()).await, *exit);
}

async fn a_killed_agent_has_a_typed_end() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent.handle().prompt(&text("/die")).expect("idle");
    let error = agent.finish(turn).await.expect_err("it died");
    let AgentError::Exited { exit, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        *exit,
        Exit {
            code: None,
            signal: Some(9)
        }
    );
    assert_eq!(error.to_string(), "the agent was ended by signal 9");
}

async fn dropping_the_last_handle_ends_the_agent() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let Agent { launched, events } = agent;
    let copy = launched.agent.clone();
    drop(launched);
    let turn = copy.prompt(&text("a copy is enough")).expect("idle");
    soon("the end", turn.ended()).await.expect("ends");
    drop(copy);
    events.exited().await;
}

async fn shutting_down_twice_does_no_harm() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let other = agent.handle().clone();
    let (first, second) = soon("both", async {
        tokio::join!(agent.handle().shutdown(), other.shutdown())
    })
    .await;
    assert_eq!(first, second);
    assert_eq!(soon("a third", agent.handle().shutdown()).await, first);
    agent.events.exited().await;
}

/// An agent whose turn is these lines.
fn turn_of(lines: &serde_json::Value) -> serde_json::Value {
    json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1}}],
        "session/new": ["not even JSON", {"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": "s"}}],
        "session/prompt": lines,
    })
}

async fn odd_traffic_does_not_break_the_conversation() {
    let folder = folder();
    let script = turn_of(&json!([
        {"jsonrpc": "2.0", "method": "vendor/mood", "params": {"mood": "fine"}},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "another", "update": {"sessionUpdate": "plan", "entries": []}}},
        {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "toolCallId": "never-announced", "status": "completed"}}},
        {"jsonrpc": "2.0", "method": "session/update"},
        {"jsonrpc": "2.0", "id": 999, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": null, "result": 1},
        {"jsonrpc": "2.0"},
        "", "   ", "[]", "{\"broken\": ", "42",
        "[{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"in a batch\"}}}}]",
        {"jsonrpc": "2.0", "id": "$ID", "result": {"stopReason": "end_turn"}},
    ]));
    let agent = Agent::launch(canned(folder.path(), &script)).await;
    let junk = |event: &AgentEvent| matches!(event, AgentEvent::JunkLine { text } if text == "not even JSON");
    agent
        .events
        .find("junk before the conversation", |event| {
            junk(event).then_some(())
        })
        .await;
    agent.say("go").await;
    let words: Vec<String> = agent
        .events
        .all()
        .iter()
        .skip(1)
        .map(|event| match event {
            AgentEvent::Unknown { kind, .. } => format!("unknown {kind}"),
            AgentEvent::JunkLine { text } => format!("junk {text}"),
            AgentEvent::MessageChunk(chunk) => chunk.content.text.clone(),
            AgentEvent::ToolCallUpdate(update) => format!("update {}", update.id),
            AgentEvent::TurnEnded { .. } => "end".to_owned(),
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    assert_eq!(
        words,
        [
            "unknown vendor/mood",
            "unknown foreign_session",
            "update never-announced",
            "unknown session/update",
            "unknown response",
            "unknown response",
            "junk {\"jsonrpc\":\"2.0\"}",
            "junk []",
            "junk {\"broken\": ",
            "junk 42",
            "in a batch",
            "end",
        ]
    );
}

async fn a_request_we_do_not_offer_is_declined() {
    let folder = folder();
    let mut script = turn_of(&json!([
        {"jsonrpc": "2.0", "id": "r", "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}},
    ]));
    script["answer"] = json!([{"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}]);
    let agent = Agent::launch(canned(folder.path(), &script)).await;
    agent.say("go").await;
    let heard = std::fs::read_to_string(folder.path().join("canned.heard")).expect("kept");
    let answer: serde_json::Value =
        serde_json::from_str(heard.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("r"), &json!(-32601))
    );
    assert!(agent.events.all().iter().any(
        |event| matches!(event, AgentEvent::Unknown { kind, .. } if kind == "fs/read_text_file")
    ));
}

async fn a_cancelled_request_may_be_answered_with_an_error() {
    let folder = folder();
    let mut script = turn_of(&json!([]));
    script["session/cancel"] =
        json!([{"jsonrpc": "2.0", "id": 3, "error": {"code": -32800, "message": "cancelled"}}]);
    let agent = Agent::launch(canned(folder.path(), &script)).await;
    let turn = agent.handle().prompt(&text("go")).expect("idle");
    assert!(agent.handle().cancel());
    let end = agent.finish(turn).await.expect("a stop reason");
    assert_eq!(end.stop_reason, StopReason::Cancelled);
}
