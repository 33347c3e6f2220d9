//! Prompts and what comes back.

use agents::{
    AgentEvent,
    acp::{AgentError, Chosen, Conversation, FreshReason, Prompt},
    event::{StopReason, ToolKind, ToolStatus, TurnOutcome},
};
use serde_json::json;

use crate::support::{Agent, canned, demo, folder, mcp::Server, soon, text, trials};

trials![
    a_prompt_streams_and_ends_with_its_event,
    every_kind_of_update_of_the_demo_agent_arrives,
    a_tool_of_the_real_server_is_called_with_the_token,
    a_failing_tool_is_told_apart,
    one_prompt_at_a_time,
    a_prompt_is_accepted_before_it_is_answered,
    a_cancel_ends_the_turn_and_the_next_one_works,
    an_error_and_a_stop_reason_of_the_agent_arrive,
    mode_and_model_of_the_profile_hold,
    sections_run_turn_by_turn,
    hidden_context_is_a_block_of_its_own,
];

async fn a_prompt_streams_and_ends_with_its_event() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    assert!(agent.launched.capabilities.load_session && agent.launched.capabilities.mcp_http);
    assert_eq!(
        agent
            .launched
            .agent_info
            .as_ref()
            .map(|info| info.name.as_str()),
        Some("flightdeck-demo-agent")
    );
    assert!(matches!(
        agent.launched.conversation,
        Conversation::Fresh {
            reason: FreshReason::NotAsked
        }
    ));
    agent.say("Good morning to everybody who reads this").await;
    assert!(
        agent
            .events
            .answer()
            .contains("“Good morning to everybody who reads this”"),
        "{}",
        agent.events.answer()
    );
    let events = agent.events.all();
    let chunks = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::MessageChunk(_)))
        .count();
    assert!(chunks > 1, "the answer is streamed: {events:?}");
    assert!(
        matches!(events.last(), Some(AgentEvent::TurnEnded { prompt: 1, outcome: TurnOutcome::Stopped(end) })
            if end.stop_reason == StopReason::EndTurn),
        "the end of the turn comes last: {events:?}"
    );
    agent.say("again").await;
    let last = agent.events.all().pop();
    assert!(
        matches!(last, Some(AgentEvent::TurnEnded { prompt: 2, .. })),
        "{last:?}"
    );
}

