//! Limits: rounds, time, length, and the end of the caller's interest.

use crate::support::{Tools, ask, chain};
use assistant::chat::Speaker;
use assistant::provider::Kind;
use assistant::testing::{ModelServer, Say};
use assistant::{Effect, ToolAnswer, Trouble};
use serde_json::json;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn rounds_end_and_what_is_known_is_said() {
    let server = ModelServer::start(|asked| {
        Say::call("list_tasks", json!({"title": asked.number.to_string()}))
    })
    .await;
    let mut ask = ask("what is there?");
    ask.limits.iterations = 3;
    let tools = Tools::usual();
    let answer = assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(answer.stopped_at_limit && !answer.action_not_performed);
    assert!(answer.text.contains("list_tasks"), "{}", answer.text);
    assert_eq!(tools.called().len(), 3);
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn at_the_limit_the_guard_still_judges() {
    let server = ModelServer::start(|asked| Say::Calls {
        text: "I created everything.".to_owned(),
        calls: vec![(
            "list_tasks".to_owned(),
            json!({"title": asked.number.to_string()}),
        )],
    })
    .await;
    let answer = assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &Tools::usual(),
        &ask("create it"),
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(answer.stopped_at_limit && answer.action_not_performed);
    assert!(!answer.text.contains("everything"), "{}", answer.text);
}

#[tokio::test]
async fn a_long_result_reaches_the_model_cut_and_marked() {
    let tools = Tools::default().with("list_tasks", Effect::Read, |_| {
        ToolAnswer::done(json!("x".repeat(9000)))
    });
    let server =
        ModelServer::scripted([Say::call("list_tasks", json!({})), Say::text("Long.")]).await;
    assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &ask("what is there?"),
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    let seen = server.asked()[1].words();
    assert!(seen.contains("[cut here: 1000 more characters]"));
    assert!(seen.matches('x').count() < 8100);
}

#[tokio::test]
async fn a_cut_answer_says_that_it_is_cut() {
    let server = ModelServer::scripted([Say::Cut("The list: one, two".to_owned())]).await;
    let answer = assistant::answer(
        &chain(&[(&server, Kind::Anthropic)]),
        &Tools::usual(),
        &ask("what is there?"),
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(
        answer.text.starts_with("The list: one, two") && answer.text.contains("cut off"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn only_the_last_turns_of_a_long_history_are_sent() {
    let server = ModelServer::scripted([Say::text("Yes.")]).await;
    let mut ask = ask("and now?");
    ask.history = (0..30)
        .map(|n| {
            (
                if n % 2 == 0 {
                    Speaker::User
                } else {
                    Speaker::Assistant
                },
                format!("turn {n}."),
            )
        })
        .collect();
    assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &Tools::usual(),
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    let seen = server.asked()[0].words();
    assert!(
        seen.contains("turn 20.") && !seen.contains("turn 19."),
        "{seen}"
    );
}

#[tokio::test]
async fn the_time_for_an_answer_is_one_for_all_its_steps() {
    let server = ModelServer::start(|_| Say::Silence).await;
    let mut ask = ask("what is there?");
    ask.limits.budget = Duration::from_millis(200);
    let error = assistant::answer(
        &chain(&[(&server, Kind::OpenAi), (&server, Kind::Ollama)]),
        &Tools::usual(),
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap_err();
    assert_eq!(error.trouble, Trouble::Timeout);
    assert_eq!(server.asked().len(), 1, "no time is left for the second");
}

#[tokio::test]
async fn nothing_runs_once_the_caller_has_cancelled() {
    let cancel = CancellationToken::new();
    let within = cancel.clone();
    let tools = Tools::default()
        .with("list_tasks", Effect::Read, move |_| {
            within.cancel();
            ToolAnswer::done(json!({}))
        })
        .with("create_task", Effect::Action, |_| {
            ToolAnswer::done(json!({}))
        });
    let server = ModelServer::scripted([Say::Calls {
        text: String::new(),
        calls: vec![
            ("list_tasks".to_owned(), json!({})),
            ("create_task".to_owned(), json!({})),
        ],
    }])
    .await;
    let error = assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        &ask("create it"),
        None,
        &cancel,
    )
    .await
    .unwrap_err();
    assert_eq!(error.trouble, Trouble::Canceled);
    assert_eq!(tools.called(), ["list_tasks"]);
}

#[tokio::test]
async fn a_model_that_is_being_waited_for_is_left_at_once_when_cancelled() {
    let server = ModelServer::start(|_| Say::Silence).await;
    let cancel = CancellationToken::new();
    let chain = chain(&[(&server, Kind::OpenAi)]);
    let tools = Tools::usual();
    let ask = ask("what is there?");
    let waiting = assistant::answer(&chain, &tools, &ask, None, &cancel);
    let leave = async {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        while server.asked().is_empty() {
            assert!(tokio::time::Instant::now() < deadline, "it was never asked");
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (answered, ()) = tokio::join!(waiting, leave);
    assert_eq!(answered.unwrap_err().trouble, Trouble::Canceled);
}
