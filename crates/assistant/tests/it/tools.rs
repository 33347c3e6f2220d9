//! Calls: what reaches a tool, and what the model is told of it.

use crate::support::{KINDS, Tools, answer, ask, chain};
use assistant::provider::Kind;
use assistant::testing::{ModelServer, Say};
use assistant::{Effect, Progress, ToolAnswer};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value {
        map
    } else {
        panic!("{value} is no object")
    }
}

#[tokio::test]
async fn a_call_runs_on_every_wire_and_its_result_is_seen() {
    for kind in KINDS {
        let server = ModelServer::start(move |asked| match (asked.is_after_tool(), kind) {
            (false, Kind::Ollama) => Say::prose_call("list_tasks", &json!({"title": "x"})),
            (false, _) => Say::call("list_tasks", json!({"title": "x"})),
            (true, _) => Say::text("One task."),
        })
        .await;
        let tools = Tools::usual();
        let answer = answer(&chain(&[(&server, kind)]), &tools, "what is there?")
            .await
            .unwrap();
        assert_eq!(answer.text, "One task.", "{kind:?}");
        assert_eq!(answer.tools_used, ["list_tasks"]);
        assert!(!answer.action_not_performed && answer.pending_confirmation.is_none());
        let calls = tools.calls.lock().unwrap();
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].2, object(json!({"title": "x"})));
        assert_eq!((calls[0].0.job.as_str(), calls[0].0.seq), ("job-1", 1));
        let asked = server.asked();
        assert!(
            asked[1].words().contains("tasks") && asked[1].words().contains("list_tasks"),
            "{}",
            asked[1].words()
        );
    }
}

#[tokio::test]
async fn calls_written_by_a_model_with_native_tools_run_too_and_are_not_shown() {
    let server = ModelServer::scripted([
        Say::text("Let me look.\n```json\n{\"tool\": \"list_tasks\", \"args\": {}}\n```"),
        Say::text("Like this:\n```json\n{\"name\": \"a sample\"}\n```"),
    ])
    .await;
    let tools = Tools::usual();
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "what is there?")
        .await
        .unwrap();
    assert_eq!(tools.called(), ["list_tasks"]);
    assert_eq!(
        answer.text,
        "Like this:\n```json\n{\"name\": \"a sample\"}\n```"
    );
}

#[tokio::test]
async fn native_calls_win_over_written_ones() {
    let server = ModelServer::scripted([
        Say::Calls {
            text: "{\"tool\": \"create_task\", \"args\": {}}".to_owned(),
            calls: vec![("list_tasks".to_owned(), json!({}))],
        },
        Say::text("done"),
    ])
    .await;
    let tools = Tools::usual();
    answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "what is there?")
        .await
        .unwrap();
    assert_eq!(tools.called(), ["list_tasks"]);
}

#[tokio::test]
async fn the_same_call_twice_in_a_reply_runs_once() {
    for kind in [Kind::OpenAi, Kind::Anthropic] {
        let twice = Say::Calls {
            text: String::new(),
            calls: vec![
                (
                    "create_task".to_owned(),
                    json!({"title": "x", "user_id": "u"}),
                ),
                (
                    "create_task".to_owned(),
                    json!({"user_id": "u", "title": "x"}),
                ),
            ],
        };
        let server = ModelServer::scripted([twice, Say::text("Created.")]).await;
        let tools = Tools::usual();
        let answer = answer(&chain(&[(&server, kind)]), &tools, "create it")
            .await
            .unwrap();
        assert_eq!(tools.called(), ["create_task"]);
        assert_eq!(
            answer.text, "Created.",
            "{kind:?}: each of the calls has its result"
        );
    }
}

