//! The promise: text that claims an effect goes out only if the effect took place.

use crate::support::{KINDS, Tools, answer, ask, chain};
use assistant::provider::Kind;
use assistant::testing::{ModelServer, Say};
use assistant::toolbox::NoTools;
use assistant::{Effect, Ending, ToolAnswer};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const NOTHING: &str = "Nothing was created or changed.";

#[tokio::test]
async fn a_claim_without_a_deed_is_dropped_after_one_retry() {
    for kind in KINDS {
        let server = ModelServer::start(|_| Say::text("I have created the task for you!")).await;
        let tools = Tools::usual();
        let answer = answer(&chain(&[(&server, kind)]), &tools, "Create a task")
            .await
            .unwrap();
        assert!(answer.text.starts_with(NOTHING), "{}", answer.text);
        assert!(answer.action_not_performed && answer.guard_retried);
        assert_eq!(server.asked().len(), 2, "exactly one retry");
        assert!(
            server.asked()[1]
                .words()
                .contains("Call the fitting tool now")
        );
    }
}

#[tokio::test]
async fn a_model_that_acts_when_told_to_is_believed() {
    let server = ModelServer::scripted([
        Say::text("Done, it exists."),
        Say::call("create_task", json!({"title": "x"})),
        Say::text("Now it exists."),
    ])
    .await;
    let tools = Tools::usual();
    let answer = answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &tools,
        "can you create a task",
    )
    .await
    .unwrap();
    assert_eq!(answer.text, "Now it exists.");
    assert!(answer.guard_retried && !answer.action_not_performed);
    assert_eq!(answer.tools_used, ["create_task"]);
}

#[tokio::test]
async fn a_look_up_on_the_retry_is_no_deed() {
    let server = ModelServer::scripted([
        Say::text("Done."),
        Say::call("list_tasks", json!({})),
        Say::text("I looked and created it."),
    ])
    .await;
    let tools = Tools::usual();
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "publish that")
        .await
        .unwrap();
    assert!(answer.text.starts_with(NOTHING) && answer.action_not_performed);
    assert_eq!(answer.tools_used, ["list_tasks"]);
}

#[tokio::test]
async fn questions_about_actions_are_answered_without_one() {
    for message in [
        "what events did you create",
        "tell me how to delete a role",
        "",
        "hello",
    ] {
        let server = ModelServer::start(|_| Say::text("I created two events.")).await;
        let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &Tools::usual(), message)
            .await
            .unwrap();
        assert_eq!(answer.text, "I created two events.", "{message:?}");
        assert!(!answer.action_not_performed);
        assert_eq!(server.asked().len(), 1);
    }
}

#[tokio::test]
async fn without_tools_the_model_is_not_even_asked() {
    let server = ModelServer::start(|_| Say::text("Created!")).await;
    let chain = chain(&[(&server, Kind::Ollama)]);
    let refused = answer(&chain, &NoTools, "create a task").await.unwrap();
    assert!(
        refused.text.starts_with(NOTHING) && refused.action_not_performed && !refused.guard_retried
    );
    assert_eq!(server.asked().len(), 0);
    let mut ask = ask("create a task");
    ask.reader.link = Some("http://board/".to_owned());
    let plain = assistant::answer(&chain, &NoTools, &ask, None, &CancellationToken::new())
        .await
        .unwrap();
    assert!(
        plain.text.contains("http://board/") && !plain.text.contains("settings"),
        "{}",
        plain.text
    );
    ask.reader.is_admin = true;
    let hinted = assistant::answer(&chain, &NoTools, &ask, None, &CancellationToken::new())
        .await
        .unwrap();
    assert!(hinted.text.contains("settings"), "{}", hinted.text);
}

