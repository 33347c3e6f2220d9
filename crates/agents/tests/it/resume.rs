//! Going on after a process died.

use std::fs;

use agents::{
    AgentEvent,
    acp::{AgentError, Conversation, FreshReason, LaunchError, Prompt},
};
use serde_json::json;

use crate::support::{Agent, canned, demo, folder, mcp::Server, soon, text, trials};

trials![
    a_killed_agent_remembers_which_prompts_it_saw,
    a_start_waits_until_the_conversations_other_agent_is_gone,
    history_is_not_told_again_but_what_holds_is,
    a_refused_load_falls_back_to_a_new_conversation,
    an_agent_that_cannot_load_starts_afresh,
    a_load_that_wants_a_login_says_so,
    a_script_goes_on_after_a_restart,
    a_childs_question_that_was_cut_short_is_answered_later,
];

fn prompt(id: &str, text: &str) -> Prompt {
    Prompt {
        hidden: Some(format!("prompt_id: {id}\ntask_id: t1")),
        text: text.to_owned(),
    }
}

/// Kills the agent in the middle of whatever it does: no grace, no farewell.
async fn kill(agent: &Agent) {
    let turn = agent
        .handle()
        .prompt(&prompt("p-last", "/die"))
        .expect("idle");
    let end = agent.finish(turn).await;
    assert!(matches!(end, Err(AgentError::Exited { .. })), "{end:?}");
}

async fn a_killed_agent_remembers_which_prompts_it_saw() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    agent.turn(prompt("p-1", "hello")).await;
    kill(&agent).await;
    let mut spec = demo(folder.path());
    spec.resume = Some(agent.launched.provider_session_id.clone());
    let again = Agent::launch(spec).await;
    assert_eq!(
        again.launched.provider_session_id,
        agent.launched.provider_session_id
    );
    let Conversation::Loaded { replay } = &again.launched.conversation else {
        panic!("it can load")
    };
    assert!(replay.saw_prompt("p-1") && replay.saw_prompt("p-last"));
    assert!(!replay.saw_prompt("p-2"));
    again.turn(prompt("p-2", "on we go")).await;
    let log = fs::read_to_string(folder.path().join("history/prompts.log")).expect("a list");
    assert_eq!(log, "p-1\np-last\np-2\n");
}

async fn a_start_waits_until_the_conversations_other_agent_is_gone() {
    let folder = folder();
    let mut spec = demo(folder.path());
    spec.lock = Some(folder.path().join("conversation.lock"));
    let first = Agent::launch(spec.clone()).await;
    let held = fs::File::open(folder.path().join("conversation.lock")).expect("it is there");
    assert!(held.try_lock().is_err(), "the first agent holds it");
    let second = tokio::spawn(Agent::launch(spec));
    first.turn(text("still here")).await;
    assert!(!second.is_finished());
    first.handle().shutdown().await;
    let second = soon("the second start", second).await.expect("no panic");
    second.turn(text("my turn")).await;
}

async fn history_is_not_told_again_but_what_holds_is() {
    let folder = folder();
    let update = |update: serde_json::Value| json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "old", "update": update}});
    let say = |kind: &str, text: &str| {
        update(json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
    };
    let script = json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}],
        "session/load": [
            say("user_message_chunk", "prompt_id: p-"),
            say("user_message_chunk", "1\nhello"),
            say("agent_thought_chunk", "hm"),
            say("agent_message_chunk", "p-2 is mentioned by the agent only"),
            update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x"})),
            update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t"})),
            update(json!({"sessionUpdate": "plan", "entries": []})),
            update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []})),
            {"jsonrpc": "2.0", "id": "$ID", "result": null},
            say("agent_message_chunk", "live again"),
        ],
    });
    let mut spec = canned(folder.path(), &script);
    spec.resume = Some("old".to_owned());
    let agent = Agent::launch(spec).await;
    let Conversation::Loaded { replay } = &agent.launched.conversation else {
        panic!("it can load")
    };
    assert!(replay.saw_prompt("p-1") && !replay.saw_prompt("p-2"));
    agent
        .events
        .find("the first live word", |event| {
            matches!(event, AgentEvent::MessageChunk(_)).then_some(())
        })
        .await;
    assert!(matches!(
        agent.events.all().as_slice(),
        [AgentEvent::AvailableCommands { .. }, AgentEvent::MessageChunk(chunk)] if chunk.content.text == "live again"
    ));
}

