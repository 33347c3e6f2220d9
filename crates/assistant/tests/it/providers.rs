//! The clients on the wire: every answer is read on each of them, and every failure is typed.

use crate::support::{KINDS, answer, chain, chain_with, provider, settings};
use assistant::call::Arguments;
use assistant::chat::{Chat, Message, Offer, Reply};
use assistant::provider::{Kind, Words};
use assistant::testing::{ModelServer, Say};
use assistant::toolbox::NoTools;
use assistant::{Chain, ProviderError, Settings, Trouble};
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

fn chat() -> Chat {
    Chat {
        system: "You help.".to_owned(),
        messages: vec![Message::User("hello".to_owned())],
        tools: vec![Offer {
            name: "list_tasks".to_owned(),
            description: "Lists.".to_owned(),
            schema: json!({"type": "object", "properties": {"state": {"type": "string"}}}),
        }],
        max_output_tokens: 100,
        temperature: 0.2,
    }
}

/// Asks once; with `streamed` also gives the words that were heard.
async fn ask(
    say: Say,
    kind: Kind,
    streamed: bool,
    timeout: Duration,
) -> (Result<Reply, ProviderError>, String) {
    let server = ModelServer::scripted([say]).await;
    let (words, mut heard) = mpsc::unbounded_channel();
    let words: Option<&Words> = streamed.then_some(&words);
    let cancel = CancellationToken::new();
    let reply = provider(&server, kind, timeout)
        .ask(&chat(), words, LONG, &cancel)
        .await;
    let mut text = String::new();
    while let Ok(piece) = heard.try_recv() {
        text.push_str(&piece);
    }
    (reply, text)
}

#[tokio::test]
async fn words_are_read_whole_and_in_pieces() {
    for kind in KINDS {
        for streamed in [false, true] {
            let (reply, heard) = ask(
                Say::text("Grüße an alle 🎉, es geht."),
                kind,
                streamed,
                LONG,
            )
            .await;
            let reply = reply.unwrap();
            assert_eq!(reply.text, "Grüße an alle 🎉, es geht.", "{kind:?}");
            assert_eq!(reply.calls, []);
            assert!(!reply.cut);
            if streamed {
                assert_eq!(heard, reply.text);
            } else {
                assert_eq!(reply.usage.input, 11);
                assert_eq!(reply.usage.output, 7);
            }
        }
    }
}