#[tokio::test]
async fn what_cannot_run_is_told_to_the_model_and_stops_nothing() {
    let server = ModelServer::scripted([
        Say::call("fly", json!({})),
        Say::call("create_task", json!("{\"title\": ")),
        Say::call("create_task", json!({"title": "x"})),
        Say::text("Created."),
    ])
    .await;
    let tools = Tools::usual();
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "create it")
        .await
        .unwrap();
    assert_eq!(answer.text, "Created.");
    assert_eq!(
        tools.called(),
        ["create_task"],
        "the call whose arguments were not understood did not run"
    );
    let asked = server.asked();
    assert!(asked[1].words().contains("There is no tool fly"));
    assert!(asked[2].words().contains("not valid JSON"));
}

#[tokio::test]
async fn identity_is_the_sessions_whatever_the_model_says() {
    let server = ModelServer::scripted([
        Say::call(
            "create_task",
            json!({"title": "x", "user_id": "somebody else", "tenant": "theirs"}),
        ),
        Say::call("list_tasks", json!({})),
        Say::text("Created."),
    ])
    .await;
    let tools = Tools::usual();
    let mut ask = ask("create it");
    ask.identity = object(json!({"user_id": "me", "tenant": "mine"}));
    assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    let calls = tools.calls.lock().unwrap();
    assert_eq!(
        calls[0].2,
        object(json!({"title": "x", "user_id": "me", "tenant": "mine"}))
    );
    assert_eq!(
        calls[1].2,
        object(json!({"user_id": "me"})),
        "a declared one is filled in, another is not made up"
    );
}

#[tokio::test]
async fn idempotency_keys_are_those_of_the_call_and_not_of_the_run() {
    let script = || {
        [
            Say::call("create_task", json!({"title": "a", "user_id": "u"})),
            Say::call("create_task", json!({"title": "b"})),
            Say::text("Created."),
        ]
    };
    let mut keys = Vec::new();
    for job in ["job-1", "job-1", "job-2"] {
        let server = ModelServer::scripted(script()).await;
        let tools = Tools::usual();
        let mut ask = ask("create it");
        ask.job = job.to_owned();
        assistant::answer(
            &chain(&[(&server, Kind::OpenAi)]),
            &tools,
            &ask,
            None,
            &CancellationToken::new(),
        )
        .await
        .unwrap();
        let calls = tools.calls.lock().unwrap();
        keys.push(
            calls
                .iter()
                .map(|(context, _, _)| context.idempotency_key.clone())
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(keys[0], keys[1]);
    let all: HashSet<&String> = keys.iter().flatten().collect();
    assert_eq!(all.len(), 4, "two jobs with two calls each");
}

#[tokio::test]
async fn progress_tells_words_and_calls_in_order() {
    let server =
        ModelServer::scripted([Say::call("list_tasks", json!({})), Say::text("One task.")]).await;
    let (progress, mut told) = mpsc::unbounded_channel();
    let tools = Tools::usual();
    let asked = ask("what is there?");
    assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &asked,
        Some(&progress),
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    drop(progress);
    let mut seen = Vec::new();
    while let Some(one) = told.recv().await {
        seen.push(match one {
            Progress::Words(words) => words,
            Progress::Call { seq, tool, .. } => format!("<{seq} {tool}>"),
            Progress::Called { seq, failed, .. } => format!("</{seq} {failed}>"),
        });
    }
    assert_eq!(seen.concat(), "<1 list_tasks></1 false>One task.");
}

/// Words that the guard may still drop are not shown while they come.
#[tokio::test]
async fn nothing_is_shown_early_of_an_answer_to_a_request_to_act() {
    let server = ModelServer::scripted([
        Say::text("I have created it!"),
        Say::text("It is created, really!"),
    ])
    .await;
    let (progress, mut told) = mpsc::unbounded_channel();
    let tools = Tools::default().with("create_task", Effect::Action, |_| {
        ToolAnswer::done(json!({}))
    });
    let answer = assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &ask("create it"),
        Some(&progress),
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(answer.action_not_performed);
    assert!(told.try_recv().is_err());
}