async fn a_refused_load_falls_back_to_a_new_conversation() {
    let folder = folder();
    for unknown in ["0199f000-0000-7000-8000-000000000000", "../../etc/passwd"] {
        let mut spec = demo(folder.path());
        spec.resume = Some(unknown.to_owned());
        let agent = Agent::launch(spec).await;
        assert_ne!(agent.launched.provider_session_id, unknown);
        let Conversation::Fresh {
            reason: FreshReason::Refused(reason),
        } = &agent.launched.conversation
        else {
            panic!("{:?}", agent.launched.conversation)
        };
        assert!(reason.contains("cannot be loaded"), "{reason}");
        agent.say("hello").await;
    }
}

async fn an_agent_that_cannot_load_starts_afresh() {
    let folder = folder();
    let mut spec = demo(folder.path());
    spec.args.push("--no-load".to_owned());
    spec.resume = Some("any".to_owned());
    let agent = Agent::launch(spec).await;
    assert!(!agent.launched.capabilities.load_session);
    assert!(matches!(
        agent.launched.conversation,
        Conversation::Fresh {
            reason: FreshReason::NotSupported
        }
    ));
}

async fn a_load_that_wants_a_login_says_so() {
    let folder = folder();
    let script = json!({
        "initialize": [{"jsonrpc": "2.0", "id": "$ID", "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}],
        "session/load": [{"jsonrpc": "2.0", "id": "$ID", "error": {"code": -32000, "message": "log in"}}],
    });
    let mut spec = canned(folder.path(), &script);
    spec.resume = Some("old".to_owned());
    let Err((error, _)) = Agent::try_launch(spec).await else {
        panic!("it wants a login")
    };
    assert!(matches!(error, LaunchError::AuthRequired { .. }), "{error}");
}

async fn a_script_goes_on_after_a_restart() {
    let folder = folder();
    let agent = Agent::launch(demo(folder.path())).await;
    agent
        .turn(prompt("p-1", "e2e:set(\"name\",\"Ada\")\ne2e:next_turn()\ne2e:message(\"{name} of {task_id}: {prompt}\")"))
        .await;
    kill(&agent).await;
    let mut spec = demo(folder.path());
    spec.resume = Some(agent.launched.provider_session_id.clone());
    let again = Agent::launch(spec).await;
    again.say("SQLite").await;
    assert_eq!(again.events.answer(), "Ada of t1: SQLite");
}

async fn a_childs_question_that_was_cut_short_is_answered_later() {
    let folder = folder();
    let server = Server::start().await;
    let mut spec = demo(folder.path());
    spec.mcp = Some(server.endpoint.clone());
    let agent = Agent::launch(spec.clone()).await;
    agent
        .turn(text(
            "e2e:answer_delay(600000)\ne2e:answer(\"Use SQLite.\")",
        ))
        .await;
    let hidden = "prompt_id: p-1\nAUTOPILOT CHILD QUESTION\nquestion_id: q1\nchild_task_id: c1\nchild_session_id: s1";
    let mut turn = agent
        .handle()
        .prompt(&Prompt {
            hidden: Some(hidden.into()),
            text: String::new(),
        })
        .expect("idle");
    soon("the acceptance", turn.accepted())
        .await
        .expect("accepted");
    let log = folder.path().join("history/prompts.log");
    crate::support::until("the prompt's arrival", || {
        fs::read_to_string(&log).is_ok_and(|log| log == "p-1\n")
    })
    .await;
    soon("the end", agent.handle().shutdown()).await;
    assert!(server.calls().is_empty());
    spec.resume = Some(agent.launched.provider_session_id.clone());
    let again = Agent::launch(spec).await;
    again.say("/simple-message").await;
    let answer = json!({"task_id": "c1", "reply_to_question_id": "q1", "prompt": "Use SQLite."});
    assert_eq!(server.calls(), [("message_task_kandev".to_owned(), answer)]);
    again.say("/simple-message").await;
    assert_eq!(
        server.calls().len(),
        1,
        "once answered, it is not answered again"
    );
}