#[tokio::test]
async fn calls_are_read_with_words_and_without() {
    for kind in KINDS {
        for streamed in [false, true] {
            for text in ["", "One moment."] {
                let say = Say::Calls {
                    text: text.to_owned(),
                    calls: vec![
                        (
                            "list_tasks".to_owned(),
                            json!({"state": "open", "deep": {"a": [1, {"b": "ü"}]}}),
                        ),
                        ("get_task".to_owned(), json!({})),
                    ],
                };
                let reply = ask(say, kind, streamed, LONG).await.0.unwrap();
                assert_eq!(reply.text, text, "{kind:?} {streamed}");
                assert_eq!(reply.calls.len(), 2);
                let Arguments::Object(arguments) = &reply.calls[0].arguments else {
                    panic!("{:?}", reply.calls);
                };
                assert_eq!(arguments["deep"], json!({"a": [1, {"b": "ü"}]}));
                assert_eq!(
                    reply.calls[1].arguments,
                    Arguments::Object(serde_json::Map::new())
                );
                assert_ne!(reply.calls[0].id, reply.calls[1].id);
            }
        }
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_stay_with_their_call() {
    for kind in [Kind::OpenAi, Kind::Anthropic] {
        let say = Say::call("list_tasks", json!("{\"state\": "));
        let reply = ask(say, kind, true, LONG).await.0.unwrap();
        assert_eq!(reply.calls[0].name, "list_tasks");
        assert!(
            matches!(&reply.calls[0].arguments, Arguments::Unreadable { text, .. } if text == "{\"state\": ")
        );
    }
}

#[tokio::test]
async fn statuses_have_their_meaning_and_carry_the_advice_to_wait() {
    for kind in KINDS {
        for (status, trouble) in [
            (429, Trouble::RateLimited),
            (500, Trouble::Server),
            (503, Trouble::Server),
            (529, Trouble::Server),
            (408, Trouble::Server),
            (401, Trouble::Credentials),
            (403, Trouble::Credentials),
            (404, Trouble::Setup),
            (400, Trouble::Rejected),
            (422, Trouble::Rejected),
            (302, Trouble::Rejected),
        ] {
            for streamed in [false, true] {
                let headers = vec![
                    ("retry-after", "7".to_owned()),
                    ("location", "http://127.0.0.1:1/".to_owned()),
                ];
                let body = r#"{"error": {"message": "wrong key sk-stand-in"}}"#.to_owned();
                let error = ask(Say::Status(status, headers, body), kind, streamed, LONG)
                    .await
                    .0
                    .unwrap_err();
                assert_eq!(error.trouble, trouble, "{status} of {kind:?}");
                assert_eq!(error.status, Some(status));
                assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
                assert_eq!(error.message, format!("HTTP {status}: wrong key [key]"));
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    for kind in KINDS {
        for streamed in [false, true] {
            let words = "a long answer that never comes to its end ".repeat(20);
            let (reply, _) = ask(Say::HalfClosed(words), kind, streamed, LONG).await;
            assert_eq!(
                reply.unwrap_err().trouble,
                Trouble::Connection,
                "{kind:?} {streamed}"
            );
        }
    }
}

/// The real patience is two minutes; here it is a fifth of a second.
#[tokio::test]
async fn silence_ends_with_the_patience_and_not_later() {
    for kind in KINDS {
        for streamed in [false, true] {
            for say in [Say::Silence, Say::SilenceWithin("words ".repeat(20))] {
                let began = std::time::Instant::now();
                let error = ask(say, kind, streamed, SHORT).await.0.unwrap_err();
                assert_eq!(error.trouble, Trouble::Timeout, "{kind:?} {streamed}");
                assert!(began.elapsed() < Duration::from_secs(10));
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_json_is_unreadable() {
    for kind in KINDS {
        for text in ["<html>hello</html>", "{\"choices\": nonsense}", "[]"] {
            let error = ask(Say::Garbage(text.to_owned()), kind, false, LONG)
                .await
                .0
                .unwrap_err();
            assert_eq!(error.trouble, Trouble::Unreadable, "{kind:?} {text}");
        }
        let line = match kind {
            Kind::Ollama => "{broken}\n{}\n",
            Kind::OpenAi | Kind::Anthropic => "data: {broken}\n\ndata: {}\n\n",
        };
        let error = ask(Say::Garbage(line.to_owned()), kind, true, LONG)
            .await
            .0
            .unwrap_err();
        assert_eq!(error.trouble, Trouble::Unreadable, "{kind:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_not_an_answer() {
    for kind in [Kind::OpenAi, Kind::Anthropic] {
        for streamed in [false, true] {
            let error = ask(Say::Refusal("I won't.".to_owned()), kind, streamed, LONG)
                .await
                .0
                .unwrap_err();
            assert_eq!(error.trouble, Trouble::Refused, "{kind:?} {streamed}");
        }
    }
}

#[tokio::test]
async fn an_address_where_nobody_is_gives_no_connection() {
    let server = ModelServer::scripted([]).await;
    let provider = provider(&server, Kind::OpenAi, LONG);
    drop(server);
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let error = provider
            .ask(&chat(), None, LONG, &CancellationToken::new())
            .await
            .unwrap_err();
        assert_eq!(error.provider, "openai");
        assert!(!error.message.contains("127.0.0.1"), "{error}");
        if error.trouble == Trouble::Connection {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{error}");
    }
}

#[tokio::test]
async fn models_that_reason_are_asked_again_in_their_own_words() {
    let complaint = r#"{"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "code": "unsupported_parameter"}}"#;
    let server = ModelServer::scripted([
        Say::Status(400, Vec::new(), complaint.to_owned()),
        Say::text("hi"),
    ])
    .await;
    let reply = provider(&server, Kind::OpenAi, LONG)
        .ask(&chat(), None, LONG, &CancellationToken::new())
        .await;
    assert_eq!(reply.unwrap().text, "hi");
    let asked = server.asked();
    assert_eq!(asked[0].body["max_tokens"], 100);
    assert_eq!(asked[1].body["max_completion_tokens"], 100);
    assert!(
        asked[1].body.get("max_tokens").is_none() && asked[1].body.get("temperature").is_none()
    );
}

#[tokio::test]
async fn tools_are_offered_natively_or_in_words_and_left_out_when_there_are_none() {
    for kind in KINDS {
        let server = ModelServer::scripted([Say::text("a"), Say::text("b")]).await;
        let provider = provider(&server, kind, LONG);
        provider
            .ask(&chat(), None, LONG, &CancellationToken::new())
            .await
            .unwrap();
        let mut without = chat();
        without.tools.clear();
        provider
            .ask(&without, None, LONG, &CancellationToken::new())
            .await
            .unwrap();
        let asked = server.asked();
        assert_eq!(asked[0].credential.as_deref(), Some("sk-stand-in"));
        assert!(asked[1].body.get("tools").is_none());
        if kind.native_tools() {
            assert_eq!(asked[0].tools(), ["list_tasks"]);
        } else {
            assert!(asked[0].body.get("tools").is_none());
            assert!(asked[0].words().contains("list_tasks"));
            assert!(!asked[1].words().contains("list_tasks"));
        }
    }
}

#[tokio::test]
async fn the_next_provider_answers_for_one_that_does_not_and_goes_on() {
    let broken = ModelServer::start(|_| Say::Status(503, Vec::new(), String::new())).await;
    let good = ModelServer::start(|asked| match asked.is_after_tool() {
        true => Say::text("There is one."),
        false => Say::call("list_tasks", json!({})),
    })
    .await;
    let chain = chain(&[(&broken, Kind::Anthropic), (&good, Kind::OpenAi)]);
    let tools = crate::support::Tools::usual();
    let answer = answer(&chain, &tools, "what is there?").await.unwrap();
    assert_eq!(answer.text, "There is one.");
    assert_eq!(
        (answer.provider.as_str(), answer.model.as_str()),
        ("openai", "stand-in")
    );
    assert_eq!(
        broken.asked().len(),
        1,
        "the one that failed is not asked for every step"
    );
    assert_eq!(good.asked().len(), 2);
}

#[tokio::test]
async fn a_refusal_is_not_taken_to_the_next_provider() {
    let first = ModelServer::start(|_| Say::Refusal("no".to_owned())).await;
    let second = ModelServer::start(|_| Say::text("sure")).await;
    let chain = chain(&[(&first, Kind::OpenAi), (&second, Kind::Anthropic)]);
    let error = answer(&chain, &NoTools, "hello").await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Refused);
    assert_eq!(second.asked().len(), 0);
}

#[tokio::test]
async fn when_nobody_answers_the_shortest_advice_to_wait_is_told() {
    let wait = |seconds: &'static str| {
        move |_: &_| {
            Say::Status(
                429,
                vec![("retry-after", seconds.to_owned())],
                String::new(),
            )
        }
    };
    let long = ModelServer::start(wait("90")).await;
    let short = ModelServer::start(wait("4")).await;
    let locked = ModelServer::start(|_| Say::Status(401, Vec::new(), String::new())).await;
    let chain = chain(&[
        (&locked, Kind::OpenAi),
        (&long, Kind::OpenAi),
        (&short, Kind::Anthropic),
    ]);
    let error = answer(&chain, &NoTools, "hello").await.unwrap_err();
    assert_eq!(
        (error.trouble, error.retry_after),
        (Trouble::RateLimited, Some(Duration::from_secs(4)))
    );
}

#[tokio::test]
async fn an_empty_answer_is_a_failure_and_another_provider_is_asked() {
    let empty = ModelServer::start(|_| Say::text("  \n")).await;
    let good = ModelServer::start(|_| Say::text("here")).await;
    let both = chain(&[(&empty, Kind::OpenAi), (&good, Kind::Ollama)]);
    assert_eq!(answer(&both, &NoTools, "hello").await.unwrap().text, "here");
    let alone = chain_with(&[(&empty, Kind::OpenAi)], LONG);
    assert_eq!(
        answer(&alone, &NoTools, "hello").await.unwrap_err().trouble,
        Trouble::Empty
    );
}

#[tokio::test]
async fn a_job_may_choose_among_what_is_configured() {
    let one = ModelServer::start(|_| Say::text("one")).await;
    let two = ModelServer::start(|_| Say::text("two")).await;
    let all = chain(&[(&one, Kind::OpenAi), (&two, Kind::Ollama)]);
    let wish = |names: &[&str]| {
        all.ordered_by(
            &names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    for (names, said) in [
        (&["ollama", "openai"][..], "two"),
        (&["openai"], "one"),
        (&[], "one"),
        (&["acme"], "one"),
    ] {
        assert_eq!(
            answer(&wish(names), &NoTools, "hello").await.unwrap().text,
            said,
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn models_that_share_the_work_take_an_answer_each_and_keep_it() {
    let one = ModelServer::start(|_| Say::text("one")).await;
    let two = ModelServer::start(|asked| match asked.is_after_tool() {
        true => Say::text("two"),
        false => Say::call("list_tasks", json!({})),
    })
    .await;
    let settings = Settings {
        round_robin: true,
        ..settings(&[(&one, Kind::OpenAi), (&two, Kind::OpenAi)], LONG)
    };
    let shared = Chain::new(&settings).unwrap();
    let tools = crate::support::Tools::usual();
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(
            answer(&shared.clone(), &tools, "what is there?")
                .await
                .unwrap()
                .text,
        );
    }
    assert_eq!(said, ["one", "two", "one", "two"]);
    assert_eq!(
        two.asked().len(),
        4,
        "whoever began an answer goes on with it"
    );
    // A wish is an order: it begins at its first.
    let wish = shared.ordered_by(&["openai".to_owned()]);
    for _ in 0..2 {
        assert_eq!(
            answer(&wish, &tools, "what is there?").await.unwrap().text,
            "one"
        );
    }
}

#[tokio::test]
async fn without_any_provider_the_operator_is_told_what_to_set() {
    let chain = Chain::new(&Settings::default()).unwrap();
    let error = answer(&chain, &NoTools, "hello").await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Setup);
    assert!(error.message.contains("OPENAI_BASE_URL") && error.message.contains("OLLAMA_MODEL"));
}