#[tokio::test]
async fn a_tool_that_fails_did_nothing_and_the_reason_is_told() {
    let tools = Tools::default().with("create_task", Effect::Action, |_| {
        ToolAnswer::failed("the title is too long")
    });
    let server = ModelServer::start(|asked| match asked.number {
        0 => Say::call("create_task", json!({})),
        _ => Say::text("I created it."),
    })
    .await;
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "create a task")
        .await
        .unwrap();
    assert!(answer.action_not_performed);
    assert!(
        answer.text.starts_with(NOTHING) && answer.text.contains("the title is too long"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn an_effect_that_nobody_knows_is_neither_claimed_nor_denied() {
    let tools = Tools::default().with("create_task", Effect::Action, |_| ToolAnswer {
        ending: Ending::Unknown,
        value: json!("an earlier try broke off"),
    });
    let server = ModelServer::start(|asked| match asked.is_after_tool() {
        false => Say::call("create_task", json!({})),
        true => Say::text("I created it."),
    })
    .await;
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "create a task")
        .await
        .unwrap();
    assert!(
        answer.action_not_performed && !answer.text.contains(NOTHING),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn the_retry_shares_the_rounds() {
    let server = ModelServer::start(|asked| match asked.number {
        0 | 1 => Say::call("list_tasks", json!({"title": asked.number.to_string()})),
        _ => Say::text("Created."),
    })
    .await;
    let mut ask = ask("create a task");
    ask.limits.iterations = 2;
    let answer = assistant::answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &Tools::usual(),
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(
        answer.action_not_performed && !answer.guard_retried,
        "no round is left for it"
    );
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn a_preview_waits_for_the_user_and_the_model_is_told_so() {
    for kind in KINDS {
        let server = ModelServer::start(move |asked| match (asked.is_after_tool(), kind) {
            (false, Kind::Ollama) => Say::prose_call("preview_task", &json!({"title": "x"})),
            (false, _) => Say::call("preview_task", json!({"title": "x"})),
            (true, _) => Say::text("Shall I create x?"),
        })
        .await;
        let answer = answer(&chain(&[(&server, kind)]), &Tools::usual(), "create x")
            .await
            .unwrap();
        assert_eq!(answer.text, "Shall I create x?");
        let pending = answer.pending_confirmation.unwrap();
        assert_eq!(
            (
                pending.preview_tool.as_str(),
                pending.confirmation_tool.as_deref()
            ),
            ("preview_task", Some("confirm_task"))
        );
        assert_eq!(pending.arguments["title"], "x");
        let told = server.asked()[1].words();
        assert!(
            told.contains("nothing exists yet") && told.contains("confirm_task"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn the_models_own_consent_is_none() {
    let server = ModelServer::scripted([
        Say::call("preview_task", json!({"title": "x"})),
        Say::call("confirm_task", json!({"title": "x"})),
        Say::text("Shall I?"),
    ])
    .await;
    let tools = Tools::usual();
    let answer = answer(&chain(&[(&server, Kind::OpenAi)]), &tools, "create x")
        .await
        .unwrap();
    assert_eq!(tools.called(), ["preview_task"]);
    assert_eq!(answer.text, "Shall I?");
    assert!(
        server.asked()[2]
            .words()
            .contains("only a later message of the user is consent")
    );
}

#[tokio::test]
async fn the_latest_preview_is_the_one_that_waits() {
    let server = ModelServer::scripted([
        Say::call("preview_task", json!({"title": "first"})),
        Say::call("preview_task", json!({"title": "second"})),
        Say::text("Shall I?"),
    ])
    .await;
    let answer = answer(
        &chain(&[(&server, Kind::OpenAi)]),
        &Tools::usual(),
        "create x",
    )
    .await
    .unwrap();
    assert_eq!(
        answer.pending_confirmation.unwrap().arguments["title"],
        "second"
    );
}

#[tokio::test]
async fn consent_that_is_not_carried_out_is_caught_like_any_request() {
    let server = ModelServer::start(|_| Say::text("It is created.")).await;
    let chain = chain(&[(&server, Kind::OpenAi)]);
    let mut ask = ask("yes please");
    ask.awaits_consent = true;
    let claimed = assistant::answer(
        &chain,
        &Tools::usual(),
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert!(claimed.action_not_performed);
    ask.awaits_consent = false;
    let talk = assistant::answer(
        &chain,
        &Tools::usual(),
        &ask,
        None,
        &CancellationToken::new(),
    )
    .await
    .unwrap();
    assert_eq!(talk.text, "It is created.");
}