async fn every_kind_of_update_of_the_demo_agent_arrives() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    for command in [
        "/thinking",
        "/todo",
        "/read-and-edit",
        "/all-tools",
        "/markdown",
    ] {
        agent.say(command).await;
    }
    let events = agent.events.all();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, AgentEvent::ThoughtChunk(_)))
    );
    assert_eq!(
        events
            .iter()
            .filter(|event| matches!(event, AgentEvent::Plan { .. }))
            .count(),
        3
    );
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| {
            if let AgentEvent::ToolCall(call) = event {
                Some(call)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(calls.len(), 2 + 9);
    assert_eq!(calls[0].title.as_deref(), Some("Read src/greeting.txt"));
    assert_eq!(
        (calls[0].kind, calls[0].locations[0].path.as_str()),
        (ToolKind::Read, "src/greeting.txt")
    );
    for call in &calls {
        assert!(
            events
                .iter()
                .any(|event| matches!(event, AgentEvent::ToolCallUpdate(update)
                if update.id == call.id && update.status == Some(ToolStatus::Completed))),
            "{} is never completed",
            call.id
        );
    }
    assert!(agent.events.answer().contains("| SQLite | no |"));
    let odd: Vec<_> = events
        .iter()
        .filter(|event| {
            matches!(
                event,
                AgentEvent::Unknown { .. }
                    | AgentEvent::JunkLine { .. }
                    | AgentEvent::Stderr { .. }
            )
        })
        .collect();
    assert!(
        odd.is_empty(),
        "the demo agent says nothing odd by itself: {odd:?}"
    );
}

async fn a_tool_of_the_real_server_is_called_with_the_token() {
    let folder = folder();
    let server = Server::start().await;
    let mut spec = demo(folder.path());
    spec.mcp = Some(server.endpoint.clone());
    let agent = Agent::launch(spec).await;
    let prompt = Prompt {
        hidden: Some("prompt_id: p1\ntask_id: t1\nsession_id: s1".to_owned()),
        text: "e2e:mcp:kandev:create_task_kandev({\"title\":\"Child of {task_id}\",\"prompt\":\"{{task_id}}\"})\n\
               e2e:message(\"made {result.id} in {session_id}\")"
            .to_owned(),
    };
    agent.turn(prompt).await;
    assert_eq!(
        server.calls(),
        [(
            "create_task_kandev".to_owned(),
            json!({"title": "Child of t1", "prompt": "{task_id}"})
        )]
    );
    assert_eq!(agent.events.answer(), "made child-1 in s1");
    let output = agent
        .events
        .find("the result of the call", |event| match event {
            AgentEvent::ToolCallUpdate(update) if update.status == Some(ToolStatus::Completed) => {
                update.raw_output.clone()
            }
            _ => None,
        })
        .await;
    assert_eq!(output, json!({"id": "child-1", "title": "Child of t1"}));
}

async fn a_failing_tool_is_told_apart() {
    let folder = folder();
    let server = Server::start().await;
    let mut spec = demo(folder.path());
    spec.mcp = Some(server.endpoint.clone());
    let agent = Agent::launch(spec).await;
    agent
        .say("e2e:mcp:kandev:fail_kandev({})\ne2e:message(\"{result}\")")
        .await;
    assert_eq!(agent.events.answer(), "This tool always fails.");
    let turn = agent.handle().prompt(&text(
        "e2e:mcp:nobody:x({})\ne2e:fail_if_error()\ne2e:message(\"not reached\")",
    ));
    let error = agent
        .finish(turn.expect("idle"))
        .await
        .expect_err("the script gives up");
    assert!(
        error.to_string().contains("there is no MCP server nobody"),
        "{error}"
    );
    let failed = agent
        .events
        .all()
        .iter()
        .filter(|event| {
            matches!(event, AgentEvent::ToolCallUpdate(update)
        if update.status == Some(ToolStatus::Failed))
        })
        .count();
    assert_eq!(failed, 2);
}

async fn one_prompt_at_a_time() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent.handle().prompt(&text("/sleep 60s")).expect("idle");
    assert!(matches!(
        agent.handle().prompt(&text("second")),
        Err(AgentError::Busy)
    ));
    assert!(agent.handle().cancel());
    assert_eq!(
        agent.finish(turn).await.expect("cancelled").stop_reason,
        StopReason::Cancelled
    );
    agent.say("third").await;
}

async fn a_prompt_is_accepted_before_it_is_answered() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let mut turn = agent.handle().prompt(&text("/hang")).expect("idle");
    assert_eq!(turn.number(), 1);
    soon("the acceptance", turn.accepted())
        .await
        .expect("accepted");
    soon("asking again", turn.accepted())
        .await
        .expect("still accepted");
    agent
        .events
        .find("the hanging", |event| {
            matches!(event, AgentEvent::MessageChunk(_)).then_some(())
        })
        .await;
    assert!(
        !agent
            .events
            .all()
            .iter()
            .any(|event| matches!(event, AgentEvent::TurnEnded { .. }))
    );
    // It does not hear a cancel, so only the end of the process ends the turn.
    assert!(agent.handle().cancel());
    soon("the shutdown", agent.handle().shutdown()).await;
    assert!(matches!(
        agent.finish(turn).await,
        Err(AgentError::Exited { .. })
    ));
}

async fn a_cancel_ends_the_turn_and_the_next_one_works() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    assert!(!agent.handle().cancel(), "there is nothing to cancel");
    let turn = agent.handle().prompt(&text(
        "e2e:tool_use(\"Read\", {})\ne2e:delay(600000)\ne2e:message(\"never\")",
    ));
    let call = agent
        .events
        .find("the tool call", |event| {
            if let AgentEvent::ToolCall(call) = event {
                Some(call.id.clone())
            } else {
                None
            }
        })
        .await;
    assert!(agent.handle().cancel());
    let end = agent
        .finish(turn.expect("idle"))
        .await
        .expect("a stop reason");
    assert_eq!(end.stop_reason, StopReason::Cancelled);
    let events = agent.events.all();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, AgentEvent::ToolCallUpdate(update)
            if update.id == call && update.status == Some(ToolStatus::Failed))),
        "the call does not stay open: {events:?}"
    );
    agent.say("after the cancel").await;
    assert!(!agent.events.answer().contains("never"));
}

async fn an_error_and_a_stop_reason_of_the_agent_arrive() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    let turn = agent.handle().prompt(&text("/error")).expect("idle");
    let error = agent.finish(turn).await.expect_err("an error");
    assert!(
        matches!(&error, AgentError::Refused { code: -32603, message } if message.contains("as it was asked to")),
        "{error}"
    );
    let end = agent.turn(text("e2e:stop(\"refusal\")")).await;
    assert_eq!(end.stop_reason, StopReason::Refusal);
    let end = agent.turn(text("/empty-turn")).await;
    assert_eq!(end.stop_reason, StopReason::EndTurn);
    let events = agent.events.all();
    assert!(
        matches!(
            &events[0],
            AgentEvent::TurnEnded {
                prompt: 1,
                outcome: TurnOutcome::Failed { code: -32603, .. }
            }
        ),
        "{events:?}"
    );
}

async fn mode_and_model_of_the_profile_hold() {
    let folder = folder();
    let mut spec = demo(folder.path());
    spec.mode = Some("auto".to_owned());
    spec.model = Some("demo-large".to_owned());
    let agent = Agent::launch(spec.clone()).await;
    assert_eq!(
        (&agent.launched.mode, &agent.launched.model),
        (&Chosen::Set, &Chosen::Set)
    );
    assert_eq!(agent.launched.offer.current_mode.as_deref(), Some("auto"));
    assert_eq!(agent.launched.offer.config_options[0].current, "demo-large");
    spec.mode = Some("reckless".to_owned());
    spec.model = None;
    let agent = Agent::launch(spec).await;
    assert_eq!(
        (&agent.launched.mode, &agent.launched.model),
        (&Chosen::NotOffered, &Chosen::NotAsked)
    );
    let refusing = json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1}}],
        "session/new": [{"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": "s",
            "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}}}],
        "session/set_mode": [{"jsonrpc": "2.0", "id": "$ID", "error": {"code": -32602, "message": "not today"}}],
    });
    let mut spec = canned(folder.path(), &refusing);
    spec.mode = Some("b".to_owned());
    let agent = Agent::launch(spec).await;
    assert_eq!(agent.launched.mode, Chosen::Refused("not today".to_owned()));
}

async fn sections_run_turn_by_turn() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    agent.say("e2e:set(\"name\",\"Ada\")\ne2e:message(\"one.\")\ne2e:next_turn()\ne2e:message(\"two, {prompt}, {name}.\")").await;
    assert_eq!(agent.events.answer(), "one.");
    agent.say("/simple-message").await;
    agent.say("the answer").await;
    assert_eq!(
        agent.events.answer(),
        "one.This is a simple message from the demo agent.two, the answer, Ada."
    );
    agent.say("no section is left").await;
    assert!(
        agent
            .events
            .answer()
            .contains("this is none: “no section is left”")
    );
    agent.say("e2e:dance()").await;
    assert!(
        agent
            .events
            .answer()
            .contains("line 1: there is no directive dance")
    );
}

async fn hidden_context_is_a_block_of_its_own() {
    let folder = folder();
    let script = json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1}}],
        "session/new": [{"jsonrpc": "2.0", "id": "$ID", "result": {"sessionId": "s"}}],
        "session/prompt": [{"jsonrpc": "2.0", "id": "$ID", "result": {"stopReason": "end_turn", "usage": {"totalTokens": 7}}}],
    });
    let agent = Agent::launch(canned(folder.path(), &script)).await;
    let end = agent
        .turn(Prompt {
            hidden: Some("h".into()),
            text: "t".into(),
        })
        .await;
    assert_eq!(end.usage, Some(json!({"totalTokens": 7})));
    let heard = std::fs::read_to_string(folder.path().join("canned.heard")).expect("kept");
    let heard: Vec<serde_json::Value> = heard
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(heard[0]["params"]["protocolVersion"], 1);
    assert_eq!(heard[0]["params"]["clientInfo"]["name"], "flightdeck");
    assert_eq!(
        heard[0]["params"]["clientCapabilities"]["fs"],
        json!({"readTextFile": false, "writeTextFile": false})
    );
    assert_eq!(heard[0]["params"]["clientCapabilities"]["terminal"], false);
    assert_eq!(heard[1]["params"]["mcpServers"], json!([]));
    assert_eq!(
        heard[2]["params"],
        json!({"sessionId": "s", "prompt": [{"type": "text", "text": "h"}, {"type": "text", "text": "t"}]})
    );
}
